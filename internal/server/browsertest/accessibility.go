package browsertest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// axe is axe-core 4.14.0, as its authors publish it: https://github.com/dequelabs/axe-core. It finds what
// people cannot use who read, see or point otherwise than most. Its licences are beside it; it is a part of tests alone.
//
//go:embed axe/axe.min.js
var axe string

// serious has the page looked at, and returns what keeps people from using it.
const serious = `axe.run(document, {resultTypes: ["violations"]}).then((found) => JSON.stringify(found.violations
	.filter((v) => v.impact === "serious" || v.impact === "critical")
	.map((v) => v.id + ": " + v.help + " (" + v.nodes.map((n) => n.target.join(" ") + (n.any[0] ? ": " + n.any[0].message : "")).slice(0, 5).join("; ") + ")")))`

// Barriers returns what axe finds on the page of a tab that is serious or critical, a line each.
func Barriers(t testing.TB, tab context.Context) []string {
	t.Helper()
	// The page's own policy does not hold for what the browser's driver evaluates.
	text, err := chromedp.Run(tab, chromedp.Evaluate[string](axe+"\n;"+serious, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		t.Fatal(fmt.Errorf("axe says %q: %w", text, err))
	}
	return found
}
