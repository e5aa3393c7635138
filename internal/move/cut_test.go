package move

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"ql/internal/resource/files"
	"ql/internal/store/relational"
	store "ql/internal/store/sqlite"
	"ql/internal/store/tables"
)

var errCut = errors.New("cut off")

// knife cuts a move off at its nth change, after it is made or before.
type knife struct {
	n     int
	after bool
	made  atomic.Int64 // blobs are copied several at a time
}

func (k *knife) cut(do func() error) error {
	made := int(k.made.Add(1))
	if k.n == 0 || made < k.n {
		return do()
	}
	if made == k.n && k.after {
		if err := do(); err != nil {
			return err
		}
	}
	return errCut // as is all that follows
}

// cutTables, cutBlobs and cutDatabases are those of a side until the move is cut off.
type cutTables struct {
	tables.Access
	*knife
}

func (c cutTables) Exec(ctx context.Context, sql string, args ...any) (n int64, err error) {
	err = c.cut(func() (err error) {
		n, err = c.Access.Exec(ctx, sql, args...)
		return err
	})
	return n, err
}

func (c cutTables) Insert(ctx context.Context, t *tables.Table, columns []tables.Column, rows [][]tables.Value) error {
	return c.cut(func() error { return c.Access.Insert(ctx, t, columns, rows) })
}

// Do commits by the knife too: the answer to a commit may be lost.
func (c cutTables) Do(ctx context.Context, f func() error) error {
	if err := c.Access.Do(ctx, f); err != nil {
		return err
	}
	return c.cut(func() error { return nil })
}

func (c cutTables) Commit(ctx context.Context) error {
	return c.cut(func() error { return c.Access.Commit(ctx) })
}

func (c cutTables) SetNext(ctx context.Context, t *tables.Table, next int64) error {
	return c.cut(func() error { return c.Access.SetNext(ctx, t, next) })
}

type cutBlobs struct {
	Blobs
	*knife
}

func (c cutBlobs) Store(content []byte) (chunk files.Chunk, release func(), err error) {
	err = c.cut(func() (err error) {
		chunk, release, err = c.Blobs.Store(content)
		return err
	})
	return chunk, release, err
}

type cutDatabases struct {
	Databases
	*knife
}

func (c cutDatabases) Put(ctx context.Context, d Database, path string) error {
	return c.cut(func() error { return c.Databases.Put(ctx, d, path) })
}

func (c cutDatabases) Clear(ctx context.Context) error {
	return c.cut(func() error { return c.Databases.Clear(ctx) })
}

func (k *knife) hold(o *Options) {
	o.From.Tables = cutTables{o.From.Tables, k}
	o.To = Side{Tables: cutTables{o.To.Tables, k}, Blobs: cutBlobs{o.To.Blobs, k}, Databases: cutDatabases{o.To.Databases, k}, Name: o.To.Name}
}

// serves tells whether a place would.
func (p place) serves(t testing.TB) bool {
	t.Helper()
	serves := false
	p.use(t, func(s Side) {
		list, err := readMoves(t.Context(), s.Tables)
		must(t, err)
		serves = true
		for _, one := range list {
			serves = serves && one.state == filled
		}
	})
	return serves
}

// TestCutOff cuts a move off at its changes, each a few later than the one before, and gives it again until it ends:
// at no point do both sides serve, and in the end all is there.
func TestCutOff(t *testing.T) {
	for name, sides := range map[string]func() (from, to place){
		"to a database": func() (place, place) { return newFolder(t), newDatabase(t) },
		"to a folder":   func() (place, place) { return newFolder(t), newFolder(t) },
	} {
		t.Run(name, func(t *testing.T) {
			from, to := sides()
			fill(t, from)
			want := sums(t, from)
			cuts := 0
			for n := 1; ; n += 3 {
				k := &knife{n: n, after: n%2 == 0}
				_, err := moveTo(t, from, to, k.hold)
				source, target := from.serves(t), to.serves(t)
				if err == nil {
					if source || !target {
						t.Errorf("after the move the source serves: %v, the target: %v", source, target)
					}
					break
				}
				if !errors.Is(err, errCut) {
					t.Fatalf("cut off at change %d: %v", n, err)
				}
				cuts++
				// Before the first change the target is an empty store that would serve, as it would without a move.
				if n > 2 && source && target {
					t.Fatalf("cut off at change %d both sides serve", n)
				}
			}
			if cuts < 10 {
				t.Errorf("it was cut off %d times", cuts)
			}
			requireSame(t, sums(t, to), want)
		})
	}
}

// TestBothMarks cuts a move off between the marks of its two sides: neither serves, and the next brings it to its end
// without copying anything.
func TestBothMarks(t *testing.T) {
	from, to := newFolder(t), newFolder(t)
	fill(t, from)
	want := sums(t, from)
	all := &knife{}
	_, err := moveTo(t, newCopy(t, from), newFolder(t), all.hold)
	must(t, err)
	k := &knife{n: int(all.made.Load()) - 3, after: true} // what follows are three changes in one transaction of the target
	if _, err := moveTo(t, from, to, k.hold); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	if from.serves(t) || to.serves(t) {
		t.Errorf("the source serves: %v, the target: %v", from.serves(t), to.serves(t))
	}
	second := &knife{}
	counts, err := moveTo(t, from, to, second.hold)
	must(t, err)
	if !counts.Before || second.made.Load() > 3 {
		t.Errorf("it went on with %d changes: %+v", second.made.Load(), counts)
	}
	if from.serves(t) || !to.serves(t) {
		t.Errorf("the source serves: %v, the target: %v", from.serves(t), to.serves(t))
	}
	requireSame(t, sums(t, to), want)
}

// newCopy copies a place in a folder.
func newCopy(t testing.TB, p place) place {
	t.Helper()
	c := place{folder: filepath.Join(t.TempDir(), "data")}
	must(t, os.CopyFS(c.folder, os.DirFS(p.folder)))
	return c
}

// TestChangedSource: a source that has served since a move was cut off is moved as it is by then.
func TestChangedSource(t *testing.T) {
	from, to := newFolder(t), newDatabase(t)
	fill(t, from)
	all := &knife{}
	_, err := moveTo(t, newCopy(t, from), newFolder(t), all.hold)
	must(t, err)
	k := &knife{n: int(all.made.Load()) - 4} // when all is copied
	if _, err := moveTo(t, from, to, k.hold); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	from.use(t, func(s Side) {
		for _, sql := range []string{"DELETE FROM accounts WHERE id = 2", "UPDATE jobs SET name = 'another' WHERE seq = 1"} {
			_, err := s.Tables.Exec(t.Context(), sql)
			must(t, err)
		}
		must(t, os.Remove(s.Databases.(Folder).path(Database{1, "log"})))
	})
	want := sums(t, from)
	_, err = moveTo(t, from, to, nil)
	must(t, err)
	requireSame(t, sums(t, to), want)
}

// TestNotVerified: a target that has something else than was copied does not serve.
func TestNotVerified(t *testing.T) {
	from, to := newFolder(t), newFolder(t)
	fill(t, from)
	for want, change := range map[string]func(o *Options){
		"rows of table jobs": func(o *Options) {
			o.Report = onVerifying(func() error {
				_, err := o.To.Tables.Exec(t.Context(), "UPDATE jobs SET steps = 77 WHERE seq = 2")
				return err
			})
		},
		"2 rows in place of 3": func(o *Options) {
			o.Report = onVerifying(func() error {
				_, err := o.To.Tables.Exec(t.Context(), "DELETE FROM usage_days WHERE account = 1")
				return err
			})
		},
		"cannot be read at": func(o *Options) {
			o.Report = onVerifying(func() error { return os.RemoveAll(filepath.Join(to.folder, store.BlobFolder, "")) })
		},
		"is another one": func(o *Options) {
			o.Report = onVerifying(func() error {
				path := o.To.Databases.(Folder).path(Database{3, "shop"})
				must(t, os.Remove(path))
				makeDatabase(t, path, "another")
				return nil
			})
		},
	} {
		to = newFolder(t)
		_, err := moveTo(t, from, to, change)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if to.serves(t) || !from.serves(t) {
			t.Errorf("%s: the target serves: %v, the source: %v", want, to.serves(t), from.serves(t))
		}
	}
}

// onVerifying does something once before anything is verified that could find it.
func onVerifying(do func() error) func(Progress) {
	done := false
	return func(p Progress) {
		if p.Stage == Copying && p.Name == databaseFolder && p.Done && !done {
			done = true
			if err := do(); err != nil {
				panic(err)
			}
		}
	}
}

// TestRefused: what cannot be moved, or not there, is refused before anything is changed.
func TestRefused(t *testing.T) {
	from := newFolder(t)
	fill(t, from)
	refused := func(want string, from, to place, change func(*Options)) {
		t.Helper()
		if _, err := moveTo(t, from, to, change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	refused("is not empty (it has rows in accounts)", from, newCopy(t, from), nil)
	refused("has no room: about 64 MiB are needed, and 1 MiB are free", from, newFolder(t), func(o *Options) { o.Room.Free = 1 << 20 })
	// A database that no account is known to have is in the way too.
	stray := newFolder(t)
	makeDatabase(t, Folder(filepath.Join(stray.folder, store.AccountFolder)).path(Database{9, "stray"}), "x")
	refused("it has the database stray of account 9", from, stray, nil)
	// Half filled from elsewhere.
	half, other := newFolder(t), newFolder(t)
	k := &knife{n: 40}
	refused(errCut.Error(), from, half, k.hold)
	fill(t, other)
	other.use(t, func(s Side) {
		_, err := s.Tables.Exec(t.Context(), "UPDATE id_key SET key = randomblob(16)") // folders of tests have the same
		must(t, err)
	})
	refused("is being filled from another place, "+from.folder, other, half, nil)
	refused("is being filled itself", half, newFolder(t), nil)
	// Damage at the source.
	broken := newCopy(t, from)
	must(t, os.RemoveAll(filepath.Join(broken.folder, store.BlobFolder)))
	refused("cannot be read at "+broken.folder, broken, newFolder(t), nil)
	broken = newCopy(t, from)
	must(t, os.WriteFile(Folder(filepath.Join(broken.folder, store.AccountFolder)).path(Database{1, "shop"}), []byte(strings.Repeat("no database ", 1000)), 0o600))
	refused("the database shop of account 1", broken, newFolder(t), nil)
	if !from.serves(t) {
		t.Error("the source does not serve")
	}
}

// TestReplacedTexts: what a text of PostgreSQL cannot keep is replaced, counted, and no reason to refuse what was copied.
func TestReplacedTexts(t *testing.T) {
	from, to := newFolder(t), newDatabase(t)
	fill(t, from)
	from.use(t, func(s Side) {
		_, err := s.Tables.Exec(t.Context(), "UPDATE jobs SET name = ? WHERE seq = 1", "a\x00b\xff")
		must(t, err)
	})
	counts, err := moveTo(t, from, to, nil)
	must(t, err)
	if counts.Replaced != 1 {
		t.Errorf("%d texts were replaced", counts.Replaced)
	}
	to.use(t, func(s Side) {
		must(t, s.Tables.Select(t.Context(), "SELECT name FROM jobs WHERE seq = 1", nil, []tables.Kind{tables.Text}, func(row []tables.Value) error {
			if string(row[0].Bytes) != "a\uFFFDb\uFFFD" {
				return fmt.Errorf("it is %q", row[0].Bytes)
			}
			return nil
		}))
	})
}

// TestMovedError says what to do.
func TestMovedError(t *testing.T) {
	for state, want := range map[string]string{relational.MoveFilling: "give the same ql move again", relational.MoveLeft: "the way back is ql move --from x"} {
		if err := (&relational.MovedError{State: state, Other: "--from x"}); !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
