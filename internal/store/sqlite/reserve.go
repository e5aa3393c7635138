package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"ql/internal/store/relational"
)

const (
	reserveName  = "ql.reserve"
	reserveBytes = 1 << 20
)

// reserve is a file that holds room on the disk for what makes room there: before content is
// removed, it is written down that it is, which a full disk would not take.
type reserve struct {
	mu    sync.Mutex
	path  string
	given bool // it is to be filled again
}

// fill takes the room, as much of it as there is.
func (r *reserve) fill() error {
	info, err := os.Stat(r.path)
	if err == nil && info.Size() == reserveBytes {
		return nil
	}
	f, err := os.OpenFile(r.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	content := make([]byte, reserveBytes)
	_, _ = rand.Read(content) // never fails; a file system may leave out zeros
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// give gives the room up, and reports whether there was any.
func (r *reserve) give() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	info, err := os.Stat(r.path)
	if err != nil || info.Size() == 0 {
		return false
	}
	r.given = true
	return os.Truncate(r.path, 0) == nil
}

// refill takes the room again where it was given up. Where the disk has none, the next call tries.
func (r *reserve) refill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.given {
		r.given = r.fill() != nil
	}
}

// openReserve fills the reserve of a folder that is owned. A disk that is full already has none.
func (s *Store) openReserve(folder string) {
	s.reserve = &reserve{path: filepath.Join(folder, reserveName)}
	s.reserve.given = s.reserve.fill() != nil
}

// WriteLocking implements relational.Engine: there is one writer.
func (s *Store) WriteLocking(ctx context.Context, f func(relational.Tx) error) error {
	return s.Write(ctx, f)
}

// WriteFreeing implements relational.Engine.
func (s *Store) WriteFreeing(ctx context.Context, f func(relational.Tx) error) error {
	err := s.Write(ctx, f)
	if s.reserve != nil && isFull(err) && s.reserve.give() {
		err = s.Write(ctx, f)
	}
	return err
}

// Freed implements relational.Engine.
func (s *Store) Freed() {
	if s.reserve != nil {
		s.reserve.refill()
	}
}
