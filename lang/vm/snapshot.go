package vm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"ql/lang/bytecode"
	"ql/lang/value"
)

// A snapshot is
//
//	magic "QLS" and a format byte
//	32 bytes: the hash of the program
//	the state: numbers as varints, values as package value encodes them
//	8 bytes: what the values in it weigh
//	16 bytes: the start of the SHA-256 over all that
//
// The output is not in it, only its length: its owner stores it.
const (
	magic = "QLS\x05"
	// hashMagic begins what is hashed of a state. It stays: histories that are kept have such hashes.
	hashMagic = "QLS\x04"
	// SnapshotFormat is the format that is written, and the newest that is read.
	SnapshotFormat = 5

	firstFormat  = 1 // that is read: it has no numbers of steps
	weightFormat = 3 // the first that says what its values weigh
	jsonFormat   = 4 // the first that says whether its output is one value
	bodyFormat   = 4 // the first that has !BODY and !INPUT
	filesFormat  = 5 // the first that has !FILES
	weightSize   = 8
	checksumSize = 16
)

// Snapshot returns the state of a machine that is suspended at an effect or at its
// start. The output is kept apart: Restore wants it back. The context, and pace
// where it is not nil, are asked every so often whether to go on; their error is
// then Snapshot's.
func (m *Machine) Snapshot(ctx context.Context, pace Pace) ([]byte, error) {
	if m.status != Pending && (m.status != Ready || m.pc != 0 || len(m.frames) > 0) {
		return nil, errors.New("a machine can be stored only at an effect or before it has run")
	}
	yield := yieldFunc(ctx, pace)
	b, err := m.encode(true, yield)
	if err != nil {
		return nil, err
	}
	sum, err := checksum(b, yield)
	if err != nil {
		return nil, err
	}
	return append(b, sum[:checksumSize]...), nil
}

// yieldFunc returns what is to be called every so often by work that is not the
// program's own.
func yieldFunc(ctx context.Context, p Pace) func() error {
	if p == nil {
		return ctx.Err
	}
	return func() error { return p.Turn(ctx) }
}

// yieldBytes is how many bytes are hashed or copied between two turns.
const yieldBytes = 64 << 10

// checksum returns the SHA-256 of b.
func checksum(b []byte, yield func() error) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	for len(b) > 0 {
		n := min(len(b), yieldBytes)
		_, _ = h.Write(b[:n]) // never fails
		if b = b[n:]; len(b) > 0 {
			if err := yield(); err != nil {
				return sum, err
			}
		}
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// StateHash returns a hash over the state, times left out: two machines that
// have done the same have the same.
func (m *Machine) StateHash() [sha256.Size]byte {
	b, _ := m.encode(false, func() error { return nil })
	return sha256.Sum256(b)
}

func (m *Machine) encode(times bool, yield func() error) ([]byte, error) {
	b := make([]byte, 0, 512)
	if times {
		b = append(b, magic...)
	} else {
		b = append(b, hashMagic...)
	}
	b = append(b, m.prog.Hash[:]...)
	e := value.NewEncoder(b)
	e.SetYield(yield)
	e.SetConstants(m.link.constants())
	limits := m.limits
	if m.confined.on { // which nobody is to see
		limits.Output = m.confined.output
	}
	limits.encode(e)
	// How the fuel is split tells only when the clock was last looked at.
	e.Int(m.meter.Fuel + m.meter.Reserve)
	e.Int(m.meter.BytesLeft + m.confined.memory)
	e.Byte(byte(m.status))
	e.Int(m.seq)
	e.Int(m.steps)
	e.Uint(uint64(m.tx))
	e.Uint(uint64(len(m.out)))
	e.Byte(bytecode.Flag(m.json))
	e.Uint(uint64(m.site))
	e.Uint(uint64(m.reg))
	e.Uint(uint64(len(m.frames)))
	for i := range m.frames {
		f := &m.frames[i]
		m.encodeFrame(e, f.fn, int(f.pc), int(f.base), f.fast)
	}
	m.encodeFrame(e, m.fn, m.pc, m.base, m.fast)
	h := m.height()
	e.Uint(uint64(h))
	for _, v := range m.stack[:h] {
		e.Value(v)
	}
	for i, v := range m.globals {
		if i == int(bytecode.GlobalFiles) && !times && v.IsNull() {
			continue // a request without files has the hash that it had before there were any
		}
		e.Value(v)
	}
	e.Value(m.db)
	m.trace.encode(e, times)
	return binary.LittleEndian.AppendUint64(e.Bytes(), uint64(e.Weight())), e.Err()
}

func (m *Machine) encodeFrame(e *value.Encoder, fn *function, pc, base int, fast bool) {
	e.Uint(uint64(fn.number))
	e.Uint(uint64(pc))
	e.Uint(uint64(base))
	e.Byte(bytecode.Flag(fast))
}

// Errors of Restore.
var (
	ErrCorrupt         = value.ErrCorrupt
	ErrVersion         = errors.New("unsupported version of a snapshot")
	ErrProgramMismatch = errors.New("the snapshot is of another program")
)

// stateStart is the offset of the state, after the program's hash.
const stateStart = len(magic) + sha256.Size

// isSnapshot reports whether b begins as a snapshot does.
func isSnapshot(b []byte) bool {
	return len(b) >= stateStart+checksumSize && bytes.HasPrefix(b, []byte(magic[:3]))
}

// header returns the format of a snapshot, and what is in it between the
// program's hash and the checksum.
func header(snapshot []byte) (format byte, state []byte, err error) {
	if !isSnapshot(snapshot) {
		return 0, nil, ErrCorrupt
	}
	if format = snapshot[3]; format < firstFormat || format > magic[3] {
		return 0, nil, ErrVersion
	}
	state = snapshot[stateStart : len(snapshot)-checksumSize]
	if format >= weightFormat && len(state) < weightSize {
		return 0, nil, ErrCorrupt
	}
	return format, state, nil
}

// Weight returns how many bytes the values of a stored machine weigh, as its
// meter counts them: what Restore will hold, besides the output. Of a snapshot
// that does not say it, that is the most it may be.
func Weight(snapshot []byte) (int64, error) {
	format, state, err := header(snapshot)
	if err != nil {
		return 0, err
	}
	var l Limits
	if !l.decode(value.NewDecoder(state, 0)) {
		return 0, ErrCorrupt
	}
	if format < weightFormat {
		return l.maxWeight(), nil
	}
	weight := binary.LittleEndian.Uint64(state[len(state)-weightSize:])
	if weight > uint64(l.maxWeight()) {
		return 0, ErrCorrupt
	}
	return int64(weight), nil
}

// maxWeight is the most that the values of a stored machine may weigh. A machine
// of an earlier version could hold its input beside all that it may.
func (l *Limits) maxWeight() int64 { return l.Memory + l.Memory/2 + 1<<20 }

func (l *Limits) encode(e *value.Encoder) {
	for _, n := range []int64{int64(l.Text), int64(l.Elements), int64(l.Nesting), int64(l.Pattern), l.PatternCost,
		l.Fuel, l.Memory, int64(l.CallDepth), int64(l.Output), int64(l.TraceFirst), int64(l.TraceLast)} {
		e.Int(n)
	}
}

// decode reads limits, and reports whether they can be any.
func (l *Limits) decode(d *value.Decoder) bool {
	for _, n := range []*int{&l.Text, &l.Elements, &l.Nesting, &l.Pattern} {
		*n = int(d.Int())
	}
	l.PatternCost, l.Fuel, l.Memory = d.Int(), d.Int(), d.Int()
	for _, n := range []*int{&l.CallDepth, &l.Output, &l.TraceFirst, &l.TraceLast} {
		*n = int(d.Int())
	}
	return d.Err() == nil && l.Memory >= 0 && l.Memory <= math.MaxInt64/4 &&
		l.Fuel >= 0 && l.CallDepth >= 0 && l.TraceFirst >= 0 && l.TraceLast >= 0
}

// Restore returns a machine that continues where the one that gave the snapshot
// stopped. output is what that one had emitted, or more. The context, and pace
// where it is not nil, are asked every so often whether to go on; their error is
// then Restore's. What it does is linear in the snapshot and in its Weight.
func Restore(ctx context.Context, pace Pace, p *bytecode.Program, snapshot, output []byte) (*Machine, error) {
	yield := yieldFunc(ctx, pace)
	if err := yield(); err != nil {
		return nil, err
	}
	if !isSnapshot(snapshot) {
		return nil, ErrCorrupt
	}
	body := snapshot[:len(snapshot)-checksumSize]
	sum, err := checksum(body, yield)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(sum[:checksumSize], snapshot[len(body):]) {
		return nil, ErrCorrupt
	}
	format, state, err := header(snapshot)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(body[len(magic):stateStart], p.Hash[:]) {
		return nil, ErrProgramMismatch
	}
	weight, err := Weight(snapshot)
	if err != nil {
		return nil, err
	}
	if format >= weightFormat {
		state = state[:len(state)-weightSize]
	}
	d := value.NewDecoder(state, weight)
	d.SetYield(yield)
	m := pool.Get().(*Machine)
	if err = m.decode(p, format, d, output, yield); err == nil && format >= weightFormat && d.Weight() != weight {
		err = ErrCorrupt
	}
	if err != nil {
		m.frames = m.frames[:0]
		m.Release()
		return nil, err
	}
	return m, nil
}

// decode reads the state of a machine.
func (m *Machine) decode(p *bytecode.Program, format byte, d *value.Decoder, output []byte, yield func() error) error {
	wrong := func() error {
		if err := d.Err(); err != nil {
			return err
		}
		return ErrCorrupt
	}
	var l Limits
	if !l.decode(d) {
		return wrong()
	}
	m.start(p, l)
	if m.status == Failed {
		return fmt.Errorf("%w: %s", ErrVersion, m.err.Message)
	}
	d.SetConstants(m.link.constants())
	left := d.Int()
	if left < 0 || left > l.Fuel {
		return wrong()
	}
	m.meter.Fuel, m.meter.Reserve = 0, left
	m.meter.BytesLeft = d.Int()
	m.status = Status(d.Byte())
	m.seq, m.steps = d.Int(), d.Int()
	m.tx = int(d.Uint())
	n, json := d.Uint(), byte(0)
	if format >= jsonFormat {
		json = d.Byte()
	}
	m.json = json == 1
	if d.Err() != nil || json > 1 || m.json && n == 0 || m.meter.BytesLeft < 0 || m.meter.BytesLeft > l.Memory || m.status > Pending || n > uint64(len(output)) {
		return wrong()
	}
	if err := m.copyOutput(output[:n], yield); err != nil {
		return err
	}
	m.site = int32(d.Below(len(p.Sites)))
	m.reg = int(d.Uint())
	depth := d.Count()
	if depth > l.CallDepth {
		return wrong()
	}
	f := m.decodeFrame(d, nil)
	for range depth {
		m.frames = append(m.frames, f)
		f = m.decodeFrame(d, &f)
	}
	m.fn, m.pc, m.base, m.fast = f.fn, int(f.pc), int(f.base), f.fast
	h := d.Count()
	if d.Err() != nil || m.tx < 0 || m.tx > len(m.frames)+1 {
		return wrong()
	}
	// A machine is stored at its start or at an effect.
	if m.status == Ready && (m.pc != 0 || depth > 0) || m.status == Pending && m.reg != m.base+pendingReg(m, f) || h != m.height() {
		return wrong()
	}
	if need := max(h, m.base+window); need > len(m.stack) {
		m.growStack(need)
	}
	for i := range h {
		m.stack[i] = d.Value()
	}
	for i := range m.globals {
		if i >= int(bytecode.GlobalBody) && format < bodyFormat || i == int(bytecode.GlobalFiles) && format < filesFormat {
			continue
		}
		m.globals[i] = d.Value()
		if g := m.globals[i]; !g.IsNull() && !g.IsMap() && i != int(bytecode.GlobalBody) {
			return wrong()
		}
	}
	if m.db = d.Value(); !m.db.IsNull() && !m.db.IsText() {
		return wrong()
	}
	m.trace.decode(d, p, l, format)
	if d.Err() != nil || d.Remaining() != 0 {
		return wrong()
	}
	if m.status == Pending {
		m.buildEffect()
	}
	return nil
}

// copyOutput makes a copy of what was emitted the machine's own.
func (m *Machine) copyOutput(output []byte, yield func() error) error {
	m.out = slices.Grow(m.out[:0], len(output))
	for len(output) > 0 {
		n := min(len(output), yieldBytes)
		m.out = append(m.out, output[:n]...)
		if output = output[n:]; len(output) > 0 {
			if err := yield(); err != nil {
				return err
			}
		}
	}
	return nil
}

// pendingReg returns where in its frame the effect asked for has its
// arguments.
func pendingReg(m *Machine, f frame) int {
	if f.pc == 0 {
		return -1
	}
	c := code(f.fn, f.fast)
	in := c.Instrs[f.pc-1]
	if m.site == bytecode.CommitSite {
		if in.Op != bytecode.OpStop {
			return -1
		}
		return int(c.Height[f.pc-1])
	}
	if in.Op != bytecode.OpEffect || in.Imm != m.site {
		return -1
	}
	return int(in.A)
}

// decodeFrame reads the frame that caller has called; nil is for the first one.
func (m *Machine) decodeFrame(d *value.Decoder, caller *frame) frame {
	fn := &m.link.funcs[d.Below(len(m.link.funcs))]
	pc, base, fast := d.Uint(), d.Uint(), d.Byte()
	number, at := 0, uint64(0)
	if caller != nil {
		number = -1
		if call, ok := caller.call(); ok {
			number, at = int(call.Imm), uint64(caller.base)+uint64(call.A)
		}
	}
	if d.Err() != nil || fast > 1 || pc > uint64(len(code(fn, fast == 1).Instrs)) || fn.number != number || base != at {
		d.Fail()
		return frame{fn: &m.link.funcs[0]}
	}
	return frame{fn: fn, pc: int32(pc), base: int32(base), fast: fast == 1}
}

// call returns the instruction of a frame that waits for what it called.
func (f *frame) call() (bytecode.Instr, bool) {
	if f.pc == 0 {
		return bytecode.Instr{}, false
	}
	in := code(f.fn, f.fast).Instrs[f.pc-1]
	return in, in.Op == bytecode.OpCall
}

const (
	// hasNumber marks a step that did not end in its place among those stored.
	hasNumber = 1 << 3
	// isRepeated marks a step that was begun before.
	isRepeated = 1 << 4
)

func (t *trace) encode(e *value.Encoder, times bool) {
	span := func(d time.Duration) {
		if times {
			e.Int(int64(d))
		}
	}
	span(t.now())
	place := int64(0)
	list := func(l []entry) {
		e.Uint(uint64(len(l)))
		for i := range l {
			x := &l[i]
			place++
			e.Uint(uint64(x.step))
			e.Uint(uint64(x.depth))
			bits := byte(x.status)<<1 | bytecode.Flag(x.open) | isRepeated*bytecode.Flag(x.repeated && times)
			if numbered := !x.open && x.number != place; numbered {
				e.Byte(bits | hasNumber)
				e.Uint(uint64(x.number))
			} else {
				e.Byte(bits)
			}
			span(x.start)
			span(x.duration)
		}
	}
	list(t.first)
	list(t.last)
	e.Uint(uint64(t.at))
	e.Byte(bytecode.Flag(t.inLast))
	e.Uint(uint64(len(t.open)))
	for _, i := range t.open {
		e.Uint(uint64(i))
	}
	e.Uint(uint64(t.ended))
}

func (t *trace) decode(d *value.Decoder, p *bytecode.Program, l Limits, format byte) {
	t.start, t.before = time.Time{}, time.Duration(d.Int())
	place, last := int64(0), int64(0)
	list := func(to []entry, limit int) []entry {
		n := d.Count()
		if n > limit {
			d.Fail()
		}
		for range n {
			x := entry{step: int32(d.Below(len(p.Steps))), depth: int32(d.Below(1 << 30))}
			b := d.Byte()
			x.status, x.open, x.repeated = stepStatus(b&^(hasNumber|isRepeated)>>1), b&1 == 1, b&isRepeated != 0
			place++
			switch {
			case b&hasNumber != 0:
				if x.number = int64(d.Uint()); x.number <= 0 || x.number == place || x.open {
					d.Fail()
				}
			case !x.open:
				x.number = place
			}
			last = max(last, x.number)
			x.start, x.duration = time.Duration(d.Int()), time.Duration(d.Int())
			if d.Err() != nil || int(x.status) >= len(statusNames) {
				d.Fail()
				return nil
			}
			to = append(to, x)
		}
		return to
	}
	t.first = list(t.first[:0], l.TraceFirst)
	t.last = list(t.last[:0], l.TraceLast)
	if t.at = int(d.Uint()); t.at != 0 && t.at >= len(t.last) {
		d.Fail()
	}
	b := d.Byte()
	if t.inLast = b == 1; b > 1 || t.inLast && len(t.last) == 0 {
		d.Fail()
	}
	for range d.Count() {
		t.open = append(t.open, int32(d.Below(len(t.first))))
	}
	if t.ended = last; format > firstFormat {
		if t.ended = int64(d.Uint()); t.ended < last {
			d.Fail()
		}
	}
}
