package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSleeps checks that tests sleep on the clock of a synctest bubble alone,
// where it takes no time: a test that waits for something waits for that.
func TestSleeps(t *testing.T) {
	check := func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, at := range sleeps(f) {
			t.Errorf("%s: this sleeps, and nothing in the file runs in a bubble of testing/synctest", files.Position(at))
		}
		return nil
	}
	if err := filepath.WalkDir(root, check); err != nil {
		t.Fatal(err)
	}
}

// sleeps returns where a file sleeps that has no bubble.
func sleeps(f *ast.File) []token.Pos {
	if slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing/synctest"` }) {
		return nil
	}
	var found []token.Pos
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Sleep" {
			if from, ok := s.X.(*ast.Ident); ok && from.Name == "time" {
				found = append(found, s.Pos())
			}
		}
		return true
	})
	return found
}

func TestSleepsAreFound(t *testing.T) {
	const body = "\nimport \"time\"\nfunc f() { time.Sleep(1) }"
	for text, want := range map[string]int{
		"package p" + body: 1,
		"package p\nimport \"testing/synctest\"" + body: 0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "", text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(sleeps(f)); got != want {
			t.Errorf("%d sleeps in %q", got, text)
		}
	}
}
