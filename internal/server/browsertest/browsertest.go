// Package browsertest starts a real browser for tests. The library that drives it has races of its
// own, so tests that use it are left out where the detector runs.
package browsertest

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Open starts a browser, and returns a tab of it, which ends with the test. Flags are further ones of
// the browser, as pairs of name and value.
func Open(t testing.TB, flags ...string) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("Chromium is not installed: the package is called chromium")
	}
	options := []chromedp.ExecAllocatorOption{
		// The browser's own sandbox wants more than root in a container has.
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Headless, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("disable-quic", true),
	}
	for i := 0; i+1 < len(flags); i += 2 {
		options = append(options, chromedp.Flag(flags[i], flags[i+1]))
	}
	browser, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	tab, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	return tab
}

// Read returns the text that an expression gives in the page of a tab.
func Read(t testing.TB, tab context.Context, expression string) string {
	t.Helper()
	got, err := chromedp.Run(tab, chromedp.Evaluate[string]("String(("+expression+"))"))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// patience is how long a page may take to be as it should: more than any does on a busy machine.
const patience = time.Minute

// Until waits until an expression is true in the page of a tab. A page that is on its way has none.
func Until(t testing.TB, tab context.Context, expression string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab, patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("(() => { try { return !!("+expression+") } catch { return false } })()")); err == nil && ok {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("never %s; the page has %s", expression, Read(t, tab, "document.body.innerText"))
		}
	}
}
