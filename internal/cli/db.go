package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ql/internal/fault"
	"ql/internal/operator"
	"ql/internal/resource/databases"
	"ql/internal/resource/databases/transfer"
	"ql/lang/value"
)

// dbCommand is ql db. Its commands work on the data folder, while a server runs
// or not.
type dbCommand struct {
	remoteSettings

	List   dbList   `cmd:"" help:"List an account's databases."`
	Create dbCreate `cmd:"" help:"Make a database without anything in it; scripts make theirs on first use."`
	Size   dbSize   `cmd:"" help:"Say how large a database is."`
	Drop   dbDrop   `cmd:"" help:"Remove a database with all that is in it."`
	Export dbExport `cmd:"" help:"Write a database as SQL, or a table of it as CSV."`
	Import dbImport `cmd:"" help:"Run SQL on a database, or add CSV to a table of it."`
}

func newDBCommand() dbCommand {
	return dbCommand{remoteSettings: newRemoteSettings("data", "database", "database-direct", "blobs", "master-key-file")}
}

// use opens the databases of an account for one command.
func (k *dbCommand) use(c *console, name string, do func(*operator.Operator, *databases.Databases) error) error {
	return k.with(c, false, func(o *operator.Operator) (err error) {
		all, err := o.Databases(c.ctx, name)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, all.Close()) }()
		return told(do(o, all))
	})
}

// told makes the error of a database, which is one for scripts, one for commands.
func told(err error) error {
	var known *value.Error
	if errors.As(err, &known) {
		return fault.New(fault.Code(known.Code), "%s", known.Message)
	}
	return err
}

type dbList struct{ who }

type databaseJSON struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Run implements the command.
func (k *dbList) Run(c *console, line *commands) error {
	if line.DB.Server != "" {
		return k.remote(c, &line.DB.remoteSettings)
	}
	return line.DB.use(c, k.Account, func(_ *operator.Operator, all *databases.Databases) error {
		found, err := all.List(c.ctx)
		if err != nil {
			return err
		}
		list := []databaseJSON{}
		for _, d := range found {
			list = append(list, databaseJSON(d))
		}
		c.showDatabases(list)
		return nil
	})
}

func (c *console) showDatabases(list []databaseJSON) {
	if c.json {
		c.print(struct {
			Databases []databaseJSON `json:"databases"`
		}{list})
		return
	}
	c.table(func(row func(...any)) {
		row("NAME", "SIZE")
		for _, d := range list {
			row(d.Name, bytesText(d.Bytes))
		}
	})
}

// theDatabase is the database that a command is about.
type theDatabase struct {
	who
	Name string `arg:"" help:"The database's name; that of scripts that name none is main."`
}

type dbSize struct{ theDatabase }

// Run implements the command.
func (k *dbSize) Run(c *console, line *commands) error {
	if line.DB.Server != "" {
		return k.remote(c, &line.DB.remoteSettings)
	}
	return line.DB.use(c, k.Account, func(_ *operator.Operator, all *databases.Databases) error {
		n, err := all.Size(c.ctx, k.Name)
		if err == nil {
			c.showSize(databaseJSON{k.Name, n})
		}
		return err
	})
}

func (c *console) showSize(d databaseJSON) {
	if c.json {
		c.print(d)
		return
	}
	fmt.Fprintf(c.out, "%d\n", d.Bytes)
}

type dbCreate struct{ theDatabase }

// Run implements the command.
func (k *dbCreate) Run(c *console, line *commands) error {
	if line.DB.Server != "" {
		return k.remote(c, &line.DB.remoteSettings)
	}
	return line.DB.use(c, k.Account, func(_ *operator.Operator, all *databases.Databases) error {
		if err := all.Create(c.ctx, k.Name); err != nil {
			return err
		}
		c.saidCreated(k.Account, k.Name)
		return nil
	})
}

func (c *console) saidCreated(account, database string) {
	c.said("%s has a database %s now", account, database)
}

type dbDrop struct{ theDatabase }

// Run implements the command.
func (k *dbDrop) Run(c *console, line *commands) error {
	if line.DB.Server != "" {
		return k.remote(c, &line.DB.remoteSettings)
	}
	return line.DB.with(c, false, func(o *operator.Operator) error {
		gone, err := o.DropDatabase(c.ctx, k.Account, k.Name)
		if err != nil {
			return told(err)
		}
		c.showDropped(k.Account, k.Name, gone)
		return nil
	})
}

func (c *console) showDropped(account, database string, gone bool) {
	switch {
	case c.json:
		left := "removed"
		if !gone {
			left = "emptied"
		}
		c.print(map[string]any{"status": "ok", "result": left})
	case gone:
		c.said("%s has no database %s any more", account, database)
	default:
		c.said("the database %s of %s is empty; its file stays while a server runs", database, account)
	}
}

type dbExport struct {
	theDatabase
	File  string `arg:"" optional:"" default:"-" help:"Where to: a file that is not there yet, ending in .sql or .csv, or - for standard output."`
	Table string `placeholder:"TABLE" help:"Only the rows of this table or view, as CSV."`
}

// Run implements the command.
func (k *dbExport) Run(c *console, line *commands) (err error) {
	if err := k.check(); err != nil {
		return err
	}
	if line.DB.Server != "" {
		return k.remote(c, &line.DB.remoteSettings)
	}
	return line.DB.use(c, k.Account, func(o *operator.Operator, all *databases.Databases) (err error) {
		if _, err := all.Size(c.ctx, k.Name); err != nil {
			return err
		}
		if err := o.LogExport(c.ctx, k.Account, "database "+k.Name); err != nil {
			return err
		}
		return k.save(c, func(to io.Writer) error { return k.write(c, all, to) })
	})
}

// save writes the export where it is to go.
func (k *dbExport) save(c *console, write func(io.Writer) error) error {
	if k.File == "-" {
		return write(c.out)
	}
	f, err := os.OpenFile(k.File, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return usage("%s", plainError(err))
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	c.said("%s is written", k.File)
	return nil
}

func (k *dbExport) check() error {
	csv := strings.HasSuffix(k.File, ".csv")
	switch {
	case k.File == "-":
	case !csv && !strings.HasSuffix(k.File, ".sql"):
		return usage("%s: a database is written to a file that ends in .sql, a table of it to one that ends in .csv", k.File)
	case csv && k.Table == "":
		return usage("a .csv file holds one table: name it by --table")
	case !csv && k.Table != "":
		return usage("--table: a table is written to a file that ends in .csv")
	}
	return nil
}

func (k *dbExport) write(c *console, all *databases.Databases, to io.Writer) error {
	if k.Table == "" {
		return transfer.ExportSQL(c.ctx, all, k.Name, to)
	}
	_, err := transfer.ExportCSV(c.ctx, all, k.Name, k.Table, to)
	return err
}

type dbImport struct {
	theDatabase
	File  string `arg:"" help:"A file that ends in .sql or .csv, or - for SQL (with --table, CSV) on standard input."`
	Table string `placeholder:"TABLE" help:"The table that a .csv file is added to; its first row names the columns."`
}

// Run implements the command.
func (k *dbImport) Run(c *console, line *commands) error {
	csv := strings.HasSuffix(k.File, ".csv")
	switch {
	case k.File == "-":
		csv = k.Table != ""
	case slices.Contains([]string{".db", ".sqlite", ".sqlite3"}, filepath.Ext(k.File)):
		return usage("%s: a SQLite file is not taken: dump it first (sqlite3 FILE .dump > x.sql)", k.File)
	case !csv && !strings.HasSuffix(k.File, ".sql"):
		return usage("%s: a file of SQL ends in .sql, one of rows in .csv", k.File)
	case csv && k.Table == "":
		return usage("a .csv file is added to a table: name it by --table")
	case !csv && k.Table != "":
		return usage("--table: a file of SQL names its tables itself")
	}
	var from io.Reader = c.in
	if k.File != "-" {
		f, err := os.Open(k.File)
		if err != nil {
			return usage("%s", plainError(err))
		}
		defer func() { _ = f.Close() }() // only read
		from = f
	}
	if line.DB.Server != "" {
		return k.remote(c, &line.DB.remoteSettings, from)
	}
	return line.DB.use(c, k.Account, func(_ *operator.Operator, all *databases.Databases) error {
		run := func() (int64, error) { return transfer.ImportSQL(c.ctx, all, k.Name, from) }
		if csv {
			run = func() (int64, error) { return transfer.ImportCSV(c.ctx, all, k.Name, k.Table, from) }
		}
		n, err := run()
		if err == nil {
			c.showImported(csv, n)
		}
		return err
	})
}

// showImported says how many rows or statements were imported.
func (c *console) showImported(csv bool, n int64) {
	what := "statement"
	if csv {
		what = "row"
	}
	switch {
	case c.json:
		c.print(map[string]any{"status": "ok", what + "s": n})
	case n == 1:
		fmt.Fprintf(c.out, "1 %s, which is kept\n", what)
	default:
		fmt.Fprintf(c.out, "%d %ss, all of them kept\n", n, what)
	}
}
