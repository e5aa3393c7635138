package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"ql/internal/fault"
	"ql/internal/store/relational"
	"ql/internal/store/tables"
)

// lockWait is how long others are waited for by who wants all tables for itself.
const lockWait = 10 * time.Second

// Tables returns a connection to all that is stored, as the tables that it is in. Its statements may take long. The
// store is not used meanwhile.
func (s *Store) Tables(ctx context.Context) (tables.Access, error) {
	config := s.config.Copy()
	for _, name := range []string{"statement_timeout", "idle_in_transaction_session_timeout"} {
		config.RuntimeParams[name] = "0"
	}
	config.RuntimeParams["lock_timeout"] = milliseconds(lockWait)
	c, err := connect(ctx, config)
	if err != nil {
		return nil, err
	}
	c.line.patience = migrationPatience
	a := &access{conn: c}
	if err := a.load(ctx); err != nil {
		return nil, errors.Join(explain(err), c.close())
	}
	return a, nil
}

// access implements tables.Access.
type access struct {
	conn   *conn
	tables []tables.Table
}

var kindsByType = map[int64]tables.Kind{int8OID: tables.Int, textOID: tables.Text, byteaOID: tables.Bytes}

// The tables, columns, keys and references of the schema that the store is in.
const (
	listColumns = `SELECT c.relname::text, a.attname::text, a.atttypid::bigint, a.attidentity <> '', a.attgenerated <> ''
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
		WHERE c.relkind = 'r' AND c.relnamespace = to_regnamespace(current_schema()) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.relname, a.attnum`
	listKeys = `SELECT c.relname::text, a.attname::text FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indrelid
		CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k (number, place) JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number
		WHERE i.indisprimary AND c.relkind = 'r' AND c.relnamespace = to_regnamespace(current_schema()) ORDER BY c.relname, k.place`
	listReferences = `SELECT DISTINCT c.relname::text, t.relname::text FROM pg_catalog.pg_constraint f JOIN pg_catalog.pg_class c ON c.oid = f.conrelid
		JOIN pg_catalog.pg_class t ON t.oid = f.confrelid WHERE f.contype = 'f' AND c.relnamespace = to_regnamespace(current_schema()) ORDER BY 1, 2`
)

func (a *access) load(ctx context.Context) error {
	var list []tables.Table
	at := map[string]int{}
	var unknown error
	if err := a.conn.Query(ctx, listColumns, nil, func(r relational.Row) bool {
		name := string(r.Text(0))
		if _, known := at[name]; !known {
			at[name] = len(list)
			list = append(list, tables.Table{Name: name})
		}
		t := &list[at[name]]
		c := tables.Column{Name: string(r.Text(1)), Kind: kindsByType[r.Int(2)], Computed: r.Int(4) != 0}
		if c.Kind == 0 {
			unknown = fmt.Errorf("column %s of table %s has the type %d", c.Name, name, r.Int(2))
		}
		c.Clean = c.Kind == tables.Text
		t.Columns = append(t.Columns, c)
		if r.Int(3) != 0 {
			t.Number, t.Remembers = c.Name, true
		}
		return true
	}); err != nil || unknown != nil {
		return errors.Join(err, unknown)
	}
	for sql, add := range map[string]func(t *tables.Table, name string){
		listKeys:       func(t *tables.Table, name string) { t.Key = append(t.Key, name) },
		listReferences: func(t *tables.Table, name string) { t.RefersTo = append(t.RefersTo, name) },
	} {
		if err := a.conn.Query(ctx, sql, nil, func(r relational.Row) bool {
			add(&list[at[string(r.Text(0))]], string(r.Text(1)))
			return true
		}); err != nil {
			return err
		}
	}
	var err error
	a.tables, err = tables.Sort(list)
	return err
}

// Tables implements tables.Access.
func (a *access) Tables() []tables.Table { return a.tables }

// Rows implements tables.Access.
func (a *access) Rows(ctx context.Context, t *tables.Table, columns []tables.Column, f func([]tables.Value) error) error {
	kinds := make([]tables.Kind, len(columns))
	for i, c := range columns {
		kinds[i] = c.Kind
	}
	return a.Select(ctx, tables.SelectAll(t, columns), nil, kinds, f)
}

// Select implements tables.Access.
func (a *access) Select(ctx context.Context, sql string, args []any, kinds []tables.Kind, f func([]tables.Value) error) error {
	values := make([]tables.Value, len(kinds))
	var failed error
	err := a.conn.Query(ctx, sql, args, func(r relational.Row) bool {
		for i, kind := range kinds {
			switch {
			case r.Null(i):
				values[i] = tables.Value{Null: true}
			case kind == tables.Int:
				values[i] = tables.Value{Int: r.Int(i)}
			default:
				values[i] = tables.Value{Bytes: r.Blob(i)}
			}
		}
		failed = f(values)
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return explain(err)
}

// copyHeader begins what is copied in binary: a signature, no flags, nothing more.
const copyHeader = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"

// Insert implements tables.Access.
func (a *access) Insert(ctx context.Context, t *tables.Table, columns []tables.Column, rows [][]tables.Value) error {
	content := []byte(copyHeader)
	for _, row := range rows {
		content = binary.BigEndian.AppendUint16(content, uint16(len(columns)))
		for i := range row {
			switch v := &row[i]; {
			case v.Null:
				content = binary.BigEndian.AppendUint32(content, ^uint32(0))
			case columns[i].Kind == tables.Int:
				content = binary.BigEndian.AppendUint32(content, 8)
				content = binary.BigEndian.AppendUint64(content, uint64(v.Int))
			default:
				content = binary.BigEndian.AppendUint32(content, uint32(len(v.Bytes)))
				content = append(content, v.Bytes...)
			}
		}
	}
	content = binary.BigEndian.AppendUint16(content, ^uint16(0))
	_, err := a.conn.pg.CopyFrom(ctx, bytes.NewReader(content), "COPY "+tables.Quote(t.Name)+" ("+tables.Names(columns)+") FROM STDIN (FORMAT binary)")
	if err != nil {
		err = fmt.Errorf("rows of table %s: %w", t.Name, err)
	}
	return a.explain(err)
}

func (a *access) explain(err error) error {
	if codeOf(err) == "53100" {
		return fault.New(fault.StorageUnavailable, "the disk of the database has no room for what is copied").WithCause(err)
	}
	return explain(err)
}

// Exec implements tables.Access.
func (a *access) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	n, err := a.conn.Exec(ctx, sql, args)
	return n, a.explain(err)
}

// Lock implements tables.Access. What is read is of the moment at which nobody changed anything any more.
func (a *access) Lock(ctx context.Context, list []tables.Table) error {
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = tables.Quote(t.Name)
	}
	if err := a.conn.run(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ"); err != nil {
		return explain(err)
	}
	err := a.conn.run(ctx, "LOCK TABLE "+strings.Join(names, ", ")+" IN SHARE MODE")
	if codeOf(err) == "55P03" {
		return fault.New(fault.StorageUnavailable, "the database is being changed: stop all servers and commands that use it").WithCause(err)
	}
	return explain(err)
}

// Commit implements tables.Access.
func (a *access) Commit(ctx context.Context) error { return a.explain(a.conn.run(ctx, "COMMIT")) }

// Do implements tables.Access.
func (a *access) Do(ctx context.Context, f func() error) (err error) {
	if err := a.conn.run(ctx, "BEGIN"); err != nil {
		return a.explain(err)
	}
	defer func() {
		if err != nil && a.conn.pg.TxStatus() != 'I' {
			// Where it fails, the connection does, and with it the transaction.
			_ = a.conn.run(context.WithoutCancel(ctx), "ROLLBACK")
		}
	}()
	if err := f(); err != nil {
		return err
	}
	return a.Commit(ctx)
}

// sequence is that of a table's numbers, in a statement.
func sequence(t *tables.Table) string {
	return "pg_get_serial_sequence('" + tables.Quote(t.Name) + "', '" + t.Number + "')"
}

// Next implements tables.Access.
func (a *access) Next(ctx context.Context, t *tables.Table) (next int64, err error) {
	name := ""
	if err := a.conn.Query(ctx, "SELECT "+sequence(t)+"::text", nil, func(r relational.Row) bool {
		name = string(r.Text(0))
		return false
	}); err != nil {
		return 0, explain(err)
	}
	err = a.conn.Query(ctx, "SELECT last_value + is_called::int FROM "+name, nil, func(r relational.Row) bool {
		next = r.Int(0)
		return false
	})
	return next, explain(err)
}

// SetNext implements tables.Access.
func (a *access) SetNext(ctx context.Context, t *tables.Table, next int64) error {
	return a.explain(a.conn.run(ctx, fmt.Sprintf("SELECT setval(%s, %d, false)", sequence(t), next)))
}

// Size implements tables.Access.
func (a *access) Size(ctx context.Context) (size int64, err error) {
	err = a.conn.Query(ctx, "SELECT pg_database_size(current_database())", nil, func(r relational.Row) bool {
		size = r.Int(0)
		return false
	})
	return size, explain(err)
}

// Close implements tables.Access. What Lock began and nobody committed is undone.
func (a *access) Close() error { return a.conn.close() }
