package move

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ql/internal/account"
	"ql/internal/disk"
	"ql/internal/sqlite"
)

// Database names a database of an account.
type Database struct {
	Account account.ID
	Name    string
}

func (d Database) progress() string { return fmt.Sprintf("database %d %s", d.Account, d.Name) }

// Databases are those of all accounts, at one side. Nobody uses them.
type Databases interface {
	// List calls f with each.
	List(ctx context.Context, f func(Database) error) error
	// Snapshot makes a file of one, which is not there yet.
	Snapshot(ctx context.Context, d Database, path string) error
	// Put makes one of a file, in place of one that may be there.
	Put(ctx context.Context, d Database, path string) error
	// Clear removes all of them.
	Clear(ctx context.Context) error
	// Size returns about how many bytes they take.
	Size(ctx context.Context) (int64, error)
}

// Folder are databases that are files in a folder with one for each account.
type Folder string

const (
	databaseFolder = "databases"
	databaseEnding = ".db"
	busy           = 30 * time.Second
)

func (f Folder) path(d Database) string {
	return filepath.Join(string(f), strconv.FormatInt(int64(d.Account), 10), databaseFolder, d.Name+databaseEnding)
}

// List implements Databases.
func (f Folder) List(_ context.Context, each func(Database) error) error {
	accounts, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, a := range accounts {
		id, err := strconv.ParseInt(a.Name(), 10, 64)
		if err != nil {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(string(f), a.Name(), databaseFolder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			name, is := strings.CutSuffix(e.Name(), databaseEnding)
			if !is || !e.Type().IsRegular() {
				continue
			}
			if err := each(Database{account.ID(id), name}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Snapshot implements Databases.
func (f Folder) Snapshot(ctx context.Context, d Database, path string) (err error) {
	at, err := filepath.EvalSymlinks(f.path(d)) // SQLite follows no links
	if err != nil {
		return err
	}
	return WriteSnapshot(ctx, at, path)
}

// WriteSnapshot makes a file of the database in another.
func WriteSnapshot(ctx context.Context, from, path string) error {
	made, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := made.Close(); err != nil {
		return err
	}
	c, err := sqlite.Open(from, sqlite.Config{Busy: busy, Temporary: 1 << 30})
	if err != nil {
		return err
	}
	return errors.Join(c.Backup(ctx, path), c.Close())
}

// Put implements Databases.
func (f Folder) Put(_ context.Context, d Database, path string) error {
	at := f.path(d)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	// A log that is there is another database's.
	for _, ending := range []string{"-wal", "-shm", "-journal"} {
		if err := os.Remove(at + ending); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	part := at + ".part"
	if err := copyFile(path, part); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	if err := os.Rename(part, at); err != nil {
		return err
	}
	for folder := filepath.Dir(at); ; folder = filepath.Dir(folder) {
		if err := disk.SyncFolder(folder); err != nil || folder == string(f) {
			return err
		}
	}
}

func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // only read
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Sync(), target.Close())
}

// Clear implements Databases.
func (f Folder) Clear(context.Context) error { return os.RemoveAll(string(f)) }

// Size implements Databases.
func (f Folder) Size(ctx context.Context) (bytes int64, err error) {
	err = f.List(ctx, func(d Database) error {
		info, err := os.Stat(f.path(d))
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}

// withSnapshot calls do with a file of a database that is sound, and its sum.
func (m *mover) withSnapshot(ctx context.Context, side *Side, d Database, do func(path string, r reached) error) (err error) {
	path := filepath.Join(m.Scratch, "database")
	defer func() { err = errors.Join(err, os.RemoveAll(path)) }()
	if err := side.Databases.Snapshot(ctx, d, path); err != nil {
		return fmt.Errorf("the database %s of account %d cannot be read at %s: %w", d.Name, d.Account, side.Name, err)
	}
	if err := checkDatabase(ctx, path); err != nil {
		return fmt.Errorf("the database %s of account %d is damaged at %s: %w", d.Name, d.Account, side.Name, err)
	}
	r, err := sumFile(path)
	if err != nil {
		return err
	}
	return do(path, r)
}

// checkDatabase looks for damage in a file of a database.
func checkDatabase(ctx context.Context, path string) (err error) {
	c, err := sqlite.Open(path, sqlite.Config{Busy: busy, Temporary: 1 << 30})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	s, _, err := c.Prepare(ctx, "PRAGMA integrity_check(1)")
	if err != nil {
		return err
	}
	defer s.Close()
	if more, err := s.Step(ctx); err != nil || !more {
		return err
	}
	if found := string(s.Text(0)); found != "ok" {
		return errors.New(found)
	}
	return nil
}

func sumFile(path string) (r reached, err error) {
	f, err := os.Open(path)
	if err != nil {
		return r, err
	}
	defer func() { _ = f.Close() }() // only read
	hash := sha256.New()
	if r.rows, err = io.Copy(hash, f); err != nil {
		return r, err
	}
	hash.Sum(r.hash[:0])
	return r, nil
}

func (m *mover) copyDatabases(ctx context.Context) error {
	bytes := int64(0)
	if err := m.From.Databases.List(ctx, func(d Database) error {
		before, found, err := m.reached(ctx, d.progress())
		if err != nil {
			return err
		}
		return m.withSnapshot(ctx, &m.From, d, func(path string, r reached) error {
			if !found || before != r {
				if err := m.To.Databases.Put(ctx, d, path); err != nil {
					return err
				}
				if err := m.setReached(ctx, d.progress(), r); err != nil {
					return err
				}
			}
			m.counts.Databases++
			bytes += r.rows
			m.Report(Progress{Stage: Copying, Name: databaseFolder, Rows: m.counts.Databases, Bytes: bytes})
			return nil
		})
	}); err != nil {
		return err
	}
	there := int64(0)
	if err := m.To.Databases.List(ctx, func(Database) error {
		there++
		return nil
	}); err != nil {
		return err
	}
	if m.counts.Resumed && there > m.counts.Databases {
		return errChanged // one was dropped
	}
	m.counts.Bytes += bytes
	m.Report(Progress{Stage: Copying, Name: databaseFolder, Rows: m.counts.Databases, Bytes: bytes, Done: true})
	return nil
}

// verifyDatabases compares what the target has with what was copied.
func (m *mover) verifyDatabases(ctx context.Context) error {
	count, bytes := int64(0), int64(0)
	if err := m.To.Databases.List(ctx, func(d Database) error {
		copied, found, err := m.reached(ctx, d.progress())
		if err != nil {
			return err
		}
		if !found {
			return notEqual("there is a database %s of account %d that was not copied", d.Name, d.Account)
		}
		return m.withSnapshot(ctx, &m.To, d, func(_ string, r reached) error {
			if r != copied {
				return notEqual("the database %s of account %d is another one", d.Name, d.Account)
			}
			count++
			bytes += r.rows
			return nil
		})
	}); err != nil {
		return err
	}
	if count != m.counts.Databases {
		return notEqual("there are %d databases in place of %d", count, m.counts.Databases)
	}
	m.Report(Progress{Stage: Verifying, Name: databaseFolder, Rows: count, Bytes: bytes, Done: true})
	return nil
}
