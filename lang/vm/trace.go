package vm

import (
	"time"

	"ql/lang/bytecode"
)

// TraceStep is one entry of the trace.
type TraceStep struct {
	Step     string
	Status   string // Ok, Error, Paused, Declined
	Class    string
	Line     int
	Start    time.Duration // since the run began
	Duration time.Duration
	// Number is its place in the order in which steps end, 1 for the first: a
	// step that calls a function ends after those of the function. It stays the
	// same once the step is over.
	Number int64
	Open   bool // it is under way
	// Repeated says that it was begun before, by a run that was cut off in it.
	Repeated bool
}

type stepStatus uint8

const (
	stepOk stepStatus = iota
	stepError
	stepPaused
	stepDeclined
)

var statusNames = [...]string{"Ok", "Error", "Paused", "Declined"}

// entry is a step that the trace keeps.
type entry struct {
	step     int32
	depth    int32
	status   stepStatus
	open     bool
	repeated bool // see TraceStep
	start    time.Duration
	duration time.Duration
	number   int64 // see TraceStep; 0 while it is open
}

// trace keeps the first steps, and of the later ones the last with an effect
// or an error.
type trace struct {
	// The clock shows before plus the time since start, which is zero while it
	// stands.
	start  time.Time
	before time.Duration
	first  []entry
	open   []int32 // steps of first under way, outermost first
	last   []entry // a ring once it is full
	at     int     // index of the ring's oldest entry
	// inLast says that the effect asked for is the newest entry of last.
	inLast bool
	ended  int64 // entries that are over, those left out again with them
}

func (t *trace) now() time.Duration {
	if t.start.IsZero() {
		return t.before
	}
	return t.before + time.Since(t.start)
}

// startClock starts the clock of a machine that was restored.
func (t *trace) startClock() {
	if t.start.IsZero() {
		t.start = time.Now()
	}
}

// begin records the start of a statement. The trace has room, unless a program
// counts backwards.
func (t *trace) begin(m *Machine, step int32) {
	if len(t.first) >= m.limits.TraceFirst {
		return
	}
	now, depth := t.now(), len(m.frames)
	t.close(now, depth, stepOk)
	t.open = append(t.open, int32(len(t.first)))
	t.first = append(t.first, entry{step: step, depth: int32(depth), open: true, start: now})
}

// endBefore records that a statement begins that the trace has no room for: those
// before it at its depth or deeper are over.
func (t *trace) endBefore(depth int) {
	if n := len(t.open); n > 0 && int(t.first[t.open[n-1]].depth) >= depth {
		t.close(t.now(), depth, stepOk)
	}
}

// close ends all open steps at depth or deeper.
func (t *trace) close(now time.Duration, depth int, s stepStatus) {
	for n := len(t.open); n > 0; n-- {
		e := &t.first[t.open[n-1]]
		if int(e.depth) < depth {
			return
		}
		t.end(e, now, s)
		t.open = t.open[:n-1]
	}
}

// end ends one step.
func (t *trace) end(e *entry, now time.Duration, s stepStatus) {
	t.ended++
	e.duration, e.status, e.open, e.number = now-e.start, s, false, t.ended
}

// push adds an entry after the first ones.
func (t *trace) push(e entry, limit int) {
	switch {
	case limit <= 0:
	case len(t.last) < limit:
		t.last = append(t.last, e)
	default:
		t.last[t.at] = e
		t.at = (t.at + 1) % limit
	}
}

// newest returns the newest entry after the first ones.
func (t *trace) newest() *entry {
	if len(t.last) == 0 {
		return nil
	}
	return &t.last[(t.at+len(t.last)-1)%len(t.last)]
}

// effect records that a statement asks its host for something.
func (t *trace) effect(m *Machine, step int32) {
	t.inLast = false
	if step < 0 {
		return
	}
	t.endBefore(len(m.frames) + 1) // of functions that have returned
	if n := len(t.open); n > 0 && t.first[t.open[n-1]].step == step && !m.fast {
		return // it is among the first
	}
	t.push(entry{step: step, depth: int32(len(m.frames)), open: true, start: t.now()}, m.limits.TraceLast)
	t.inLast = m.limits.TraceLast > 0
}

// commit records that a TRANSACTION commits. At its END no statement begins,
// but the one before is over.
func (t *trace) commit(m *Machine, step int32) {
	if n := len(t.open); n > 0 && t.first[t.open[n-1]].step != step {
		t.endBefore(len(m.frames))
	}
}

// settled records that an effect ended well.
func (t *trace) settled(m *Machine) {
	status := stepOk
	if m.effect.Kind == bytecode.EffectConfirm && !m.stack[m.reg].Truthy() {
		status = stepDeclined
	}
	if t.inLast {
		if e := t.newest(); e != nil && e.open {
			t.end(e, t.now(), status)
		}
		t.inLast = false
		return
	}
	if n := len(t.open); n > 0 {
		e := &t.first[t.open[n-1]]
		if e.status == stepPaused {
			e.status = stepOk
		}
		if status == stepDeclined && !m.fast && e.step == m.prog.Sites[m.site].Step {
			t.end(e, t.now(), status)
			t.open = t.open[:n-1]
		}
	}
}

// failed records that the statements under way at depth or deeper failed.
func (t *trace) failed(m *Machine, depth int) {
	now := t.now()
	t.close(now, len(m.frames)+1, stepOk) // of functions that have returned
	// A rolled back TRANSACTION or a FINALLY hands on an error that has been recorded: what
	// it did itself ended well.
	again := m.pc > 0 && code(m.fn, m.fast).Instrs[m.pc-1].Op == bytecode.OpRaise
	if again {
		t.close(now, len(m.frames), stepOk)
	}
	n := len(t.open)
	covered := n > 0 && !m.fast && t.first[t.open[n-1]].step == m.mark().Step
	t.close(now, depth, stepError)
	if t.inLast {
		if e := t.newest(); e != nil && e.open {
			t.end(e, now, stepError)
		}
		t.inLast = false
		return
	}
	if step := m.mark().Step; !covered && !again && step >= 0 {
		e := entry{step: step, start: now}
		t.end(&e, now, stepError)
		t.push(e, m.limits.TraceLast)
	}
}

// MarkPaused shows the statement that waits for a person as paused.
func (m *Machine) MarkPaused() {
	t := &m.trace
	if t.inLast {
		t.newest().status = stepPaused
		return
	}
	if n := len(t.open); n > 0 {
		t.first[t.open[n-1]].status = stepPaused
	}
}

// MarkRepeated shows the statement whose effect is asked for as one that was begun before, by a run
// that was cut off in it.
func (m *Machine) MarkRepeated() {
	t := &m.trace
	if t.inLast {
		t.newest().repeated = true
		return
	}
	if n := len(t.open); n > 0 {
		t.first[t.open[n-1]].repeated = true
	}
}

// Trace returns the steps that the trace keeps, and how many it left out.
func (m *Machine) Trace() (steps []TraceStep, dropped int64) {
	t := &m.trace
	now, open := t.now(), t.ended
	steps = make([]TraceStep, 0, len(t.first)+len(t.last))
	show := func(e *entry) {
		s := &m.prog.Steps[e.step]
		steps = append(steps, TraceStep{Step: s.Name, Status: statusNames[e.status], Class: s.Class.String(),
			Line: int(s.Line), Start: e.start, Duration: e.duration, Number: e.number, Open: e.open, Repeated: e.repeated})
	}
	for i := range t.first {
		show(&t.first[i])
	}
	for i := range t.last {
		show(&t.last[(t.at+i)%len(t.last)])
	}
	// Those under way would end now, the innermost first.
	for i := len(steps) - 1; i >= 0; i-- {
		if s := &steps[i]; s.Open {
			open++
			s.Duration, s.Number = now-s.Start, open
		}
	}
	return steps, max(0, m.Steps()-int64(len(steps)))
}

// Steps returns how many statements have begun.
func (m *Machine) Steps() int64 {
	n := m.steps
	if m.status == Ready || m.status == Pending {
		n += int64(m.mark().Pending)
		for i := range m.frames {
			f := &m.frames[i]
			n += int64(code(f.fn, f.fast).At(int(f.pc) - 1).Pending)
		}
	}
	return n
}
