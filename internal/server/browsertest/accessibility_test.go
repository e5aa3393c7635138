//go:build !race

package browsertest_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"ql/internal/server/browsertest"
)

// TestBarriers: what cannot be used is found, and what can is not.
func TestBarriers(t *testing.T) {
	tab := browsertest.Open(t)
	for page, want := range map[string][]string{
		`<!doctype html><html lang="en"><title>Fine</title><main><h1>Fine</h1><label>Name <input></label></main>`:                           {},
		`<!doctype html><html lang="en"><title>Bad</title><main><h1>Bad</h1><input><p style="color:#bbb">pale</p><img src="data:,"></main>`: {"label", "color-contrast", "image-alt"},
		`<!doctype html><title>Bad</title><p>No language</p>`:                                                                               {"html-has-lang"},
	} {
		if err := chromedp.Do(tab, chromedp.Navigate("data:text/html,"+url.PathEscape(page))); err != nil {
			t.Fatal(err)
		}
		found := browsertest.Barriers(t, tab)
		if len(found) != len(want) {
			t.Errorf("%s has %q", page, found)
		}
		for _, rule := range want {
			if !strings.Contains("\n"+strings.Join(found, "\n"), "\n"+rule+":") {
				t.Errorf("%s: %s is not found: %q", page, rule, found)
			}
		}
	}
}
