// Command http measures calls over HTTP: the service's two conventions, each
// with a trivial script, one of thirty statements and one that reads a row of a
// database, beside a bare handler of net/http that decodes and encodes the same
// JSON and checks nothing.
//
// The service and the bare handler are processes of their own; one client loads
// them in turn, in rounds. The figures recorded from it, and how to read them,
// are in bench/README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"ql/bench/load"
)

func main() { load.Main(run, serveAsChild) }

// options say how much is measured.
type options struct {
	rounds      int
	connections int
	each        time.Duration
	profiles    string
	only        string
}

// warmUp is how long a target is loaded before anything counts.
const warmUp = 500 * time.Millisecond

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("http", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.rounds, "rounds", 5, "how often each target is measured, unbounded and at equal load")
	flags.IntVar(&o.connections, "connections", 32, "how many connections call at once")
	flags.DurationVar(&o.each, "each", time.Second, "how long one measurement takes")
	flags.StringVar(&o.profiles, "profiles", "", "write processor profiles of both processes to this `folder`")
	flags.StringVar(&o.only, "script", "", "measure only the script of this `name`")
	quick := flags.Bool("quick", false, "two short rounds: whether it works, no figures to keep")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *quick {
		o.rounds, o.connections, o.each = 2, 4, 50*time.Millisecond
	}
	if o.rounds < 1 || o.connections < 1 || o.each <= 0 {
		return errors.New("-rounds, -connections and -each must be above 0")
	}
	s, err := startServers(ctx, load.Options{Profiles: o.profiles, Stderr: stderr})
	if err != nil {
		return err
	}
	err = measure(ctx, o, s, stdout, stderr)
	return errors.Join(err, s.stop())
}

// measure loads all targets in turn and prints what came out.
func measure(ctx context.Context, o options, s *servers, stdout, stderr io.Writer) error {
	targets := s.targets(o.only)
	if len(targets) == 0 {
		return fmt.Errorf("there is no script %q", o.only)
	}
	turns := load.Turns{Rounds: o.rounds, Connections: o.connections, Each: o.each, WarmUp: warmUp, Progress: stderr}
	rounds, err := load.Measure(ctx, turns, targets)
	if err != nil {
		return err
	}
	return newFigures(targets, rounds).write(stdout)
}
