package wasm

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"ql/internal/admit"
	"ql/internal/engine"
	"ql/lang/value"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"
)

const (
	// fuelPerTurn is about how many instructions a module runs between turns.
	fuelPerTurn = 1 << 19
	// firstStack is what a module may use of the stack before it asks.
	firstStack = 64 << 10
	// maxStack is all that wazero lets a stack take, with its copy while it grows.
	maxStack = 128 << 20
	// maxArguments is how many bytes arguments and environment have together.
	maxArguments = 128 << 10
)

// process is one run of a module. The host's functions find it by their context.
type process struct {
	args, env []string
	input     []byte
	output    func(stderr bool, piece []byte)
	most      int
	stdout    []byte
	stderr    []byte

	reservation *admit.Reservation
	memoryLimit int64
	held        int64 // of what memoryLimit bounds
	granted     int64 // of the stack
	charged     int64 // for that

	volume *volume
	top    *node
	open   []*descriptor
	memory api.Memory // of the call under way
	began  time.Time
	turned time.Time // when it last let others have their turn

	exited  bool // by proc_exit
	code    uint32
	stopped bool // by the host
	cause   error
}

// stop is a panic that ends a module at once.
type stop struct{ cause error }

type processKey struct{}

func processOf(ctx context.Context) *process { return ctx.Value(processKey{}).(*process) }

// end ends the module at once, within a call of wazero's.
func (p *process) end(cause error) {
	p.stopped, p.cause = true, cause
	panic(sys.NewExitError(stoppedCode))
}

// turn lets others have theirs, and ends the module where its time is over.
func (p *process) turn(ctx context.Context) {
	if err := engine.Turn(ctx); err != nil {
		panic(stop{err})
	}
	p.turned = time.Now()
}

// hostTurn is how long calls of the host may take together before there is a turn: what they do is
// paid for by none of a module's fuel.
const hostTurn = time.Millisecond

// turnIfDue is turn for calls of the host, which may be long, and many.
func (p *process) turnIfDue(ctx context.Context) {
	if time.Since(p.turned) > hostTurn {
		p.turn(ctx)
	}
}

// charge counts memory of the run, and reports false where there is no more.
func (p *process) charge(bytes int64) bool {
	if bytes <= 0 {
		p.held += bytes
		p.reservation.Shrink(-bytes)
		return true
	}
	if p.held+bytes > p.memoryLimit || !p.reservation.TryGrow(bytes) {
		return false
	}
	p.held += bytes
	return true
}

// deeper returns how much stack a module has, having asked for more by a shortage. What is granted
// is counted twice: a stack doubles, and is copied then. It is no part of the memory that a plan
// gives, since what is asked for is far more than what is used.
func (p *process) deeper(shortage int64) int64 {
	more := max(-shortage, p.granted)
	if cost := min(2*more, maxStack-p.charged); cost > 0 {
		if !p.reservation.TryGrow(cost) {
			panic(stop{value.Exceeded("memory", p.memoryLimit, "the module's calls are nested too deeply for the memory that is free now")})
		}
		p.charged += cost
	}
	p.granted += more
	return shortage + more
}

// print takes output.
func (p *process) print(stderr bool, b []byte) {
	if len(b) > p.most-len(p.stdout)-len(p.stderr) {
		panic(stop{value.Exceeded("value_size", int64(p.most), "the module wrote more than the %s that a RUN can give", value.FormatByteCount(int64(p.most)))})
	}
	to := &p.stdout
	if stderr {
		to = &p.stderr
	}
	if need := len(*to) + len(b); need > cap(*to) {
		size := max(need, min(2*cap(*to), cap(*to)+1<<20), 512)
		if !p.reservation.TryGrow(int64(size)) {
			panic(stop{value.Exceeded("memory", p.memoryLimit, "there is no memory free for what the module writes")})
		}
		grown := append(make([]byte, 0, size), *to...)
		p.reservation.Shrink(int64(cap(*to)))
		*to = grown
	}
	*to = append(*to, b...)
	if p.output != nil {
		p.output(stderr, b)
	}
}

// linear is a module's memory.
type linear struct {
	ctx context.Context
	p   *process
	b   []byte
}

// pieceCopied is how much is copied between looks at the clock.
const pieceCopied = 1 << 20

// Reallocate implements experimental.LinearMemory.
func (l *linear) Reallocate(size uint64) []byte {
	if size <= uint64(cap(l.b)) {
		l.b = l.b[:size]
		return l.b
	}
	// To ask for memory is a call of the host like others, and to copy it may take long.
	if err := l.p.try(func() { l.p.turnIfDue(l.ctx) }); err != nil {
		l.p.end(err)
	}
	old := int64(cap(l.b))
	// Twice as much, so that not every step copies, or just enough where that is too much.
	for _, want := range []int64{max(int64(size), min(2*old, old+16<<20)), int64(size)} {
		// While it is copied there is both, of which a module has one.
		if l.p.held+want-old > l.p.memoryLimit || !l.p.reservation.TryGrow(want) {
			continue
		}
		l.p.held += want - old
		grown := make([]byte, size, want)
		if err := l.p.try(func() {
			for at := 0; at < len(l.b); at += pieceCopied {
				copy(grown[at:], l.b[at:min(at+pieceCopied, len(l.b))])
				l.p.turnIfDue(l.ctx)
			}
		}); err != nil {
			l.p.held -= want - old
			l.p.reservation.Shrink(want)
			l.p.end(err)
		}
		l.b = grown
		l.p.reservation.Shrink(old)
		return l.b
	}
	return nil
}

// Free implements experimental.LinearMemory.
func (l *linear) Free() {
	l.p.charge(-int64(cap(l.b)))
	if n := cap(l.b) / page; n > 0 && n < len(spare) && cap(l.b) == n*page {
		b := l.b[:cap(l.b)]
		clear(b)
		spare[n].Put(&b)
	}
	l.b = nil
}

// spare are small memories that were used, by their pages, all zeros again: making one is most of
// what a short run takes.
var spare [5]sync.Pool

// firstMemory returns memory for so many pages, of which none is in use yet.
func firstMemory(pages int) []byte {
	if pages < len(spare) {
		if b, ok := spare[pages].Get().(*[]byte); ok {
			return (*b)[:0]
		}
	}
	return make([]byte, 0, pages*page)
}

// instanceConfig is that of all instances. What wazero would give them they do not use: a source of
// chance is named, since making up one takes a fifth of a short run.
var instanceConfig = wazero.NewModuleConfig().WithName("").WithStartFunctions().WithRandSource(rand.Reader)

// run runs a compiled module to its end.
func (p *process) run(ctx context.Context, r wazero.Runtime, m *module) (engine.MachineResult, error) {
	p.began = time.Now()
	p.turned = p.began
	p.granted = firstStack
	base := m.plan.instance + 2*(m.plan.frame+firstStack)
	if err := reserve(ctx, p.reservation, base); err != nil {
		return engine.MachineResult{}, err
	}
	if least := int64(m.plan.pages) * page; least > p.memoryLimit {
		return engine.MachineResult{}, value.Exceeded("memory", p.memoryLimit, "the module needs %s of memory to begin with, and a RUN has %s", value.FormatByteCount(least), value.FormatByteCount(p.memoryLimit))
	} else if !p.reservation.TryGrow(least) {
		// wazero takes its first memory for granted: so it is there before.
		if err := reserve(ctx, p.reservation, least); err != nil {
			return engine.MachineResult{}, err
		}
	}
	first := int64(m.plan.pages) * page
	allocate := experimental.MemoryAllocatorFunc(func(uint64, uint64) experimental.LinearMemory {
		p.held += first
		return &linear{ctx: ctx, p: p, b: firstMemory(int(m.plan.pages))}
	})
	if err := engine.Turn(ctx); err != nil {
		return engine.MachineResult{}, err
	}
	// The run's end is found out by its turns: with a context that ends, wazero would start a
	// goroutine for each call.
	inner := experimental.WithMemoryAllocator(context.WithValue(ctx, processKey{}, p), allocate)
	instance, err := r.InstantiateModule(inner, m.compiled, instanceConfig)
	if err == nil {
		_, err = instance.ExportedFunction(entryPoint).Call(inner)
		err = errors.Join(err, instance.Close(inner))
	}
	return p.result(inner, err)
}

// faultCode is the exit code of a module that did what it may not: as a shell has it of a program
// that was aborted.
const faultCode = 134

// result makes the result of how a module ended.
func (p *process) result(ctx context.Context, err error) (engine.MachineResult, error) {
	var exit *sys.ExitError
	switch {
	case p.stopped:
		return engine.MachineResult{}, p.cause
	case err == nil, p.exited && errors.As(err, &exit):
	default:
		line, _, _ := strings.Cut(err.Error(), "\n")
		p.code = faultCode
		if _, inner, found := strings.Cut(line, "wasm error: "); found {
			line = inner
		} else {
			line = "it could not be started"
		}
		if fault := p.try(func() { p.print(true, fmt.Appendf(nil, "the module was ended by a fault: %s\n", line)) }); fault != nil {
			return engine.MachineResult{}, fault
		}
	}
	if err := p.try(func() {
		if err := p.volume.storeAll(ctx); err != nil {
			panic(stop{err})
		}
	}); err != nil {
		return engine.MachineResult{}, err
	}
	return engine.MachineResult{Code: int(p.code), Stdout: p.stdout, Stderr: p.stderr}, nil
}

// try does what may stop.
func (p *process) try(do func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			s, ok := r.(stop)
			if !ok {
				panic(r)
			}
			err = s.cause
		}
	}()
	do()
	return nil
}

// reserve reserves memory. Whoever waits for it holds no slot.
func reserve(ctx context.Context, r *admit.Reservation, bytes int64) error {
	if r.TryGrow(bytes) {
		return nil
	}
	engine.Yield(ctx)
	if err := r.Grow(ctx, bytes); err != nil {
		return refusedMemory(err)
	}
	return engine.Turn(ctx)
}

// refusedMemory makes an error for the script of one of the ledger.
func refusedMemory(err error) error {
	var refused *admit.Refused
	if !errors.As(err, &refused) {
		return err
	}
	if refused.Reason == admit.TooLarge {
		return value.Errorf("limit_exceeded", "the module takes more memory than this node has for one")
	}
	return value.Errorf("machine_failed", "this node has no memory free for the module now: %s", refused.Error())
}
