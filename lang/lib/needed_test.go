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
	needy, nearer, found := 0, 0, 0
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
		if p.before != nil {
			nearer++
			fuel := fuelOfAll(p, s)
			p.before = nil
			if want := fuelOfAll(p, s); fuel != want {
				t.Fatalf("all %q in %q took %d units of fuel, want %d", b.String(), s, fuel, want)
			}
		}
	}
	if needy < 3000 || found < 3000 || nearer < 1000 {
		t.Errorf("%d patterns needed a text, %d with a bound before it, and matched %d times: too few to tell anything", needy, nearer, found)
	}
}

// fuelOfAll returns what finding all matches takes.
func fuelOfAll(p *pattern, s string) int64 {
	c := newCall()
	for range c.matches(p, s) {
	}
	return c.Meter.Used()
}

func TestWhatStandsBeforeWhatIsNeeded(t *testing.T) {
	for pattern, want := range map[string]string{
		`\b([\w.+-]+)@(\w+\.)+(org|com)\b`: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-",
		`(?:https?|ftp)://(\S+)`:           "htpsf",
		`(?i:[ab]c|k)(?:[xy]//)+`:          "abcABCkKxy",
		`[ab]?(?:é|x)*--`:                  "abéx",
		`(?:\d|--x)+?!!!`:                  "0123456789-x",
		`[^a]*--`:                          "", // nearly anything
	} {
		in := input{Call: new(Call)}
		p := in.compile(pattern)
		if p.before == nil {
			t.Errorf("%s: anything may stand before %q", pattern, p.needs)
			continue
		}
		for c := range p.before {
			is := strings.IndexByte(want, byte(c)) >= 0 || c >= 0x80 && strings.ContainsAny(want, "é") || strings.Contains(pattern, "k") && c >= 0x80
			if want == "" {
				is = c != 'a'
			}
			if p.before[c] != is {
				t.Errorf("%s: byte %#x before %q is %t", pattern, c, p.needs, p.before[c])
			}
		}
	}
	in := input{Call: new(Call)}
	for _, pattern := range []string{`(?s).x--`, `a|b`, `abc`} {
		if p := in.compile(pattern); p.before != nil {
			t.Errorf("%s: what stands before %q is not anything", pattern, p.needs)
		}
	}
}
