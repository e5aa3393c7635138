// The library that drives the browser has races of its own, which the detector finds.

//go:build !race

package livereload_test

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"ql/internal/server/browsertest"
)

// TestPageRepaints changes files and waits for what a browser shows.
func TestPageRepaints(t *testing.T) {
	s := develop(t, map[string]string{
		"index.ql":    `INCLUDE "/site/_lib.ql" RENDER "/site/_page.html" USING {text: text()}`,
		"_lib.ql":     `DEFINE text() RETURN "one" END`,
		"_page.html":  `<!doctype html><link rel="stylesheet" href="/style.css"><script src="/count.js"></script><h1>{{.text}}</h1>`,
		"style.css":   "h1 { color: rgb(1, 2, 3) }",
		"count.js":    "sessionStorage.loads = Number(sessionStorage.loads || 0) + 1",
		"apart.html":  "<h1>apart</h1>",
		"static.html": "<h1>static</h1>",
	})
	tab := browsertest.Open(t)
	see := func(what, condition string) {
		t.Helper()
		began := time.Now()
		ctx, cancel := context.WithTimeout(tab, time.Minute)
		defer cancel()
		ticks := time.NewTicker(5 * time.Millisecond)
		defer ticks.Stop()
		// While a page is loaded again there is nothing to ask.
		for seen := false; !seen; <-ticks.C {
			var err error
			seen, err = chromedp.Run(ctx, chromedp.Evaluate[bool]("(() => { try { return "+condition+" } catch { return false } })()"))
			if ctx.Err() != nil {
				t.Fatalf("%s is not seen: %v", what, err)
			}
		}
		t.Logf("%s: seen after %v", what, time.Since(began).Round(time.Millisecond))
	}
	const listens = `performance.getEntriesByType("resource").some(e => e.name.includes("/_ql/dev/reload.js")) && `
	if _, err := chromedp.Run(tab, chromedp.Navigate(s.address()+"/")); err != nil {
		t.Fatal(err)
	}
	see("the page", listens+`document.querySelector("h1").textContent == "one"`)

	s.waitForChange("/apart") // by then all pages were compared
	s.write("_lib.ql", `DEFINE text() RETURN "two" END`)
	see("what it includes", listens+`document.querySelector("h1").textContent == "two" && sessionStorage.loads == 2`)

	s.write("style.css", "h1 { color: rgb(4, 5, 6) }")
	see("its style", listens+`getComputedStyle(document.querySelector("h1")).color == "rgb(4, 5, 6)"`)

	s.write("_page.html", `<h1>{{.text}}, new</h1>`)
	see("its template", listens+`document.querySelector("h1").textContent == "two, new"`)

	s.write("index.ql", "EMIT ?nothing")
	see("a mistake", listens+`document.querySelector("pre").textContent.startsWith("index.ql:1:6: ?nothing is never set")`)

	s.write("index.ql", `EMIT HTML "<h1>mended</h1>"`)
	see("the mistake mended", `document.querySelector("h1").textContent == "mended"`)

	if _, err := chromedp.Run(tab, chromedp.Navigate(s.address()+"/missing")); err != nil {
		t.Fatal(err)
	}
	s.write("missing.html", "<h1>found</h1>")
	see("a page that was missing", `document.querySelector("h1").textContent == "found"`)
}
