package crashtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// ledger are the jobs of TestPromiseAcceptedJobs: each writes its own number
// into a table and into a file, neither of which minds numbers that come twice.
type ledger struct {
	*server
	next, accepted, unanswered atomic.Int64
	enough                     atomic.Bool

	mu  sync.Mutex
	ids map[string]string // of the jobs that were accepted, by their numbers
}

const entry = `
	INSERT INTO ledger VALUES (!GET('n'));
	APPEND "{!GET('n')}\n" TO FILE "/ledger/{!GET('client')}.txt"
	EMIT !GET('n')`

// work is one client: it sends jobs, and now and then waits for one.
func (l *ledger) work(client int) error {
	for !l.enough.Load() {
		n := strconv.FormatInt(l.next.Add(1), 10)
		a, err := l.try(query("async", entry, "n", n, "client", strconv.Itoa(client)))
		if err != nil {
			l.unanswered.Add(1)
			continue
		}
		j, err := a.job()
		switch {
		case err != nil:
			return err
		case a.status == http.StatusServiceUnavailable:
			continue
		case bytes.Contains(a.body, []byte("outcome_unknown")):
			l.unanswered.Add(1)
			continue
		case a.status != http.StatusAccepted:
			return fmt.Errorf("a job was refused: %s", a)
		}
		l.accepted.Add(1)
		l.mu.Lock()
		l.ids[n] = j.ID
		l.mu.Unlock()
		if rand.IntN(3) == 0 {
			if _, err := l.await(j.ID, "complete"); err != nil {
				return err
			}
		}
	}
	return nil
}

// newLedger starts a server on a data folder, where some of the jobs have to stand in line.
func newLedger(s *server) *ledger {
	s.t.Helper()
	l := &ledger{server: s, ids: map[string]string{}}
	settings := filepath.Join(s.t.TempDir(), "settings.toml")
	check(s.t, os.WriteFile(settings, []byte("[plans.unlimited]\nconcurrent = 8\n"), 0o600))
	l.flags = []string{"--config", settings}
	l.start()
	l.output(`CREATE TABLE ledger (n TEXT);`)
	return l
}

// under has clients send jobs while cut is called again and again at random moments, which
// ends the server and spawns it again, until there were so many cuts and jobs.
func (l *ledger) under(clients int, cuts, jobs int64, cut func()) {
	l.t.Helper()
	var working sync.WaitGroup
	for client := range clients {
		working.Go(func() {
			if err := l.work(client); err != nil {
				l.t.Error(err)
			}
		})
	}
	for l.kills.Load() < cuts || l.accepted.Load() < jobs {
		if l.kills.Load()%2 == 0 { // the other cuts may find it starting
			_, err := l.address(l.t.Context())
			check(l.t, err)
		}
		<-time.After(rand.N(900 * time.Millisecond)) // the moment of a cut is chance
		cut()
		if l.t.Failed() {
			break
		}
	}
	l.enough.Store(true)
	working.Wait()
}

// TestPromiseAcceptedJobs kills the server at random moments, also while it
// starts, under many clients: every job that was accepted is done exactly once,
// and one whose caller got no answer at most once.
func TestPromiseAcceptedJobs(t *testing.T) {
	l := newLedger(newServer(t))
	l.under(32, int64(count(4, 300)), int64(count(100, 20_000)), func() {
		l.kill()
		l.spawn()
	})
	if t.Failed() {
		return
	}
	l.kill()
	l.start()
	l.audit()
}

// audit waits for all jobs, and counts what they did.
func (l *ledger) audit() {
	t := l.t
	t.Helper()
	began := time.Now()
	var working sync.WaitGroup
	polling := make(chan string)
	for range 8 {
		working.Go(func() {
			for n := range polling {
				if j, err := l.await(l.ids[n], "complete"); err != nil || j.Result != n {
					t.Errorf("job %s that was accepted: %q, %v", n, j.Result, err)
				}
			}
		})
	}
	for n := range l.ids {
		polling <- n
	}
	close(polling)
	working.Wait()
	l.awaitIdle()
	t.Logf("all were done %.1f s after the last start", time.Since(began).Seconds())

	tables := l.entries()
	files := tally(l.output(`
		LIST "/ledger" SET ?files
		FOR ?file IN ?files DO
			READ ?file.path AS TEXT SET ?text
			EMIT ?text
		END`))
	var lost, twice, half, unasked int
	for n := range l.next.Load() {
		name := strconv.FormatInt(n+1, 10)
		in, and := tables[name], files[name]
		_, known := l.ids[name]
		switch {
		case known && in+and < 2:
			lost++
		case in > 1 || and > 1:
			twice++
		case in != and:
			half++
		case !known && in == 1:
			unasked++
		}
	}
	t.Logf("%d cuts: %d jobs accepted, %d lost, %d done twice; %d got no answer, of which %d were done and %d by half",
		l.kills.Load(), len(l.ids), lost, twice, l.unanswered.Load(), unasked, half)
	if lost+twice+half > 0 {
		t.Error("jobs were not done exactly once")
	}
}

// entries counts the numbers in the table ledger.
func (s *server) entries() map[string]int {
	s.t.Helper()
	return tally(s.output(`
		SELECT max(rowid) FROM ledger SET VALUE ?last
		SET ?from AS 0
		WHILE ?from < (?last DEFAULT 0) DO
			SELECT n FROM ledger WHERE rowid > ?from AND rowid <= ?from + 10000 SET ?rows
			EMIT LINE JOIN(COLUMN(?rows, "n"), "\n")
			SET ?from AS ?from + 10000
		END`))
}

// tally counts lines.
func tally(text string) map[string]int {
	found := map[string]int{}
	for line := range strings.FieldsSeq(text) {
		found[line]++
	}
	return found
}

// awaitIdle waits until no job is left to be done.
func (s *server) awaitIdle() {
	s.t.Helper()
	for _, state := range []string{"accepted", "running"} {
		for deadline := time.Now().Add(patience); ; {
			if s.listed(state) == 0 {
				break
			}
			if time.Now().After(deadline) {
				s.t.Fatalf("there are still jobs %s", state)
			}
		}
	}
}
