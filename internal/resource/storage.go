package resource

import (
	"context"
	"sync"
	"sync/atomic"

	"ql/internal/resource/databases"
	"ql/internal/resource/files"
)

// storage is the quota of one account that its files and its databases share. What is
// about to be stored is reserved first, so that two that grow at once do not both get
// what is left.
//
// It holds the account to two things. What it stores, its files, its databases and the
// releases of its site, never comes to more than it may. And on the disk there is no more than that and
// a little: what is dead and not swept yet, what is being written, and logs of
// databases are garbage that is counted too. Garbage is collected before anybody
// is refused for it.
type storage struct {
	usage   func(context.Context) (files.Usage, error)
	measure func(context.Context) error // notes the databases of before
	// reclaim removes garbage, about so many bytes; nil where dead content is left
	// to another process, and not counted.
	reclaim func(ctx context.Context, bytes int64) error

	// Each call sets them: it waits for nobody who asks the store under mu.
	bytes        atomic.Int64 // that may be stored; 0 for no bound
	maxDatabases atomic.Int64 // likewise

	mu        sync.Mutex
	databases int64 // what they hold, or are about to
	reserved  int64 // what the files are about to grow by
	writing   int64 // bytes that are being written to the disk
	logs      int64 // bytes of the databases' logs
	lastUsage files.Usage
}

const (
	// overlap is by how much an account may pass its bound for a moment: what
	// replaces a file is there before the file goes.
	overlap = 16 << 20
	// mostDead is how much dead content an account has that has no bound.
	mostDead = 1 << 30
	// A database's log may be an eighth of the storage beside those who read, within
	// these.
	leastLog, mostLog = 8 << 20, 64 << 20
)

var (
	_ databases.Storage = (*storage)(nil)
	_ files.Storage     = (*storage)(nil)
)

// setLimits sets the bounds, which change with the account's plan.
func (s *storage) setLimits(bytes int64, databases int) {
	s.bytes.Store(bytes)
	s.maxDatabases.Store(int64(databases))
}

// garbage returns what is on the disk, or about to be, beside what is stored. s.mu
// is held.
func (s *storage) garbage(u files.Usage) int64 {
	if s.reclaim == nil {
		return s.writing
	}
	return u.Dead + s.writing + s.logs
}

// excess returns by how much garbage, with so many bytes more of it, is too much
// beside stored bytes: what should be reclaimed, and what must be. s.mu is held.
func (s *storage) excess(u files.Usage, stored, more int64) (should, must int64) {
	bytes := s.bytes.Load()
	if bytes == 0 {
		return u.Dead - mostDead, 0
	}
	should = s.garbage(u) + more - max(bytes-stored, 0)
	return should, should - overlap
}

// unlimited reports whether the account may store what it likes, though not any
// number of databases, and counts bytes for these then.
func (s *storage) unlimited(bytes int64) (maxDatabases int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok = s.bytes.Load() == 0; ok {
		s.databases += bytes
	}
	return int(s.maxDatabases.Load()), ok
}

// tryReserve calls try, under s.mu, with what the files hold: once, and where it says
// that garbage is in the way, once more when some was reclaimed.
func (s *storage) tryReserve(ctx context.Context, try func(u files.Usage, last bool) (garbage int64)) error {
	for _, last := range []bool{false, true} {
		garbage, err := func() (int64, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			u, err := s.loadUsage(ctx)
			if err != nil {
				return 0, err
			}
			return try(u, last || s.reclaim == nil), nil
		}()
		if err != nil || garbage <= 0 || last || s.reclaim == nil {
			return err
		}
		// A little more than is needed: the next one comes soon.
		if err := s.reclaim(ctx, garbage+overlap/2); err != nil {
			return err
		}
	}
	return nil
}

// loadUsage returns what the files hold. s.mu is held.
func (s *storage) loadUsage(ctx context.Context) (u files.Usage, err error) {
	if u, err = s.usage(ctx); err == nil {
		s.lastUsage = u
	}
	return u, err
}

// Bounds implements databases.Storage. Where garbage has passed the bound it is
// collected: logs may grow soon.
func (s *storage) Bounds(ctx context.Context) (b databases.Bounds, err error) {
	if maxDatabases, ok := s.unlimited(0); ok {
		return databases.Bounds{Databases: maxDatabases, WAL: mostLog}, nil
	}
	err = s.tryReserve(ctx, func(u files.Usage, last bool) int64 {
		b = databases.Bounds{Bytes: s.bytes.Load(), Databases: int(s.maxDatabases.Load()), WAL: mostLog}
		if b.Bytes > 0 {
			b.Left = b.Bytes - u.Stored() - s.reserved - s.databases
			b.WAL = min(max(b.Bytes/8, leastLog), mostLog)
		}
		garbage, _ := s.excess(u, u.Stored()+s.databases, 0)
		return garbage
	})
	return b, err
}

// ReserveWAL implements databases.Storage. It asks nobody: what the files hold is as of
// when a transaction began, or a file was written.
func (s *storage) ReserveWAL(bytes int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes > 0 && s.reclaim != nil {
		if _, must := s.excess(s.lastUsage, s.lastUsage.Stored()+s.databases, bytes); must > 0 {
			return false
		}
	}
	s.logs += bytes
	return true
}

// AdjustWAL implements databases.Storage.
func (s *storage) AdjustWAL(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logs += bytes
}

// Reserve implements databases.Storage.
func (s *storage) Reserve(ctx context.Context, bytes, reserve int64) (taken bool, err error) {
	if _, ok := s.unlimited(bytes); ok {
		return true, nil
	}
	err = s.tryReserve(ctx, func(u files.Usage, last bool) int64 {
		// Who has stored a file and says so meanwhile is counted twice rather than
		// not at all.
		if most := s.bytes.Load(); most > 0 && u.Stored()+s.reserved+s.databases+bytes > most+reserve {
			return 0
		}
		should, must := s.excess(u, u.Stored()+s.databases+bytes, 0)
		if should > 0 && !last || must > 0 {
			return should
		}
		s.databases += bytes
		taken = true
		return 0
	})
	return taken, err
}

// Adjust implements databases.Storage.
func (s *storage) Adjust(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.databases += bytes
}

// ReserveFiles implements files.Storage.
func (s *storage) ReserveFiles(ctx context.Context, c, held files.Reservation) (release func(), ok bool, err error) {
	if err := s.measure(ctx); err != nil {
		return nil, false, err
	}
	growth := max(c.After-c.Before, 0)
	err = s.tryReserve(ctx, func(u files.Usage, last bool) int64 {
		if most := s.bytes.Load(); most > 0 && growth > 0 && c.After+u.Releases+s.reserved-(held.After-held.Before)+s.databases > most {
			return 0
		}
		should, must := s.excess(u, u.Stored()+s.databases, c.Writes-held.Writes)
		if should > 0 && !last || must > 0 {
			return should
		}
		s.reserved += growth
		s.writing += c.Writes
		ok = true
		return 0
	})
	if !ok || err != nil {
		return nil, false, err
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reserved -= growth
		s.writing -= c.Writes
		s.lastUsage.Dead += c.Writes // on the disk, one way or the other
	}, true, nil
}

// used returns what the account has on the disk, or about to be there.
func (s *storage) used(ctx context.Context) (int64, error) {
	if err := s.measure(ctx); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := s.loadUsage(ctx)
	return u.Stored() + u.Dead + s.writing + s.databases + s.logs, err
}
