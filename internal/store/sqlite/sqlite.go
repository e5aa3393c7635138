// Package sqlite keeps the service's store in one SQLite file of the data
// folder: accounts and what belongs to them, records of jobs, sessions. It is
// the store of one node; what it promises is written down by the interfaces it
// implements and proved by storetest.
//
// One goroutine writes. Writes that come at the same time share a commit, and
// each returns when its commit is on the disk. Any number of goroutines read,
// on connections that cannot write. Transactions never leave the package: each
// method is one whole change.
//
// What a row means, and who may see it, is decided by the callers.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"ql/internal/account"
	"ql/internal/audit"
	"ql/internal/store"
	"ql/internal/store/migrate"
	"ql/internal/store/relational"
	"ql/internal/store/ring"
)

// FileName is the store's file in the data folder.
const FileName = "ql.db"

// Options are how a store is opened. A zero field means its default.
type Options struct {
	// Folder is the data folder, made where it is missing.
	Folder string
	// Own takes the folder for this process, as a server does, and checks the
	// file for damage. Without it a store is opened for a short command, beside
	// a server or not.
	Own bool

	Readers int           // connections that read; twice the cores
	Busy    time.Duration // how long another process is waited for; 5 seconds

	// Actor is who makes changes whose context names nobody, for the logs of accounts; the
	// service unless set.
	Actor audit.Actor

	// Grown is told by how many bytes the records of an account grow, by this
	// process, a moment before they do. Nobody can write meanwhile; may be left out.
	Grown func(a account.ID, bytes int64)
	// NoUpgrade refuses a store of an earlier version.
	NoUpgrade bool
	// AcceptDamage lets a folder be owned whose changes of last cannot all be read. They
	// are lost; what could not be read is kept beside.
	AcceptDamage bool
	// Migrated is told that the schema was brought from one version to another; may be left
	// out. A new store had none.
	Migrated func(from, to int, took time.Duration)
	// Warn is told what is wrong with the folder where it can be used all the same;
	// may be left out.
	Warn func(error)
}

func (o Options) withDefaults() Options {
	if o.Readers <= 0 {
		o.Readers = 2 * runtime.GOMAXPROCS(0)
	}
	if o.Busy <= 0 {
		o.Busy = 5 * time.Second
	}
	if o.Actor.By == "" {
		o.Actor.By = audit.ByService
	}
	if o.Migrated == nil {
		o.Migrated = func(int, int, time.Duration) {}
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	return o
}

// Store is an open store. It may be used by any number of goroutines.
type Store struct {
	*relational.Store

	writer    *writer
	readers   *readers
	versions  versions
	intake    *ring.Ring   // nil where there is none
	replayErr error        // why what stands in the intake of another process could not be stored
	probed    atomic.Int64 // when Writable tried last, in nanoseconds of Unix
	lock      *ownership   // nil where the folder is not owned
	reserve   *reserve     // likewise
}

// Open opens the store of a data folder and brings it up to date.
func Open(ctx context.Context, o Options) (*Store, error) {
	steps, err := migrate.Load(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return open(ctx, o.withDefaults(), steps)
}

func open(ctx context.Context, o Options, steps []migrate.Step) (_ *Store, err error) {
	folder, err := prepareFolder(o.Folder)
	if err != nil {
		return nil, unusable(o.Folder, err)
	}
	if _, err := os.Stat(filepath.Join(folder, store.Elsewhere)); err == nil {
		return nil, fmt.Errorf("the store of the data folder %s is in a database elsewhere: say where by --database", folder)
	}
	s := &Store{}
	if o.Own {
		if s.lock, err = lock(folder); err != nil {
			return nil, err
		}
	}
	path := filepath.Join(folder, FileName)
	if err := checkLog(o, folder, path); err != nil {
		return nil, errors.Join(err, s.unlock())
	}
	c, err := openFile(ctx, o, folder, path, steps)
	if err != nil {
		return nil, errors.Join(err, s.unlock())
	}
	ids, err := openIDs(ctx, c)
	if err != nil {
		return nil, errors.Join(explain(path, err), c.close(), s.unlock())
	}
	s.Store = relational.New(s, ids)
	c.session.IDs, c.session.Grown, c.session.Actor = ids, o.Grown, o.Actor
	wal, err := c.db.WALVersions()
	if err != nil {
		return nil, errors.Join(err, c.close(), s.unlock())
	}
	s.versions.wal = wal
	numbers, err := c.hasTable(ctx, "head")
	if err != nil {
		return nil, errors.Join(explain(path, err), c.close(), s.unlock())
	}
	for table, missing := range map[string]*bool{"audit_logs": &c.session.Old.NoAudit, "domain_claims": &c.session.Old.NoRequests} {
		there, err := c.hasTable(ctx, table)
		if err != nil {
			return nil, errors.Join(explain(path, err), c.close(), s.unlock())
		}
		*missing = !there
	}
	s.writer = newWriter(c, &s.versions, numbers)
	s.readers = newReaders(o.Readers, func(ctx context.Context) (*conn, error) {
		c, err := connect(ctx, path, o.Busy, false)
		if err == nil {
			c.session.IDs = ids
		}
		return c, err
	})
	if o.Own {
		s.openReserve(folder)
	}
	if err := s.openIntake(ctx, o, folder); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// prepareFolder makes the data folder and returns its real path: SQLite
// follows no links.
func prepareFolder(folder string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(folder)
}

// openFile returns the connection that writes, to a file that is whole and up
// to date.
func openFile(ctx context.Context, o Options, folder, path string, steps []migrate.Step) (_ *conn, err error) {
	if err := checkNew(folder); err != nil {
		return nil, err
	}
	// Made here, so that nobody else may read it.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	c, err := connect(ctx, path, o.Busy, true)
	if err != nil {
		return nil, err
	}
	s := &schema{folder: folder, path: path, owned: o.Own, conn: c, steps: steps}
	_, version, err := s.check(ctx)
	switch {
	case err != nil:
	case o.NoUpgrade && version > 0 && version < len(steps) && c.holdsAccounts(ctx):
		err = fmt.Errorf("the store %s is of an earlier version (schema %d, and this program's is %d): start and stop the server of this version with it first, which upgrades it", path, version, len(steps))
	case version == 0: // an empty file is as good as none
		err = checkOrphans(folder)
	case o.Own:
		err = c.quickCheck(ctx)
	}
	began := time.Now()
	if err == nil {
		err = s.migrate(ctx)
	}
	if err == nil && version > 0 && version < len(steps) {
		o.Migrated(version, len(steps), time.Since(began))
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// holdsAccounts tells whether a store of an earlier version is more than one whose making was cut off.
func (c *conn) holdsAccounts(ctx context.Context) bool {
	held, err := tx{ctx, c}.has("SELECT 1 FROM accounts LIMIT 1")
	return held || err != nil
}

// Close waits for the reads and writes under way and closes the store. A
// second time it does nothing.
func (s *Store) Close() error {
	s.versions.close()
	err := s.readers.close()
	// Last, so that it brings the whole store into its one file.
	err = errors.Join(err, s.writer.close())
	if s.intake != nil {
		err = errors.Join(err, s.intake.Close())
	}
	return errors.Join(err, s.unlock())
}

// Stats implements store.Backend: the numbers since the store was opened.
func (s *Store) Stats() store.Stats {
	stats := store.Stats{
		Writes: s.writer.writes.Load(), Commits: s.writer.commits.Load(), Waiting: s.writer.waiting(), Failing: s.writer.failing.Load() != nil,
	}
	if s.intake != nil {
		stats.IntakeUsed, stats.IntakeSize = s.intake.Used(), intakeSize
	}
	return stats
}

func (s *Store) unlock() error {
	if s.lock == nil {
		return nil
	}
	if err := s.lock.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// Locked reports whether others who look for it find that this process has the folder.
func (s *Store) Locked() bool { return s.lock == nil || s.lock.isThere() }

// probeEvery is how often a store that cannot be written to is tried, at most.
const probeEvery = time.Second

// Writable returns why the last change could not be stored. Where that was a while ago,
// it tries again, by a change that means nothing.
func (s *Store) Writable(ctx context.Context) error {
	failing := s.writer.failing.Load()
	if failing == nil {
		return nil
	}
	now := time.Now().UnixNano()
	if last := s.probed.Load(); now-last < int64(probeEvery) || !s.probed.CompareAndSwap(last, now) {
		return *failing
	}
	return s.write(ctx, probe)
}

// read runs f on a connection that only reads.
func (s *Store) read(ctx context.Context, f func(tx) error) error { return s.readers.read(ctx, f) }

// write makes a change and returns when it is on the disk.
func (s *Store) write(ctx context.Context, f func(tx) error) error { return s.writer.write(ctx, f) }

// Read implements relational.Engine.
func (s *Store) Read(ctx context.Context, f func(relational.Tx) error) error {
	return s.read(ctx, func(t tx) error { return f(t.relational()) })
}

// Write implements relational.Engine.
func (s *Store) Write(ctx context.Context, f func(relational.Tx) error) error {
	return s.write(ctx, func(t tx) error { return f(t.relational()) })
}

// openIDs reads the key of the store's ids, made where there may be one. The steps of some
// earlier versions have no place for it.
func openIDs(ctx context.Context, c *conn) (*relational.IDs, error) {
	there, err := c.hasTable(ctx, "id_key")
	if err != nil || !there {
		return &relational.IDs{}, err
	}
	return relational.OpenIDs(tx{ctx, c}.relational())
}
