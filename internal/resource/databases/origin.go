package databases

import (
	"context"
	"errors"
	"path/filepath"

	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/sqlite"
)

// Origin is where databases last, of which the files in the folder are copies: each change is there
// before anybody sees it. Methods for different databases may be called at once; for one of them by one
// goroutine at a time.
type Origin interface {
	// Sizes returns the databases that there are, by name, and how many bytes each holds.
	Sizes(ctx context.Context) (map[string]int64, error)
	// Fetch makes the file at a path a copy of a database, which is in use from then on. It reports
	// false where there is no database; then there is no file either.
	Fetch(ctx context.Context, name, path string) (found bool, err error)
	// Commit adds a change to a database whose copy is in use. After an error nobody knows whether it
	// was: the copy is fetched again.
	Commit(ctx context.Context, name string, ch *sqlite.Change) error
	// Publish makes a database of a file, where there is none.
	Publish(ctx context.Context, name, path string) error
	// Current reports whether the copy of a database in use is that still.
	Current(name string) bool
	// Closed says that a copy is in use no longer: all connections to it were closed in order.
	Closed(name, path string)
	// Drop removes a database.
	Drop(ctx context.Context, name string) error
}

// path is where the file of a database is.
func (d *Databases) path(name string) string {
	return filepath.Join(d.options.Folder, name+fileSuffix)
}

// find returns the databases that there are, by name, how many bytes each holds, and its log on the disk.
func (o *Options) find(ctx context.Context) (sizes, wals map[string]int64, err error) {
	if o.Origin == nil {
		return sizesIn(o.Folder)
	}
	sizes, err = o.Origin.Sizes(ctx)
	return sizes, map[string]int64{}, err // a log is measured when its copy is opened
}

// fetch has the file of a database be a copy of it, before the first connection. It reports whether there is
// such a database.
func (db *database) fetch(ctx context.Context, path string) (found bool, err error) {
	db.mu.Lock()
	created := db.created
	db.mu.Unlock()
	if created || db.options.Origin == nil {
		return true, nil
	}
	engine.Yield(ctx)
	found, err = db.options.Origin.Fetch(ctx, db.name, path)
	return found, originError(err)
}

// commitTo is what stands in place of the flush of the log, nil where the file itself lasts.
func (db *database) commitTo() func(context.Context, *sqlite.Change) error {
	if db.options.Origin == nil {
		return nil
	}
	return func(ctx context.Context, ch *sqlite.Change) error {
		err := db.options.Origin.Commit(ctx, db.name, ch)
		if err != nil {
			db.inDoubt.Store(true)
		}
		return originError(err)
	}
}

// originError is the error of an origin for scripts. One that says nothing else leaves open whether something
// was done.
func originError(err error) error {
	var f *fault.Error
	if err == nil || errors.As(err, &f) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault.New(fault.OutcomeUnknown, "the storage failed while a database was used: whether a change is done is not known; look before you repeat it").WithCause(err)
}

// checkCopy finds out whether the copy in use is that still.
func (db *database) checkCopy() {
	if db.options.Origin == nil {
		return
	}
	db.mu.Lock()
	created := db.created
	db.mu.Unlock()
	if created && !db.options.Origin.Current(db.name) {
		db.inDoubt.Store(true)
	}
}

// settle closes a copy that is in doubt, so that it is fetched again. The caller has the connection that
// writes, and has it not open.
func (db *database) settle(ctx context.Context) error {
	if db.checkCopy(); !db.inDoubt.Load() {
		return nil
	}
	for range cap(db.readerTokens) {
		if err := db.acquireToken(ctx, db.readerTokens); err != nil {
			return err
		}
		defer func() { <-db.readerTokens }()
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	// Where closing fails, no mark is left, and another copy is made.
	_ = db.close()
	db.idleWriter, db.idleReaders, db.created = nil, nil, false
	db.inDoubt.Store(false)
	return nil
}
