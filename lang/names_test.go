package lang_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ql/lang"
	"ql/lang/bytecode"
)

// A program has the names of its variables, and so has one that was stored.
func TestVariableNames(t *testing.T) {
	p, err := lang.Compile("SET ?total AS tax(3)\nFOR ?x IN [1] DO EMIT ?x END\nDEFINE tax(?sum, ?rate DEFAULT 2)\n  SET ?owed AS ?sum * ?rate\n  RETURN ?owed\nEND", lang.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"total", "x"}, {"sum", "rate", "owed"}}
	stored := bytecode.Encode(p)
	read, err := bytecode.Decode(stored)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, namesIn(read)); diff != "" {
		t.Error(diff)
	}
	if read.Bytes != p.Bytes {
		t.Errorf("it weighs %d, and %d once it is read", p.Bytes, read.Bytes)
	}
}

func namesIn(p *bytecode.Program) [][]string {
	out := make([][]string, len(p.Funcs))
	for i, f := range p.Funcs {
		out[i] = f.Vars
	}
	return out
}
