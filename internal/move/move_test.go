package move

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ql/internal/resource/files"
	"ql/internal/sqlite"
	"ql/internal/store/blob/dir"
	"ql/internal/store/postgres"
	"ql/internal/store/postgres/pgtest"
	store "ql/internal/store/sqlite"
	"ql/internal/store/sqlite/sqlitetest"
	"ql/internal/store/tables"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is a store with blobs and databases, for a test.
type place struct {
	folder string // with all but what is in a database
	url    string // "" for SQLite
}

func newFolder(t testing.TB) place { return place{folder: sqlitetest.Folder(t)} }

func newDatabase(t testing.TB) place {
	return place{folder: t.TempDir(), url: pgtest.Start(t).Empty(t)}
}

// open opens a side of a move.
func (p place) open(t testing.TB) (Side, func()) {
	t.Helper()
	ctx := context.Background()
	var s interface {
		Tables(context.Context) (tables.Access, error)
		Close() error
	}
	var err error
	if p.url == "" {
		s, err = store.Open(ctx, store.Options{Folder: p.folder, Own: true})
	} else {
		s, err = postgres.Open(ctx, postgres.Options{URL: p.url, Migrate: true})
	}
	must(t, err)
	a, err := s.Tables(ctx)
	must(t, err)
	blobs, err := dir.OpenBlobs(filepath.Join(p.folder, store.BlobFolder))
	must(t, err)
	name := p.folder
	if p.url != "" {
		name = "a database"
	}
	return Side{Tables: a, Blobs: blobs, Databases: Folder(filepath.Join(p.folder, store.AccountFolder)), Name: name}, func() {
		t.Helper()
		must(t, errors.Join(a.Close(), blobs.Close(), s.Close()))
	}
}

// use opens a side for a moment.
func (p place) use(t testing.TB, f func(Side)) {
	t.Helper()
	s, end := p.open(t)
	defer end()
	f(s)
}

// moveTo moves all, with what may change the sides.
func moveTo(t testing.TB, from, to place, change func(*Options)) (Counts, error) {
	t.Helper()
	source, endSource := from.open(t)
	defer endSource()
	target, endTarget := to.open(t)
	defer endTarget()
	o := Options{From: source, To: target, Back: "--from there", Scratch: t.TempDir(), Room: Room{Free: 1 << 40}}
	if change != nil {
		change(&o)
	}
	return Run(t.Context(), o)
}

// rowsEach is how many rows a table gets, but those that have one.
const rowsEach = 3

// fill gives every table rows, whatever they mean, blobs that these refer to, and databases.
func fill(t testing.TB, p place) {
	t.Helper()
	p.use(t, func(s Side) {
		ctx := t.Context()
		list, err := newPlan(s.Tables.Tables(), s.Tables.Tables())
		must(t, err)
		for _, one := range list {
			if one.to.Name == "id_key" {
				continue // which the store has made
			}
			optional := map[string]bool{}
			must(t, s.Tables.Select(ctx, `SELECT name FROM pragma_table_xinfo(?) WHERE "notnull" = 0 AND pk = 0`, []any{one.to.Name}, []tables.Kind{tables.Text}, func(row []tables.Value) error {
				optional[string(row[0].Bytes)] = true
				return nil
			}))
			n := rowsEach
			if _, single := one.to.Column("one"); single {
				n = 1
			}
			if made[one.to.Name] {
				_, err := s.Tables.Exec(ctx, "DELETE FROM "+one.to.Name)
				must(t, err)
			}
			var rows [][]tables.Value
			for i := range n {
				rows = append(rows, testRow(t, s, one.to.Name, one.write, optional, i))
			}
			must(t, s.Tables.Do(ctx, func() error { return s.Tables.Insert(ctx, one.to, one.write, rows) }))
		}
		for _, d := range []Database{{1, "shop"}, {1, "log"}, {3, "shop"}} {
			makeDatabase(t, s.Databases.(Folder).path(d), fmt.Sprint(d))
		}
	})
}

// testRow makes a row whose numbers are all the same, so that it refers to the rows with that number.
func testRow(t testing.TB, s Side, table string, columns []tables.Column, optional map[string]bool, i int) (row []tables.Value) {
	var chunk files.Chunk
	if slices.Contains(chunkTables, table) {
		c, release, err := s.Blobs.Store([]byte(fmt.Sprintf("content %d", i%2)))
		must(t, err)
		release()
		chunk = c
	}
	for _, c := range columns {
		var v tables.Value
		switch {
		case chunk.Size > 0 && c.Name == "hash":
			v.Bytes = chunk.Hash[:]
		case chunk.Size > 0 && c.Name == "size":
			v.Int = chunk.Size
		case c.Name == "show_effects": // which has a condition, as has the next
			v.Int = 1
		case c.Name == "limits":
			v.Bytes = []byte("{}")
		case optional[c.Name] && i == 1:
			v.Null = true
		case c.Kind == tables.Int:
			v.Int = int64(i + 1)
		case c.Kind == tables.Text && i == 2:
			v.Bytes = []byte(fmt.Sprintf("%s %d ä\"'\\\u2028\U0001F600", c.Name, i))
		case c.Kind == tables.Text:
			v.Bytes = []byte(fmt.Sprintf("%s %d", c.Name, i))
		case i == 2 && c.Name != "hash" && optional[c.Name]:
			v.Bytes = []byte{}
		default:
			v.Bytes = []byte(fmt.Sprintf("%s \x00\xff %d", c.Name, i))
		}
		row = append(row, v)
	}
	return row
}

func makeDatabase(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	c, err := sqlite.Open(path, sqlite.Config{Create: true})
	must(t, err)
	for _, sql := range []string{"PRAGMA journal_mode=WAL", "CREATE TABLE t (a TEXT)", "INSERT INTO t VALUES ('" + text + "')"} {
		must(t, c.Exec(t.Context(), sql))
	}
	must(t, c.Close())
}

// sums are those of all that a place has: of rows by table, of blobs and of databases.
func sums(t testing.TB, p place) map[string]reached {
	t.Helper()
	all := map[string]reached{}
	p.use(t, func(s Side) {
		ctx := t.Context()
		list, err := newPlan(s.Tables.Tables(), s.Tables.Tables())
		must(t, err)
		for _, one := range list {
			columns := slices.DeleteFunc(slices.Clone(one.write), func(c tables.Column) bool { return c.Name == "error_code" }) // which SQLite computes
			compared := make([]bool, len(columns))
			for i := range compared {
				compared[i] = true
			}
			var r reached
			must(t, s.Tables.Rows(ctx, one.to, columns, func(row []tables.Value) error {
				r.hash.add(row, columns, compared, nil)
				r.rows++
				return nil
			}))
			all[one.to.Name] = r
		}
		m := &mover{Options: Options{From: s, Scratch: t.TempDir()}}
		must(t, m.eachBlob(ctx, sum{}, func(list []files.Chunk) error {
			for _, c := range list {
				content, err := s.Blobs.Load(c)
				must(t, err)
				all[fmt.Sprintf("blob %x", c.Hash)] = reached{int64(len(content)), sha256.Sum256(content)}
			}
			return nil
		}))
		must(t, s.Databases.List(ctx, func(d Database) error {
			return m.withSnapshot(ctx, &s, d, func(_ string, r reached) error {
				all[d.progress()] = r
				return nil
			})
		}))
	})
	return all
}

func requireSame(t testing.TB, got, want map[string]reached) {
	t.Helper()
	for name, r := range want {
		if got[name] != r {
			t.Errorf("%s: %d rows or bytes in place of %d, or others", name, got[name].rows, r.rows)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d things in place of %d", len(got), len(want))
	}
}

// TestThereAndBack moves rows of every table from SQLite to PostgreSQL and back.
func TestThereAndBack(t *testing.T) {
	first, middle, last := newFolder(t), newDatabase(t), newFolder(t)
	fill(t, first)
	want := sums(t, first)
	for name, r := range want {
		if r.rows == 0 {
			t.Errorf("%s is not tested: it is empty", name)
		}
	}
	// The last number was given to a row that is gone.
	first.use(t, func(s Side) {
		_, err := s.Tables.Exec(t.Context(), "UPDATE sqlite_sequence SET seq = 700 WHERE name = 'accounts'")
		must(t, err)
	})
	counts, err := moveTo(t, first, middle, nil)
	must(t, err)
	if counts.Databases != 3 || counts.Blobs != 2 || counts.Rows == 0 || counts.Replaced != 0 || counts.Resumed {
		t.Errorf("counts: %+v", counts)
	}
	requireSame(t, sums(t, middle), want)
	_, err = moveTo(t, middle, last, nil)
	must(t, err)
	requireSame(t, sums(t, last), want)
	last.use(t, func(s Side) {
		list := s.Tables.Tables()
		at := slices.IndexFunc(list, func(one tables.Table) bool { return one.Name == "accounts" })
		if next, err := s.Tables.Next(t.Context(), &list[at]); err != nil || next != 701 {
			t.Errorf("the next account is %d, %v", next, err)
		}
	})
	// Rows that are added get numbers that nobody has.
	middle2 := newDatabase(t)
	_, err = moveTo(t, last, middle2, nil)
	must(t, err)
	middle2.use(t, func(s Side) {
		_, err := s.Tables.Exec(t.Context(), "INSERT INTO domains (account, scheme, host, port, reversed, published_only, added) VALUES (1, 'https', 'new.example', 0, 'elpmaxe.wen', 0, 0)")
		must(t, err)
	})
}

// TestEveryTableIsKnown: each table is moved, or known to belong to one place; and the tables of blobs are those that
// have chunks.
func TestEveryTableIsKnown(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range []place{newFolder(t), newDatabase(t)} {
		p.use(t, func(s Side) {
			for _, one := range s.Tables.Tables() {
				seen[one.Name] = true
				if len(one.Key) == 0 {
					t.Errorf("table %s has no key: its rows have no order", one.Name)
				}
				if strings.HasSuffix(one.Name, "_chunks") && !own[one.Name] && !slices.Contains(chunkTables, one.Name) {
					t.Errorf("the blobs of %s are not moved", one.Name)
				}
			}
		})
	}
	for name := range own {
		if !seen[name] {
			t.Errorf("there is no table %s", name)
		}
	}
}
