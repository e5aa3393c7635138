package main

import (
	"bytes"
	"strings"
	"testing"

	"ql/bench/load"
)

func TestMain(m *testing.M) { load.RunTests(m, serveAsChild) }

// TestQuick runs a small round of everything: answers that are wrong fail it,
// figures do not.
func TestQuick(t *testing.T) {
	var stdout bytes.Buffer
	if err := run(t.Context(), []string{"-quick"}, &stdout, t.Output()); err != nil {
		t.Fatal(err)
	}
	for _, s := range scripts() {
		for _, called := range []string{asBare, asJSON, asForm} {
			if rows := strings.Count(stdout.String(), "| "+s.name+" | "+called+" |"); rows != 2 {
				t.Errorf("%d rows of %s, %s, not 2:\n%s", rows, s.name, called, &stdout)
			}
		}
	}
}

func TestWrongAnswersFail(t *testing.T) {
	s := script{name: "x", result: "hello", steps: []string{"EMIT"}}
	const good = `{"status":"ok","job_id":"1","result":"hello","trace":[{"step":"EMIT"}]}`
	if err := s.checkJSON([]byte(good)); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{
		`{`, strings.Replace(good, "ok", "failed", 1), strings.Replace(good, "hello", "hullo", 1), strings.Replace(good, `{"step":"EMIT"}`, "", 1),
	} {
		if s.checkJSON([]byte(bad)) == nil {
			t.Errorf("%s passes", bad)
		}
	}
	if s.checkText([]byte("hello")) != nil || s.checkText([]byte("hello\n")) == nil {
		t.Error("texts are not compared")
	}
}

func TestOptions(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-each", "-1s"}, {"-connections", "0"}, {"-quick", "-script", "none"}} {
		if run(t.Context(), args, &bytes.Buffer{}, t.Output()) == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
