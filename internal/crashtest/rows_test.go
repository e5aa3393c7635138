package crashtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// moved adds rows to a table, writes them to a file, and adds those of the file to another
// table, each in one statement that takes a while, and counts what came of it.
const moved = `
	SET ?rows AS MAP(RANGE(1, NUMBER(!GET('rows'))), ?i -> {n: ?i, text: "{?i} {=REPEAT('x', 300)}"})
	IMPORT ?rows INTO moved SET ?r
	INSERT INTO log VALUES ('imported');
	SELECT n, text FROM moved ORDER BY n SET FILE "/moved.csv"
	INSERT INTO log VALUES ('written');
	IMPORT FILE "/moved.csv" INTO again SET ?f
	INSERT INTO log VALUES ('again');
	SELECT count(*) AS rows, sum(n) AS sum FROM again SET ROW ?again
	SELECT count(*) AS rows, count(DISTINCT n) AS n, sum(n) AS sum FROM moved SET ROW ?table
	SELECT count(*) FROM log SET VALUE ?log
	READ "/moved.csv" AS LINES SET ?lines
	EMIT "{?r.rows} {?table.rows} {?table.n} {?table.sum} {?log} {=COUNT(?lines)} {?f.rows} {?again.rows} {?again.sum}"`

// TestPromiseRowsMoveWhole kills the server in the middle of an IMPORT, in the middle of
// what SET FILE writes, and in the middle of an IMPORT FILE: nothing is seen of any before it is whole, and after it went on
// each has happened once.
func TestPromiseRowsMoveWhole(t *testing.T) {
	rows := count(30_000, 200_000)
	s := newServer(t)
	s.start()
	s.output(`CREATE TABLE log (what TEXT);`)
	id := s.submit(moved, "rows", fmt.Sprint(rows))
	// What does not fit into the cache goes into the database's log.
	isLog := func(path string) bool { return strings.HasSuffix(path, "-wal") }
	if s.awaitBytes(id, isLog, 5<<20) {
		t.Log("killed in the middle of the IMPORT")
	}
	s.kill()
	s.start()
	// The job goes on meanwhile, so that the table may be there.
	if n := s.output(`TRY SELECT count(*) FROM moved SET VALUE ?n CATCH ?err SET ?n AS ?err.code END EMIT ?n`); n != "no_such_table" && n != fmt.Sprint(rows) {
		t.Errorf("in the middle the table has %s rows", n)
	}
	s.mustSee(id, "imported")
	if s.awaitBytes(id, func(path string) bool { return !strings.Contains(filepath.Base(path), ".db") }, 4<<20) {
		t.Log("killed in the middle of the file")
	}
	s.kill()
	s.start()
	s.mustSee(id, "written")
	if s.awaitBytes(id, isLog, 3<<20) {
		t.Log("killed in the middle of the IMPORT FILE")
	}
	s.kill()
	s.start()
	n, sum := int64(rows), int64(rows)*int64(rows+1)/2
	want := fmt.Sprintf("%d %d %d %d 3 %d %d %d %d", n, n, n, sum, n+1, n, n, sum)
	if j := s.mustAwait(id, "complete"); j.Result != want {
		t.Errorf("the job left %q, not %q", j.Result, want)
	}
	if got := s.output(`SELECT count(*) FROM moved SET VALUE ?n EMIT ?n`); got != fmt.Sprint(rows) {
		t.Errorf("the table has %s rows", got)
	}
}

// mustSee waits until the job has written something to its log.
func (s *server) mustSee(id, what string) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if s.output(`SELECT count(*) FROM log WHERE what = !GET('what') SET VALUE ?n EMIT ?n`, "what", what) != "0" {
			return
		}
	}
	s.t.Fatalf("the job %s does not come to %q", id, what)
}

// awaitBytes waits until the files of the server that match have grown by so many bytes. It
// reports false where the job has ended before.
func (s *server) awaitBytes(id string, match func(path string) bool, more int64) bool {
	s.t.Helper()
	before := s.bytes(match)
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-look.C {
		if s.bytes(match)-before >= more {
			return true
		}
		a, err := s.call(request{method: "GET", path: "/v1/job/" + id})
		check(s.t, err)
		j, err := a.job()
		check(s.t, err)
		if j.finished() {
			return false
		}
	}
	s.t.Fatalf("the job %s writes nothing", id)
	return false
}

// bytes returns how many bytes the files of the server have that match.
func (s *server) bytes(match func(path string) bool) (total int64) {
	_ = filepath.WalkDir(s.data, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !match(path) {
			return nil //nolint:nilerr // files come and go
		}
		if info, err := os.Lstat(path); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}
