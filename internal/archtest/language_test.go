package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// What the language must not know of the service that runs it: its plans, what an
// answer over HTTP can carry, how databases are named. The syntax has names of
// globals, in capitals, and hints for people who write one thing for another.
var (
	planNames    = regexp.MustCompile(`^(Free|Standard|Unlimited)$`) // of functions
	serviceNames = regexp.MustCompile(`Plan|DatabaseName|[mM]ax(Cookie|Header)`)
	serviceTexts = regexp.MustCompile(`\b(plans?|cookies?|headers?:|browsers?|invalid_database)\b|^header:`)
)

// speaking are the packages whose messages and hints may name such things.
var speaking = []string{"lang/syntax/", "lang/format/"}

// networkPackages are those that only somebody who answers requests needs.
var networkPackages = []string{"net/netip", "net/textproto", "net/mail"}

// TestLanguageKnowsNoService checks that what is declared, said and imported below
// lang is the language's own: limits come with a run, and rules with its host.
func TestLanguageKnowsNoService(t *testing.T) {
	eachLinked(t, []string{"lang"}, func(below string, files *token.FileSet, f *ast.File) {
		for _, c := range serviceWords(files, f, speaks(below)) {
			t.Error(c)
		}
	})
}

func speaks(below string) bool {
	for _, p := range speaking {
		if strings.HasPrefix(below, p) {
			return true
		}
	}
	return false
}

// serviceWords returns where a file of the language knows something of the service.
func serviceWords(files *token.FileSet, f *ast.File, speaks bool) []string {
	var found []string
	add := func(n ast.Node, what string) {
		found = append(found, fmt.Sprintf("%s: %s is the service's: hand it to the machine, as limits or rules", files.Position(n.Pos()), what))
	}
	imports := map[*ast.BasicLit]bool{}
	for _, i := range f.Imports {
		imports[i.Path] = true
		for _, p := range networkPackages {
			if i.Path.Value == strconv.Quote(p) {
				add(i, p)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if planNames.MatchString(n.Name.Name) {
				add(n, n.Name.Name)
			}
		case *ast.Ident:
			if serviceNames.MatchString(n.Name) {
				add(n, n.Name)
			}
		case *ast.BasicLit:
			if n.Kind != token.STRING || imports[n] || speaks {
				break
			}
			if s, err := strconv.Unquote(n.Value); err == nil && serviceTexts.MatchString(s) {
				add(n, n.Value)
			}
		}
		return true
	})
	return found
}

func TestServiceWords(t *testing.T) {
	tests := []struct {
		name, text string
		speaks     bool
		want       int
	}{
		{"its own", "package p\nimport \"strings\"\nfunc Limits() string { return strings.ToUpper(\"fuel\") }", false, 0},
		{"a plan", "package p\nfunc Free() {}", false, 1},
		{"a plan's name", "package p\nconst a = \"the plan allows it\"", false, 1},
		{"a rule of cookies", "package p\nconst maxCookie = 4096", false, 1},
		{"what an answer says", "package p\nconst a = \"a cookie is short\"", false, 1},
		{"a header", "package p\nconst a = \"header:\"", false, 1},
		{"a hint", "package p\nconst a = \"write a cookie\"", true, 0},
		{"an address", "package p\nimport _ \"net/netip\"", false, 1},
	}
	for _, test := range tests {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, "", test.text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := serviceWords(files, f, test.speaks); len(got) != test.want {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}
