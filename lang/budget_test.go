package lang

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// shapes are texts that cost much to compile for their length.
var shapes = map[string]func(n int) string{
	"numbers":    func(n int) string { return "SET ?a AS [" + strings.Repeat("1,", n/2) + "1]" },
	"variables":  func(n int) string { return "SET ?b AS 1 SET ?a AS [" + strings.Repeat("?b,", n/3) + "1]" },
	"statements": func(n int) string { return strings.Repeat("EMIT 1\n", n/7) },
	"insertions": func(n int) string { return strings.Repeat("EMIT \"a{=1}\"\n", n/13) },
	"escapes":    func(n int) string { return "EMIT \"" + strings.Repeat(`\n`, n/2) + "\"" },
	"texts":      func(n int) string { return "SET ?a AS [" + strings.Repeat(`"",`, n/3) + "1]" },
	"sql":        func(n int) string { return "SELECT " + strings.Repeat("1,", n/2) + "1;" },
	"maps":       func(n int) string { return "SET ?a AS [" + strings.Repeat("{a:1},", n/6) + "1]" },
	"functions": func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, "DEFINE F%d(?a) RETURN ?a END\n", i)
		}
		return b.String()
	},
	"wrong": func(n int) string { return strings.Repeat("EMIT )\n", n/7) },
}

// TestCompileMemory holds what compiling allocates to what is reserved for it.
func TestCompileMemory(t *testing.T) {
	for name, make := range shapes {
		text := make(64 << 10)
		var reserved int64
		o := Options{Reserve: func(bytes int64) error { reserved += bytes; return nil }}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Compile(text, o)
		runtime.ReadMemStats(&after)
		took := int64(after.TotalAlloc - before.TotalAlloc)
		t.Logf("%s: %d bytes take %.0f each (%v)", name, len(text), float64(took)/float64(len(text)), err != nil)
		if took > reserved {
			t.Errorf("%s: %d bytes were allocated and %d reserved", name, took, reserved)
		}
	}
}

// TestCompileYields has a long text let others go first in each phase, and end where
// it is told to.
func TestCompileYields(t *testing.T) {
	stop := errors.New("stop")
	for name, make := range shapes {
		if name == "escapes" || name == "sql" || name == "wrong" {
			continue // one token each; read no further than some errors
		}
		text := make(64 << 10)
		turns := 0
		if _, err := Compile(text, Options{Yield: func() error { turns++; return nil }}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if turns < 10 {
			t.Errorf("%s: only %d turns", name, turns)
		}
		for at := 1; at <= turns; at += max(1, turns/5) {
			left := at
			p, err := Compile(text, Options{Yield: func() error {
				if left--; left == 0 {
					return stop
				}
				return nil
			}})
			if p != nil || !errors.Is(err, stop) || left != 0 {
				t.Errorf("%s: stopped at turn %d of %d: %v, %d", name, at, turns, err, left)
			}
		}
	}
}

// TestSourcesAreBounded holds a script and its includes together to a number of bytes.
func TestSourcesAreBounded(t *testing.T) {
	o := Options{MaxBytes: 1000, Include: func(path string) (string, error) {
		return "-- " + path + strings.Repeat(" ", 400), nil
	}}
	if _, err := Compile(`INCLUDE "/a.ql" INCLUDE "/b.ql" EMIT 1`, o); err != nil {
		t.Error(err)
	}
	_, err := Compile(`INCLUDE "/a.ql" INCLUDE "/b.ql" INCLUDE "/c.ql" EMIT 1`, o)
	if err == nil || !strings.Contains(err.Error(), "with /c.ql the script and what it includes have") {
		t.Error(err)
	}
}
