package ship_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/member"
	"ql/internal/resource/databases"
	"ql/internal/resource/databases/ship"
	"ql/internal/resource/files"
	binding "ql/internal/sqlite"
	"ql/internal/store"
	"ql/internal/store/blob/dir"
	"ql/internal/store/sqlite"
	"ql/internal/store/sqlite/sqlitetest"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// plainSealer seals by saying under which name.
type plainSealer struct{}

func (plainSealer) Seal(id account.ID, name string, plain []byte) ([]byte, error) {
	return append(fmt.Appendf(nil, "%d %s|", id, name), plain...), nil
}

func (plainSealer) Open(id account.ID, name string, sealed []byte) ([]byte, error) {
	plain, ok := strings.CutPrefix(string(sealed), fmt.Sprintf("%d %s|", id, name))
	if !ok {
		return nil, errors.New("it was sealed under another name")
	}
	return []byte(plain), nil
}

// world is a store that nodes share, with an account.
type world struct {
	t     *testing.T
	store store.Store
	blobs *files.Blobs
	ada   account.ID
}

func newWorld(t *testing.T) *world {
	folder := sqlitetest.Folder(t)
	s, err := sqlite.Open(t.Context(), sqlite.Options{Folder: folder, Own: true})
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := dir.OpenBlobs(filepath.Join(folder, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(blobs.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	w := &world{t: t, store: s.Aggregate(), blobs: blobs}
	if w.ada, err = w.store.Accounts.Create(t.Context(), account.Account{Username: "ada", Plan: account.Standard}); err != nil {
		t.Fatal(err)
	}
	return w
}

// node is a process that uses the databases of the account.
type node struct {
	*databases.Databases
	t       *testing.T
	member  member.Member
	origin  *ship.Origin
	shipper *ship.Shipper
	folder  string
	log     *faultyLog
	away    error // why it is no member
}

// faultyLog is a log that fails as told.
type faultyLog struct {
	ship.Log
	before, after error // of Append
}

func (l *faultyLog) Append(ctx context.Context, h ship.Home, name string, p ship.Part) error {
	if l.before != nil {
		return l.before
	}
	return errors.Join(l.Log.Append(ctx, h, name, p), l.after)
}

// start starts the process of a node in a folder. The one before it there, if any, was killed.
func (w *world) start(id int64, folder string) *node {
	w.t.Helper()
	m, _, err := w.store.Members.Join(w.t.Context(), member.Node{ID: id})
	if err != nil {
		w.t.Fatal(err)
	}
	n := &node{t: w.t, member: m, folder: folder, log: &faultyLog{Log: w.store.Shipped}}
	s := ship.New(ship.Options{Changes: n.log, Blobs: w.blobs, Sealer: plainSealer{}, Log: slog.New(slog.DiscardHandler)})
	s.SetMember(func() (member.Member, error) { return n.member, n.away })
	n.shipper = s
	n.origin = s.Of(w.ada)
	n.Databases = databases.New(databases.Options{Folder: folder, Origin: n.origin})
	return n
}

func (n *node) close() {
	n.t.Helper()
	if err := n.Close(); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) try(sql string) (string, error) {
	head, _, _ := strings.Cut(sql, " ")
	v, err := n.Query(n.t.Context(), "", engine.Query{Statement: &bytecode.Statement{Mode: bytecode.SQLRows, Head: head, Texts: []string{sql}}})
	if err != nil {
		return "", err
	}
	return string(value.AppendJSON(nil, v)), nil
}

func (n *node) must(sql string) string {
	n.t.Helper()
	text, err := n.try(sql)
	if err != nil {
		n.t.Fatalf("%s: %v", sql, err)
	}
	return text
}

// check looks whether the copy in use is sound.
func (n *node) check() {
	n.t.Helper()
	c, err := binding.Open(filepath.Join(n.folder, "main.db"), binding.Config{})
	if err != nil {
		n.t.Fatal(err)
	}
	s, _, err := c.Prepare(n.t.Context(), "PRAGMA integrity_check")
	if err != nil {
		n.t.Fatal(err)
	}
	if _, err := s.Step(n.t.Context()); err != nil || string(s.Text(0)) != "ok" {
		n.t.Fatalf("the copy is damaged: %s, %v", s.Text(0), err)
	}
	s.Close()
	if err := c.Close(); err != nil {
		n.t.Fatal(err)
	}
}

const fingerprint = "SELECT count(*) AS n, sum(a) AS a, sum(length(b)) AS l, group_concat(substr(b, 1, 3), '') AS t FROM (SELECT * FROM t ORDER BY a)"

// standingLog is a log that stands still when a home is claimed, until it is told to go on.
type standingLog struct {
	ship.Log
	claims chan error
	asked  atomic.Int64
}

func (l *standingLog) Claim(ctx context.Context, id account.ID, m member.Member) (ship.Home, error) {
	l.asked.Add(1)
	if err := <-l.claims; err != nil {
		return ship.Home{}, err
	}
	return ship.Home{Account: id, Member: m, Epoch: 1}, ctx.Err()
}

// TestClaimsAreShared: those who want databases while their home is claimed are told by the same answer, and all at once.
func TestClaimsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &standingLog{claims: make(chan error)}
		s := ship.New(ship.Options{Changes: log})
		s.SetMember(func() (member.Member, error) { return member.Member{ID: 1, Incarnation: 2}, nil })
		o := s.Of(7)
		told := make(chan error, 10)
		gone, hangUp := context.WithCancel(t.Context())
		go func() { told <- o.Claim(gone) }() // who asks for all
		synctest.Wait()
		for range 8 {
			go func() { told <- o.Claim(t.Context()) }()
		}
		left, leave := context.WithCancel(t.Context())
		go func() { told <- o.Claim(left) }()
		synctest.Wait()
		hangUp() // the others still want an answer
		leave()
		if err := <-told; !errors.Is(err, context.Canceled) {
			t.Errorf("who does not wait any longer is told %v", err)
		}
		synctest.Wait()
		away := errors.New("the store is away")
		log.claims <- away
		synctest.Wait()
		if len(told) != 9 || log.asked.Load() != 1 {
			t.Fatalf("%d of 9 are told, after %d claims", len(told), log.asked.Load())
		}
		for range 9 {
			if err := <-told; !errors.Is(err, away) {
				t.Errorf("told: %v", err)
			}
		}
		go func() { told <- o.Claim(gone) }() // also of who has hung up
		log.claims <- nil
		if err := errors.Join(<-told, o.Claim(t.Context())); err != nil || log.asked.Load() != 2 {
			t.Errorf("then %v, after %d claims", err, log.asked.Load())
		}
	})
}

// TestNothingIsLost: whatever a node has committed another finds, also where the first was killed and its
// folder is gone; and what it did not commit nobody does.
func TestNothingIsLost(t *testing.T) {
	w := newWorld(t)
	folder := t.TempDir()
	n := w.start(1, folder)
	n.must("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
	random := rand.New(rand.NewPCG(3, 4))
	change := func() {
		switch random.IntN(6) {
		case 0: // more than a part in the log takes
			n.must("INSERT INTO t (b) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 600) SELECT hex(randomblob(700)) FROM n")
		case 1:
			n.must(fmt.Sprintf("DELETE FROM t WHERE a %% 5 = %d", random.IntN(5)))
		case 2:
			n.must(fmt.Sprintf("UPDATE t SET b = hex(randomblob(50)) WHERE a %% 11 = %d", random.IntN(11)))
		default:
			n.must("INSERT INTO t (b) VALUES (hex(randomblob(100)))")
		}
	}
	for round := range 12 {
		for range 8 {
			change()
		}
		want := n.must(fingerprint)
		if round%3 == 0 {
			if err := n.origin.Merge(t.Context(), "main", round%2 == 0); err != nil {
				t.Fatal(err)
			}
		}
		refused := errors.New("the store is away")
		n.log.before = refused
		if _, err := n.try("DELETE FROM t"); !errors.Is(err, refused) {
			t.Fatalf("a change that is not shipped: %v", err)
		}
		switch round % 4 {
		case 0: // killed: its successor begins in the same folder, with what the log there says
			n = w.start(1, folder)
		case 1: // killed, with its folder
			folder = t.TempDir()
			n = w.start(1, folder)
		case 2: // stopped in order
			n.close()
			n = w.start(1, folder)
		case 3: // it goes on
			n.log.before = nil
		}
		if got := n.must(fingerprint); got != want {
			t.Fatalf("round %d: got %s, want %s", round, got, want)
		}
		n.check()
	}
	n.close()
}

// TestUnknownOutcome: where nobody has heard whether a change was shipped, the log decides.
func TestUnknownOutcome(t *testing.T) {
	w := newWorld(t)
	n := w.start(1, t.TempDir())
	n.must("CREATE TABLE t (a)")
	n.log.after = errors.New("no answer came")
	_, err := n.try("INSERT INTO t VALUES (1)")
	if !fault.Is(err, fault.OutcomeUnknown) {
		t.Fatalf("got %v", err)
	}
	n.log.after = nil
	if got := n.must("SELECT a FROM t"); got != `[{"a":1}]` {
		t.Errorf("after it was shipped: %s", got)
	}
	n.must("INSERT INTO t VALUES (2)")
	if got := n.must("SELECT count(*) AS n FROM t"); got != `[{"n":2}]` {
		t.Errorf("after the next: %s", got)
	}
	n.close()
}

// TestTakeover: a node that was taken for dead changes nothing any more, and reads nothing old when it knows.
func TestTakeover(t *testing.T) {
	w := newWorld(t)
	one, two := w.start(1, t.TempDir()), w.start(2, t.TempDir())
	one.must("CREATE TABLE t (a)")
	one.must("INSERT INTO t VALUES (1)")
	if _, err := two.try("SELECT a FROM t"); !fault.Is(err, fault.StorageUnavailable) || !strings.Contains(err.Error(), "another node") {
		t.Fatalf("at the other node: %v", err)
	}
	if err := w.store.Members.Leave(t.Context(), one.member); err != nil { // as one that is buried
		t.Fatal(err)
	}
	two.must("INSERT INTO t VALUES (2)")
	if _, err := one.try("INSERT INTO t VALUES (3)"); !fault.Is(err, fault.StorageUnavailable) {
		t.Fatalf("at one that was buried: %v", err)
	}
	// It joins anew. The other still has them.
	m, _, err := w.store.Members.Join(t.Context(), member.Node{ID: 1})
	if err != nil {
		t.Fatal(err)
	}
	one.member = m
	if got, err := one.try("SELECT a FROM t"); !fault.Is(err, fault.StorageUnavailable) {
		t.Fatalf("at one that has joined anew: %s, %v", got, err)
	}
	two.close()
	if err := two.origin.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := one.must("SELECT a FROM t ORDER BY a"); got != `[{"a":1},{"a":2}]` {
		t.Errorf("taken back: %s", got)
	}
	one.must("INSERT INTO t VALUES (4)")
	one.away = fault.Retryable(fault.StorageUnavailable, 0, "the store does not answer")
	if _, err := one.try("SELECT a FROM t"); !errors.Is(err, one.away) {
		t.Errorf("read by one that may be dead: %v", err)
	}
	one.away = nil
	if got := one.must("SELECT count(*) AS n FROM t"); got != `[{"n":3}]` {
		t.Errorf("when it answers again: %s", got)
	}
	one.close()
}

// TestCopiesAreKept: what was closed in order is not fetched again.
func TestCopiesAreKept(t *testing.T) {
	w := newWorld(t)
	folder := t.TempDir()
	n := w.start(1, folder)
	n.must("CREATE TABLE t (a)")
	n.close()
	path := filepath.Join(folder, "main.db")
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	n = w.start(1, folder)
	n.must("SELECT * FROM t")
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before, after) {
		t.Error("it was fetched again")
	}
	n = w.start(1, folder) // killed
	n.must("SELECT * FROM t")
	again, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if os.SameFile(before, again) {
		t.Error("it was not fetched again")
	}
	n.close()
}

// TestDropAndImport: databases come and go at their origin.
func TestDropAndImport(t *testing.T) {
	w := newWorld(t)
	n := w.start(1, t.TempDir())
	n.must("CREATE TABLE t (a)")
	err := n.Batch(t.Context(), "more", databases.BatchOptions{Create: true}, func(b *databases.Batch) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	list, err := n.List(t.Context())
	if err != nil || len(list) != 2 || list[1].Name != "more" || list[1].Bytes == 0 {
		t.Fatalf("%v, %v", list, err)
	}
	n = w.start(1, t.TempDir())
	if err := n.Drop(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	if err := n.Drop(t.Context(), "main"); !fault.Is(err, fault.NotFound) {
		t.Errorf("dropped again: %v", err)
	}
	n.must("CREATE TABLE t (b)")
	n = w.start(1, t.TempDir())
	if got := n.must("SELECT sql FROM sqlite_schema"); got != `[{"sql":"CREATE TABLE t (b)"}]` {
		t.Errorf("made anew: %s", got)
	}
	if err := n.DropAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list, err := n.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	n.close()
}

// TestMergedBeside: what is merged while the database is changed is the database still, and of the log little
// is left.
func TestMergedBeside(t *testing.T) {
	w := newWorld(t)
	n := w.start(1, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.shipper.Run(ctx)
	}()
	n.must("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
	for i := range 320 {
		n.must(fmt.Sprintf("INSERT INTO t (b) VALUES (hex(randomblob(%d)))", 10+i%500))
		if i%50 == 0 {
			n.must("UPDATE t SET b = b || 'x' WHERE a % 3 = 0")
		}
	}
	want := n.must(fingerprint)
	cancel()
	<-done
	if err := n.origin.Merge(t.Context(), "main", false); err != nil { // what the loop did not come to
		t.Fatal(err)
	}
	parts, err := w.store.Shipped.Parts(t.Context(), w.ada, "main", 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if len(parts) > 300 {
		t.Errorf("the log has %d parts", len(parts))
	}
	n = w.start(1, t.TempDir())
	if got := n.must(fingerprint); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	n.check()
	n.close()
}
