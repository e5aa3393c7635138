package databases

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// DropAll removes all databases. Who uses one is waited for, as long as a writer
// would be.
func (d *Databases) DropAll(ctx context.Context) error {
	names, err := d.names(ctx)
	for name := range names {
		err = errors.Join(err, d.remove(ctx, name))
	}
	return err
}

func (d *Databases) remove(ctx context.Context, name string) error {
	db, err := d.acquire(name)
	if err != nil {
		return err
	}
	defer d.release(db)
	return db.remove(ctx)
}

// remove removes the database's files while nobody has a connection. Whoever
// uses it next makes it anew.
func (db *database) remove(ctx context.Context) error {
	_, err := db.removeUnless(ctx, func() (bool, error) { return false, nil })
	return err
}

// removeUnless is remove where keep, which is asked while nobody has a connection, does not say
// to keep it.
func (db *database) removeUnless(ctx context.Context, keep func() (bool, error)) (gone bool, err error) {
	if err := db.acquireToken(ctx, db.writerToken); err != nil {
		return false, err
	}
	defer func() { <-db.writerToken }()
	for range cap(db.readerTokens) {
		if err := db.acquireToken(ctx, db.readerTokens); err != nil {
			return false, err
		}
		defer func() { <-db.readerTokens }()
	}
	if kept, err := keep(); err != nil || kept {
		return false, err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	// The files go whether or not closing them succeeds.
	_ = db.close()
	db.idleWriter, db.idleReaders, db.created = nil, nil, false
	if db.options.Origin != nil {
		if err := db.options.Origin.Drop(ctx, db.name); err != nil {
			return false, originError(err)
		}
	}
	path := filepath.Join(db.options.Folder, db.name+fileSuffix)
	// The database last: a log without its database would be taken for that of the
	// next one.
	for _, name := range []string{path + walSuffix, path + "-shm", path} {
		if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
			return false, err
		}
	}
	if db.usage != nil {
		db.usage.storage.Adjust(-db.usage.remove(db.name))
		db.usage.setWAL(db.name, 0)
		db.usage.setSlack(db.name, path)
	}
	return true, nil
}

// Drop removes a database with its files. Nobody else may have them open, in
// another process either: whoever had would go on with files that have no name.
func (d *Databases) Drop(ctx context.Context, name string) error {
	name, err := d.existing(ctx, name)
	if err != nil {
		return err
	}
	return d.remove(ctx, name)
}

// Empty removes all tables, views and triggers of a database, in one
// transaction, and frees their storage. Others may use it meanwhile. What jobs
// under way have recorded of themselves stays.
func (d *Databases) Empty(ctx context.Context, name string) error {
	name, err := d.existing(ctx, name)
	if err != nil {
		return err
	}
	if err := d.change(ctx, name, func(c *conn) error { return c.empty(ctx) }); err != nil {
		return err
	}
	for more := true; more && err == nil; {
		err = d.change(ctx, name, func(c *conn) error {
			free, err := c.queryInt(ctx, "PRAGMA freelist_count")
			if more = free > 0; err != nil || !more {
				return err
			}
			return c.execTrusted(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", maxVacuumPages))
		})
	}
	return err
}

func (c *conn) empty(ctx context.Context) error {
	if err := c.setMaxPages(ctx, true); err != nil {
		return err
	}
	// The rows that refer to others go as well.
	if err := c.execTrusted(ctx, "PRAGMA defer_foreign_keys=ON"); err != nil {
		return err
	}
	objects, err := c.objects(ctx)
	if err != nil {
		return err
	}
	// Tables last: a view or trigger may be about one.
	for _, kind := range []string{"trigger", "view", "table"} {
		for _, o := range objects {
			if o.Kind != kind {
				continue
			}
			if err := c.execTrusted(ctx, "DROP "+strings.ToUpper(kind)+" "+QuoteIdentifier(o.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}
