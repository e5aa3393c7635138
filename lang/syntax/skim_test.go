package syntax_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ql/lang/source"
	"ql/lang/syntax"
)

// What is passed over tells the same as what is read: on prefixes of all samples, and of
// random programs by the rules of the grammar.
func TestPromiseSkimmedAsRead(t *testing.T) {
	step, rounds := 13, 300
	if os.Getenv("QL_PROMISES") != "" {
		step, rounds = 1, 40_000
	}
	paths, err := filepath.Glob("testdata/*/*.ql")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	skimmed := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for at := len(text); at >= 0; at -= step {
			skimmed += compareSkimmed(t, string(text[:at]))
		}
	}
	for seed := range rounds {
		g := &generator{rng: rand.New(rand.NewPCG(uint64(seed), 11))}
		var b strings.Builder
		for range 1 + g.rng.IntN(8) {
			b.WriteString(g.statement(3) + g.pick(" ", "\n", ";", " -- c\n", " /* c */ "))
		}
		text := b.String()
		skimmed += compareSkimmed(t, text)
		cut := g.rng.IntN(len(text) + 1)
		skimmed += compareSkimmed(t, text[:cut])
		// What is broken elsewhere may be taken for more or for less; that has an answer.
		broken := text[:cut] + text[min(cut+1+g.rng.IntN(9), len(text)):]
		syntax.ParseTo(source.NewFile("", broken), func(syntax.Stmt, []syntax.Span, int) {})
	}
	if skimmed == 0 {
		t.Error("nothing was passed over")
	}
}

// told is what is told of a statement, as far as passing over it keeps that.
type told struct {
	depth int
	kind  string
	sql   string
	vars  []string
}

// compareSkimmed returns how many statements were passed over.
func compareSkimmed(t *testing.T, text string) (skimmed int) {
	t.Helper()
	f := source.NewFile("", text)
	collect := func(out *[]told) syntax.Show {
		return func(s syntax.Stmt, vars []syntax.Span, depth int) {
			k := told{depth: depth}
			switch s := s.(type) {
			case nil:
				skimmed++
			case *syntax.SQL:
				k.kind = s.Head
				for _, p := range s.Parts {
					if p.Param == nil {
						k.sql += strings.Trim(p.Text, " \n()")
					}
				}
			case *syntax.Use, *syntax.Define, *syntax.Constant, *syntax.Include:
				k.kind = fmt.Sprintf("%T %d-%d", s, s.Pos(), s.End())
			}
			for _, v := range vars {
				k.vars = append(k.vars, fmt.Sprint(v.Start, f.Text[v.Start:v.Stop]))
			}
			*out = append(*out, k)
		}
	}
	var read, got []told
	want := syntax.ReadTo(f, collect(&read))
	expected := syntax.ParseTo(f, collect(&got))
	_, errs := syntax.Parse(f)
	if !reflect.DeepEqual(expected, want) {
		t.Fatalf("expected %+v, not %+v, in\n%s", want, expected, text)
	}
	if len(errs) == 0 {
		if !reflect.DeepEqual(got, read) {
			t.Fatalf("told\n%v, not\n%v, in\n%s", got, read, text)
		}
		return skimmed
	}
	// Of a broken text some statements are told as one or as two, and more variables may be.
	names := func(list []told) (kinds, vars []string) {
		for _, k := range list {
			if !strings.HasPrefix(k.kind, "*") {
				k.kind = ""
			}
			kinds, vars = append(kinds, k.kind), append(vars, k.vars...)
		}
		slices.Sort(kinds)
		slices.Sort(vars)
		return slices.Compact(kinds), slices.Compact(vars)
	}
	kinds, vars := names(read)
	gotKinds, gotVars := names(got)
	for _, v := range vars {
		if strings.Contains(text, "->") {
			break // a broken lambda's parameters are told of
		}
		if !slices.Contains(gotVars, v) {
			t.Fatalf("%s is not told of in\n%s", v, text)
		}
	}
	if !slices.Equal(slices.DeleteFunc(kinds, isEmpty), slices.DeleteFunc(gotKinds, isEmpty)) {
		t.Fatalf("told %v, not %v, in\n%s", gotKinds, kinds, text)
	}
	return skimmed
}

func isEmpty(s string) bool { return s == "" }
