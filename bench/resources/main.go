// Command resources measures what scripts and callers do to an account's
// resources, beside the bare library doing the same in the same run: files sent
// and fetched over HTTP beside a plain copy to the disk, and SQL of a script
// beside the driver's own statements.
//
// The figures recorded from it, and how to read them, are in bench/README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"ql/bench/load"
)

func main() { load.Main(run, serveAsChild) }

// serveAsChild is what a process does that was started as a child.
func serveAsChild(args []string) (code int, isChild bool) {
	return load.AsChild(args, map[string]func(io.Writer) error{asAddresses: serveAddresses})
}

// options say how much is measured.
type options struct {
	rounds int
	size   int64 // of the file that is sent and fetched, in bytes
	quick  bool
	// processor says that SQL is timed by the processor time of the process, its collector included.
	processor bool
	// what is a part of the names of what is measured of SQL.
	what string
	load load.Options
}

// part is one thing that is measured. It prints a table of what came out.
type part struct {
	name    string
	measure func(ctx context.Context, o options, stdout, stderr io.Writer) error
}

// parts are all that is measured.
func parts() []part {
	return []part{
		{"files", measureFiles},
		{"sql", measureSQL},
		{"fetch", measureFetch},
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o := options{load: load.Options{Stderr: stderr}}
	flags := flag.NewFlagSet("resources", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.rounds, "rounds", 5, "how often each is measured")
	mib := flags.Int64("mib", 1024, "the size of the file that is sent and fetched")
	flags.StringVar(&o.what, "what", "", "of SQL, measure only what has this `text` in its name")
	flags.BoolVar(&o.processor, "processor", false, "time SQL by processor time, which others on the machine add little to")
	flags.StringVar(&o.load.Profiles, "profiles", "", "write processor profiles of the service, and of SQL, to this `folder`")
	only := flags.String("only", "", "measure only the parts of these `names`, with commas between")
	flags.BoolVar(&o.quick, "quick", false, "a small round: whether it works, no figures to keep")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o.size = *mib << 20
	if o.quick {
		o.rounds, o.size = 1, 20<<20
	}
	if o.rounds < 1 || o.size < 1 {
		return errors.New("-rounds and -mib must be above 0")
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	for _, p := range chosen {
		if err := p.measure(ctx, o, stdout, stderr); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// choose returns the parts that are named; all where none are.
func choose(names string) ([]part, error) {
	all := parts()
	if names == "" {
		return all, nil
	}
	var chosen []part
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(p part) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-only: there is no part %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
