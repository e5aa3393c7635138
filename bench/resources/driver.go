package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	_ "modernc.org/sqlite" // the driver
)

// driverDatabase is the library's own driver for database/sql, as a program in Go
// would use it: prepared statements on one connection, with the settings that an
// account's database has.
type driverDatabase struct {
	db                   *sql.DB
	conn                 *sql.Conn
	one, all, add, clear *sql.Stmt
}

func openDriver(ctx context.Context, path string) (_ *driverDatabase, err error) {
	pragmas := url.Values{"_txlock": {"immediate"}}
	for _, setting := range sqlSettings {
		pragmas.Add("_pragma", setting.name+"("+setting.value+")")
	}
	d := &driverDatabase{}
	if d.db, err = sql.Open("sqlite", "file:"+path+"?"+pragmas.Encode()); err != nil {
		return nil, err
	}
	if d.conn, err = d.db.Conn(ctx); err != nil {
		return nil, errors.Join(err, d.db.Close())
	}
	for _, text := range sqlSetup {
		if _, err := d.conn.ExecContext(ctx, text); err != nil {
			return nil, errors.Join(err, d.close())
		}
	}
	for text, s := range map[string]**sql.Stmt{selectOne: &d.one, selectAll: &d.all, insertOne: &d.add, deleteAll: &d.clear} {
		if *s, err = d.conn.PrepareContext(ctx, text); err != nil { //nolint:sqlclosecheck // by close
			return nil, errors.Join(err, d.close())
		}
	}
	return d, nil
}

func (d *driverDatabase) close() error {
	var errs []error
	for _, s := range []*sql.Stmt{d.one, d.all, d.add, d.clear} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(append(errs, d.conn.Close(), d.db.Close())...)
}

func (d *driverDatabase) oneRow(ctx context.Context) (string, error) {
	sum := 0.0
	for i := range int64(1_000) {
		var row item
		if err := d.one.QueryRowContext(ctx, i+1).Scan(&row.id, &row.name, &row.total); err != nil {
			return "", err
		}
		sum += row.total
	}
	return fmt.Sprint(sum), nil
}

func (d *driverDatabase) insert(ctx context.Context) (string, error) {
	tx, err := d.conn.BeginTx(ctx, nil)
	if err != nil {
		return "", err
	}
	add := tx.StmtContext(ctx, d.add) //nolint:sqlclosecheck // by the end of the transaction
	for i := range int64(1_000) {
		if _, err := add.ExecContext(ctx, "a name of some length", i+1); err != nil {
			return "", errors.Join(err, tx.Rollback())
		}
	}
	if err := tx.Commit(); err != nil {
		return "", err
	}
	gone, err := d.clear.ExecContext(ctx)
	if err != nil {
		return "", err
	}
	n, err := gone.RowsAffected()
	return fmt.Sprint(n), err
}

func (d *driverDatabase) loop(ctx context.Context) (_ string, err error) {
	found, err := d.all.QueryContext(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	var rows []item
	for found.Next() {
		var row item
		if err := found.Scan(&row.id, &row.name, &row.total); err != nil {
			return "", err
		}
		rows = append(rows, row)
	}
	return sumOf(rows), found.Err()
}
