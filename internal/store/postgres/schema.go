package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"ql/internal/fault"
	"ql/internal/store/migrate"
	"ql/internal/store/relational"
)

//go:embed migrations/*.sql
var migrations embed.FS

// The table that says how far a schema has come: all of a version, and so many statements of the next.
const (
	makeProgress = "CREATE TABLE IF NOT EXISTS ql_schema (one BIGINT PRIMARY KEY CHECK (one = 1), version BIGINT NOT NULL, statement BIGINT NOT NULL, min_reader BIGINT NOT NULL)"
	startAt      = "INSERT INTO ql_schema (one, version, statement, min_reader) VALUES (1, 0, 0, 0) ON CONFLICT DO NOTHING"
)

// statementsOf returns the statements of a step, each of which is run in a transaction of its own.
func statementsOf(s migrate.Step) (list []string) {
	for _, one := range strings.Split(s.SQL, ";\n") {
		if text := strings.TrimSpace(withoutComments(one)); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// withoutComments leaves out the lines that only say something.
func withoutComments(sql string) string {
	var lines []string
	for line := range strings.Lines(sql) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// migrateSchema brings the schema up to date. Processes that start at the same time take turns: each
// statement is run by who finds that it is due.
func migrateSchema(ctx context.Context, c *conn, steps []migrate.Step, o Options) error {
	there := false
	if err := c.Query(ctx, "SELECT 1 FROM pg_catalog.pg_class WHERE oid = to_regclass('ql_schema')", nil, func(relational.Row) bool {
		there = true
		return false
	}); err != nil {
		return err
	}
	if !there {
		for _, sql := range []string{makeProgress, startAt} {
			// Another process may make it at the same time.
			if err := c.run(ctx, sql); err != nil && codeOf(err) != "23505" {
				return err
			}
		}
	}
	version, _, err := c.progress(ctx, "")
	if err != nil {
		return err
	}
	pending, err := migrate.Pending(steps, version)
	if err != nil || len(pending) == 0 {
		return err
	}
	if version > 0 && !o.Migrate && c.holdsAccounts(ctx) {
		return fault.New(fault.StorageUnavailable, "the database must be upgraded first: start the new version of the server")
	}
	began := time.Now()
	for _, step := range pending {
		for number, sql := range statementsOf(step) {
			if err := c.step(ctx, step.Number, number+1, len(statementsOf(step)), sql); err != nil {
				return fmt.Errorf("migration %d (%s), statement %d: %w", step.Number, step.Name, number+1, err)
			}
		}
	}
	if version > 0 {
		o.Migrated(version, len(steps), time.Since(began))
	}
	return nil
}

// holdsAccounts tells whether a store of an earlier version is more than one whose making was cut off.
func (c *conn) holdsAccounts(ctx context.Context) bool {
	held := false
	err := c.Query(ctx, "SELECT 1 FROM accounts LIMIT 1", nil, func(relational.Row) bool {
		held = true
		return false
	})
	return held || err != nil
}

// progress returns how far the schema has come.
func (c *conn) progress(ctx context.Context, lock string) (version, statement int, err error) {
	err = c.Query(ctx, "SELECT version, statement FROM ql_schema WHERE one = 1"+lock, nil, func(r relational.Row) bool {
		version, statement = int(r.Int(0)), int(r.Int(1))
		return false
	})
	return version, statement, err
}

// step runs one statement, unless it was run. It may take long.
func (c *conn) step(ctx context.Context, number, statement, of int, sql string) (err error) {
	c.line.patience = migrationPatience
	defer func() { c.line.patience = statementPatience }()
	if err := c.run(ctx, "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.run(context.WithoutCancel(ctx), "ROLLBACK"))
		}
	}()
	version, done, err := c.progress(ctx, " FOR UPDATE")
	if err != nil {
		return err
	}
	if version >= number || version == number-1 && done >= statement {
		return c.run(ctx, "COMMIT")
	}
	if err := c.run(ctx, sql); err != nil {
		return err
	}
	next, at := number-1, statement
	if statement == of {
		next, at = number, 0
	}
	return c.run(ctx, fmt.Sprintf("UPDATE ql_schema SET version = %d, statement = %d WHERE one = 1; COMMIT", next, at))
}
