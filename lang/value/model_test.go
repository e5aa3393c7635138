package value

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// plain makes Go values of v that share nothing with it: nil, bool, float64 or
// int64, string, []byte, []any, and for maps an ordered []field.
func plain(v Value) any {
	switch v.Kind() {
	case KindBool:
		return v.IsTrue()
	case KindInt:
		return v.Int64()
	case KindFloat:
		return v.Float64()
	case KindText:
		return strings.Clone(v.Str())
	case KindBytes:
		return slices.Clone(v.Raw())
	case KindDecimal:
		return v.decimal()
	case KindList:
		l := []any{}
		for i := range v.List().Len() {
			l = append(l, plain(v.List().At(i)))
		}
		return l
	case KindMap:
		t := []field{}
		for k, e := range v.Map().All {
			t = append(t, field{strings.Clone(k.Str()), plain(e)})
		}
		return t
	}
	return nil
}

type field struct {
	key string
	v   any
}

// copied returns a model value that shares nothing with m.
func copied(m any) any {
	switch m := m.(type) {
	case []any:
		c := make([]any, len(m))
		for i, e := range m {
			c[i] = copied(e)
		}
		return c
	case []field:
		c := make([]field, len(m))
		for i, e := range m {
			c[i] = field{e.key, copied(e.v)}
		}
		return c
	}
	return m
}

// world is a set of variables, each with a model of what it must hold.
type world struct {
	r      *rand.Rand
	m      *Meter
	vars   []Value
	models []any
	log    []string
}

func newWorld(seed uint64) *world {
	w := &world{r: rand.New(rand.NewPCG(seed, 1)), m: roomy(1 << 40)}
	for range 5 {
		w.vars = append(w.vars, Null)
		w.models = append(w.models, nil)
	}
	return w
}

// roomy returns a meter that ends nothing.
func roomy(memory int64) *Meter {
	m := &Meter{
		Bounds: Bounds{Text: 1 << 30, Elements: 1 << 30, Nesting: 60_000, Pattern: 1 << 10, PatternCost: 1 << 40},
		Fuel:   1 << 60, BytesLeft: memory, Memory: memory, TotalFuel: 1 << 60,
	}
	m.End()
	m.Measure = func() int64 { return 0 }
	return m
}

func (w *world) pick() int { return w.r.IntN(len(w.vars)) }

// scalar makes a new scalar or text.
func (w *world) scalar() (Value, any) {
	switch w.r.IntN(7) {
	case 6:
		d := decimal{negative: w.r.IntN(2) == 0, scale: w.r.IntN(MaxDigits + 1), hi: w.r.Uint64N(limitHi), lo: w.r.Uint64()}
		return d.value(w.m), d
	case 0:
		return Null, nil
	case 1:
		b := w.r.IntN(2) == 0
		return Bool(b), b
	case 2:
		f := float64(w.r.IntN(100)) + 0.5
		v, _ := Number(f)
		return v, f
	case 3:
		s := strings.Repeat("é", w.r.IntN(40))
		return Text(s), s
	}
	i := int64(w.r.IntN(1000))
	return Int(i), i
}

func (w *world) key() string { return fmt.Sprintf("k%d", w.r.IntN(14)) }

// step does something to a variable and the same to its model.
func (w *world) step() {
	a, b := w.pick(), w.pick()
	note := func(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }
	switch w.r.IntN(17) {
	case 0, 1: // SET ?a AS ?b
		note("%d = %d", a, b)
		w.vars[a] = w.vars[b].Share()
		w.models[a] = copied(w.models[b])
	case 2:
		note("%d = scalar", a)
		w.vars[a], w.models[a] = w.scalar()
	case 3:
		note("%d = []", a)
		w.vars[a], w.models[a] = NewList(w.m, w.r.IntN(3)).Value(), []any{}
	case 4:
		note("%d = {}", a)
		w.vars[a], w.models[a] = NewMap(w.m, w.r.IntN(12)).Value(), []field{}
	case 5, 6: // APPEND scalar TO ?a
		note("append scalar to %d", a)
		v, x := w.scalar()
		if err := AppendTo(w.m, &w.vars[a], v); err == nil {
			w.models[a] = append(asList(w.models[a]), x)
		}
	case 7: // APPEND ?b TO ?a
		if w.vars[b].Height() > 20 {
			return
		}
		note("append %d to %d", b, a)
		v, x := w.vars[b].Share(), copied(w.models[b])
		if err := AppendTo(w.m, &w.vars[a], v); err == nil {
			w.models[a] = append(asList(w.models[a]), x)
		}
	case 8, 9, 10: // SET ?a.key… AS ?b or scalar
		if w.vars[b].Height() > 20 {
			return
		}
		keys := []Value{Text(w.key())}
		path := []string{keys[0].Str()}
		for w.r.IntN(3) == 0 {
			keys = append(keys, Text(w.key()))
			path = append(path, keys[len(keys)-1].Str())
		}
		v, x := w.vars[b].Share(), copied(w.models[b])
		if w.r.IntN(2) == 0 {
			v, x = w.scalar()
		}
		note("%d.%s = (%d)", a, strings.Join(path, "."), b)
		if err := SetPath(w.m, &w.vars[a], keys, v); err == nil {
			w.models[a] = setModel(w.models[a], path, x)
		}
	case 11: // SET ?a[i] AS scalar
		i := w.r.IntN(4)
		v, x := w.scalar()
		if err := SetIndex(w.m, &w.vars[a], Int(int64(i)), v); err == nil {
			note("%d[%d] = scalar", a, i)
			w.models[a].([]any)[i] = x
		}
	case 12: // UNSET ?a.key
		key := w.key()
		if err := RemovePath(w.m, &w.vars[a], []Value{Text(key)}); err == nil && w.models[a] != nil {
			note("unset %d.%s", a, key)
			w.models[a] = slices.DeleteFunc(w.models[a].([]field), func(f field) bool { return f.key == key })
		}
	case 13: // UNSET ?a[i]
		i := w.r.IntN(5)
		if err := RemovePath(w.m, &w.vars[a], []Value{Int(int64(i))}); err == nil && w.models[a] != nil {
			note("unset %d[%d]", a, i)
			if l := w.models[a].([]any); i < len(l) {
				w.models[a] = slices.Delete(l, i, i+1)
			}
		}
	case 14: // SET ?a AS an element of ?b
		w.take(a, b)
	case 15: // SET ?a AS ?a + ?b
		if nodes(w.models[a])+nodes(w.models[b]) > 400 {
			return
		}
		note("%d = %d + %d", a, a, b)
		v, err := Add(w.m, w.vars[a], w.vars[b])
		if err != nil {
			return
		}
		w.vars[a] = v
		w.models[a] = addModel(w.models[a], w.models[b], plain(v))
	case 16: // in place, as the machine does it
		if w.vars[a].IsList() && w.vars[b].IsList() && !w.vars[a].Shared() && nodes(w.models[a]) < 100 && nodes(w.models[b]) < 100 {
			note("extend %d by %d", a, b)
			w.vars[a].List().Extend(w.m, w.vars[b].List())
			w.models[a] = append(asList(w.models[a]), copied(w.models[b]).([]any)...)
		}
	}
}

func (w *world) take(a, b int) {
	switch m := w.models[b].(type) {
	case []any:
		if len(m) > 0 {
			i := w.r.IntN(len(m))
			w.log = append(w.log, fmt.Sprintf("%d = %d[%d]", a, b, i))
			v, _ := Index(nil, w.vars[b], Int(int64(i)))
			w.models[a] = copied(m[i])
			w.vars[a] = v.Share()
		}
	case []field:
		if len(m) > 0 {
			f := m[w.r.IntN(len(m))]
			w.log = append(w.log, fmt.Sprintf("%d = %d.%s", a, b, f.key))
			v, _ := Index(nil, w.vars[b], Text(f.key))
			w.models[a] = copied(f.v)
			w.vars[a] = v.Share()
		}
	}
}

func asList(m any) []any {
	if m == nil {
		return []any{}
	}
	return m.([]any)
}

func setModel(m any, path []string, x any) any {
	if len(path) == 0 {
		return x
	}
	t, _ := m.([]field)
	if t == nil {
		t = []field{}
	}
	for i := range t {
		if t[i].key == path[0] {
			t[i].v = setModel(t[i].v, path[1:], x)
			return t
		}
	}
	return append(t, field{path[0], setModel(nil, path[1:], x)})
}

// addModel adds lists and maps; for the rest the sum is taken as it is.
func addModel(a, b, sum any) any {
	switch a := a.(type) {
	case []any:
		return append(copied(a).([]any), copied(b).([]any)...)
	case []field:
		t := copied(a)
		for _, f := range b.([]field) {
			t = setModel(t, []string{f.key}, copied(f.v))
		}
		return t
	case string:
		return a + b.(string)
	}
	return sum
}

// nodes returns how many values a model has.
func nodes(m any) int {
	n := 1
	switch m := m.(type) {
	case []any:
		for _, e := range m {
			n += nodes(e)
		}
	case []field:
		for _, f := range m {
			n += nodes(f.v)
		}
	case string:
		n += len(m) / 16
	}
	return n
}

func (w *world) check(t *testing.T, seed uint64) {
	t.Helper()
	for i := range w.vars {
		if got := plain(w.vars[i]); !reflect.DeepEqual(got, w.models[i]) {
			t.Fatalf("seed %d: variable %d holds %v, want %v, after\n%s", seed, i, got, w.models[i], strings.Join(w.log, "\n"))
		}
		checkShape(t, w.vars[i])
	}
}

// checkShape checks what must hold of every container that v leads to.
func checkShape(t *testing.T, v Value) {
	t.Helper()
	below := func(h *header, e Value) {
		if e.Height() >= int(h.height) {
			t.Fatalf("a container of height %d holds one of height %d", h.height, e.Height())
		}
		checkShape(t, e)
	}
	switch v.Kind() {
	case KindList:
		l := v.List()
		if l.tag != nil && (l.vals != nil || !scalar(l.tag)) || l.tag == nil && l.words != nil {
			t.Fatalf("a list is half packed")
		}
		for i := range l.Len() {
			below(&l.header, l.At(i))
		}
	case KindMap:
		m := v.Map()
		gaps := 0
		for i := range m.entries {
			e := &m.entries[i]
			if e.keyP == nil {
				gaps++
				continue
			}
			if m.find(e.str()) != i {
				t.Fatalf("entry %d of a map of %d is not found under its key %q", i, m.Len(), e.str())
			}
			below(&m.header, e.val)
		}
		if gaps != int(m.gaps) || m.index == nil && len(m.entries) > smallMap || m.index != nil && len(m.entries)*4 > len(m.index)*3 {
			t.Fatalf("a map of %d entries counts %d gaps of %d, its index has %d places", len(m.entries), m.gaps, gaps, len(m.index))
		}
	}
}

// TestCopiesModel does random things to a few variables that share what they
// can, and to models of them that share nothing.
func TestCopiesModel(t *testing.T) {
	n := uint64(600)
	if testing.Short() {
		n = 100
	}
	for seed := range n {
		w := newWorld(seed)
		for i := range 250 {
			w.step()
			if i%5 == 0 {
				w.check(t, seed)
			}
		}
		w.check(t, seed)
	}
}

// TestAccounted checks that what was charged is at least what is held, and
// that what is held is at least what it really takes.
func TestAccounted(t *testing.T) {
	for seed := range uint64(200) {
		w := newWorld(seed)
		for range 200 {
			// Scalars and texts of the model are not charged; they stand for
			// what a host gives.
			before := w.m.BytesLeft
			w.step()
			if w.m.BytesLeft > before {
				t.Fatal("memory was given back")
			}
		}
		walker := NewWalker(nil)
		seen := map[*header]bool{}
		var real, unmetered int64
		for _, v := range w.vars {
			walker.Visit(v)
			r, u := actual(v, seen)
			real += r
			unmetered += u
		}
		if walker.Bytes() < real {
			t.Fatalf("seed %d: %d bytes are held, which are taken for %d", seed, real, walker.Bytes())
		}
		if charged := w.m.Memory - w.m.BytesLeft + unmetered; charged < walker.Bytes() {
			t.Fatalf("seed %d: %d bytes are held, but only %d were charged, after\n%s", seed, walker.Bytes(), charged, strings.Join(w.log, "\n"))
		}
	}
}

// actual returns the bytes that v really takes, each thing counted once, and
// those of its texts.
func actual(v Value, seen map[*header]bool) (bytes, texts int64) {
	if v.p == nil || scalar(v.p) {
		return 0, 0
	}
	h := (*header)(v.p)
	if seen[h] || h.flags&flagFrozen != 0 {
		return 0, 0
	}
	seen[h] = true
	add := func(e Value) {
		b, t := actual(e, seen)
		bytes, texts = bytes+b, texts+t
	}
	switch h.kind {
	case KindText, KindBytes, KindDecimal:
		n := int64(unsafe.Sizeof(block{})) + int64((*block)(v.p).cap)
		return n, n
	case KindList:
		l := v.List()
		bytes += int64(unsafe.Sizeof(*l)) + int64(cap(l.words))*8 + int64(cap(l.vals))*int64(unsafe.Sizeof(Value{}))
		for i := range l.Len() {
			add(l.At(i))
		}
	case KindMap:
		t := v.Map()
		bytes += int64(unsafe.Sizeof(*t)) + int64(cap(t.entries))*int64(unsafe.Sizeof(entry{})) + int64(cap(t.index))*int64(unsafe.Sizeof(slot(0)))
		for k, e := range t.All {
			add(k)
			add(e)
		}
	}
	return bytes, texts
}
