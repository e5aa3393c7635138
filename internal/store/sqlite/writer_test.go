package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// openNotes opens a store with a table of notes, to write to.
func openNotes(t *testing.T, o Options) *Store {
	t.Helper()
	s := openTest(t, o)
	err := s.write(t.Context(), func(tx tx) error {
		return tx.conn.script(t.Context(), "CREATE TABLE notes (text TEXT UNIQUE) STRICT")
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func note(text string) func(tx) error {
	return func(t tx) error {
		_, err := t.exec("INSERT INTO notes (text) VALUES (?)", text)
		return err
	}
}

func notes(t *testing.T, s *Store) (list []string) {
	t.Helper()
	err := s.read(t.Context(), func(tx tx) error {
		return tx.each("SELECT text FROM notes ORDER BY rowid", func(r row) { list = append(list, r.text(0)) })
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// hold keeps the writer busy until the returned function is called.
func hold(t *testing.T, s *Store) (release func()) {
	t.Helper()
	begun, end, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- s.write(context.Background(), func(tx) error {
			close(begun)
			<-end
			return nil
		})
	}()
	<-begun
	return func() {
		close(end)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// pending is a write whose outcome is still to come.
type pending chan error

// submit makes writes that wait in the queue, in their order.
func submit(s *Store, ctx context.Context, changes ...func(tx) error) []pending {
	var list []pending
	for _, do := range changes {
		outcome := make(pending, 1)
		before := s.Stats().Waiting
		go func() { outcome <- s.write(ctx, do) }()
		for s.Stats().Waiting == before {
			runtime.Gosched()
		}
		list = append(list, outcome)
	}
	return list
}

func TestWritesShareACommit(t *testing.T) {
	s := openNotes(t, Options{})
	release := hold(t, s)
	var changes []func(tx) error
	var want []string
	for i := range 50 {
		want = append(want, fmt.Sprint(i))
		changes = append(changes, note(fmt.Sprint(i)))
	}
	all := submit(s, t.Context(), changes...)
	before := s.Stats()
	release()
	for _, outcome := range all {
		if err := <-outcome; err != nil {
			t.Error(err)
		}
	}
	after := s.Stats()
	// One is that of the write that held the others.
	if after.Commits-before.Commits != 2 || after.Writes-before.Writes != 51 {
		t.Errorf("%d commits for %d writes", after.Commits-before.Commits, after.Writes-before.Writes)
	}
	if diff := cmp.Diff(want, notes(t, s)); diff != "" {
		t.Error(diff)
	}
}

// TestFailuresInABatch runs writes that fail in every way between others that
// do not.
func TestFailuresInABatch(t *testing.T) {
	errOwn := errors.New("no")
	for name, test := range map[string]struct {
		do   func(tx) error
		want string
	}{
		"its own error": {func(t tx) error {
			return errors.Join(note("lost")(t), errOwn)
		}, "no"},
		"a constraint": {func(t tx) error {
			return errors.Join(note("lost")(t), note("lost")(t))
		}, "UNIQUE constraint failed"},
		"nothing changed": {func(t tx) error {
			_, err := t.exec("UPDATE notes SET text = 'lost' WHERE text = 'absent'")
			return errors.Join(err, errOwn)
		}, "no"},
		"a panic": {func(t tx) error {
			_ = note("lost")(t)
			panic("oops")
		}, "oops"},
		"a statement that is none": {func(t tx) error {
			_ = note("lost")(t)
			_, err := t.exec("SELEC")
			return err
		}, "syntax error"},
		"the end of the transaction": {func(t tx) error {
			_, err := t.exec("ROLLBACK") // as SQLite does itself when the disk is full
			return errors.Join(err, errOwn)
		}, "no"},
		"the end of the transaction, unseen": {func(t tx) error {
			_, err := t.exec("ROLLBACK")
			return err
		}, "ended its transaction"},
		"a commit that fails": {func(t tx) error {
			if _, err := t.exec("PRAGMA defer_foreign_keys = ON"); err != nil {
				return err
			}
			_, err := t.exec("INSERT INTO aliases (canonical, kind, account) VALUES ('x', 'x', 12345)")
			return err
		}, "FOREIGN KEY constraint failed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openNotes(t, Options{})
			alone := s.write(t.Context(), test.do)
			if got := notes(t, s); got != nil || alone == nil || !strings.Contains(alone.Error(), test.want) {
				t.Errorf("alone: %v, and the store holds %v", alone, got)
			}
			release := hold(t, s)
			all := submit(s, t.Context(), note("a"), note("b"), test.do, note("c"), note("d"))
			release()
			for i, outcome := range all {
				err := <-outcome
				switch {
				case i != 2 && err != nil:
					t.Errorf("write %d: %v", i, err)
				case i == 2 && (err == nil || !strings.Contains(err.Error(), test.want)):
					t.Errorf("the failing write: %v", err)
				}
			}
			if got := notes(t, s); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
				t.Errorf("the store holds %v", got)
			}
			if s.writer.conn.db.InTransaction() {
				t.Error("a transaction is left open")
			}
			if err := s.write(t.Context(), note("e")); err != nil {
				t.Errorf("the next write: %v", err)
			}
		})
	}
}

// TestPanicOfTheWriter: where writing itself panics, those who wait learn of it, and
// the next can write.
func TestPanicOfTheWriter(t *testing.T) {
	s := openNotes(t, Options{})
	conn := s.writer.conn
	release := hold(t, s)
	all := submit(s, t.Context(), note("a"), note("b"))
	broken := make(chan struct{})
	go func() {
		defer close(broken)
		err := s.write(t.Context(), func(tx) error {
			s.writer.conn = nil // what comes after it fails
			return nil
		})
		if err == nil {
			t.Error("nothing was told")
		}
	}()
	release()
	<-broken
	for _, outcome := range all {
		<-outcome // done, or told
	}
	s.writer.conn = conn
	if err := s.write(t.Context(), note("c")); err != nil {
		t.Error(err)
	}
	if got := notes(t, s); !slices.Contains(got, "c") {
		t.Errorf("the store holds %v", got)
	}
}

func TestContextsOfWrites(t *testing.T) {
	s := openNotes(t, Options{})
	release := hold(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	first := submit(s, ctx, note("first"))[0] // the next to lead
	other := submit(s, t.Context(), note("other"))[0]
	last := submit(s, ctx, note("last"))[0]
	cancel()
	for name, outcome := range map[string]pending{"first": first, "last": last} {
		if err := <-outcome; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	release()
	if err := <-other; err != nil {
		t.Error(err)
	}

	// What has begun is waited for.
	ctx, cancel = context.WithCancel(t.Context())
	err := s.write(ctx, func(t tx) error {
		cancel()
		return note("begun")(t)
	})
	if err != nil {
		t.Errorf("a write whose context ended while it ran: %v", err)
	}
	if got := notes(t, s); !slices.Equal(got, []string{"other", "begun"}) {
		t.Errorf("the store holds %v", got)
	}
}

// TestCrowdOfWrites has many write at once, and some give up: what is told to be
// done is done once, and the rest not at all.
func TestCrowdOfWrites(t *testing.T) {
	s := openNotes(t, Options{})
	const writers, each = 16, 50
	var mu sync.Mutex
	var want []string
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range each {
				ctx, cancel := context.WithCancel(t.Context())
				if i%3 == 0 {
					go cancel()
				}
				text := fmt.Sprintf("%02d-%02d", w, i)
				err := s.write(ctx, note(text))
				cancel()
				switch {
				case err == nil:
					mu.Lock()
					want = append(want, text)
					mu.Unlock()
				case !errors.Is(err, context.Canceled):
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	got := notes(t, s)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" || len(want) < writers*each/2 {
		t.Errorf("%d writes were done: %s", len(want), diff)
	}
}

func TestCloseWaitsForWrites(t *testing.T) {
	folder := t.TempDir()
	s := openNotes(t, Options{Folder: folder, Own: true})
	release := hold(t, s)
	all := submit(s, t.Context(), note("a"), note("b"))
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	for !isClosed(s) {
		runtime.Gosched()
	}
	if err := s.write(t.Context(), note("late")); !errors.Is(err, ErrClosed) {
		t.Errorf("a write to a closed store: %v", err)
	}
	release()
	for _, outcome := range all {
		if err := <-outcome; err != nil {
			t.Errorf("a write before the close: %v", err)
		}
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	if err := s.read(t.Context(), func(tx) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("a read of a closed store: %v", err)
	}
	again := openTest(t, Options{Folder: folder, Own: true})
	if got := notes(t, again); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the store holds %v", got)
	}
}

// isClosed asks by a write that is over before it begins.
func isClosed(s *Store) bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return errors.Is(s.write(ctx, func(tx) error { return nil }), ErrClosed)
}

func TestReadersCannotWrite(t *testing.T) {
	s := openNotes(t, Options{})
	err := s.read(t.Context(), note("x"))
	if err == nil {
		t.Error("a reader wrote")
	}
	if got := notes(t, s); got != nil {
		t.Errorf("the store holds %v", got)
	}
}

func TestReadersWait(t *testing.T) {
	s := openNotes(t, Options{Readers: 1})
	err := s.read(t.Context(), func(tx) error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return s.read(ctx, func(tx) error { return nil })
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a second reader: %v", err)
	}
	if err := s.read(t.Context(), func(tx) error { return nil }); err != nil {
		t.Errorf("after it: %v", err)
	}
}
