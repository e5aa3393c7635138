package value

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// encoded writes values one after the other.
func encoded(c *Constants, vs []Value) []byte {
	e := NewEncoder(nil)
	e.SetConstants(c)
	for _, v := range vs {
		e.Value(v)
	}
	return e.Bytes()
}

// decoded reads n values, which must be all there is.
func decoded(c *Constants, b []byte, n int) ([]Value, error) {
	d := NewDecoder(b, 1<<24)
	d.SetConstants(c)
	var vs []Value
	for range n {
		vs = append(vs, d.Value())
	}
	if d.Err() == nil && d.Remaining() > 0 {
		d.Fail()
	}
	return vs, d.Err()
}

// sharing describes what of the values is the same thing, and how it is marked.
func sharing(vs []Value) []any {
	number := map[*header]int{}
	var all []any
	var walk func(v Value)
	walk = func(v Value) {
		if v.p == nil || scalar(v.p) {
			return
		}
		h := (*header)(v.p)
		n, known := number[h]
		if h.flags&flagFrozen != 0 && h.kind == KindText {
			n, known = -1, false // a frozen text may be there more than once
		} else if !known {
			n = len(number)
			number[h] = n
		}
		all = append(all, n, h.kind, h.flags, h.height)
		if known {
			return
		}
		switch h.kind {
		case KindText, KindBytes, KindDecimal:
			if h.flags&flagFrozen == 0 {
				all = append(all, (*block)(v.p).cap, (*block)(v.p).used)
			}
		case KindList:
			l := v.List()
			all = append(all, cap(l.vals), cap(l.words))
			for i := range l.Len() {
				walk(l.At(i))
			}
		case KindMap:
			m := v.Map()
			all = append(all, cap(m.entries), len(m.index), m.gaps)
			for i := range m.entries {
				if m.entries[i].keyP == nil {
					all = append(all, "gap")
					continue
				}
				walk(m.entries[i].key())
				walk(m.entries[i].val)
			}
		}
	}
	for _, v := range vs {
		walk(v)
	}
	return all
}

// TestCodecInverse stores and restores variables that share what they can.
func TestCodecInverse(t *testing.T) {
	constants := NewConstants([]Value{
		Text("a constant text that is longer than the short ones, of which there are many").Freeze(),
		ListOf(Int(1), Text("in a constant"), ListOf(Text("nested"))).Freeze(),
	})
	n := uint64(400)
	if testing.Short() {
		n = 80
	}
	for seed := range n {
		w := newWorld(seed)
		for range 150 {
			w.step()
			if w.r.IntN(30) == 0 {
				i := w.pick()
				w.vars[i] = constants.values[w.r.IntN(len(constants.values))]
				w.models[i] = plain(w.vars[i])
			}
		}
		w.vars = append(w.vars, Bytes([]byte("\x00\xff")), Bytes(nil), Text("short").Freeze(), Text(strings.Repeat("long and frozen ", 5)).Freeze())
		b := encoded(constants, w.vars)
		again, err := decoded(constants, b, len(w.vars))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i := range w.vars {
			if got, want := plain(again[i]), plain(w.vars[i]); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: %v became %v", seed, want, got)
			}
			checkShape(t, again[i])
		}
		if !reflect.DeepEqual(sharing(w.vars), sharing(again)) {
			t.Fatalf("seed %d: what is shared became otherwise", seed)
		}
		if !bytes.Equal(b, encoded(constants, again)) {
			t.Fatalf("seed %d: written again, it is not the same", seed)
		}
		x, y := NewWalker(nil), NewWalker(nil)
		for i := range w.vars {
			x.Visit(w.vars[i])
			y.Visit(again[i])
		}
		if x.Bytes() != y.Bytes() {
			t.Fatalf("seed %d: %d bytes became %d", seed, x.Bytes(), y.Bytes())
		}
		checkBudget(t, constants, w.vars, b, x.Bytes())
	}
}

// checkBudget checks that values that weigh so much are written and read as such,
// and not within less.
func checkBudget(t *testing.T, c *Constants, vs []Value, b []byte, weight int64) {
	t.Helper()
	e := NewEncoder(nil)
	e.SetConstants(c)
	for _, v := range vs {
		e.Value(v)
	}
	if e.Weight() != weight {
		t.Fatalf("values that weigh %d are written as %d", weight, e.Weight())
	}
	for _, budget := range []int64{weight, weight - 1} {
		d := NewDecoder(b, budget)
		d.SetConstants(c)
		for range vs {
			d.Value()
		}
		switch {
		case budget == weight && (d.Err() != nil || d.Weight() != weight):
			t.Fatalf("values that weigh %d are read as %d: %v", weight, d.Weight(), d.Err())
		case budget < weight && weight > 0 && !errors.Is(d.Err(), ErrCorrupt):
			t.Fatalf("values that weigh %d are read within %d: %v", weight, budget, d.Err())
		}
	}
}

// TestChargedBeforeGrown checks that what lists and maps weigh was charged before.
func TestChargedBeforeGrown(t *testing.T) {
	for seed := range uint64(200) {
		w := newWorld(seed)
		for range 150 {
			w.step()
		}
		weight, seen := int64(0), map[*header]bool{}
		var visit func(v Value)
		visit = func(v Value) {
			if !v.IsContainer() || seen[(*header)(v.p)] {
				return
			}
			seen[(*header)(v.p)] = true
			weight += (*header)(v.p).weight()
			if v.IsList() {
				for i := range v.List().Len() {
					visit(v.List().At(i))
				}
				return
			}
			for _, e := range v.Map().All {
				visit(e)
			}
		}
		for _, v := range w.vars {
			visit(v)
		}
		if charged := w.m.Memory - w.m.BytesLeft; charged < weight {
			t.Fatalf("seed %d: %d bytes were charged, and the values weigh %d", seed, charged, weight)
		}
	}
}

// TestDecoderAllocates checks that no more is allocated than the budget allows,
// whatever is read: wrong lengths above all.
func TestDecoderAllocates(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const budget = 64 << 10
	for seed := range uint64(20) {
		w := newWorld(seed)
		for range 60 {
			w.step()
		}
		b := encoded(nil, w.vars)
		var all [][]byte
		for range 100 {
			c := bytes.Clone(b)
			at := r.IntN(len(c))
			if r.IntN(2) == 0 { // a number in the place of another
				c = append(c[:at], binary.AppendUvarint(nil, r.Uint64()>>r.IntN(64))...)
				c = append(c, b[at:]...)
			} else {
				c[at] ^= 1 << r.IntN(8)
			}
			all = append(all, c)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, c := range all {
			d := NewDecoder(c, budget)
			for range w.vars {
				d.Value()
			}
			if d.Weight() > budget {
				t.Fatalf("%d bytes were read within %d", d.Weight(), budget)
			}
		}
		runtime.ReadMemStats(&after)
		// The allocator rounds up, frozen texts are apart, and what may be referred to is in a table.
		if took, most := after.TotalAlloc-before.TotalAlloc, uint64(len(all))*(2*budget+32*uint64(len(b))); took > most {
			t.Errorf("seed %d: reading %d values of %d bytes took %d, more than %d", seed, len(all), len(b), took, most)
		}
	}
}

// TestDecoderOverflows reads lengths next to which sums do not fit.
func TestDecoderOverflows(t *testing.T) {
	for _, n := range []uint64{1 << 31, 1<<32 - 1, 1 << 32, 1 << 59, 1<<60 - 4, 1 << 60, 1<<61 - 1, 1 << 61, 1<<63 - 1, 1 << 63, math.MaxUint64 - 4, math.MaxUint64 - 3, math.MaxUint64} {
		num := binary.AppendUvarint(nil, n)
		for name, b := range map[string][]byte{
			"block":        slices.Concat([]byte{encBlock, byte(KindText) << 4}, num, []byte{0, 0}),
			"frozen block": slices.Concat([]byte{encBlock, byte(KindText)<<4 | flagFrozen}, num, []byte{0, 0}),
			"list":         slices.Concat([]byte{encList, 0, 1, 0}, num, []byte{0}),
			"packed list":  slices.Concat([]byte{encList, 0, 1, byte(KindInt)}, num, []byte{0}),
			"map":          slices.Concat([]byte{encMap, 0, 1}, num, []byte{0, 0}),
			"index":        slices.Concat([]byte{encMap, 0, 1, 0}, num, []byte{0}),
			"both":         slices.Concat([]byte{encMap, 0, 1}, num, num, []byte{0}),
			"length":       slices.Concat([]byte{encBlock, byte(KindBytes) << 4, 8}, num, []byte{0}),
			"reference":    slices.Concat([]byte{encRef}, num, num),
			"short":        slices.Concat([]byte{encShort}, num),
		} {
			for _, budget := range []int64{0, 1 << 20} {
				d := NewDecoder(b, budget)
				if d.Value(); d.Err() == nil {
					t.Errorf("a %s of %d is read within %d bytes", name, n, budget)
				}
				p := NewProgramDecoder(b)
				p.SetBudget(budget)
				if p.Value(); p.Err() == nil {
					t.Errorf("a constant %s of %d is read within %d bytes", name, n, budget)
				}
			}
		}
	}
}

// TestPrefixHashes compares the hashes of keys that share a text with those of the
// same keys alone.
func TestPrefixHashes(t *testing.T) {
	var p prefixHashes
	long := Text(strings.Repeat("0123456789abcdeé", 2000))
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		n := hashStep + r.IntN(int(long.n)-hashStep+1)
		h, work := p.hash(Value{long.p, uint64(n)})
		if want := hashText(long.Str()[:n]); h != want {
			t.Fatalf("the first %d bytes have the hash %x, alone %x", n, h, want)
		}
		if most := hashStep * (1 + int(long.n)/hashStep); work > most {
			t.Fatalf("%d bytes were looked at", work)
		}
	}
	if _, work := p.hash(long); work > hashStep {
		t.Errorf("%d bytes were looked at, of which most had been", work)
	}
}

// TestCodecRestoredAlike checks that what a program puts beside a restored
// constant is written as if nothing had been restored.
func TestCodecRestoredAlike(t *testing.T) {
	long := Text("a constant text that is longer than the short ones, of which there are many").Freeze()
	short := Text("short").Freeze()
	list := ListOf(long, short).Freeze()
	constants := NewConstants([]Value{long, short, list})
	outside := Text("outside").Freeze()
	for _, v := range []Value{long, short, list, list.List().At(0), outside, Text("")} {
		again, err := decoded(constants, encoded(constants, []Value{v}), 1)
		if err != nil {
			t.Fatal(err)
		}
		straight, restored := encoded(constants, []Value{v, v}), encoded(constants, []Value{again[0], v})
		if !bytes.Equal(straight, restored) {
			t.Errorf("%s: straight on it is written %x, after a restart %x", AppendJSON(nil, v), straight, restored)
		}
	}
}

// TestCodecRefuses checks that every single bit and every end counts: what is
// read without an error is written the same again.
func TestCodecRefuses(t *testing.T) {
	w := newWorld(7)
	for range 60 {
		w.step()
	}
	b := encoded(nil, w.vars)
	for i := range b {
		if _, err := decoded(nil, b[:i], len(w.vars)); err == nil {
			t.Errorf("the first %d of %d bytes are enough", i, len(b))
		}
	}
	for i := range 8 * len(b) {
		flipped := bytes.Clone(b)
		flipped[i/8] ^= 1 << (i % 8)
		if vs, err := decoded(nil, flipped, len(w.vars)); err == nil {
			if !bytes.Equal(encoded(nil, vs), flipped) {
				t.Errorf("bit %d flipped: it is read, and written otherwise", i)
			}
			for _, v := range vs {
				checkShape(t, v)
			}
		}
	}
}

// TestDecoderRoom checks that a few bytes cannot ask for a lot of memory.
func TestDecoderRoom(t *testing.T) {
	for _, b := range [][]byte{
		{encBlock, byte(KindText) << 4, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0},
		{encList, 0, 1, 0, 0xff, 0xff, 0xff, 0x7f, 0},
		{encList, 0, 1, byte(KindInt), 0xff, 0xff, 0xff, 0x7f, 0},
		{encMap, 0, 1, 0xff, 0xff, 0xff, 0x7f, 0, 0},
		{encMap, 0, 1, 0, 0x80, 0x80, 0x80, 0x80, 0x04, 0},
	} {
		d := NewDecoder(b, 1<<16)
		if d.Value(); d.Err() == nil {
			t.Errorf("%x is read within 64 KiB", b)
		}
	}
}

// FuzzDecoder reads any bytes: an error, or proper values that are written the
// same again.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte{})
	for seed := range uint64(12) {
		w := newWorld(seed)
		for range 8 + 5*seed {
			w.step()
		}
		for _, v := range w.vars {
			f.Add(encoded(nil, []Value{v}))
		}
	}
	constants := NewConstants([]Value{ListOf(Text("a"), Int(1)).Freeze()})
	f.Add(encoded(constants, []Value{constants.values[0]}))
	f.Fuzz(func(t *testing.T, b []byte) {
		d := NewDecoder(b, 1<<20)
		d.SetConstants(constants)
		v := d.Value()
		if d.Err() != nil {
			return
		}
		rest := d.Remaining()
		checkShape(t, v)
		AppendJSON(nil, v)
		if size := SizeOf(v); size != d.Weight() || size > 1<<20 {
			t.Fatalf("what weighs %d is read as %d", size, d.Weight())
		}
		if !Equal(nil, v, v) || Order(nil, v, v) != 0 {
			t.Fatal("a value is not equal to itself")
		}
		if again := encoded(constants, []Value{v}); !bytes.Equal(again, b[:len(b)-rest]) {
			t.Fatalf("%x is read, and written as %x", b[:len(b)-rest], again)
		}
	})
}
