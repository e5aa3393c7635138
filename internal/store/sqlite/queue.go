package sqlite

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

// Queue keeps the jobs that outlive a process.
type Queue struct{ store *Store }

var (
	_ job.Submissions = Queue{}
	_ job.Leases      = Queue{}
	_ job.Attempts    = Queue{}
	_ job.Prompts     = Queue{}
	_ job.Views       = Queue{}
	_ job.Maintenance = Queue{}
)

// Queue returns the store's queue of jobs.
func (s *Store) Queue() Queue { return Queue{s} }

// Parts returns the queue by its callers.
func (q Queue) Parts() job.Queue {
	return job.Queue{Submissions: q, Leases: q, Attempts: q, Prompts: q, Views: q, Maintenance: q}
}

// Accept implements job.Submissions.
func (q Queue) Accept(ctx context.Context, task *job.Task, until time.Time) (l job.Lease, earlier job.ID, err error) {
	err = q.store.write(ctx, func(t tx) (err error) {
		l = job.Lease{}
		if task.Key != nil {
			if earlier, err = t.reserve(task.Account, *task.Key, task.ID, task.Created); err != nil || earlier != (job.ID{}) {
				return err
			}
		}
		due, attempt := task.Created, int64(0)
		if task.State == job.Running {
			due, attempt = until, 1
		}
		if _, err := t.keepProgram(task); err != nil {
			return err
		}
		l, err = t.insertTask(task, due, attempt)
		return err
	})
	return l, earlier, orphaned(err)
}

// AcceptEnded implements job.Submissions.
func (q Queue) AcceptEnded(ctx context.Context, task *job.Task, e *job.End) (earlier job.ID, err error) {
	err = q.store.write(ctx, func(t tx) (err error) {
		if task.Key != nil {
			if earlier, err = t.reserve(e.Account, *task.Key, e.ID, e.Created); err != nil || earlier != (job.ID{}) {
				return err
			}
		}
		s, err := t.conn.statement(t.ctx, insertEnded)
		if err != nil {
			return err
		}
		defer s.Reset()
		if err := errors.Join(
			bindRecord(s, 0, &e.Record, t.conn.ids),
			bind(s, insertParams+1, optional(task.Webhook)),
			drain(t.ctx, s),
		); err != nil {
			return err
		}
		if t.conn.db.Changes() == 0 { // it was stored and counted, from the intake
			return nil
		}
		if err := t.useBoth(e.Account, e.Finished, e.Ran, e.Bytes()); err != nil {
			return err
		}
		return t.tell(job.Lease{ID: e.ID, Account: e.Account}, task.Webhook, e.Delivery, e.Finished)
	})
	return earlier, orphaned(err)
}

const insertEnded = "INSERT INTO jobs (" + insertColumns + ", webhook, attempt) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)" + insertEnd

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
		code, err := t.keepProgram(task)
		if err != nil {
			return err
		}
		held := s.Held() + int64(len(task.Spec)) + code
		if err := t.roomToStand(task.Account, s, held, -1); err != nil {
			return err
		}
		if l, err = t.insertTask(task, task.Created, 1); err != nil {
			return err
		}
		return t.stand(l, s, held)
	})
	return l, orphaned(err)
}

func (t tx) insertTask(task *job.Task, due time.Time, attempt int64) (job.Lease, error) {
	if _, err := t.exec(`INSERT INTO jobs (id, account, state, mode, convention, credential, created, steps, trace_dropped, result, encoding, attempt, begun, due, webhook, program, task)
		VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, x'', '', ?, ?, ?, ?, ?, ?)`,
		t.conn.ids.place(task.ID), int64(task.Account), string(task.State), string(task.Mode), string(task.Convention), string(task.Credential), task.Created,
		attempt, task.State == job.Running, due, optional(task.Webhook), task.Program[:], append([]byte{}, task.Spec...)); err != nil {
		return job.Lease{}, err
	}
	seq := t.conn.db.LastInsertID()
	if err := t.useCall(task.Account, task.Created); err != nil {
		return job.Lease{}, err
	}
	return job.Lease{Seq: seq, ID: task.ID, Account: task.Account, Attempt: attempt}, nil
}

// optional is null for an empty text.
func optional(text string) any {
	if text == "" {
		return nil
	}
	return text
}

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
			return lostUnless(err)
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

// lostUnless is what a guarded change that changed nothing returns.
func lostUnless(err error) error {
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

// Prune implements job.Maintenance. One that is given meanwhile stays, and so does one
// that a new job needs without giving it: its caller knows that it was given
// lately.
func (q Queue) Prune(ctx context.Context, now time.Time, limit int) (n int, err error) {
	before := now.Add(-job.ProgramRetention)
	old, err := q.oldPrograms(ctx, before, limit)
	if err != nil {
		return 0, err
	}
	err = q.store.write(ctx, func(t tx) error {
		keys, err := t.exec("DELETE FROM idempotency_keys WHERE (account, hash) IN (SELECT account, hash FROM idempotency_keys WHERE ends <= ? ORDER BY ends LIMIT ?)",
			now, max(limit, 0))
		if err != nil {
			return err
		}
		n = int(keys)
		for _, p := range old {
			if p.needed {
				if _, err := t.exec("UPDATE programs SET used = max(used, ?) WHERE hash = ?", now, p.hash); err != nil {
					return err
				}
				continue
			}
			gone, err := t.exec("DELETE FROM programs WHERE hash = ? AND used < ?", p.hash, before)
			if err != nil {
				return err
			}
			n += int(gone)
		}
		return nil
	})
	return n, err
}

// oldProgram is a program that was not used for long.
type oldProgram struct {
	hash   []byte
	needed bool // by a job that is not finished
}

// oldPrograms returns those that were used before a moment, the oldest first.
// Where there are any, all jobs that are not finished are looked at.
func (q Queue) oldPrograms(ctx context.Context, before time.Time, limit int) (list []oldProgram, err error) {
	err = q.store.read(ctx, func(t tx) error {
		return t.each(`SELECT hash, hash IN (SELECT program FROM jobs WHERE program IS NOT NULL AND state IN ('accepted', 'running', 'paused', 'waiting'))
			FROM programs WHERE used < ? ORDER BY used LIMIT ?`,
			func(r row) { list = append(list, oldProgram{r.bytes(0), r.bool(1)}) }, before, max(limit, 0))
	})
	return list, err
}
