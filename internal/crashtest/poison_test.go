package crashtest

import (
	"testing"
	"time"
)

// TestCrashLoopEnds kills the server each time that a job computes: after three times
// the job has failed by name, and one that merely stood in the way goes on.
func TestCrashLoopEnds(t *testing.T) {
	s := newServer(t)
	s.start()
	id := s.submit("EMIT 'begun'\nSET ?n AS 0\nFOR ?i FROM 1 TO 100000000000 DO\nSET ?n AS ?n + 1\nEND\nEMIT ?n")
	waits := s.submit("WAIT 1 SECOND\nEMIT 'went on'")
	for range 3 {
		began := time.Now()
		for s.mustAwait(id, "running").Result != "begun" || time.Since(began) < 1500*time.Millisecond { // nothing of it is stored
			<-time.After(20 * time.Millisecond)
		}
		s.kill()
		s.start()
	}
	if j := s.mustAwait(id, "failed"); j.code() != "crashed" {
		t.Errorf("it failed with %s", j.code())
	}
	if j := s.mustAwait(waits, "complete"); j.Result != "went on" {
		t.Errorf("the other gave %q", j.Result)
	}
}
