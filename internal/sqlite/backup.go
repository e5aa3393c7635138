package sqlite

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// backupPages is how many pages are copied between two looks at the context.
const backupPages = 1024

// Backup copies the whole database, as it is at one moment, over the file at
// path, page by page: no SQL of the database is run. Others may write to it
// meanwhile. The copy is not yet on the disk when Backup returns.
func (c *Conn) Backup(ctx context.Context, path string) (err error) {
	to, err := Open(path, Config{Create: true, Temporary: c.config.Temporary})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	// What others commit is not seen in a transaction, so that nothing has to be
	// copied again.
	if err := c.Exec(ctx, "BEGIN"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Exec(context.Background(), "ROLLBACK")) }()
	if err := c.Exec(ctx, "SELECT 1 FROM sqlite_schema LIMIT 1"); err != nil {
		return err
	}
	return to.copyFrom(ctx, c)
}

// copyFrom makes the connection's database that of another.
func (c *Conn) copyFrom(ctx context.Context, from *Conn) error {
	main := c.duplicate(bytesOf("main\x00"))
	if main == 0 {
		return errNoMemory
	}
	defer lib.Xsqlite3_free(c.tls, main)
	backup := lib.Xsqlite3_backup_init(c.tls, c.db, main, from.db, main)
	if backup == 0 {
		return fmt.Errorf("sqlite: backup: %s", libc.GoString(lib.Xsqlite3_errmsg(c.tls, c.db)))
	}
	rc := int32(lib.SQLITE_OK)
	for rc == lib.SQLITE_OK && ctx.Err() == nil {
		rc = lib.Xsqlite3_backup_step(c.tls, backup, backupPages)
	}
	lib.Xsqlite3_backup_finish(c.tls, backup)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case rc != lib.SQLITE_DONE:
		return c.failure(rc)
	}
	return nil
}
