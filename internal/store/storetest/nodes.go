package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"ql/internal/engine"
	"ql/internal/job"
	"ql/internal/member"
	"ql/internal/resource/sessions"
	"ql/lang/value"
)

// testQueueDatabases: jobs that use databases are left to the node that has them.
func testQueueDatabases(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	m, now := node(t, s), seconds(600)
	store := func(n int, uses, elsewhere bool) job.Due {
		task := task(ada.ID, n)
		task.Created, task.UsesDatabases, task.Elsewhere = seconds(n), uses, elsewhere
		l, _, err := s.Queue.Accept(t.Context(), task, m, seconds(n))
		must(t, err)
		return due(t, s, l.Seq)
	}
	other, own, handed := store(1, false, false), store(2, true, false), store(3, true, true)
	// In no member's queue, but not without a bound.
	beyond := task(ada.ID, 4)
	beyond.Created, beyond.UsesDatabases, beyond.Elsewhere, beyond.MostBlocked = seconds(4), true, true, 1
	_, _, err := s.Queue.Accept(t.Context(), beyond, m, seconds(4))
	wantError(t, "one too many for another node", err, job.ErrBlockedLimit)
	two, _, err := s.Members.Join(t.Context(), member.Node{ID: 7})
	must(t, err)
	home, err := s.Shipped.Claim(t.Context(), ada.ID, two)
	must(t, err)
	without := claims(m, now, 10, ada.ID)
	without.Homes = true
	listed := func(what string, incarnation int64, want ...job.Due) {
		t.Helper()
		for _, state := range []job.State{job.Accepted, ""} {
			got, err := s.Queue.ListDue(t.Context(), job.DueQuery{State: state, Now: now, Limit: 10, Incarnation: incarnation})
			must(t, err)
			same(t, "what is due "+what, got, want)
		}
	}
	listed("to whoever asks", 0, handed)
	listed("to its home", two.Incarnation, handed)
	listed("to another", m.Incarnation)
	wantClaimed(t, s, "without databases", without, other)
	held := heldBy(t, s, m.Incarnation, job.Accepted)
	if len(held) != 1 || held[0].ID != own.ID {
		t.Errorf("the member holds %v, and not what it has handed over", held)
	}
	wantClaimed(t, s, "with databases", claims(m, now, 10, ada.ID), own, handed)

	// When it is free again.
	l := due(t, s, handed.Seq).Lease
	must(t, s.Queue.Release(t.Context(), l, now, 0, 0))
	wantClaimed(t, s, "again without", without)
	listed("to another, once it is running", m.Incarnation)
	must(t, s.Shipped.Leave(t.Context(), home))
	again, err := s.Queue.Claim(t.Context(), without)
	must(t, err)
	if len(again) != 1 || again[0].ID != handed.ID {
		t.Errorf("again with databases: %v", again)
	}
}

// testKeyOfTwo: a process knows of a call with a key that another has under way.
func testKeyOfTwo(t *testing.T, a, b *process) {
	ctx := t.Context()
	ada := create(t, a.Accounts, person("ada"))
	k := job.Key{Hash: [32]byte{1}, Body: [32]byte{2}, Until: noon.Add(24 * time.Hour), Member: a.member().Incarnation}
	earlier, err := a.Queue.ReserveKey(ctx, ada.ID, k, record(ada.ID, 1).ID, noon)
	must(t, err)
	same(t, "the earlier job", earlier, job.ID{})
	lives := func(p *process) bool {
		t.Helper()
		found, err := p.Queue.HasLivingKey(ctx, ada.ID, k, p.member())
		must(t, err)
		return found
	}
	same(t, "whether another has it, to its own", lives(a), false)
	same(t, "whether another has it, to the other", lives(b), true)
	b.buryOther()
	same(t, "whether one that is dead has it", lives(b), false)
}

// failingTurns are turns whose store is away at times, when sessions are given back.
type failingTurns struct {
	sessions.Turns
	fails bool
}

// Return implements sessions.Turns.
func (f *failingTurns) Return(ctx context.Context, k sessions.Key, holder int64) error {
	if f.fails {
		return errors.New("the store is away")
	}
	return f.Turns.Return(ctx, k, holder)
}

// testSessionsOwed: a session that could not be given back is, when another one is, unless a run of the process has it again.
func testSessionsOwed(t *testing.T, a, b *process) {
	ada := create(t, a.Accounts, person("ada"))
	manager := func(p *process) (*sessions.Manager, *failingTurns) {
		turns, ok := p.Sessions.(sessions.Turns)
		if !ok {
			t.Fatal("the store keeps no turns")
		}
		failing := &failingTurns{Turns: turns}
		return sessions.New(p.Sessions, sessions.Options{Turns: failing, Holder: func() int64 { return p.member().Incarnation }, Clock: func() time.Time { return noon }}), failing
	}
	ma, turns := manager(a)
	mb, _ := manager(b)
	var ids [2]string
	for i := range ids {
		var err error
		ids[i], err = ma.For(ada.ID, "").Ensure(t.Context())
		must(t, err)
	}
	start := func(m *sessions.Manager, id string) engine.Session {
		t.Helper()
		held, err := m.For(ada.ID, id).Start(t.Context())
		must(t, err)
		return held
	}
	owe := func() {
		t.Helper()
		held := start(ma, ids[0])
		turns.fails = true
		must(t, held.Release())
		turns.fails = false
	}
	owe()
	again := start(ma, ids[0])
	must(t, start(ma, ids[1]).Release())
	must(t, again.Set(t.Context(), "n", value.Text("x")))
	must(t, again.Release())
	owe()
	must(t, start(ma, ids[1]).Release())
	must(t, start(mb, ids[0]).Release())
}

// testSessionTurnsOfTwo: runs of two processes have a session one after the other, and who is dead keeps nobody
// from it, nor changes it any more.
func testSessionTurnsOfTwo(t *testing.T, a, b *process) {
	ada := create(t, a.Accounts, person("ada"))
	manager := func(p *process) *sessions.Manager {
		turns, ok := p.Sessions.(sessions.Turns)
		if !ok {
			t.Fatal("the store keeps no turns")
		}
		return sessions.New(p.Sessions, sessions.Options{Turns: turns, Holder: func() int64 { return p.member().Incarnation }, Clock: func() time.Time { return noon }})
	}
	ma, mb := manager(a), manager(b)
	id, err := ma.For(ada.ID, "").Ensure(t.Context())
	must(t, err)
	increment := func(m *sessions.Manager) error {
		held, err := m.For(ada.ID, id).Start(t.Context())
		if err != nil {
			return err
		}
		n, err := held.Get(t.Context(), "n")
		if err != nil {
			return err
		}
		if n.IsNull() {
			n = value.Text("")
		}
		return errors.Join(held.Set(t.Context(), "n", value.Text(n.Str()+"x")), held.Release())
	}
	var all sync.WaitGroup
	const each = 8
	for _, m := range []*sessions.Manager{ma, mb} {
		for range 2 {
			all.Go(func() {
				for range each / 2 {
					if err := increment(m); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()

	// It is held when its process dies.
	old, err := ma.For(ada.ID, id).Start(t.Context())
	must(t, err)
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := mb.For(ada.ID, id).Start(short); codeOf(err) != "session_busy" && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a session that another process has: %v", err)
	}
	b.buryOther()
	must(t, increment(mb))
	for what, err := range map[string]error{"sets": old.Set(t.Context(), "n", value.Text("")), "ends": old.End(t.Context())} {
		if codeOf(err) != "session_busy" {
			t.Errorf("who was dead %s it: %v", what, err)
		}
	}
	must(t, old.Release())
	held, err := mb.For(ada.ID, id).Start(t.Context())
	must(t, err)
	n, err := held.Get(t.Context(), "n")
	must(t, err)
	same(t, "the increments", len(n.Str()), 2*each+1)
	must(t, held.Release())
}

// codeOf is the code of an error of a script.
func codeOf(err error) string {
	var e *value.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return fmt.Sprint(err)
}

// testDutyOfTwo: a duty is of one process, until that is dead.
func testDutyOfTwo(t *testing.T, a, b *process) {
	assume := func(p *process, m member.Member) bool {
		t.Helper()
		has, err := p.Duties.Assume(t.Context(), "upkeep", m)
		must(t, err)
		return has
	}
	same(t, "whether one gets it", assume(a, a.member()), true)
	same(t, "whether the other gets it too", assume(b, b.member()), false)
	same(t, "whether it has it still", assume(a, a.member()), true)
	dead := a.member()
	b.buryOther()
	same(t, "whether who is dead has it", assume(a, dead), false)
	same(t, "whether the other has it then", assume(b, b.member()), true)
	same(t, "whether who is dead gets it back", assume(a, dead), false)
	list, err := a.Duties.ListDuties(t.Context())
	must(t, err)
	same(t, "the duties", list, map[string]int64{"upkeep": b.member().Incarnation})
	must(t, b.session.Leave(t.Context()))
	must(t, a.session.Rejoin(t.Context()))
	same(t, "whether one has it after the other left", assume(a, a.member()), true)
}
