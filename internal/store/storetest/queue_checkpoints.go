package storetest

import (
	"context"
	"reflect"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/resource/files"
	"ql/internal/resource/sessions"
)

// change is a change of an account's rows that may carry a checkpoint.
type change struct {
	prepare func()
	do      func(context.Context) (bool, error)
	// conflict makes the next do report false; nil where nothing can.
	conflict func()
	look     func() any // what it changes, as it stands
}

// changes returns one of each kind.
func changes(t *testing.T, s Stores, a account.ID) map[string]change {
	k, ctx := key(a, "checkpoint"), t.Context()
	session := func() any {
		row, found, err := s.Sessions.Load(ctx, k)
		must(t, err)
		return []any{row, found}
	}
	create := func() {
		must(t, s.Sessions.Remove(ctx, k))
		must(t, s.Sessions.Create(ctx, k, noon, never))
	}
	var usage files.Usage
	var row sessions.Row
	file := files.Node{Path: "/file", Modified: noon}
	child, parent, told := task(a, 500), task(a, 499).ID, running(t, s, a, 498)
	over := task(a, 600)
	var left job.Signal
	leave := func(ctx context.Context) error {
		_, err := s.Queue.Signal(ctx, a, told.ID, &left)
		return err
	}
	next := func() any {
		g, err := s.Queue.NextSignal(ctx, a, told.ID, left.Name)
		must(t, err)
		return g
	}
	return map[string]change{
		"Apply": {
			prepare: func() {
				var err error
				usage, err = s.Files.Usage(ctx, a)
				must(t, err)
				file.Tail = append(file.Tail, 'x') // another content each time
				file.Size = int64(len(file.Tail))
			},
			do: func(ctx context.Context) (bool, error) {
				after := usage
				after.Bytes++
				return s.Files.Apply(ctx, a, usage, after, []files.Change{files.Put{Node: file}})
			},
			conflict: func() { usage.Generation++ },
			look: func() any {
				u, err := s.Files.Usage(ctx, a)
				must(t, err)
				n, err := s.Files.Content(ctx, a, files.Key("/file"))
				must(t, err)
				return []any{u, n}
			},
		},
		"Replace": {
			prepare: func() {
				create()
				var err error
				row, _, err = s.Sessions.Load(ctx, k)
				must(t, err)
			},
			do: func(ctx context.Context) (bool, error) {
				return s.Sessions.Replace(ctx, k, row.Version, `{"a":1}`, seconds(1))
			},
			conflict: func() { row.Version++ },
			look:     session,
		},
		"Remove": {
			prepare: create,
			do:      func(ctx context.Context) (bool, error) { return true, s.Sessions.Remove(ctx, k) },
			look:    session,
		},
		"Accept": {
			prepare: func() {
				child = task(a, int(child.Created.Sub(noon)/time.Second)+1)
				child.Called = &job.Called{Parent: parent}
			},
			do: func(ctx context.Context) (bool, error) {
				_, _, err := s.Queue.Accept(ctx, child, node(t, s), claimTime)
				return true, err
			},
			look: func() any {
				list, err := s.Queue.Children(ctx, a, parent, 0, 100)
				must(t, err)
				return list
			},
		},
		"AcceptEnded": {
			prepare: func() {
				over = task(a, int(over.Created.Sub(noon)/time.Second)+1)
				over.Called = &job.Called{Parent: parent}
			},
			do: func(ctx context.Context) (bool, error) {
				_, err := s.Queue.AcceptEnded(ctx, over, end(over, job.Complete))
				return true, err
			},
			look: func() any {
				list, err := s.Queue.Children(ctx, a, parent, 0, 100)
				must(t, err)
				return list
			},
		},
		"Signal": {
			prepare: func() { left = job.Signal{Name: left.Name + "s", Data: []byte("data"), At: noon} },
			do:      func(ctx context.Context) (bool, error) { return true, leave(ctx) },
			look:    next,
		},
		"ConsumeSignal": {
			prepare: func() {
				left = job.Signal{Name: left.Name + "c", Data: []byte("data"), At: noon}
				must(t, leave(ctx))
				left.Number++
				if g, _ := next().(*job.Signal); g != nil {
					left.Number = g.Number
				}
			},
			do: func(ctx context.Context) (bool, error) {
				return true, s.Queue.ConsumeSignal(ctx, a, told.ID, left.Number)
			},
			look: next,
		},
	}
}

// testCheckpoints makes changes with a part of a journal: both are done or none.
func testCheckpoints(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	n := 0
	for name, c := range changes(t, s, a.ID) {
		n++
		l := running(t, s, a.ID, n)
		old := l
		step := int64(0)
		try := func(what string, l job.Lease, wantErr error, wantDone bool) {
			t.Helper()
			step++
			what = name + " " + what
			point := &job.Checkpoint{Lease: l, Entry: job.JournalEntry{Step: step, Entries: []byte(numbered("entry", int(step)))}}
			before, journal := c.look(), load(t, s, old.Seq).Journal
			done, err := c.do(job.WithCheckpoint(t.Context(), point))
			wantError(t, what, err, wantErr)
			if done != wantDone && err == nil || point.Committed != wantDone {
				t.Errorf("%s: done %t, committed %t", what, done, point.Committed)
			}
			if wantDone {
				journal = append(journal, point.Entry.Entries)
				if reflect.DeepEqual(c.look(), before) {
					t.Errorf("%s: nothing was changed", what)
				}
			} else {
				same(t, what+": what it would change", c.look(), before)
			}
			same(t, what+": the journal", load(t, s, old.Seq).Journal, journal)
		}
		c.prepare()
		try("with a lease", l, nil, true)
		c.prepare()
		try("and again", l, nil, true)
		if c.conflict != nil {
			c.prepare()
			c.conflict()
			try("that conflicts", l, nil, false)
			c.prepare()
		}
		c.prepare()
		if done, err := c.do(t.Context()); err != nil || !done {
			t.Errorf("%s without a checkpoint: %t, %v", name, done, err)
		}

		// A step that is there already takes the change with it.
		c.prepare()
		before := c.look()
		twice := &job.Checkpoint{Lease: l, Entry: job.JournalEntry{Step: 1, Entries: []byte("again")}}
		if _, err := c.do(job.WithCheckpoint(t.Context(), twice)); err == nil || isLost(err) || twice.Committed {
			t.Errorf("%s with a step twice: %v, committed %t", name, err, twice.Committed)
		}
		same(t, name+" with a step twice", c.look(), before)

		// Under a context that has ended, neither.
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		late := &job.Checkpoint{Lease: l, Entry: job.JournalEntry{Step: 99, Entries: []byte("late")}}
		_, err := c.do(job.WithCheckpoint(ended, late))
		wantError(t, name+" too late", err, context.Canceled)
		same(t, name+" too late", []any{c.look(), late.Committed}, []any{before, false})

		l = claimJob(t, s, due(t, s, l.Seq))
		try("with an old lease", old, job.ErrLeaseLost, false)
		try("with the new lease", l, nil, true)
		c.prepare()
		must(t, s.Queue.Release(t.Context(), l, seconds(1), 0, 0))
		try("after a release", l, job.ErrLeaseLost, false)
		if c.conflict != nil {
			c.conflict()
			try("that conflicts, with a lost lease", l, job.ErrLeaseLost, false)
			c.prepare()
		}
		l = claimJob(t, s, due(t, s, l.Seq))
		must(t, s.Queue.Suspend(t.Context(), l, waitingUntil(seconds(2))))
		try("of a job that stands", l, job.ErrLeaseLost, false)
		l = claimJob(t, s, due(t, s, l.Seq))
		must(t, s.Queue.Finish(t.Context(), l, end(task(a.ID, n), job.Complete)))
		before = c.look()
		point := &job.Checkpoint{Lease: l, Entry: job.JournalEntry{Step: 100, Entries: []byte("x")}}
		_, err = c.do(job.WithCheckpoint(t.Context(), point))
		wantError(t, name+" of a finished job", err, job.ErrLeaseLost)
		same(t, name+" of a finished job", []any{c.look(), point.Committed}, []any{before, false})
	}
	// An account that is not there.
	l := running(t, s, a.ID, 100)
	point := &job.Checkpoint{Lease: l, Entry: job.JournalEntry{Step: 1, Entries: []byte("x")}}
	_, err := s.Files.Apply(job.WithCheckpoint(t.Context(), point), 12345, files.Usage{}, files.Usage{Bytes: 1}, nil)
	wantError(t, "a file of nobody", err, account.ErrNotFound)
	same(t, "a file of nobody", []any{len(load(t, s, l.Seq).Journal), point.Committed}, []any{0, false})
}

// testCheckpointCrowd makes many changes at once, of which some have lost their
// lease and some conflict: each fails alone.
func testCheckpointCrowd(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	const crowd = 64
	points := make([]*job.Checkpoint, crowd)
	keys := make([]sessions.Key, crowd)
	done := make([]bool, crowd)
	for i := range crowd {
		l := running(t, s, a.ID, i)
		points[i] = &job.Checkpoint{Lease: l, Entry: job.JournalEntry{Step: 1, Entries: []byte(numbered("entry", i))}}
		switch i % 4 {
		case 1:
			claimJob(t, s, due(t, s, l.Seq))
		case 2: // it fails after it has changed something
			must(t, s.Queue.AppendJournal(t.Context(), l, job.JournalEntry{Step: 1, Entries: []byte("there")}))
		}
		keys[i] = key(a.ID, numbered("session", i))
		must(t, s.Sessions.Create(t.Context(), keys[i], noon, never))
	}
	errs := atOnce(crowd, func(i int) (err error) {
		version := int64(0)
		if i%4 == 3 {
			version = 12345
		}
		done[i], err = s.Sessions.Replace(job.WithCheckpoint(t.Context(), points[i]), keys[i], version, `{"done":true}`, noon)
		return err
	})
	for i, err := range errs {
		wantKept := i%4 == 0
		switch i % 4 {
		case 0, 3:
			must(t, err)
		case 1:
			wantError(t, "with a lost lease", err, job.ErrLeaseLost)
		case 2:
			if err == nil {
				t.Error("a step was kept twice")
			}
		}
		row, _, err := s.Sessions.Load(t.Context(), keys[i])
		must(t, err)
		if changed := row.Data != "{}"; changed != wantKept || done[i] != wantKept || points[i].Committed != wantKept {
			t.Errorf("number %d: changed %t, done %t, committed %t", i, changed, done[i], points[i].Committed)
		}
		journal := load(t, s, points[i].Lease.Seq).Journal
		switch {
		case wantKept:
			same(t, "the journal", journal, [][]byte{points[i].Entry.Entries})
		case i%4 == 2:
			same(t, "the journal", journal, [][]byte{[]byte("there")})
		default:
			same(t, "the journal", journal, [][]byte(nil))
		}
	}
}
