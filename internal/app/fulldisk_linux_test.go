package app_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ql/internal/apptest"
	"ql/internal/config"

	"golang.org/x/sys/unix"
)

// insideEnv marks the process that has a namespace of its own.
const insideEnv = "QL_TEST_NAMESPACE"

// smallDisk mounts a disk of so many MiB on a folder. Who may not do that does
// it in a namespace of its own, where the test runs again; then it reports
// false.
func smallDisk(t *testing.T, folder string, mib int) bool {
	t.Helper()
	err := unix.Mount("none", folder, "tmpfs", 0, fmt.Sprintf("size=%dm", mib))
	if errors.Is(err, unix.EPERM) && os.Getenv(insideEnv) == "" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		again.Env = append(os.Environ(), insideEnv+"=1")
		again.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("in a namespace: %v\n%s", err, out)
		}
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return true
}

// TestFullDisk: what the full disk does not take is refused as a fault of the
// service that passes, nothing of it stays, and all goes on once there is room.
func TestFullDisk(t *testing.T) {
	folder := t.TempDir()
	if !smallDisk(t, folder, 16) {
		return
	}
	b := apptest.Boot(t, func(s *config.Settings) { s.Data = filepath.Join(folder, "data") })
	const large = `WRITE REPEAT("x", 500000) TO "/large"`
	const rows = `INSERT INTO t SELECT hex(zeroblob(400000));`
	if a := query(t, b.URL(), "dev", "dev", `CREATE TABLE t (x); WRITE "small" TO "/small" START SESSION SET "a" AS 1 OF !SESSION EMIT "done"`); a.Result != "done" {
		t.Fatal(a.body)
	}
	filler := filepath.Join(folder, "filler")
	fill(t, filler)
	for what, script := range map[string]string{
		"a file":          large,
		"rows":            rows,
		"a new database":  `USE DATABASE "other" CREATE TABLE t (x);`,
		"in transactions": `TRANSACTION ` + rows + ` ` + rows + ` END`,
	} {
		a := query(t, b.URL(), "dev", "dev", `TRY `+script+` CATCH EMIT "caught" END`)
		if a.status != 503 || a.header.Get("Retry-After") == "" || !strings.Contains(a.body, "storage_unavailable") {
			t.Errorf("%s: %d %s %v", what, a.status, a.body, a.header)
		}
	}
	// What is there can still be read.
	if a := query(t, b.URL(), "dev", "dev", `READ "/small" SET ?s EMIT ?s`); a.Result != "small" {
		t.Errorf("reading: %d %s", a.status, a.body)
	}
	if found := temporaries(t, filepath.Join(b.Settings.Data, "blobs")); len(found) > 0 {
		t.Errorf("%v is left", found)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	a := query(t, b.URL(), "dev", "dev", rows+` `+large+` SELECT count(*) FROM t SET VALUE ?n LIST "/" SET ?files EMIT ?n, " ", COUNT(?files)`)
	if a.Result != "1 2" {
		t.Errorf("with room again: %d %s", a.status, a.body)
	}
}

// fill fills the disk with one file.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := 1 << 20; size > 0; {
		n, err := f.Write(make([]byte, size))
		if n < size || err != nil {
			size /= 2
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// temporaries returns the files below a folder that a write left unfinished.
func temporaries(t *testing.T, folder string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && len(filepath.Base(path)) != 62 {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
