package postgres

import (
	"errors"
	"strings"
	"testing"

	"ql/internal/member"
	"ql/internal/store/migrate"
	"ql/internal/store/postgres/pgtest"
	"ql/internal/store/relational"
)

// laterSchema is that of a version which adds a column, and removes what the versions before need.
func laterSchema(t *testing.T) *schema {
	t.Helper()
	later, err := loadSchema()
	if err != nil {
		t.Fatal(err)
	}
	number := len(later.steps) + 1
	later.steps = append(later.steps, migrate.Step{Number: number, Name: "later", SQL: "ALTER TABLE jobs ADD COLUMN later BIGINT NOT NULL DEFAULT 0;\nCREATE TABLE before (n BIGINT);\n"})
	later.contracts = append(later.contracts, contract{needs: number, statements: []string{"DROP TABLE IF EXISTS before"}})
	return later
}

// TestUpgrade has members of two versions on one database: the earlier one joins and works while nothing was removed that it
// needs; that waits until none of its version is left; and from then on it is refused.
func TestUpgrade(t *testing.T) {
	url, ctx := pgtest.Start(t).Empty(t), t.Context()
	open := func(known *schema) (*Store, error) {
		return Open(ctx, Options{URL: url, Migrate: true, Readers: 1, schema: known})
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	join := func(s *Store, node int64) (member.Member, error) {
		m, _, err := s.Aggregate().Members.Join(ctx, member.Node{ID: node})
		return m, err
	}
	has := func(s *Store) (there bool) {
		t.Helper()
		c, err := connect(ctx, s.config)
		must(err)
		must(c.Query(ctx, "SELECT 1 FROM pg_tables WHERE tablename = 'before'", nil, func(relational.Row) bool { there = true; return false }))
		must(c.close())
		return there
	}
	before, err := open(nil)
	must(err)
	defer func() { must(before.Close()) }()
	old, err := join(before, 1)
	must(err)
	later := laterSchema(t)
	after, err := open(later)
	must(err)
	defer func() { must(after.Close()) }()
	_, err = join(after, 2)
	must(err)

	must(after.FinishUpgrade(ctx))
	if !has(after) {
		t.Fatal("what a member needs is removed")
	}
	again, err := open(nil) // one more of the version before, as after a crash
	must(err)
	_, err = join(again, 3)
	must(err)
	must(before.Aggregate().Members.Leave(ctx, old))
	must(after.FinishUpgrade(ctx))
	if !has(after) {
		t.Fatal("what another member needs is removed")
	}
	list, err := after.Aggregate().Members.List(ctx)
	must(err)
	if len(list) != 2 || list[0].Knows != len(later.steps) || list[1].Knows != len(later.steps)-1 {
		t.Errorf("the members are %+v", list)
	}
	must(again.Aggregate().Members.Leave(ctx, list[1].Member))
	must(again.Close())

	must(after.FinishUpgrade(ctx))
	if has(after) {
		t.Error("what nobody needs is there still")
	}
	must(after.FinishUpgrade(ctx))
	if _, err := join(before, 1); !errors.Is(err, member.ErrOldProgram) {
		t.Errorf("a program that knows too little joins: %v", err)
	}
	if _, err := open(nil); err == nil || !strings.Contains(err.Error(), "needs a newer version of this program") {
		t.Errorf("a program that knows too little opens the store: %v", err)
	}
	third, err := open(later)
	must(err)
	_, err = join(third, 3)
	must(errors.Join(err, third.Close()))
}

// TestMakingIsCutOff: who makes the tables goes on wherever another one was cut off.
func TestMakingIsCutOff(t *testing.T) {
	for name, left := range map[string]string{
		"before its progress has a row": makeProgress,
		"before the first table":        makeProgress + "; " + startAt,
	} {
		t.Run(name, func(t *testing.T) {
			url, ctx := pgtest.Start(t).Empty(t), t.Context()
			config, err := parse(url)
			if err != nil {
				t.Fatal(err)
			}
			c, err := connect(ctx, config)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(c.run(ctx, left), c.close()); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second finds all as it should be
				s, err := Open(ctx, Options{URL: url, Migrate: true, Readers: 1})
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestMakingBeginsAtOnce: those who find an empty database at the same time all go on.
func TestMakingBeginsAtOnce(t *testing.T) {
	url, ctx := pgtest.Start(t).Empty(t), t.Context()
	config, err := parse(url)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]*conn, 8)
	for i := range list {
		if list[i], err = connect(ctx, config); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := list[i].close(); err != nil {
				t.Error(err)
			}
		}()
	}
	for range 50 {
		begin, ends := make(chan struct{}), make(chan error)
		for _, c := range list {
			go func() {
				<-begin
				ends <- c.startProgress(ctx)
			}()
		}
		close(begin)
		for range list {
			err = errors.Join(err, <-ends)
		}
		if err = errors.Join(err, list[0].run(ctx, "DROP TABLE ql_schema")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestChangeOfSchemaWaits: who holds a table for long holds up the change of the schema, and nobody else behind it.
func TestChangeOfSchemaWaits(t *testing.T) {
	url, ctx := pgtest.Start(t).Empty(t), t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	before, err := Open(ctx, Options{URL: url, Migrate: true, Readers: 1})
	must(err)
	defer func() { must(before.Close()) }()
	holder, err := connect(ctx, before.config)
	must(err)
	must(holder.run(ctx, "BEGIN; SELECT 1 FROM jobs"))
	watcher, err := connect(ctx, before.config)
	must(err)
	later, opened := laterSchema(t), make(chan error, 1)
	go func() {
		s, err := Open(ctx, Options{URL: url, Migrate: true, Readers: 1, schema: later})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	for waits := false; !waits; {
		must(watcher.Query(ctx, "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'ALTER TABLE jobs%' AND datname = current_database()", nil,
			func(relational.Row) bool { waits = true; return false }))
	}
	if _, err := before.Jobs().RecordBytes(ctx, 1); err != nil { // behind the change, which gives way
		t.Errorf("a reader meanwhile: %v", err)
	}
	must(holder.run(ctx, "COMMIT"))
	must(<-opened)
	must(errors.Join(holder.close(), watcher.close()))
}
