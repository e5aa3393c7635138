package relational

import (
	"context"
	"time"

	"ql/internal/account/usage"
	"ql/internal/job"
)

// Unfinished calls f with every job that is not finished, in the order of their
// accounts.
func (q Queue) Unfinished(ctx context.Context, f func(job.Due)) error {
	return q.store.read(ctx, func(t tx) error {
		return t.each("SELECT "+dueColumns+" FROM jobs WHERE seq IN ("+unfinished+") ORDER BY account, seq", func(r row) { f(readDue(r)) })
	})
}

// Attempt returns the number of a job's newest attempt, or job.ErrNotFound.
func (q Queue) Attempt(ctx context.Context, id job.ID) (attempt int64, err error) {
	err = q.store.read(ctx, func(t tx) error {
		found, err := t.one("SELECT attempt FROM jobs WHERE id = ?", func(r row) { attempt = r.int(0) }, t.conn.IDs.place(id))
		if err == nil && !found {
			err = job.ErrNotFound
		}
		return err
	})
	return attempt, err
}

// Abandon ends a job that cannot go on, whatever its state is. Failure is its
// error, as JSON. What it had put out is lost.
func (q Queue) Abandon(ctx context.Context, d job.Due, failure []byte, now time.Time) error {
	return q.store.write(ctx, func(t tx) error {
		var webhook string
		var rest int64 // what its request and its questions count
		if err := t.releaseSuspension(d.Lease); err != nil {
			return err
		}
		found, err := t.one("UPDATE jobs SET state = ?, finished = ?, error = ?, attempt = attempt + 1, due = NULL, member = NULL, program = NULL, task = NULL, held = NULL "+
			"WHERE seq = ? AND attempt = ? AND program IS NOT NULL RETURNING "+finishedWebhook+", coalesce(length(request), 0) + question_bytes + history_bytes", func(r row) { webhook, rest = r.text(0), r.int(1) },
			string(job.Failed), now, failure, d.Seq, d.Attempt)
		if err != nil || !found {
			return leaseLostUnless(err)
		}
		if err := t.setErrorCode(d.ID, failure); err != nil {
			return err
		}
		record := job.Record{Error: failure}
		if err := t.keep(d.Account, usage.MonthOf(now), record.Bytes()+rest); err != nil {
			return err
		}
		if err := t.deleteLeftovers(d.Seq, now); err != nil {
			return err
		}
		return t.enqueueDelivery(d.Lease, webhook, job.DeliveryID(d.ID), now)
	})
}
