package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"ql/bench/load"
)

func TestMain(m *testing.M) { load.RunTests(m, serveAsChild) }

// TestQuick runs a small round of everything: answers that are not as they should be fail it, figures do not.
func TestQuick(t *testing.T) {
	var stdout bytes.Buffer
	if err := run(t.Context(), []string{"-quick"}, &stdout, t.Output()); err != nil {
		t.Fatal(err)
	}
	for i := range goals {
		if !strings.Contains(stdout.String(), "\n| "+goals[i].shown+" |") {
			t.Errorf("no row %s:\n%s", goals[i].shown, &stdout)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-each", "-1s"}, {"-clients", "0"}, {"-only", "none"}, {"-jobs", "0"}} {
		if _, err := parse(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
	o, err := parse([]string{"-only", "sync,claims", "-clients", "7"}, &bytes.Buffer{})
	if err != nil || !o.wants(partClaims) || o.wants(partRead, partRotation) || o.clients != 7 {
		t.Error(o, err)
	}
}

// TestGoals holds the bounds against figures at their edges.
func TestGoals(t *testing.T) {
	for _, c := range []struct {
		part       string
		own, other float64
		want       string
	}{
		{partSync, 85, 100, "| 0.85 | ≥ 0.85 | yes |"},
		{partSync, 84, 100, "| 0.84 | ≥ 0.85 | no |"},
		{partStatements, 3.3, 3, "| 1.10 | ≤ 1.1 | yes |"},
		{partStatements, 3.4, 3, "| 1.13 | ≤ 1.1 | no |"},
		{partRotation, 20, 1, "| 20.0 ms | ≤ 20 | yes |"},
		{partRotation, 21, 100, "| 21.0 ms | ≤ 20 | no |"},
	} {
		f := figures{}
		f.add(c.part, c.own, c.other)
		if text := f.text(); !strings.Contains(text, c.want) {
			t.Errorf("no %s in\n%s", c.want, text)
		}
	}
	for _, part := range allParts {
		if !slices.ContainsFunc(goals, func(g goal) bool { return g.part == part }) {
			t.Errorf("%s has no goal", part)
		}
	}
}

func TestWrongAnswersFail(t *testing.T) {
	const good = `{"status":"complete","result":"hello"}`
	if err := wantResult([]byte(good), "complete", "hello"); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{`{`, strings.Replace(good, "complete", "failed", 1), strings.Replace(good, "hello", "hullo", 1)} {
		if wantResult([]byte(bad), "complete", "hello") == nil {
			t.Errorf("%s passes", bad)
		}
	}
}

// TestPromiseBesideMillions: a job costs what it cost when there were few. The small count has a thousand, beside which no
// figure says anything.
func TestPromiseBesideMillions(t *testing.T) {
	args, isFull := []string{"-only", partBeside}, os.Getenv("QL_PROMISES") == "1"
	if !isFull {
		args = append(args, "-quick")
	}
	o, err := parse(args, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	var shown bytes.Buffer
	all, err := measureAll(t.Context(), o, &shown)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(shown.String())
	for i := range goals {
		if g := &goals[i]; g.part == partBeside {
			if figure, ok := g.reached(all[partBeside]); !ok && isFull {
				t.Errorf("%s is %s", g.shown, figure)
			}
		}
	}
}
