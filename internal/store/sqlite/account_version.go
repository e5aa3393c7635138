package sqlite

import (
	"sync"

	"ql/internal/sqlite"
)

// accountVersions numbers what the accounts were. The number changes with every
// commit of anybody, in this process or another, save those commits of this store
// that left accounts alone.
type accountVersions struct {
	mu     sync.Mutex
	wal    func() sqlite.WALVersion // nil after the end
	seen   sqlite.WALVersion        // the log's version at the number
	number uint64
}

// AccountsVersion implements store.AccountVersions.
func (s *Store) AccountsVersion() (version uint64, ok bool) { return s.versions.current() }

func (v *accountVersions) current() (number uint64, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.wal == nil {
		return 0, false
	}
	if now := v.wal(); now != v.seen {
		v.seen = now
		v.number++
	}
	return v.number, true
}

// log returns the version of the write-ahead log.
func (v *accountVersions) log() sqlite.WALVersion {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.wal == nil {
		return sqlite.WALVersion{}
	}
	return v.wal()
}

// skip keeps the number over a commit that changed no account. It began at a version
// of the log that nobody else could change until it was made.
func (v *accountVersions) skip(began sqlite.WALVersion) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.wal == nil || v.seen != began {
		return
	}
	if now := v.wal(); now.Follows(&began) { // else another has committed since
		v.seen = now
	}
}

// close tells no version any more: the log's index is about to be unmapped.
func (v *accountVersions) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wal = nil
}
