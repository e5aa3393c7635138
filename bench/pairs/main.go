// Command pairs measures two builds of ql side by side: both serve at the same time, and
// are called in turn for a moment each, many times, so that what else the machine does
// meets both alike. Its ratios show what no two runs one after the other can.
//
// The figures recorded from it, and how to read them, are in bench/README.md.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"ql/bench/load"
)

func main() { load.Main(run, serveAsChild) }

// serveAsChild is what a process does that was started as a child.
func serveAsChild(args []string) (code int, isChild bool) { return load.AsChild(args, nil) }

// options say what is measured, and how often.
type options struct {
	before, after string
	starts        int
	rounds        int
	each          time.Duration
	modes         []string
	clients       []int
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("pairs", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.before, "before", "", "the `build` of ql to compare with, a path")
	flags.StringVar(&o.after, "after", "", "the `build` that is compared; this program where it is left out")
	flags.IntVar(&o.starts, "starts", 4, "how often both are started anew: processes of one build differ by some percent")
	flags.IntVar(&o.rounds, "rounds", 12, "how many pairs are measured after each start")
	flags.DurationVar(&o.each, "each", 500*time.Millisecond, "how long one measurement takes")
	modes := flags.String("modes", "sync,async", "how scripts are sent, one or both `words`")
	clients := flags.String("clients", "1,32", "how many call at once, several `numbers`")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if o.starts < 1 || o.rounds < 1 || o.each <= 0 {
		return nil, errors.New("-starts, -rounds and -each must be above 0")
	}
	for mode := range strings.SplitSeq(*modes, ",") {
		if mode != "sync" && mode != "async" {
			return nil, fmt.Errorf("-modes: %q is neither sync nor async", mode)
		}
		o.modes = append(o.modes, mode)
	}
	for text := range strings.SplitSeq(*clients, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-clients: %q is no number above 0", text)
		}
		o.clients = append(o.clients, n)
	}
	return o, nil
}

// side is one of the two builds.
type side struct {
	*load.Service
	calls *load.Connections
}

// figures are those of one mode and number of clients: of the build before, and after.
type figures struct {
	rate [2][]float64 // calls a second, by round
	used [2][]float64 // seconds of the processor by call
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	all := make([]figures, len(o.modes)*len(o.clients))
	for range o.starts {
		if err := o.start(ctx, all, stderr); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "Trivial scripts, medians of %d starts with %d pairs of %s; × is that of the pairs' own ratios\n\n", o.starts, o.rounds, o.each)
	fmt.Fprintln(stdout, "| mode | clients | calls/s before | after | × | processor/call before | after | × |\n|---|---:|---:|---:|---:|---:|---:|---:|")
	for m, mode := range o.modes {
		for c, clients := range o.clients {
			f := &all[m*len(o.clients)+c]
			fmt.Fprintf(stdout, "| %s | %d | %.0f | %.0f | %.3f | %.1f µs | %.1f µs | %.3f |\n", mode, clients,
				load.Median(f.rate[0]), load.Median(f.rate[1]), load.Ratio(f.rate[1], f.rate[0]),
				1e6*load.Median(f.used[0]), 1e6*load.Median(f.used[1]), load.Ratio(f.used[1], f.used[0]))
		}
	}
	return nil
}

// start starts both builds, and measures all there is to measure once.
func (o *options) start(ctx context.Context, all []figures, stderr io.Writer) error {
	var sides [2]side
	for i, program := range []string{o.before, o.after} {
		s, err := load.StartService(ctx, load.Options{Program: program, Stderr: stderr})
		if err != nil {
			return err
		}
		defer s.Stop() //nolint:errcheck // it was measured
		sides[i].Service = s
	}
	for m, mode := range o.modes {
		for c, clients := range o.clients {
			if err := o.measure(ctx, mode, clients, &sides, &all[m*len(o.clients)+c]); err != nil {
				return err
			}
		}
	}
	return nil
}

// measure calls both sides in turn; who comes first changes with the rounds.
func (o *options) measure(ctx context.Context, mode string, clients int, sides *[2]side, f *figures) error {
	for i := range sides {
		s := &sides[i]
		target := &load.Target{Name: mode, Address: s.Address, Request: s.Query("EMIT 1", mode), Check: accepted}
		calls, err := load.Gather(ctx, target, clients)
		if err != nil {
			return err
		}
		defer calls.Close()
		s.calls = calls
	}
	for round := range o.rounds {
		for i := range sides {
			i = (i + round) % 2
			rate, used, err := sides[i].once(ctx, o.each)
			if err != nil {
				return err
			}
			f.rate[i], f.used[i] = append(f.rate[i], rate), append(f.used[i], used)
		}
	}
	return nil
}

// once returns how many calls a second there were, and seconds of the processor by call.
func (s *side) once(ctx context.Context, each time.Duration) (rate, used float64, err error) {
	before, err := s.Usage(ctx)
	if err != nil {
		return 0, 0, err
	}
	m, err := s.calls.Load(ctx, load.Plan{Lasting: each})
	if err != nil {
		return 0, 0, err
	}
	after, err := s.Usage(ctx)
	if err != nil {
		return 0, 0, err
	}
	return m.Rate(), after.Since(before).Per(m.Calls()).Seconds, nil
}

func accepted(body []byte) error {
	if !bytes.Contains(body, []byte(`"status":"ok"`)) && !bytes.Contains(body, []byte(`"status":"accepted"`)) {
		return fmt.Errorf("answered %s", body)
	}
	return nil
}
