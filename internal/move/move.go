// Package move copies all that a service stores from one place to another: rows from engine to engine, whatever
// they mean, the contents of files by their hashes, and the databases of accounts. It is for services that are
// stopped.
//
// The source is locked while it is copied. The target says in its rows that it is being filled, and how far that
// has come: each batch of rows is one transaction with the count and the sum of the rows so far. So a move that was
// cut off goes on where it was, and one whose source has changed meanwhile begins again. When all is there
// and was read again, the source says in its rows that it was left, and then the target that it is filled. Until
// then the source may serve again, and from then on the target.
package move

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"ql/internal/fault"
	"ql/internal/resource/files"
	"ql/internal/store/tables"
)

// Side is a place from which or to which all is moved.
type Side struct {
	Tables    tables.Access
	Blobs     Blobs
	Databases Databases
	// Name says where it is, to people.
	Name string
}

// Blobs are the contents of files, by their hashes.
type Blobs interface {
	// Load returns a blob that is whole.
	Load(c files.Chunk) ([]byte, error)
	// Store stores a blob. It may be removed by others before release is called, unless a row refers to it.
	Store(content []byte) (c files.Chunk, release func(), err error)
}

// Options are what is moved where.
type Options struct {
	From, To Side
	// Back are the flags of ql move that lead back from the target.
	Back string
	// Scratch is a folder for what is on its way, of this move alone.
	Scratch string
	// Room is what the target has room for on this machine.
	Room Room
	// Report is told how far it has come; may be left out.
	Report func(Progress)
}

// Room is how many bytes a disk has free, and what is to fit on it.
type Room struct {
	Free                      uint64
	Rows, Contents, Databases bool
}

// Stage is what a move does.
type Stage string

// The stages.
const (
	Copying   Stage = "copying"
	Verifying Stage = "verifying"
)

// Progress is how far a move has come.
type Progress struct {
	Stage Stage
	Name  string // a table, contents or databases
	Rows  int64  // of that so far, or blobs, or databases
	Bytes int64
	Done  bool // with that
}

// Counts are what was moved.
type Counts struct {
	Tables    int   `json:"tables"`
	Rows      int64 `json:"rows"`
	Blobs     int64 `json:"blobs"`
	Databases int64 `json:"databases"`
	Bytes     int64 `json:"bytes"`
	// Replaced is in how many texts something was replaced by U+FFFD that the target cannot keep.
	Replaced int64 `json:"replaced"`
	// Resumed says that it had begun earlier, and Before that it had ended.
	Resumed bool `json:"resumed"`
	Before  bool `json:"moved_before"`
}

// errChanged says that the source is not what it was when a move began that is to go on.
var errChanged = errors.New("the source has changed since the move began")

// mover is a move.
type mover struct {
	Options
	plan   []plan
	id     string
	counts Counts
}

// Run moves all.
func Run(ctx context.Context, o Options) (Counts, error) {
	if o.Report == nil {
		o.Report = func(Progress) {}
	}
	m := &mover{Options: o}
	err := m.run(ctx)
	return m.counts, err
}

func (m *mover) run(ctx context.Context) (err error) {
	if m.plan, err = newPlan(m.From.Tables.Tables(), m.To.Tables.Tables()); err != nil {
		return err
	}
	locked := make([]tables.Table, len(m.plan))
	for i := range m.plan {
		locked[i] = *m.plan[i].from
	}
	if err := m.From.Tables.Lock(ctx, locked); err != nil {
		return err
	}
	done, err := m.begin(ctx)
	if err != nil || done {
		return err
	}
	err = m.copy(ctx)
	if errors.Is(err, errChanged) {
		m.counts = Counts{}
		if err := m.clear(ctx); err != nil {
			return err
		}
		err = m.copy(ctx)
	}
	if err != nil {
		return err
	}
	if err := m.verify(ctx); err != nil {
		return err
	}
	return m.end(ctx)
}

// clear begins with a target that holds nothing.
func (m *mover) clear(ctx context.Context) error {
	if err := m.To.Databases.Clear(ctx); err != nil {
		return err
	}
	return m.To.Tables.Do(ctx, func() error {
		if _, err := m.To.Tables.Exec(ctx, "DELETE FROM move_progress"); err != nil {
			return err
		}
		for i := len(m.plan) - 1; i >= 0; i-- {
			if _, err := m.To.Tables.Exec(ctx, "DELETE FROM "+tables.Quote(m.plan[i].to.Name)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (m *mover) copy(ctx context.Context) error {
	for i := range m.plan {
		if err := m.copyTable(ctx, &m.plan[i]); err != nil {
			return err
		}
	}
	if err := m.copyNumbers(ctx); err != nil {
		return err
	}
	if err := m.copyBlobs(ctx); err != nil {
		return err
	}
	return m.copyDatabases(ctx)
}

// verify reads all of the target, and compares it with what the source had.
func (m *mover) verify(ctx context.Context) error {
	for i := range m.plan {
		if err := m.verifyTable(ctx, &m.plan[i]); err != nil {
			return err
		}
	}
	if err := m.verifyBlobs(ctx); err != nil {
		return err
	}
	return m.verifyDatabases(ctx)
}

// begin finds out how far an earlier move came, or begins a new one. It reports whether there is nothing to do
// any more.
func (m *mover) begin(ctx context.Context) (done bool, err error) {
	left, err := readMoves(ctx, m.From.Tables)
	if err != nil {
		return false, err
	}
	there, err := readMoves(ctx, m.To.Tables)
	if err != nil {
		return false, err
	}
	lineage, err := readLineage(ctx, m.From.Tables)
	if err != nil {
		return false, err
	}
	for _, one := range left {
		switch {
		case one.state == filling:
			return false, fault.New(fault.InvalidRequest, "%s is being filled itself, from %s: give the ql move again that does that", m.From.Name, one.other)
		case one.state != leftBehind:
			continue
		}
		// Both sides name the move.
		for _, other := range there {
			if other.id == one.id {
				m.id, m.counts.Before = one.id, true
				return true, m.fill(ctx)
			}
		}
		return false, fault.New(fault.InvalidRequest, "all that was at %s was moved elsewhere already: the way back is ql move %s --to a new place, and to have it serve again as it is, ql move --undo", m.From.Name, one.other)
	}
	for _, one := range there {
		switch one.state {
		case leftBehind:
			return false, fault.New(fault.InvalidRequest, "%s has what was moved elsewhere: name an empty place by --to", m.To.Name)
		case filling:
			if one.lineage != lineage {
				return false, fault.New(fault.InvalidRequest, "%s is being filled from another place, %s: give that ql move again, or name an empty place by --to", m.To.Name, one.other)
			}
			m.id, m.counts.Resumed = one.id, true
		}
	}
	if m.id != "" {
		return false, nil
	}
	if err := m.requireEmpty(ctx); err != nil {
		return false, err
	}
	if err := m.requireRoom(ctx); err != nil {
		return false, err
	}
	if err := m.To.Databases.Clear(ctx); err != nil {
		return false, err
	}
	m.id = rand.Text()
	_, err = m.To.Tables.Exec(ctx, insertMove, m.id, filling, m.From.Name, lineage[:], time.Now().UnixMicro())
	return false, err
}

// requireEmpty refuses a target that holds something which the move would remove.
func (m *mover) requireEmpty(ctx context.Context) error {
	for _, p := range m.plan {
		if made[p.to.Name] {
			continue
		}
		held := false
		if err := m.To.Tables.Select(ctx, "SELECT 1 FROM "+tables.Quote(p.to.Name)+" LIMIT 1", nil, []tables.Kind{tables.Int}, func([]tables.Value) error {
			held = true
			return nil
		}); err != nil {
			return err
		}
		if held {
			return fault.New(fault.InvalidRequest, "%s is not empty (it has rows in %s): a move fills an empty place, so name another by --to", m.To.Name, p.to.Name)
		}
	}
	return m.To.Databases.List(ctx, func(d Database) error {
		return fault.New(fault.InvalidRequest, "%s is not empty (it has the database %s of account %d): a move fills an empty place, so name another by --to", m.To.Name, d.Name, d.Account)
	})
}

// spare is what is left free.
const spare = 64 << 20

// requireRoom refuses a target whose disk is too small, before anything is copied.
func (m *mover) requireRoom(ctx context.Context) error {
	needed := int64(spare)
	for _, one := range []struct {
		here bool
		size func(context.Context) (int64, error)
	}{{m.Room.Rows, m.From.Tables.Size}, {m.Room.Contents, m.blobBytes}, {m.Room.Databases, m.From.Databases.Size}} {
		if !one.here {
			continue
		}
		size, err := one.size(ctx)
		if err != nil {
			return err
		}
		needed += size + size/10
	}
	if uint64(needed) > m.Room.Free {
		return fault.New(fault.StorageUnavailable, "%s has no room: about %d MiB are needed, and %d MiB are free", m.To.Name, needed>>20, m.Room.Free>>20)
	}
	return nil
}

// end has the source serve nobody any more, and then the target serve. Where it is cut off in between, neither
// serves until the move is given again.
func (m *mover) end(ctx context.Context) error {
	lineage, err := readLineage(ctx, m.From.Tables)
	if err != nil {
		return err
	}
	if _, err := m.From.Tables.Exec(ctx, insertMove, m.id, leftBehind, m.Back, lineage[:], time.Now().UnixMicro()); err != nil {
		return err
	}
	if err := m.From.Tables.Commit(ctx); err != nil {
		return fmt.Errorf("all was copied, and whether %s knows of it is not known: give the same ql move again: %w", m.From.Name, err)
	}
	if err := m.fill(ctx); err != nil {
		return fmt.Errorf("all was copied, and %s does not know of it yet: give the same ql move again: %w", m.To.Name, err)
	}
	return nil
}

// fill has the target serve.
func (m *mover) fill(ctx context.Context) error {
	return m.To.Tables.Do(ctx, func() error {
		if _, err := m.To.Tables.Exec(ctx, "UPDATE moves SET state = '"+filled+"' WHERE id = ?", m.id); err != nil {
			return err
		}
		_, err := m.To.Tables.Exec(ctx, "DELETE FROM move_progress")
		return err
	})
}

// Undo has a source serve again as it is. What has changed where it was moved to is lost.
func Undo(ctx context.Context, source Side) error {
	n, err := source.Tables.Exec(ctx, "DELETE FROM moves WHERE state = '"+leftBehind+"'")
	if err == nil && n == 0 {
		err = fault.New(fault.InvalidRequest, "nothing was moved away from %s: there is nothing to undo", source.Name)
	}
	return err
}

// fingerprint tells which store was moved, however far that has come.
type fingerprint [32]byte

// readLineage returns that of a store: the key of its ids is no other store's.
func readLineage(ctx context.Context, a tables.Access) (f fingerprint, err error) {
	found := false
	err = a.Select(ctx, "SELECT key FROM id_key WHERE one = 1", nil, []tables.Kind{tables.Bytes}, func(row []tables.Value) error {
		found = true
		f = sha256.Sum256(row[0].Bytes)
		return nil
	})
	if err == nil && !found {
		err = errors.New("the store has no key for its ids")
	}
	return f, err
}
