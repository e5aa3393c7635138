package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"ql/bench/load"
)

func TestMain(m *testing.M) { load.RunTests(m, serveAsChild) }

// TestQuick runs a small round of everything: jobs that do not end as they
// should fail it, figures do not.
func TestQuick(t *testing.T) {
	var stdout bytes.Buffer
	if err := run(t.Context(), []string{"-quick"}, &stdout, t.Output()); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		"| 1 | sent to accepted |", "| 4 | accepted to complete |", "| 1 | confirm to answer |", "| 4 | accepted to running |",
		"| sync |", "| async |", "| the job's bookkeeping |", "| 32 | 100 |", "| 32 | 1000 |",
		"| accepted and completed by sync, 4 clients", "| the job's bookkeeping: under 50 MB |",
		"| 4 | ends at once |", "| a call by a job, of a script that writes a file, 1 client: within 2.00 |",
	} {
		if !strings.Contains(stdout.String(), row) {
			t.Errorf("no row %s:\n%s", row, &stdout)
		}
	}
}

func TestWrongAnswersFail(t *testing.T) {
	const good = `{"status":"complete","job_id":"1","result":"hello"}`
	if err := wantResult([]byte(good), "complete", "hello"); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{
		`{`, strings.Replace(good, "complete", "failed", 1), strings.Replace(good, "hello", "hullo", 1), strings.Replace(good, `"1"`, `""`, 1),
	} {
		if wantResult([]byte(bad), "complete", "hello") == nil {
			t.Errorf("%s passes", bad)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-each", "-1s"}, {"-rows", "0"}, {"-only", "none"}, {"-clients", "1,0"}} {
		if _, err := parse(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
	o, err := parse([]string{"-only", "rates,rows", "-clients", "7,9"}, &bytes.Buffer{})
	if err != nil || !o.wants(partRows) || o.wants(partBytes, partInside) || !slices.Equal(o.clients, []int{7, 9}) {
		t.Error(o, err)
	}
}

// TestGoals holds the bounds against figures at their edges.
func TestGoals(t *testing.T) {
	for _, c := range []struct {
		f    figures
		want string
	}{
		{figures{rates: []*rates{{clients: 1, sync: []float64{100}, completed: []float64{40}}}}, "| 0.40 | yes |"},
		{figures{rates: []*rates{{clients: 1, sync: []float64{100}, completed: []float64{39}}}}, "| 0.39 | no |"},
		{figures{progress: []progress{{clients: 1, running: []time.Duration{2 * time.Millisecond}}}}, "| 2.00 ms | no |"},
		{figures{called: []*called{{clients: 1, script: callScripts[0], job: spent{took: []time.Duration{100}}, child: spent{took: []time.Duration{201}}}}}, "| 2.01 | no |"},
		{figures{confirmed: []time.Duration{4 * time.Millisecond}}, "| 4.00 ms | yes |"},
		{figures{sync: &written{process: 5e6}, async: &written{process: 54e6, store: 1e6, account: 1e6}}, "| 49.00 MB | yes |"},
		{figures{sync: &written{}, async: &written{store: 20e6, account: 30e6}}, "| 50.00 MB | no |"},
		{figures{o: &options{}, beside: []*beside{{few: cost{took: []time.Duration{100}}, many: cost{took: []time.Duration{121}}}}}, "| 1.21 | no |"},
	} {
		var b strings.Builder
		c.f.writeGoals(&b)
		if !strings.Contains(b.String(), c.want) {
			t.Errorf("no %s in\n%s", c.want, &b)
		}
	}
}
