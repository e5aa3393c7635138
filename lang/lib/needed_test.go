package lib

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestWhatMatchesNeed(t *testing.T) {
	for pattern, want := range map[string]string{
		`\b(\w+)@(\w+\.)+(org|com)\b`: "@",
		`(?:https?|ftp)://(\S+)`:      "://",
		`[ab](xy){2,}c`:               "xy",
		`a|b`:                         "",
		`[ab](xy)*`:                   "",
		`[ab](xy)?z`:                  "z",
		`(?i)[ab]error`:               "",
		"[ab]\uFFFD":                  "",
		`abc`:                         "", // the start of each
		`^[ab]c`:                      "", // tried at one place
	} {
		in := input{Call: new(Call)}
		if p := in.compile(pattern); p.needs != want {
			t.Errorf("%s needs %q, want %q", pattern, p.needs, want)
		}
	}
}

// TestPatternsWithNeeds compares all matches of patterns that need a text with those of the regexp package.
func TestPatternsWithNeeds(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	parts := []string{`a`, `b+`, `@`, `(x|y)`, `\b`, `[ab]*`, `(?:@b)+`, `(a@)?`, `(@|b)`, `(?i)@A`, `.`, `(?:b@){2,3}`, `\.`}
	letters := []string{"a", "a", "b", "b", "@", "@", "x", ".", "A", "é"}
	needy, found := 0, 0
	for range 20_000 {
		var b, text strings.Builder
		for range 1 + r.IntN(4) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		for range r.IntN(40) {
			text.WriteString(letters[r.IntN(len(letters))])
		}
		s := text.String()
		in := input{Call: new(Call)}
		p := in.compile(b.String())
		if in.err != nil || p.needs == "" {
			continue
		}
		needy++
		var all [][]int
		for at := range in.matches(p, s) {
			all = append(all, slices.Clone(at))
		}
		want := regexp.MustCompile(b.String()).FindAllStringSubmatchIndex(s, -1)
		if !slices.EqualFunc(all, want, slices.Equal) {
			t.Fatalf("all %q in %q: %v, want %v", b.String(), s, all, want)
		}
		if in.search(p, s, false) != nil != (want != nil) {
			t.Fatalf("%q in %q is told to match %t", b.String(), s, want == nil)
		}
		found += len(want)
	}
	if needy < 3000 || found < 3000 {
		t.Errorf("%d patterns needed a text and matched %d times: too few to tell anything", needy, found)
	}
}
