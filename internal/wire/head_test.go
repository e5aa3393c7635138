package wire

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestHead checks that headers are the same in both forms.
func TestHead(t *testing.T) {
	all := Header{"B": {"2"}, "A": {" 1\t"}, "C": {"3", "4"}, "Content-Type": {"text/plain"}, "Content-Length": {"5"}}
	head := NewHead(all)
	to := Header{}
	head.Describe(to)
	if want := (Header{"Content-Type": {"text/plain"}, "Content-Length": {"5"}}); !reflect.DeepEqual(to, want) {
		t.Errorf("the body is described by %v", to)
	}
	if got, want := strings.Join(head.Lines(), ""), "A: 1\r\nB: 2\r\nC: 3\r\nC: 4\r\n"; got != want {
		t.Errorf("the lines are %q, want %q", got, want)
	}
	to["B"] = []string{"the route's"}
	head.Set(to)
	all["B"] = to["B"]
	if !reflect.DeepEqual(to, all) {
		t.Errorf("%v is set, want %v", to, all)
	}
	if injected := NewHead(Header{"A": {"b\r\nC: d"}, "E": {"f"}}); injected.Lines() != nil {
		t.Errorf("a line ends inside %q", injected.Lines())
	}
	var none *Head
	none.Set(to)
}

// TestHeads checks that a kind of answer has the same headers by whichever way they are set.
func TestHeads(t *testing.T) {
	for name, k := range map[string]*heads{"json": jsonHeads, "text": textHeads, "page": pageHeads} {
		for _, s := range []HeaderOptions{{}, {HTTPS: true}, {Origin: "https://a.example"}, {HTTPS: true, Origin: "https://a.example"}} {
			want, got := Header{}, Header{}
			k.set(want, s)
			head := k.begin(got, s)
			if head != nil && (len(head.Lines()) != len(want)-1 || len(got) != 1 || !slices.IsSorted(head.Lines())) {
				t.Errorf("%s %+v: %q beside %v", name, s, head.Lines(), got)
			}
			head.Set(got)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s %+v: %q, want %q", name, s, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
			}
		}
	}
}
