package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"ql/bench/load"
)

func TestMain(m *testing.M) { load.RunTests(m, serveAsChild) }

// TestQuickFiles runs a small round: contents that come back wrong fail it,
// figures do not.
func TestQuickFiles(t *testing.T) {
	var stdout bytes.Buffer
	// The children write to the same stderr at the same time: a file can take it.
	if err := run(t.Context(), []string{"-quick", "-only", "files"}, &stdout, os.Stderr); err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{copied, uploaded, fetched} {
		if !strings.Contains(stdout.String(), "| "+way+" | ") {
			t.Errorf("there is no row of %s:\n%s", way, &stdout)
		}
	}
	if !strings.Contains(stdout.String(), "Peak memory of the service: ") {
		t.Errorf("nothing of its memory:\n%s", &stdout)
	}
}

// TestQuickSQL runs a small round: a script that comes to another result than
// the binding fails it.
func TestQuickSQL(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), []string{"-quick", "-only", "sql"}, &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	for _, c := range sqlCases() {
		if !strings.Contains(stdout.String(), "| "+c.name+" | ") {
			t.Errorf("there is no row of %s:\n%s", c.name, &stdout)
		}
	}
}

// TestQuickFetch runs a small round: replies that are missing, or in another order, fail it.
func TestQuickFetch(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), []string{"-quick", "-only", "fetch"}, &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	for _, way := range []string{bareLoop, fetchAll, fetchIn, noFetch} {
		if !strings.Contains(stdout.String(), "| "+way+" | ") {
			t.Errorf("there is no row of %s:\n%s", way, &stdout)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-mib", "-1"}, {"-only", "none"}} {
		if run(t.Context(), args, &bytes.Buffer{}, &bytes.Buffer{}) == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
