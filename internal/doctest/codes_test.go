package doctest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ql/internal/execution"
)

// raising are the folders whose code raises errors that scripts meet.
var raising = []string{"lang", "internal/engine", "internal/render", "internal/resource", "internal/service/calls.go"}

// ofRequests are codes of what an owner asks of a resource over HTTP, and a script cannot.
var ofRequests = []string{"already_exists"}

// notRaising are the folders among them whose codes no script meets: mistakes are found before it runs.
var notRaising = []string{"langtest", filepath.Join("lang", "source")}

// A row of the reference's tables of codes starts with one or more of them.
var (
	codeRow  = regexp.MustCompile("(?m)^\\| (`[a-z_]+`( `[a-z_]+`)*) \\|")
	codeCell = regexp.MustCompile("[a-z_]+")
)

// TestCodes checks that the reference lists the codes that the code raises, and
// no others.
func TestCodes(t *testing.T) {
	p, err := readPage(root, reference)
	if err != nil {
		t.Fatal(err)
	}
	text := section(strings.Join(p.lines, "\n"), "## Errors")
	listed := map[string]bool{}
	for _, m := range codeRow.FindAllStringSubmatch(text, -1) {
		for _, c := range codeCell.FindAllString(m[1], -1) {
			listed[c] = true
		}
	}
	for c := range listed {
		if execution.LoggedCode(c) != c {
			t.Errorf("the log does not show the code %s: add it to package execution", c)
		}
	}
	raised := raisedCodes(t)
	for _, c := range slices.Sorted(maps.Keys(raised)) {
		if !listed[c] && !slices.Contains(ofRequests, c) {
			t.Errorf("%s does not list the code %s, which %s raises", p.name, c, raised[c])
		}
	}
	for _, c := range slices.Sorted(maps.Keys(listed)) {
		if raised[c] == "" {
			t.Errorf("%s lists the code %s, which nothing raises", p.name, c)
		}
	}
}

// section returns what stands below a heading of the second level.
func section(text, heading string) string {
	_, text, _ = strings.Cut(text, "\n"+heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// raisedCodes finds the codes of errors in the code, each with a place where it
// is raised. A code is the first argument of Errorf and the like, or the Code of
// a literal: a text, or a constant.
func raisedCodes(t *testing.T) map[string]string {
	t.Helper()
	s := source{constants: map[string]string{}, codes: map[string]string{}}
	for _, folder := range raising {
		err := filepath.WalkDir(filepath.Join(root, folder), func(name string, d fs.DirEntry, err error) error {
			within := func(folder string) bool { return strings.Contains(name, folder) }
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || slices.ContainsFunc(notRaising, within) {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			s.files = append(s.files, parsed{name, f})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range s.files {
		ast.Inspect(f.ast, s.findConstants)
	}
	for _, f := range s.files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			s.findCode(f.name, n)
			return true
		})
	}
	return s.codes
}

type parsed struct {
	name string
	ast  *ast.File
}

type source struct {
	files     []parsed
	constants map[string]string // by name; codes have one name each
	codes     map[string]string
}

func (s *source) findConstants(n ast.Node) bool {
	spec, ok := n.(*ast.ValueSpec)
	if !ok {
		return true
	}
	for i, name := range spec.Names {
		if i < len(spec.Values) {
			if text, ok := literal(spec.Values[i]); ok {
				s.constants[name.Name] = text
			}
		}
	}
	return true
}

// raisers are the functions that take a code first.
var raisers = []string{"Errorf", "errorAt", "fail"}

func (s *source) findCode(file string, n ast.Node) {
	switch n := n.(type) {
	case *ast.CallExpr:
		name, from := calleeOf(n.Fun)
		if slices.Contains(raisers, name) && from != "fmt" && len(n.Args) > 0 {
			s.add(file, n.Args[0])
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Code" {
			s.add(file, n.Value)
		}
	case *ast.AssignStmt: // c, message := "cancelled", …
		for i, to := range n.Lhs {
			if isCodeName(to) && i < len(n.Rhs) {
				s.add(file, n.Rhs[i])
			}
		}
	case *ast.SwitchStmt: // switch code { case fileNotFound: …
		if !isCodeName(n.Tag) {
			return
		}
		for _, clause := range n.Body.List {
			for _, e := range clause.(*ast.CaseClause).List {
				if _, named := e.(*ast.Ident); named {
					s.add(file, e)
				}
			}
		}
	}
}

// isCodeName tells whether an expression is a variable that holds a code.
func isCodeName(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && (id.Name == "c" || id.Name == "code")
}

var isCode = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

func (s *source) add(file string, e ast.Expr) {
	text, ok := literal(e)
	if !ok {
		name, _ := calleeOf(e)
		text = s.constants[name]
	}
	if isCode.MatchString(text) {
		s.codes[text] = strings.TrimPrefix(filepath.ToSlash(file), root+"/")
	}
}

// calleeOf returns the name that an expression is, and of which package.
func calleeOf(e ast.Expr) (name, from string) {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name, ""
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			from = x.Name
		}
		return e.Sel.Name, from
	}
	return "", ""
}

func literal(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}
