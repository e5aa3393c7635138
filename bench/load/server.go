package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"

	"ql/internal/cli"
)

// asQL is the first argument of a process that is the command ql.
const asQL = "child-ql"

// Main is the main function of a benchmark: the process is one of its children,
// as AsChild has it, or runs it.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) error, asChild func(args []string) (code int, isChild bool)) {
	if code, ok := asChild(os.Args[1:]); ok {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// RunTests is the TestMain of a benchmark: the test's own binary is also the processes
// that are measured.
func RunTests(tests interface{ Run() int }, asChild func(args []string) (code int, isChild bool)) {
	code, isChild := asChild(os.Args[1:])
	if !isChild {
		code = tests.Run()
	}
	os.Exit(code)
}

// AsChild is what a process does that Start started of the program itself, and
// reports whether it is one. Besides ql it may be one of others, by its first
// argument. A benchmark calls it before anything else.
func AsChild(args []string, others map[string]func(stdout io.Writer) error) (code int, isChild bool) {
	if len(args) < 2 || args[0] != asQL && others[args[0]] == nil {
		return 0, false
	}
	stop, err := profile(args[1])
	if err == nil && args[0] == asQL {
		code = cli.Main(args[2:], os.Stdin, os.Stdout, os.Stderr)
	} else if err == nil {
		err = others[args[0]](os.Stdout)
	}
	if err = errors.Join(err, stop()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1, true
	}
	return code, true
}

// profile begins a profile of the processor; none where the path is "".
func profile(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return func() error { return nil }, err
	}
	f, err := os.Create(path)
	if err != nil {
		return func() error { return nil }, err
	}
	return func() error { pprof.StopCPUProfile(); return f.Close() }, pprof.StartCPUProfile(f)
}

// Options are how processes are started.
type Options struct {
	Profiles string // the folder that gets a profile of each; "" for none
	Stderr   io.Writer
	// Program is another build of ql, whose service is started instead of that of the
	// program itself; it has no profile.
	Program string
	// Serve are further flags of ql serve.
	Serve []string
	// Environment is what processes find in theirs, besides that of the program.
	Environment []string
	// Others is how many accounts of the plan standard a service has besides its own.
	Others int
}

// command returns a process of ql, or of what else kind says.
func (o *Options) command(ctx context.Context, kind, name string, args ...string) (*exec.Cmd, error) {
	program := o.Program
	if program == "" || kind != asQL {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		program, args = self, append([]string{kind, o.profile(name)}, args...)
	}
	c := exec.CommandContext(ctx, program, args...)
	c.Env = append(os.Environ(), o.Environment...)
	return c, nil
}

func (o *Options) profile(name string) string {
	if o.Profiles == "" || name == "" {
		return ""
	}
	return filepath.Join(o.Profiles, name+".pprof")
}

// Server is a process under load.
type Server struct {
	Address string // of its calls
	Sites   string // the address of its sites, "" where it has none
	PID     int

	process *exec.Cmd
	output  io.Reader
	metrics string // the address of its metrics
}

// Start starts the program itself as another process, which AsChild makes what
// kind says, and returns when it has told its addresses. Its profile gets the
// name.
func Start(ctx context.Context, o Options, kind, name string, args ...string) (*Server, error) {
	p, err := o.command(ctx, kind, name, args...)
	if err != nil {
		return nil, err
	}
	p.Stderr = o.Stderr
	p.Cancel = func() error { return p.Process.Signal(os.Interrupt) }
	output, err := p.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.Start(); err != nil {
		return nil, err
	}
	s := &Server{PID: p.Process.Pid, process: p, output: output}
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s said %q: %w", name, line, err), s.Stop())
	}
	var at struct{ URL, Metrics, Sites string }
	if err := json.Unmarshal(line, &at); err != nil || at.URL == "" {
		return nil, errors.Join(fmt.Errorf("%s said %q", name, line), s.Stop())
	}
	u, err := url.Parse(at.URL)
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	s.Address, s.metrics = u.Host, at.Metrics
	if at.Sites != "" { // its host stands for many
		s.Sites = "127.0.0.1" + at.Sites[strings.LastIndexByte(at.Sites, ':'):]
	}
	return s, nil
}

// Stop ends the process and waits for it.
func (s *Server) Stop() error {
	if s == nil {
		return nil
	}
	if err := s.process.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	_, _ = io.Copy(io.Discard, s.output) // until it ends
	return s.process.Wait()
}

// Metrics asks the process for its metrics and returns those that are named,
// with their labels, in their order. One that is not there is 0: some are made
// when they first count.
func (s *Server) Metrics(ctx context.Context, names ...string) ([]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.metrics+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept-Encoding", "identity") // to compress them would be work of the service
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read to its end
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	values := make([]float64, len(names))
	for i, name := range names {
		_, rest, found := bytes.Cut(text, []byte("\n"+name+" "))
		if !found {
			continue
		}
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		if values[i], err = strconv.ParseFloat(string(line), 64); err != nil {
			return nil, fmt.Errorf("the metric %s is no number: %q", name, line)
		}
	}
	return values, nil
}

// Usage is what a process has used since it was started, or what a call has.
type Usage struct{ Allocations, Bytes, Seconds float64 }

// Since returns what was used since an earlier look.
func (u Usage) Since(before Usage) Usage {
	return Usage{u.Allocations - before.Allocations, u.Bytes - before.Bytes, u.Seconds - before.Seconds}
}

// Per returns the share of one of so many calls.
func (u Usage) Per(calls int) Usage {
	n := float64(calls)
	return Usage{u.Allocations / n, u.Bytes / n, u.Seconds / n}
}

// Usage asks the process what it has used.
func (s *Server) Usage(ctx context.Context) (Usage, error) {
	v, err := s.Metrics(ctx, "go_memstats_mallocs_total", "go_memstats_alloc_bytes_total", "process_cpu_seconds_total")
	switch {
	case err != nil:
		return Usage{}, err
	case v[0] == 0 || v[2] == 0:
		return Usage{}, errors.New("the metrics tell nothing of the process")
	}
	return Usage{v[0], v[1], v[2]}, nil
}
