package databases

import (
	"context"
	"errors"
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

// names returns the databases that are in the folder or open.
func (d *Databases) names() (map[string]bool, error) {
	names := map[string]bool{}
	d.mu.Lock()
	for name := range d.open {
		names[name] = true
	}
	d.mu.Unlock()
	entries, err := os.ReadDir(d.options.Folder)
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), fileEnding); ok {
			names[name] = true
		}
	}
	if os.IsNotExist(err) {
		err = nil
	}
	return names, err
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
