package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ql/bench/load"
	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/resource/databases"
	"ql/internal/resource/databases/transfer"
	"ql/internal/sqlite"
	"ql/lang"
	"ql/lang/bytecode"
	"ql/lang/vm"
)

// sqlRows is how many rows the table has that is read.
const sqlRows = 10_000

// sqlCase is a script, and what the library's driver and the bare binding do beside
// it. All say what came out, and must say the same.
type sqlCase struct {
	name   string
	unit   string // what is counted
	count  int    // of them in one run
	repeat int    // runs of one measurement
	script string
	driver func(*driverDatabase, context.Context) (string, error)
	bare   func(*bareDatabase, context.Context) (string, error)
}

const (
	oneRow   = "one-row SELECT"
	inserts  = "INSERT in a TRANSACTION"
	loopRows = "SELECT into a FOR loop"
)

func sqlCases() []sqlCase {
	return []sqlCase{
		{oneRow, "statements", 1_000, 20, `
			SET ?sum AS 0
			FOR ?i FROM 1 TO 1000 DO
				SELECT id, name, total FROM items WHERE id = ?i SET ROW ?row
				SET ?sum AS ?sum + ?row.total
			END
			EMIT ?sum`, (*driverDatabase).oneRow, (*bareDatabase).oneRow},
		{inserts, "rows", 1_000, 10, `
			TRANSACTION
				FOR ?i FROM 1 TO 1000 DO
					INSERT INTO added (name, total) VALUES (?text, ?i);
				END
			END
			DELETE FROM added SET ?gone
			EMIT ?gone.changes`, (*driverDatabase).insert, (*bareDatabase).insert},
		{loopRows, "rows", sqlRows, 10, `
			SELECT id, name, total FROM items SET ?rows
			SET ?sum AS 0
			FOR ?row IN ?rows DO
				SET ?sum AS ?sum + ?row.total
			END
			EMIT ?sum`, (*driverDatabase).loop, (*bareDatabase).loop},
	}
}

// measureSQL measures SQL of scripts, in this process, beside prepared statements
// of the library's driver and of the binding, each on a database of the same
// settings.
func measureSQL(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
	folder, err := os.MkdirTemp("", "ql-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	own := databases.New(databases.Options{Folder: folder})
	defer func() { err = errors.Join(err, own.Close()) }()
	if err := fillOwn(ctx, own); err != nil {
		return err
	}
	bare, err := openBare(ctx, filepath.Join(folder, "bare"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bare.close()) }()

	driver, err := openDriver(ctx, filepath.Join(folder, "driver"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, driver.close()) }()

	fmt.Fprint(stdout, "SQL, medians of the rounds; × is the script by the other in the same round\n\n")
	fmt.Fprint(stdout, "| what | counted | script | driver | × driver | bare binding | × binding |\n|---|---|---:|---:|---:|---:|---:|\n")
	for _, c := range sqlCases() {
		fmt.Fprintln(stderr, c.name)
		if o.quick {
			c.repeat = 1
		}
		script, others, binding, err := c.measure(ctx, o.rounds, own, driver, bare)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Fprintf(stdout, "| %s | %s/s | %.0f | %.0f | %.2f | %.0f | %.2f |\n", c.name, c.unit, load.Median(script),
			load.Median(others), load.Ratio(script, others), load.Median(binding), load.Ratio(script, binding))
	}
	return nil
}

// measure returns how many were done a second in each round, by the script, by the
// driver and by the bare binding, in turns.
func (c *sqlCase) measure(ctx context.Context, rounds int, own *databases.Databases, driver *driverDatabase, bare *bareDatabase) (script, others, binding []float64, err error) {
	program, err := lang.Compile("SET ?text AS 'a name of some length'\n"+c.script, lang.Options{})
	if err != nil {
		return nil, nil, nil, err
	}
	ways := []func() (string, error){
		func() (string, error) { return runScript(ctx, program, own) },
		func() (string, error) { return c.driver(driver, ctx) },
		func() (string, error) { return c.bare(bare, ctx) },
	}
	said := make([]string, len(ways))
	rates := make([][]float64, len(ways))
	for round := range rounds + 1 { // the first one warms up
		for turn := range ways {
			i := (turn + round) % len(ways)
			began := time.Now()
			for range c.repeat {
				if said[i], err = ways[i](); err != nil {
					return nil, nil, nil, err
				}
			}
			if round > 0 {
				rates[i] = append(rates[i], float64(c.count*c.repeat)/time.Since(began).Seconds())
			}
		}
		if said[0] != said[1] || said[0] != said[2] {
			return nil, nil, nil, fmt.Errorf("the script gave %q, the driver %q and the binding %q", said[0], said[1], said[2])
		}
	}
	return rates[0], rates[1], rates[2], nil
}

// runScript runs a program from a new machine to its end.
func runScript(ctx context.Context, program *bytecode.Program, own *databases.Databases) (string, error) {
	machine := vm.New(program, account.Unlimited.Limits().SyncMachine(), vm.Input{})
	defer machine.Release()
	out, err := engine.New(machine, engine.Options{Resources: engine.Resources{Databases: own}}, engine.State{}).Continue(ctx)
	switch {
	case err != nil:
		return "", err
	case out.Status != engine.Done:
		return "", fmt.Errorf("the script did not end well: %w", out.Err)
	}
	return string(machine.Output()), nil
}

// What the databases are made of, and asked.
const (
	selectOne = "SELECT id, name, total FROM items WHERE id = ?"
	selectAll = "SELECT id, name, total FROM items"
	insertOne = "INSERT INTO added (name, total) VALUES (?, ?)"
	deleteAll = "DELETE FROM added"
)

var sqlSetup = []string{
	"CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, total REAL)",
	"CREATE TABLE added (id INTEGER PRIMARY KEY, name TEXT, total REAL)",
	fmt.Sprintf("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT %d) INSERT INTO items SELECT x, 'the name of item ' || x, x * 0.5 FROM c", sqlRows),
}

func fillOwn(ctx context.Context, own *databases.Databases) error {
	_, err := transfer.ImportSQL(ctx, own, "main", strings.NewReader(strings.Join(sqlSetup, ";\n")))
	return err
}

// bareDatabase is the binding alone, with the settings that an account's
// database has.
type bareDatabase struct {
	conn                 *sqlite.Conn
	one, all, add, clear *sqlite.Stmt
}

func openBare(ctx context.Context, path string) (_ *bareDatabase, err error) {
	b := &bareDatabase{}
	if b.conn, err = sqlite.Open(path, sqlite.Config{Create: true, Temporary: 1 << 30}); err != nil {
		return nil, err
	}
	settings := []string{"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA cache_size=-4000"}
	for _, sql := range append(settings, sqlSetup...) {
		if err := b.conn.Exec(ctx, sql); err != nil {
			return nil, errors.Join(err, b.conn.Close())
		}
	}
	for sql, s := range map[string]**sqlite.Stmt{selectOne: &b.one, selectAll: &b.all, insertOne: &b.add, deleteAll: &b.clear} {
		if *s, _, err = b.conn.Prepare(ctx, sql); err != nil {
			return nil, errors.Join(err, b.close())
		}
	}
	return b, nil
}

func (b *bareDatabase) close() error {
	for _, s := range []*sqlite.Stmt{b.one, b.all, b.add, b.clear} {
		if s != nil {
			s.Close()
		}
	}
	return b.conn.Close()
}

// item is a row as a program in Go would have it.
type item struct {
	id    int64
	name  string
	total float64
}

func read(s *sqlite.Stmt) item { return item{s.Int(0), string(s.Text(1)), s.Float(2)} }

func (b *bareDatabase) oneRow(ctx context.Context) (string, error) {
	sum := 0.0
	for i := range int64(1_000) {
		if err := b.one.BindInt(1, i+1); err != nil {
			return "", err
		}
		if _, err := b.one.Step(ctx); err != nil {
			return "", err
		}
		row := read(b.one)
		b.one.Reset()
		sum += row.total
	}
	return fmt.Sprint(sum), nil
}

func (b *bareDatabase) insert(ctx context.Context) (string, error) {
	if err := b.conn.Exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return "", err
	}
	for i := range int64(1_000) {
		err := errors.Join(b.add.BindText(1, "a name of some length"), b.add.BindInt(2, i+1))
		if err == nil {
			_, err = b.add.Step(ctx)
		}
		b.add.Reset()
		if err != nil {
			return "", err
		}
	}
	if err := b.conn.Exec(ctx, "COMMIT"); err != nil {
		return "", err
	}
	if _, err := b.clear.Step(ctx); err != nil {
		return "", err
	}
	b.clear.Reset()
	return fmt.Sprint(b.conn.Changes()), nil
}

func (b *bareDatabase) loop(ctx context.Context) (string, error) {
	defer b.all.Reset()
	var rows []item
	for {
		more, err := b.all.Step(ctx)
		if err != nil {
			return "", err
		}
		if !more {
			break
		}
		rows = append(rows, read(b.all))
	}
	return sumOf(rows), nil
}

func sumOf(rows []item) string {
	sum := 0.0
	for _, row := range rows {
		sum += row.total
	}
	return fmt.Sprintf("%.0f", sum)
}
