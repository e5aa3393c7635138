package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/jackc/pgx/v5"

	"ql/bench/load"
	"ql/internal/store/blob/s3/s3test"
	"ql/internal/store/postgres/pgtest"
)

// instances are all that runs beside each other.
type instances struct {
	postgres *pgtest.Server
	bucket   *s3test.Server
	folder   string // of the bucket
	bare     *bareStore
	called   *load.Server // a bare store behind HTTP

	sqlite *load.Service
	single *load.Service   // one node on PostgreSQL and S3
	nodes  []*load.Service // three of them, on another database
	beside *load.Service   // one node, whose database has many jobs
}

// What the databases are called.
const (
	bareDatabase   = "bare"
	singleDatabase = "single"
	nodesDatabase  = "nodes"
	besideDatabase = "beside"
)

func startInstances(ctx context.Context, o *options) (_ *instances, err error) {
	in := &instances{}
	defer func() {
		if err != nil {
			err = errors.Join(err, in.stop())
		}
	}()
	if in.postgres, err = pgtest.Run(o.postgres...); err != nil {
		return nil, err
	}
	for _, name := range []string{bareDatabase, singleDatabase, nodesDatabase, besideDatabase} {
		if err := in.postgres.Exec(ctx, "postgres", "CREATE DATABASE "+name); err != nil {
			return nil, err
		}
	}
	if in.bare, err = openBare(ctx, in.postgres.URL(bareDatabase)); err != nil {
		return nil, err
	}
	if err := in.bare.create(ctx); err != nil {
		return nil, err
	}
	if in.called, err = load.Start(ctx, o.load, asBare, "bare", in.postgres.URL(bareDatabase)); err != nil {
		return nil, err
	}
	if in.folder, err = os.MkdirTemp("", "ql-bench-"); err != nil {
		return nil, err
	}
	address, err := load.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	if in.bucket, err = s3test.Run(ctx, address, in.folder); err != nil {
		return nil, err
	}
	return in, in.startServices(ctx, o)
}

// startServices starts those that are measured, all at once: most of it is waiting for the disk.
func (in *instances) startServices(ctx context.Context, o *options) error {
	var group sync.WaitGroup
	var errs [4]error
	if o.wants(partSync, partRead, partTransaction, partRotation) {
		group.Go(func() {
			if in.sqlite, errs[0] = load.StartService(ctx, o.load); errs[0] == nil {
				errs[0] = prepare(ctx, in.sqlite)
			}
		})
	}
	group.Go(func() {
		on := in.on(singleDatabase, o)
		on.Profiles = o.profiles
		if in.single, errs[1] = load.StartService(ctx, on); errs[1] == nil {
			errs[1] = prepare(ctx, in.single)
		}
	})
	if o.wants(partClaims, partStatements, partRotation) {
		group.Go(func() { errs[2] = in.startNodes(ctx, o) })
	}
	if o.wants(partBeside) {
		group.Go(func() { errs[3] = in.startBeside(ctx, o) })
	}
	group.Wait()
	return errors.Join(errs[:]...)
}

func (in *instances) startNodes(ctx context.Context, o *options) error {
	on := in.on(nodesDatabase, o)
	on.Profiles = o.profilesOf("first")
	first, err := load.StartService(ctx, on)
	if err != nil {
		return err
	}
	in.nodes = append(in.nodes, first)
	for _, name := range []string{"second", "third"} {
		node, err := first.Join(ctx, o.profilesOf(name))
		if err != nil {
			return err
		}
		in.nodes = append(in.nodes, node)
	}
	return prepare(ctx, first)
}

// profilesOf is the folder that gets the profile of one of the three nodes, "" for none.
func (o *options) profilesOf(name string) string {
	if o.profiles == "" {
		return ""
	}
	return filepath.Join(o.profiles, name)
}

// on are the options of a node on a database.
func (in *instances) on(database string, o *options) load.Options {
	l := o.load
	l.Environment = append([]string{"QL_DATABASE=" + in.postgres.URL(database), "QL_BLOBS=" + in.bucket.URL(database)}, s3test.Environment()...)
	l.Serve = []string{"--node-listen", "127.0.0.1:0", "--drain-delay", "0"}
	return l
}

func (in *instances) stop() error {
	var errs []error
	for _, s := range append([]*load.Service{in.sqlite, in.single, in.beside}, in.nodes...) {
		if s != nil {
			errs = append(errs, s.Stop())
		}
	}
	if in.called != nil {
		errs = append(errs, in.called.Stop())
	}
	if in.bare != nil {
		errs = append(errs, in.bare.close())
	}
	if in.bucket != nil {
		in.bucket.Stop()
	}
	if in.folder != "" {
		errs = append(errs, os.RemoveAll(in.folder))
	}
	if in.postgres != nil {
		errs = append(errs, in.postgres.Stop())
	}
	return errors.Join(errs...)
}

// prepare makes the tables that scripts use.
func prepare(ctx context.Context, s *load.Service) error {
	return ask(ctx, s, `
		CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL, total REAL NOT NULL);
		CREATE TABLE added (id INTEGER PRIMARY KEY, name TEXT NOT NULL, total REAL NOT NULL);
		TRANSACTION
			FOR ?i FROM 1 TO 10000 DO
				INSERT INTO items (id, name, total) VALUES (?i, 'a name of some length', ?i * 1.5);
			END
		END
		EMIT "made"`, "made")
}

// ask calls a script, which is to give a text.
func ask(ctx context.Context, s *load.Service, script, want string) error {
	return call(ctx, s, script, "sync", "ok", want)
}

// call calls a script in a mode, and checks the answer.
func call(ctx context.Context, s *load.Service, script, mode, status, want string) error {
	c, err := load.Dial(ctx, s.Address)
	if err != nil {
		return err
	}
	defer c.Close()
	body, err := c.Ask(s.Query(script, mode))
	if err != nil {
		return err
	}
	return wantResult(body, status, want)
}

// statements returns how many statements a database was sent so far.
func (in *instances) statements(ctx context.Context, database string) (n float64, err error) {
	err = in.bare.conns[0].QueryRow(ctx, "SELECT coalesce(sum(s.calls), 0)::float8 FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = $1", database).Scan(&n)
	return n, err
}

// forgetStatements has PostgreSQL count from now on: what made the tables is no part of what is measured.
func (in *instances) forgetStatements(ctx context.Context) error {
	_, err := in.bare.conns[0].Exec(ctx, "SELECT pg_stat_statements_reset()")
	return err
}

// writeTop writes the statements of each database that PostgreSQL has spent most of its time on.
func (in *instances) writeTop(ctx context.Context, to io.Writer) error {
	fmt.Fprint(to, "\n| database | calls | ms in all | ms each | statement |\n|---|---:|---:|---:|---|\n")
	for _, database := range []string{singleDatabase, nodesDatabase, besideDatabase, bareDatabase} {
		rows, err := in.bare.conns[0].Query(ctx, `
			SELECT s.calls, s.total_exec_time, left(regexp_replace(s.query, '[\s|]+', ' ', 'g'), 160)
			FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = $1 ORDER BY s.total_exec_time DESC LIMIT 12`, database)
		if err != nil {
			return err
		}
		var calls int64
		var took float64
		var statement string
		if _, err := pgx.ForEachRow(rows, []any{&calls, &took, &statement}, func() error {
			_, err := fmt.Fprintf(to, "| %s | %d | %.1f | %.3f | `%s` |\n", database, calls, took, took/float64(calls), statement)
			return err
		}); err != nil {
			return err
		}
	}
	rows, err := in.bare.conns[0].Query(ctx, "SELECT datname, xact_commit, xact_rollback FROM pg_stat_database WHERE datname = ANY ($1) ORDER BY datname", []string{singleDatabase, nodesDatabase, besideDatabase, bareDatabase})
	if err != nil {
		return err
	}
	var database string
	var committed, rolledBack int64
	_, err = pgx.ForEachRow(rows, []any{&database, &committed, &rolledBack}, func() error {
		_, err := fmt.Fprintf(to, "\nTransactions of %s since it was made: %d committed, %d rolled back\n", database, committed, rolledBack)
		return err
	})
	return err
}

// changeBytes returns how many bytes a change of a database has in the log of the single node: the mean of the last ones.
func (in *instances) changeBytes(ctx context.Context) (n int, err error) {
	conn, err := pgx.Connect(ctx, in.postgres.URL(singleDatabase))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	err = conn.QueryRow(ctx, "SELECT coalesce(avg(octet_length(content)), 0)::bigint FROM (SELECT content FROM shipped_parts WHERE first = last AND content IS NOT NULL ORDER BY seq DESC LIMIT 20) latest").Scan(&n)
	if err == nil && n == 0 {
		err = fmt.Errorf("the log of %s has no change", singleDatabase)
	}
	return n, err
}
