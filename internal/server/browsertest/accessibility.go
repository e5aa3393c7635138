package browsertest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"ql/internal/programtest"
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

// screens are the windows that pages are shown in: a desk and a phone, by day and by night.
var screens = []struct {
	name          string
	width, height int64
	scheme        string
}{{"by day", 1280, 900, "light"}, {"on a phone by night", 360, 740, "dark"}, {"by night", 1280, 900, "dark"}, {"on a phone", 360, 740, "light"}}

// Accessible checks that the page of a tab can be used by everybody, on a desk by day and on a phone by night; and the
// other way round where QL_PROMISES is set.
func Accessible(t testing.TB, tab context.Context, page string) {
	t.Helper()
	shown := screens[:2]
	if programtest.Promised() {
		shown = screens
	}
	show := func(i int) {
		t.Helper()
		s := screens[i]
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}}}
		if _, err := chromedp.Call(tab, emulation.SetEmulatedMedia, media); err != nil {
			t.Fatal(err)
		}
		if err := chromedp.Do(tab, chromedp.EmulateViewport(s.width, s.height)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range shown {
		show(i)
		for _, found := range Barriers(t, tab) {
			t.Errorf("%s, %s: %s", page, screens[i].name, found)
		}
	}
	show(0)
}

// Barriers returns what axe finds on the page of a tab that is serious or critical, a line each.
func Barriers(t testing.TB, tab context.Context) []string {
	t.Helper()
	if Read(t, tab, "typeof axe") == "undefined" {
		// The page's own policy does not hold for what the browser's driver evaluates.
		if _, err := chromedp.Run(tab, chromedp.Evaluate[bool]("(() => {"+axe+"})();\ntrue")); err != nil {
			t.Fatal(err)
		}
	}
	text, err := chromedp.Run(tab, chromedp.Evaluate[string](serious, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		t.Fatal(fmt.Errorf("axe says %q: %w", text, err))
	}
	return found
}
