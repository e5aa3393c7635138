package backup_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"ql/internal/apptest"
	"ql/internal/backup"
)

// TestHeldFilesComeBack: what a job goes through comes with it, though no file has it any more.
func TestHeldFilesComeBack(t *testing.T) {
	s := apptest.Boot(t)
	const loop = `SET ?n AS 0 FOR ?line IN FILE "/a.txt" DO SET ?n AS ?n + LENGTH(?line) IF ?line = "line 3" THEN EMIT "" END END EMIT ?n`
	output(t, s.URL(), `WRITE JOIN(MAP(RANGE(1, 20000), ?i -> "line {?i}"), "\n") TO "/a.txt"`)
	want := output(t, s.URL(), loop)
	job, err := run(t.Context(), s.URL(), "sync", strings.Replace(loop, `EMIT ""`, `CONFIRM "Go on?"`, 1))
	if err != nil || job.Status != "paused" {
		t.Fatalf("the job is %+v, %v", job, err)
	}
	output(t, s.URL(), `REMOVE "/a.txt"`)
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := s.Settings
	again.Data = filepath.Join(t.TempDir(), "data")
	if _, err := backup.Restore(t.Context(), makeBackup(t, s, "one.tgz", true), again.Data, ""); err != nil {
		t.Fatal(err)
	}
	r := apptest.Start(t, again)
	if _, err := call(t.Context(), http.MethodPost, r.URL()+"/v1/confirm/"+job.JobID, map[string]any{"approved": true}); err != nil {
		t.Fatal(err)
	}
	if got := await(t, r.URL(), job.JobID); got.Status != "complete" || got.Result != want {
		t.Errorf("the job is %.300v, not complete with %s", got, want)
	}
}
