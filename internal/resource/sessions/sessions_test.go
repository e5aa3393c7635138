package sessions

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/lang/value"
)

// The accounts of the tests.
const (
	ada account.ID = 1
	bob account.ID = 2
)

// database returns the file's connection.
func database(s *Manager) *sql.DB { return s.rows.(fileStore).db }

// clock is a clock that stands until it is moved.
type clock struct{ now time.Time }

func (c *clock) time() time.Time       { return c.now }
func (c *clock) move(by time.Duration) { c.now = c.now.Add(by) }

func open(t *testing.T, path string, o Options) *Manager {
	t.Helper()
	if path == "" {
		path = filepath.Join(t.TempDir(), "sessions.db")
	}
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func start(t *testing.T, c *Caller) engine.Session {
	t.Helper()
	s, err := c.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Release() })
	return s
}

func set(t *testing.T, s engine.Session, key string, v value.Value) {
	t.Helper()
	if err := s.Set(t.Context(), key, v); err != nil {
		t.Fatal(err)
	}
}

// all returns the whole session as JSON.
func all(t *testing.T, s engine.Session) string {
	t.Helper()
	v, err := s.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(value.AppendJSON(nil, v))
}

func code(err error) string {
	var e *value.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code
	}
	return "internal: " + err.Error()
}

func TestValuesStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a folder?", "sessions #1.db")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	store := open(t, path, Options{})
	caller := store.For(ada, "")
	s := start(t, caller)
	id := caller.ID()
	if raw, err := base64.RawURLEncoding.DecodeString(id); err != nil || len(raw) != 32 {
		t.Errorf("the id %q: %v", id, err)
	}
	float, _ := value.Number(2.5)
	m := value.NewMap(nil, 0)
	m.SetText("k", value.ListOf(value.Int(1<<62), value.Null, value.True))
	set(t, s, "text", value.Text("ä\"\n"))
	set(t, s, "float", float)
	price, _ := value.ParseDecimal(nil, "12.30")
	set(t, s, "price", price)
	if v, err := s.Get(t.Context(), "price"); err != nil || !v.IsText() || v.Str() != "12.30" {
		t.Errorf("a decimal comes back as %s, %v", value.Describe(v), err)
	}
	set(t, s, "map", m.Value())
	set(t, s, "text", value.Text("again"))
	set(t, s, "gone", value.Int(1))
	if err := s.Unset(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	if err := s.Unset(t.Context(), "never there"); err != nil {
		t.Fatal(err)
	}
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}

	store = open(t, path, Options{})
	caller = store.For(ada, id)
	s = start(t, caller)
	want := `{"text":"again","float":2.5,"price":"12.30","map":{"k":[4611686018427387904,null,true]}}`
	if got := all(t, s); got != want || caller.ID() != id {
		t.Errorf("got %s under %s", got, caller.ID())
	}
	v, err := s.Get(t.Context(), "map")
	if err != nil || !value.Equal(nil, v, m.Value()) {
		t.Errorf("%s, %v", value.Describe(v), err)
	}
	if v, err := s.Get(t.Context(), "gone"); err != nil || !v.IsNull() {
		t.Errorf("%s, %v", value.Describe(v), err)
	}

	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	for _, name := range []string{path, path + "-wal"} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), id) {
			t.Errorf("the id itself is in %s", name)
		}
	}
}

// TestChangesToValues shows that what a script has and what the store has are
// apart.
func TestChangesToValues(t *testing.T) {
	store := open(t, "", Options{})
	s := start(t, store.For(ada, ""))
	list := value.ListOf(value.Int(1))
	set(t, s, "list", list)
	list.List().Append(nil, value.Int(2))
	v, err := s.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v.Map().SetText("more", value.True)
	if got := all(t, s); got != `{"list":[1]}` {
		t.Errorf("got %s", got)
	}
}

func TestUnknownIDsAreReplaced(t *testing.T) {
	store := open(t, "", Options{})
	known := store.For(ada, "")
	s := start(t, known)
	set(t, s, "secret", value.Int(1))
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*Caller{
		"none":            store.For(ada, ""),
		"made up":         store.For(ada, strings.Repeat("A", 43)),
		"nonsense":        store.For(ada, "'; DROP TABLE sessions; --\x00"),
		"long":            store.For(ada, strings.Repeat("A", 1<<16)),
		"another account": store.For(bob, known.ID()),
		"a third account": store.For(ada+100, known.ID()),
		"no account":      store.For(0, known.ID()),
	} {
		brought := c.ID()
		s := start(t, c)
		if c.ID() == brought || len(c.ID()) != 43 {
			t.Errorf("%s: the id is %q", name, c.ID())
		}
		if got := all(t, s); got != "{}" {
			t.Errorf("%s: it holds %s", name, got)
		}
	}
	if got := all(t, start(t, store.For(ada, known.ID()))); got != `{"secret":1}` {
		t.Errorf("the known one holds %s", got)
	}
}

func TestTimes(t *testing.T) {
	now := &clock{time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)}
	store := open(t, "", Options{Clock: now.time})
	fresh := func() string {
		c := store.For(ada, "")
		s := start(t, c)
		set(t, s, "a", value.Int(1))
		if err := s.Release(); err != nil {
			t.Fatal(err)
		}
		return c.ID()
	}
	lives := func(id string) bool {
		c := store.For(ada, id)
		s := start(t, c)
		defer s.Release()
		return c.ID() == id && all(t, s) == `{"a":1}`
	}
	count := func() (n int) {
		if err := database(store).QueryRowContext(t.Context(), "SELECT count(*) FROM sessions").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}

	id := fresh()
	now.move(24 * time.Hour)
	if !lives(id) {
		t.Error("it ended within its 24 hours")
	}
	now.move(24 * time.Hour)
	if !lives(id) {
		t.Error("its use did not count")
	}
	now.move(24*time.Hour + time.Second)
	if lives(id) {
		t.Error("it lived longer than 24 hours without use")
	}

	id = fresh()
	for range 30 {
		if !lives(id) {
			t.Fatal("it ended within its 30 days")
		}
		now.move(23 * time.Hour)
	}
	for _, hours := range []time.Duration{time.Hour, 24 * time.Hour, 5 * time.Hour} { // 720 in all
		now.move(hours)
		if !lives(id) {
			t.Error("it ended within its 30 days")
		}
	}
	now.move(time.Second)
	if lives(id) {
		t.Error("it lived longer than 30 days")
	}

	// What is over goes when a new one is made.
	fresh()
	fresh()
	now.move(25 * time.Hour)
	fresh()
	if n := count(); n != 1 {
		t.Errorf("%d sessions are kept", n)
	}
}

func TestBounds(t *testing.T) {
	store := open(t, "", Options{MaxBytes: 100, MaxKeys: 3})
	other := start(t, store.For(ada, "").WithBounds(Bounds{Bytes: 10, Keys: 1, Sessions: 10}))
	if err := other.Set(t.Context(), "a", value.Text("12345")); code(err) != "session_full" {
		t.Errorf("a session with bounds of its own: %v", err)
	}
	set(t, other, "a", value.Text("1"))
	s := start(t, store.For(ada, ""))
	set(t, s, "a", value.Text(strings.Repeat("x", 80))) // {"a":"…"} is 88 bytes
	endless := value.ListOf()
	for range 100 {
		endless = value.ListOf(endless, endless)
	}
	for name, v := range map[string]value.Value{
		"too long":              value.Text(strings.Repeat("x", 200)),
		"long together":         value.Text(strings.Repeat("x", 20)),
		"long in a list":        value.ListOf(value.Text(strings.Repeat("x", 200))),
		"itself in many places": endless,
	} {
		if err := s.Set(t.Context(), "b", v); code(err) != "session_full" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Set(t.Context(), strings.Repeat("k", 50), value.Null); code(err) != "session_full" {
		t.Errorf("a long key: %v", err)
	}
	set(t, s, "a", value.Null)
	set(t, s, "b", value.Null)
	set(t, s, "c", value.Null)
	if err := s.Set(t.Context(), "d", value.Null); code(err) != "session_full" {
		t.Errorf("a fourth key: %v", err)
	}
	m := value.NewMap(nil, 0)
	m.SetText("deep", value.ListOf(value.Bytes([]byte("x"))))
	for name, v := range map[string]value.Value{"bytes": value.Bytes(nil), "bytes in a list": value.ListOf(value.Bytes(nil)), "bytes deep": m.Value()} {
		if err := s.Set(t.Context(), "a", v); code(err) != "wrong_kind" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := all(t, s); got != `{"a":null,"b":null,"c":null}` {
		t.Errorf("it holds %s", got)
	}
}

func TestSessionsOfAnAccountAreBounded(t *testing.T) {
	now := &clock{time.Unix(1_000_000, 0)}
	store := open(t, "", Options{MaxSessions: 3, Clock: now.time})
	var ids []string
	for range 5 {
		c := store.For(ada, "")
		if err := start(t, c).Release(); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, c.ID())
		now.move(time.Second)
	}
	// Another has bounds of its own.
	var others []string
	for range 3 {
		other := store.For(bob, "").WithBounds(Bounds{Bytes: 100, Keys: 3, Sessions: 2})
		if err := start(t, other).Release(); err != nil {
			t.Fatal(err)
		}
		others = append(others, other.ID())
		now.move(time.Second)
	}
	for i, id := range others {
		known, err := store.touch(t.Context(), keyOf(bob, id))
		if err != nil || known != (i >= 1) {
			t.Errorf("session %d of the other: %t, %v", i, known, err)
		}
	}
	for i, id := range ids {
		known, err := store.touch(t.Context(), keyOf(ada, id))
		if err != nil || known != (i >= 2) {
			t.Errorf("session %d: %t, %v", i, known, err)
		}
	}
}

func TestEndAndRelease(t *testing.T) {
	store := open(t, "", Options{})
	caller := store.For(ada, "")
	s := start(t, caller)
	if again := start(t, caller); again != s {
		t.Error("a second Start gave another session")
	}
	set(t, s, "a", value.Int(1))
	id := caller.ID()
	if err := s.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	if caller.ID() != "" {
		t.Errorf("the id is still %s", caller.ID())
	}
	for name, err := range map[string]error{
		"Get":   second(s.Get(t.Context(), "a")),
		"All":   second(s.All(t.Context())),
		"Set":   s.Set(t.Context(), "a", value.Null),
		"Unset": s.Unset(t.Context(), "a"),
		"End":   s.End(t.Context()),
	} {
		if code(err) != "no_session" {
			t.Errorf("%s after End: %v", name, err)
		}
	}
	if err := s.Release(); err != nil {
		t.Errorf("Release after End: %v", err)
	}
	next := start(t, caller)
	if caller.ID() == id || all(t, next) != "{}" {
		t.Error("the old session came back")
	}

	// Let go at a pause, and taken again.
	set(t, next, "b", value.Int(2))
	for range 2 {
		if err := next.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if err := next.Set(t.Context(), "b", value.Null); code(err) != "no_session" {
		t.Errorf("Set after Release: %v", err)
	}
	if got := all(t, start(t, caller)); got != `{"b":2}` {
		t.Errorf("taken again it holds %s", got)
	}
	if store.locks.Len() != 1 {
		t.Errorf("%d locks are kept for one session in use", store.locks.Len())
	}
}

func second[T any](_ T, err error) error { return err }

func TestNoUpdateIsLost(t *testing.T) {
	store := open(t, "", Options{})
	first := store.For(ada, "")
	s := start(t, first)
	set(t, s, "n", value.Int(0))
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
	const runs, rounds = 32, 10
	var group sync.WaitGroup
	errs := make(chan error, runs)
	for range runs {
		group.Go(func() {
			for range rounds {
				if err := increment(t.Context(), store.For(ada, first.ID())); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	if got := all(t, start(t, first)); got != `{"n":320}` {
		t.Errorf("got %s", got)
	}
}

func increment(ctx context.Context, c *Caller) error {
	s, err := c.Start(ctx)
	if err != nil {
		return err
	}
	defer s.Release()
	v, err := s.Get(ctx, "n")
	if err != nil {
		return err
	}
	return s.Set(ctx, "n", value.Int(v.Int64()+1))
}

// TestTwoPrograms lets two stores on one file, as two programs have them, set
// values of one session in turn.
func TestTwoPrograms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	a, b := open(t, path, Options{}), open(t, path, Options{})
	first := a.For(ada, "")
	sa := start(t, first)
	sb := start(t, b.For(ada, first.ID()))
	set(t, sa, "a", value.Int(1))
	set(t, sb, "b", value.Int(2))
	set(t, sa, "c", value.Int(3))
	for _, s := range []engine.Session{sa, sb} {
		if got := all(t, s); got != `{"a":1,"b":2,"c":3}` {
			t.Errorf("got %s", got)
		}
	}
	if err := sb.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := sa.Set(t.Context(), "d", value.Int(4)); code(err) != "no_session" {
		t.Errorf("after the other ended it: %v", err)
	}
}

// asked tells when somebody begins to wait for it.
type asked struct {
	context.Context
	once sync.Once
	wait chan struct{}
}

func (a *asked) Done() <-chan struct{} {
	a.once.Do(func() { close(a.wait) })
	return a.Context.Done()
}

func TestBusy(t *testing.T) {
	store := open(t, "", Options{})
	caller := store.For(ada, "")
	s := start(t, caller)

	late, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	if _, err := store.For(ada, caller.ID()).Start(late); code(err) != "session_busy" {
		t.Errorf("a call whose time is over: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.For(ada, caller.ID()).Start(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was cancelled: %v", err)
	}

	ctx := &asked{Context: t.Context(), wait: make(chan struct{})}
	got := make(chan string)
	go func() {
		s, err := store.For(ada, caller.ID()).Start(ctx)
		if err != nil {
			got <- err.Error()
			return
		}
		defer s.Release()
		v, err := s.Get(ctx, "a")
		if err != nil {
			got <- err.Error()
			return
		}
		got <- value.Describe(v)
	}()
	<-ctx.wait
	set(t, s, "a", value.Text("last"))
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
	if seen := <-got; seen != `the text "last"` {
		t.Errorf("the one that waited saw %s", seen)
	}
}

func TestNewerFilesAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	store := open(t, path, Options{})
	if _, err := database(store).ExecContext(t.Context(), "PRAGMA user_version = 3"); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), "newer program") {
		t.Errorf("got %v", err)
	}
	if _, err := Open(t.Context(), filepath.Join(path, "x"), Options{}); err == nil {
		t.Error("a path below a file was opened")
	}
}

func TestConnectionIsSet(t *testing.T) {
	store := open(t, "", Options{})
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "5000"} {
		var got sql.NullString
		if err := database(store).QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got.String != want {
			t.Errorf("%s is %s, %v", pragma, got.String, err)
		}
	}
}
