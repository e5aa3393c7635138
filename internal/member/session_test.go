package member

import (
	"context"
	"errors"
	"testing"
	"time"
)

// memory is a store of members in memory.
type memory struct {
	last    int64 // change
	given   int64
	members map[int64]Info
	fail    error
}

func (s *memory) Join(_ context.Context, n Node) (Member, int64, error) {
	if s.fail != nil {
		return Member{}, 0, s.fail
	}
	s.given++
	m := Member{n.ID, s.given}
	s.members[n.ID] = Info{Member: m, Seen: s.last}
	return m, s.last, nil
}

func (s *memory) Renew(_ context.Context, m Member, seen int64) error {
	i, ok := s.members[m.ID]
	switch {
	case s.fail != nil:
		return s.fail
	case !ok:
		return ErrBuried
	case i.Member != m:
		return ErrReplaced
	case seen != s.last:
		return ErrBehind
	}
	i.Counter++
	i.Seen = seen
	s.members[m.ID] = i
	return nil
}

func (s *memory) LastChange(context.Context) (int64, error) { return s.last, s.fail }

func (s *memory) List(context.Context) (list []Info, err error) {
	for _, i := range s.members {
		list = append(list, i)
	}
	return list, s.fail
}

func (s *memory) Bury(_ context.Context, i Info) (bool, error) {
	if now := s.members[i.ID]; now.Member != i.Member || now.Counter != i.Counter {
		return false, s.fail
	}
	delete(s.members, i.ID)
	return true, s.fail
}

func (s *memory) Leave(_ context.Context, m Member) error {
	if s.members[m.ID].Member == m {
		delete(s.members, m.ID)
	}
	return s.fail
}

// pair is two sessions on one store, each with a clock of its own.
type pair struct {
	t      *testing.T
	store  *memory
	a, b   *Session
	at, bt time.Duration
}

const lease = 3 * time.Second

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{t: t, store: &memory{members: map[int64]Info{}}, at: time.Hour, bt: time.Second}
	p.a = p.join(1, &p.at)
	p.b = p.join(2, &p.bt)
	return p
}

func (p *pair) join(id int64, clock *time.Duration) *Session {
	p.t.Helper()
	s, err := Join(p.t.Context(), Options{Store: p.store, Node: Node{ID: id}, Lease: lease, Boot: func() time.Duration { return *clock }})
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// pass lets time pass on both clocks.
func (p *pair) pass(d time.Duration) { p.at, p.bt = p.at+d, p.bt+d }

// look renews b, has it look at the others, and returns how many it buried.
func (p *pair) look() int {
	p.t.Helper()
	if err := p.b.Renew(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	others, _, err := p.b.Others(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	n, err := p.b.BuryDead(p.t.Context(), others)
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

func TestDeadAreBuried(t *testing.T) {
	p := newPair(t)
	p.look()
	const step = 700 * time.Millisecond
	for n := 1; ; n++ {
		p.pass(step)
		if p.look() == 0 {
			continue
		}
		if n < deadRenewals || time.Duration(n)*step < lease {
			t.Errorf("it was buried after %d renewals", n)
		}
		break
	}
	if err := p.a.Renew(t.Context()); !errors.Is(err, ErrBuried) {
		t.Errorf("it renews: %v", err)
	}
	before := p.a.Member()
	if err := p.a.Rejoin(t.Context()); err != nil || p.a.Member() == before {
		t.Errorf("it joins again as %v, %v", p.a.Member(), err)
	}
	if n := p.look(); n != 0 {
		t.Error("it was buried again at once")
	}
}

// TestFewRenewalsBuryNobody: who could not renew itself for long knows nothing about
// the others.
func TestFewRenewalsBuryNobody(t *testing.T) {
	p := newPair(t)
	p.look()
	for range deadRenewals - 1 {
		p.pass(time.Hour) // an outage of the store, in which nobody could renew
		if n := p.look(); n != 0 {
			t.Fatal("a member was buried after an outage")
		}
	}
}

func TestTheLivingStay(t *testing.T) {
	p := newPair(t)
	for range 50 {
		p.pass(lease / 3)
		p.bt += lease // its clock goes far too fast
		if err := p.a.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := p.look(); n != 0 {
			t.Fatal("a member was buried that renews")
		}
	}
}

// TestCatchesUp: a member that has not seen the last change sees it, and renews then.
func TestCatchesUp(t *testing.T) {
	p := newPair(t)
	p.store.last = 7
	if err := p.a.Renew(t.Context()); err != nil || p.store.members[1].Seen != 7 {
		t.Errorf("after a change it renews with %v, having seen %d", err, p.store.members[1].Seen)
	}
}

// TestLook: who renews lives, and who does not is waited for.
func TestLook(t *testing.T) {
	p := newPair(t)
	silent := p.store.members[1].Member
	looking := lookStore{p.store, func() {
		if err := p.b.Renew(t.Context()); err != nil {
			t.Error(err)
		}
	}}
	list, err := Look(t.Context(), looking, 1)
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	for _, one := range list {
		if one.Lives == (one.Member == silent) {
			t.Errorf("%+v", one)
		}
	}
}

// lookStore does something after each look at the members.
type lookStore struct {
	*memory
	after func()
}

func (s lookStore) List(ctx context.Context) ([]Info, error) {
	list, err := s.memory.List(ctx)
	s.after()
	return list, err
}

func TestReplaced(t *testing.T) {
	p := newPair(t)
	later := p.join(1, &p.at)
	if err := p.a.Renew(t.Context()); !errors.Is(err, ErrReplaced) {
		t.Errorf("the process before renews: %v", err)
	}
	if err := errors.Join(p.a.Leave(t.Context()), later.Renew(t.Context())); err != nil {
		t.Errorf("when it leaves: %v", err)
	}
	if err := later.Leave(t.Context()); err != nil || len(p.store.members) != 1 {
		t.Errorf("%d members are left, %v", len(p.store.members), err)
	}
}

func TestBootTimeGoesOn(t *testing.T) {
	before := BootTime()
	if after := BootTime(); after < before || before < 0 {
		t.Errorf("from %v to %v", before, after)
	}
}

// TestValid: a member is certain of that for its lease, from when the last renewal began.
func TestValid(t *testing.T) {
	p := newPair(t)
	valid := func(want bool, when string) {
		t.Helper()
		if m, ok := p.a.Valid(); ok != want || m != p.a.Member() {
			t.Errorf("%s: %v, %t", when, m, ok)
		}
	}
	valid(true, "when it has joined")
	p.pass(lease - 1)
	valid(true, "just before")
	p.pass(1)
	valid(false, "after its lease")
	p.store.fail = errors.New("the store is away")
	if err := p.a.Renew(t.Context()); err == nil {
		t.Fatal("it renews without a store")
	}
	valid(false, "when it could not renew")
	p.store.fail = nil
	if err := p.a.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	valid(true, "when it could")
}
