package crashtest

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// throughFile goes through a file of numbers, and leaves something of every hundredth row: in
// a file, and in a database. At the first row it replaces the file that it goes through.
const throughFile = `
	SET ?sum AS 0
	FOR ?row IN FILE "/rows/{!GET('n')}.csv" AT ?line BAD ?bad DO
		SET ?sum AS ?sum + NUMBER(?row.n)
		IF ?line = 2 THEN
			WRITE "n,text\n1,another\n" TO "/rows/{!GET('n')}.csv"
		END
		IF NUMBER(?row.n) % 100 = 0 THEN
			APPEND "x" TO FILE "/rows/{!GET('n')}.txt"
			INSERT INTO seen VALUES (!GET('n'), ?line);
		END
	END
	READ "/rows/{!GET('n')}.txt" AS TEXT SET ?log
	SELECT count(*) AS n, count(DISTINCT line) AS d FROM seen WHERE job = !GET('n') SET ROW ?row
	EMIT "{?sum} {=LENGTH(?log)} {?row.n} {?row.d} {=COUNT(?bad)}"`

// TestPromiseRowsExactlyOnce kills the server while jobs go through files that are replaced
// meanwhile: each goes on at its row, through what its file was.
func TestPromiseRowsExactlyOnce(t *testing.T) {
	const rows = 4_000
	kills := int64(count(3, 50))
	s := newServer(t)
	s.start()
	s.output(`CREATE TABLE seen (job TEXT, line INTEGER);`)
	jobs := 0
	for ; s.kills.Load() < kills && !t.Failed(); jobs += 3 {
		ids := make([]string, 3)
		for i := range ids {
			n := strconv.Itoa(jobs + i)
			s.output(`
				SET ?lines AS MAP(RANGE(1, NUMBER(!GET('rows'))), ?i -> "{?i},some text")
				WRITE "n,text\n" + JOIN(?lines, "\n") + "\nragged\n" TO "/rows/{!GET('n')}.csv"`, "n", n, "rows", strconv.Itoa(rows))
			ids[i] = s.submit(throughFile, "n", n)
		}
		stop := s.killing(upTo(150 * time.Millisecond))
		for _, id := range ids {
			j := s.mustAwait(id, "complete")
			if want := "8002000 40 40 40 1"; j.Result != want {
				t.Errorf("the job %s left %q, not %q", id, j.Result, want)
			}
		}
		stop()
		if said := s.command("", "job", "replay", ids[0], "--check"); strings.Contains(said, "leaves") {
			t.Errorf("the job %s: %s", ids[0], said)
		}
	}
	t.Logf("%d jobs through %d rows each, exact under %d kills", jobs, rows, s.kills.Load())
}
