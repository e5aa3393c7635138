package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ql/internal/account"
	"ql/internal/member"
	"ql/internal/store/relational"
)

// versions numbers what was stored, for who remembers it: what the accounts were, and what the
// folders of sites were. Of this process's own commits it is known what they change. Those of others
// are found when the member renews: until that is too long ago, who makes such a change waits for
// this member to have seen it.
type versions struct {
	mu       sync.Mutex
	last     uint64                // the greatest number that was given
	accounts uint64                // of any change of an account
	unknown  uint64                // of one of nobody knows which
	account  map[account.ID]uint64 // of those of one, where that is greater
	sites    uint64                // of all, where none of their own is greater
	of       map[account.ID]uint64
	seen     int64 // the change up to which what was read before is forgotten

	self  atomic.Pointer[member.Member] // this process; nil where it is none
	valid atomic.Int64                  // until when it is certainly one, since the machine booted
	alone atomic.Int64                  // until when there is certainly no other
	nodes atomic.Int64                  // how many there are, this process among them, as of its last renewal
}

// changed is what a transaction changes.
type changed struct {
	accounts  bool // some
	unknown   bool // of whomever
	accountOf map[account.ID]bool
	sites     bool // of whomever
	of        map[account.ID]bool
}

// add adds what another change of the same transaction changes.
func (c *changed) add(more *changed) {
	c.accounts, c.unknown, c.sites = c.accounts || more.accounts, c.unknown || more.unknown, c.sites || more.sites
	for a := range more.accountOf {
		c.addAccount(a)
	}
	for a := range more.of {
		if c.of == nil {
			c.of = map[account.ID]bool{}
		}
		c.of[a] = true
	}
}

func (c *changed) addAccount(a account.ID) {
	if c.accountOf == nil {
		c.accountOf = map[account.ID]bool{}
	}
	if c.accountOf[a] = true; len(c.accountOf) > mostNamed {
		c.unknown = true
		clear(c.accountOf)
	}
}

func (c *changed) touchesSites() bool { return c.sites || len(c.of) > 0 }

// kinds are what a statement may change that is remembered elsewhere.
type kinds struct {
	accounts bool // accounts, or what says who may do what with them
	files    bool // files, or which release of a site is the current one
}

// kindsOf tells by the table of a statement what it changes.
func kindsOf(sql string) (k kinds) {
	words := strings.Fields(strings.TrimPrefix(sql, mustChangeBegin))
	if len(words) < 3 {
		return k
	}
	table := ""
	switch words[0] {
	case "INSERT", "DELETE":
		table = words[2]
	case "UPDATE":
		table = words[1]
	}
	switch table {
	case "accounts", "aliases", "named_keys", "domains", "site_domains", "published_scripts":
		k.accounts = true
	case "files", "file_chunks", "site_releases":
		k.files = true
	}
	return k
}

// note notes what a statement changes.
func (c *conn) note(does kinds) {
	if does.accounts {
		c.changes.accounts = true
		switch n := len(c.accounts); {
		case n == 0:
			c.changes.unknown = true
		case c.accounts[n-1] != 0:
			c.changes.addAccount(c.accounts[n-1])
		}
	}
	c.changes.sites = c.changes.sites || does.files && !c.knowsFiles
}

// ChangesAccount implements relational.Conn.
func (c *conn) ChangesAccount(a account.ID) (takeBack func()) {
	c.accounts = append(c.accounts, a)
	return func() { c.accounts = c.accounts[:len(c.accounts)-1] }
}

const (
	// mostNamed is how many accounts a transaction may change before it counts for all.
	mostNamed = 100
	// keptChanges is of how many changes the store knows whose accounts they were. Who is further behind forgets all.
	keptChanges = 1000
)

// mostSites is how many accounts have a number of their own.
const mostSites = 10_000

// ValidFor is for how long after a renewal began a member answers from what it remembers.
const ValidFor = 3 * time.Second

// outside reports whether the caches of a server are in another process.
func (v *versions) outside() bool { return v.self.Load() == nil }

// certain reports whether nothing can have changed unseen that all members are told of.
func (v *versions) certain() bool { return int64(member.BootTime()) < v.valid.Load() }

// isAlone reports whether no other member can have changed anything at all. Who joins waits for this one to know.
func (v *versions) isAlone() bool { return int64(member.BootTime()) < v.alone.Load() }

// AccountsVersion implements store.AccountVersions.
func (s *Store) AccountsVersion() (version uint64, ok bool) {
	v := &s.versions
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.accounts, v.certain()
}

// AccountVersion implements store.AccountVersions.
func (s *Store) AccountVersion(a account.ID) uint64 {
	v := &s.versions
	v.mu.Lock()
	defer v.mu.Unlock()
	return max(v.unknown, v.account[a])
}

// SiteVersion implements store.SiteVersions.
func (s *Store) SiteVersion(a account.ID) (version uint64, ok bool) {
	v := &s.versions
	v.mu.Lock()
	defer v.mu.Unlock()
	return max(v.sites, v.of[a]), v.isAlone()
}

// apply gives new numbers to what a commit changed.
func (v *versions) apply(c *changed) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last++
	if c.accounts {
		v.changeAccounts(c.unknown, c.accountOf)
	}
	if c.sites || len(v.of)+len(c.of) > mostSites {
		v.sites = v.last
		clear(v.of)
		return
	}
	for a := range c.of {
		if v.of == nil {
			v.of = map[account.ID]uint64{}
		}
		v.of[a] = v.last
	}
}

// changeAccounts gives the last number to accounts. The versions are locked.
func (v *versions) changeAccounts(unknown bool, of map[account.ID]bool) {
	v.accounts = v.last
	if unknown || len(v.account)+len(of) > mostSites {
		v.unknown = v.last
		clear(v.account)
		return
	}
	for a := range of {
		if v.account == nil {
			v.account = map[account.ID]uint64{}
		}
		v.account[a] = v.last
	}
}

// forget has all be read again, unless that was done after a change was committed.
func (v *versions) forget(seen int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if seen > v.seen {
		v.seen = seen
		v.last++
		v.sites = v.last
		v.changeAccounts(true, nil)
	}
}

// forgetAccounts has those accounts be read again that changes up to one were of.
func (v *versions) forgetAccounts(seen int64, of map[account.ID]bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen = seen
	v.last++
	v.changeAccounts(false, of)
}

// lastSeen returns the change up to which what was read before is forgotten.
func (v *versions) lastSeen() int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.seen
}

// catchUp forgets what changes up to one were of, before they count as seen.
func (m members) catchUp(ctx context.Context, seen int64) error {
	v := &m.store.versions
	before := v.lastSeen()
	if seen <= before {
		return nil
	}
	if seen-before > keptChanges {
		v.forget(seen)
		return nil
	}
	var known int64 // of how many it is known whose they were
	var of map[account.ID]bool
	err := m.store.membership.do(ctx, func(t relational.Tx) (err error) {
		known, of, err = t.ChangedAccounts(before, seen)
		return err
	})
	switch {
	case err != nil:
		return err
	case known < seen-before || of[0]:
		v.forget(seen)
	default:
		v.forgetAccounts(seen, of)
	}
	return nil
}

// members are those of the store. A renewal says how long what this process remembers counts.
type members struct {
	member.Store
	store *Store
}

// Join implements member.Store.
func (m members) Join(ctx context.Context, n member.Node) (member.Member, int64, error) {
	v := &m.store.versions
	v.valid.Store(0)
	v.alone.Store(0)
	n.Knows = len(m.store.schema.steps)
	joined, last, err := m.Store.Join(ctx, n)
	if err != nil {
		return joined, last, err
	}
	v.forget(last)
	v.self.Store(&joined)
	m.store.settle(last) // who was alone answers from memory what it will not be told of any more
	return joined, last, nil
}

// Renew implements member.Store. What was read before a change is forgotten before it counts as seen.
func (m members) Renew(ctx context.Context, who member.Member, seen int64) error {
	v := &m.store.versions
	if err := m.catchUp(ctx, seen); err != nil {
		return err
	}
	began := member.BootTime()
	var members int64
	if err := m.store.membership.do(ctx, func(t relational.Tx) (err error) {
		members, err = t.RenewMember(who, seen)
		return err
	}); err != nil {
		return err
	}
	until := int64(began + m.store.validFor)
	v.valid.Store(until)
	v.nodes.Store(members)
	if members > 1 {
		until = 0
	}
	v.alone.Store(until)
	return nil
}

// List implements member.Store.
func (m members) List(ctx context.Context) (list []member.Info, err error) {
	err = m.store.membership.do(ctx, func(t relational.Tx) error {
		list, err = t.Members()
		return err
	})
	return list, err
}

// LastChange implements member.Store.
func (m members) LastChange(ctx context.Context) (last int64, err error) {
	err = m.store.membership.do(ctx, func(t relational.Tx) error {
		last, err = t.LastChange()
		return err
	})
	return last, err
}

// settle waits, after a change that all must see, until the other members have seen it or answer from
// memory no more. The change is made: neither an error nor the end of a context is a reason not to wait.
func (s *Store) settle(change int64) {
	ctx, cancel := context.WithTimeout(context.Background(), s.validFor+s.validFor*3/100)
	defer cancel()
	if s.versions.outside() {
		_ = s.membership.run(ctx, fmt.Sprintf("NOTIFY %s, '%s'", hintChannel, member.HintChange)) // else they see it a little later
	} else {
		s.hints.Send(member.HintChange)
	}
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		list, err := s.Members().List(ctx)
		behind := err != nil
		for _, i := range list {
			behind = behind || i.Seen < change && !s.versions.isSelf(i.Member)
		}
		if !behind {
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// isSelf tells whether a member is this process.
func (v *versions) isSelf(m member.Member) bool {
	self := v.self.Load()
	return self != nil && *self == m
}
