package member

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// deadRenewals is over how many renewals of its own an observer sees another
	// member's counter stand still before it takes that for dead: so an outage of the
	// store, in which all stand still, buries nobody.
	deadRenewals = 5
	// mostTries is how often a renewal is tried again for changes that come meanwhile.
	mostTries = 10
	// driftPercent is by how much two clocks of machines may differ in pace, three
	// times: the other's pace, the observer's, and rounding.
	driftPercent = 3
)

// Session is the membership of this process. It is safe for concurrent use, but
// Renew and BuryDead are called by one goroutine.
type Session struct {
	store Store
	node  Node
	lease time.Duration
	boot  func() time.Duration

	mu     sync.Mutex
	member Member
	seen   int64
	until  time.Duration // when nobody can be certain any more that it is a member

	renewals int64
	others   map[Member]observed
}

// observed is a member whose counter this process has seen stand still.
type observed struct {
	counter  int64
	since    time.Duration
	renewals int64 // of this process, then
}

// Options are what a session is made of.
type Options struct {
	Store Store
	Node  Node
	// Lease is for how long after a renewal nobody takes a member for dead.
	Lease time.Duration
	// Boot returns the time since the machine booted; BootTime where left out.
	Boot func() time.Duration
}

// Join makes this process a member.
func Join(ctx context.Context, o Options) (*Session, error) {
	if o.Boot == nil {
		o.Boot = BootTime
	}
	s := &Session{store: o.Store, node: o.Node, lease: o.Lease, boot: o.Boot}
	return s, s.Rejoin(ctx)
}

// Rejoin makes a process a member again that was buried, as a new incarnation.
func (s *Session) Rejoin(ctx context.Context) error {
	began := s.boot()
	m, last, err := s.store.Join(ctx, s.node)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.member, s.seen, s.until = m, last, began+s.lease
	s.renewals, s.others = 0, map[Member]observed{}
	return nil
}

// Member returns which member this process is.
func (s *Session) Member() Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.member
}

// Valid returns which member this process is, and whether that is certain: no longer after its last
// renewal began than nobody takes it for dead.
func (s *Session) Valid() (Member, bool) {
	now := s.boot()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.member, now < s.until
}

// Renew says that this process lives. With ErrBuried it is to let go of all that it
// held, and may join again; with ErrReplaced it is to end.
func (s *Session) Renew(ctx context.Context) error {
	s.mu.Lock()
	m, seen := s.member, s.seen
	s.mu.Unlock()
	began := s.boot()
	err := s.store.Renew(ctx, m, seen)
	for tries := 0; errors.Is(err, ErrBehind) && tries < mostTries; tries++ { // changes may come all the time
		if seen, err = s.store.LastChange(ctx); err != nil {
			return err
		}
		err = s.store.Renew(ctx, m, seen)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.until = seen, began+s.lease
	s.renewals++
	return nil
}

// Others returns the other members, and whether this process still is one.
func (s *Session) Others(ctx context.Context) (others []Info, isMember bool, err error) {
	list, err := s.store.List(ctx)
	if err != nil {
		return nil, false, err
	}
	m := s.Member()
	for _, i := range list {
		if i.Member == m {
			isMember = true
		} else {
			others = append(others, i)
		}
	}
	return others, isMember, nil
}

// BuryDead buries those of the others that have not renewed for so long that they are
// certainly not valid any more, and returns how many.
func (s *Session) BuryDead(ctx context.Context, others []Info) (int, error) {
	buried := 0
	for _, i := range s.findDead(others) {
		done, err := s.store.Bury(ctx, i)
		if err != nil {
			return buried, err
		}
		if done {
			buried++
		}
	}
	return buried, nil
}

// findDead notes which counters have moved, and returns the members whose has not for
// long.
func (s *Session) findDead(others []Info) (dead []Info) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.boot()
	still := map[Member]observed{}
	for _, i := range others {
		was, known := s.others[i.Member]
		if !known || was.counter != i.Counter {
			was = observed{i.Counter, now, s.renewals}
		}
		still[i.Member] = was
		if s.renewals-was.renewals >= deadRenewals && now-was.since >= s.lease+s.lease*driftPercent/100 {
			dead = append(dead, i)
		}
	}
	s.others = still
	return dead
}

// Leave ends the membership.
func (s *Session) Leave(ctx context.Context) error { return s.store.Leave(ctx, s.Member()) }

// started is when the process did, for where there is no clock of the machine.
var started = time.Now()
