// Command lang measures the language beside other embeddable ones.
//
// The same programs, written in each language, run in interleaved rounds
// in one process; the best time of each counts, and all results must agree. The
// figures recorded from it, and how to read them, are in bench/README.md.
package main

import (
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"ql/internal/platform"
)

//go:embed programs
var programFiles embed.FS

var programNames = []string{
	"fib", "loop", "mandel", "str", "map", "qsort", "sieve",
	"nbody", "spectral", "trees", "words", "fannkuch", "json", "html", "logs", "mentions",
}

func main() {
	// The collector runs as seldom as where scripts are served.
	ballast := platform.Ballast()
	defer runtime.KeepAlive(ballast)
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("lang", flag.ContinueOnError)
	flags.SetOutput(stderr)
	rounds := flags.Int("rounds", 5, "how often each program runs; the best time counts")
	onlyPrograms := flags.String("programs", "", "run only these `names`, divided by commas")
	onlyEngines := flags.String("engines", "", "run only these `names`, divided by commas")
	flags.BoolVar(&processor, "processor", false, "time engines of this process by processor time, all threads together")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *rounds < 1 {
		return fmt.Errorf("-rounds is %d: at least 1 is needed", *rounds)
	}
	programs, err := choose("program", programNames, *onlyPrograms)
	if err != nil {
		return err
	}
	engines, err := chooseEngines(*onlyEngines, stderr)
	if err != nil {
		return err
	}
	tasks, err := prepare(engines, programs)
	if err != nil {
		return err
	}
	scores := newScores(programs, names(engines))
	for round := range *rounds {
		fmt.Fprintf(stderr, "round %d of %d\n", round+1, *rounds)
		if err := playRound(tasks, round, scores); err != nil {
			return err
		}
	}
	return scores.write(stdout)
}

// chooseEngines gives the engines asked for, without those that this machine
// does not have.
func chooseEngines(only string, stderr io.Writer) ([]engine, error) {
	all := engines()
	chosen, err := choose("engine", names(all), only)
	if err != nil {
		return nil, err
	}
	var present []engine
	for _, e := range all {
		if !slices.Contains(chosen, e.name) {
			continue
		}
		if e.missing != nil {
			if why := e.missing(); why != nil {
				fmt.Fprintf(stderr, "%s is left out: %v\n", e.name, why)
				continue
			}
		}
		present = append(present, e)
	}
	return present, nil
}

// choose gives the members of all that the comma-divided list names, in the
// order of all; an empty list names every one.
func choose(what string, all []string, list string) ([]string, error) {
	if list == "" {
		return all, nil
	}
	asked := strings.Split(list, ",")
	for _, name := range asked {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("there is no %s %q: the %ss are %s", what, name, what, strings.Join(all, ", "))
		}
	}
	var chosen []string
	for _, name := range all {
		if slices.Contains(asked, name) {
			chosen = append(chosen, name)
		}
	}
	return chosen, nil
}

func names(engines []engine) []string {
	var list []string
	for _, e := range engines {
		list = append(list, e.name)
	}
	return list
}

// task is one program compiled for each engine.
type task struct {
	program string
	entries []entry
}

type entry struct {
	engine string
	run    runner
}

func prepare(engines []engine, programs []string) ([]task, error) {
	var tasks []task
	for _, program := range programs {
		t := task{program: program}
		for _, e := range engines {
			name := program + "." + e.extension
			text, err := programFiles.ReadFile("programs/" + name)
			if errors.Is(err, fs.ErrNotExist) && e.name != oursName || e.lacks(program) {
				continue
			}
			if err != nil {
				return nil, err
			}
			r, err := e.compile(name, string(text))
			if err != nil {
				return nil, fmt.Errorf("%s does not compile %s: %w", e.name, name, err)
			}
			t.entries = append(t.entries, entry{engine: e.name, run: r})
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// playRound runs every task once in every engine. Another engine starts each
// round, so that none always runs after the same neighbour; each starts on a
// heap swept of what the one before it left.
func playRound(tasks []task, round int, scores *scores) error {
	for _, t := range tasks {
		for i := range t.entries {
			e := t.entries[(i+round)%len(t.entries)]
			runtime.GC()
			result, took, err := e.run()
			if err != nil {
				return fmt.Errorf("%s fails at %s: %w", e.engine, t.program, err)
			}
			if err := scores.record(e.engine, t.program, result, took); err != nil {
				return err
			}
		}
	}
	return nil
}
