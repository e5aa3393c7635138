package lib

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"ql/lang/value"
)

func match(c *Call, text, pattern string) (value.Value, error) {
	i, _ := Lookup("MATCHES")
	return At(i).Fn(c, []value.Value{value.Text(text), value.Text(pattern)})
}

// TestPatternsAreKept checks that a pattern is compiled once, that a run pays for
// that in full, and that its fuel does not tell whether it just was: a run that is
// repeated on a node with an empty cache has to use the same.
func TestPatternsAreKept(t *testing.T) {
	kept := NewPatterns(100)
	const pattern = `a(b|c)+d`
	run := func(cache *Patterns) (costs [4]int64) {
		c := newCall()
		c.Patterns = cache
		for i := range costs {
			before := c.Meter.Used()
			if _, err := match(c, "x", pattern); err != nil {
				t.Fatal(err)
			}
			costs[i] = c.Meter.Used() - before
			if i == 1 {
				c.ResetPaid()
			}
		}
		return costs
	}
	cold := run(kept)
	if n := len(kept.byText); n != 1 {
		t.Errorf("%d patterns are kept after uses of one", n)
	}
	if warm, none := run(kept), run(nil); cold != warm || cold != none {
		t.Errorf("the uses cost %d at first, %d with the pattern kept, %d without a cache", cold, warm, none)
	}
	if p := kept.get(pattern); cold[0]-cold[1] != int64(p.compileWork) || cold[0] != cold[2] || cold[1] != cold[3] {
		t.Errorf("the uses cost %d, compiling %d", cold, p.compileWork)
	}
}

// TestStatesOfPatterns checks that the states which texts have a pattern make are counted with it, and that
// fuel does not tell whether they were there, nor whether there was room for them.
func TestStatesOfPatterns(t *testing.T) {
	kept := NewPatterns(100)
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for range 20_000 {
		b.WriteByte("abc "[random.IntN(4)])
	}
	all, _ := Lookup("FIND_ALL")
	for _, pattern := range []string{`(a|ab)(c|bc?)*\b`, `([ab]+)[abc]{9}a[abc]*`, `a[abc]{12,13}b`} {
		run := func(cache *Patterns) int64 {
			c := newCall()
			c.Patterns = cache
			before := c.Meter.Used()
			if _, err := At(all).Fn(c, []value.Value{value.Text(b.String()), value.Text(pattern)}); err != nil {
				t.Fatal(err)
			}
			return c.Meter.Used() - before
		}
		cold := run(kept)
		if p := kept.get(pattern); p.held.Load() == 0 || p.held.Load() != int64(p.prog.Held()) {
			t.Errorf("%s: %d bytes are counted of %d", pattern, p.held.Load(), p.prog.Held())
		}
		if warm, none := run(kept), run(nil); cold != warm || cold != none {
			t.Errorf("%s costs %d at first, %d with its states kept, %d without a cache", pattern, cold, warm, none)
		}
	}
	sum := 0
	for _, e := range kept.byText {
		p := e.Value.(*pattern)
		sum += p.weight + int(p.held.Load())
	}
	if sum != kept.weight {
		t.Errorf("the weight is %d, the sum of what is kept %d", kept.weight, sum)
	}
	// A cache with room for less drops the pattern.
	small := NewPatterns(1)
	c := newCall()
	c.Patterns = small
	if _, err := At(all).Fn(c, []value.Value{value.Text(b.String()), value.Text(`a[abc]{12,13}b`)}); err != nil {
		t.Fatal(err)
	}
	if len(small.byText) != 0 || small.weight != 0 {
		t.Errorf("%d bytes are kept in a cache for %d", small.weight, ordinaryWeight)
	}
}

// TestManyPatterns: what a run remembers to have paid for is bounded.
func TestManyPatterns(t *testing.T) {
	c := newCall()
	for i := range 1000 {
		if _, err := match(c, "x", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.paid) > maxPaid {
		t.Errorf("%d patterns are remembered", len(c.paid))
	}
}

// TestPatternsAreBounded checks that the cache keeps to its size, by number and
// by weight, and drops what was not used for longest.
func TestPatternsAreBounded(t *testing.T) {
	c := newCall()
	c.Patterns = NewPatterns(10)
	for i := range 100 {
		if _, err := match(c, "x", fmt.Sprintf("a%d", i)); err != nil {
			t.Fatal(err)
		}
		if _, err := match(c, "x", "always"); err != nil {
			t.Fatal(err)
		}
		if n := len(c.Patterns.byText); n > 10 || n != c.Patterns.order.Len() {
			t.Fatalf("%d patterns are kept", n)
		}
	}
	if c.Patterns.get("always") == nil || c.Patterns.get("a99") == nil || c.Patterns.get("a1") != nil {
		t.Error("the cache does not keep what was used last")
	}
	heavy := strings.Repeat("(?:x{100}){5}", 5)
	if _, err := match(c, "x", heavy); err != nil {
		t.Fatal(err)
	}
	if c.Patterns.weight > 10*ordinaryWeight || len(c.Patterns.byText) > 9 {
		t.Errorf("%d patterns of %d bytes are kept", len(c.Patterns.byText), c.Patterns.weight)
	}
	sum := 0
	for _, e := range c.Patterns.byText {
		p := e.Value.(*pattern)
		sum += p.weight + int(p.held.Load())
	}
	if sum != c.Patterns.weight {
		t.Errorf("the weight is %d, the sum of what is kept %d", c.Patterns.weight, sum)
	}
}

// TestPatternsAtOnce uses one cache from several goroutines.
func TestPatternsAtOnce(t *testing.T) {
	ps := NewPatterns(3)
	all, _ := Lookup("FIND_ALL")
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				c := &Call{Patterns: ps}
				pattern := value.Text(fmt.Sprintf("[%d-9]", (g+i)%5))
				v, err := At(all).Fn(c, []value.Value{value.Text("9 9"), pattern})
				if err != nil || v.List().Len() != 2 {
					t.Errorf("got %v, %v", v, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestPatternBombs checks that patterns which would take long to compile, or
// much memory to match, are refused before that.
func TestPatternBombs(t *testing.T) {
	for _, c := range []struct{ pattern, want string }{
		{strings.Repeat("()", 101), "at most 100 groups"},
		{strings.Repeat("(?:a{1000})", 11), "pattern_cost"},
		{strings.Repeat("(?:(?:a{10}){10}){10}", 20), "pattern_cost"},
		{"(?i)" + strings.Repeat(`[B-\x{10FFFF}]`, 9), "ignores case"},
		{"(?i)" + strings.Repeat(`[B-я]`, 9), "ignores case"},
		{`a(?s-U:b)(?mi:[` + strings.Repeat(`B-\x{1FFFF}`, 9) + `])`, "ignores case"},
		{strings.Repeat("(", 500), "missing closing )"},
		{strings.Repeat("(?:", 90) + "a" + strings.Repeat("){2}", 90), "invalid repeat count"},
	} {
		call := newCall()
		var err error
		l := limited(func() { _, err = match(call, "x", c.pattern) })
		got := ""
		switch {
		case l != nil:
			got = l.Name
		case err != nil:
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%.40q: got %q, want %q", c.pattern, got, c.want)
		}
	}
	// And ordinary ones are not.
	for _, p := range []string{`(?i)\d{4}-\d{2}-\d{2}`, `(?i)[а-я]+-[а-я]+`, `(?i)^[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}$`} {
		if _, err := match(newCall(), "x", p); err != nil {
			t.Errorf("%q: %v", p, err)
		}
	}
}
