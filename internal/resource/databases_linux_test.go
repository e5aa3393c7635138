package resource

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/store/sqlite"
	"ql/lang/bytecode"
)

// TestPromiseManyDatabases uses thousands of databases of many accounts: few of
// their files are open at a time, and none is lost.
func TestPromiseManyDatabases(t *testing.T) {
	const accounts = maxIdle + 32
	each := 13
	if os.Getenv("QL_PROMISES") != "" {
		each = 32
	}
	folder := t.TempDir()
	store, err := sqlite.Open(t.Context(), sqlite.Options{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	r := New(Options{Folder: filepath.Join(folder, sqlite.AccountFolder), Usage: store.Files()})
	before := openFiles(t)
	// A connection has the database, its journal and the journal's index open; a
	// database one that writes and two that read.
	const perDatabase, users = 3 * 3, 8
	most := before + (maxIdle+users)*maxOpen*perDatabase
	var peak atomic.Int64
	run := func(sql string, want func(account, n int) string) {
		var wg sync.WaitGroup
		for user := range users {
			wg.Go(func() {
				for i := user; i < accounts*each; i += users {
					id, n := i%accounts+1, i/accounts
					h := r.acquire(account.ID(id))
					v, err := h.databases.Query(t.Context(), fmt.Sprintf("db%d", n), engine.Query{Statement: &bytecode.Statement{
						Head: sql[:6], Mode: bytecode.SQLValue, Texts: []string{fmt.Sprintf(sql, id, n)},
					}})
					r.release(h)
					if err != nil {
						t.Error(err)
						return
					}
					if want != nil && (!v.IsText() || v.Str() != want(id, n)) {
						t.Errorf("the database %d of %d has %v", n, id, v)
					}
					if i%64 == 0 {
						peak.Store(max(peak.Load(), int64(openFiles(t))))
					}
				}
			})
		}
		wg.Wait()
	}
	run("CREATE TABLE t AS SELECT '%d %d' AS a", nil)
	run("SELECT a FROM t -- %d %d", func(id, n int) string { return fmt.Sprintf("%d %d", id, n) })
	t.Logf("%d databases of %d accounts: at most %d files open, %d before", accounts*each, accounts, peak.Load(), before)
	if int(peak.Load()) > most {
		t.Errorf("%d files were open, which is more than %d", peak.Load(), most)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if after := openFiles(t); after > before+2 { // what the runtime opens for itself
		t.Errorf("%d files stay open, %d were before", after, before)
	}
}

// openFiles counts the open files but the store's, which opens connections as it is asked.
func openFiles(t *testing.T) (n int) {
	const folder = "/proc/self/fd"
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Error(err)
	}
	for _, e := range entries {
		// One that is closed meanwhile has no name, and is counted.
		if name, _ := os.Readlink(filepath.Join(folder, e.Name())); !strings.HasPrefix(filepath.Base(name), "ql.db") {
			n++
		}
	}
	return n
}
