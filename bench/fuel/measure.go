package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/resource/databases"
	"ql/lang"
	"ql/lang/vm"
)

// row is one thing that is measured: the body runs again and again, after the
// setup, which is not measured.
type row struct {
	name  string
	setup string
	body  string
	files map[string]string
}

// figure is what a row came to.
type figure struct {
	name  string
	ns    float64 // of the processor for one unit of fuel
	units float64 // of fuel for one round
}

// bench runs rows in this process, on files and databases of its own.
type bench struct {
	ctx       context.Context
	folder    string
	databases *databases.Databases
	clean     bool // what the setup left behind is no part of the measurement
}

func newBench(ctx context.Context) (*bench, error) {
	folder, err := os.MkdirTemp("", "ql-fuel-")
	if err != nil {
		return nil, err
	}
	return &bench{ctx: ctx, folder: folder, databases: databases.New(databases.Options{Folder: folder}), clean: true}, nil
}

func (b *bench) close() error {
	return errors.Join(b.databases.Close(), os.RemoveAll(b.folder))
}

// limits let everything be measured at the sizes of the largest plan.
func limits() vm.Limits {
	l := account.Unlimited.Limits().SyncMachine()
	l.Fuel = 1 << 50
	l.Memory = 1 << 31
	l.Output = 1 << 31
	l.TraceFirst, l.TraceLast = 500, 500 // most of a run is not traced
	return l
}

// measure returns the best of several tries, each with as many rounds as take the
// given time. It makes no further tries below enough ns.
func (b *bench) measure(r row, length time.Duration, tries int, enough float64) (figure, error) {
	best := figure{name: r.name, ns: math.Inf(1)}
	rounds := 1
	for done := 0; done < tries; {
		cpu, fuel, err := b.once(r, rounds)
		if err != nil {
			return best, fmt.Errorf("%s: %w", r.name, err)
		}
		if cpu < length && rounds < 1<<30 {
			grow := 1000.0
			if cpu > 0 {
				grow = min(grow, 1.3*float64(length)/float64(cpu))
			}
			rounds = int(float64(rounds)*grow) + 1
			continue
		}
		done++
		best.units = float64(fuel) / float64(rounds)
		best.ns = min(best.ns, float64(cpu)/float64(max(fuel, 1)))
		if best.ns < enough {
			break
		}
	}
	return best, nil
}

// once runs a row and returns what its rounds took.
func (b *bench) once(r row, rounds int) (time.Duration, int64, error) {
	script := fmt.Sprintf("%s\nSET ?began AS NOW()\nFOR ?round FROM 1 TO %d DO\n%s\nEND\n", needed(r.setup, r.body), rounds, r.body)
	program, err := lang.Compile(script, lang.Options{})
	if err != nil {
		return 0, 0, fmt.Errorf("%w in\n%s", err, script)
	}
	m := vm.New(program, limits(), vm.Input{})
	defer m.Release()
	var cpu time.Duration
	var fuel int64
	o := engine.Options{
		Resources: engine.Resources{Databases: b.databases, Files: templates(r.files)},
		Clock: func() time.Time {
			if b.clean {
				runtime.GC()
			}
			cpu, fuel = processor(), m.Fuel()
			return time.Unix(1780302600, 0)
		},
	}
	out, err := engine.New(m, o, engine.State{}).Continue(b.ctx)
	cpu, fuel = processor()-cpu, m.Fuel()-fuel
	switch {
	case err != nil:
		return 0, 0, err
	case out.Err != nil:
		return 0, 0, out.Err
	case out.Status != engine.Done:
		return 0, 0, fmt.Errorf("it is %v", out.Status)
	}
	return cpu, fuel, nil
}

// set is a line of a setup that does nothing but set a variable.
var set = regexp.MustCompile(`^SET (\?\w+) AS `)

var variable = regexp.MustCompile(`\?\w+`)

// needed leaves out the lines of a setup that set what nothing behind them uses.
func needed(setup, body string) string {
	lines := strings.Split(setup, "\n")
	used := map[string]bool{}
	use := func(text string) {
		for _, name := range variable.FindAllString(text, -1) {
			used[name] = true
		}
	}
	use(body)
	kept := len(lines)
	for i := len(lines) - 1; i >= 0; i-- {
		if m := set.FindStringSubmatch(lines[i]); m != nil && !used[m[1]] {
			continue
		}
		use(lines[i])
		kept--
		lines[kept] = lines[i]
	}
	return strings.Join(lines[kept:], "\n")
}

// processor returns what this process has used of the processors, whoever else
// uses them.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// templates are files that are only read.
type templates map[string]string

func (t templates) Read(_ context.Context, path string, _ int) ([]byte, error) {
	content, ok := t[path]
	if !ok {
		return nil, fmt.Errorf("there is no %s", path)
	}
	return []byte(content), nil
}

var errReadOnly = errors.New("these files are only read")

func (templates) Write(context.Context, string, []byte) error  { return errReadOnly }
func (templates) Append(context.Context, string, []byte) error { return errReadOnly }

// WriteStream leaves out the disk, which is not the processor's.
func (templates) WriteStream(_ context.Context, _ string, write func(io.Writer) error, commit func() context.Context) error {
	err := write(io.Discard)
	commit()
	return err
}

func (templates) List(context.Context, string, string) iter.Seq2[engine.FileInfo, error] {
	return func(yield func(engine.FileInfo, error) bool) { yield(engine.FileInfo{}, errReadOnly) }
}
func (templates) Copy(context.Context, string, string) error { return errReadOnly }
func (templates) Move(context.Context, string, string) error { return errReadOnly }
func (templates) Remove(context.Context, string) error       { return errReadOnly }

func (t templates) Hold(_ context.Context, path string) (engine.FileContent, error) {
	return content{strings.NewReader(t[path]), path}, nil
}

func (t templates) Held(ctx context.Context, ref []byte) (engine.FileContent, error) {
	return t.Hold(ctx, string(ref))
}

// content is the content of one of them.
type content struct {
	*strings.Reader
	path string
}

func (c content) Ref() []byte { return []byte(c.path) }
func (content) Close() error  { return nil }
