package main

import (
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"ql/lang/lib"
)

// slack is how far above the bound a row may be in a short measurement, beside
// whatever else the machine does.
const slack = 3

// TestEveryFunctionIsMeasured: a new function needs rows.
func TestEveryFunctionIsMeasured(t *testing.T) {
	names := map[string]bool{}
	for _, f := range lib.Reference() {
		names[f.Name] = true
		if len(functionCalls[f.Name]) == 0 && f.Name != "NOW" { // which the measurement itself uses
			t.Errorf("no row measures %s: add calls, small and extreme, to functionCalls", f.Name)
		}
	}
	for name := range functionCalls {
		if !names[name] {
			t.Errorf("there is no function %s", name)
		}
	}
	var rows []string
	for _, r := range allRows() {
		rows = append(rows, r.name)
	}
	slices.Sort(rows)
	for i := range len(rows) - 1 {
		if rows[i] == rows[i+1] {
			t.Errorf("two rows are called %s", rows[i])
		}
	}
}

// TestPromiseFuelMeansTime holds each row against a plain loop of the same run: a
// unit of fuel takes at most so many times as long, whatever it is used for.
func TestPromiseFuelMeansTime(t *testing.T) {
	length, tries, most := time.Millisecond, 4, float64(slack*bound)
	if os.Getenv("QL_PROMISES") != "" {
		length, tries, most = 20*time.Millisecond, 6, bound
	}
	if testing.Short() { // under the race detector times mean nothing
		most = math.Inf(1)
	}
	b, err := newBench(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.clean = length > time.Millisecond
	defer func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	}()
	rows := allRows()
	plain, err := b.measure(rows[0], 20*time.Millisecond, 5, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the plain loop takes %.2f ns for a unit", plain.ns)
	for i, r := range rows[1:] {
		if testing.Short() && i%25 > 0 {
			continue
		}
		f, err := b.measure(r, length, tries, most*plain.ns)
		if f.ns > most*plain.ns { // a collection of garbage may take longer than all tries
			b.clean = true
			f, err = b.measure(r, 20*time.Millisecond, tries, most*plain.ns)
			b.clean = length > time.Millisecond
		}
		switch {
		case err != nil:
			t.Error(err)
		case f.ns > most*plain.ns:
			t.Errorf("%s takes %.1f ns for a unit, %.0f times as much as a plain loop: charge what it costs", r.name, f.ns, f.ns/plain.ns)
		case f.ns > bound*plain.ns:
			t.Logf("%s takes %.1f ns for a unit, %.0f times as much as a plain loop", r.name, f.ns, f.ns/plain.ns)
		}
	}
}
