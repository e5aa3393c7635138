package regex

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// free lets a search read as much as it likes, and counts.
type free struct{ read int }

func (f *free) Read(n int) { f.read += n }

func compile(t testing.TB, text string) *Program {
	t.Helper()
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	p, err := New(tree.Simplify())
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

// all returns all matches, as the regexp package has them.
func all(p *Program, s string) (found [][]int) {
	pos, end := 0, -1
	for pos <= len(s) {
		at := p.Find(s, pos, nil, &free{})
		if at == nil {
			break
		}
		if at[0] != at[1] || at[0] != end {
			found = append(found, at)
		}
		end = at[1]
		if end > pos {
			pos = end
		} else {
			_, n := utf8.DecodeRuneInString(s[pos:])
			pos += max(n, 1)
		}
	}
	return found
}

// compare checks a pattern on a text against the regexp package.
func compare(t *testing.T, p *Program, re *regexp.Regexp, s string) (found bool) {
	t.Helper()
	want := re.FindStringSubmatchIndex(s)
	if got := p.Find(s, 0, nil, &free{}); !slices.Equal(got, want) {
		t.Fatalf("%q in %q: %v, want %v", re, s, got, want)
	}
	if want != nil && !strings.HasPrefix(s[want[0]:], p.Prefix()) {
		t.Fatalf("%q in %q: does not start with %q", re, s, p.Prefix())
	}
	if got := p.Match(s, 0, &free{}); got != (want != nil) {
		t.Fatalf("%q in %q: match %t", re, s, got)
	}
	if got, want := all(p, s), re.FindAllStringSubmatchIndex(s, -1); !slices.EqualFunc(got, want, slices.Equal) {
		t.Fatalf("all %q in %q: %v, want %v", re, s, got, want)
	}
	// Groups by the way that is taken where the short one is not.
	if want != nil {
		at := make([]int, len(want))
		for i := range at {
			at[i] = -1
		}
		p.allWays(s, want[0], want[1], at)
		at[0], at[1] = want[0], want[1]
		if !slices.Equal(at, want) {
			t.Fatalf("%q in %q: all ways lead to %v, want %v", re, s, at, want)
		}
	}
	return want != nil
}

var patterns = []string{
	``, `a`, `a*`, `a+?`, `^`, `$`, `\b`, `\B`, `(?m)^`, `(?m)$`, `(?m)^$`, `\A`, `\z`, `(a|ab)(c|bcd)(d*)`, `(a|b)*`, `(a*)*`, `(a*)+`, `(a?)*?b`,
	`(|a)*`, `(|a)+`, `(a|)+`, `((a)|b)*`, `(?:(a)|(b))+`, `(?i)Ä`, `(?i)k`, `(?i)[k-s]+ſ`, `x?`, `(?s).`, `.`, `.*`, `.*?b`, `(.*)(.+)`, `(.*?)(\d+)`, `[^a]`, `[^\n]*\n`,
	`\bx\b`, `\w+\b`, `(?:^|,)x`, `^a|b$`, `(?m)^a.*$`, `a{2,3}`, `(a{2}){2}`, `(?U)a+b*`, `\pL+`, `\PL`, `[é-ü]+`, `\x{FFFD}`, `\x{FFFD}+a`, `😀|é`, `item/[0-9]*7\?page=[0-4]&`,
	`(\w+)@(\w+)\.com`, `(?P<y>\d{4})-(?P<m>\d\d)`, `"(?:[^"\\]|\\.)*"`, `a.?c`, `foo|foobar|fo`, `(foo|foobar)(bar)?`, `[a-c]*d?[c-e]`, `(?i)error|warn(?:ing)?`, `[[:^ascii:]]`, `a\z|b\b`, `(^|x)a`, `$^`, `\b|a`, `(\b)a*`,
	`(?:a*){3}`, `((a*)b)*c`, `[^\x00-\x{10FFFF}]`, `a[^\x00-\x{10FFFF}]|b`, `\C?`, `(((((a)))))`,
}

var letters = []string{"a", "b", "c", "d", "é", "ü", "Ä", "ä", "7", "4", " ", "\n", "😀", "\xff", "\xe2\x82", "x", "k", "K", "ſ", "_", "@", ",", "\"", "\\", "�", "foo", "bar", "error", "-", "/"}

func someText(r *rand.Rand, most int) string {
	var b strings.Builder
	few := letters[r.IntN(len(letters)-4):][:4]
	for range r.IntN(most) {
		if r.IntN(3) == 0 {
			b.WriteString(few[r.IntN(len(few))])
		} else {
			b.WriteString(letters[r.IntN(len(letters))])
		}
	}
	return b.String()
}

// TestKnownPatterns compares patterns of all kinds with the regexp package.
func TestKnownPatterns(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, text := range patterns {
		if text == `\C?` {
			continue // not known to the package either
		}
		p, re := compile(t, text), regexp.MustCompile(text)
		for range 150 {
			compare(t, p, re, someText(r, 16))
		}
	}
}

// TestManyPatterns does so with patterns put together by chance.
func TestManyPatterns(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	atoms := []string{"a", "b", "c", "[ab]", "[^a]", "é", "[é-ü]", ".", `\d`, `\w`, `\s`, "7", "(?s:.)", "(?i:k)", "(?i:ä)", `\b`, `\B`, "^", "$", "(?m:^)", "(?m:$)", "😀", `\x{FFFD}`, "", "foo", `\pL`}
	repeats := []string{"", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{2,}", "{0,2}?"}
	var make func(depth int) string
	make = func(depth int) string {
		var b strings.Builder
		for range 1 + r.IntN(3) {
			atom := atoms[r.IntN(len(atoms))]
			if depth > 0 && r.IntN(3) == 0 {
				atom = make(depth - 1)
				if r.IntN(2) == 0 {
					atom += "|" + make(depth-1)
				}
				atom = []string{"(", "(?:"}[r.IntN(2)] + atom + ")"
			} else if atom == "" || len(atom) > 1 {
				atom = "(?:" + atom + ")"
			}
			b.WriteString(atom + repeats[r.IntN(len(repeats))])
		}
		return b.String()
	}
	found, tries := 0, 0
	for range 4000 {
		text := make(2)
		re, err := regexp.Compile(text)
		if err != nil {
			continue
		}
		p := compile(t, text)
		for range 6 {
			tries++
			if compare(t, p, re, someText(r, 14)) {
				found++
			}
		}
	}
	if found < tries/4 || tries < 10_000 {
		t.Errorf("%d of %d found something: too few to tell anything", found, tries)
	}
}

// TestFullOfStates checks that a text that needs more states than fit is searched all the same, and
// that they are bounded.
func TestFullOfStates(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var b strings.Builder
	for range 30_000 {
		b.WriteByte("ab"[r.IntN(2)])
	}
	text := b.String()
	for _, pattern := range []string{`a[ab]{13}c`, `(a)([ab]{13})c`, `[ab]*a[ab]{11}$`, `(([ab]*)a([ab]{11}))$`, `(?:(a)|(b))*?a[ab]{12}c|x`} {
		p, re := compile(t, pattern), regexp.MustCompile(pattern)
		for _, s := range []string{text, text + "c", text[:20_000] + "c" + text[20_000:], text + "x"} {
			want := re.FindStringSubmatchIndex(s)
			by := free{}
			if got := p.Find(s, 0, nil, &by); !slices.Equal(got, want) {
				t.Errorf("%q: %v, want %v", pattern, got, want)
			}
			if by.read > 2*len(s)+1 {
				t.Errorf("%q: %d bytes read of %d", pattern, by.read, len(s))
			}
			if held, most := p.Held(), 2*maxBytes+p.forward.fixed()+p.backward.fixed(); held > most {
				t.Errorf("%q holds %d bytes, at most %d", pattern, held, most)
			}
		}
	}
}

// TestWaysOfManyStates checks groups where there are far more ways than are kept, through more states than there are places
// for them, and by turns in the same states with other things before the place.
func TestWaysOfManyStates(t *testing.T) {
	r, most := rand.New(rand.NewPCG(11, 12)), 0
	for _, pattern := range []string{
		`(?:(a)|(b)|(c)(d)?)*?(?:(a)[abcd]{9}|(b)[abcd]{10}|([cd]))\.`,
		`((?:(a)|(b)){10})(a)((?:(a)|(b)|([cd]))*)x`,
		`(?:\b(a)|\B(a)|(b)\b|(b)|(-))+x`,
		strings.Repeat(`(?:(a)|(b))`, 40) + `[ab]*x`,
		strings.Repeat(`(?:((((a))))|((((b)))))`, 12) + `((((([ab]*)))))x`,
		strings.Repeat(`(?:(a|ab)(b?)|(?:(b)|(-))\b)`, 8) + `(?:[ab-]*(x|\.))`,
	} {
		p, re := compile(t, pattern), regexp.MustCompile(pattern)
		states, found := 0, 0
		for range 300 {
			var b strings.Builder
			some := "abcd-."[:2+r.IntN(2)*r.IntN(5)]
			for range 40 + r.IntN(200) {
				b.WriteByte(some[r.IntN(len(some))])
			}
			b.WriteString([]string{"x", ".", "a."}[r.IntN(3)])
			s := b.String()
			want := re.FindStringSubmatchIndex(s)
			if got := p.Find(s, 0, nil, &free{}); !slices.Equal(got, want) {
				t.Fatalf("%q in %q: %v, want %v", pattern, s, got, want)
			}
			if want != nil {
				found++
			}
			if st := p.backward.states.Load(); st != nil {
				states = max(states, len(st.lists))
			}
		}
		most = max(most, states)
		if found < 20 {
			t.Errorf("%q is found in %d texts: too few to tell anything", pattern, found)
		}
	}
	if most < 1<<wayBits {
		t.Errorf("%d states at most: too few for that many ways", most)
	}
}

// TestWaysAreToldApart checks that a way is found by all of its key, and that what is kept is bounded.
func TestWaysAreToldApart(t *testing.T) {
	var w ways
	r := rand.New(rand.NewPCG(13, 14))
	type key struct {
		pc, state uint32
		before    kind
	}
	type target struct {
		to    uint32
		plain bool
		slots []uint16
	}
	kept := map[key]target{}
	for range 20_000 {
		k := key{1 + uint32(r.IntN(maxInsts-1)), uint32(r.IntN(wayStates)), kind(r.IntN(int(kinds)))}
		if r.IntN(2) == 0 {
			k.pc, k.state = 1+k.pc%7, k.state%5<<10
		}
		to := target{uint32(r.IntN(maxInsts)), r.IntN(2) == 0, nil}
		for range r.IntN(wayMost + 3) {
			to.slots = append(to.slots, uint16(r.IntN(3)))
		}
		w.keep(wayKey(k.pc, k.state, k.before), to.to, to.plain, to.slots)
		kept[k] = to
		if found, slots, ok := w.find(wayKey(k.pc, k.state, k.before)); ok && found.to() == to.to && !slices.Equal(slots, to.slots) {
			t.Fatalf("%v leads to %d by %v, not %v", k, to.to, slots, to.slots)
		}
	}
	there := 0
	for k, to := range kept {
		found, slots, ok := w.find(wayKey(k.pc, k.state, k.before))
		if !ok {
			continue
		}
		there++
		if found.to() != to.to || found.plain() != to.plain || !slices.Equal(slots, to.slots) {
			// An older way of the same key, since there was no room for the list of the last one.
			if len(to.slots) <= wayMost && len(*w.slots.Load()) < waySlots {
				t.Fatalf("%v leads to %d by %v, want %v", k, found.to(), slots, to)
			}
		}
	}
	if there < len(w.known)/2 || there > len(w.known) || len(*w.slots.Load()) > waySlots {
		t.Errorf("%d ways and %d lists are kept", there, len(*w.slots.Load()))
	}
	if w.keep(wayKey(1, wayStates, 0), 2, true, nil); wayKey(1, wayStates, 0) != 0 {
		t.Error("a state beyond the numbers of ways has one")
	}
	if _, _, ok := w.find(wayKey(1, wayStates, 0)); ok {
		t.Error("a way without a key is found")
	}
}

// TestSkips checks that what is skipped before a match depends on what stands before, and that it is skipped at all.
func TestSkips(t *testing.T) {
	skipped := func(p *Program, s string) int { return p.skipFrom(s, 0, len(s)) }
	for _, c := range []struct {
		pattern, text string
		want          int
	}{
		{`\b(?:fatal|error)\b`, "if be, _fo xe then error", 19},
		{`\Bfoo`, "foo fog xfoo", 9},
		{`(?m)^a`, "bab\nba\nab", 7},
		{`[ab]c`, "xyzé", 5},
		{`\b[ab]c`, "é xa ba", 6},
		{`\bé?x`, "abé", 2},
		{`a*`, "xya", 0},
		{`a*$`, "xya", 0},
		{`\ba*`, "xya", 0},
	} {
		if got := skipped(compile(t, c.pattern), c.text); got != c.want {
			t.Errorf("%q in %q: %d bytes are skipped, want %d", c.pattern, c.text, got, c.want)
		}
	}
}

// TestLongMatches checks groups of matches that are too long to be noted.
func TestLongMatches(t *testing.T) {
	s := "x" + strings.Repeat("ab", maxTrace) + "c"
	for _, pattern := range []string{`(?:(a)|(b))+(c)`, `((?:ab)*)(c)`, `(.*)(b)(c?)`} {
		want := regexp.MustCompile(pattern).FindStringSubmatchIndex(s)
		if got := compile(t, pattern).Find(s, 0, nil, &free{}); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", pattern, got, want)
		}
	}
}

// TestAtOnce uses one program by many at once, with few of its states made, all of them and more than fit.
func TestAtOnce(t *testing.T) {
	for _, pattern := range []string{`(\w+)@(\w+)`, `a[ab]{9}c`, `([ab]*)a[ab]{9}c`} {
		p, re := compile(t, pattern), regexp.MustCompile(pattern)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(g), 8))
				for range 60 {
					var b strings.Builder
					for range r.IntN(400) {
						b.WriteByte("aaabbbbc@ "[r.IntN(10)])
					}
					s := b.String()
					if got, want := p.Find(s, 0, nil, &free{}), re.FindStringSubmatchIndex(s); !slices.Equal(got, want) {
						t.Errorf("%q in %q: %v, want %v", pattern, s, got, want)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

// TestReadInStretches checks that a Payer hears of a long text while it is read, of all that was read, and of no more.
func TestReadInStretches(t *testing.T) {
	p := compile(t, `a.*\d$`)
	s := strings.Repeat("é", 10_000) + strings.Repeat("ab", 10_000)
	by := stretches{}
	if p.Find(s, 0, nil, &by) != nil {
		t.Fatal("found something")
	}
	if by.sum != len(s) || by.longest > chunk+utf8.UTFMax {
		t.Errorf("%d bytes read, %d at once", by.sum, by.longest)
	}
	// Most of the text lies behind the first match, or none can follow.
	by = stretches{}
	if !p.Match("a7"+s, 0, &by) && by.sum > len(s)+2 {
		t.Errorf("%d bytes read", by.sum)
	}
	by = stretches{}
	if !compile(t, `b+`).Match("ab"+s, 0, &by) || by.sum > 4 {
		t.Errorf("%d bytes read for a match near the start", by.sum)
	}
	by = stretches{}
	if compile(t, `^(?:b|c)`).Match(s, 0, &by) || by.sum > 4 {
		t.Errorf("%d bytes read for a match at the start only", by.sum)
	}
}

type stretches struct{ sum, longest int }

func (s *stretches) Read(n int) {
	s.sum += n
	s.longest = max(s.longest, n)
}

// FuzzFind compares with the regexp package.
func FuzzFind(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, p := range patterns {
		f.Add(p, someText(r, 16))
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if len(pattern) > 100 || len(s) > 300 {
			return
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return
		}
		compare(t, compile(t, pattern), re, s)
	})
}

func BenchmarkFind(b *testing.B) {
	line := "On 2026-11-18 Jo wrote to jo.doe@mail.example.org: GET https://shop.example/item/4317?page=3&q=red 400, due 3.4.2027. Fatal error in part 7, the rest went through."
	for _, pattern := range []string{`item/[0-9]*7\?page=[0-4]&`, `(GET|POST) (\S+?)\?page=(\d+)`, `(?i)error|warn(?:ing)?|page=3`, `\b[45]\d\d\b`, `(\w+)=(\w+)`, `(\d{1,2})\.(\d{1,2})\.(\d{4})`, `(?i)\b(?:fatal|panic)\b`} {
		p, re := compile(b, pattern), regexp.MustCompile(pattern)
		b.Run(fmt.Sprintf("ours %s", pattern), func(b *testing.B) {
			at := make([]int, 16)
			for b.Loop() {
				p.Find(line, 0, at, &free{})
			}
		})
		b.Run(fmt.Sprintf("theirs %s", pattern), func(b *testing.B) {
			for b.Loop() {
				re.FindStringSubmatchIndex(line)
			}
		})
	}
}
