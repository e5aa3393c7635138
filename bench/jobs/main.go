// Command jobs measures durable jobs: how many trivial scripts are accepted and
// completed, beside the same script called synchronously and beside bare inserts
// into SQLite; how soon a job runs, is complete, and goes on after an answer;
// what a script costs that another one runs; what a job's bookkeeping writes; and what a job costs beside a million others.
//
// What a caller sees is measured on the service as a process of its own. What
// no caller sees is measured on the worker and the store inside this process.
// The figures recorded from it, and how to read them, are in bench/README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"ql/bench/load"
)

func main() { load.Main(run, serveAsChild) }

// serveAsChild is what a process does that was started as a child.
func serveAsChild(args []string) (code int, isChild bool) { return load.AsChild(args, nil) }

// options say how much is measured.
type options struct {
	rounds   int
	each     time.Duration
	clients  []int
	few      int // rows of the small store
	many     int // rows of the large one
	jobs     int // that are run beside them, at a time
	inserts  int // of the loop whose bookkeeping is weighed
	elements int // of the list beside it, a thousand bytes each
	profiles string
	parts    []string
}

// The parts, as -only names them, in their order.
const (
	partRates   = "rates"
	partCallers = "callers"
	partInside  = "inside"
	partCalls   = "calls"
	partBytes   = "bytes"
	partRows    = "rows"
)

var allParts = []string{partRates, partCallers, partCalls, partInside, partBytes, partRows}

func (o *options) wants(parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return slices.Contains(o.parts, p) })
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{few: 1_000, jobs: 2_000, inserts: 10_000, elements: 10_000, parts: allParts}
	flags := flag.NewFlagSet("jobs", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.rounds, "rounds", 5, "how often each is measured")
	flags.DurationVar(&o.each, "each", time.Second, "how long one measurement takes")
	flags.IntVar(&o.many, "rows", 1_000_000, "how many `rows` the large store has")
	flags.StringVar(&o.profiles, "profiles", "", "write a processor profile of the service to this `folder`")
	clients := flags.String("clients", "1,32,256", "how many call at once, several `numbers`")
	only := flags.String("only", "", "measure only these `parts`, of "+strings.Join(allParts, ","))
	quick := flags.Bool("quick", false, "two short rounds of little: whether it works, no figures to keep")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if *quick {
		o.rounds, o.each, *clients = 2, 50*time.Millisecond, "1,4"
		o.few, o.many, o.jobs, o.inserts, o.elements = 100, 1_000, 40, 100, 100
	}
	if o.rounds < 1 || o.each <= 0 || o.many < 1 {
		return nil, errors.New("-rounds, -each and -rows must be above 0")
	}
	for text := range strings.SplitSeq(*clients, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-clients: %q is no number above 0", text)
		}
		o.clients = append(o.clients, n)
	}
	if *only != "" {
		o.parts = strings.Split(*only, ",")
	}
	for _, p := range o.parts {
		if !slices.Contains(allParts, p) {
			return nil, fmt.Errorf("there is no part %q: %s fit", p, strings.Join(allParts, ", "))
		}
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	all := &figures{o: o}
	if o.wants(partRates, partCallers, partCalls, partBytes) {
		if err := measureService(ctx, o, all, stderr); err != nil {
			return err
		}
	}
	if o.wants(partInside) {
		fmt.Fprintln(stderr, "inside the process")
		if err := measureInside(ctx, o, all); err != nil {
			return err
		}
	}
	if o.wants(partRows) {
		fmt.Fprintf(stderr, "beside %d rows\n", o.many)
		if err := measureRows(ctx, o, all); err != nil {
			return err
		}
	}
	_, err = io.WriteString(stdout, all.text())
	return err
}

// measureService measures what needs the service as a process.
func measureService(ctx context.Context, o *options, all *figures, stderr io.Writer) (err error) {
	s, err := load.StartService(ctx, load.Options{Profiles: o.profiles, Stderr: stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	if o.wants(partRates) {
		if err := measureRates(ctx, o, s, all, stderr); err != nil {
			return err
		}
	}
	if o.wants(partCallers) {
		fmt.Fprintln(stderr, "as callers see it")
		if err := measureCallers(ctx, o, s, all); err != nil {
			return err
		}
	}
	if o.wants(partCalls) {
		fmt.Fprintln(stderr, "scripts that others run")
		if err := measureCalls(ctx, o, s, all); err != nil {
			return err
		}
	}
	if o.wants(partBytes) {
		fmt.Fprintln(stderr, "bytes written")
		return measureBytes(ctx, o, s, all)
	}
	return nil
}
