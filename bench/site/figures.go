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
	rate             []float64 // pages a second, as fast as it goes
	p50, p99         []time.Duration
	used             []load.Usage
	load             []float64 // pages a second, at equal load
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

// equalLoad is half of what the slowest server of the same page does as fast as it goes.
func (f *figures) equalLoad(t *target) float64 {
	var rates []float64
	for _, other := range f.targets {
		if other.page.name == t.page.name {
			rates = append(rates, load.Median(f.of[other].rate))
		}
	}
	return slices.Min(rates) / 2
}

// oursFor is the service with the same page.
func (f *figures) oursFor(t *target) *rounds {
	for _, other := range f.targets {
		if other.page.name == t.page.name && other.by == byQL {
			return f.of[other]
		}
	}
	return f.of[t]
}

// write prints the tables in Markdown, ready to be recorded.
func (f *figures) write(w io.Writer) error {
	var b strings.Builder
	b.WriteString("As fast as it goes, medians of the rounds; × is what ql gave by what this one gave in the same round\n\n")
	b.WriteString("| page | served by | pages/s | ql × | p50 | p99 | ql p99 × | processor/page | ql processor × | allocations/page | bytes/page |\n")
	b.WriteString("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, t := range f.targets {
		r, ours := f.of[t], f.oursFor(t)
		fmt.Fprintf(&b, "| %s | %s | %.0f | %.2f | %s | %s | %.2f | %.1f µs | %.2f | %s | %s |\n", t.page.name, t.by,
			load.Median(r.rate), load.Ratio(ours.rate, r.rate), load.Shown(load.Median(r.p50)), load.Shown(load.Median(r.p99)), load.Ratio(ours.p99, r.p99),
			load.Median(r.seconds())*1e6, load.Ratio(ours.seconds(), r.seconds()),
			known(r.each(func(u load.Usage) float64 { return u.Allocations })), known(r.each(func(u load.Usage) float64 { return u.Bytes })))
	}
	b.WriteString("\nAt equal load, half of what the slowest server of the page does\n\n")
	b.WriteString("| page | served by | pages/s | p50 | p99 | ql p99 × |\n")
	b.WriteString("|---|---|---:|---:|---:|---:|\n")
	for _, t := range f.targets {
		r, ours := f.of[t], f.oursFor(t)
		fmt.Fprintf(&b, "| %s | %s | %.0f | %s | %s | %.2f |\n", t.page.name, t.by,
			load.Median(r.load), load.Shown(load.Median(r.equal50)), load.Shown(load.Median(r.equal99)), load.Ratio(ours.equal99, r.equal99))
	}
	f.writeGoals(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeGoals says what is meant to be reached, and whether it is.
func (f *figures) writeGoals(b *strings.Builder) {
	b.WriteString("\n| goal | figure | reached |\n|---|---:|---|\n")
	goal := func(what string, figure float64, reached bool) {
		word := "no"
		if reached {
			word = "yes"
		}
		fmt.Fprintf(b, "| %s | %.2f | %s |\n", what, figure, word)
	}
	for _, t := range f.targets {
		r, ours := f.of[t], f.oursFor(t)
		rate := load.Ratio(ours.rate, r.rate)
		switch t.by {
		case byNginx:
			goal(t.page.name+" by "+t.by+": at least 0.50 of its rate", rate, rate >= 0.5)
		case byPHP, byKept:
			goal(t.page.name+" by "+t.by+": more than its rate", rate, rate > 1)
			peak, equal := load.Ratio(ours.p99, r.p99), load.Ratio(ours.equal99, r.equal99)
			goal(t.page.name+" by "+t.by+": p99 not above its own", peak, peak <= 1)
			goal(t.page.name+" by "+t.by+": nor at equal load", equal, equal <= 1)
		}
	}
}

func (r *rounds) each(of func(load.Usage) float64) []float64 {
	var list []float64
	for _, u := range r.used {
		list = append(list, of(u))
	}
	return list
}

func (r *rounds) seconds() []float64 {
	return r.each(func(u load.Usage) float64 { return u.Seconds })
}

// known is the median, or nothing where a server does not tell.
func known(list []float64) string {
	if m := load.Median(list); m > 0 {
		return fmt.Sprintf("%.0f", m)
	}
	return ""
}
