package databases

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"ql/internal/fault"
	"ql/lang/bytecode"
)

// TestFileThatMayNotBeWritten: that is a fault of the service, which the log tells by
// its file, and no script is blamed for it; what may be read is read.
func TestFileThatMayNotBeWritten(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a)")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(d.options.Folder, "main.db")
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 { // who may write whatever the mode is
		const nobody = 65534
		for p := d.options.Folder; strings.HasPrefix(p, os.TempDir()) && p != os.TempDir(); p = filepath.Dir(p) {
			if err := os.Chmod(p, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range []string{path, d.options.Folder} {
			if err := os.Chown(p, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
		runtime.LockOSThread() // and never unlock: the thread ends with the test
		if err := syscall.Setfsuid(nobody); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := syscall.Setfsuid(0); err != nil {
				t.Error(err)
			}
		}()
	}
	again := open(t, Options{Folder: d.options.Folder})
	for _, sql := range []string{"INSERT INTO t VALUES (1)", "CREATE TABLE u(a)"} {
		_, err := again.Query(t.Context(), "", query(bytecode.SQLRows, sql))
		if !fault.Is(err, fault.StorageUnavailable) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if got := rows(t, again, "SELECT count(*) AS n FROM t"); got != `[{"n":0}]` {
		t.Errorf("reading: %s", got)
	}
}
