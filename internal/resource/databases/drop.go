package databases

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Clear removes all databases. Who uses one is waited for, as long as a writer
// would be.
func (d *Databases) Clear(ctx context.Context) error {
	names, err := d.names()
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
	if err := db.take(ctx, db.writing); err != nil {
		return err
	}
	defer func() { <-db.writing }()
	for range cap(db.reading) {
		if err := db.take(ctx, db.reading); err != nil {
			return err
		}
		defer func() { <-db.reading }()
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	// The files go whether or not closing them succeeds.
	_ = db.close()
	db.writer, db.readers, db.made = nil, nil, false
	path := filepath.Join(db.options.Folder, db.name+fileEnding)
	// The database last: a journal without its database would be taken for that
	// of the next one.
	for _, name := range []string{path + journalEnding, path + "-shm", path} {
		if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	if db.tally != nil {
		db.tally.room.Note(-db.tally.forget(db.name))
		db.tally.setLog(db.name, 0)
		db.tally.lookAt(db.name, path)
	}
	return nil
}

// Drop removes a database with its files. Nobody else may have them open, in
// another process either: whoever had would go on with files that have no name.
func (d *Databases) Drop(ctx context.Context, name string) error {
	name, err := d.existing(name)
	if err != nil {
		return err
	}
	return d.remove(ctx, name)
}

// Empty removes all tables, views and triggers of a database, in one
// transaction, and gives their room back. Others may use it meanwhile. What jobs
// under way have noted of themselves stays.
func (d *Databases) Empty(ctx context.Context, name string) error {
	name, err := d.existing(name)
	if err != nil {
		return err
	}
	if err := d.change(ctx, name, func(c *conn) error { return c.empty(ctx) }); err != nil {
		return err
	}
	for more := true; more && err == nil; {
		err = d.change(ctx, name, func(c *conn) error {
			free, err := c.number(ctx, "PRAGMA freelist_count")
			if more = free > 0; err != nil || !more {
				return err
			}
			return c.trusted(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", mostGivenBack))
		})
	}
	return err
}

func (c *conn) empty(ctx context.Context) error {
	if err := c.bound(ctx, true); err != nil {
		return err
	}
	// The rows that refer to others go as well.
	if err := c.trusted(ctx, "PRAGMA defer_foreign_keys=ON"); err != nil {
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
			if err := c.trusted(ctx, "DROP "+strings.ToUpper(kind)+" "+QuoteIdentifier(o.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}
