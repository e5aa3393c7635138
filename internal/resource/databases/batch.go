package databases

import (
	"context"
	"errors"

	"ql/lang/bytecode"
	"ql/lang/value"

	lib "modernc.org/sqlite/lib"
)

// Batch is a change of a database by many statements for no script, such as an
// import. Each may do what a script's may.
type Batch struct {
	conn   *conn
	maxSQL int
}

// BatchOptions are how a batch is run.
type BatchOptions struct {
	Create bool // the database is made where it is missing
	MaxSQL int  // bytes of one statement; 0 for MaxSQL
}

// ErrRolledBack says that a statement rolled its whole batch back.
var ErrRolledBack = errors.New("databases: the statement rolled the batch back")

// Batch runs do in one transaction, which looks at references between rows at its
// end. After an error nothing of it is there, nor the database where it was to be
// made.
func (d *Databases) Batch(ctx context.Context, name string, o BatchOptions, do func(*Batch) error) error {
	name, err := canonicalName(name)
	if err != nil {
		return err
	}
	there, err := d.has(ctx, name)
	switch {
	case err != nil:
		return err
	case there:
		return d.batch(ctx, name, o, do)
	case !o.Create:
		return missing(name)
	}
	return d.createStaged(ctx, name, func(staged *Databases) error { return staged.batch(ctx, name, o, do) })
}

func (d *Databases) batch(ctx context.Context, name string, o BatchOptions, do func(*Batch) error) error {
	return d.change(ctx, name, func(c *conn) error {
		if err := c.execTrusted(ctx, "PRAGMA defer_foreign_keys=ON"); err != nil {
			return err
		}
		b := &Batch{conn: c, maxSQL: MaxSQL}
		if o.MaxSQL > 0 {
			b.maxSQL = o.MaxSQL
		}
		b.limit(b.maxSQL)
		defer b.limit(MaxSQL)
		return do(b)
	})
}

// Check refuses a statement with so many parameters that could not be run.
func (b *Batch) Check(ctx context.Context, sql string, params int) error {
	_, err := b.conn.prepare(ctx, &call{sql: sql, args: make([]value.Value, params)})
	return err
}

// limit sets how long SQL may be.
func (b *Batch) limit(bytes int) { b.conn.db.SetLimit(lib.SQLITE_LIMIT_SQL_LENGTH, bytes) }

// Exec runs one statement. args are its parameters; nil where it may have none. What defines
// something is no longer than MaxSQL.
func (b *Batch) Exec(ctx context.Context, sql string, args []value.Value) error {
	if isDefinition(sql) {
		if len(sql) > MaxSQL {
			return value.Exceeded("sql_bytes", MaxSQL, "a statement that defines something is longer than %d bytes, the limit", MaxSQL)
		}
		// SQLite keeps its text, or writes a longer one of it, and every connection reads that
		// again under its own limit. Under the same limit, it refuses now what nobody could read.
		b.limit(MaxSQL)
		defer b.limit(b.maxSQL)
	}
	// Rows that it may give are of no use; of one that writes all are made.
	call := &call{sql: sql, args: args, mode: bytecode.SQLValue, literal: args == nil}
	s, err := b.conn.prepare(ctx, call)
	if err != nil {
		return err
	}
	if _, err := b.conn.run(ctx, s, call); err != nil {
		return err
	}
	if !b.conn.db.InTransaction() {
		return ErrRolledBack
	}
	return nil
}
