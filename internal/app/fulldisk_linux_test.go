package app_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ql/internal/app"
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
	// One that cannot be stored at a question has failed there.
	stands := query(t, b.URL(), "dev", "dev", "SET ?x AS REPEAT(\"x\", 500000)\nCONFIRM \"Sure?\"")
	if stands.status != 503 || !strings.Contains(stands.body, `"step":"CONFIRM","status":"Error"`) || !strings.Contains(stands.body, `"line":2,"column":1,"step":"CONFIRM"`) {
		t.Errorf("a question: %d %s", stands.status, stands.body)
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

// TestDeadContentMakesRoom: what files held before is removed where the disk is
// full, though their account has room for it.
func TestDeadContentMakesRoom(t *testing.T) {
	folder := t.TempDir()
	if !smallDisk(t, folder, 32) {
		return
	}
	b := apptest.Boot(t, func(s *config.Settings) { s.Data = filepath.Join(folder, "data") })
	// The store's log has its full size then: where that has no room to grow, nothing can be
	// removed, for what is to be removed is written down first.
	if a := query(t, b.URL(), "dev", "dev", `FOR ?i FROM 1 TO 500 DO WRITE "{?i}" TO "/small" END EMIT "done"`); a.Result != "done" {
		t.Fatal(a.body)
	}
	for i := range 12 {
		script := fmt.Sprintf(`SET ?x AS REPEAT("x", 900000) FOR ?i FROM 1 TO 5 DO WRITE "%02d{?i}{?x}" TO "/large" END EMIT "done"`, i)
		if a := query(t, b.URL(), "dev", "dev", script); a.Result != "done" {
			t.Fatalf("round %d: %d %s", i, a.status, a.body)
		}
	}
	if a := query(t, b.URL(), "dev", "dev", `READ "/large" SET ?s EMIT LENGTH(?s)`); a.Result != "900003" {
		t.Errorf("what is there: %d %s", a.status, a.body)
	}
}

// TestFullStoreMakesRoom: where the disk has no room for the store's own log, dead content is
// removed all the same, though that is written down first.
func TestFullStoreMakesRoom(t *testing.T) {
	folder := t.TempDir()
	if !smallDisk(t, folder, 32) {
		return
	}
	b := apptest.Boot(t, func(s *config.Settings) { s.Data = filepath.Join(folder, "data") })
	reserve := filepath.Join(folder, "data", "ql.reserve")
	write := func(round int) {
		t.Helper()
		a := query(t, b.URL(), "dev", "dev", fmt.Sprintf(`SET ?x AS REPEAT("x", 900000) FOR ?i FROM 1 TO 5 DO WRITE "%02d{?i}{?x}" TO "/large" END EMIT "done"`, round))
		if a.Result != "done" {
			t.Fatalf("round %d: %d %s", round, a.status, a.body)
		}
		if round == 0 {
			awaitRecord(t, b.URL(), a.JobID) // one that finds the disk full would make room for itself
		}
	}
	write(0)
	fill(t, filepath.Join(folder, "filler"))
	write(1)
	if info, err := os.Stat(reserve); err != nil || info.Size() == 0 {
		t.Errorf("the reserve is not there again: %v, %v", info, err)
	}
}

// TestRecordMakesRoom: where the disk has no room for a record, dead content is removed for it.
func TestRecordMakesRoom(t *testing.T) {
	folder := t.TempDir()
	if !smallDisk(t, folder, 32) {
		return
	}
	b := apptest.Boot(t, func(s *config.Settings) { s.Data = filepath.Join(folder, "data") })
	if a := query(t, b.URL(), "dev", "dev", `SET ?x AS REPEAT("x", 900000) FOR ?i FROM 1 TO 5 DO WRITE "{?i}{?x}" TO "/large" END EMIT "done"`); a.Result != "done" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	fill(t, filepath.Join(folder, "filler"))
	if a := query(t, b.URL(), "dev", "dev", `EMIT REPEAT("x", 3000000)`); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	// Stopping is an error where a record is lost.
}

// TestStopOnFullDisk: a record that cannot be stored does not keep the service from
// stopping, which tells that it is lost.
func TestStopOnFullDisk(t *testing.T) {
	folder := t.TempDir()
	if !smallDisk(t, folder, 16) {
		return
	}
	s := apptest.Settings(t, func(s *config.Settings) { s.Data, s.StopTimeout = filepath.Join(folder, "data"), time.Nanosecond })
	log := &apptest.Log{}
	service := app.New(s, app.Options{Log: slog.New(slog.NewJSONHandler(log, nil))})
	if err := service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	fill(t, filepath.Join(folder, "filler"))
	if a := query(t, service.URL(), "dev", "dev", `EMIT REPEAT("x", 100000)`); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	err := service.Stop(context.Background())
	const want = "the record of 1 job is lost: it could not be stored in time"
	if err == nil || !strings.Contains(err.Error(), want) || !log.Has(want) {
		t.Errorf("the stop says %v, and the log %s", err, log)
	}
}

// awaitRecord waits until the record of a call of the developer is stored.
func awaitRecord(t *testing.T, base, id string) {
	t.Helper()
	for {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/v1/jobs?limit=5", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("dev", "dev")
		a := send(t, req)
		if a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.body)
		}
		if strings.Contains(a.body, id) {
			return
		}
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
