package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"math"

	"ql/internal/admit"
	"ql/internal/engine"
	"ql/lang/bytecode"
	"ql/lang/value"
	"ql/lang/vm"
)

// A part of a job's history is a version, flags, the hash of the state at the run's end where the
// flags say so, and entries: each a length, a digest of the effect's arguments, one of the state
// (zero where that was not computed), and the result as in a journal.
const (
	partVersion  = 1
	flagCut      = 1 << 0 // what follows was not collected
	flagEnd      = 1 << 1 // the hash of the state at the end is there
	digestBytes  = 8
	partHead     = 2
	entryDigests = 2 * digestBytes
)

const (
	// stateBudget is how many bytes of states are hashed at effects of one run, and endState
	// how large one may be that is hashed at its end. To hash one costs as much as it is large.
	stateBudget = 256 << 10
	endState    = 1 << 20
	// digestNodes is how many values of an effect's arguments are digested, and digestText how
	// many bytes of one text: what differs behind them is not told apart.
	digestNodes = 10_000
	digestText  = 64 << 10
)

// Collector collects the results of a run for the history of its job, up to a bound: what comes
// behind that is left out. The zero Collector, and nil, collect nothing. It must not be copied.
type Collector struct {
	max     int // bytes of all parts
	memory  admit.Reservation
	entries []byte
	first   int64 // the step of the first entry
	before  int   // bytes of earlier parts
	isCut   bool
	states  int64 // bytes of states that may still be hashed
}

// Init makes c collect up to so many bytes, of which some were collected before. Memory is for
// what it holds.
func (c *Collector) Init(memory admit.Reservation, max, before int) {
	*c = Collector{max: max, memory: memory, before: before, states: stateBudget}
}

// Release gives back its memory.
func (c *Collector) Release() {
	if c == nil || c.max == 0 {
		return
	}
	c.entries = nil
	c.memory.Release()
}

// Observe collects the result of an effect of a machine.
func (c *Collector) Observe(m *vm.Machine, e *vm.Effect, t engine.Result) {
	if c.max == 0 || c.isCut {
		return
	}
	at := len(c.entries)
	c.entries = append(c.entries, 0, 0, 0, 0)
	c.entries = append(c.entries, digest(e)...)
	c.entries = append(c.entries, c.state(m, e)...)
	c.entries = AppendResult(c.entries, t)
	binary.BigEndian.PutUint32(c.entries[at:], uint32(len(c.entries)-at-4))
	held := 2 * int64(len(c.entries)) // it is held twice while it is sealed
	if held <= uncounted {
		held = 0
	}
	if partHead+c.before+len(c.entries) > c.max || !c.memory.TryGrow(held-c.memory.Bytes()) {
		c.entries, c.isCut = c.entries[:at], true
		return
	}
	if c.first == 0 {
		c.first = t.Seq
	}
}

// state returns the start of the hash of a machine's state at an effect, or zeros where it would
// cost too much, and where a person is asked: whether it was suspended there shows in the trace.
func (c *Collector) state(m *vm.Machine, e *vm.Effect) []byte {
	if bytes := m.Memory() + 512; e.Kind.Info().Class != bytecode.ClassHuman && e.Kind.Info().Class != bytecode.ClassWait && bytes <= c.states {
		c.states -= bytes
		sum := m.StateHash()
		return sum[:digestBytes]
	}
	return make([]byte, digestBytes)
}

// Part returns what was collected since the last part, and the step of its first entry; nil where
// that is nothing. Ended is the machine of a run that has ended, nil before. Where a run got nothing
// from outside and came to its end there is no part at all: it has but one way to go.
func (c *Collector) Part(ended *vm.Machine) (step int64, part []byte) {
	if c == nil || c.max == 0 {
		return 0, nil
	}
	isEmpty := len(c.entries) == 0
	if isEmpty && (ended == nil || c.before == 0 && !c.isCut && ended.Err() == nil) {
		return 0, nil
	}
	flags := byte(0)
	if c.isCut {
		flags |= flagCut
	}
	var end []byte
	if ended != nil && isReproducible(ended) {
		flags |= flagEnd
		sum := ended.StateHash()
		end = sum[:]
	}
	part = make([]byte, 0, partHead+len(end)+len(c.entries))
	part = append(append(append(part, partVersion, flags), end...), c.entries...)
	return c.first, part
}

// isReproducible tells whether a machine that has ended ends the same when it is run again: not one
// that was stopped by its time, or by its host.
func isReproducible(m *vm.Machine) bool {
	if m.Memory() > endState {
		return false
	}
	e := m.Err()
	return m.Status() == vm.Done || m.Status() == vm.Declined || e != nil && e.Limit == nil && e.Code != "internal"
}

// Restore has c go on from a part that was not stored, of a run that was suspended: it is in the next
// part again. One that cannot be read is left out, with all that follows.
func (c *Collector) Restore(step int64, part []byte) {
	if c.max == 0 {
		return
	}
	if len(part) < partHead || part[0] != partVersion || part[1]&flagEnd != 0 || len(part) > c.max {
		c.isCut = step != 0
		return
	}
	c.first, c.isCut, c.entries = step, part[1]&flagCut != 0, append(c.entries, part[partHead:]...)
}

// Stored says that the last part is stored: what follows is in the next.
func (c *Collector) Stored() {
	if c == nil || c.max == 0 {
		return
	}
	c.before += len(c.entries)
	c.entries, c.first = c.entries[:0], 0
	c.memory.Shrink(c.memory.Bytes())
}

// digest returns a digest of what an effect asks for.
func digest(e *vm.Effect) []byte {
	d := digester{Hash: sha256.New(), left: digestNodes}
	d.text(e.Kind.String())
	d.text(e.Database)
	if e.Statement != nil {
		for _, text := range e.Statement.Texts {
			d.text(text)
		}
	}
	for _, v := range e.Args {
		d.value(v)
	}
	return d.Sum(nil)[:digestBytes]
}

type digester struct {
	hash.Hash
	left   int
	number [9]byte
}

func (d *digester) mark(kind byte, n uint64) {
	d.number[0] = kind
	binary.BigEndian.PutUint64(d.number[1:], n)
	_, _ = d.Write(d.number[:]) // never fails
}

func (d *digester) text(s string) {
	d.mark('t', uint64(len(s)))
	_, _ = d.Write([]byte(s[:min(len(s), digestText)]))
}

func (d *digester) value(v value.Value) {
	if d.left--; d.left < 0 {
		return
	}
	switch v.Kind() {
	case value.KindText, value.KindBytes, value.KindDecimal:
		raw := v.Raw()
		d.mark(byte(v.Kind()), uint64(len(raw)))
		_, _ = d.Write(raw[:min(len(raw), digestText)])
	case value.KindFloat:
		d.mark(byte(v.Kind()), math.Float64bits(v.Float64()))
	case value.KindInt:
		d.mark(byte(v.Kind()), uint64(v.Int64()))
	case value.KindBool:
		d.mark(byte(v.Kind()), 0)
		if v.IsTrue() {
			d.mark(1, 1)
		}
	case value.KindList:
		l := v.List()
		d.mark(byte(v.Kind()), uint64(l.Len()))
		for i := range l.Len() {
			if d.left < 0 {
				return
			}
			d.value(l.At(i))
		}
	case value.KindMap:
		d.mark(byte(v.Kind()), uint64(v.Map().Len()))
		for k, one := range v.Map().All {
			if d.left < 0 {
				return
			}
			d.value(k)
			d.value(one)
		}
	default:
		d.mark(byte(v.Kind()), 0)
	}
}

// Collected is the history of a job, from its start on.
type Collected struct {
	entries map[int64]collected
	history History
	end     *[sha256.Size]byte
	IsCut   bool // it was not collected to the end
}

type collected struct{ digest, state [digestBytes]byte }

// errPart says that a part of a history cannot be read.
var errPart = errors.New("a part of a job's history cannot be read")

// ReadCollected reads the parts of a history, in their order. The value of one result may take so
// many bytes.
func ReadCollected(parts [][]byte, maxValue int64) (*Collected, error) {
	c := &Collected{entries: map[int64]collected{}, history: newHistory(maxValue)}
	for _, b := range parts {
		if len(b) < partHead || b[0] != partVersion {
			return nil, errPart
		}
		flags := b[1]
		b = b[partHead:]
		c.IsCut = c.IsCut || flags&flagCut != 0
		if flags&flagEnd != 0 {
			if len(b) < sha256.Size {
				return nil, errPart
			}
			c.end = (*[sha256.Size]byte)(b)
			b = b[sha256.Size:]
		}
		for len(b) > 0 {
			if len(b) < 4+entryDigests {
				return nil, errPart
			}
			n := int(binary.BigEndian.Uint32(b))
			if n < entryDigests || n > len(b)-4 {
				return nil, errPart
			}
			if err := c.read(b[4 : 4+n]); err != nil {
				return nil, err
			}
			b = b[4+n:]
		}
	}
	return c, nil
}

func (c *Collected) read(b []byte) error {
	var one collected
	copy(one.digest[:], b)
	copy(one.state[:], b[digestBytes:])
	c.history.last = 0
	if err := c.history.read(b[entryDigests:], func() error { return nil }, map[string]bool{}, map[transaction]bool{}); err != nil {
		return err
	}
	if c.history.last == 0 {
		return errPart
	}
	c.entries[c.history.last] = one
	return nil
}

// Len is how many results there are.
func (c *Collected) Len() int { return len(c.entries) }

// Recorded returns the result of an effect.
func (c *Collected) Recorded(seq int64) (engine.Result, bool) { return c.history.Recorded(seq) }

// Matches tells whether a machine is at an effect as it was: whether it asks for the same, and is
// in the same state, where that is known.
func (c *Collected) Matches(m *vm.Machine, e *vm.Effect) (asksSame, isSame bool) {
	one, ok := c.entries[e.Seq]
	if !ok {
		return false, false
	}
	if [digestBytes]byte(digest(e)) != one.digest {
		return false, false
	}
	if one.state == [digestBytes]byte{} {
		return true, true
	}
	sum := m.StateHash()
	return true, [digestBytes]byte(sum[:]) == one.state
}

// EndsSame tells whether a machine has ended in the state in which the run did; known is false
// where that was not recorded.
func (c *Collected) EndsSame(m *vm.Machine) (same, known bool) {
	if c.end == nil {
		return false, false
	}
	return m.StateHash() == *c.end, true
}
