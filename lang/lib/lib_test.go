package lib

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCases runs testdata/*.txt: lines of «expression => what EMIT prints», an
// error as «!code: message».
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	tested := map[string]bool{}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		for n := 1; lines.Scan(); n++ {
			line := lines.Text()
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			expr, want, ok := strings.Cut(line, " => ")
			if !ok {
				t.Fatalf("%s:%d: no => in %q", name, n, line)
			}
			if got := evaluate(newCall(), expr); got != want {
				t.Errorf("%s:%d: %s\n got %s\nwant %s", name, n, expr, got, want)
			}
			for i := range Len() {
				if strings.Contains(expr, At(i).Name+"(") {
					tested[At(i).Name] = true
				}
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range Len() {
		if b := At(i); !b.Host && !tested[b.Name] {
			t.Errorf("%s has no case", b.Name)
		}
	}
}

// TestExamples runs the examples of the reference.
func TestExamples(t *testing.T) {
	for _, b := range Reference() {
		if b.Host {
			if b.Result != "" {
				t.Errorf("%s: what the host answers has no fixed result", b.Name)
			}
			continue
		}
		if got := evaluate(newCall(), b.Example); got != b.Result {
			t.Errorf("%s: %s\n got %s\nwant %s", b.Name, b.Example, got, b.Result)
		}
	}
}

// TestTable checks that every row is complete.
func TestTable(t *testing.T) {
	groups := []string{"Text", "Patterns", "Numbers", "Lists", "Maps", "Kinds", "Formats", "Hashing", "Time"}
	seen := map[string]bool{}
	for i := range Len() {
		b := At(i)
		if seen[b.Name] {
			t.Errorf("%s stands in the table twice", b.Name)
		}
		seen[b.Name] = true
		if b.Name != strings.ToUpper(b.Name) {
			t.Errorf("%s is not in capitals", b.Name)
		}
		if b.Min < 0 || b.Max >= 0 && b.Max < b.Min {
			t.Errorf("%s takes %d to %d arguments", b.Name, b.Min, b.Max)
		}
		switch loopOnly := b.Loop == LoopMap || b.Loop == LoopFilter || b.Loop == LoopReduce; {
		case (b.Host || loopOnly) != (b.Fn == nil):
			t.Errorf("%s: a Go function is there just where neither host nor loop is all", b.Name)
		case b.Signature == "" || b.Summary == "" || b.Example == "":
			t.Errorf("%s lacks its line of the reference", b.Name)
		case !b.Host && b.Result == "":
			t.Errorf("%s: the example has no result", b.Name)
		case !strings.HasPrefix(b.Signature, b.Name+"("):
			t.Errorf("%s has the signature %s", b.Name, b.Signature)
		case !strings.HasSuffix(b.Summary, "."):
			t.Errorf("%s: the summary is no sentence: %s", b.Name, b.Summary)
		case strings.ContainsAny(b.Example+b.Result, "\n"):
			t.Errorf("%s: example and result are one line each", b.Name)
		case !slices.Contains(groups, b.Group):
			t.Errorf("%s is in the group %q", b.Name, b.Group)
		}
		if got, ok := Lookup(strings.ToLower(b.Name)); !ok || got != i {
			t.Errorf("Lookup(%s) = %d, %v, want %d", strings.ToLower(b.Name), got, ok, i)
		}
	}
	if _, ok := Lookup("no_such_function"); ok {
		t.Error("Lookup finds a function that is not there")
	}
	order := slices.Compact(slices.Collect(func(yield func(string) bool) {
		for _, b := range Reference() {
			if !yield(b.Group) {
				return
			}
		}
	}))
	if !slices.Equal(order, groups) {
		t.Errorf("the reference goes by %v, want %v", order, groups)
	}
}
