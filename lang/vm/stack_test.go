package vm_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"ql/lang/value"
	"ql/lang/vm"
)

// shownFrames writes the frames of a machine in short.
func shownFrames(m *vm.Machine, most int) string {
	list, depth := m.Frames(most)
	text := fmt.Sprint(depth)
	for _, f := range list {
		text += fmt.Sprintf("; %s:%d", f.Function, f.Line)
		for _, v := range f.Variables {
			text += " " + v.Name + "=" + string(value.AppendJSON(nil, v.Value))
		}
	}
	return text
}

// TestFrames: a machine that stands at a question tells where it stands, in all functions, with their
// variables; also one that was restored.
func TestFrames(t *testing.T) {
	many := strings.Builder{}
	want := strings.Builder{}
	for i := range 160 {
		fmt.Fprintf(&many, "SET ?v%d AS %d * 2\n", i, i)
		fmt.Fprintf(&want, " v%d=%d", i, i*2)
	}
	for name, c := range map[string]struct {
		text string
		most int
		want string
	}{
		"the top level": {"SET ?a AS 1\nSET ?b AS [1, {c: \"x\"}]\nCONFIRM \"Go on?\"\nSET ?later AS 2", 9, `1; :3 a=1 b=[1,{"c":"x"}] later=null`},
		"functions": {"DEFINE inner(?n)\nIF ?n = 0 THEN\nCONFIRM \"Deep?\"\nEND\nSET ?below AS inner(?n - 1)\nRETURN ?below\nEND\nSET ?top AS \"t\"\nEMIT inner(2)", 9,
			`4; inner:3 n=0 below=null; inner:5 n=1 below=null; inner:5 n=2 below=null; :9 top="t"`},
		"the innermost": {"DEFINE inner(?n)\nIF ?n = 0 THEN\nCONFIRM \"Deep?\"\nEND\nRETURN inner(?n - 1)\nEND\nEMIT inner(30)", 2, `32; inner:3 n=0; inner:5 n=1`},
		"a loop":        {"FOR ?x IN [5, 6] DO\nCONFIRM \"This?\"\nEND", 9, `1; :2 x=5`},
		"many":          {many.String() + `CONFIRM "Go on?"`, 9, "1; :161" + want.String()},
	} {
		m := standing(t, c.text)
		if got := shownFrames(m, c.most); got != c.want {
			t.Errorf("%s: got  %s\nwant %s", name, got, c.want)
		}
		stored, err := m.Snapshot(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := vm.Restore(context.Background(), nil, compile(t, c.text), stored, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := shownFrames(again, c.most); got != c.want {
			t.Errorf("%s, restored: got  %s\nwant %s", name, got, c.want)
		}
	}
}
