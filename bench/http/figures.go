package main

import (
	"fmt"
	"io"
	"strings"

	"ql/bench/load"
)

// figures are what the rounds have given for each target.
type figures struct {
	targets []*target
	of      map[*target]*load.Rounds
}

func newFigures(targets []*target, rounds []*load.Rounds) *figures {
	f := &figures{targets: targets, of: map[*target]*load.Rounds{}}
	for i, t := range targets {
		f.of[t] = rounds[i]
	}
	return f
}

// bareOf finds the bare handler that a target is compared with.
func (f *figures) bareOf(t *target) *load.Rounds {
	for _, other := range f.targets {
		if other.script.name == t.script.name && other.called == asBare {
			return f.of[other]
		}
	}
	return f.of[t]
}

// write prints the tables in Markdown, ready to be recorded.
func (f *figures) write(w io.Writer) error {
	var b strings.Builder
	b.WriteString("As fast as it goes, medians of the rounds; × is by the bare handler in the same round\n\n")
	b.WriteString("| script | called by | calls/s | × | p50 | p99 | p99 × | processor/call | allocations/call | bytes/call |\n")
	b.WriteString("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, t := range f.targets {
		r, bare := f.of[t], f.bareOf(t)
		u := use(r)
		fmt.Fprintf(&b, "| %s | %s | %.0f | %.2f | %s | %s | %.2f | %.0f µs | %.0f | %.0f |\n", t.script.name, t.called,
			load.Median(r.Rate), load.Ratio(r.Rate, bare.Rate), load.Shown(load.Median(r.P50)), load.Shown(load.Median(r.P99)), load.Ratio(r.P99, bare.P99),
			u.Seconds*1e6, u.Allocations, u.Bytes)
	}
	b.WriteString("\nAt equal load, half of what the slowest of the three does\n\n")
	b.WriteString("| script | called by | calls/s | p50 | p99 | p99 × |\n")
	b.WriteString("|---|---|---:|---:|---:|---:|\n")
	for _, t := range f.targets {
		r, bare := f.of[t], f.bareOf(t)
		fmt.Fprintf(&b, "| %s | %s | %.0f | %s | %s | %.2f |\n", t.script.name, t.called,
			load.Median(r.Load), load.Shown(load.Median(r.Equal50)), load.Shown(load.Median(r.Equal99)), load.Ratio(r.Equal99, bare.Equal99))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// use is the median of each kind.
func use(r *load.Rounds) load.Usage {
	var allocations, bytes, seconds []float64
	for _, u := range r.Used {
		allocations, bytes, seconds = append(allocations, u.Allocations), append(bytes, u.Bytes), append(seconds, u.Seconds)
	}
	return load.Usage{Allocations: load.Median(allocations), Bytes: load.Median(bytes), Seconds: load.Median(seconds)}
}
