package main

import (
	"fmt"
	"strings"
	"time"

	"ql/bench/load"
)

// pair is what the service gave, and what it is compared with, by rounds.
type pair struct{ own, other []float64 }

// figures are the pairs of the parts, by their names.
type figures map[string]*pair

func (f figures) add(part string, own, other float64) {
	if f[part] == nil {
		f[part] = &pair{}
	}
	f[part].own, f[part].other = append(f[part].own, own), append(f[part].other, other)
}

// goal is what a part is held to.
type goal struct {
	part, shown, unit string
	bound             float64
	atMost            bool // otherwise at least
}

// goals are those of the parts. Each is of a ratio, but for the time of a rotation, which is bounded as it is.
var goals = []goal{
	{partSync, "synchronous calls, by SQLite", "a second", 0.85, false},
	{partAccepted, "jobs accepted and completed, by a bare batched insert", "a second", 0.5, false},
	{partAcceptedCalled, "– by a bare handler that inserts so", "a second", 0.5, false},
	{partClaims, "jobs through claims of another node, by a bare loop of insert, claim and finish", "a second", 0.5, false},
	{partClaimsCalled, "– by a bare handler with such a loop", "a second", 0.5, false},
	{partWrite, "changes of a database, by a bare INSERT of as many bytes", "a second", 0.6, false},
	{partRead, "SQL reads, by SQLite", "a second", 0.95, false},
	{partTransaction, "TRANSACTION of 1,000 inserts, by SQLite", "a second", 0.7, false},
	{partStatements, "statements by job, 3 nodes by 1", "by job", 1.1, true},
	{partRotation, "a rotation of a key that 3 nodes have seen, beside SQLite", "ms, median", 20, true},
	{partBeside, "cost of a job beside 10 million others, by beside few", "ms", 1.2, true},
}

// reached tells the figure that a goal is about, and whether it holds.
func (g *goal) reached(p *pair) (figure string, ok bool) {
	value := load.Ratio(p.own, p.other)
	figure = fmt.Sprintf("%.2f", value)
	if g.part == partRotation {
		value = load.Median(p.own)
		figure = load.Shown(time.Duration(value * float64(time.Millisecond)))
	}
	if g.atMost {
		return figure, value <= g.bound
	}
	return figure, value >= g.bound
}

func (f figures) text() string {
	var b strings.Builder
	b.WriteString("| | unit | ql | beside | figure | goal | reached |\n|---|---|---:|---:|---:|---:|---|\n")
	for i := range goals {
		g := &goals[i]
		p := f[g.part]
		if p == nil {
			continue
		}
		sign, said := "≥", "no"
		if g.atMost {
			sign = "≤"
		}
		figure, ok := g.reached(p)
		if ok {
			said = "yes"
		}
		fmt.Fprintf(&b, "| %s | %s | %.4g | %.4g | %s | %s %v | %s |\n", g.shown, g.unit, load.Median(p.own), load.Median(p.other), figure, sign, g.bound, said)
	}
	return b.String()
}
