package relational

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

// Load implements job.Attempts.
func (q Queue) Load(ctx context.Context, seq int64) (s *job.Stored, err error) {
	err = q.store.read(ctx, func(t tx) error {
		return t.snapshot(func() (err error) {
			s, err = t.load(seq)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (t tx) load(seq int64) (*job.Stored, error) {
	s := &job.Stored{}
	found, err := t.one("SELECT "+summaryColumns+", attempt, due, program, task, ran, failures, stopping, webhook, history_bytes FROM jobs WHERE seq = ? AND program IS NOT NULL", func(r row) {
		s.Summary = readSummary(r)
		s.Lease = job.Lease{Seq: seq, ID: s.ID, Account: s.Account, Attempt: r.int(11)}
		s.Until = r.time(12)
		copy(s.Program[:], r.s.Blob(13))
		s.Spec = r.bytes(14)
		s.Ran = time.Duration(r.int(15)) * time.Microsecond
		s.Failures, s.Stopping = int(r.int(16)), r.bool(17)
		s.Webhook, s.HistoryBytes = r.text(18), r.int(19)
	}, seq)
	if err != nil || !found {
		return nil, leaseLostUnless(err)
	}
	if _, err := t.one("SELECT snapshot FROM job_snapshots WHERE job = ?", func(r row) { s.Snapshot = r.bytes(0) }, seq); err != nil {
		return nil, err
	}
	if err := t.each("SELECT entries FROM job_journal WHERE job = ? ORDER BY step", func(r row) { s.Journal = append(s.Journal, r.bytes(0)) }, seq); err != nil {
		return nil, err
	}
	if s.Output, err = t.output(seq); err != nil {
		return nil, err
	}
	s.Prompt, err = t.prompt(seq)
	return s, err
}

// output puts the pieces of a job's output together. One that begins before the
// end of those before it takes the place of what follows.
func (t tx) output(seq int64) (out []byte, err error) {
	err = t.each("SELECT start, output FROM job_output WHERE job = ? ORDER BY start", func(r row) {
		out = append(out[:min(r.int(0), int64(len(out)))], r.s.Blob(1)...)
	}, seq)
	return out, err
}

// Program implements job.Attempts.
func (q Queue) Program(ctx context.Context, hash [32]byte) (code []byte, err error) {
	err = q.store.read(ctx, func(t tx) error {
		found, err := t.one("SELECT code FROM programs WHERE hash = ?", func(r row) { code = r.bytes(0) }, hash[:])
		if err == nil && !found {
			err = errors.New("the program of a job is not in the store")
		}
		return err
	})
	return code, err
}

// checkLease fails with job.ErrLeaseLost unless the lease holds. It returns how often the job
// has crashed.
func (t tx) checkLease(l job.Lease) (crashes int64, err error) {
	found, err := t.one("SELECT crashes FROM jobs WHERE seq = ? AND attempt = ? AND state = 'running'", func(r row) { crashes = r.int(0) }, l.Seq, l.Attempt)
	if err != nil || !found {
		return 0, leaseLostUnless(err)
	}
	return crashes, nil
}

// change makes a change of an account's rows that may turn out to be none, and
// keeps the checkpoint of its context with it.
func (s *Store) change(ctx context.Context, do func(tx) (bool, error)) (done bool, err error) {
	c := job.CheckpointOf(ctx)
	err = s.write(ctx, func(t tx) (err error) {
		var crashes int64
		if c != nil {
			if crashes, err = t.checkLease(c.Lease); err != nil {
				return err
			}
		}
		if done, err = do(t); err != nil || !done || c == nil {
			return err
		}
		return t.appendJournal(c.Lease.Seq, c.Entry, crashes)
	})
	done = done && err == nil
	if c != nil {
		c.Committed = done
	}
	return done, err
}

// appendJournal stores a part of the journal of a job that has crashed so often. The results
// of steps, which count from 1 on, say that it got on since.
func (t tx) appendJournal(seq int64, e job.JournalEntry, crashes int64) error {
	if err := t.storeEndedCalls(e.Calls); err != nil {
		return err
	}
	_, err := t.exec("INSERT INTO job_journal (job, step, entries) VALUES (?, ?, ?)", seq, e.Step, e.Entries)
	if err == nil && crashes > 0 && e.Step > 0 {
		_, err = t.exec("UPDATE jobs SET crashes = 0 WHERE seq = ?", seq)
	}
	return err
}

// guarded makes a change of a job that an attempt has in its hands.
func (q Queue) guarded(ctx context.Context, l job.Lease, do func(tx) error) error {
	return q.store.write(ctx, func(t tx) error {
		if _, err := t.checkLease(l); err != nil {
			return err
		}
		return do(t)
	})
}

// MarkStarted implements job.Attempts.
func (q Queue) MarkStarted(ctx context.Context, l job.Lease) error {
	return q.guarded(ctx, l, func(t tx) error {
		_, err := t.exec("UPDATE jobs SET begun = 1 WHERE seq = ?", l.Seq)
		return err
	})
}

// ResetCrashes implements job.Attempts.
func (q Queue) ResetCrashes(ctx context.Context, l job.Lease) error {
	return q.guarded(ctx, l, func(t tx) error {
		_, err := t.exec("UPDATE jobs SET crashes = 0 WHERE seq = ?", l.Seq)
		return err
	})
}

// AppendJournal implements job.Attempts.
func (q Queue) AppendJournal(ctx context.Context, l job.Lease, e job.JournalEntry) error {
	return q.store.write(ctx, func(t tx) error {
		crashes, err := t.checkLease(l)
		if err != nil {
			return err
		}
		return t.appendJournal(l.Seq, e, crashes)
	})
}

// SaveSnapshot implements job.Attempts.
func (q Queue) SaveSnapshot(ctx context.Context, l job.Lease, snapshot []byte, p job.Progress) error {
	return q.guarded(ctx, l, func(t tx) error {
		err := t.holdFiles(l, &p.Files)
		if errors.Is(err, job.ErrHeldLimit) {
			err = nil // it runs on, and has them open
		}
		if err != nil {
			return err
		}
		return t.saveSnapshot(l.Seq, snapshot, p)
	})
}

func (t tx) saveSnapshot(seq int64, snapshot []byte, p job.Progress) error {
	if err := t.storeEndedCalls(p.Calls); err != nil {
		return err
	}
	if _, err := t.exec(`INSERT INTO job_snapshots (job, trace_dropped, response, trace, snapshot) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (job) DO UPDATE SET trace_dropped = excluded.trace_dropped, response = excluded.response, trace = excluded.trace, snapshot = excluded.snapshot`,
		seq, p.TraceDropped, p.Response, p.Trace, snapshot); err != nil {
		return err
	}
	if _, err := t.exec("DELETE FROM job_journal WHERE job = ?", seq); err != nil {
		return err
	}
	if h := &p.History; len(h.Entries) > 0 {
		if _, err := t.exec("INSERT INTO job_history (job, step, entries) VALUES (?, ?, ?) ON CONFLICT (job, step) DO UPDATE SET entries = excluded.entries", seq, h.Step, h.Entries); err != nil {
			return err
		}
		if _, err := t.exec("UPDATE jobs SET history_bytes = history_bytes + ? WHERE seq = ?", len(h.Entries), seq); err != nil {
			return err
		}
	}
	if _, err := t.exec("DELETE FROM job_output WHERE job = ? AND start >= ?", seq, p.From); err != nil {
		return err
	}
	if len(p.Output) > 0 {
		if _, err := t.exec("INSERT INTO job_output (job, start, output) VALUES (?, ?, ?)", seq, p.From, p.Output); err != nil {
			return err
		}
	}
	// What is stored of an output in pieces says its encoding only where that cannot be told
	// from its bytes.
	encoding := job.Text
	if p.JSON {
		encoding = job.JSONText
	}
	_, err := t.exec("UPDATE jobs SET steps = ?, ran = ?, format = ?, encoding = ?, failures = 0, crashes = 0 WHERE seq = ?",
		p.Steps, p.Ran.Microseconds(), p.Format, string(encoding), seq)
	return err
}

// Suspend implements job.Attempts.
func (q Queue) Suspend(ctx context.Context, l job.Lease, s *job.Suspension) error {
	return q.guarded(ctx, l, func(t tx) error {
		var stopping bool
		held, before := s.Held(), int64(-1)
		if _, err := t.one("SELECT stopping, length(task) + coalesce((SELECT length(code) FROM programs WHERE hash = program), 0), coalesce(held, -1), question_bytes FROM jobs WHERE seq = ?", func(r row) {
			stopping, before = r.bool(0), r.int(2)
			held += r.int(1) + r.int(3)
		}, l.Seq); err != nil {
			return err
		}
		if stopping {
			return job.ErrStopping
		}
		if err := t.reserveSuspension(l.Account, s, held, before); err != nil {
			return err
		}
		return t.suspend(l, s, held)
	})
}

// reserveSuspension counts a job that is suspended and holds so many bytes, and was
// counted with so many before; -1 for never. Where the account's other suspended jobs
// leave no room for it, nothing is counted.
func (t tx) reserveSuspension(a account.ID, s *job.Suspension, held, before int64) error {
	more, bytes := int64(1), held
	if before >= 0 {
		more, bytes = 0, held-before
	}
	n, err := t.exec(`INSERT INTO kept (account, standing, standing_bytes, sessions)
		SELECT ?1, ?2, ?3, 0 WHERE (?4 = 0 OR ?2 <= ?4) AND (?5 = 0 OR ?3 <= ?5)
		ON CONFLICT (account) DO UPDATE SET standing = kept.standing + ?2, standing_bytes = kept.standing_bytes + ?3
		WHERE (?4 = 0 OR kept.standing + ?2 <= ?4) AND (?5 = 0 OR kept.standing_bytes + ?3 <= ?5)`,
		int64(a), more, bytes, s.Most, s.MostBytes)
	if err != nil || n > 0 {
		return err
	}
	full := false
	if _, err := t.one("SELECT standing + ? > ? FROM kept WHERE account = ?", func(r row) { full = r.bool(0) }, more, s.Most, int64(a)); err != nil {
		return err
	}
	if full && s.Most > 0 {
		return job.ErrSuspendLimit
	}
	return job.ErrStorageLimit
}

// releaseSuspension counts a job no longer that ends now. It is called before the row
// says so.
func (t tx) releaseSuspension(l job.Lease) error {
	held := int64(-1)
	if _, err := t.one("SELECT coalesce(held, -1) FROM jobs WHERE seq = ?", func(r row) { held = r.int(0) }, l.Seq); err != nil {
		return err
	}
	return t.releaseHeld(l.Account, held)
}

// releaseHeld counts the bytes of one suspended job no longer; -1 for one that was none.
func (t tx) releaseHeld(a account.ID, held int64) error {
	if held < 0 {
		return nil
	}
	_, err := t.exec("UPDATE kept SET standing = standing - 1, standing_bytes = standing_bytes - ? WHERE account = ?", held, int64(a))
	return err
}

func (t tx) suspend(l job.Lease, s *job.Suspension, held int64) error {
	if err := t.holdFiles(l, &s.Files); err != nil {
		return err
	}
	if err := t.saveSnapshot(l.Seq, s.Snapshot, s.Progress); err != nil {
		return err
	}
	if p := s.Prompt; p != nil {
		if _, err := t.exec("INSERT INTO job_prompts (job, id, kind, token, sealed, expires, message, schema, audience, sent, follows) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			l.Seq, p.ID, p.Kind, p.Token[:], p.Sealed, p.Expires, p.Message, p.Schema, p.To, p.Sent, p.Follows); err != nil {
			return err
		}
		if err := t.enqueuePaused(l, s); err != nil {
			return err
		}
	}
	if err := t.storeQuestion(l, s); err != nil {
		return err
	}
	due, err := t.storeAwaits(l, s)
	if err != nil {
		return err
	}
	_, err = t.exec("UPDATE jobs SET state = ?, due = ?, held = ?, question_bytes = question_bytes + ?, begun = 0, member = NULL WHERE seq = ?",
		string(s.State), due, held, s.QuestionBytes(), l.Seq)
	return err
}

// Release implements job.Attempts. The number of the attempt goes on: a change or
// a renewal of the lease that is on its way comes too late.
func (q Queue) Release(ctx context.Context, l job.Lease, at time.Time, failures int, ran time.Duration) error {
	return q.store.write(ctx, func(t tx) error {
		n, err := t.exec("UPDATE jobs SET attempt = attempt + 1, due = ?, failures = ?, ran = ?, crashes = 0, begun = 0, member = NULL WHERE seq = ? AND attempt = ? AND state = 'running'",
			at, failures, ran.Microseconds(), l.Seq, l.Attempt)
		if err != nil || n == 0 {
			return leaseLostUnless(err)
		}
		return nil
	})
}

// Finish implements job.Attempts.
func (q Queue) Finish(ctx context.Context, l job.Lease, e *job.End) error {
	if decided, err := q.finishShared(ctx, l, e); decided {
		return err
	}
	return q.store.write(ctx, func(t tx) error { return t.finish(l, e) })
}

func (t tx) finish(l job.Lease, e *job.End) error {
	if e.Leftovers { // else it was never suspended
		held := int64(-1)
		found, err := t.one("SELECT coalesce(held, -1) FROM jobs WHERE seq = ? AND attempt = ? AND state = 'running'", func(r row) { held = r.int(0) }, l.Seq, l.Attempt)
		if err != nil || !found {
			return leaseLostUnless(err)
		}
		if err := t.releaseHeld(l.Account, held); err != nil {
			return err
		}
	}
	var webhook string
	var rest int64 // what its request and its questions count
	var of waitersOf
	found, err := t.one(`UPDATE jobs SET state = ?, finished = ?, steps = ?, trace_dropped = ?, error = ?, response = ?, trace = ?, result = ?, encoding = ?, checksum = ?,
		ran = ?, fuel = ?, memory = ?, fetches = ?, history = ?, due = NULL, member = NULL, program = NULL, task = CASE WHEN ? = 1 THEN task END, held = NULL
		WHERE seq = ? AND attempt = ? AND state = 'running' RETURNING `+finishedWebhook+`, coalesce(length(request), 0) + question_bytes + coalesce(length(task), 0) + history_bytes, schedule, concurrency_key`, func(r row) {
		webhook, rest, of = r.text(0), r.int(1), waitersOf{r.text(2), r.text(3)}
	},
		string(e.State), e.Finished, e.Steps, e.TraceDropped, e.Error, e.Response, e.Trace, append([]byte{}, e.Result...), string(e.Encoding), checksum(e.Result),
		e.Ran.Microseconds(), e.Cost.Fuel, e.Cost.Memory, e.Cost.Fetches, e.History.Part, e.History.Part != nil, l.Seq, l.Attempt)
	if err != nil || !found {
		return leaseLostUnless(err)
	}
	if err := t.storeEndedCalls(e.Calls); err != nil {
		return err
	}
	if err := t.setErrorCode(l.ID, e.Error); err != nil {
		return err
	}
	if err := t.countEnded(l.Account, e.Finished, e.Ran, e.Bytes()-e.Call.Bytes()+rest); err != nil {
		return err
	}
	if err := t.noteEnd(l.Account, of, e.State, e.Finished); err != nil {
		return err
	}
	if err := t.endSignals(l.Seq); err != nil {
		return err
	}
	if e.Leftovers {
		if err := t.deleteLeftovers(l.Seq, e.Finished); err != nil {
			return err
		}
	}
	if e.Convention == job.Script || e.State == job.Cancelled {
		if err := t.endCall(l, e.State, e.Finished); err != nil {
			return err
		}
	}
	return t.enqueueDelivery(l, webhook, e.Delivery, e.Finished)
}

// waitersOf is for whom the end of a job matters: the schedule that started it, and those that wait for
// its concurrency key.
type waitersOf struct{ schedule, key string }

// noteEnd tells them, after the row says that the job has ended.
func (t tx) noteEnd(a account.ID, of waitersOf, s job.State, now time.Time) error {
	if err := t.noteScheduledEnd(a, of.schedule, s, now); err != nil {
		return err
	}
	return t.unblockNext(a, of.key, now)
}

// FinishAsStored implements job.Attempts.
func (q Queue) FinishAsStored(ctx context.Context, l job.Lease, s job.State, now time.Time, failure []byte, delivery string) error {
	end := func(readable bool) error {
		return q.guarded(ctx, l, func(t tx) error {
			var webhook string
			var ran time.Duration
			if _, err := t.one("SELECT "+finishedWebhook+", ran FROM jobs WHERE seq = ?", func(r row) {
				webhook, ran = r.text(0), time.Duration(r.int(1))*time.Microsecond
			}, l.Seq); err != nil {
				return err
			}
			return t.finishAsStored(l, s, now, ran, failure, webhook, delivery, readable)
		})
	}
	err := end(true)
	if isDamaged(err) {
		return end(false) // its rows go when it is forgotten
	}
	return err
}

// finishedWebhook is where the end of a job is told, null for nowhere.
const finishedWebhook = "CASE WHEN (webhook_events & 1) = 1 THEN webhook END"

// enqueuePaused puts the pause of a job into the outbox, where its webhook is told of that.
func (t tx) enqueuePaused(l job.Lease, s *job.Suspension) error {
	_, err := t.exec(`INSERT INTO deliveries (id, account, job, url, state, attempts, due, made, event, prompt)
		SELECT ?, account, ?, webhook, 'pending', 0, ?, ?, 'paused', ? FROM jobs WHERE seq = ? AND webhook IS NOT NULL AND (webhook_events & 2) = 2 ON CONFLICT (id) DO NOTHING`,
		job.PausedDeliveryID(l.ID, s.Prompt.ID), l.ID[:], s.At, s.At, s.Prompt.ID, l.Seq)
	return err
}

// enqueueDelivery puts the end of a job into the outbox.
func (t tx) enqueueDelivery(l job.Lease, webhook, delivery string, now time.Time) error {
	if webhook == "" || delivery == "" {
		return nil
	}
	_, err := t.exec("INSERT INTO deliveries (id, account, job, url, state, attempts, due, made) VALUES (?, ?, ?, ?, 'pending', 0, ?, ?)",
		delivery, int64(l.Account), l.ID[:], webhook, now, now)
	return err
}

// deleteLeftovers removes what a job needed on its way.
func (t tx) deleteLeftovers(seq int64, now time.Time) error {
	for _, sql := range []string{
		"DELETE FROM job_journal WHERE job = ?", "DELETE FROM job_snapshots WHERE job = ?",
		"DELETE FROM job_output WHERE job = ?", "DELETE FROM job_prompts WHERE job = ?",
		"DELETE FROM job_awaits WHERE job = ?",
	} {
		if _, err := t.exec(sql, seq); err != nil {
			return err
		}
	}
	if err := t.letGo(seq, nil); err != nil {
		return err
	}
	return t.endQuestions(seq, job.QuestionWithdrawn, now)
}

// finishAsStored finishes a job with what it has to show so far, unless that is not
// readable.
func (t tx) finishAsStored(l job.Lease, s job.State, now time.Time, ran time.Duration, failure []byte, webhook, delivery string, readable bool) error {
	var output []byte
	so := progress{}
	if readable {
		var err error
		if output, err = t.output(l.Seq); err != nil {
			return err
		}
		if so, err = t.progress(l.Seq); err != nil {
			return err
		}
	}
	record := job.NewRecord(job.Summary{ID: l.ID, Account: l.Account}, s, now, job.Progress{
		Output: append([]byte{}, output...), JSON: so.json, Trace: so.trace, TraceDropped: so.traceDropped, Response: so.response, Ran: ran,
	}, failure)
	if err := t.releaseSuspension(l); err != nil {
		return err
	}
	rest := int64(0) // what its request and its questions count
	var of waitersOf
	if _, err := t.one(`UPDATE jobs SET state = ?, finished = ?, trace_dropped = ?, error = ?, response = ?, trace = ?, result = ?, encoding = ?, checksum = ?,
		attempt = attempt + 1, begun = 0, blocked = 0, due = NULL, member = NULL, program = NULL, task = CASE WHEN history_bytes > 0 THEN task END, held = NULL WHERE seq = ? RETURNING coalesce(length(request), 0) + question_bytes + coalesce(length(task), 0) + history_bytes, schedule, concurrency_key`,
		func(r row) { rest, of = r.int(0), waitersOf{r.text(1), r.text(2)} },
		string(record.State), record.Finished, record.TraceDropped, record.Error, record.Response, record.Trace, record.Result, string(record.Encoding), checksum(record.Result), l.Seq); err != nil {
		return err
	}
	if readable {
		if err := t.deleteLeftovers(l.Seq, now); err != nil {
			return err
		}
	}
	if err := t.setErrorCode(l.ID, record.Error); err != nil {
		return err
	}
	if err := t.countEnded(l.Account, now, ran, record.Bytes()+rest); err != nil {
		return err
	}
	if err := t.noteEnd(l.Account, of, s, now); err != nil {
		return err
	}
	if err := t.endSignals(l.Seq); err != nil {
		return err
	}
	if err := t.endCall(l, s, now); err != nil {
		return err
	}
	return t.enqueueDelivery(l, webhook, delivery, now)
}

// What a job was accepted with, and what it has made since, in bytes.
const (
	taskSizes     = "coalesce(length(task), 0), coalesce((SELECT length(code) FROM programs WHERE hash = program), 0)"
	progressSizes = `coalesce((SELECT length(snapshot) + coalesce(length(trace), 0) + coalesce(length(response), 0) FROM job_snapshots WHERE job = seq), 0),
		coalesce((SELECT sum(length(entries)) FROM job_journal WHERE job = seq), 0),
		coalesce((SELECT sum(length(output)) FROM job_output WHERE job = seq), 0)`
)

// Head implements job.Attempts. The lengths of large values are in the starts of their
// rows.
func (q Queue) Head(ctx context.Context, id job.ID) (h *job.Head, err error) {
	h = &job.Head{}
	err = q.store.read(ctx, func(t tx) error {
		found, err := t.one("SELECT "+summaryColumns+`, seq, attempt, ran, failures, crashes, stopping, webhook,
			(SELECT id FROM job_prompts WHERE job = seq), (SELECT kind FROM job_prompts WHERE job = seq),
			`+taskSizes+", "+progressSizes+", concurrency_key FROM jobs WHERE id = ?", func(r row) {
			h.Summary = readSummary(r)
			h.Lease = job.Lease{Seq: r.int(11), ID: h.ID, Account: h.Account, Attempt: r.int(12)}
			h.Ran = time.Duration(r.int(13)) * time.Microsecond
			h.Failures, h.Crashes, h.Stopping, h.Webhook = int(r.int(14)), int(r.int(15)), r.bool(16), r.text(17)
			h.Question, h.Kind = r.text(18), r.text(19)
			h.Sizes = job.Sizes{Task: r.int(20), Program: r.int(21), Snapshot: r.int(22), Journal: r.int(23), Output: r.int(24)}
			h.Keyed = r.text(25) != ""
		}, t.conn.IDs.place(id))
		if err == nil && !found {
			err = job.ErrNotFound
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}
