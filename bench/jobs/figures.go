package main

import (
	"fmt"
	"strings"
	"time"

	"ql/bench/load"
)

// figures are what was measured; a part that was left out is empty.
type figures struct {
	o           *options
	rates       []*rates
	seen        []seen
	confirmed   []time.Duration // from sending an answer to the job's result, in order of length
	called      []*called
	progress    []progress
	sync, async *written
	beside      []*beside
}

// text returns the tables in Markdown, ready to be recorded.
func (f *figures) text() string {
	var b strings.Builder
	if len(f.rates) > 0 {
		f.writeRates(&b)
	}
	if len(f.seen) > 0 {
		f.writeSeen(&b)
	}
	if len(f.called) > 0 {
		f.writeCalled(&b)
	}
	if len(f.progress) > 0 {
		f.writeProgress(&b)
	}
	if f.async != nil {
		f.writeBytes(&b)
	}
	if len(f.beside) > 0 {
		f.writeBeside(&b)
	}
	f.writeGoals(&b)
	return b.String()
}

func (f *figures) writeRates(b *strings.Builder) {
	b.WriteString("Trivial scripts a second, medians of the rounds; × is by the synchronous calls of the same round\n\n")
	b.WriteString("| clients | sync | async, accepted | async, accepted and completed | × | processor/job | bare inserts |\n")
	b.WriteString("|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range f.rates {
		fmt.Fprintf(b, "| %d | %.0f | %.0f | %.0f | %.2f | %.0f µs | %.0f |\n", r.clients, load.Median(r.sync),
			load.Median(r.accepted), load.Median(r.completed), load.Ratio(r.completed, r.sync), load.Median(r.used)*1e6, load.Median(r.bare))
	}
	b.WriteByte('\n')
}

func (f *figures) writeSeen(b *strings.Builder) {
	b.WriteString("As callers see it, over HTTP, each waiting for its job\n\n")
	b.WriteString("| clients | from, to | jobs | p50 | p99 |\n")
	b.WriteString("|---:|---|---:|---:|---:|\n")
	for _, s := range f.seen {
		writeTimes(b, s.clients, "sent to accepted", s.accepted)
		writeTimes(b, s.clients, "accepted to complete", s.complete)
	}
	writeTimes(b, 1, "confirm to answer", f.confirmed)
	b.WriteByte('\n')
}

func (f *figures) writeCalled(b *strings.Builder) {
	fmt.Fprintf(b, "A script as a job, over HTTP, beside the same script by RUN SCRIPT, of which a job runs %d; medians of the rounds\n\n", callsEach)
	b.WriteString("| clients | script | a job | a call | × | processor/job | processor/call |\n")
	b.WriteString("|---:|---|---:|---:|---:|---:|---:|\n")
	for _, c := range f.called {
		fmt.Fprintf(b, "| %d | %s | %d µs | %d µs | %.2f | %.0f µs | %.0f µs |\n", c.clients, c.script.shown, load.Median(c.job.took).Microseconds(),
			load.Median(c.child.took).Microseconds(), load.Ratio(c.child.took, c.job.took), load.Median(c.job.used)*1e6, load.Median(c.child.used)*1e6)
	}
	b.WriteByte('\n')
}

func (f *figures) writeProgress(b *strings.Builder) {
	b.WriteString("Inside the process, without HTTP, each client waiting for its job\n\n")
	b.WriteString("| clients | from, to | jobs | p50 | p99 |\n")
	b.WriteString("|---:|---|---:|---:|---:|\n")
	for _, p := range f.progress {
		writeTimes(b, p.clients, "accepted to running", p.running)
		writeTimes(b, p.clients, "accepted to complete", p.complete)
	}
	b.WriteByte('\n')
}

func writeTimes(b *strings.Builder, clients int, what string, sorted []time.Duration) {
	fmt.Fprintf(b, "| %d | %s | %d | %s | %s |\n", clients, what, len(sorted), load.Shown(load.Percentile(sorted, 50)), load.Shown(load.Percentile(sorted, 99)))
}

func (f *figures) writeBytes(b *strings.Builder) {
	fmt.Fprintf(b, "Megabytes written by a loop of %d inserts beside a list of %.1f MB\n\n", f.o.inserts, float64(f.o.elements)/1e3)
	b.WriteString("| run | log of the store | log of the account's database | all that the process writes | took |\n")
	b.WriteString("|---|---:|---:|---:|---:|\n")
	row := func(name string, w *written, sign string) {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %.1f s |\n", name, megabytes(w.store, sign), megabytes(w.account, sign), megabytes(w.process, sign), w.took.Seconds())
	}
	row("sync", f.sync, "")
	row("async", f.async, "")
	row("the job's bookkeeping", f.bookkeeping(), "+")
	b.WriteByte('\n')
}

// bookkeeping is what the job wrote beyond the call.
func (f *figures) bookkeeping() *written {
	return &written{
		process: f.async.process - f.sync.process, store: f.async.store - f.sync.store,
		account: f.async.account - f.sync.account, took: f.async.took - f.sync.took,
	}
}

func megabytes(n int64, sign string) string { return fmt.Sprintf("%"+sign+".2f", float64(n)/1e6) }

func (f *figures) writeBeside(b *strings.Builder) {
	b.WriteString("What a job costs, accepted and completed, inside the process, beside the rows of others; medians of the rounds\n\n")
	b.WriteString("| clients | rows | time/job | × | written/job |\n")
	b.WriteString("|---:|---:|---:|---:|---:|\n")
	for _, s := range f.beside {
		row := func(rows int, c *cost) {
			fmt.Fprintf(b, "| %d | %d | %d µs | %.2f | %.1f kB |\n", s.clients, rows, load.Median(c.took).Microseconds(),
				load.Ratio(c.took, s.few.took), load.Median(c.written)/1e3)
		}
		row(f.o.few, &s.few)
		row(f.o.many, &s.many)
	}
	b.WriteByte('\n')
}

// writeGoals compares what was measured with what is meant to be reached.
func (f *figures) writeGoals(b *strings.Builder) {
	b.WriteString("| goal | figure | reached |\n|---|---:|---|\n")
	goal := func(reached bool, figure, format string, args ...any) {
		word := "no"
		if reached {
			word = "yes"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", fmt.Sprintf(format, args...), figure, word)
	}
	for _, r := range f.rates {
		x := load.Ratio(r.completed, r.sync)
		goal(x >= 0.4, fmt.Sprintf("%.2f", x), "accepted and completed by sync, %s: at least 0.40", counted(r.clients))
	}
	for _, c := range f.called {
		x := load.Ratio(c.child.took, c.job.took)
		goal(x <= 2, fmt.Sprintf("%.2f", x), "a call by a job, of a script that %s, %s: within 2.00", c.script.shown, counted(c.clients))
	}
	for _, p := range f.progress {
		if p.clients == 1 {
			p50 := load.Percentile(p.running, 50)
			goal(p50 < 2*time.Millisecond, load.Shown(p50), "accepted to running, 1 client, p50: under 2 ms")
		}
	}
	if len(f.confirmed) > 0 {
		p50 := load.Percentile(f.confirmed, 50)
		goal(p50 < 5*time.Millisecond, load.Shown(p50), "confirm to answer, 1 client, p50: under 5 ms")
	}
	if f.async != nil {
		w := f.bookkeeping()
		most := max(w.process, w.store+w.account)
		goal(most < 50e6, megabytes(most, "")+" MB", "the job's bookkeeping: under 50 MB")
	}
	for _, s := range f.beside {
		x := load.Ratio(s.many.took, s.few.took)
		goal(x <= 1.2, fmt.Sprintf("%.2f", x), "a job beside %d rows by one beside %d, %s: within 1.20", f.o.many, f.o.few, counted(s.clients))
	}
}

func counted(clients int) string {
	if clients == 1 {
		return "1 client"
	}
	return fmt.Sprintf("%d clients", clients)
}
