package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// unguarded are the files that may start goroutines by themselves, and why.
var unguarded = map[string]string{
	"internal/guard/guard.go":           "it is what guards the others",
	"internal/listen/conn.go":           "it ends the wait of a connection, and does no more",
	"internal/resource/files/upload.go": "it makes calls of a store, beside a caller that waits for all of them",
	"internal/network/caller.go":        "it ends a call, and does no more",
	"internal/store/blob/s3/reader.go":  "it cancels a request, and does no more",
	"internal/server/forward.go":        "it cancels a request, and does no more",
	"internal/cli/terminal.go":          "it reads a terminal for a command, which a panic may end",
	"internal/cli/cli.go":               "it ends the wait for signals",
}

// TestGoroutines checks that all goroutines of the service are started by
// internal/guard: a panic in any other ends the process, and everybody's work.
// Packages whose names end with test are linked into tests alone.
func TestGoroutines(t *testing.T) {
	found := map[string]bool{}
	eachLinked(t, []string{"internal", "lang"}, func(below string, files *token.FileSet, f *ast.File) {
		starts := goroutines(f)
		if _, ok := unguarded[below]; ok {
			found[below] = len(starts) > 0
			return
		}
		for _, at := range starts {
			t.Errorf("%s: this starts a goroutine that nothing guards: use Go or Loop of internal/guard", files.Position(at))
		}
	})
	for name := range unguarded {
		if !found[name] {
			t.Errorf("%s starts no goroutines: it needs no exception", name)
		}
	}
}

// goroutines returns where a file starts goroutines: by go, by the method Go of a
// group, which has one argument where that of a guard has two, and by functions
// called AfterFunc.
func goroutines(f *ast.File) []token.Pos {
	var found []token.Pos
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, n.Pos())
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			if ok && (s.Sel.Name == "Go" && len(n.Args) == 1 || s.Sel.Name == "AfterFunc") {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	return found
}

func TestGoroutinesAreFound(t *testing.T) {
	const text = `package p
func f() {
	go f()
	group.Go(f)
	context.AfterFunc(ctx, f)
	guard.Go("part", f)
}`
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, at := range goroutines(f) {
		lines = append(lines, fmt.Sprint(files.Position(at).Line))
	}
	if !slices.Equal(lines, []string{"3", "4", "5"}) {
		t.Errorf("found in lines %s", lines)
	}
}
