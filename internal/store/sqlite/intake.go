package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"

	"ql/internal/job"
	"ql/internal/store/ring"
)

// The intake is a file in the data folder, beside the store's.
const (
	intakeName = "ql.intake"
	intakeSize = 8 << 20
)

// Intake keeps records until they are stored, in a file of its own. Where the store
// is not owned, or the disk had no room for the file, it takes none.
type Intake struct{ store *Store }

var _ job.Log = Intake{}

// Intake returns the store's intake.
func (s *Store) Intake() Intake { return Intake{s} }

// Append implements job.Log.
func (i Intake) Append(records []*job.Record) (job.Place, error) {
	if i.store.intake == nil {
		return 0, job.ErrNoRoom
	}
	entries := make([][]byte, len(records))
	size := int64(0)
	for n, r := range records {
		if size += r.Bytes() - job.RowBytes; size > ring.MaxFrame { // before all is copied in vain
			return 0, job.ErrNoRoom
		}
		entries[n] = encodeRecord(r)
	}
	to, err := i.store.intake.Append(entries)
	if errors.Is(err, ring.ErrNoRoom) {
		err = job.ErrNoRoom
	}
	return job.Place(to), err
}

// Store implements job.Log.
func (i Intake) Store(ctx context.Context, records []job.Record, to job.Place) error {
	err := i.store.write(ctx, func(t tx) error {
		if err := t.record(records); err != nil {
			return err
		}
		return t.intakeStored(ring.Place(to))
	})
	if err == nil && i.store.intake != nil {
		i.store.intake.Free(ring.Place(to))
	}
	return err
}

func (t tx) intakeStored(to ring.Place) error {
	_, err := t.exec("UPDATE intake SET place = max(place, ?) WHERE one = 1", int64(to))
	return err
}

// openIntake stores what an earlier process left in the intake, and opens it for
// the owner of the folder. Others store what the owner is about to store, so that
// they see all that was accepted; where they cannot, the owner will.
func (s *Store) openIntake(ctx context.Context, folder string, own bool) error {
	if there, err := s.writer.conn.hasTable(ctx, "intake"); err != nil || !there {
		return err
	}
	path := filepath.Join(folder, intakeName)
	key, to, err := s.takeIn(ctx, path, own)
	if !own {
		return nil
	}
	if err == nil {
		s.intake, err = ring.Open(path, intakeSize, key, to)
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return nil // all is stored at once then
	}
	return err
}

// takeIn stores the records that stand in the intake, and returns its key and the
// place after them.
func (s *Store) takeIn(ctx context.Context, path string, own bool) (key ring.Key, to ring.Place, err error) {
	err = s.write(ctx, func(t tx) error {
		from := ring.Place(0)
		if _, err := t.one("SELECT key, place FROM intake WHERE one = 1", func(r row) {
			copy(key[:], r.bytes(0))
			from = ring.Place(r.int(1))
		}); err != nil {
			return err
		}
		var records []job.Record
		to, err = ring.Read(path, key, from, func(entry []byte) error {
			r, err := decodeRecord(entry)
			records = append(records, r)
			return err
		})
		if err != nil {
			return fmt.Errorf("the file %s, in which jobs stand that were accepted last, cannot be read: %w", path, err)
		}
		if err := t.record(records); err != nil || !own || to == from {
			return err
		}
		return t.intakeStored(to)
	})
	return key, to, err
}
