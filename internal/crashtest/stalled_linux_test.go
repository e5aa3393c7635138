package crashtest

import (
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestPromiseStallsAreWaitedOut stops the server, or its disk, for longer than a script
// waits for another, while jobs change one database: each is done once, and none is
// told that the database was busy.
func TestPromiseStallsAreWaitedOut(t *testing.T) {
	const stall = 7 * time.Second
	const script = `TRY INSERT INTO ran VALUES (!GET('n')); CATCH ?e APPEND "{!GET('n')} {?e.code} " TO FILE "/caught.txt" END`
	for _, test := range []struct {
		name  string
		stall func(s *server) (over func())
	}{
		{"the process", func(s *server) func() {
			check(t, s.process.Process.Signal(syscall.SIGSTOP))
			resumed := make(chan error)
			time.AfterFunc(stall, func() { resumed <- s.process.Process.Signal(syscall.SIGCONT) })
			return func() { check(t, <-resumed) }
		}},
		{"the disk", func(s *server) func() {
			found, err := filepath.Glob(filepath.Join(s.data, "accounts", "*", "*", "main.db-wal"))
			check(t, err)
			if len(found) != 1 {
				t.Fatalf("the databases are %v", found)
			}
			file, err := filepath.Rel(s.data, found[0])
			check(t, err)
			mend := s.broken(fmt.Sprintf("fsync,fdatasync:delay_enter=%d", 2*stall.Microseconds()), file)
			mended := make(chan struct{})
			time.AfterFunc(stall, func() { mend(); close(mended) })
			return func() { <-mended }
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // a stall takes its time
			s := newServer(t)
			s.start()
			s.output(`CREATE TABLE ran (n TEXT);`)
			jobs := count(400, 4000)
			ids := make([]string, jobs)
			var sending sync.WaitGroup
			for client := range 8 {
				sending.Go(func() {
					for i := client; i < jobs; i += 8 {
						ids[i] = s.submit(script, "n", strconv.Itoa(i))
					}
				})
			}
			s.submit(`EMIT "under way"`)
			over := test.stall(s)
			sending.Wait()
			for _, id := range ids {
				s.mustAwait(id, "complete")
			}
			over()
			if got, want := s.output(`SELECT count(*) || ' ' || count(DISTINCT n) FROM ran SET VALUE ?all EMIT ?all`), fmt.Sprintf("%d %[1]d", jobs); got != want {
				t.Errorf("the rows and numbers are %s, want %s", got, want)
			}
			if got := s.output(`LIST "/" SET ?files EMIT COUNT(?files)`); got != "0" {
				t.Errorf("jobs caught an error: %s", s.output(`READ "/caught.txt" SET ?t EMIT ?t`))
			}
		})
	}
}
