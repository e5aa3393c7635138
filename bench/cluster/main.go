// Command cluster measures the service on PostgreSQL and S3, as one node and as three, beside what it is to be
// compared with in the same run: the service on SQLite, and bare statements on the same PostgreSQL. What it prints
// are ratios, and whether they reach their goals.
//
// PostgreSQL, S3 and the nodes are processes of their own, in folders that go with the run; PostgreSQL
// writes to the disk as it does in production. All share this machine: what they add up to says nothing about
// a cluster of several. The figures recorded from it, and how to read them, are in bench/README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ql/bench/load"
)

func main() { load.Main(run, serveAsChild) }

// serveAsChild is what a process does that was started as a child.
func serveAsChild(args []string) (code int, isChild bool) {
	return load.AsChild(args, map[string]func(stdout io.Writer) error{
		asBare: func(stdout io.Writer) error { return serveBare(stdout, args[len(args)-1]) },
	})
}

// options say how much is measured.
type options struct {
	rounds    int
	each      time.Duration
	clients   int
	repeat    int      // scripts of one measurement, where those are counted
	rotations int      // of one measurement
	beside    int      // jobs that are there beside those which are measured
	postgres  []string // settings of PostgreSQL
	top       bool     // show where PostgreSQL has spent its time
	profiles  string   // the folder that gets a processor profile of the single node; "" for none
	parts     []string
	load      load.Options
}

// The parts, as -only names them, in their order.
const (
	partSync        = "sync"
	partAccepted    = "accepted"
	partWrite       = "write"
	partRead        = "read"
	partTransaction = "transaction"
	partClaims      = "claims"
	partStatements  = "statements"
	partRotation    = "rotation"
	partBeside      = "beside"
)

// What the parts about jobs are compared with, too: callers that call.
const (
	partAcceptedCalled = partAccepted + ", called"
	partClaimsCalled   = partClaims + ", called"
)

var allParts = append(slices.Clone(usualParts), partBeside)

// usualParts are measured where none are named. Ten million jobs take minutes to fill in.
var usualParts = []string{partSync, partAccepted, partWrite, partRead, partTransaction, partClaims, partStatements, partRotation}

func (o *options) wants(parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return slices.Contains(o.parts, p) })
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{
		repeat: 5, rotations: 20, parts: usualParts, load: load.Options{Stderr: stderr},
		postgres: []string{"max_connections=200", "shared_buffers=128MB", "shared_preload_libraries=pg_stat_statements"},
	}
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.rounds, "rounds", 5, "how often each is measured")
	flags.DurationVar(&o.each, "each", time.Second, "how long one measurement takes")
	flags.IntVar(&o.clients, "clients", 32, "how many call at once")
	only := flags.String("only", "", "measure only these `parts`, of "+strings.Join(allParts, ","))
	flags.IntVar(&o.beside, "jobs", 10_000_000, "how many jobs there are where a job is measured beside many")
	flags.BoolVar(&o.top, "top", false, "show the statements, too, that PostgreSQL has spent most of its time on")
	flags.StringVar(&o.profiles, "profiles", "", "write processor profiles of the single node on PostgreSQL, and of three, to this `folder`")
	flags.Func("set", "a `setting` of PostgreSQL for the run, such as logging_collector=on; may be given several times", func(s string) error {
		o.postgres = append(o.postgres, s)
		return nil
	})
	quick := flags.Bool("quick", false, "a small round: whether it works, no figures to keep")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if *quick {
		o.rounds, o.each, o.clients, o.repeat, o.rotations, o.beside, o.parts = 1, 50*time.Millisecond, 4, 1, 3, 1_000, allParts
		o.postgres = append(o.postgres, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
	}
	if o.rounds < 1 || o.each <= 0 || o.clients < 1 || o.beside < 1 {
		return nil, errors.New("-rounds, -each, -clients and -jobs must be above 0")
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

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	_, err = measureAll(ctx, o, stdout)
	return err
}

// measureAll measures what is wanted, in rounds, and writes the figures.
func measureAll(ctx context.Context, o *options, stdout io.Writer) (all figures, err error) {
	stderr := o.load.Stderr
	in, err := startInstances(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.stop()) }()
	if err := in.forgetStatements(ctx); err != nil {
		return nil, err
	}
	all = figures{}
	for round := range o.rounds {
		for _, part := range o.parts {
			fmt.Fprintf(stderr, "round %d of %d: %s\n", round+1, o.rounds, part)
			if err := in.measure(ctx, o, part, round, all); err != nil {
				return nil, fmt.Errorf("%s: %w", part, err)
			}
		}
	}
	if _, err := io.WriteString(stdout, all.text()); err != nil || !o.top {
		return all, err
	}
	return all, in.writeTop(ctx, stdout)
}
