package app

import (
	"context"
	"sync"

	"ql/internal/resource/databases"
	"ql/internal/resource/files"
)

// storage is the room of one account, which its files and its databases share.
// What is about to be kept is taken first, so that two that grow at once do not
// both get what is left.
type storage struct {
	stored  func(context.Context) (int64, error) // what the files hold
	measure func() error                         // notes the databases of before

	mu        sync.Mutex
	bytes     int64 // that may be kept; 0 for no bound
	most      int   // databases, likewise
	databases int64 // what they hold, or are about to
	coming    int64 // what the files are about to grow by
}

var (
	_ databases.Room = (*storage)(nil)
	_ files.Room     = (*storage)(nil)
)

// hold sets the bounds, which change with the account's plan.
func (s *storage) hold(bytes int64, databases int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes, s.most = bytes, databases
}

// Bounds implements databases.Room.
func (s *storage) Bounds(ctx context.Context) (databases.Bounds, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := databases.Bounds{Bytes: s.bytes, Databases: s.most}
	if s.bytes == 0 {
		return b, nil
	}
	used, err := s.used(ctx)
	b.Left = s.bytes - used
	return b, err
}

// used returns what is kept or about to be. s.mu is held: who has stored a file
// and says so meanwhile is counted twice rather than not at all.
func (s *storage) used(ctx context.Context) (int64, error) {
	stored, err := s.stored(ctx)
	return stored + s.coming + s.databases, err
}

// Take implements databases.Room.
func (s *storage) Take(ctx context.Context, bytes, reserve int64) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes > 0 {
		used, err := s.used(ctx)
		if err != nil || used+bytes > s.bytes+reserve {
			return false, err
		}
	}
	s.databases += bytes
	return true, nil
}

// Note implements databases.Room.
func (s *storage) Note(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.databases += bytes
}

// Claim implements files.Room.
func (s *storage) Claim(_ context.Context, before, after int64) (release func(), ok bool, err error) {
	if err := s.measure(); err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes > 0 && after+s.coming+s.databases > s.bytes {
		return nil, false, nil
	}
	growth := after - before
	s.coming += growth
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.coming -= growth
	}, true, nil
}

// total returns what the account keeps.
func (s *storage) total(ctx context.Context) (int64, error) {
	if err := s.measure(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used(ctx)
}
