package main

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"

	"ql/bench/load"
)

func TestMain(m *testing.M) { load.RunTests(m, serveAsChild) }

// TestQuick runs a small round of all that the service serves: answers that are wrong fail it,
// figures do not. Peers are left out, since not every machine has them.
func TestQuick(t *testing.T) {
	var stdout bytes.Buffer
	if err := run(t.Context(), []string{"-quick", "-alone"}, &stdout, t.Output()); err != nil {
		t.Fatal(err)
	}
	for _, p := range pages() {
		if rows := strings.Count(stdout.String(), "| "+p.name+" | "+byQL+" |"); rows != 2 {
			t.Errorf("%d rows of %s, not 2:\n%s", rows, p.name, &stdout)
		}
	}
}

func TestWrongAnswersFail(t *testing.T) {
	plain := page{name: "x", want: []byte("hello")}
	if plain.check([]byte("hello")) != nil || plain.check([]byte("hullo")) == nil {
		t.Error("bodies are not compared")
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(plain.want); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	asked := page{name: "x", head: []string{"Accept-Encoding: gzip"}, want: plain.want}
	if asked.check(packed.Bytes()) != nil || asked.check(plain.want) == nil {
		t.Error("what is compressed is not read")
	}
}

// TestGoals: what is said to be reached is.
func TestGoals(t *testing.T) {
	p := page{name: "x"}
	ours, theirs := &target{page: &p, by: byQL}, &target{page: &p, by: byPHP}
	of := func(rate float64, p99 time.Duration, seconds float64) *load.Rounds {
		return &load.Rounds{
			Rate: []float64{rate}, P50: []time.Duration{p99}, P99: []time.Duration{p99}, Used: []load.Usage{{Seconds: seconds}},
			Load: []float64{5}, Equal50: []time.Duration{time.Millisecond}, Equal99: []time.Duration{time.Millisecond},
		}
	}
	f := newFigures([]*target{ours, theirs}, []*load.Rounds{of(20, 3*time.Millisecond, 0.05), of(10, 2*time.Millisecond, 0.2)})
	var b bytes.Buffer
	if err := f.write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"more than its rate | 2.00 | yes |", "p99 not above its own | 1.50 | no |", "nor at equal load | 1.00 | yes |", "| x | nginx, php-fpm | 10 | 2.00 |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing:\n%s", want, &b)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-each", "-1s"}, {"-connections", "0"}, {"-quick", "-alone", "-only", "none"}} {
		if run(t.Context(), args, &bytes.Buffer{}, t.Output()) == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
