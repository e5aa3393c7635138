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
	takeTurns    = "SELECT pg_advisory_xact_lock(29036)" // IF NOT EXISTS fails beside a transaction that makes the same table
	makeProgress = "CREATE TABLE IF NOT EXISTS ql_schema (one BIGINT PRIMARY KEY CHECK (one = 1), version BIGINT NOT NULL, statement BIGINT NOT NULL, min_reader BIGINT NOT NULL)"
	startAt      = "INSERT INTO ql_schema (one, version, statement, min_reader) VALUES (1, 0, 0, 0) ON CONFLICT DO NOTHING"
)

// schema is what a version of the program knows of it.
//
// Nodes of a database are upgraded one after the other, so a version works beside the one before. Steps only add what that
// need not know: they are run when a server starts. What the version before needs and this one does not is removed by
// contracts, once no member is left that needs it.
type schema struct {
	steps     []migrate.Step
	contracts []contract
}

// contract removes something from the schema.
type contract struct {
	// needs is the number of the step whose programs no longer use it.
	needs int
	// statements are each run in a transaction of its own, and may be run again.
	statements []string
}

// contracts are those of this version, in their order. None is ever removed from the list.
var contracts = []contract{
	// Checked for each row, it took a third of what it costs to store a job. A job counts in a row of usage in the same
	// transaction, which has such a key: so none is stored of an account that is not there.
	{needs: 17, statements: []string{"ALTER TABLE jobs DROP CONSTRAINT IF EXISTS jobs_account_fkey"}},
}

// extend makes it the schema of another version, where tests built the program so.
var extend func(*schema)

func loadSchema() (*schema, error) {
	steps, err := migrate.Load(migrations, "migrations")
	s := &schema{steps, contracts}
	if extend != nil {
		extend(s)
	}
	return s, err
}

// minReader selects the number of the step that a program must know to use the schema.
const minReader = "SELECT min_reader FROM ql_schema WHERE one = 1"

// errOldProgram says of a command or a server that the schema has gone on without it.
func errOldProgram(version, needed, known int) error {
	return fault.New(fault.StorageUnavailable, "the nodes of this database were upgraded, and it needs a newer version of this program: its schema is number %d, which programs read that know number %d, and this one knows up to %d", version, needed, known)
}

// FinishUpgrade implements store.Backend. It runs the contracts whose time has come.
func (s *Store) FinishUpgrade(ctx context.Context) error {
	if s.finished.Load() {
		return nil
	}
	done := 0
	if err := s.Read(ctx, func(t relational.Tx) (err error) {
		done, err = t.Contracted()
		return err
	}); err != nil {
		return err
	}
	for i, one := range s.schema.contracts {
		if i < done {
			continue
		}
		raised := false
		if err := s.Write(ctx, func(t relational.Tx) (err error) {
			raised, err = t.RaiseMinReader(one.needs)
			return err
		}); err != nil || !raised {
			return err
		}
		if err := s.contract(ctx, one, i+1); err != nil {
			return fmt.Errorf("contract %d: %w", i+1, explain(err))
		}
	}
	s.finished.Store(true)
	return nil
}

// contract runs one contract, which nobody who is a member, or will be one, needs any more.
func (s *Store) contract(ctx context.Context, one contract, number int) (err error) {
	c, err := connect(ctx, s.config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	for _, sql := range append(one.statements[:len(one.statements):len(one.statements)],
		fmt.Sprintf("UPDATE ql_schema SET contracted = %d WHERE one = 1 AND contracted < %[1]d", number)) {
		if err := c.change(ctx, func() error { return c.run(ctx, sql) }); err != nil {
			return err
		}
	}
	return nil
}

// Locks of a change of the schema. Whoever wants a lock behind one that waits, waits as well: so none waits for
// longer than callers bear, and it is tried again.
const (
	schemaLockTimeout = 500 * time.Millisecond
	schemaLockRetry   = time.Second
)

// change runs a change of the schema as one transaction, which may take long.
func (c *conn) change(ctx context.Context, do func() error) error {
	c.line.patience = migrationPatience
	defer func() { c.line.patience = statementPatience }()
	for {
		err := c.run(ctx, "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = "+milliseconds(schemaLockTimeout)+"; SET LOCAL idle_in_transaction_session_timeout = 0")
		if err != nil {
			return err
		}
		if err = do(); err == nil {
			return c.run(ctx, "COMMIT")
		}
		if e := c.run(context.WithoutCancel(ctx), "ROLLBACK"); e != nil || codeOf(err) != lockNotAvailable {
			return errors.Join(err, e)
		}
		timer := time.NewTimer(schemaLockRetry)
		select {
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(err, ctx.Err())
		case <-timer.C:
		}
	}
}

const lockNotAvailable = "55P03"

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
	if err := c.startProgress(ctx); err != nil {
		return err
	}
	version, _, err := c.progress(ctx, "")
	if err != nil {
		return err
	}
	if version > len(steps) {
		needed := 0
		if err := c.Query(ctx, minReader, nil, func(r relational.Row) bool { needed = int(r.Int(0)); return false }); err != nil {
			return err
		}
		if needed > len(steps) {
			return errOldProgram(version, needed, len(steps))
		}
		return nil // it has more than this program asks for
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

// startProgress makes the table that says how far a schema has come, and its row: both or none, where it is cut off.
func (c *conn) startProgress(ctx context.Context) error {
	found := false
	find := func(sql string) error {
		found = false
		return c.Query(ctx, sql, nil, func(relational.Row) bool {
			found = true
			return false
		})
	}
	if err := find("SELECT 1 FROM pg_catalog.pg_class WHERE oid = to_regclass('ql_schema')"); err != nil {
		return err
	}
	if !found {
		if err := c.run(ctx, takeTurns+"; "+makeProgress+"; "+startAt); err != nil {
			return err
		}
	}
	// One that was cut off in an earlier version has left the table without its row.
	if err := find("SELECT 1 FROM ql_schema WHERE one = 1"); err != nil || found {
		return err
	}
	return c.run(ctx, startAt)
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

// step runs one statement, unless it was run.
func (c *conn) step(ctx context.Context, number, statement, of int, sql string) error {
	return c.change(ctx, func() error {
		version, done, err := c.progress(ctx, " FOR UPDATE")
		if err != nil || version >= number || version == number-1 && done >= statement {
			return err
		}
		if err := c.run(ctx, sql); err != nil {
			return err
		}
		next, at := number-1, statement
		if statement == of {
			next, at = number, 0
		}
		return c.run(ctx, fmt.Sprintf("UPDATE ql_schema SET version = %d, statement = %d WHERE one = 1", next, at))
	})
}
