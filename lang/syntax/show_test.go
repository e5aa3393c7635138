package syntax

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"ql/lang/source"
)

// Statements that are shown one by one, in nodes that are used again and again, are those
// that a tree would have, and what may stand at the cursor is the same.
func TestShownAsKept(t *testing.T) {
	paths, err := filepath.Glob("testdata/*/*.ql")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for at := len(text); at >= 0; at -= 7 {
			compareShown(t, path, source.NewFile("", string(text[:at])))
		}
	}
}

func compareShown(t *testing.T, path string, f *source.File) {
	t.Helper()
	list, want := parseTo(f, nil, false)
	kept, names := map[string]int{}, map[string]bool{}
	for _, s := range list {
		keptStmts(s, kept)
		keptNames(s, names)
	}
	shown, told := map[string]int{}, map[string]bool{}
	_, got := parseTo(f, func(s Stmt, vars []Span, _ int) {
		shown[describeStmt(s)]++
		for _, v := range vars {
			told[f.Text[v.Start:v.Stop]] = true
		}
	}, false)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s, %d bytes: expected %+v, not %+v", path, len(f.Text), want, got)
	}
	for what, n := range kept {
		if shown[what] != n {
			t.Fatalf("%s, %d bytes: %s is shown %d times, not %d", path, len(f.Text), what, shown[what], n)
		}
	}
	for name := range names {
		if !told[name] {
			t.Fatalf("%s, %d bytes: ?%s is not told of", path, len(f.Text), name)
		}
	}
	// Of a broken text more is shown: what stands in a block that belongs to nothing.
	if _, errs := Parse(f); len(errs) == 0 && (len(shown) != len(kept) || len(told) != len(names)) {
		t.Fatalf("%s, %d bytes: shown\n%v\n%v, kept\n%v\n%v", path, len(f.Text), shown, told, kept, names)
	}
}

// describeStmt tells all of a statement but for the statements in its blocks.
func describeStmt(s Stmt) string {
	blocks := map[*Block][]Stmt{}
	Walk(s, func(n Node) bool {
		b, ok := n.(*Block)
		if ok {
			blocks[b], b.Stmts = b.Stmts, nil
		}
		return !ok
	})
	defer func() {
		for b, list := range blocks {
			b.Stmts = list
		}
	}()
	return fmt.Sprintf("%d-%d %s", s.Pos(), s.End(), Dump(s))
}

func keptStmts(s Stmt, into map[string]int) {
	Walk(s, func(n Node) bool {
		if s, ok := n.(Stmt); ok {
			into[describeStmt(s)]++
		}
		return true
	})
}

// keptNames adds the names of a tree's variables but for those of lambdas.
func keptNames(n Node, into map[string]bool) {
	Walk(n, func(n Node) bool {
		switch n := n.(type) {
		case *Var:
			into[n.Name] = true
		case *Lambda:
			inner := map[string]bool{}
			keptNames(n.Body, inner)
			for _, p := range n.Params {
				delete(inner, p.Name)
			}
			maps.Copy(into, inner)
			return false
		}
		return true
	})
}
