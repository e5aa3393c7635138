package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"ql/internal/job"
	"ql/internal/record"
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

var _ record.Log = Intake{}

// Intake returns the store's intake.
func (s *Store) Intake() Intake { return Intake{s} }

// Append implements record.Log.
func (i Intake) Append(records []*job.Record) (record.Position, error) {
	if i.store.intake == nil {
		return 0, record.ErrNoRoom
	}
	entries := make([][]byte, len(records))
	size := int64(0)
	for n, r := range records {
		if size += r.Bytes() - job.RowBytes + r.Call.Held(); size > ring.MaxFrame { // before all is copied in vain
			return 0, record.ErrNoRoom
		}
		entries[n] = encodeRecord(r)
	}
	to, err := i.store.intake.Append(entries)
	if errors.Is(err, ring.ErrNoRoom) {
		err = record.ErrNoRoom
	}
	return record.Position(to), err
}

// Store implements record.Log.
func (i Intake) Store(ctx context.Context, records []job.Record, to record.Position) error {
	err := i.store.write(ctx, func(t tx) error {
		if err := t.relational().Record(records); err != nil {
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
func (s *Store) openIntake(ctx context.Context, o Options, folder string) error {
	if there, err := s.writer.conn.hasTable(ctx, "intake"); err != nil || !there {
		return err
	}
	path := filepath.Join(folder, intakeName)
	taken, err := s.replayIntake(ctx, path, o.Own)
	if !o.Own {
		s.replayErr = err
		return nil
	}
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); !taken.whole || err == nil && info.Size() != intakeSize {
		o.Warn(fmt.Errorf("the file %s was damaged: of the jobs that were accepted last, those are lost that stood only there and could not be read", path))
	}
	s.intake, err = ring.Open(path, intakeSize, taken.key, taken.to)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT): // all is stored at once then
		o.Warn(fmt.Errorf("the disk has no room for the file %s: until the next start, jobs that are over at once are stored one by one, which takes longer", path))
		return nil
	case err != nil:
		return unusableIntake(path, err)
	}
	return nil
}

func unusableIntake(path string, err error) error {
	return fmt.Errorf("the file %s, in which jobs stand that were accepted last, cannot be used: %w; let the user who runs ql read and write it, or move it away and lose those jobs", path, err)
}

// intakeState is how the intake goes on after what was taken in.
type intakeState struct {
	key   ring.Key
	to    ring.Place
	whole bool // nothing in it was damaged
}

// replayIntake stores the records that stand in the intake. For the owner of the folder it
// gets another key: what is left in the file, or comes from a copy of the folder, is
// never taken for what is appended from then on.
func (s *Store) replayIntake(ctx context.Context, path string, own bool) (taken intakeState, err error) {
	err = s.write(ctx, func(t tx) error {
		from := ring.Place(0)
		readKey := func(r row) { copy(taken.key[:], r.bytes(0)) }
		if _, err := t.one("SELECT key, place FROM intake WHERE one = 1", func(r row) {
			readKey(r)
			from = ring.Place(r.int(1))
		}); err != nil {
			return err
		}
		var records []job.Record
		taken.to, taken.whole, err = ring.Read(path, taken.key, from, func(entry []byte) error {
			r, err := decodeRecord(entry)
			records = append(records, r)
			return err
		})
		if err != nil {
			return unusableIntake(path, err)
		}
		if err := t.relational().Record(records); err != nil || !own {
			return err
		}
		_, err := t.one("UPDATE intake SET key = randomblob(8), place = ? WHERE one = 1 RETURNING key", readKey, int64(taken.to))
		return err
	})
	return taken, err
}
