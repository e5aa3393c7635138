package postgres

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"regexp"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/fault"
	"ql/internal/store/postgres/pgtest"
	"ql/internal/store/relational"
)

// fate is what becomes of a message.
type fate int

const (
	passes   fate = iota
	vanishes      // it does not reach the server
	unheard       // it is answered, and the answer does not come back
	late          // it reaches the server after its sender has given up
	fates
)

// cutLine is a connection to the server on which some commits have a fate of their own.
type cutLine struct {
	net.Conn
	faults *lineFaults
	cut    atomic.Bool
	held   sync.WaitGroup // until the raw connection may be closed
}

// lineFaults are those of all connections of a store.
type lineFaults struct {
	share float64        // of commits that do not pass
	of    *regexp.Regexp // what a message has that commits
	met   [fates]atomic.Int64
	all   sync.WaitGroup // what still goes on behind a line that was cut

	mu    sync.Mutex
	sends []func() // messages that are late
}

// sendLate sends the messages that are late, and returns when they are answered.
func (f *lineFaults) sendLate() {
	f.mu.Lock()
	sends := f.sends
	f.sends = nil
	f.mu.Unlock()
	for _, send := range sends {
		send()
	}
}

func (f *lineFaults) dial(ctx context.Context, network, address string) (net.Conn, error) {
	raw, err := (&net.Dialer{}).DialContext(ctx, network, address)
	return &cutLine{Conn: raw, faults: f}, err
}

func (l *cutLine) Write(b []byte) (int, error) {
	if l.cut.Load() {
		return 0, io.ErrClosedPipe
	}
	// A commit is late until the writer asks whether it was done, or until it has asked.
	asks := bytes.Contains(b, []byte("number = number + 1")) && rand.IntN(2) == 0
	if asks || bytes.Contains(b, []byte("BEGIN")) {
		l.faults.sendLate()
	}
	if !l.faults.of.Match(b) || rand.Float64() >= l.faults.share {
		return l.Conn.Write(b)
	}
	what := fate(1 + rand.IntN(int(fates)-1))
	l.faults.met[what].Add(1)
	l.cut.Store(true)
	l.faults.all.Add(1)
	l.held.Add(1)
	message := bytes.Clone(b)
	done := func() {
		l.held.Done()
		l.faults.all.Done()
	}
	switch what {
	case unheard:
		defer done()
		if _, err := l.Conn.Write(message); err == nil {
			_, _ = l.Conn.Read(make([]byte, 1)) // it is done by then, or has failed
		}
	case late:
		l.faults.mu.Lock()
		l.faults.sends = append(l.faults.sends, func() {
			defer done()
			if _, err := l.Conn.Write(message); err == nil {
				_, _ = l.Conn.Read(make([]byte, 1))
			}
		})
		l.faults.mu.Unlock()
	default:
		done()
	}
	return len(b), nil
}

func (l *cutLine) Read(b []byte) (int, error) {
	if l.cut.Load() {
		return 0, io.EOF
	}
	return l.Conn.Read(b)
}

func (l *cutLine) Close() error {
	l.cut.Store(true)
	go func() {
		l.held.Wait()
		_ = l.Conn.Close()
	}()
	return nil
}

// tally is a table in which each change of a test leaves a row.
func tally(t *testing.T, w *writer) (add func(ctx context.Context, n int64) error, count func() map[int64]int) {
	t.Helper()
	ctx := context.Background()
	exec := func(sql string) {
		t.Helper()
		if err := w.conn.run(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE tally (n BIGINT NOT NULL)")
	t.Cleanup(func() { exec("DROP TABLE tally") })
	add = func(ctx context.Context, n int64) error {
		return w.write(ctx, func(relational.Tx) error {
			_, err := w.conn.Exec(context.Background(), "INSERT INTO tally (n) VALUES (?)", []any{n})
			return err
		})
	}
	return add, func() map[int64]int {
		rows := map[int64]int{}
		if err := w.conn.Query(ctx, "SELECT n FROM tally", nil, func(r relational.Row) bool {
			rows[r.Int(0)]++
			return true
		}); err != nil {
			t.Fatal(err)
		}
		return rows
	}
}

func full() bool { return os.Getenv("QL_PROMISES") == "1" }

// TestPromiseLostCommits drops commits, and the answers to them, and lets some reach the server when nobody
// waits for them any more: a change that is said to be done is there once, one that has failed is not, and
// none is there twice.
func TestPromiseLostCommits(t *testing.T) {
	for name, of := range map[string]func(*Store) *writer{
		"serializable":   func(s *Store) *writer { return s.writer },
		"read committed": func(s *Store) *writer { return s.locker },
	} {
		t.Run(name, func(t *testing.T) {
			s := openTest(t, Options{Readers: 2})
			checkLostCommits(t, s, of(s))
		})
	}
}

func checkLostCommits(t *testing.T, s *Store, w *writer) {
	changes, writers := int64(400), 4
	if full() {
		changes, writers = 15_000, 8
	}
	add, count := tally(t, w)
	faults := &lineFaults{share: 0.2, of: regexp.MustCompile(`\x00q[0-9]+_COMMIT\x00`)} // bound to be executed
	dial := s.config.DialFunc
	s.config.DialFunc = faults.dial
	_ = w.conn.close() // so that the next has faults

	var next atomic.Int64
	outcomes := make([]error, changes)
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for n := next.Add(1) - 1; n < changes; n = next.Add(1) - 1 {
				outcomes[n] = add(context.Background(), n)
			}
		})
	}
	all.Wait()
	faults.sendLate()
	faults.all.Wait()
	s.config.DialFunc = dial
	_ = w.conn.close()
	if err := w.connected(); err != nil {
		t.Fatal(err)
	}

	rows := count()
	done, failed, open := 0, 0, 0
	for n, err := range outcomes {
		there := rows[int64(n)]
		switch {
		case err == nil:
			done++
			if there != 1 {
				t.Errorf("change %d was said to be done, and is there %d times", n, there)
			}
		case fault.Is(err, fault.StorageUnavailable):
			failed++
			if there != 0 {
				t.Errorf("change %d was said to have failed, and is there %d times: %v", n, there, err)
			}
		case fault.Is(err, fault.OutcomeUnknown):
			open++
			if there > 1 {
				t.Errorf("change %d is there %d times", n, there)
			}
		default:
			t.Errorf("change %d: %v", n, err)
		}
	}
	for f := vanishes; f < fates; f++ {
		if faults.met[f].Load() == 0 {
			t.Errorf("no commit had fate %d", f)
		}
	}
	if open > 0 { // the server was there all the time
		t.Errorf("%d changes came to nobody knows what", open)
	}
	t.Logf("%d changes, of whose commits %d were lost, %d unheard and %d late: %d done, %d failed", changes,
		faults.met[vanishes].Load(), faults.met[unheard].Load(), faults.met[late].Load(), done, failed)
}

// TestPromiseConflicts has the server refuse some statements and some commits as it refuses those that stand in
// the way of others: all are done in the end, and each once.
func TestPromiseConflicts(t *testing.T) {
	changes := int64(400)
	if full() {
		changes = 10_000
	}
	s := openTest(t, Options{Readers: 2})
	add, count := tally(t, s.writer)
	ctx := context.Background()
	for _, sql := range []string{
		`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF random() < 0.05 THEN RAISE EXCEPTION 'in the way' USING ERRCODE = (ARRAY['40001', '40P01'])[1 + floor(random() * 2)::int]; END IF;
			RETURN NEW;
		END $$`,
		"CREATE TRIGGER refused BEFORE INSERT ON tally FOR EACH ROW EXECUTE FUNCTION refuse()",
		"CREATE CONSTRAINT TRIGGER refused_late AFTER INSERT ON tally DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()",
	} {
		if err := s.writer.conn.run(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := s.writer.conn.run(ctx, "DROP FUNCTION refuse CASCADE"); err != nil {
			t.Error(err)
		}
	})
	var next atomic.Int64
	var all sync.WaitGroup
	errs := make(chan error, 4)
	for range cap(errs) {
		all.Go(func() {
			for n := next.Add(1) - 1; n < changes; n = next.Add(1) - 1 {
				if err := add(context.Background(), n); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	rows := count()
	for n := range changes {
		if rows[n] != 1 {
			t.Errorf("change %d is there %d times", n, rows[n])
		}
	}
}

// TestServerRestarts ends all connections of a store, as a server does that is started again: reads and writes
// that come afterwards find it.
func TestServerRestarts(t *testing.T) {
	s := openTest(t, Options{Readers: 2})
	add, count := tally(t, s.writer)
	ctx := context.Background()
	read := func() error { _, err := s.Members().List(ctx); return err }
	for n := range int64(10) {
		if err := errors.Join(add(ctx, n), read()); err != nil {
			t.Fatal(err)
		}
		config := s.config.Copy()
		c, err := connect(ctx, config)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.run(ctx, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"); err != nil {
			t.Fatal(err)
		}
		if err := c.close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(add(ctx, 10), read()); err != nil {
		t.Fatal(err)
	}
	rows := count()
	for n := range int64(11) {
		if rows[n] != 1 {
			t.Errorf("change %d is there %d times", n, rows[n])
		}
	}
}

// TestWriterStandsStill has a process freeze in the middle of a change: what it has locked another one gets in time, and
// when it goes on its change is made anew.
func TestWriterStandsStill(t *testing.T) {
	s := openTest(t, Options{Readers: 1})
	add, count := tally(t, s.writer)
	ctx := t.Context()
	if err := add(ctx, 1); err != nil {
		t.Fatal(err)
	}
	other, err := connect(ctx, s.config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.close() }()
	const change = "UPDATE tally SET n = n + 1"
	locked, goOn, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		tries := 0
		done <- s.Write(ctx, func(relational.Tx) error {
			_, err := s.writer.conn.Exec(ctx, change, nil)
			if tries++; tries == 1 {
				close(locked)
				<-goOn
			}
			return err
		})
	}()
	<-locked
	if err := other.run(ctx, "SET lock_timeout = 0; "+change); err != nil { // within the time of a statement
		t.Error(err)
	}
	// What is sent by a connection that the server has closed finds nobody, and the reason may be found or not.
	frozen := s.writer.conn.pg.PID()
	for there := true; there; {
		there = false
		if err := other.Query(ctx, "SELECT 1 FROM pg_stat_activity WHERE pid = ?", []any{int64(frozen)}, func(relational.Row) bool {
			there = true
			return true
		}); err != nil {
			t.Fatal(err)
		}
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if rows := count(); rows[3] != 1 {
		t.Errorf("of two changes there is left %v", rows)
	}
}

// TestPromiseServerStandsStill pauses the server, as a machine does that is moved elsewhere: reads and writes that
// somebody waits for fail while it stands still, and what comes afterwards is done.
func TestPromiseServerStandsStill(t *testing.T) {
	s := openTest(t, Options{Readers: 2})
	add, count := tally(t, s.writer)
	times := int64(1)
	if full() {
		times = 5
	}
	// Nobody in this test is as patient: it only says that somebody waits.
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	read := func() error { _, err := s.Members().List(ctx); return err }
	// Callers are told so for a moment longer than it lasts.
	well := func(do func() error) error {
		for began := time.Now(); ; {
			if err := do(); !fault.Is(err, fault.StorageUnavailable) || time.Since(began) > 10*restTime {
				return err
			}
		}
	}
	for n := range times {
		if err := errors.Join(well(func() error { return add(ctx, 10*n) }), well(read)); err != nil {
			t.Fatal(err)
		}
		resume := pgtest.Start(t).Pause(t)
		for i := range int64(2) { // on the connection of before, and where there is none
			if err := add(ctx, 10*n+1+i); !fault.Is(err, fault.StorageUnavailable) {
				t.Errorf("a write while the server stood still: %v", err)
			}
			if err := read(); !fault.Is(err, fault.StorageUnavailable) {
				t.Errorf("a read while the server stood still: %v", err)
			}
		}
		if s.Writable(ctx) == nil {
			t.Error("the store is said to be writable")
		}
		resume()
	}
	if err := errors.Join(well(func() error { return add(ctx, 10*times) }), well(read)); err != nil {
		t.Fatal(err)
	}
	for n, times := range count() {
		if n%10 != 0 || times != 1 {
			t.Errorf("change %d is there %d times", n, times)
		}
	}
}

// watchedContext tells when somebody begins to wait for its end.
type watchedContext struct {
	context.Context
	waits func()
}

func (c watchedContext) Done() <-chan struct{} {
	c.waits()
	return c.Context.Done()
}

// TestReaderThatWaited: who waited for a connection on which the server says nothing asks nothing of its own then: the two
// would add up.
func TestReaderThatWaited(t *testing.T) {
	s := openTest(t, Options{Readers: 1})
	waits := make(chan struct{})
	// Nobody in this test is as patient: it only says that somebody waits.
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	used := <-s.readers.idle
	asked := make(chan error, 1)
	go func() {
		asked <- s.readers.read(watchedContext{ctx, sync.OnceFunc(func() { close(waits) })}, func(t relational.Tx) error {
			_, err := t.Members()
			return err
		})
	}()
	<-waits
	s.readers.breaker.note(os.ErrDeadlineExceeded) // as the one does that has the connection
	s.readers.idle <- used
	if err := <-asked; !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("while the server says nothing: %v", err)
	}
	s.readers.breaker.note(nil)
	if err := s.readers.read(ctx, func(t relational.Tx) error { _, err := t.Members(); return err }); err != nil {
		t.Errorf("when it answers again: %v", err)
	}
}

// TestWriterThatWaited: whoever waits for an answer, behind a write to which the server said nothing, is told so before what
// the service writes for itself is tried, which may take longer.
func TestWriterThatWaited(t *testing.T) {
	for name, leads := range map[string]bool{"leads": true, "shares": false} {
		t.Run(name, func(t *testing.T) {
			w := openTest(t, Options{Readers: 1}).writer
			// Nobody in this test is as patient: it only says that somebody waits.
			caller, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			answered, tried, first := make(chan error, 1), make(chan error, 1), make(chan error, 1)
			told := make(chan struct{})
			go func() {
				first <- w.write(caller, func(relational.Tx) error {
					wait := func(n int, do func()) {
						go do()
						for w.group.Waiting() < n {
							runtime.Gosched()
						}
					}
					ask := func() { answered <- w.write(caller, func(relational.Tx) error { return nil }) }
					try := func() {
						tried <- w.write(context.Background(), func(relational.Tx) error { <-told; return nil })
					}
					if leads {
						wait(1, ask)
						wait(2, try)
					} else {
						wait(1, try)
						wait(2, ask)
					}
					return errors.Join(w.conn.close(), os.ErrDeadlineExceeded) // as where the server says nothing
				})
			}()
			for what, outcome := range map[string]chan error{"the first": first, "who waited": answered} {
				if err := <-outcome; !fault.Is(err, fault.StorageUnavailable) {
					t.Errorf("%s: %v", what, err)
				}
			}
			close(told)
			if err := <-tried; err != nil {
				t.Error(err)
			}
		})
	}
}
