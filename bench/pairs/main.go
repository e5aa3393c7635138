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
	rounds        int
	each          time.Duration
	clients       []int
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("pairs", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.before, "before", "", "the `build` of ql to compare with, a path")
	flags.StringVar(&o.after, "after", "", "the `build` that is compared; this program where it is left out")
	flags.IntVar(&o.rounds, "rounds", 24, "how many pairs are measured")
	flags.DurationVar(&o.each, "each", 500*time.Millisecond, "how long one measurement takes")
	clients := flags.String("clients", "1,32", "how many call at once, several `numbers`")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if o.rounds < 1 || o.each <= 0 {
		return nil, errors.New("-rounds and -each must be above 0")
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
	rate  []float64 // calls a second, by round
	used  []float64 // seconds of the processor by call
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	var sides [2]side
	for i, program := range []string{o.before, o.after} {
		s, err := load.StartService(ctx, load.Options{Program: program, Stderr: stderr})
		if err != nil {
			return err
		}
		defer s.Stop() //nolint:errcheck // it was measured
		sides[i].Service = s
	}
	fmt.Fprintf(stdout, "Trivial scripts, medians of %d pairs of %s; × is that of the pairs' own ratios\n\n", o.rounds, o.each)
	fmt.Fprintln(stdout, "| mode | clients | calls/s before | after | × | processor/call before | after | × |\n|---|---:|---:|---:|---:|---:|---:|---:|")
	for _, mode := range []string{"sync", "async"} {
		for _, clients := range o.clients {
			if err := o.measure(ctx, mode, clients, &sides); err != nil {
				return err
			}
			before, after := &sides[0], &sides[1]
			fmt.Fprintf(stdout, "| %s | %d | %.0f | %.0f | %.3f | %.1f µs | %.1f µs | %.3f |\n", mode, clients,
				load.Median(before.rate), load.Median(after.rate), load.Ratio(after.rate, before.rate),
				1e6*load.Median(before.used), 1e6*load.Median(after.used), load.Ratio(after.used, before.used))
		}
	}
	return nil
}

// measure calls both sides in turn; who comes first changes with the rounds.
func (o *options) measure(ctx context.Context, mode string, clients int, sides *[2]side) error {
	for i := range sides {
		s := &sides[i]
		target := &load.Target{Name: mode, Address: s.Address, Request: s.Query("EMIT 1", mode), Check: accepted}
		calls, err := load.Gather(ctx, target, clients)
		if err != nil {
			return err
		}
		defer calls.Close()
		s.calls, s.rate, s.used = calls, nil, nil
	}
	for round := range o.rounds {
		for i := range sides {
			if err := sides[(i+round)%2].once(ctx, o.each); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *side) once(ctx context.Context, each time.Duration) error {
	before, err := s.Usage(ctx)
	if err != nil {
		return err
	}
	m, err := s.calls.Load(ctx, load.Plan{Lasting: each})
	if err != nil {
		return err
	}
	after, err := s.Usage(ctx)
	if err != nil {
		return err
	}
	s.rate = append(s.rate, m.Rate())
	s.used = append(s.used, after.Since(before).Per(m.Calls()).Seconds)
	return nil
}

func accepted(body []byte) error {
	if !bytes.Contains(body, []byte(`"status":"ok"`)) && !bytes.Contains(body, []byte(`"status":"accepted"`)) {
		return fmt.Errorf("answered %s", body)
	}
	return nil
}
