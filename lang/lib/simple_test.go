package lib

import (
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
)

// simpleOf returns the simple form of a pattern, nil where it has none, and that of the regexp package.
func simpleOf(t *testing.T, text string) (*simple, *regexp.Regexp) {
	t.Helper()
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return newSimple(tree), regexp.MustCompile(text)
}

func TestWhichPatternsAreSimple(t *testing.T) {
	for _, text := range []string{
		`[0-9]+`, `\s+`, `[,;]\s*`, `abc`, ``, `^(\S+) (\S+) ([A-Z]+) (/\S*) ([0-9]+)$`, `(\d+)-(\d+)-(\d+)`, `é+x?`, `a{2,4}b`, `.*\n`, `()a`,
	} {
		if p, _ := simpleOf(t, text); p == nil {
			t.Errorf("%s is not simple", text)
		}
	}
	for _, text := range []string{
		`a|bc`, `a*ab`, `[0-9]*7`, `a+?`, `(ab)+`, `\bx`, `(?m)^a`, `(?i)a`, `.*x`, `a?a`, `[a-c]*d?[c-e]`,
	} {
		if p, _ := simpleOf(t, text); p != nil {
			t.Errorf("%s is simple", text)
		}
	}
}

// TestSimplePatterns compares simple patterns with the regexp package, on texts of the characters they are about.
func TestSimplePatterns(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	atoms := []string{"a", "b", "c", "[ab]", "[^a]", "é", "[é-ü]", ".", `\d`, `\s`, "7", "(?s:.)", `\x{1F600}`}
	repeats := []string{"", "", "", "*", "+", "?", "{2}", "{1,3}", "{2,}"}
	letters := []string{"a", "b", "c", "é", "ü", "7", " ", "\n", "😀", "\xff", "x"}
	many, found := 0, 0
	for range 20_000 {
		var b strings.Builder
		if r.IntN(6) == 0 {
			b.WriteString("^")
		}
		for range r.IntN(5) {
			atom := atoms[r.IntN(len(atoms))] + repeats[r.IntN(len(repeats))]
			if r.IntN(4) == 0 {
				atom = "(" + atom + ")"
			}
			b.WriteString(atom)
		}
		if r.IntN(6) == 0 {
			b.WriteString("$")
		}
		p, re := simpleOf(t, b.String())
		if p == nil {
			continue
		}
		many++
		var text strings.Builder
		for range r.IntN(12) {
			text.WriteString(letters[r.IntN(len(letters))])
		}
		s := text.String()
		at, _, ok := p.find(s, 0, 1<<20, make([]int, 2*p.groups+2))
		want := re.FindStringSubmatchIndex(s)
		if !ok || !slices.Equal(at, want) {
			t.Fatalf("%q in %q: %v, want %v", re, s, at, want)
		}
		if want != nil {
			found++
		}
		// All matches, as scripts find them one after the other.
		var all [][]int
		in := input{Call: new(Call)}
		whole := in.compile(re.String())
		for at := range in.matches(whole, s) {
			all = append(all, slices.Clone(at))
		}
		if wants := re.FindAllStringSubmatchIndex(s, -1); !slices.EqualFunc(all, wants, slices.Equal) {
			t.Fatalf("all %q in %q: %v, want %v", re, s, all, wants)
		}
	}
	if many < 3000 || found < 1000 {
		t.Errorf("%d patterns were simple, %d found something: too few to tell anything", many, found)
	}
}

// TestSimplePatternsAreGivenUp checks that one that reads the same again and again is left to the regexp package.
func TestSimplePatternsAreGivenUp(t *testing.T) {
	p, _ := simpleOf(t, "a+b")
	s := strings.Repeat("a", 100_000)
	_, read, ok := p.find(s, 0, len(s)+simpleBudget, make([]int, 2))
	if ok || read > 3*len(s) {
		t.Errorf("%d characters read, given up %t", read, !ok)
	}
	s = strings.Repeat("x", 100_000)
	if _, read, ok := p.find(s, 0, 5000, make([]int, 2)); ok || read > 5000 {
		t.Errorf("%d characters read, given up %t", read, !ok)
	}
}

// TestRuns compares runs of characters of one class, which are found in one loop, with the regexp package: also those
// that begin or end where the text is charged for.
func TestRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	letters := []string{"a", "b", "é", "ü", "7", " ", "😀", "\xff"}
	for _, text := range []string{`[0-9]+`, `[^a]+`, `[é-ü]+`, `\s+`, `.+`, `[aé]+`, `(?s:.)+`, `[[:^ascii:]]+`, `[a\x{FFFD}]+`} {
		p, re := simpleOf(t, text)
		if p == nil || !p.run {
			t.Fatalf("%s is no run", text)
		}
		in := input{Call: newCall()}
		whole := in.compile(text)
		for i := range 300 {
			var b strings.Builder
			for range r.IntN(12) {
				b.WriteString(letters[r.IntN(len(letters))])
			}
			if i%20 == 0 {
				b.WriteString(strings.Repeat(letters[r.IntN(len(letters))], part-r.IntN(3)))
				b.WriteString("é7a")
			}
			s := b.String()
			var all [][]int
			before := in.Meter.Used()
			for at := range in.matches(whole, s) {
				all = append(all, slices.Clone(at))
			}
			if want := re.FindAllStringIndex(s, -1); !slices.EqualFunc(all, want, slices.Equal) {
				t.Fatalf("all %q in %.40q: %v, want %v", re, s, all, want)
			}
			if used, least := in.Meter.Used()-before, len(all)*whole.searchWork()+len(s)/(2*readsPerWork)-1; used < int64(least) {
				t.Fatalf("all %q in %.40q: %d charged, want %d", re, s, used, least)
			}
		}
	}
	for _, text := range []string{`^a+`, `a*`, `a{2,}`, `(a)+`, `a+$`, `a+b`, `(a+)`} {
		if p, _ := simpleOf(t, text); p != nil && p.run {
			t.Errorf("%s is a run", text)
		}
	}
}
