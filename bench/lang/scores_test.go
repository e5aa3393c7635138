package main

import (
	"math"
	"strings"
	"testing"
	"time"
)

func record(t *testing.T, s *scores, engine, program string, ms int) {
	t.Helper()
	if err := s.record(engine, program, "7", time.Duration(ms)*time.Millisecond); err != nil {
		t.Fatal(err)
	}
}

func TestTables(t *testing.T) {
	s := newScores([]string{"fib", "loop"}, []string{oursName, referenceName, "goja"})
	record(t, s, oursName, "fib", 300)
	record(t, s, oursName, "fib", 100) // the best of two counts
	record(t, s, oursName, "fib", 200)
	record(t, s, oursName, "loop", 9)
	record(t, s, referenceName, "fib", 50)
	record(t, s, referenceName, "loop", 18)
	record(t, s, "goja", "fib", 400)
	record(t, s, "goja", "loop", 90)
	want := `Milliseconds, best of the rounds

| engine | fib | loop | mean vs lua5.4 |
|---|---:|---:|---:|
| ql | 100 | 9.0 | 1.00 |
| lua5.4 | 50 | 18.0 | 1.00 |
| goja | 400 | 90 | 6.32 |

Time of ql ÷ time of the peer (below 1: ql is faster)

| engine | fib | loop | mean |
|---|---:|---:|---:|
| lua5.4 | 2.00 | 0.50 | 1.00 |
| goja | 0.25 | 0.10 | 0.16 |

Geometric mean of ql vs lua5.4: 1.00
`
	var got strings.Builder
	if err := s.write(&got); err != nil {
		t.Fatal(err)
	}
	if got.String() != want {
		t.Errorf("tables:\n%s\nwant:\n%s", got.String(), want)
	}
}

func TestTablesWithoutReference(t *testing.T) {
	s := newScores([]string{"fib"}, []string{oursName, "goja"})
	record(t, s, oursName, "fib", 100)
	record(t, s, "goja", "fib", 200)
	var got strings.Builder
	if err := s.write(&got); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| ql | 100 | – |", "| goja | 0.50 | 0.50 |", "ql vs lua5.4: –"} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("no %q in:\n%s", want, got.String())
		}
	}
}

func TestProgramsThatAnEngineLacks(t *testing.T) {
	s := newScores([]string{"fib", "json"}, []string{oursName, "goja"})
	record(t, s, oursName, "fib", 100)
	record(t, s, oursName, "json", 300)
	record(t, s, "goja", "fib", 200)
	var got strings.Builder
	if err := s.write(&got); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| goja | 200 | – | – |", "| goja | 0.50 | – | 0.50 |"} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("no %q in:\n%s", want, got.String())
		}
	}
}

func TestDisagreementIsAnError(t *testing.T) {
	s := newScores([]string{"fib"}, []string{oursName, "goja"})
	record(t, s, oursName, "fib", 1)
	err := s.record("goja", "fib", "8", time.Millisecond)
	if want := `fib: goja gives "8", ql gave "7"`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestGeometricMean(t *testing.T) {
	if got := geometricMean([]float64{2, 8}); math.Abs(got-4) > 1e-9 {
		t.Errorf("mean of 2 and 8 is %v, want 4", got)
	}
}

func TestChoose(t *testing.T) {
	all := []string{"fib", "loop", "map"}
	got, err := choose("program", all, "map,fib")
	if err != nil || strings.Join(got, " ") != "fib map" {
		t.Errorf("chosen %v, %v; want fib map", got, err)
	}
	if _, err := choose("program", all, "fob"); err == nil || !strings.Contains(err.Error(), "the programs are fib, loop, map") {
		t.Errorf("error %v does not name the programs", err)
	}
}
