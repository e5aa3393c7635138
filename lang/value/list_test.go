package value

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestListModel fills lists with elements of one form, so that they are packed,
// and now and then with one of another.
func TestListModel(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 4))
		form := r.IntN(3)
		element := func() Value {
			f := form
			if r.IntN(25) == 0 {
				f = r.IntN(5)
			}
			switch f {
			case 0:
				return Int(int64(r.IntN(100)))
			case 1:
				v, _ := Number(float64(r.IntN(100)) + 0.25)
				return v
			case 2:
				return Bool(r.IntN(2) == 0)
			case 3:
				return Text("text")
			}
			return ListOf(Int(1))
		}
		meter := roomy(1 << 40)
		l := NewList(meter, r.IntN(2)*r.IntN(5))
		model := []any{}
		for range 120 {
			v := element()
			switch r.IntN(9) {
			case 0, 1, 2, 3:
				l.Append(meter, v)
				model = append(model, plain(v))
			case 4:
				if len(model) > 0 {
					i := r.IntN(len(model))
					l.Set(meter, i, v)
					model[i] = plain(v)
				}
			case 5:
				if len(model) > 0 {
					i := r.IntN(len(model))
					l.Remove(meter, i)
					model = slices.Delete(model, i, i+1)
				}
			case 6:
				i := r.IntN(len(model) + 1)
				j := i + r.IntN(len(model)-i+1)
				s := l.Slice(meter, i, j)
				if got := plain(s.Value()); !reflect.DeepEqual(got, append([]any{}, model[i:j]...)) {
					t.Fatalf("seed %d: elements %d to %d of %v are %v", seed, i, j, model, got)
				}
				checkShape(t, s.Value())
			case 7:
				c := l.Clone(meter)
				if l.tag != c.tag {
					t.Fatalf("seed %d: a copy is packed otherwise", seed)
				}
				l.Append(meter, v) // which the copy must not see
				if !reflect.DeepEqual(plain(c.Value()), listOf(model)) {
					t.Fatalf("seed %d: a copy of %v changed to %v", seed, model, plain(c.Value()))
				}
				l = c
			case 8:
				if len(model) < 60 {
					o := ListOf(v, element())
					l.Extend(meter, o.List())
					model = append(model, plain(o).([]any)...)
					if r.IntN(4) == 0 {
						l.Extend(meter, l)
						model = append(model, model...)
					}
				}
			}
			if got := plain(l.Value()); !reflect.DeepEqual(got, listOf(model)) {
				t.Fatalf("seed %d: the list is %v, want %v", seed, got, model)
			}
			checkShape(t, l.Value())
		}
	}
}

func listOf(m []any) any { return append([]any{}, m...) }

// TestListPacked pins when a list is packed: it is what makes lists of numbers
// cheap.
func TestListPacked(t *testing.T) {
	grown := NewList(nil, 0)
	grown.Append(nil, Int(1))
	grown.Append(nil, Int(2))
	for _, l := range []*List{grown, grown.Clone(nil), grown.Slice(nil, 0, 1), mustAdd(t, grown, grown), mustAdd(t, NewList(nil, 0), grown)} {
		if l.tag == nil || (*header)(l.tag).kind != KindInt {
			t.Errorf("%v is not packed", plain(l.Value()))
		}
	}
	grown.Set(nil, 0, Text("x"))
	if grown.tag != nil || grown.Len() != 2 {
		t.Errorf("%v is still packed", plain(grown.Value()))
	}
}

func mustAdd(t *testing.T, a, b *List) *List {
	t.Helper()
	v, err := Add(nil, a.Value(), b.Value())
	if err != nil {
		t.Fatal(err)
	}
	return v.List()
}

// TestTextsAppended appends to texts that share their blocks in all ways.
func TestTextsAppended(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		meter := roomy(1 << 40)
		values := []Value{Text(""), Text("a"), Text("frozen").Freeze(), Text(strings.Repeat("long ", 20))}
		models := []string{"", "a", "frozen", strings.Repeat("long ", 20)}
		for range 200 {
			i, j := r.IntN(len(values)), r.IntN(len(values))
			if len(models[i])+len(models[j]) > 5000 {
				continue
			}
			v := Concat(meter, values[i], values[j])
			s := models[i] + models[j]
			if len(values) < 12 {
				values, models = append(values, v), append(models, s)
			} else {
				k := r.IntN(len(values))
				values[k], models[k] = v, s
			}
			for k := range values {
				if values[k].Str() != models[k] || !utf8.ValidString(models[k]) {
					t.Fatalf("seed %d: a text changed to %q, want %q", seed, values[k].Str(), models[k])
				}
			}
		}
	}
}

// TestTextAppendsInPlace checks that a loop that appends to one text costs what
// it appends.
func TestTextAppendsInPlace(t *testing.T) {
	meter := roomy(1 << 40)
	v, x := Text("start"), Text("0123456789")
	for range 10_000 {
		v = Concat(meter, v, x)
	}
	if used := meter.Memory - meter.BytesLeft; used > 4*int64(len(v.Str())) {
		t.Errorf("%d bytes were charged for a text of %d", used, len(v.Str()))
	}
}

// TestEmptyContent checks that no pointer to an empty content leads past its
// block: the garbage collector would take it for one to the thing behind.
func TestEmptyContent(t *testing.T) {
	empty := NewBuilder(nil, KindText, 0)
	for _, v := range []Value{Text(""), Bytes(nil), empty.Value(), Text("").Freeze()} {
		b := (*block)(v.p)
		if size := BlockSize(0); size <= blockSize {
			t.Errorf("an empty block has %d bytes, all of them its header", size)
		}
		if b.flags&flagFrozen == 0 && b.cap == 0 {
			t.Errorf("empty %s has no room", v.Kind())
		}
		if v.Str() != "" || len(v.Raw()) != 0 {
			t.Errorf("empty %s holds %q", v.Kind(), v.Str())
		}
	}
	if v := Concat(nil, Text(""), Text("a")); v.Str() != "a" || Text("").Str() != "" {
		t.Error("the empty text was written to")
	}
}
