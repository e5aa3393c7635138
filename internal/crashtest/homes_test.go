package crashtest

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/store/blob/s3/s3test"
	"ql/internal/store/postgres/pgtest"
)

// TestDatabasesAreAdopted has databases in the data folder, as an earlier version left them: the next start
// stores them with the others.
func TestDatabasesAreAdopted(t *testing.T) {
	t.Setenv("QL_DATABASE", pgtest.Start(t).Empty(t))
	s := newServer(t)
	s.start()
	s.output(`CREATE TABLE rows (n INTEGER); INSERT INTO rows VALUES (1), (2), (3);`)
	s.stop()
	found, err := fs.Glob(os.DirFS(s.data), "copies/*/databases/main.db")
	check(t, err)
	if len(found) != 1 {
		t.Fatalf("the copies are %v", found)
	}
	content, err := os.ReadFile(filepath.Join(s.data, found[0]))
	check(t, err)
	former := filepath.Join(s.data, strings.Replace(filepath.Dir(found[0]), "copies", "accounts", 1))
	check(t, os.MkdirAll(former, 0o700))
	check(t, os.WriteFile(filepath.Join(former, "former.db"), content, 0o600))
	// One that is there already is not touched, and one of nobody is left.
	check(t, os.WriteFile(filepath.Join(former, "main.db"), nil, 0o600))
	nobody := filepath.Join(s.data, "accounts", "4711", "databases")
	check(t, os.MkdirAll(nobody, 0o700))
	check(t, os.WriteFile(filepath.Join(nobody, "main.db"), content, 0o600))
	s.start()
	if got := s.output(`SELECT sum(n) FROM rows SET VALUE ?all USE DATABASE "former" SELECT sum(n) FROM rows SET VALUE ?former EMIT "{?all} {?former}"`); got != "6 6" {
		t.Errorf("the sums are %s", got)
	}
	if _, err := os.Lstat(filepath.Join(s.data, "accounts")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of before: %v", err)
	}
	s.stop()
}

// TestHomes has writers at three nodes while nodes are killed: each row that was acknowledged is there once, and no other
// node has a database whose changes it has not.
func TestHomes(t *testing.T) {
	nodes := newNodes(t, s3test.Start(t), 3)
	await(t, nodes[0], `CREATE TABLE rows (writer INTEGER, n INTEGER, PRIMARY KEY (writer, n));`)
	var mu sync.Mutex
	acknowledged := map[string]bool{}
	for round := range count(3, 300) {
		var writers sync.WaitGroup
		for w := range count(4, 16) {
			writers.Go(func() {
				for n := range 3 {
					row := fmt.Sprintf("%d, %d", w, 10*round+n)
					a, err := nodes[(w+n)%3].try(query("sync", fmt.Sprintf(`INSERT INTO rows VALUES (%s); EMIT "done"`, row)))
					if err == nil && a.status == http.StatusOK && strings.Contains(string(a.body), "done") {
						mu.Lock()
						acknowledged[row] = true
						mu.Unlock()
					}
				}
			})
		}
		killed := nodes[round%3]
		killed.kill()
		killed.start()
		writers.Wait()
	}
	if len(acknowledged) == 0 {
		t.Fatal("no row was acknowledged")
	}
	for n, s := range nodes {
		rows := await(t, s, `SELECT writer, n FROM rows ORDER BY 1, 2 SET ?rows FOR ?r IN ?rows DO EMIT "{?r.writer}, {?r.n};" END`)
		for row := range acknowledged {
			if strings.Count(";"+rows, ";"+row+";") != 1 {
				t.Errorf("at node %d the row %s is not there once: %s", n+1, row, rows)
			}
		}
	}
	for _, s := range nodes {
		s.stop()
	}
}

// await runs a script, again where it cannot be answered at the moment.
func await(t *testing.T, s *server, script string) string {
	t.Helper()
	return awaitOf(t, username, s, script)
}

// awaitOf is await for an account.
func awaitOf(t *testing.T, owner string, s *server, script string) string {
	t.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); ; <-ticker.C {
		a, err := s.try(queryOf(owner, "sync", script))
		check(t, err)
		if a.status == http.StatusOK {
			j, err := a.job()
			check(t, err)
			return j.Result
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s", a)
		}
	}
}
