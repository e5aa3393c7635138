package sqlite

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

const dueColumns = "seq, id, account, attempt, state, due, stopping, crashes"

func readDue(r row) job.Due {
	d := job.Due{
		Lease: job.Lease{Seq: r.int(0), Account: account.ID(r.int(2)), Attempt: r.int(3)},
		State: job.State(r.text(4)), At: r.time(5), Stopping: r.bool(6), Crashes: int(r.int(7)),
	}
	d.ID = r.id(1)
	return d
}

// ListDue implements job.Leases.
func (q Queue) ListDue(ctx context.Context, s job.State, now time.Time, after job.Due, limit int) (list []job.Due, err error) {
	err = q.store.read(ctx, func(t tx) error {
		return t.each("SELECT "+dueColumns+" FROM jobs WHERE program IS NOT NULL AND state = ? AND due <= ? AND (due, seq) > (?, ?) ORDER BY due, seq LIMIT ?",
			func(r row) { list = append(list, readDue(r)) }, string(s), now, after.At.UnixMicro(), after.Seq, max(limit, 0))
	})
	return list, err
}

// ListAccepted implements job.Leases.
func (q Queue) ListAccepted(ctx context.Context, after job.Due, limit int) (list []job.Due, err error) {
	err = q.store.read(ctx, func(t tx) error {
		return t.each("SELECT "+dueColumns+" FROM jobs WHERE program IS NOT NULL AND state = 'accepted' AND (due, seq) > (?, ?) ORDER BY due, seq LIMIT ?",
			func(r row) { list = append(list, readDue(r)) }, after.At.UnixMicro(), after.Seq, max(limit, 0))
	})
	return list, err
}

// NextDue implements job.Leases.
func (q Queue) NextDue(ctx context.Context, after time.Time) (next time.Time, err error) {
	err = q.store.read(ctx, func(t tx) error {
		for _, s := range []job.State{job.Running, job.Paused, job.Waiting} {
			_, err := t.one("SELECT due FROM jobs WHERE program IS NOT NULL AND state = ? AND due > ? ORDER BY due LIMIT 1", func(r row) {
				if at := r.time(0); next.IsZero() || at.Before(next) {
					next = at
				}
			}, string(s), after.UnixMicro())
			if err != nil {
				return err
			}
		}
		return nil
	})
	return next, err
}

// Claim implements job.Leases.
func (q Queue) Claim(ctx context.Context, d job.Due, until time.Time) (job.Lease, error) {
	err := q.store.write(ctx, func(t tx) error {
		n, err := t.exec("UPDATE jobs SET state = 'running', attempt = attempt + 1, begun = (crashes = 0), due = ? WHERE seq = ? AND attempt = ? AND state = ? AND due = ?",
			until, d.Seq, d.Attempt, string(d.State), d.At)
		if err != nil || n == 0 {
			return leaseLostUnless(err)
		}
		if d.State != job.Paused {
			return nil
		}
		_, err = t.exec("DELETE FROM job_prompts WHERE job = ?", d.Seq)
		return err
	})
	if err != nil {
		return job.Lease{}, err
	}
	l := d.Lease
	l.Attempt++
	return l, nil
}

// Postpone implements job.Leases.
func (q Queue) Postpone(ctx context.Context, a account.ID, now, until time.Time) error {
	return q.store.write(ctx, func(t tx) error {
		for _, s := range []job.State{job.Running, job.Waiting, job.Paused} {
			if _, err := t.exec("UPDATE jobs SET due = ? WHERE program IS NOT NULL AND state = ? AND due <= ? AND account = ? AND stopping = 0",
				until, string(s), now, int64(a)); err != nil {
				return err
			}
		}
		return nil
	})
}

// leaseLostUnless is what a guarded change that changed nothing returns.
func leaseLostUnless(err error) error {
	if err != nil {
		return err
	}
	return job.ErrLeaseLost
}

// RecordCrashes implements job.Leases. Begun says that an attempt has the job in its hands.
func (q Queue) RecordCrashes(ctx context.Context, early time.Time) error {
	return q.store.write(ctx, func(t tx) error {
		const begun = " WHERE program IS NOT NULL AND state = 'running' AND begun = 1"
		n := 0
		if err := t.each("SELECT 1 FROM jobs"+begun+" LIMIT 2", func(row) { n++ }); err != nil || n == 0 {
			return err
		}
		each := job.CrashWeight
		if n == 1 {
			each = job.CrashWeightAlone
		}
		_, err := t.exec("UPDATE jobs SET crashes = crashes + CASE WHEN due > ? THEN ? ELSE ? END, begun = 0"+begun, early, job.CrashWeightEarly, each)
		return err
	})
}

// ExpireLeases implements job.Leases.
func (q Queue) ExpireLeases(ctx context.Context, now time.Time) error {
	return q.store.write(ctx, func(t tx) error {
		_, err := t.exec("UPDATE jobs SET due = ?, attempt = attempt + 1, begun = 0 WHERE program IS NOT NULL AND state = 'running'", now)
		return err
	})
}

// Renew implements job.Leases.
func (q Queue) Renew(ctx context.Context, held []job.Lease, until time.Time) (lost, stopping []job.Lease, err error) {
	err = q.store.write(ctx, func(t tx) error {
		lost, stopping = nil, nil
		for _, l := range held {
			var stop bool
			found, err := t.one("UPDATE jobs SET due = ? WHERE seq = ? AND attempt = ? AND state = 'running' RETURNING stopping", func(r row) { stop = r.bool(0) },
				until, l.Seq, l.Attempt)
			switch {
			case err != nil:
				return err
			case !found:
				lost = append(lost, l)
			case stop:
				stopping = append(stopping, l)
			}
		}
		return nil
	})
	return lost, stopping, err
}
