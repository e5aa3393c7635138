package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/metrics"
	"runtime/pprof"
	"strings"
	"syscall"
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

	timed := ""
	if o.processor {
		timed = " by processor time"
	}
	fmt.Fprintf(stdout, "SQL%s, medians of the rounds; × is the script by the other in the same round\n\n", timed)
	fmt.Fprint(stdout, "| what | counted | script | driver | × driver | bare binding | × binding | allocations each |\n|---|---|---:|---:|---:|---:|---:|---:|\n")
	if o.load.Profiles != "" {
		stop, failed := profileSQL(o.load.Profiles)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	for _, c := range sqlCases() {
		if !strings.Contains(c.name, o.what) {
			continue
		}
		fmt.Fprintln(stderr, c.name)
		if o.quick {
			c.repeat = 1
		}
		m, err := c.measure(ctx, o, own, driver, bare)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		script, others, binding := m.rates[0], m.rates[1], m.rates[2]
		fmt.Fprintf(stdout, "| %s | %s/s | %.0f | %.0f | %.2f | %.0f | %.2f | %.1f |\n", c.name, c.unit, load.Median(script),
			load.Median(others), load.Ratio(script, others), load.Median(binding), load.Ratio(script, binding), m.allocations)
	}
	return nil
}

// profileSQL starts a profile of this process, in which the ways (script, driver, binding) and what they do are labels.
func profileSQL(folder string) (stop func() error, err error) {
	f, err := os.Create(filepath.Join(folder, "sql.pprof"))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error { pprof.StopCPUProfile(); return f.Close() }, nil
}

// sqlFigures are how many were done a second in each round, by each way, and what the script
// allocated for each of them.
type sqlFigures struct {
	rates       [3][]float64
	allocations float64
}

// measure measures the script, the driver and the bare binding, in turns.
func (c *sqlCase) measure(ctx context.Context, o options, own *databases.Databases, driver *driverDatabase, bare *bareDatabase) (sqlFigures, error) {
	var m sqlFigures
	program, err := lang.Compile("SET ?text AS 'a name of some length'\n"+c.script, lang.Options{})
	if err != nil {
		return m, err
	}
	ways := [3]struct {
		name string
		run  func() (string, error)
	}{
		{"script", func() (string, error) { return runScript(ctx, program, own) }},
		{"driver", func() (string, error) { return c.driver(driver, ctx) }},
		{"binding", func() (string, error) { return c.bare(bare, ctx) }},
	}
	var said [3]string
	for round := range o.rounds + 1 { // the first one warms up
		var took [3]time.Duration
		var allocated uint64
		for repeat := range c.repeat { // single runs in turns: what else the machine does meets all alike
			for turn := range ways {
				i := (turn + repeat + round) % len(ways)
				before, began := allocations(), clock(o.processor)
				pprof.Do(ctx, pprof.Labels("way", ways[i].name, "what", c.name), func(context.Context) { said[i], err = ways[i].run() })
				if err != nil {
					return m, err
				}
				took[i] += clock(o.processor) - began
				if i == 0 {
					allocated += allocations() - before
				}
			}
		}
		count := float64(c.count * c.repeat)
		for i := range ways {
			if round > 0 {
				m.rates[i] = append(m.rates[i], count/took[i].Seconds())
			}
		}
		m.allocations = float64(allocated) / count
		if said[0] != said[1] || said[0] != said[2] {
			return m, fmt.Errorf("the script gave %q, the driver %q and the binding %q", said[0], said[1], said[2])
		}
	}
	return m, nil
}

// clock returns the time, or what this process has taken of the processors.
func clock(processor bool) time.Duration {
	if !processor {
		return time.Since(started)
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var started = time.Now()

func allocations() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
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

// sqlSettings are those of an account's database, in the order in which they are made: a log that is cut off when it
// begins anew has to grow again each time.
var sqlSettings = []struct{ name, value string }{
	{"auto_vacuum", "INCREMENTAL"}, {"journal_mode", "WAL"}, {"synchronous", "FULL"}, {"journal_size_limit", "1048576"},
	{"cache_size", "-4000"}, {"cell_size_check", "ON"}, {"foreign_keys", "ON"},
}

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
	var settings []string
	for _, setting := range sqlSettings {
		settings = append(settings, "PRAGMA "+setting.name+"="+setting.value)
	}
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
