package vm

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"ql/lang/bytecode"
	"ql/lang/value"
)

// Unfuse takes the machine's own operations out of a program, and returns how many there were.
func Unfuse(p *bytecode.Program) int {
	l := p.Linked(link).(*linked)
	n := 0
	for i := range l.funcs {
		f := &l.funcs[i]
		for _, w := range slices.Concat(f.traced, f.fast) {
			if bytecode.Op(w) >= bytecode.OpsEnd {
				n++
			}
		}
		f.traced, f.fast = words(f.Traced.Instrs), words(f.Fast.Instrs)
	}
	return n
}

// Poison fills all registers that are not in use.
func (m *Machine) Poison(v value.Value) {
	for i := m.height(); i < len(m.stack); i++ {
		m.stack[i] = v
	}
}

// Live returns the bytes of all values that the machine holds. The registers
// themselves are not counted: the limit of calls bounds them.
func (m *Machine) Live() int64 { return m.live(nil) - m.registers() }

func (m *Machine) registers() int64 { return 16 * int64(m.height()) }

// Holds returns the bytes of all that counts as memory, registers with it.
func (m *Machine) Holds() int64 { return m.live(nil) }

// Inspect lists the parts of the state, for reports.
func (m *Machine) Inspect() []string {
	s := []string{
		fmt.Sprintf("status %d, effect %d, steps %d, transaction %d, output %d", m.status, m.seq, m.steps, m.tx, len(m.out)),
		fmt.Sprintf("fuel left %d, memory free %d", m.meter.Fuel+m.meter.Reserve, m.meter.BytesLeft),
		fmt.Sprintf("database %s, site %d, register %d", value.AppendJSON(nil, m.db), m.site, m.reg),
	}
	for _, f := range m.frames {
		s = append(s, fmt.Sprintf("caller %q at %d, registers from %d, fast %t", f.fn.Name, f.pc, f.base, f.fast))
	}
	s = append(s, fmt.Sprintf("in %q at %d, registers from %d, fast %t", m.fn.Name, m.pc, m.base, m.fast))
	show := func(what string, i int, v value.Value) {
		e := value.NewEncoder(nil)
		e.Value(v)
		s = append(s, fmt.Sprintf("%s %d: %s (%s, %x)", what, i, value.AppendJSON(nil, v), v.Kind(), sha256.Sum256(e.Bytes())))
	}
	for i, v := range m.stack[:m.height()] {
		show("register", i, v)
	}
	for i, v := range m.globals {
		show("global", i, v)
	}
	return append(s, fmt.Sprintf("trace %+v", m.trace.shape()))
}

// shape is a trace without times.
func (t *trace) shape() any {
	strip := func(l []entry) []entry {
		l = slices.Clone(l)
		for i := range l {
			l[i].start, l[i].duration = 0, 0
		}
		return l
	}
	return []any{strip(t.first), t.open, strip(t.last), t.at, t.inLast, t.ended}
}

// MeasureOften has live memory measured whenever room bytes have been
// allocated. Each time, the registers that are not in use are poisoned.
func (m *Machine) MeasureOften(room int64, poison value.Value) {
	m.meter.BytesLeft = 0
	m.meter.Measure = func() int64 {
		live := m.live(nil)
		m.Poison(poison)
		return max(live, m.meter.Memory-room)
	}
}

// OnMeasure has f called with the bytes of all values whenever they are
// measured.
func (m *Machine) OnMeasure(f func(live int64)) {
	m.meter.Measure = func() int64 {
		live := m.measure()
		f(live - m.registers())
		return live
	}
}

// Forget drops all that the machine holds. It does not go back to the pool.
func (m *Machine) Forget() { *m = Machine{} }

// LeftBehind returns the bytes of what stands in registers that are not in use.
func (m *Machine) LeftBehind() int64 {
	w := value.NewWalker(nil)
	for _, v := range m.stack[m.height():] {
		w.Visit(v)
	}
	return w.Bytes()
}

// DirtyRegisters returns how many registers that are not in use hold something, behind the end of the
// stack too.
func (m *Machine) DirtyRegisters() (n int) {
	for _, v := range m.stack[m.height():cap(m.stack)] {
		if v != (value.Value{}) {
			n++
		}
	}
	return n
}

// Seal puts the right checksum at the end of a changed snapshot.
func Seal(snapshot []byte) {
	body := snapshot[:len(snapshot)-checksumSize]
	sum := sha256.Sum256(body)
	copy(snapshot[len(body):], sum[:])
}

// StateStart returns where in a snapshot the state stands, after the program's
// hash and the limits.
func StateStart(snapshot []byte) int {
	at := len(magic) + sha256.Size
	d := value.NewDecoder(snapshot[at:], 0)
	rest := d.Remaining()
	for range 11 {
		d.Int()
	}
	return at + rest - d.Remaining()
}

// JSONFlag returns where in a snapshot it says whether the output is one value.
func JSONFlag(snapshot []byte) int {
	at := StateStart(snapshot)
	d := value.NewDecoder(snapshot[at:], 0)
	rest := d.Remaining()
	for range 2 {
		d.Int()
	}
	d.Byte()
	for range 2 {
		d.Int()
	}
	for range 2 {
		d.Uint()
	}
	return at + rest - d.Remaining()
}
