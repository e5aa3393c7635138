package webhook

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"ql/internal/account"
)

// target is a host of an account: what one account's deliveries meet there says
// nothing of another's, which may have other paths of it. Host is "" for all of
// an account's hosts.
type target struct {
	account account.ID
	host    string
}

func targetOf(d Delivery) target { return target{d.Account, hostOf(d.URL)} }

// hostOf is what counts as one host: its name, whatever the port.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return "invalid"
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
}

// slot is leave for one call to be under way.
type slot struct {
	target
	slow bool // it counts among those for what was slow lately
}

// slotPool says which calls may be under way beside each other. An account has a
// share of them, and one of its hosts a share of that. The last quarter is left
// to accounts that have no other call under way, and another quarter is all
// that hosts and accounts get together whose calls took long lately: so what
// hangs is waited for by those who sent it there, and not by others.
type slotPool struct {
	atOnce, perAccount, perHost int

	taken, slow int
	accounts    map[account.ID]int
	hosts       map[target]int
	slowness    slowness
	last        account.ID // that had a turn
}

func newSlotPool(atOnce, perAccount, perHost int) *slotPool {
	return &slotPool{
		atOnce: atOnce, perAccount: perAccount, perHost: perHost,
		accounts: map[account.ID]int{}, hosts: map[target]int{},
	}
}

// bounds returns how many calls an account and one of its hosts may have under
// way, and whether they count among the slow ones.
func (p *slotPool) bounds(t target, now time.Time) (perAccount, perHost int, slow bool) {
	perAccount, perHost = p.perAccount, p.perHost
	if p.slowness.of(target{account: t.account}, now) >= slowAccount {
		perAccount, slow = max(1, perAccount/4), true
	}
	if t.host != "" && p.slowness.of(t, now) > 0 {
		perHost, slow = max(1, perHost/4), true
	}
	return perAccount, perHost, slow
}

// hasRoom reports whether a call may be made beside those under way and others
// to the same host that were chosen already.
func (p *slotPool) hasRoom(t target, chosen int, now time.Time) bool {
	_, perHost, _ := p.bounds(t, now)
	return p.hosts[t]+chosen < perHost && p.hasShare(t, now)
}

// mayHaveRoom reports whether an account may make a call to a host that has
// none under way.
func (p *slotPool) mayHaveRoom(a account.ID, now time.Time) bool {
	return p.hasShare(target{account: a}, now)
}

// hasShare reports whether the shares leave a slot to a target.
func (p *slotPool) hasShare(t target, now time.Time) bool {
	perAccount, _, slow := p.bounds(t, now)
	most := p.atOnce
	if p.accounts[t.account] > 0 {
		most = max(1, p.atOnce*3/4)
	}
	return p.taken < most && p.accounts[t.account] < perAccount && (!slow || p.slow < max(1, p.atOnce/4))
}

// acquire takes a slot for a call where there is one.
func (p *slotPool) acquire(d Delivery, now time.Time) (slot, bool) {
	t := targetOf(d)
	if !p.hasRoom(t, 0, now) {
		return slot{}, false
	}
	_, _, slow := p.bounds(t, now)
	p.taken++
	p.accounts[t.account]++
	p.hosts[t]++
	if slow {
		p.slow++
	}
	p.last = t.account
	return slot{t, slow}, true
}

// release gives a slot back.
func (p *slotPool) release(s slot) {
	p.taken--
	lower(p.accounts, s.account)
	lower(p.hosts, s.target)
	if s.slow {
		p.slow--
	}
}

func lower[K comparable](counts map[K]int, k K) {
	if counts[k]--; counts[k] == 0 {
		delete(counts, k)
	}
}

// isFull reports whether nobody has room.
func (p *slotPool) isFull() bool { return p.taken >= p.atOnce }

// assignment is a delivery that was given a slot.
type assignment struct {
	Delivery
	slot slot
}

// assign gives slots to deliveries of accounts, one at a time: the account with
// the fewest calls under way is next, and among equals the one that follows the
// last that had a turn.
func (p *slotPool) assign(queues map[account.ID][]Delivery, now time.Time) (chosen []assignment) {
	for !p.isFull() && len(queues) > 0 {
		next := p.next(queues)
		one, rest, ok := p.first(queues[next], now)
		if ok {
			chosen = append(chosen, one)
		}
		if queues[next] = rest; len(rest) == 0 {
			delete(queues, next)
		}
	}
	return chosen
}

// first gives a slot to the first delivery that has room, and returns those that
// are left, which are none where none has.
func (p *slotPool) first(queue []Delivery, now time.Time) (one assignment, rest []Delivery, ok bool) {
	for i, d := range queue {
		if s, ok := p.acquire(d, now); ok {
			return assignment{d, s}, slices.Delete(queue, i, i+1), true
		}
	}
	return assignment{}, nil, false
}

func (p *slotPool) next(queues map[account.ID][]Delivery) account.ID {
	var ids []account.ID
	for id := range queues {
		ids = append(ids, id)
	}
	return slices.MinFunc(ids, func(a, b account.ID) int {
		return cmp.Or(cmp.Compare(p.accounts[a], p.accounts[b]), cmp.Compare(p.distance(a), p.distance(b)))
	})
}

// distance is how far behind the last account's turn another's is.
func (p *slotPool) distance(a account.ID) uint64 { return uint64(a) - uint64(p.last) - 1 }

const (
	// slowCall is how long a call takes at least that counts as slow, whatever
	// came of it: what matters is how long it holds its slot.
	slowCall = 5 * time.Second
	// slowFor is for how long that is remembered.
	slowFor = 10 * time.Minute
	// slowAccount is with how many slow calls more than quick ones an account
	// counts as slow, whichever hosts it names.
	slowAccount = 4
	// slowMost bounds that number, so that an account recovers soon.
	slowMost = 2 * slowAccount
	// slowKept is how many targets are remembered at least, and half of how many
	// at most.
	slowKept = 4096
)

// slowness remembers which targets were slow, in two generations: a new one
// begins when the last is full or old. The zero value remembers none.
type slowness struct {
	now, before map[target]slowCalls
	since       time.Time // that the newer one exists
}

type slowCalls struct {
	count int // slow ones more than quick ones
	last  time.Time
}

// of returns how many slow calls more than quick ones a target had lately.
func (s *slowness) of(t target, now time.Time) int {
	c := s.get(t)
	if now.Sub(c.last) >= slowFor {
		return 0
	}
	return c.count
}

func (s *slowness) get(t target) slowCalls {
	if c, ok := s.now[t]; ok {
		return c
	}
	return s.before[t]
}

// note takes down how long a call took that ended now.
func (s *slowness) note(t target, took time.Duration, now time.Time) {
	s.count(t, took >= slowCall, now)
	s.count(target{account: t.account}, took >= slowCall, now)
}

func (s *slowness) count(t target, slow bool, now time.Time) {
	c := slowCalls{count: s.of(t, now), last: s.get(t).last}
	switch {
	case slow:
		c.count, c.last = min(c.count+1, slowMost), now
	case c.count == 0:
		return
	case t.host != "":
		c.count = 0 // it answers again
	default:
		c.count--
	}
	if len(s.now) >= slowKept || now.Sub(s.since) >= slowFor {
		s.before, s.now, s.since = s.now, nil, now
	}
	if s.now == nil {
		s.now = map[target]slowCalls{}
	}
	s.now[t] = c
}
