package sqlite

import (
	"errors"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/member"
)

// exerciseQueue calls every method of the queue, on jobs in each state.
func exerciseQueue(t *testing.T, s *Store) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, q, now := t.Context(), s.Queue(), time.Unix(1000, 0)
	a, err := s.Accounts().Create(ctx, account.Account{Username: "ada", Plan: account.Free, Created: now})
	must(err)
	dead, _, err := s.Members().Join(ctx, member.Node{ID: 2})
	must(err)
	m, last, err := s.Members().Join(ctx, member.Node{ID: 1})
	must(err)
	accept := func(state job.State) job.Lease {
		t.Helper()
		task := &job.Task{Summary: job.Summary{ID: job.NewID(), Account: a, State: state, Created: now}, Code: []byte("code"), Spec: []byte("spec"), Webhook: "https://example.com"}
		task.Key = &job.Key{Hash: [32]byte(append(task.ID[:], task.ID[:]...)), Until: now}
		l, _, err := q.Accept(ctx, task, m, now)
		must(err)
		return l
	}
	standing := &job.Suspension{
		State: job.Paused, Until: now, Most: 10, Snapshot: []byte("s"), Progress: job.Progress{Output: []byte("x")},
		Prompt: &job.Prompt{ID: "p", Kind: "confirm", Sealed: []byte("x"), Expires: now},
	}
	end := &job.End{Record: job.Record{Summary: job.Summary{State: job.Complete, Finished: now}}, Leftovers: true}

	l := accept(job.Running)
	must(q.Suspend(ctx, l, standing))
	asked, err := q.QuestionByToken(ctx, [32]byte{})
	must(err)
	_, err = q.NextQuestion(ctx, &asked)
	if !errors.Is(err, job.ErrNotFound) {
		t.Fatal(err)
	}
	l, err = q.Answer(ctx, l.ID, job.Answer{Prompt: "p", At: now, Entries: []byte("x")}, m, now)
	must(err)
	_, _, err = q.FindAnswer(ctx, l.ID, "p")
	must(err)
	must(q.AppendJournal(ctx, l, job.JournalEntry{Step: 1, Entries: []byte("x")}))
	must(q.SaveSnapshot(ctx, l, []byte("s"), standing.Progress))
	must(s.Members().Renew(ctx, m, last))
	_, err = q.ListStopping(ctx, m)
	must(err)
	_, err = q.Load(ctx, l.Seq)
	must(err)
	_, err = q.View(ctx, l.ID)
	must(err)
	_, err = q.Program(ctx, [32]byte{})
	must(err)
	_, err = q.Head(ctx, l.ID)
	must(err)
	must(q.MarkStarted(ctx, l))
	must(q.ResetCrashes(ctx, l))
	_, _, err = q.Cancel(ctx, l.ID, now, nil, "") // asks it to stop
	must(err)
	must(q.Release(ctx, l, now, 1, 0))
	_, err = s.Members().Bury(ctx, member.Info{Member: dead})
	must(err)
	_, _, err = q.Accept(ctx, &job.Task{Summary: job.Summary{ID: job.NewID(), Account: a, State: job.Running, Created: now}, Code: []byte("code")}, dead, now)
	must(err)
	must(q.RecordCrashes(ctx, now))
	due, err := q.ListDue(ctx, job.DueQuery{State: job.Running, Now: now, Limit: 10})
	must(err)
	l, err = q.ClaimListed(ctx, m, due[0], now)
	must(err)
	end.Delivery = "msg"
	must(q.Finish(ctx, l, end))
	must(q.FinishAsStored(ctx, accept(job.Running), job.Failed, now, nil, "msg-3"))

	accept(job.Accepted)
	_, err = q.Claim(ctx, &job.ClaimQuery{Member: m, Dead: []int64{dead.Incarnation}, Free: []job.Places{{Account: a, N: 9, Due: true}}, Limit: 9, Now: now})
	must(err)
	l = accept(job.Accepted)
	_, err = q.ListHeld(ctx, m.Incarnation, job.Accepted, job.Due{}, 10)
	must(err)
	_, err = q.DeadHolders(ctx)
	must(err)
	_, err = q.NextDue(ctx, time.Time{})
	must(err)
	_, _, err = q.Cancel(ctx, l.ID, now, nil, "msg-2")
	must(err)
	l = accept(job.Running)
	must(q.Suspend(ctx, l, standing))
	_, err = q.ClaimListed(ctx, m, job.Due{Lease: l, State: job.Paused, At: now}, now)
	must(err)
	_, err = q.Prune(ctx, now.Add(2*job.ProgramRetention), 10) // needed
	must(err)
	_, err = q.Count(ctx, now, 10)
	must(err)
	must(s.Accounts().Delete(ctx, a))
	_, err = q.Prune(ctx, now.Add(4*job.ProgramRetention), 10) // not needed
	must(err)
	_, err = s.Jobs().Forget(ctx, a, now.Add(time.Hour), 10)
	must(err)
}

// TestQueueUsesIndexes looks at the plan of every statement of the queue: none
// reads a whole table, and none sorts.
func TestQueueUsesIndexes(t *testing.T) {
	s := openTest(t, Options{Readers: 1})
	exerciseQueue(t, s)
	indexes := map[string]int{}
	explain := func(tx tx) error {
		var texts []string
		for sql := range tx.conn.statements {
			texts = append(texts, sql)
		}
		for _, sql := range texts {
			if !strings.HasPrefix(sql, "SELECT") && !strings.HasPrefix(sql, "UPDATE") && !strings.HasPrefix(sql, "DELETE") {
				continue
			}
			err := tx.each("EXPLAIN QUERY PLAN "+sql, func(r row) {
				step := r.text(3)
				if (strings.HasPrefix(step, "SCAN") || strings.Contains(step, "TEMP B-TREE")) && !small(sql) && !strings.HasPrefix(step, "SCAN members") {
					t.Errorf("%s:\n%s", sql, step)
				}
				if _, name, ok := strings.Cut(step, " INDEX "); ok {
					indexes[strings.Fields(name)[0]]++
				}
			})
			if err != nil {
				t.Errorf("%s: %v", sql, err)
			}
		}
		return nil
	}
	if err := errors.Join(s.read(t.Context(), explain), s.write(t.Context(), explain)); err != nil {
		t.Error(err)
	}
	for name, least := range map[string]int{"jobs_due": 3, "jobs_due_account": 1, "jobs_member": 6, "jobs_stopping": 1, "programs_used": 1, "idempotency_keys_ends": 1, "jobs_id": 4, "jobs_account": 1} {
		if indexes[name] < least {
			t.Errorf("%d statements use %s, want %d", indexes[name], name, least)
		}
	}
}
