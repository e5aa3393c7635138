// Package archtest keeps the shape of the repository: who may import whom, which
// packages may touch the outside world, and that each says what it is for. It
// holds tests only; the tables in them are the rules.
package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "ql"
	root   = "../.."
)

// goPackage is one folder of Go files.
type goPackage struct {
	path  string // below the module, "." for its root
	files []goFile
}

type goFile struct {
	name    string
	test    bool
	clause  string // the name in its package clause
	comment string // the package comment, "" where there is none
	imports []string
}

// testOnly tells whether the package has nothing but tests.
func (p goPackage) testOnly() bool {
	return !slices.ContainsFunc(p.files, func(f goFile) bool { return !f.test })
}

// loadTree reads the head of every Go file of the module. Modules beside it, such as
// the one of the benchmarks, have go.mod files of their own and no part in it.
func loadTree(t *testing.T) []goPackage {
	t.Helper()
	byPath := map[string]*goPackage{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != root && isOutside(name) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		file, err := parseFile(filepath.Base(name), text)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		folder = filepath.ToSlash(folder)
		if byPath[folder] == nil {
			byPath[folder] = &goPackage{path: folder}
		}
		byPath[folder].files = append(byPath[folder].files, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var tree []goPackage
	for _, p := range byPath {
		tree = append(tree, *p)
	}
	slices.SortFunc(tree, func(a, b goPackage) int { return strings.Compare(a.path, b.path) })
	return tree
}

// isOutside tells whether a folder below the root is no part of the module, as
// the go command sees it.
func isOutside(folder string) bool {
	base := filepath.Base(folder)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "node_modules" {
		return true
	}
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

func parseFile(name string, text []byte) (goFile, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return goFile{}, err
	}
	file := goFile{name: name, test: strings.HasSuffix(name, "_test.go"), clause: parsed.Name.Name, comment: docText(parsed)}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return goFile{}, fmt.Errorf("%s imports %s: %w", name, spec.Path.Value, err)
		}
		file.imports = append(file.imports, imported)
	}
	return file, nil
}

func docText(file *ast.File) string {
	if file.Doc == nil {
		return ""
	}
	return strings.TrimSpace(file.Doc.Text())
}

// own gives an import's path below the module, and whether it is of the module.
func own(imported string) (string, bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

// isStandard tells whether an import is of the standard library, whose paths
// have no dot in their first part.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	_, isOwn := own(imported)
	return !isOwn && !strings.Contains(first, ".")
}

// matches tells whether a path fits one of the patterns; a star stands for one
// part of a path.
func matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return err == nil && ok
	})
}

// complain reports a list of complaints, each of which fails the test.
func complain(t *testing.T, complaints []string) {
	t.Helper()
	for _, c := range complaints {
		t.Error(c)
	}
}

// wantComplaints compares complaints with those that a test expects.
func wantComplaints(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("complaints:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}
