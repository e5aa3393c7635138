package storetest

import (
	"bytes"
	"context"
	"testing"

	"ql/internal/account/usage"
	"ql/internal/job"
)

// testEndedCalls stores jobs that are over together with what tells of them: all of it, or nothing. Each is counted once, also
// where it is given again.
func testEndedCalls(t *testing.T, s Stores) {
	ctx := t.Context()
	a := create(t, s.Accounts, person("ada")).ID
	entry := func(calls []job.EndedCall) job.JournalEntry {
		return job.JournalEntry{Step: 1, Entries: []byte("entry"), Calls: calls}
	}
	number := 0
	for name, store := range map[string]func(l job.Lease, of *job.Task, calls []job.EndedCall) error{
		"AppendJournal": func(l job.Lease, _ *job.Task, calls []job.EndedCall) error {
			return s.Queue.AppendJournal(ctx, l, entry(calls))
		},
		"a checkpoint": func(l job.Lease, _ *job.Task, calls []job.EndedCall) error {
			number++
			_, _, err := s.Queue.Accept(job.WithCheckpoint(ctx, &job.Checkpoint{Lease: l, Entry: entry(calls)}), task(a, 900+number), node(t, s), claimTime)
			return err
		},
		"SaveSnapshot": func(l job.Lease, _ *job.Task, calls []job.EndedCall) error {
			p := shown()
			p.Calls = calls
			return s.Queue.SaveSnapshot(ctx, l, []byte("snapshot"), p)
		},
		"Suspend": func(l job.Lease, _ *job.Task, calls []job.EndedCall) error {
			w := waitingUntil(seconds(100))
			w.Calls = calls
			return s.Queue.Suspend(ctx, l, w)
		},
		"Finish": func(l job.Lease, of *job.Task, calls []job.EndedCall) error {
			e := end(of, job.Complete)
			e.Calls = calls
			return s.Queue.Finish(ctx, l, e)
		},
	} {
		number += 10
		parent := task(a, number)
		parent.State = job.Running
		l := accept(t, s, parent)
		var calls []job.EndedCall
		for i := range 3 {
			k := task(a, number+1+i)
			k.Convention = job.Script
			calls = append(calls, job.EndedCall{Parent: l.ID, End: end(k, job.Complete)})
		}
		counted := func() int64 {
			used, err := s.Usage.Used(ctx, a, usage.MonthOf(calls[0].End.Finished))
			must(t, err)
			return used.Calls
		}
		children := func() []job.Child {
			list, err := s.Queue.Children(ctx, a, l.ID, 0, 10)
			must(t, err)
			return list
		}
		before := counted()
		lost := l
		lost.Attempt++
		wantError(t, name+" without the lease", store(lost, parent, calls), job.ErrLeaseLost)
		if n := len(children()); n != 0 || counted() != before {
			t.Errorf("%s without the lease has stored %d jobs, and counted %d", name, n, counted()-before)
		}
		must(t, store(l, parent, calls))
		list := children()
		if len(list) != len(calls) {
			t.Fatalf("%s has stored %d jobs of %d", name, len(list), len(calls))
		}
		for i := range list {
			wantFinished(t, s, list[i].Ref, calls[i].End.Record)
			ref, err := s.Queue.Parent(ctx, a, list[i].ID)
			must(t, err)
			same(t, name+": the parent", ref, l.Seq)
		}
		want := before + int64(len(calls))
		if name == "a checkpoint" {
			want++ // the job that was accepted with it
		}
		if got := counted(); got != want && got != want+1 { // and the parent, where that is counted with its end
			t.Errorf("%s has counted %d", name, got-before)
		}
		// What was stored is not stored, nor counted, again.
		before = counted()
		other := running(t, s, a, number+5)
		must(t, s.Queue.AppendJournal(ctx, other, entry(calls)))
		if got := counted() - before; got > 1 || len(children()) != len(calls) {
			t.Errorf("%s: the same jobs again were counted %d times, and are %d", name, got, len(children()))
		}
	}
	// They never count as jobs that have not ended.
	first := calledBy(running(t, s, a, 800).ID, a, 801, 1)
	accept(t, s, first)
}

// testChildEnd reads how a job came out, and no more of it than is asked for.
func testChildEnd(t *testing.T, s Stores) {
	ctx := t.Context()
	ada, bob := create(t, s.Accounts, person("ada")).ID, create(t, s.Accounts, person("bob")).ID
	parent := running(t, s, ada, 1)
	child := calledBy(parent.ID, ada, 2, 0)
	l := accept(t, s, child)
	look := func(most int64) *job.ChildEnd {
		t.Helper()
		c, err := s.Queue.ChildEnd(ctx, ada, parent.ID, child.ID, most)
		must(t, err)
		return c
	}
	if c := look(100); c.State != job.Accepted || len(c.Result) != 0 {
		t.Errorf("before it runs it is %+v", c)
	}
	e := end(child, job.Complete)
	e.Encoding, e.Error = job.Text, bytes.Repeat([]byte(" "), job.AlwaysShownBytes+1)
	must(t, s.Queue.Finish(ctx, claimJob(t, s, due(t, s, l.Seq)), e))
	size := int64(len(e.Result))
	want := job.ChildEnd{State: job.Complete, Encoding: job.Text, Output: size, Result: e.Result}
	same(t, "a job that has ended", *look(size), want)
	want.Result = nil
	same(t, "one with a larger result", *look(size - 1), want)

	failed := calledBy(parent.ID, ada, 3, 0)
	l = accept(t, s, failed)
	f := end(failed, job.Failed)
	must(t, s.Queue.Finish(ctx, claimJob(t, s, due(t, s, l.Seq)), f))
	c, err := s.Queue.ChildEnd(ctx, ada, parent.ID, failed.ID, 0)
	must(t, err)
	if c.State != job.Failed || string(c.Error) != string(f.Error) {
		t.Errorf("a job that has failed is %+v", c)
	}
	for what, ask := range map[string]func(context.Context) (*job.ChildEnd, error){
		"of another account": func(ctx context.Context) (*job.ChildEnd, error) {
			return s.Queue.ChildEnd(ctx, bob, parent.ID, child.ID, size)
		},
		"of another parent": func(ctx context.Context) (*job.ChildEnd, error) {
			return s.Queue.ChildEnd(ctx, ada, failed.ID, child.ID, size)
		},
		"that nobody has started": func(ctx context.Context) (*job.ChildEnd, error) {
			return s.Queue.ChildEnd(ctx, ada, parent.ID, parent.ID, size)
		},
	} {
		_, err := ask(ctx)
		wantError(t, "one "+what, err, job.ErrNotFound)
	}
}
