package relational

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/member"
)

// Queue keeps the jobs that outlive a process.
type Queue struct{ store *Store }

var (
	_ job.Submissions = Queue{}
	_ job.Leases      = Queue{}
	_ job.Attempts    = Queue{}
	_ job.Prompts     = Queue{}
	_ job.Questions   = Queue{}
	_ job.Views       = Queue{}
	_ job.Calls       = Queue{}
	_ job.Maintenance = Queue{}
)

// Queue returns the store's queue of jobs.
func (s *Store) Queue() Queue { return Queue{s} }

// Parts returns the queue by its callers.
func (q Queue) Parts() job.Queue {
	return job.Queue{Submissions: q, Leases: q, Attempts: q, Prompts: q, Questions: q, Views: q, Calls: q, Maintenance: q}
}

// Accept implements job.Submissions.
func (q Queue) Accept(ctx context.Context, task *job.Task, m member.Member, now time.Time) (l job.Lease, earlier job.ID, err error) {
	if q.store.mayShare(ctx, task) && task.State == job.Accepted {
		if l, err = q.acceptShared(ctx, task, m); !errors.Is(err, errApart) {
			return l, job.ID{}, err
		}
	}
	_, err = q.store.change(ctx, func(t tx) (done bool, err error) {
		l = job.Lease{}
		if task.Key != nil {
			if earlier, err = t.reserve(task.Account, *task.Key, task.ID, task.Created); err != nil || earlier != (job.ID{}) {
				return true, err
			}
		}
		due, attempt := task.Created, int64(0)
		if task.State == job.Running {
			due, attempt = now, 1
		}
		if _, err := t.storeProgram(task); err != nil {
			return false, err
		}
		if l, err = t.insertTask(task, due, attempt, m.Incarnation); err != nil {
			return false, err
		}
		return true, t.storeCall(task.Account, l.Seq, task.Called, false)
	})
	return l, earlier, orphaned(err)
}

// AcceptEnded implements job.Submissions.
func (q Queue) AcceptEnded(ctx context.Context, task *job.Task, e *job.End) (earlier job.ID, err error) {
	if q.store.mayShare(ctx, task) && (task.Webhook == "" || !task.WebhookEvents.Has(job.EventFinished)) {
		if err = q.acceptEndedShared(ctx, task, e); !errors.Is(err, errApart) {
			return job.ID{}, err
		}
	}
	_, err = q.store.change(ctx, func(t tx) (done bool, err error) {
		if task.Key != nil {
			if earlier, err = t.reserve(e.Account, *task.Key, e.ID, e.Created); err != nil || earlier != (job.ID{}) {
				return true, err
			}
		}
		return true, t.insertEnded(task, e)
	})
	return earlier, orphaned(err)
}

// insertEnded stores a job that is over, and counts it, unless it is stored already.
func (t tx) insertEnded(task *job.Task, e *job.End) error {
	source, err := t.keepSource(e.Account, e.Call.Source, 1, e.Created)
	if err != nil {
		return err
	}
	values := make(valuesOf, 0, insertEnded.width)
	values.ended(&e.Record, task, source, t.conn.IDs)
	stored, err := t.conn.Conn.ExecRows(t.ctx, insertEnded, values)
	if err != nil {
		return err
	}
	if err := t.setErrorCode(e.ID, e.Error); err != nil {
		return err
	}
	if stored == 0 { // it was stored and counted, from the intake
		return t.releaseSource(e.Account, source, 1)
	}
	if err := t.countAcceptedEnded(e.Account, e.Finished, e.Ran, e.Bytes()); err != nil {
		return err
	}
	if err := t.storeEndedCall(e, task.Called); err != nil {
		return err
	}
	if !task.WebhookEvents.Has(job.EventFinished) {
		return nil
	}
	return t.enqueueDelivery(job.Lease{ID: e.ID, Account: e.Account}, task.Webhook, e.Delivery, e.Finished)
}

var insertEnded = newInserts("jobs", insertColumns+", webhook, webhook_trace, attempt", insertEnd)

// ended adds the values of a job that is over with the number of its source, as insertEnded has them.
func (v *valuesOf) ended(r *job.Record, task *job.Task, source int64, places *IDs) {
	v.plain(r, source, places)
	v.rest(r)
	v.optionalText(task.Webhook)
	v.bool(task.WebhookTrace)
	v.int(1)
}

// orphaned tells of the account that a row was to belong to.
func orphaned(err error) error {
	if isOrphan(err) {
		return account.ErrNotFound
	}
	return err
}

// Adopt implements job.Submissions.
func (q Queue) Adopt(ctx context.Context, task *job.Task, s *job.Suspension) (l job.Lease, err error) {
	err = q.store.write(ctx, func(t tx) (err error) {
		code, err := t.storeProgram(task)
		if err != nil {
			return err
		}
		held := s.Held() + int64(len(task.Spec)) + code
		if err := t.reserveSuspension(task.Account, s, held, -1); err != nil {
			return err
		}
		if l, err = t.insertTask(task, task.Created, 1, nil); err != nil {
			return err
		}
		return t.suspend(l, s, held)
	})
	return l, orphaned(err)
}

// checkElsewhere refuses a job for another member where as many wait already as may: they are in no member's queue.
func (t tx) checkElsewhere(task *job.Task) error {
	if task.MostBlocked <= 0 || t.conn.Elsewhere.fits(task.Account, 1, task.MostBlocked) {
		return nil
	}
	n, err := t.countElsewhere(task.Account, task.Created, task.MostBlocked)
	if err != nil {
		return err
	}
	if n >= task.MostBlocked {
		return job.ErrBlockedLimit
	}
	t.conn.Elsewhere.set(task.Account, n+1)
	return nil
}

// countElsewhere is how many jobs of an account wait for another member at a moment, up to a limit.
func (t tx) countElsewhere(a account.ID, at time.Time, most int) (n int, err error) {
	err = t.each("SELECT 1 FROM jobs WHERE program IS NOT NULL AND member IS NULL AND account = ? AND due <= ? AND state = 'accepted' LIMIT ?", func(row) { n++ },
		int64(a), at, most)
	return n, err
}

// insertTask stores a job that belongs to an incarnation of a member, or to nobody.
func (t tx) insertTask(task *job.Task, due time.Time, attempt int64, incarnation any) (job.Lease, error) {
	source, err := t.keepSource(task.Account, task.Call.Source, 1, task.Created)
	if err != nil {
		return job.Lease{}, err
	}
	blocked, err := t.blockUnlessFree(task)
	if err != nil {
		return job.Lease{}, err
	}
	if task.Elsewhere && !blocked {
		if err := t.checkElsewhere(task); err != nil {
			return job.Lease{}, err
		}
	}
	seq, err := t.insert("seq", insertTaskInto+insertTaskRow, t.appendTask(nil, task, due, attempt, incarnation, source, blocked)...)
	if err != nil {
		return job.Lease{}, err
	}
	if err := t.countAccepted(task.Account, task.Created); err != nil {
		return job.Lease{}, err
	}
	return job.Lease{Seq: seq, ID: task.ID, Account: task.Account, Attempt: attempt}, nil
}

const (
	insertTaskInto = "INSERT INTO jobs (id, account, state, mode, convention, credential, created, steps, trace_dropped, trace, result, encoding, attempt, begun, due, member, webhook, webhook_trace, webhook_events, program, task, key_id, program_name, name, source, request, origin, schedule, concurrency_key, concurrency_most, blocked, uses_databases) VALUES "
	insertTaskRow  = "(?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?, '', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	taskParams     = 29
)

// appendTask adds the values of a job, with the number of its source, as insertTaskRow has them.
func (t tx) appendTask(args []any, task *job.Task, due time.Time, attempt int64, incarnation any, source int64, blocked bool) []any {
	var at any = due
	switch {
	case blocked:
		incarnation, at = nil, nil
	case task.Elsewhere:
		incarnation = nil
	}
	return append(args, t.conn.IDs.place(task.ID), int64(task.Account), string(task.State), string(task.Mode), string(task.Convention), string(task.Credential), task.Created,
		startingTrace(task), []byte{}, attempt, task.State == job.Running, at, incarnation, optional(task.Webhook), task.WebhookTrace, int64(task.WebhookEvents.OrDefault()), task.Program[:], append([]byte{}, task.Spec...),
		optionalNumber(int64(task.KeyID)), optional(task.ProgramName), optional(task.Call.Name), optionalNumber(source), task.Call.Request, optionalNumber(task.Call.Origin),
		optional(task.Call.Schedule), optional(task.Concurrency.Key), task.Concurrency.Most, blocked, task.UsesDatabases)
}

// optionalNumber is null for 0.
func optionalNumber(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// startingTrace is the trace that a job is shown with before it has one.
func startingTrace(task *job.Task) any {
	if task.Untraced {
		return job.NoTrace()
	}
	return nil
}

// optional is null for an empty text.
func optional(text string) any {
	if text == "" {
		return nil
	}
	return text
}
