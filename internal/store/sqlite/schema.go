package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ql/internal/disk"
	"ql/internal/store/migrate"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks the file as ours: "qlDB" as a number. The first
// migration writes it.
const applicationID = 0x716c4442

// schema brings a store's schema up to what the program knows.
type schema struct {
	folder string
	path   string
	owned  bool // this process has the folder's lock
	conn   *conn
	steps  []migrate.Step
}

// check refuses a file that is no store of ours, or a newer one.
func (s *schema) check(ctx context.Context) (pending []migrate.Step, version int, err error) {
	current, err := s.conn.number(ctx, "PRAGMA user_version")
	if err != nil {
		return nil, 0, explain(s.path, err)
	}
	mark, err := s.conn.number(ctx, "PRAGMA application_id")
	if err != nil {
		return nil, 0, explain(s.path, err)
	}
	tables, err := s.conn.number(ctx, "SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return nil, 0, explain(s.path, err)
	}
	if mark != applicationID && (mark != 0 || current != 0 || tables != 0) {
		return nil, 0, fmt.Errorf("%s is no store of this program", s.path)
	}
	pending, err = migrate.Pending(s.steps, int(current))
	return pending, int(current), err
}

// migrate runs the steps that are due. A store that holds something is copied
// aside first, and never changed under a running server.
func (s *schema) migrate(ctx context.Context) error {
	pending, version, err := s.check(ctx)
	if err != nil || len(pending) == 0 {
		return err
	}
	if version > 0 {
		if !s.owned {
			held, err := lock(s.folder)
			var used *InUse
			if errors.As(err, &used) {
				return fmt.Errorf("the store must be upgraded first, and %w: stop it, then start the new version", err)
			}
			if err != nil {
				return err
			}
			defer held.Close() //nolint:errcheck // nothing was written that matters
		}
		if err := s.copyAside(ctx, version); err != nil {
			return fmt.Errorf("copy the store before its upgrade: %w", err)
		}
	}
	// A new index may have to sort more than memory holds.
	if err := s.conn.db.Exec(ctx, "PRAGMA temp_store=FILE"); err != nil {
		return err
	}
	for _, step := range pending {
		if err := s.run(ctx, step); err != nil {
			return fmt.Errorf("migration %d (%s): %w", step.Number, step.Name, explain(s.path, err))
		}
	}
	return s.conn.db.Exec(ctx, "PRAGMA temp_store=MEMORY")
}

// run runs one step in a transaction. Another process may have run it since
// the version was read.
func (s *schema) run(ctx context.Context, step migrate.Step) (err error) {
	if err := s.conn.db.Exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if s.conn.db.InTransaction() {
			err = errors.Join(err, s.conn.db.Exec(context.Background(), "ROLLBACK"))
		}
	}()
	version, err := s.conn.number(ctx, "PRAGMA user_version")
	if err != nil || version >= int64(step.Number) {
		return err
	}
	if err := s.conn.script(ctx, step.SQL); err != nil {
		return err
	}
	orphan, err := tx{ctx, s.conn}.has("PRAGMA foreign_key_check")
	if err != nil {
		return err
	}
	if orphan {
		return errors.New("it would leave rows that belong to nothing")
	}
	if err := s.conn.db.Exec(ctx, fmt.Sprintf("PRAGMA user_version = %d", step.Number)); err != nil {
		return err
	}
	return s.conn.db.Exec(ctx, "COMMIT")
}

// copyAside makes a whole copy of the store as it is at a version.
func (s *schema) copyAside(ctx context.Context, version int) error {
	target := filepath.Join(s.folder, fmt.Sprintf("ql-schema-%05d.db", version))
	// Made here, so that nobody else may read it; SQLite fills an empty file.
	f, err := os.CreateTemp(s.folder, "ql-copy-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // after the rename there is none
	quoted := "'" + strings.ReplaceAll(f.Name(), "'", "''") + "'"
	if err := s.conn.db.Exec(ctx, "VACUUM INTO "+quoted); err != nil {
		return errors.Join(explain(s.path, err), f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), target); err != nil {
		return err
	}
	return disk.SyncFolder(s.folder)
}

// quickCheck looks for damage in the whole file.
func (c *conn) quickCheck(ctx context.Context) error {
	var found string
	if _, err := (tx{ctx, c}).one("PRAGMA quick_check(1)", func(r row) { found = r.text(0) }); err != nil {
		return explain(c.path, err)
	}
	if found != "ok" {
		return damaged(c.path, errors.New(found))
	}
	return nil
}
