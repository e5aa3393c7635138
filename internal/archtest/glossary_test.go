package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestGlossary looks for words in exported names that the glossary says are not used.
func TestGlossary(t *testing.T) {
	notUsed := readGlossary(t)
	for _, p := range loadTree(t) {
		for _, f := range p.files {
			if f.test {
				continue
			}
			file := filepath.Join(root, p.path, f.name)
			for _, name := range exportedNames(t, file) {
				for _, word := range wordsOf(name) {
					if instead, ok := notUsed[word]; ok {
						t.Errorf("%s: %s says %q where the glossary says %q", filepath.ToSlash(filepath.Join(p.path, f.name)), name, word, instead)
					}
				}
			}
		}
	}
}

// readGlossary returns the words that are not used, each with the one that is.
func readGlossary(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	notUsed := map[string]string{}
	var words []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], "-") || strings.TrimSpace(cells[1]) == "Word" {
			continue
		}
		word := strings.TrimSpace(cells[1])
		words = append(words, word)
		for not := range strings.SplitSeq(cells[3], ",") {
			if not = strings.TrimSpace(not); not != "" {
				notUsed[not] = word
			}
		}
	}
	if len(words) < 40 || !slices.IsSorted(words) {
		t.Fatalf("the glossary has %d words, sorted: %t; it must have at least forty, in their order", len(words), slices.IsSorted(words))
	}
	for _, word := range words {
		if instead, ok := notUsed[word]; ok {
			t.Errorf("the glossary uses %q and says to use %q instead", word, instead)
		}
	}
	return notUsed
}

// exportedNames returns the names that a file gives to others: of its top level, of
// methods, and of the fields and methods of exported types.
func exportedNames(t *testing.T, file string) []string {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	add := func(list ...*ast.Ident) {
		for _, n := range list {
			if n.IsExported() {
				names = append(names, n.Name)
			}
		}
	}
	members := func(expr ast.Expr) {
		var fields *ast.FieldList
		switch x := expr.(type) {
		case *ast.StructType:
			fields = x.Fields
		case *ast.InterfaceType:
			fields = x.Methods
		default:
			return
		}
		for _, f := range fields.List {
			add(f.Names...)
		}
	}
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(d.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Name)
					if s.Name.IsExported() {
						members(s.Type)
					}
				case *ast.ValueSpec:
					add(s.Names...)
				}
			}
		}
	}
	return names
}

// wordsOf takes a name apart: ErrNoRoom is err, no, room.
func wordsOf(name string) []string {
	var words []string
	runes := []rune(name)
	from := 0
	for i := 1; i <= len(runes); i++ {
		if i < len(runes) && (!unicode.IsUpper(runes[i]) || unicode.IsUpper(runes[i-1]) && (i+1 == len(runes) || unicode.IsUpper(runes[i+1]))) {
			continue
		}
		words = append(words, strings.ToLower(string(runes[from:i])))
		from = i
	}
	return words
}

func TestWordsOf(t *testing.T) {
	for name, want := range map[string]string{
		"ErrNoRoom": "[err no room]", "ID": "[id]", "HTTPServer": "[http server]", "ParseURL": "[parse url]", "Take": "[take]", "Mistake": "[mistake]",
	} {
		if got := fmt.Sprint(wordsOf(name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// manyMethods is how many an interface may have without a reason; two may have more,
// whose comment says why.
const manyMethods = 12

// TestInterfaces checks that contracts are cut by who calls them.
func TestInterfaces(t *testing.T) {
	var large []string
	for _, p := range loadTree(t) {
		for _, f := range p.files {
			if f.test {
				continue
			}
			file := filepath.Join(root, p.path, f.name)
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				if s, ok := n.(*ast.TypeSpec); ok {
					if i, ok := s.Type.(*ast.InterfaceType); ok && i.Methods.NumFields() > manyMethods {
						large = append(large, fmt.Sprintf("%s.%s has %d methods", p.path, s.Name.Name, i.Methods.NumFields()))
					}
				}
				return true
			})
		}
	}
	if len(large) > 2 {
		t.Errorf("at most two interfaces may have more than %d methods:\n%s", manyMethods, strings.Join(large, "\n"))
	}
}
