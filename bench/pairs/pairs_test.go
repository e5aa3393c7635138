package main

import (
	"bytes"
	"strings"
	"testing"

	"ql/bench/load"
)

func TestMain(m *testing.M) { load.RunTests(m, serveAsChild) }

// TestQuick measures the program beside itself: answers that are wrong fail it, figures
// do not.
func TestQuick(t *testing.T) {
	var stdout bytes.Buffer
	if err := run(t.Context(), []string{"-rounds", "2", "-each", "20ms", "-clients", "1,4"}, &stdout, t.Output()); err != nil {
		t.Fatal(err)
	}
	if rows := strings.Count(stdout.String(), "µs | "); rows != 8 {
		t.Errorf("%d figures, not 8:\n%s", rows, &stdout)
	}
	t.Log(stdout.String())
}

func TestWrongUse(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-clients", "many"}} {
		if err := run(t.Context(), args, t.Output(), t.Output()); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
