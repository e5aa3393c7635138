package main

import (
	"bytes"
	"strings"
	"testing"

	"ql/bench/load"
)

func TestMain(m *testing.M) { load.RunTests(m, asChild) }

// TestQuick measures a moment of everything: a neighbour who is refused fails it, figures do not.
func TestQuick(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), []string{"-quick"}, &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	for _, row := range []string{"| alone |", "| beside 5 endless modules |", "| beside 5 hostile modules |", "| beside 4 modules that grow |", "| beside modules that are compiled |"} {
		if !strings.Contains(stdout.String(), row) {
			t.Errorf("there is no row %s:\n%s", row, &stdout)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-each", "-1s"}, {"-modules", "0"}, {"-growing", "0"}} {
		if run(t.Context(), args, &bytes.Buffer{}, t.Output()) == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
