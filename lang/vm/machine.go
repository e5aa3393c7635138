// Package vm runs programs. A Machine's whole state is data of its own: frames
// and registers on its stack, values without references to the host. So it can
// stop at any effect, hand it to its host, be stored, and continue elsewhere. It
// knows neither the syntax nor what effects do.
package vm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"ql/lang/bytecode"
	"ql/lang/lib"
	"ql/lang/value"
)

// Limits are what a run may use at most.
type Limits struct {
	value.Bounds
	Fuel       int64 // about 100 million a second
	Memory     int64 // bytes of live values
	CallDepth  int
	Output     int // bytes
	TraceFirst int // steps shown from the start
	TraceLast  int // steps with an effect or an error shown after them
}

// Input is the request data that a script may read; of all but the body and the input,
// null is an empty map. Input is !INPUT, a map or null, as CheckInput returns it.
type Input struct {
	Get, Post, Cookie, Request, Body, Input, Files value.Value
	// Fuel is what making it has used, which the script pays.
	Fuel int64
	// Err says that it could not be made, and ends the run before it begins: a
	// *value.LimitError as that limit, anything else as an internal error.
	Err error
}

// Status is the state of a machine.
type Status uint8

// The states.
const (
	Ready    Status = iota // Run continues it
	Pending                // suspended at an effect, whose result the host owes
	Done                   // ended well
	Declined               // ended at a declined CONFIRM
	Failed                 // ended with Err
)

// Machine runs one program once. It is not safe for concurrent use.
type Machine struct {
	prog   *bytecode.Program
	link   *linked
	consts []value.Value // the program's
	hints  []uint8       // of each constant that is a key: where a map had it last
	meter  value.Meter
	host   value.Meter // see Meter

	stack  []value.Value
	frames []frame
	// The current frame; while the loop runs, its own pc is ahead.
	fn   *function
	pc   int // after the current instruction
	base int
	fast bool

	status  Status
	site    int32 // the effect asked for
	reg     int   // the register of its arguments and result, absolute
	effect  Effect
	seq     int64
	owed    int64 // fuel that the effect asked for has used, see ChargeEffect
	err     *Error
	out     []byte
	json    bool // out is one value, see OutputIsJSON
	globals [bytecode.GlobalCount]value.Value
	db      value.Value
	tx      int // 1 + frames below the open TRANSACTION, 0 without one

	limits     Limits
	confined   confinement
	input      value.Walker // which New weighs the input with
	result     value.Walker // which Resume weighs results with
	trace      trace
	traceFirst int64
	steps      int64 // statements begun, as far as counted
	ctx        context.Context
	pace       Pace
	rules      Rules
	call       lib.Call
}

// frame is a caller that waits for its callee.
type frame struct {
	fn   *function
	pc   int32
	base int32
	fast bool
}

// function is a function of a program with its instructions as words, which
// the loop takes apart faster than structs.
type function struct {
	*bytecode.Func
	number       int
	traced, fast []uint64
}

func (f *function) words(fast bool) []uint64 {
	if fast {
		return f.fast
	}
	return f.traced
}

func words(code []bytecode.Instr) []uint64 {
	w := make([]uint64, len(code))
	for i, in := range code {
		w[i] = uint64(in.Op) | uint64(in.A)<<8 | uint64(in.B)<<16 | uint64(in.C)<<24 | uint64(uint32(in.Imm))<<32
	}
	return w
}

// linked is a program made ready: instructions as words, built-ins looked up.
type linked struct {
	funcs    []function
	builtins []lib.Func
	overMaps []bool // of each built-in: its loop goes through the entries of a map
	// constants is made when the first machine is stored.
	constants func() *value.Constants
	reads     [bytecode.GlobalCount]bool // which globals
	maxRegs   int                        // that a frame of any of the functions needs
}

func link(p *bytecode.Program) any {
	l := &linked{builtins: make([]lib.Func, len(p.Builtins)), overMaps: make([]bool, len(p.Builtins)), funcs: make([]function, len(p.Funcs))}
	l.constants = sync.OnceValue(func() *value.Constants { return value.NewConstants(p.Consts) })
	for i, f := range p.Funcs {
		l.maxRegs = max(l.maxRegs, f.Regs)
		l.funcs[i] = function{Func: f, number: i, traced: fused(p, &f.Traced), fast: fused(p, &f.Fast)}
		for _, in := range f.Traced.Instrs {
			if in.Op == bytecode.OpGlobal || in.Op == bytecode.OpGlobalGet {
				l.reads[in.Imm] = true
			}
		}
	}
	for i, name := range p.Builtins {
		n, ok := lib.Lookup(name)
		if !ok {
			return errors.New("the program uses " + name + ", which this version does not have")
		}
		l.builtins[i], l.overMaps[i] = lib.At(n).Fn, lib.At(n).Loop == lib.LoopEntries
	}
	if err := l.checkCalls(p); err != nil {
		return err
	}
	return l
}

// checkCalls checks that built-ins are called with arguments they can take.
// The compiler sees to it, but a stored program may be of an earlier release.
func (l *linked) checkCalls(p *bytecode.Program) error {
	for _, f := range p.Funcs {
		for _, code := range []*bytecode.Code{&f.Traced, &f.Fast} {
			for _, in := range code.Instrs {
				if in.Op != bytecode.OpBuiltin {
					continue
				}
				n, _ := lib.Lookup(p.Builtins[in.Imm])
				b := lib.At(n)
				if b.Fn == nil || int(in.B) < b.Min || b.Max >= 0 && int(in.B) > b.Max {
					return fmt.Errorf("the program calls %s in a way that this version does not know", b.Name)
				}
			}
		}
	}
	return nil
}

// window is how many registers an instruction can reach.
const window = 256

var pool = sync.Pool{New: func() any {
	m := &Machine{stack: make([]value.Value, window+64)}
	m.meter.Measure = m.measure
	m.meter.Check = m.check
	m.host.Measure = func() int64 {
		m.confined.check()
		return m.live(nil)
	}
	return m
}}

// patterns are the compiled patterns of all machines: they hold nothing of a
// run.
var patterns = lib.NewPatterns(1024)

// New returns a machine at the start of a program. Its input is charged to it.
func New(p *bytecode.Program, l Limits, in Input) *Machine {
	m := pool.Get().(*Machine)
	m.start(p, l)
	m.globals[bytecode.GlobalGet] = in.Get
	m.globals[bytecode.GlobalPost] = in.Post
	m.globals[bytecode.GlobalCookie] = in.Cookie
	m.globals[bytecode.GlobalRequest] = in.Request
	m.globals[bytecode.GlobalBody] = in.Body
	m.globals[bytecode.GlobalInput] = in.Input
	m.globals[bytecode.GlobalFiles] = in.Files
	m.meter.Reserve -= min(in.Fuel, m.meter.Reserve)
	m.input.Reset(nil)
	for _, g := range m.globals {
		m.input.Visit(g.Share())
	}
	err := in.Err
	if m.meter.BytesLeft -= m.input.Bytes(); m.meter.BytesLeft < 0 {
		m.meter.BytesLeft = 0
		err = &value.LimitError{Name: "memory", Max: l.Memory}
	}
	if err != nil && m.status == Ready {
		m.failAtStart(err)
	}
	return m
}

// failAtStart ends a run whose input could not be made.
func (m *Machine) failAtStart(err error) {
	var l *value.LimitError
	if errors.As(err, &l) {
		m.fail(m.limitError(l))
		return
	}
	m.fail(m.errorAt("internal", internalMessage))
	m.err.cause = err
}

// Reads tells whether a program reads a global: for one that does not, a host need not
// make all of it.
func Reads(p *bytecode.Program, global int32) bool {
	l, ok := p.Linked(link).(*linked)
	return ok && l.reads[global]
}

// start makes a clean machine ready for a program.
func (m *Machine) start(p *bytecode.Program, l Limits) {
	m.prog, m.consts = p, p.Consts
	m.hints = slices.Grow(m.hints[:0], len(p.Consts))[:len(p.Consts)]
	switch l := p.Linked(link).(type) {
	case *linked:
		m.link = l
	case error:
		m.link = &linked{funcs: []function{{Func: p.Funcs[0]}}, maxRegs: bytecode.MaxRegs}
		m.status, m.err = Failed, &Error{Code: "internal", Message: l.Error()}
	}
	m.limits = l
	m.meter.Bounds = l.Bounds
	m.meter.TotalFuel, m.meter.Fuel, m.meter.Reserve = l.Fuel, 0, l.Fuel
	m.meter.Memory, m.meter.BytesLeft = l.Memory, l.Memory
	m.meter.End()
	m.call = lib.Call{Meter: &m.meter, Patterns: patterns}
	m.fn = &m.link.funcs[0]
	m.traceFirst = int64(l.TraceFirst)
	m.trace.startClock()
}

// Release gives the machine's memory back for another run. The machine, its
// output and its values must not be used after it.
func (m *Machine) Release() {
	if cap(m.stack) > 1<<14 {
		m.stack = make([]value.Value, window+64)
	} else {
		clear(m.stack)
	}
	if cap(m.out) > 1<<16 {
		m.out = nil
	}
	if cap(m.hints) > 1<<12 {
		m.hints = nil
	}
	*m = Machine{
		stack: m.stack, frames: m.frames[:0], out: m.out[:0], hints: m.hints,
		meter: value.Meter{Measure: m.meter.Measure, Check: m.meter.Check},
		host:  value.Meter{Measure: m.host.Measure},
		trace: trace{first: m.trace.first[:0], open: m.trace.open[:0], last: m.trace.last[:0]},
	}
	pool.Put(m)
}

// Run runs the program until it ends or asks for an effect. The context ends
// it early.
func (m *Machine) Run(ctx context.Context) (s Status) {
	if m.status != Ready {
		return m.status
	}
	m.trace.startClock()
	m.ctx = ctx
	defer func() {
		m.ctx = nil
		if e := recover(); e != nil {
			l, ok := e.(*value.LimitError)
			if !ok {
				panic(e)
			}
			m.fail(m.limitError(l))
			s = m.status
		}
	}()
	if l := m.check(); l != nil {
		m.fail(m.limitError(l))
		return m.status
	}
	m.run()
	return m.status
}

// Pace says when a machine may compute.
type Pace interface {
	// Turn returns when it may continue, nil while ctx has not ended. It is called
	// each time a slice of fuel is used up, which stays the machine's only clock:
	// a run that waits here does the same as one that does not.
	Turn(ctx context.Context) error
}

// SetPace lets p say when the machine may compute; by itself it always may.
func (m *Machine) SetPace(p Pace) { m.pace = p }

// check waits until the machine may continue, and reports whether the context has
// ended.
func (m *Machine) check() *value.LimitError {
	if m.ctx == nil {
		return nil
	}
	err := m.ctx.Err()
	if m.pace != nil {
		err = m.pace.Turn(m.ctx)
	}
	if err != nil {
		return &value.LimitError{Name: "time", Cause: context.Cause(m.ctx)}
	}
	return nil
}

// Effect is what a machine asks its host for.
type Effect struct {
	Kind      bytecode.Effect
	Args      []value.Value
	Statement *bytecode.Statement // SQL
	Database  string              // SQL and TxBegin; "" where none was named
	Savepoint bool                // SQL: inside a TRY inside the TRANSACTION
	Seq       int64               // 1 for the first effect of the run, and so on
	Step      string
	Line      int
}

// Effect returns the effect asked for while the status is Pending. Its
// arguments belong to the machine.
func (m *Machine) Effect() *Effect { return &m.effect }

// effectCost is the fuel that an effect costs, whatever it is: stopping and
// going on takes a machine and its host about as long.
const effectCost = 100

// requestEffect stops at the effect of a site whose arguments are in the registers
// from a on.
func (m *Machine) requestEffect(site int32, a uint8) *value.Error {
	s := &m.prog.Sites[site]
	info := s.Effect.Info()
	if m.tx > 0 && !info.InTransaction {
		return m.inTransaction(s)
	}
	m.meter.Work(effectCost)
	m.site = site
	m.reg = m.base + int(a)
	m.seq++
	m.status = Pending
	m.call.ResetPaid()
	m.clearDead()
	m.buildEffect()
	switch {
	case !info.Inner:
		m.trace.effect(m, s.Step)
	case s.Effect == bytecode.EffectTxCommit:
		m.trace.commit(m, s.Step)
	}
	return nil
}

// inTransaction is the error of an effect that a rollback could not undo.
func (m *Machine) inTransaction(s *bytecode.Site) *value.Error {
	name := s.Effect.String()
	if s.Step >= 0 {
		name = m.prog.Steps[s.Step].Name
	}
	switch s.Effect {
	case bytecode.EffectTxBegin:
		return value.Errorf("in_transaction", "a TRANSACTION cannot run inside another, not even by way of a function")
	case bytecode.EffectSessionSet, bytecode.EffectSessionUnset:
		name += " … OF !SESSION"
	case bytecode.EffectSQLFile:
		name += " … SET FILE"
	}
	return value.Errorf("in_transaction", "%s cannot run inside a TRANSACTION, where only SQL and computation run", name)
}

// buildEffect fills in the effect from the state.
func (m *Machine) buildEffect() {
	s := &m.prog.Sites[m.site]
	e := Effect{Kind: s.Effect, Args: m.stack[m.reg : m.reg+int(s.Args)], Seq: m.seq}
	if s.Step >= 0 {
		e.Step = m.prog.Steps[s.Step].Name
		e.Line = int(m.prog.Steps[s.Step].Line)
	}
	switch s.Effect {
	case bytecode.EffectSQL, bytecode.EffectSQLFile:
		e.Statement = &m.prog.Statements[s.Statement]
		e.Savepoint = m.tx > 0 && m.inTry()
		e.Database = m.database()
	case bytecode.EffectImport:
		e.Savepoint = m.tx > 0 && m.inTry()
		e.Database = m.database()
	case bytecode.EffectTxBegin:
		e.Database = m.database()
	}
	m.effect = e
}

func (m *Machine) database() string {
	if m.db.IsText() {
		return m.db.Str()
	}
	return ""
}

// Prospect tells what the program may do to the world after the effect that the machine stands at.
func (m *Machine) Prospect() bytecode.Prospect {
	points := make([]bytecode.Point, 0, len(m.frames)+1)
	fn, pc, base, fast, db := m.fn, m.pc, m.base, m.fast, m.db
	for i := len(m.frames); ; i-- {
		at := bytecode.Point{Func: fn.number, PC: pc, Fast: fast}
		if db.IsText() {
			at.Database = db.Str()
		}
		points = append(points, at)
		if i == 0 {
			return m.prog.Prospect(points)
		}
		if fn.DBReg >= 0 {
			db = m.stack[base+fn.DBReg] // which the caller is given back
		}
		f := &m.frames[i-1]
		fn, pc, base, fast = f.fn, int(f.pc), int(f.base), f.fast
	}
}

// inTry reports whether a TRY is between here and the open TRANSACTION:
// whether the innermost handler is one.
func (m *Machine) inTry() bool {
	fn, pc, fast := m.fn, m.pc-1, m.fast
	for i := len(m.frames); ; i-- {
		for _, h := range code(fn, fast).Handlers {
			if int(h.From) <= pc && pc < int(h.To) {
				return !h.Transaction
			}
		}
		if i < m.tx {
			return false
		}
		f := &m.frames[i-1]
		fn, pc, fast = f.fn, int(f.pc)-1, f.fast
	}
}

func code(f *function, fast bool) *bytecode.Code {
	if fast {
		return &f.Fast
	}
	return &f.Traced
}

// Resume gives the machine the result of the effect it asked for. The value
// becomes the machine's.
func (m *Machine) Resume(v value.Value) {
	m.settle(func() *value.Error {
		m.meter.Alloc(int(m.host.Weigh(v, &m.result, &m.meter)))
		m.stack[m.reg] = v
		switch m.effect.Kind {
		case bytecode.EffectTxBegin:
			m.tx = len(m.frames) + 1
		case bytecode.EffectTxCommit, bytecode.EffectTxRollback:
			m.tx = 0
			if m.site == bytecode.CommitSite {
				m.pc-- // back to the STOP
			}
		}
		return nil
	})
}

// ResumeError tells the machine that its effect failed: a *value.Error is an
// error that the script may catch, a *value.LimitError ends the run as that limit,
// anything else ends it as an internal error.
func (m *Machine) ResumeError(err error) {
	m.settle(func() *value.Error {
		m.host.Forget()
		if m.effect.Kind == bytecode.EffectTxRollback {
			m.tx = 0
		}
		var e *value.Error
		var l *value.LimitError
		switch {
		case errors.As(err, &e):
			return e
		case errors.As(err, &l):
			panic(l)
		}
		m.fail(m.errorAt("internal", internalMessage))
		m.err.cause = err
		return nil
	})
}

const internalMessage = "something went wrong inside the service"

// ChargeEffect has the script pay for what its host computed for the effect asked
// for, when the effect is settled. Whoever replays the run from its journal has to
// charge the same.
func (m *Machine) ChargeEffect(fuel int64) { m.owed = fuel }

// settle ends the wait for an effect.
func (m *Machine) settle(result func() *value.Error) {
	if m.status != Pending {
		return
	}
	owed := m.owed
	m.owed = 0
	m.status = Ready
	m.trace.startClock()
	defer func() {
		m.effect = Effect{}
		if e := recover(); e != nil {
			l, ok := e.(*value.LimitError)
			if !ok {
				panic(e)
			}
			m.fail(m.limitError(l))
		}
	}()
	m.meter.Work(int(owed))
	if err := result(); err != nil {
		if !m.raise(err) {
			return
		}
	} else if m.status == Ready {
		m.trace.settled(m)
	}
}

// Output returns what the script has emitted so far.
func (m *Machine) Output() []byte { return m.out }

// MoveOutput returns the output of a run that has ended, and leaves the machine none: so it need not
// be copied to outlive it.
func (m *Machine) MoveOutput() []byte {
	out := m.out
	m.out = nil
	return out
}

// OutputIsJSON reports whether EMIT JSON has made the output: it is one value, and
// nothing comes after it.
func (m *Machine) OutputIsJSON() bool { return m.json }

// Err returns why the run failed, or nil.
func (m *Machine) Err() *Error { return m.err }

// Refuel gives a machine that stands at an effect all of its fuel again, and returns what it had used.
func (m *Machine) Refuel() int64 {
	used := m.meter.Used()
	m.meter.Fuel, m.meter.Reserve = 0, m.meter.TotalFuel
	return used
}

// Fuel returns the fuel used so far.
func (m *Machine) Fuel() int64 { return m.meter.Used() }

// Memory returns how many bytes the run holds as they were counted: those that are live, or
// more where that was not measured lately.
func (m *Machine) Memory() int64 {
	return m.limits.Memory - m.meter.BytesLeft - m.confined.memory
}

// Status returns the state of the machine.
func (m *Machine) Status() Status { return m.status }

// Response returns what the script set OF !RESPONSE, a map or null.
func (m *Machine) Response() value.Value { return m.globals[bytecode.GlobalResponse] }

// Cookies returns what the script set OF !COOKIE, a map or null.
func (m *Machine) Cookies() value.Value { return m.globals[bytecode.GlobalCookiesSet] }

// Meter returns a meter under which the host may make the result of the effect
// asked for: it ends at the script's limits of memory and fuel, but charges the
// script nothing. The memory of the result is charged by Resume, the fuel by
// ChargeEffect, the same in a replay. It is good until the next call.
func (m *Machine) Meter() *value.Meter {
	m.host = value.Meter{Bounds: m.limits.Bounds, Memory: m.limits.Memory, BytesLeft: m.meter.BytesLeft,
		Fuel: m.meter.Fuel, Reserve: m.meter.Reserve, TotalFuel: m.meter.TotalFuel, Measure: m.host.Measure}
	m.host.Begin()
	return &m.host
}

// measure returns the bytes of all live values, charging for the walk.
func (m *Machine) measure() int64 {
	m.confined.check()
	return m.live(&m.meter)
}

// clearDead clears the registers that are not in use: so that what they held
// can be collected, and so that a machine that continues
// has in them what a restored one has. The stack then ends behind the current
// frame, so that the next time there is only to clear what was used since.
func (m *Machine) clearDead() {
	end := len(m.stack)
	if end == m.base+window {
		// It has not grown since it was last cleared from here: no frame began behind this one, and
		// no frame is larger than the largest. One more is where the commit before a STOP leaves its result.
		end = min(end, m.base+m.link.maxRegs+1)
	}
	clear(m.stack[min(m.height(), end):end])
	m.stack = m.stack[:m.base+window]
}

func (m *Machine) live(charge *value.Meter) int64 {
	m.clearDead()
	w := value.NewWalker(charge)
	for _, v := range m.stack[:m.height()] {
		w.Visit(v)
	}
	for _, v := range m.globals {
		w.Visit(v)
	}
	w.Visit(m.db)
	return w.Bytes() + int64(16*m.height())
}

// Registers returns what stands in the registers in use, of all frames. It is to be read only,
// and good until the machine runs again.
func (m *Machine) Registers() []value.Value { return m.stack[:m.height()] }

// height returns how much of the stack is in use.
func (m *Machine) height() int {
	if m.status == Pending {
		return m.reg + int(m.prog.Sites[m.site].Args)
	}
	c := code(m.fn, m.fast)
	if m.pc == 0 {
		return m.base + m.fn.Params
	}
	return m.base + int(c.Height[m.pc-1])
}
