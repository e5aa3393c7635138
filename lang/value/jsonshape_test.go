package value

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestObjectsOfLists reads lists of objects whose keys are those of the last one, more, fewer, in another
// order, written in another way, or twice there.
func TestObjectsOfLists(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	// Each key as it is written, and as it is.
	names := [][2]string{
		{"id", "id"}, {"name", "name"}, {"nam", "nam"}, {`n\u0061me`, "name"}, {`a\"b`, `a"b`}, {"é", "é"}, {"", ""}, {"tags", "tags"},
		{"paid", "paid"}, {"k1", "k1"}, {"k2", "k2"}, {"k3", "k3"}, {strings.Repeat("long", 10), strings.Repeat("long", 10)},
	}
	read, twice := 0, 0
	for range 5_000 {
		var b strings.Builder
		var want [][]string
		var repeated bool
		keys := [][2]string{}
		b.WriteString("[")
		for n := range 1 + r.IntN(6) {
			if n > 0 {
				b.WriteString(",")
			}
			switch r.IntN(4) {
			case 0:
				keys = nil
				for range r.IntN(12) {
					keys = append(keys, names[r.IntN(len(names))])
				}
			case 1:
				keys = append(slices.Clone(keys), names[r.IntN(len(names))])
			case 2:
				keys = keys[:r.IntN(len(keys)+1)]
			}
			if r.IntN(4) > 0 { // most have each key once
				var once [][2]string
				for _, k := range keys {
					if !slices.ContainsFunc(once, func(o [2]string) bool { return o[1] == k[1] }) {
						once = append(once, k)
					}
				}
				keys = once
			}
			var list []string
			b.WriteString("{")
			for i, k := range keys {
				if i > 0 {
					b.WriteString(", ")
				}
				repeated = repeated || slices.Contains(list, k[1])
				list = append(list, k[1])
				fmt.Fprintf(&b, `"%s":{"in":%d}`, k[0], i)
			}
			b.WriteString("}")
			want = append(want, list)
		}
		b.WriteString("]")
		v, err := ParseJSON(nil, b.String())
		if repeated {
			twice++
			if err == nil || !strings.Contains(err.Message, "stands there twice") {
				t.Fatalf("%s: %v", b.String(), err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", b.String(), err)
		}
		read++
		for i, list := range want {
			var got []string
			for k, e := range v.List().At(i).Map().All {
				if in, _ := e.Map().Get("in"); in.Int64() != int64(len(got)) {
					t.Fatalf("%s: %q has another's value", b.String(), k.Str())
				}
				got = append(got, k.Str())
			}
			if !slices.Equal(got, list) {
				t.Fatalf("%s: object %d has %q, want %q", b.String(), i, got, list)
			}
		}
	}
	if read < 1000 || twice < 300 {
		t.Errorf("%d lists were read, %d refused: too few to tell anything", read, twice)
	}
	// A key that is written otherwise ends the text where its quotation mark stands.
	if _, err := ParseJSON(nil, `[{"a\"b":1},{"a"b":1}]`); err == nil {
		t.Error("a quotation mark inside a key is taken")
	}
}

func TestWhatStandsInJSONAsItIs(t *testing.T) {
	for c := range 256 {
		for at := range 8 {
			b := []byte("abcdefgh")
			b[at] = byte(c)
			want := 0
			if c >= 0x20 && c != '"' && c != '\\' && c < 0x80 {
				want = 8
			}
			if got := plainPrefix(string(b)); got != want {
				t.Fatalf("%q: %d, want %d", b, got, want)
			}
			if got := special(word8(string(b))) == 0; got != (want == 8 || c >= 0x80) {
				t.Fatalf("%q is special: %t", b, !got)
			}
		}
	}
}
