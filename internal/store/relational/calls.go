package relational

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

// storeCall notes who has started a job.
func (t tx) storeCall(a account.ID, seq int64, c *job.Called, ended bool) error {
	if c == nil {
		return nil
	}
	if c.Most > 0 && !ended {
		var open int64
		if _, err := t.one("SELECT count(*) FROM (SELECT 1 FROM job_calls WHERE account = ? AND ended = 0 LIMIT ?) AS open", func(r row) { open = r.int(0) }, int64(a), c.Most); err != nil {
			return err
		}
		if open >= int64(c.Most) {
			return job.ErrCallLimit
		}
	}
	_, err := t.exec("INSERT INTO job_calls (account, parent, child, ended) VALUES (?, ?, ?, ?)", int64(a), t.conn.IDs.place(c.Parent), seq, number(ended))
	return err
}

// storeEndedCall notes who has started a job that is over.
func (t tx) storeEndedCall(e *job.End, c *job.Called) error {
	if c == nil {
		return nil
	}
	seq, err := t.number("SELECT seq FROM jobs WHERE id = ?", t.conn.IDs.place(e.ID))
	if err != nil {
		return err
	}
	return t.storeCall(e.Account, seq, c, true)
}

// storeEndedCalls stores jobs that one has run, and that are over.
func (t tx) storeEndedCalls(list []job.EndedCall) error {
	for i := range list {
		if err := t.insertEnded(&job.Task{Called: &job.Called{Parent: list[i].Parent}}, list[i].End); err != nil {
			return err
		}
	}
	return nil
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// endCall has the job that waits for one that ends be due, where there is one; a cancelled one takes
// all that it has started with it.
func (t tx) endCall(l job.Lease, s job.State, now time.Time) error {
	var parent []byte
	if _, err := t.one("SELECT parent FROM job_calls WHERE child = ?", func(r row) { parent = r.bytes(0) }, l.Seq); err != nil {
		return err
	}
	if parent != nil {
		if _, err := t.exec("UPDATE job_calls SET ended = 1 WHERE child = ?", l.Seq); err != nil {
			return err
		}
		if _, err := t.exec("UPDATE jobs SET due = ? WHERE id = ? AND account = ? AND state = 'waiting' AND seq IN (SELECT job FROM job_awaits WHERE child = ?)",
			now, parent, int64(l.Account), t.conn.IDs.place(l.ID)); err != nil {
			return err
		}
	}
	if s != job.Cancelled {
		return nil
	}
	return t.stopChildren(l, now)
}

// stopChildren asks all jobs to stop that one has started, and that those have.
func (t tx) stopChildren(l job.Lease, now time.Time) error {
	has, err := t.has("SELECT 1 FROM job_calls WHERE account = ? AND parent = ?", int64(l.Account), t.conn.IDs.place(l.ID))
	if err != nil || !has {
		return err
	}
	_, err = t.exec(`WITH RECURSIVE tree (seq, id) AS (
			SELECT j.seq, j.id FROM job_calls c JOIN jobs j ON j.seq = c.child WHERE c.account = ?1 AND c.parent = ?2
			UNION ALL SELECT j.seq, j.id FROM tree p JOIN job_calls c ON c.account = ?1 AND c.parent = p.id JOIN jobs j ON j.seq = c.child)
		UPDATE jobs SET stopping = 1, blocked = 0, due = CASE WHEN member IS NULL THEN ?3 ELSE due END WHERE finished IS NULL AND seq IN (SELECT seq FROM tree)`,
		int64(l.Account), t.conn.IDs.place(l.ID), now)
	return err
}

// storeAwaits notes what a job waits for beside a moment. It returns the moment at which it is due:
// now where that has come already.
func (t tx) storeAwaits(l job.Lease, s *job.Suspension) (time.Time, error) {
	if _, err := t.exec("DELETE FROM job_awaits WHERE job = ?", l.Seq); err != nil {
		return s.Until, err
	}
	switch {
	case s.AwaitsJob != job.ID{}:
		place := t.conn.IDs.place(s.AwaitsJob)
		open, err := t.has("SELECT 1 FROM jobs WHERE id = ? AND finished IS NULL", place)
		if err != nil || !open {
			return s.At, err
		}
		_, err = t.exec("INSERT INTO job_awaits (job, child) VALUES (?, ?)", l.Seq, place)
		return s.Until, err
	case s.AwaitsSignal != "":
		came, err := t.has("SELECT 1 FROM job_signals WHERE job = ? AND name = ? AND data IS NOT NULL", l.Seq, s.AwaitsSignal)
		if err != nil || came {
			return s.At, err
		}
		_, err = t.exec("INSERT INTO job_awaits (job, signal) VALUES (?, ?)", l.Seq, s.AwaitsSignal)
		return s.Until, err
	}
	return s.Until, nil
}

// IsChild implements job.Calls.
func (q Queue) IsChild(ctx context.Context, a account.ID, parent, child job.ID) (is bool, err error) {
	err = q.store.read(ctx, func(t tx) (err error) {
		is, err = t.has("SELECT 1 FROM jobs j JOIN job_calls c ON c.child = j.seq WHERE j.id = ? AND c.account = ? AND c.parent = ?", t.conn.IDs.place(child), int64(a), t.conn.IDs.place(parent))
		return err
	})
	return is, err
}

// ChildEnd implements job.Calls.
func (q Queue) ChildEnd(ctx context.Context, a account.ID, parent, child job.ID, most int64) (end *job.ChildEnd, err error) {
	err = q.store.read(ctx, func(t tx) error {
		end = nil
		matches := true
		_, err := t.one(`SELECT j.state, CASE WHEN length(j.error) <= ? THEN j.error END, j.encoding, coalesce(length(j.result), 0),
			CASE WHEN j.finished IS NOT NULL AND length(j.result) <= ? THEN j.result END, j.checksum
			FROM jobs j JOIN job_calls c ON c.child = j.seq WHERE j.id = ? AND c.account = ? AND c.parent = ?`, func(r row) {
			end = &job.ChildEnd{State: job.State(r.text(0)), Error: r.bytes(1), Encoding: job.Encoding(r.text(2)), Output: r.int(3), Result: r.bytes(4)}
			matches = r.null(4) || r.matches(5, end.Result)
		}, job.AlwaysShownBytes, most, t.conn.IDs.place(child), int64(a), t.conn.IDs.place(parent))
		switch {
		case err != nil:
			return err
		case end == nil:
			return job.ErrNotFound
		case !matches:
			return damagedResult(child)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return end, nil
}

// Children implements job.Calls.
func (q Queue) Children(ctx context.Context, a account.ID, parent job.ID, after int64, limit int) (list []job.Child, err error) {
	err = q.store.read(ctx, func(t tx) error {
		return t.each("SELECT "+summaryColumns+", seq FROM (SELECT child FROM job_calls WHERE account = ? AND parent = ? AND child > ? ORDER BY child LIMIT ?) AS called JOIN jobs ON seq = child ORDER BY seq", func(r row) {
			s := readSummary(r)
			list = append(list, job.Child{Ref: r.int(11), ID: s.ID, State: s.State, ProgramName: s.ProgramName, Created: s.Created, Finished: s.Finished})
		}, int64(a), t.conn.IDs.place(parent), after, limit)
	})
	return list, err
}

// Parent implements job.Calls.
func (q Queue) Parent(ctx context.Context, a account.ID, child job.ID) (ref int64, err error) {
	err = q.store.read(ctx, func(t tx) error {
		_, err := t.one("SELECT p.seq FROM jobs j JOIN job_calls c ON c.child = j.seq JOIN jobs p ON p.id = c.parent WHERE j.id = ? AND c.account = ?", func(r row) { ref = r.int(0) }, t.conn.IDs.place(child), int64(a))
		return err
	})
	return ref, err
}

// Signal implements job.Calls.
func (q Queue) Signal(ctx context.Context, a account.ID, id job.ID, s *job.Signal) (left bool, err error) {
	_, err = q.store.change(ctx, func(t tx) (bool, error) {
		left = false
		var seq int64
		var ended bool
		found, err := t.one("SELECT seq, CASE WHEN finished IS NULL THEN 0 ELSE 1 END FROM jobs WHERE id = ? AND account = ?"+lockJobs, func(r row) { seq, ended = r.int(0), r.bool(1) }, t.conn.IDs.place(id), int64(a))
		switch {
		case err != nil:
			return false, err
		case !found:
			return false, job.ErrNotFound
		}
		var key any
		if s.Key != nil {
			key = s.Key[:]
			if repeat, err := t.has("SELECT 1 FROM job_signals WHERE job = ? AND key = ?", seq, key); err != nil || repeat {
				return true, err
			}
		}
		if ended {
			return false, job.ErrEnded
		}
		size := int64(len(s.Data)) + job.SignalRow
		var waiting, bytes, last int64
		if _, err := t.one("SELECT count(data), coalesce(max(number), 0) FROM job_signals WHERE job = ?", func(r row) { waiting, last = r.int(0), r.int(1) }, seq); err != nil {
			return false, err
		}
		if _, err := t.one("SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM job_signals WHERE account = ? AND data IS NOT NULL", func(r row) { bytes = r.int(0) }, int64(a)); err != nil {
			return false, err
		}
		if s.Most > 0 && waiting >= int64(s.Most) || s.MostBytes > 0 && bytes+size > s.MostBytes {
			return false, job.ErrSignalLimit
		}
		if _, err := t.exec("INSERT INTO job_signals (job, number, account, name, data, bytes, key, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", seq, last+1, int64(a), s.Name, s.Data, size, key, s.At); err != nil {
			return false, err
		}
		if _, err := t.exec("DELETE FROM job_signals WHERE job = ? AND number <= ? AND data IS NULL", seq, last+1-job.MaxSignalKeys); err != nil {
			return false, err
		}
		left = true
		_, err = t.exec("UPDATE jobs SET due = ? WHERE seq = ? AND state = 'waiting' AND seq IN (SELECT job FROM job_awaits WHERE job = ? AND signal = ?)", s.At, seq, seq, s.Name)
		return true, err
	})
	return left, err
}

// NextSignal implements job.Calls.
func (q Queue) NextSignal(ctx context.Context, a account.ID, id job.ID, name string) (s *job.Signal, err error) {
	err = q.store.read(ctx, func(t tx) error {
		_, err := t.one("SELECT g.number, g.data, g.at FROM jobs j JOIN job_signals g ON g.job = j.seq WHERE j.id = ? AND j.account = ? AND g.name = ? AND g.data IS NOT NULL ORDER BY g.number LIMIT 1", func(r row) {
			s = &job.Signal{Number: r.int(0), Name: name, Data: r.bytes(1), At: r.time(2)}
		}, t.conn.IDs.place(id), int64(a), name)
		return err
	})
	return s, err
}

// endSignals drops what was left for a job that ends, but for what tells the repeats of its last signals.
func (t tx) endSignals(seq int64) error {
	if n, err := t.exec("UPDATE job_signals SET data = NULL WHERE job = ?", seq); err != nil || n == 0 {
		return err
	}
	_, err := t.exec("DELETE FROM job_signals WHERE job = ?1 AND (key IS NULL OR number <= (SELECT max(number) FROM job_signals WHERE job = ?1) - ?2)", seq, job.MaxSignalKeysEnded)
	return err
}

// ConsumeSignal implements job.Calls.
func (q Queue) ConsumeSignal(ctx context.Context, a account.ID, id job.ID, number int64) error {
	_, err := q.store.change(ctx, func(t tx) (bool, error) {
		n, err := t.exec("UPDATE job_signals SET data = NULL WHERE number = ? AND data IS NOT NULL AND account = ? AND job IN (SELECT seq FROM jobs WHERE id = ?)", number, int64(a), t.conn.IDs.place(id))
		return n > 0, err
	})
	return err
}
