package sqlite

import (
	"sync"

	"ql/internal/account"
	"ql/internal/sqlite"
)

// versions numbers what was stored, for who remembers it: what the accounts were, and what the
// folders of sites were. Numbers grow with every commit of another process. Of this store's own
// commits it is known what they change: they leave the other numbers as they are.
type versions struct {
	mu   sync.Mutex
	wal  func() sqlite.WALVersion // nil after the end
	seen sqlite.WALVersion        // the log's version at the numbers

	last     uint64 // the greatest number that was given
	accounts uint64
	sites    uint64                // of all, where none of their own is greater
	of       map[account.ID]uint64 // of some
	coming   *changed              // what the commit changes that is being made; nil for none
}

// changed is what a transaction changes.
type changed struct {
	accounts bool
	sites    bool // of whomever
	of       map[account.ID]bool
}

// mostSites is how many accounts have a number of their own.
const mostSites = 10_000

// AccountsVersion implements store.AccountVersions.
func (s *Store) AccountsVersion() (version uint64, ok bool) {
	v := &s.versions
	v.mu.Lock()
	defer v.mu.Unlock()
	ok = v.update()
	return v.accounts, ok
}

// AccountVersion implements store.AccountVersions: whose the accounts were that changed is not known.
func (s *Store) AccountVersion(account.ID) uint64 {
	version, _ := s.AccountsVersion()
	return version
}

// SiteVersion implements store.SiteVersions.
func (s *Store) SiteVersion(a account.ID) (version uint64, ok bool) {
	v := &s.versions
	v.mu.Lock()
	defer v.mu.Unlock()
	ok = v.update()
	return max(v.sites, v.of[a]), ok
}

// update brings the numbers up to what is committed. It reports false where that is not known.
// The versions are locked.
func (v *versions) update() bool {
	if v.wal == nil {
		return false
	}
	now := v.wal()
	if now == v.seen {
		return true
	}
	// While the own commit is made nobody else can commit, so the next version is that of it.
	if v.coming != nil && now.Follows(&v.seen) {
		v.apply(v.coming)
	} else {
		v.last++
		v.accounts, v.sites = v.last, v.last
	}
	v.coming, v.seen = nil, now
	return true
}

// apply gives new numbers to what a commit changed.
func (v *versions) apply(c *changed) {
	v.last++
	if c.accounts {
		v.accounts = v.last
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

// commits says what the commit changes that is about to be made, in a transaction that lets nobody
// else commit.
func (v *versions) commits(c *changed) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.update()
	v.coming = c
}

// committed says that the commit was made, or has failed.
func (v *versions) committed() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.update()
	v.coming = nil
}

// close tells no version any more: the log's index is about to be unmapped.
func (v *versions) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wal = nil
}

// ChangesAccount implements relational.Conn: all accounts have one version.
func (*conn) ChangesAccount(account.ID) (takeBack func()) { return func() {} }

// ChangesFiles implements relational.Conn.
func (c *conn) ChangesFiles(a account.ID, site bool) (takeBack func()) {
	if site {
		if c.changes.of == nil {
			c.changes.of = map[account.ID]bool{}
		}
		c.changes.of[a] = true
	}
	c.knowsFiles = true
	return func() { c.knowsFiles = false }
}
