package crashtest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// twenty has twenty effects on the account's data: in each of four rounds one on
// a file, one on a session, and three on databases, two of them in a
// transaction. The jobs begin together, when all are there.
const twenty = `
	WAIT UNTIL !GET('at')
	START SESSION
	FOR ?i FROM 1 TO 4 DO
		INSERT INTO steps VALUES (!GET('n'), ?i);
		APPEND "x" TO FILE "/steps/{!GET('n')}.txt"
		SET "n" AS (!SESSION('n') DEFAULT 0) + 1 OF !SESSION
		TRANSACTION
			UPDATE counters SET n = n + 1 WHERE job = !GET('n');
			INSERT INTO steps VALUES (!GET('n'), ?i + 100);
		END
	END
	READ "/steps/{!GET('n')}.txt" AS TEXT SET ?log
	SELECT count(*) AS n, count(DISTINCT n) AS d FROM steps WHERE job = !GET('n') SET ROW ?row
	SELECT n FROM counters WHERE job = !GET('n') SET VALUE ?counter
	EMIT "{?log} {?row.n} {?row.d} {?counter} {=!SESSION('n')}"`

// TestPromiseStepsExactlyOnce kills the server every 150 ms that it serves while
// jobs of twenty effects are under way: the counters that they leave in files,
// sessions and databases are exact.
func TestPromiseStepsExactlyOnce(t *testing.T) {
	atOnce, kills := count(20, 100), int64(count(4, 50))
	s := newServer(t)
	s.start()
	s.output(`CREATE TABLE steps (job TEXT, n INTEGER); CREATE TABLE counters (job TEXT PRIMARY KEY, n INTEGER);`)
	jobs := 0
	for ; s.kills.Load() < kills && !t.Failed(); jobs += atOnce {
		for _, id := range s.runSteps(jobs, atOnce)[:replayed] {
			// However often it was killed on its way, its history has no hole.
			if said := s.command("", "job", "replay", id, "--check"); !strings.Contains(said, "ends in the same state") && !strings.Contains(said, "was not recorded") {
				t.Errorf("the job %s: %s", id, said)
			}
		}
	}
	want := fmt.Sprintf("%d %d", 8*jobs, 4*jobs)
	if got := s.output(`SELECT count(*) FROM steps SET VALUE ?steps SELECT sum(n) FROM counters SET VALUE ?sum EMIT "{?steps} {?sum}"`); got != want {
		t.Errorf("the tables hold %s in all, not %s", got, want)
	}
	t.Logf("%d jobs of 20 effects, %d at once, exact under %d kills", jobs, atOnce, s.kills.Load())
}

// replayed is how many of the jobs are replayed that ran together.
const replayed = 5

// runSteps runs jobs with numbers from first on, under kills, and returns their ids. Each life is a sixteenth longer than the
// one before: on a slow machine too there comes one that is long enough for the step at hand.
func (s *server) runSteps(first, jobs int) []string {
	next := time.Duration(count(50, 150)) * time.Millisecond
	return s.runStepsKilling(first, jobs, func() time.Duration {
		life := next
		next += next / 16
		return life
	})
}

// runStepsKilling is runSteps with lives of the server between kills.
func (s *server) runStepsKilling(first, jobs int, life func() time.Duration) []string {
	s.t.Helper()
	s.output(`
		SET ?first AS NUMBER(!GET('first'))
		FOR ?i FROM 0 TO NUMBER(!GET('jobs')) - 1 DO
			INSERT INTO counters VALUES (?first + ?i, 0);
		END`, "first", strconv.Itoa(first), "jobs", strconv.Itoa(jobs))
	ids := make([]string, jobs)
	at := time.Now().Add(300*time.Millisecond + time.Duration(jobs)*10*time.Millisecond)
	for i := range ids {
		ids[i] = s.submit(twenty, "n", strconv.Itoa(first+i), "at", at.UTC().Format(time.RFC3339Nano))
	}
	stop := s.killing(life)
	defer stop()
	for i, id := range ids {
		// Each job has a session of its own, as its caller sent no cookie.
		if j := s.mustAwait(id, "complete"); j.Result != "xxxx 8 8 4 4" {
			s.t.Errorf("job %d left %q, not %q", first+i, j.Result, "xxxx 8 8 4 4")
		}
	}
	return ids
}
