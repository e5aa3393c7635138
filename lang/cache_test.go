package lang

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// folder is the files of one account.
type folder map[string]string

func (f folder) options() Options {
	return Options{Include: func(path string) (string, error) {
		text, ok := f[path]
		if !ok {
			return "", errors.New("there is no such file")
		}
		return text, nil
	}}
}

func TestCacheFinds(t *testing.T) {
	c := NewCache(1 << 20)
	first, err := c.Compile(`EMIT 1`, Options{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Compile(`EMIT 1`, Options{})
	if err != nil || again != first {
		t.Errorf("the same text was compiled again: %v", err)
	}
	other, err := c.Compile(`EMIT 2`, Options{})
	if err != nil || other == first {
		t.Errorf("another text gave the same program: %v", err)
	}
	if c.Len() != 2 {
		t.Errorf("there are %d programs", c.Len())
	}
}

func TestCacheKeepsNoErrors(t *testing.T) {
	c := NewCache(1 << 20)
	for range 2 {
		if _, err := c.Compile(`EMIT ?x`, Options{}); err == nil {
			t.Error("a script with an error was compiled")
		}
	}
	if c.Len() != 0 || len(c.includes) != 0 {
		t.Errorf("there are %d programs", c.Len())
	}
}

// TestCacheIncludes checks that a program is found only by whoever includes the
// same texts.
func TestCacheIncludes(t *testing.T) {
	const script = `INCLUDE "/a.ql" EMIT f()`
	ada := folder{"/a.ql": `INCLUDE "/b.ql" DEFINE f() RETURN g() END`, "/b.ql": `DEFINE g() RETURN "ada" END`}
	bob := folder{"/a.ql": `DEFINE f() RETURN "bob" END`}
	cy := folder{"/a.ql": ada["/a.ql"], "/b.ql": ada["/b.ql"]}
	c := NewCache(1 << 20)
	compile := func(f folder) any {
		t.Helper()
		p, err := c.Compile(script, f.options())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := compile(ada)
	if compile(ada) != first {
		t.Error("the same files were compiled again")
	}
	if compile(bob) == first {
		t.Error("one account got the program of another's files")
	}
	if compile(ada) != first {
		t.Error("the program was lost to another account's")
	}
	if compile(cy) != first {
		t.Error("equal files of another account were compiled again")
	}
	ada["/b.ql"] = `DEFINE g() RETURN "changed" END`
	if compile(ada) == first {
		t.Error("a changed file was not seen")
	}
	delete(ada, "/b.ql")
	if _, err := c.Compile(script, ada.options()); err == nil {
		t.Error("a file that is gone was not missed")
	}
	if _, err := c.Compile(script, Options{}); err == nil {
		t.Error("files were included where there are none")
	}
}

func TestCacheBound(t *testing.T) {
	script := func(i int) string { return fmt.Sprintf("EMIT %d", i) }
	one := NewCache(1 << 20)
	if _, err := one.Compile(script(0), Options{}); err != nil {
		t.Fatal(err)
	}
	size := one.bytes
	c := NewCache(size*10 + size/2)
	for i := range 100 {
		if _, err := c.Compile(script(i), Options{}); err != nil {
			t.Fatal(err)
		}
		if c.bytes > c.max {
			t.Fatalf("the cache holds %d bytes of %d", c.bytes, c.max)
		}
		// The first one is used all the time and stays.
		if _, err := c.Compile(script(0), Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.Len(); n < 8 || n > 10 {
		t.Errorf("there are %d programs", n)
	}
	if len(c.includes) != c.Len() || c.order.Len() != c.Len() {
		t.Errorf("there are %d programs, %d in order, and %d texts", c.Len(), c.order.Len(), len(c.includes))
	}
	held := func(text string) bool {
		p, err := Compile(text, Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, ok := c.programs[p.Hash]
		return ok
	}
	if !held(script(0)) || !held(script(99)) || held(script(50)) {
		t.Error("it is not the longest unused that went")
	}
}

func TestCacheKeepsNothingTooLarge(t *testing.T) {
	c := NewCache(5000)
	if _, err := c.Compile(`EMIT 1`, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Compile("EMIT '"+strings.Repeat("x", 10_000)+"'", Options{}); err != nil {
		t.Fatal(err)
	}
	if c.Len() != 1 {
		t.Errorf("there are %d programs", c.Len())
	}
}

func TestCacheConcurrently(t *testing.T) {
	c := NewCache(20_000)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			f := folder{"/a.ql": fmt.Sprintf("DEFINE f() RETURN %d END", i%3)}
			for j := range 200 {
				p, err := c.Compile(fmt.Sprintf(`INCLUDE "/a.ql" EMIT f(), %d`, j%17), f.options())
				if err != nil || len(p.Funcs) != 2 {
					t.Errorf("%v", err)
				}
			}
		})
	}
	wg.Wait()
	if c.bytes > c.max {
		t.Errorf("the cache holds %d bytes of %d", c.bytes, c.max)
	}
}

func TestCompileIncludes(t *testing.T) {
	many := folder{}
	script := ""
	for i := range maxIncludes + 1 {
		path := fmt.Sprintf("/%d.ql", i)
		many[path] = ""
		script += fmt.Sprintf("INCLUDE %q\n", path)
	}
	tests := []struct {
		script string
		files  Options
		want   string
	}{
		{script, many.options(), "101:1: a script includes at most 100 files"},
		{`INCLUDE "/a.ql"`, Options{}, "1:1: there are no files to INCLUDE from here"},
		{`INCLUDE "/a.ql"`, folder{}.options(), "1:9: cannot include /a.ql: there is no such file"},
		{`INCLUDE "/a.ql"`, folder{"/a.ql": "DEFINE f() RETURN ?x END"}.options(), "/a.ql:1:19: ?x is never set in f: SET ?x AS … sets it"},
	}
	for _, test := range tests {
		if _, err := Compile(test.script, test.files); err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
		if errs := Check(test.script, test.files); len(errs) != 1 || errs[0].Error() != test.want {
			t.Errorf("Check gives %v, want %s", errs, test.want)
		}
	}
	if errs := Check("EMIT 1", Options{}); errs != nil {
		t.Errorf("Check gives %v for a good script", errs)
	}
}

// TestIdentity checks what tells programs apart.
func TestIdentity(t *testing.T) {
	hash := func(script string, f folder) [32]byte {
		p, err := Compile(script, f.options())
		if err != nil {
			t.Fatal(err)
		}
		return p.Hash
	}
	const two = `INCLUDE "/a.ql" INCLUDE "/b.ql"`
	base := hash(two, folder{"/a.ql": "DEFINE f() END", "/b.ql": "DEFINE g() END"})
	if base != hash(two, folder{"/a.ql": "DEFINE f() END", "/b.ql": "DEFINE g() END", "/c.ql": "x"}) {
		t.Error("the same script has another identity")
	}
	others := map[string][32]byte{
		"the text":          hash(two+" ", folder{"/a.ql": "DEFINE f() END", "/b.ql": "DEFINE g() END"}),
		"an include's text": hash(two, folder{"/a.ql": "DEFINE f() END", "/b.ql": "DEFINE g() END "}),
		"files exchanged":   hash(two, folder{"/b.ql": "DEFINE f() END", "/a.ql": "DEFINE g() END"}),
		"an include's path": hash(`INCLUDE "/a.ql" INCLUDE "/c.ql"`, folder{"/a.ql": "DEFINE f() END", "/c.ql": "DEFINE g() END"}),
	}
	for what, h := range others {
		if h == base {
			t.Errorf("%s makes no difference", what)
		}
	}
}
