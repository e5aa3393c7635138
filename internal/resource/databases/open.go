package databases

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"ql/internal/sqlite"

	lib "modernc.org/sqlite/lib"
)

// connect opens another connection.
func (db *database) connect(ctx context.Context, writer bool) (*conn, error) {
	if err := os.MkdirAll(db.options.Folder, 0o700); err != nil {
		return nil, unavailable(err)
	}
	// The file itself may be no link; the way to the folder may hold some.
	folder, err := filepath.EvalSymlinks(db.options.Folder)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, db.name+fileSuffix)
	if !writer {
		return connect(ctx, path, db, false)
	}
	return db.connectWriter(ctx, path)
}

// connectWriter makes the file where there is none.
func (db *database) connectWriter(ctx context.Context, path string) (c *conn, err error) {
	if db.usage != nil {
		if err := db.usage.admit(ctx, db.name); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil && isMissing(path) {
				db.usage.storage.Adjust(-db.usage.remove(db.name))
			}
		}()
	}
	found, err := db.fetch(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := makeFile(path); err != nil {
		return nil, unavailable(err)
	}
	if c, err = connect(ctx, path, db, true); err != nil {
		return nil, err
	}
	if !found {
		// What makes a file a database is no change of it.
		if err := db.options.Origin.Publish(ctx, db.name, path); err != nil {
			db.inDoubt.Store(true)
			return nil, errors.Join(originError(err), c.close())
		}
	}
	if db.usage == nil {
		return c, nil
	}
	pages, err := c.queryInt(ctx, "PRAGMA page_count")
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	db.usage.storage.Adjust(db.usage.setSize(db.name, pages*pageSize))
	db.usage.setSlack(db.name, path)
	return c, nil
}

const (
	fileSuffix = ".db"
	walSuffix  = sqlite.WALSuffix
	// inMemory is the path of a database that has no file and holds nothing.
	inMemory = ":memory:"
)

// makeFile makes the file of a new database, so that nobody else may read it;
// SQLite gives its other files the same mode.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if os.IsExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

func isEmpty(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Size() == 0
}

func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return os.IsNotExist(err)
}

var dbConfig = map[int]bool{
	lib.SQLITE_DBCONFIG_DEFENSIVE:             true,
	lib.SQLITE_DBCONFIG_TRUSTED_SCHEMA:        false,
	lib.SQLITE_DBCONFIG_DQS_DML:               false,
	lib.SQLITE_DBCONFIG_DQS_DDL:               false,
	lib.SQLITE_DBCONFIG_ENABLE_FKEY:           true,
	lib.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION: false,
	lib.SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE:  false,
	lib.SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE:   false,
}

// pragmas are the settings of every connection, in the order in which they
// are made.
func pragmas(maxBytes int64) []string {
	return []string{
		fmt.Sprintf("page_size=%d", pageSize),
		"journal_mode=WAL",
		"synchronous=FULL",
		fmt.Sprintf("max_page_count=%d", min(max(maxBytes/pageSize, 1), math.MaxInt32)),
		"journal_size_limit=1048576",
		"cache_size=-4000",
		"cell_size_check=ON",
		"mmap_size=0",
		"temp_store=FILE", // in memory, one ORDER BY takes hundreds of megabytes
	}
}

// connect opens a connection of a pool, with the settings that all have.
func connect(ctx context.Context, path string, pool *database, writer bool) (*conn, error) {
	a, b, o, name := &authorizer{}, &budget{}, pool.options, pool.name
	var reserveWAL func(int64) bool
	var commit func(context.Context, *sqlite.Change) error
	if writer {
		commit = pool.commitTo()
	}
	if pool.usage != nil && writer {
		reserveWAL = func(bytes int64) bool { return pool.usage.reserveWAL(name, bytes) }
	}
	db, err := sqlite.Open(path, sqlite.Config{
		Create:        writer,
		Authorize:     a.authorize,
		Functions:     functions(b),
		DropModules:   true,
		FullText:      &sqlite.FullText{MaxQuery: maxPattern, MaxRow: MaxValue},
		Limits:        limits,
		Switches:      dbConfig,
		Progress:      b.progress,
		Busy:          o.Busy,
		Temporary:     o.Temporary,
		GrowTemporary: pool.temp.reserve,
		GrowWAL:       reserveWAL,
		Commit:        commit,
	})
	if err != nil {
		return nil, unavailable(fmt.Errorf("database %s: %w", name, err))
	}
	c := &conn{db: db, name: name, path: path, options: o, pool: pool, authorizer: a, budget: b, usage: pool.usage}
	settings := pragmas(o.MaxBytes)
	switch {
	case !writer:
		settings = append(settings, "query_only=ON")
	case isEmpty(path):
		// Free pages can be given back to the disk. It must come before the first page.
		settings = append([]string{"auto_vacuum=INCREMENTAL"}, settings...)
	}
	for _, setting := range settings {
		if err := c.execTrusted(ctx, "PRAGMA "+setting); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}
