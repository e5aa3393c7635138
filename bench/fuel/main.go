// Command fuel measures what a unit of fuel buys: nanoseconds of the processor for
// every family of the machine's operations, every function of the library, every
// walk over values, RENDER, SQL and rows of files, with small operands and with the largest and
// nastiest. Fuel stands for time where no row is far above a plain counting loop.
//
// The figures recorded from it, and how to read them, are in bench/README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// bound is how many times more of the processor than a plain loop a unit of fuel
// may take.
const bound = 20

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet("fuel", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := flags.String("only", "", "measure only rows that have this `text` in their name")
	tries := flags.Int("tries", 3, "how often a row is measured; the best counts")
	length := flags.Duration("length", 30*time.Millisecond, "how long a row is measured at least")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b, err := newBench(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	var found []figure
	var failed []error
	for _, r := range allRows() {
		if !strings.Contains(r.name, *only) && r.name != plainLoop {
			continue
		}
		f, err := b.measure(r, *length, *tries, 0)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		found = append(found, f)
	}
	report(stdout, found)
	return errors.Join(failed...)
}

// report prints the table, the worst on top.
func report(w io.Writer, found []figure) {
	plain := plainOf(found)
	slices.SortStableFunc(found, func(a, b figure) int { return int(b.ns*1000) - int(a.ns*1000) })
	over := 0
	fmt.Fprintf(w, "| what | ns per unit | × plain loop | units per round | ns per round |\n|---|---:|---:|---:|---:|\n")
	for _, f := range found {
		if f.ns > bound*plain {
			over++
		}
		fmt.Fprintf(w, "| %s | %.2f | %.1f | %.0f | %.0f |\n", f.name, f.ns, f.ns/plain, f.units, f.units*f.ns)
	}
	fmt.Fprintf(w, "\n%d rows, %d of them above %d × the plain loop of %.2f ns\n", len(found), over, bound, plain)
}

func plainOf(found []figure) float64 {
	for _, f := range found {
		if f.name == plainLoop {
			return f.ns
		}
	}
	return 1
}
