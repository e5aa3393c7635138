// Command machines measures how long the trivial calls of one account take while other accounts run
// modules of WebAssembly that want more than they may have: alone, beside 40 of several kinds, beside 100
// that take all the memory they get and keep it, and beside modules that are compiled one after the other.
//
// All of it is measured in turn on one service, in rounds. The figures recorded from it, and how to read
// them, are in bench/README.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ql/bench/load"
	"ql/internal/resource/machines/wasmtest"
)

func main() { load.Main(run, asChild) }

func asChild(args []string) (code int, isChild bool) { return load.AsChild(args, nil) }

// options say how much is measured.
type options struct {
	rounds, accounts, modules, growing int
	each                               time.Duration
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o := options{accounts: 10}
	flags := flag.NewFlagSet("machines", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.rounds, "rounds", 5, "how often each is measured")
	flags.IntVar(&o.modules, "modules", 40, "how many hostile modules run at once")
	flags.IntVar(&o.growing, "growing", 100, "how many modules that grow run at once")
	flags.DurationVar(&o.each, "each", 5*time.Second, "how long one measurement takes")
	quick := flags.Bool("quick", false, "one short round: whether it works, no figures to keep")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *quick {
		o = options{rounds: 1, accounts: 2, modules: 5, growing: 4, each: 300 * time.Millisecond}
	}
	if o.rounds < 1 || o.modules < 1 || o.growing < 1 || o.each <= 0 {
		return errors.New("-rounds, -modules, -growing and -each must be above 0")
	}
	folder, err := os.MkdirTemp("", "ql-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // it is a temporary one
	settings := filepath.Join(folder, "settings.toml")
	// Each account runs as many as there are: what is measured are modules, not who waits for a place.
	if err := os.WriteFile(settings, []byte("[plans.unlimited]\nmemory = '64 MiB'\n[plans.standard]\nruns_at_once = 50\nconcurrent = 50\n"), 0o600); err != nil {
		return err
	}
	s, err := load.StartService(ctx, load.Options{Stderr: stderr, Others: o.accounts, Serve: []string{"--config", settings, "--log-level", "error"}})
	if err != nil {
		return err
	}
	return errors.Join(measure(ctx, o, s, stdout, stderr), s.Stop())
}

// bodies are the kinds of hostile modules.
var bodies = map[string][]byte{"filling": wasmtest.Filling, "growing": wasmtest.Growing, "writing": wasmtest.Writing, "calling": wasmtest.Calling, "endless": wasmtest.Endless}

// kinds are their names; large is another module each time.
var kinds = []string{"filling", "growing", "writing", "calling", "endless"}

// prepare gives all accounts their machines.
func prepare(ctx context.Context, s *load.Service) error {
	c, err := load.Dial(ctx, s.Address)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, who := range s.Others {
		for _, kind := range append([]string{"large"}, kinds...) {
			if body := bodies[kind]; body != nil {
				if _, err := c.Ask(load.Put(s.Address, "/v1/files/"+kind+".wasm", "application/wasm", wasmtest.Module(body), who)); err != nil {
					return err
				}
			}
			definition := fmt.Sprintf(`{"kind":"wasm","module":"/%s.wasm"}`, kind)
			if _, err := c.Ask(load.Put(s.Address, "/v1/machines/"+kind, "application/json", definition, who)); err != nil {
				return err
			}
		}
	}
	return nil
}

// situation is what others do meanwhile.
type situation struct {
	name string
	// begin has others begin; nil for nobody.
	begin func(ctx context.Context, s *load.Service) *crowd

	p50, p99 []time.Duration
	held     []float64 // bytes of the ledger
	ended    int64
}

// crowd are others at work.
type crowd struct {
	wg     sync.WaitGroup
	cancel context.CancelFunc
	ended  atomic.Int64
	err    atomic.Pointer[error]
}

// has has somebody do something again and again.
func (c *crowd) has(ctx context.Context, address string, do func(*load.Caller) error) {
	c.wg.Go(func() {
		for ctx.Err() == nil {
			caller, err := load.Dial(ctx, address)
			if err != nil {
				return
			}
			// An answer that is waited for ends with the crowd.
			stop := context.AfterFunc(ctx, caller.Close)
			for err == nil && ctx.Err() == nil {
				if err = do(caller); err == nil {
					c.ended.Add(1)
				}
			}
			stop()
			caller.Close()
			if err != nil && ctx.Err() == nil {
				c.err.Store(&err)
				_ = load.Pause(ctx, 50*time.Millisecond) // as one does who was refused
			}
		}
	})
}

func (c *crowd) leave() {
	c.cancel()
	c.wg.Wait()
}

// timeout is how long a module runs, and settling a little more.
const (
	timeout  = 2 * time.Second
	settling = 3 * time.Second
)

// command is the call of a script that runs a module, and ends well however that ends.
func command(s *load.Service, who load.Credentials, kind string) []byte {
	script := fmt.Sprintf(`TRY RUN "m" ON %q TIMEOUT %g SECONDS SET ?out EMIT ?out.code CATCH ?e EMIT ?e.code END`, kind, timeout.Seconds())
	body, _ := json.Marshal(load.Question{Auth: who, Query: script, Mode: "sync"}) // of texts alone, which never fails
	return load.Post(s.Address, "/v1/query", "application/json", string(body))
}

// running is a crowd that runs so many modules of some kinds.
func running(count int, kinds ...string) func(context.Context, *load.Service) *crowd {
	return func(ctx context.Context, s *load.Service) *crowd {
		c := &crowd{}
		ctx, c.cancel = context.WithCancel(ctx)
		for i := range count {
			request := command(s, s.Others[i%len(s.Others)], kinds[i/len(s.Others)%len(kinds)])
			c.has(ctx, s.Address, func(caller *load.Caller) error { _, err := caller.Ask(request); return err })
		}
		return c
	}
}

// compiling is a crowd of which each has another module compiled each time.
func compiling(ctx context.Context, s *load.Service) *crowd {
	c := &crowd{}
	ctx, c.cancel = context.WithCancel(ctx)
	for _, who := range s.Others {
		request := command(s, who, "large")
		c.has(ctx, s.Address, func(caller *load.Caller) error {
			large := wasmtest.Large(int(seed.Add(1)), 300)
			if _, err := caller.Ask(load.Put(s.Address, "/v1/files/large.wasm", "application/wasm", large, who)); err != nil {
				return err
			}
			_, err := caller.Ask(request)
			return err
		})
	}
	return c
}

var seed atomic.Int64

func measure(ctx context.Context, o options, s *load.Service, stdout, stderr io.Writer) error {
	if err := prepare(ctx, s); err != nil {
		return err
	}
	neighbour := load.Target{Name: "the neighbour", Address: s.Address, Request: s.Query("EMIT 6 * 7", "sync"), Check: func(body []byte) error {
		if !strings.Contains(string(body), `"result":"42"`) {
			return fmt.Errorf("the answer is %s", body)
		}
		return nil
	}}
	all := []*situation{
		{name: "alone"},
		{name: fmt.Sprintf("beside %d endless modules", o.modules), begin: running(o.modules, "endless")},
		{name: fmt.Sprintf("beside %d hostile modules", o.modules), begin: running(o.modules, kinds...)},
		{name: fmt.Sprintf("beside %d modules that grow", o.growing), begin: running(o.growing, "growing")},
		{name: "beside modules that are compiled", begin: compiling},
	}
	plan := load.Plan{Lasting: o.each, Rate: 100}
	if _, err := neighbour.Load(ctx, 2, load.Plan{Lasting: min(o.each, time.Second), Rate: 100}); err != nil {
		return err
	}
	for round := range o.rounds {
		fmt.Fprintf(stderr, "round %d of %d\n", round+1, o.rounds)
		for i := range all {
			if err := all[(i+round)%len(all)].once(ctx, s, &neighbour, plan, stderr); err != nil {
				return err
			}
		}
	}
	fmt.Fprintln(stdout, "| the neighbour | p50 | p99 | p99, times alone | held, MiB | calls of others that ended |\n|---|---:|---:|---:|---:|---:|")
	for _, one := range all {
		fmt.Fprintf(stdout, "| %s | %s | %s | %.2f | %.0f | %d |\n", one.name, load.Shown(load.Median(one.p50)), load.Shown(load.Median(one.p99)), load.Ratio(one.p99, all[0].p99), load.Median(one.held)/(1<<20), one.ended)
	}
	peak, err := peakBytes(s.PID)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\nThe service had %d MiB at most.\n", peak>>20)
	return nil
}

// once measures the neighbour in one situation.
func (o *situation) once(ctx context.Context, s *load.Service, neighbour *load.Target, plan load.Plan, stderr io.Writer) error {
	if o.begin != nil {
		c := o.begin(ctx, s)
		defer func() {
			c.leave()
			o.ended += c.ended.Load()
			if err := c.err.Load(); err != nil {
				fmt.Fprintf(stderr, "%s: one of the others: %v\n", o.name, *err)
			}
		}()
		// Until those have ended that were there first: then all take turns, and hold what they can get.
		if err := load.Pause(ctx, min(settling, plan.Lasting)); err != nil {
			return err
		}
	}
	got, err := neighbour.Load(ctx, 2, plan)
	if err != nil {
		return err
	}
	held, err := s.Metrics(ctx, "ql_call_memory_bytes")
	if err != nil {
		return err
	}
	o.p50, o.p99, o.held = append(o.p50, got.Percentile(50)), append(o.p99, got.Percentile(99)), append(o.held, held[0])
	return nil
}

// peakBytes is the most memory that a process had.
func peakBytes(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil // not on this system
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10, err
		}
	}
	return 0, err
}
