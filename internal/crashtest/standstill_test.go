package crashtest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"ql/internal/store/postgres/pgtest"
)

// TestPromiseStandstill pauses PostgreSQL for five seconds at a time, as a machine does that is moved elsewhere. Whoever
// calls meanwhile is told within two seconds that the storage cannot be used, and within ten seconds afterwards all
// is well again, with each job that was accepted done once.
func TestPromiseStandstill(t *testing.T) {
	database := pgtest.Start(t)
	t.Setenv("QL_DATABASE", database.Empty(t))
	s := newServer(t)
	s.start()
	const pause, told, well = 5 * time.Second, 2 * time.Second, 10 * time.Second
	s.output(`WRITE "" TO "/done.txt" EMIT 1`)
	accepted := 0
	submit := func() (answer, time.Duration) {
		began := time.Now()
		a, err := s.try(query("async", `APPEND "x" TO FILE "/done.txt" WAIT 0.01 SECONDS EMIT 1`))
		check(t, err)
		if a.status/100 == 2 {
			accepted++
		}
		return a, time.Since(began)
	}
	for range count(1, 3) {
		if a, _ := submit(); a.status/100 != 2 {
			t.Fatalf("%s", a)
		}
		resume := database.Pause(t)
		for began := time.Now(); time.Since(began) < pause; {
			a, took := submit()
			if a.status != http.StatusServiceUnavailable || !strings.Contains(string(a.body), "storage_unavailable") || took > told {
				t.Errorf("while the database stands still, after %s: %s", took, a)
			}
			readyBegan := time.Now()
			a, err := s.try(request{method: http.MethodGet, path: "/readyz"})
			check(t, err)
			if took := time.Since(readyBegan); a.status != http.StatusServiceUnavailable || took > told {
				t.Errorf("while the database stands still it is ready, after %s: %s", took, a)
			}
		}
		resume()
		for resumed := time.Now(); ; {
			a, err := s.try(request{method: http.MethodGet, path: "/readyz"})
			check(t, err)
			if a.status == http.StatusOK {
				if a, _ := submit(); a.status/100 == 2 {
					break
				}
			}
			if took := time.Since(resumed); took > well {
				t.Fatalf("%s after the database goes on: %s", took, a)
			}
		}
	}
	want := strings.Repeat("x", accepted)
	for deadline := time.Now().Add(patience); ; {
		got := s.output(`READ "/done.txt" AS TEXT SET ?text EMIT ?text`)
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("of %d jobs that were accepted %d are done", accepted, len(got))
		}
	}
}
