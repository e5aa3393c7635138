package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ql/bench/load"
)

// figures are what the rounds have given for each target.
type figures struct {
	targets []*target
	of      map[*target]*rounds
}

// rounds has one entry for each round.
type rounds struct {
	rate             []float64 // calls a second, as fast as it goes
	p50, p99         []time.Duration
	used             []load.Usage
	load             []float64 // calls a second, at equal load
	equal50, equal99 []time.Duration
}

func newFigures(targets []*target) *figures {
	f := &figures{targets: targets, of: map[*target]*rounds{}}
	for _, t := range targets {
		f.of[t] = &rounds{}
	}
	return f
}

func (f *figures) addPeak(t *target, m *load.Measured, u load.Usage) {
	r := f.of[t]
	r.rate = append(r.rate, m.Rate())
	r.p50 = append(r.p50, m.Percentile(50))
	r.p99 = append(r.p99, m.Percentile(99))
	r.used = append(r.used, u)
}

func (f *figures) addEqual(t *target, m *load.Measured) {
	r := f.of[t]
	r.load = append(r.load, m.Rate())
	r.equal50 = append(r.equal50, m.Percentile(50))
	r.equal99 = append(r.equal99, m.Percentile(99))
}

// equalLoad is half of what the slowest target with the same script does as
// fast as it goes.
func (f *figures) equalLoad(t *target) float64 {
	var rates []float64
	for _, other := range f.targets {
		if other.script.name == t.script.name {
			rates = append(rates, load.Median(f.of[other].rate))
		}
	}
	return slices.Min(rates) / 2
}

// bareOf finds the bare handler that a target is compared with.
func (f *figures) bareOf(t *target) *rounds {
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
		u := r.use()
		fmt.Fprintf(&b, "| %s | %s | %.0f | %.2f | %s | %s | %.2f | %.0f µs | %.0f | %.0f |\n", t.script.name, t.called,
			load.Median(r.rate), load.Ratio(r.rate, bare.rate), load.Shown(load.Median(r.p50)), load.Shown(load.Median(r.p99)), load.Ratio(r.p99, bare.p99),
			u.Seconds*1e6, u.Allocations, u.Bytes)
	}
	b.WriteString("\nAt equal load, half of what the slowest of the three does\n\n")
	b.WriteString("| script | called by | calls/s | p50 | p99 | p99 × |\n")
	b.WriteString("|---|---|---:|---:|---:|---:|\n")
	for _, t := range f.targets {
		r, bare := f.of[t], f.bareOf(t)
		fmt.Fprintf(&b, "| %s | %s | %.0f | %s | %s | %.2f |\n", t.script.name, t.called,
			load.Median(r.load), load.Shown(load.Median(r.equal50)), load.Shown(load.Median(r.equal99)), load.Ratio(r.equal99, bare.equal99))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// use is the median of each kind.
func (r *rounds) use() load.Usage {
	var allocations, bytes, seconds []float64
	for _, u := range r.used {
		allocations, bytes, seconds = append(allocations, u.Allocations), append(bytes, u.Bytes), append(seconds, u.Seconds)
	}
	return load.Usage{Allocations: load.Median(allocations), Bytes: load.Median(bytes), Seconds: load.Median(seconds)}
}
