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

// oursFor is the service with the same page.
func (f *figures) oursFor(t *target) *load.Rounds {
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
			load.Median(r.Rate), load.Ratio(ours.Rate, r.Rate), load.Shown(load.Median(r.P50)), load.Shown(load.Median(r.P99)), load.Ratio(ours.P99, r.P99),
			load.Median(seconds(r))*1e6, load.Ratio(seconds(ours), seconds(r)),
			known(each(r, func(u load.Usage) float64 { return u.Allocations })), known(each(r, func(u load.Usage) float64 { return u.Bytes })))
	}
	b.WriteString("\nAt equal load, half of what the slowest server of the page does\n\n")
	b.WriteString("| page | served by | pages/s | p50 | p99 | ql p99 × |\n")
	b.WriteString("|---|---|---:|---:|---:|---:|\n")
	for _, t := range f.targets {
		r, ours := f.of[t], f.oursFor(t)
		fmt.Fprintf(&b, "| %s | %s | %.0f | %s | %s | %.2f |\n", t.page.name, t.by,
			load.Median(r.Load), load.Shown(load.Median(r.Equal50)), load.Shown(load.Median(r.Equal99)), load.Ratio(ours.Equal99, r.Equal99))
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
		rate := load.Ratio(ours.Rate, r.Rate)
		switch t.by {
		case byNginx:
			goal(t.page.name+" by "+t.by+": at least 0.50 of its rate", rate, rate >= 0.5)
		case byPHP, byKept:
			goal(t.page.name+" by "+t.by+": more than its rate", rate, rate > 1)
			peak, equal := load.Ratio(ours.P99, r.P99), load.Ratio(ours.Equal99, r.Equal99)
			goal(t.page.name+" by "+t.by+": p99 not above its own", peak, peak <= 1)
			goal(t.page.name+" by "+t.by+": nor at equal load", equal, equal <= 1)
		}
	}
}

func each(r *load.Rounds, of func(load.Usage) float64) []float64 {
	var list []float64
	for _, u := range r.Used {
		list = append(list, of(u))
	}
	return list
}

func seconds(r *load.Rounds) []float64 {
	return each(r, func(u load.Usage) float64 { return u.Seconds })
}

// known is the median, or nothing where a server does not tell.
func known(list []float64) string {
	if m := load.Median(list); m > 0 {
		return fmt.Sprintf("%.0f", m)
	}
	return ""
}
