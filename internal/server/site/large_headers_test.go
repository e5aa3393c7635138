package site_test

import (
	"strings"
	"testing"
)

// TestLargeHeaders: headers of a page that are larger than a buffer arrive with those that all pages have.
func TestLargeHeaders(t *testing.T) {
	w := boot(t, lift)
	set := func(name string) string {
		return `SET "header:` + name + `" AS REPEAT("x", 2000) OF !RESPONSE `
	}
	for _, prefix := range []string{"A-", "R-", "X-Z-"} {
		script := ""
		for _, n := range []string{"1", "2", "3", "4", "5", "6"} {
			script += set(prefix + n)
		}
		w.puts(map[string]string{"page.ql": script + `EMIT "page"`})
		a := w.get("/page")
		if a.status != 200 || a.body != "page" || a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get(prefix+"6") != strings.Repeat("x", 2000) {
			t.Errorf("%s: %d %q %v", prefix, a.status, a.body, len(a.header))
		}
	}
}
