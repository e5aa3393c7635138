package sqlite

import (
	"sync"

	"ql/internal/account"
	"ql/internal/sqlite"
)

// recent keeps accounts that were read since the last commit of anybody, in this
// process or another, save those commits of its own that left accounts alone.
// Nothing in it is ever older than what the store would say.
type recent struct {
	mu     sync.Mutex
	marks  func() sqlite.WALVersion // nil where nothing is kept, as after the end
	mark   sqlite.WALVersion        // under which the accounts were read
	byName map[string]account.Account
}

const mostRecent = 1024

// find returns an account that is kept, and where the store stands, which is asked
// for before it is read.
func (r *recent) find(name string) (a account.Account, found bool, at sqlite.WALVersion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.marks == nil {
		return account.Account{}, false, sqlite.WALVersion{}
	}
	if at = r.marks(); at != r.mark {
		r.mark = at
		clear(r.byName)
		return account.Account{}, false, at
	}
	a, found = r.byName[name]
	return a, found, at
}

// keep keeps an account that was read after find had told where the store stood.
func (r *recent) keep(name string, a account.Account, at sqlite.WALVersion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.marks == nil || at != r.mark {
		return
	}
	if len(r.byName) >= mostRecent {
		clear(r.byName)
	}
	r.byName[name] = a
}

// pass keeps what is kept over a commit that changed no account. It began at a
// mark that nobody else could change until it was made.
func (r *recent) pass(began sqlite.WALVersion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.marks == nil || r.mark != began {
		return
	}
	if now := r.marks(); now.Follows(&began) { // else another has committed since
		r.mark = now
	}
}

// here tells where the store stands.
func (r *recent) here() sqlite.WALVersion {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.marks == nil {
		return sqlite.WALVersion{}
	}
	return r.marks()
}

// end keeps nothing any more: what tells the mark is about to be unmapped.
func (r *recent) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.marks = nil
	clear(r.byName)
}
