//go:build !race

package formpage_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"ql/internal/account"
	"ql/internal/operator"
	"ql/internal/server/browsertest"
)

// rules returns what is wrong with the looks of the page that is shown, a line each: what cannot be
// read, reached or told apart.
const rules = `(() => {
	const found = [];
	const name = (e) => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") + (e.className && e.className.baseVal === undefined ? "." + e.className : "");
	const seen = (e) => e.checkVisibility() && e.getBoundingClientRect().height > 0;
	const channel = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
	const parse = (text) => { const m = text.match(/[\d.]+/g).map(Number); return { rgb: m.slice(0, 3), alpha: m[3] ?? 1 }; };
	const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
	const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
	const ground = (e) => {
		for (; e; e = e.parentElement) {
			const { rgb, alpha } = parse(getComputedStyle(e).backgroundColor);
			if (alpha === 1) return rgb;
		}
		return [255, 255, 255];
	};
	if (!document.title) found.push("no title");
	if (!["en", "de"].includes(document.documentElement.lang)) found.push("no language");
	if (document.querySelectorAll("h1").length !== 1) found.push("not one h1");
	if (document.documentElement.scrollWidth > innerWidth) found.push("wider than the window: " + document.documentElement.scrollWidth);
	const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
	if (new Set(ids).size !== ids.length) found.push("an id twice");
	for (const e of document.querySelectorAll("[aria-describedby]")) {
		for (const id of e.getAttribute("aria-describedby").split(" ")) if (!document.getElementById(id)) found.push(name(e) + " is described by nothing");
	}
	for (const e of document.querySelectorAll("input, select, textarea")) {
		if (!e.labels.length || !e.labels[0].textContent.trim()) found.push(name(e) + " has no label");
		if (e.type === "radio" && !e.closest("fieldset")?.querySelector("legend")?.textContent.trim()) found.push(name(e) + " is in no group");
	}
	for (const e of document.querySelectorAll("button, select, textarea, .choice, input:not([type=radio], [type=checkbox])")) {
		const box = e.getBoundingClientRect();
		if (seen(e) && (box.height < 43.5 || box.width < 44)) found.push(name(e) + " is a small target: " + box.width + " by " + box.height);
		if (seen(e) && innerWidth < 600 && e.matches("button") && box.width < innerWidth - 40) found.push(name(e) + " is not as wide as the window");
	}
	for (const e of document.querySelectorAll("input:not([type=radio], [type=checkbox]), select, textarea")) {
		const edge = contrast(parse(getComputedStyle(e).borderTopColor).rgb, ground(e.parentElement));
		if (edge < 3) found.push(name(e) + " has an edge that is not seen: " + edge.toFixed(2));
		if (parseFloat(getComputedStyle(e).fontSize) < 16) found.push(name(e) + " makes a phone zoom");
	}
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walker.nextNode()) {
		const e = walker.currentNode.parentElement;
		if (!walker.currentNode.textContent.trim() || !seen(e) || e.closest("option")) continue;
		const style = getComputedStyle(e);
		if (parseFloat(style.fontSize) < 12) found.push(name(e) + " is written too small: " + style.fontSize);
		const ratio = contrast(parse(style.color).rgb, ground(e));
		if (ratio < 4.5) found.push(name(e) + " has a contrast of " + ratio.toFixed(2));
	}
	return found.join("\n");
})()`

// shifts returns how much moved on the page after it was shown.
const shifts = `new Promise((done) => {
	let sum = 0;
	const observer = new PerformanceObserver((list) => { for (const e of list.getEntries()) if (!e.hadRecentInput) sum += e.value; });
	observer.observe({ type: "layout-shift", buffered: true });
	requestAnimationFrame(() => setTimeout(() => { observer.disconnect(); done(sum); }, 0));
})`

// screens are the windows that pages are shown in.
var screens = []struct {
	name          string
	width, height int64
	dark          bool
}{{"light", 1280, 900, false}, {"dark", 1280, 900, true}, {"phone", 360, 740, false}, {"dark-phone", 360, 740, true}}

// look shows the page in every window. Where QL_SCREENSHOTS names a folder, its pictures go there.
func (p *person) look(state string) {
	p.t.Helper()
	for _, screen := range screens {
		p.turn(screen.width, screen.height, screen.dark)
		for found := range strings.Lines(p.read(rules)) {
			p.t.Errorf("%s, %s: %s", state, screen.name, found)
		}
		if folder := os.Getenv("QL_SCREENSHOTS"); folder != "" {
			shot, err := chromedp.Call(p.tab, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: new(true)})
			p.must(err)
			p.must(os.WriteFile(filepath.Join(folder, state+"-"+screen.name+".png"), shot.Data, 0o600))
		}
	}
	p.turn(1280, 900, false)
	browsertest.Accessible(p.t, p.tab, state)
}

// turn gives the window a size, and day or night.
func (p *person) turn(width, height int64, dark bool) {
	p.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	_, err := chromedp.Call(p.tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	p.must(err)
	p.must(chromedp.Do(p.tab, chromedp.EmulateViewport(width, height)))
}

// steady checks that nothing moved while the page was loaded.
func (p *person) steady(state string) {
	p.t.Helper()
	moved, err := chromedp.Run(p.tab, chromedp.Evaluate[float64](shifts, chromedp.EvalAwaitPromise))
	p.must(err)
	if moved > 0.02 {
		p.t.Errorf("%s: what is shown moves by %f", state, moved)
	}
}

// TestLook: every state of a page can be read, reached and told apart, by day and by night, on a phone
// too.
func TestLook(t *testing.T) {
	p := newPerson(t)
	all := p.ask(`GATHER "What do you need?\nWe order on Friday, and you get it in the week after." FIELDS
		name TEXT REQUIRED LABEL "Your name" MAX 40, mail EMAIL REQUIRED LABEL "E-mail", site URL, call PHONE LABEL "Phone", pin SECRET LABEL "PIN",
		note LONG TEXT LABEL "Anything else?" HELP "Who it is for, and where it goes.\nNobody else reads this." MAX 500, qty INTEGER MIN 1 MAX 10 DEFAULT 1 LABEL "How many?",
		weight NUMBER MIN 0, day DATE LABEL "On which day?", clock TIME, photo FILE LABEL "A photo",
		size CHOICE {s: "Small", m: "Medium", l: "Large"} REQUIRED LABEL "Size", town CHOICE ["Aachen", "Berlin", "Celle", "Dresden", "Essen", "Fulda", "Gera"] REQUIRED LABEL "Town",
		extras CHOICES {gift: "Gift wrap", fast: "Express"} LABEL "Extras" HELP "As many as you like.", sure BOOLEAN REQUIRED LABEL "Is this urgent?", news BOOLEAN LABEL "Send me news"
		WITHIN 3 DAYS SET ?f EMIT ?f`, nil)
	p.visit(all.FormURL)
	p.steady("form")
	p.look("form")
	p.fill("name", strings.Repeat("Ada ", 20))
	p.unchecked()
	p.send("button")
	p.look("wrong")

	confirm := p.ask(`CONFIRM "Pay 1,200 EUR to Example Ltd?" WITHIN 2 HOURS`, nil)
	p.visit(confirm.FormURL)
	p.steady("decision")
	p.look("decision")
	p.send("button[value=true]")
	p.look("accepted")
	p.visit(confirm.FormURL)
	p.look("answered")

	works := p.ask(`GATHER "First" FIELDS a TEXT SET ?a WAIT 110 SECONDS GATHER "Second" FIELDS b TEXT SET ?b`, nil)
	p.visit(works.FormURL)
	p.send("button")
	p.look("working")

	long := p.ask(`CONFIRM !GET("text")`, map[string]any{"text": strings.Repeat("A long question without a break in it. ", 40) + strings.Repeat("W", 300)})
	p.visit(long.FormURL)
	p.look("long")
	p.do(`document.querySelectorAll("button").forEach((b) => b.removeAttribute("name"))`)
	p.send("button")
	p.look("failed")
	var cancelled question
	p.call(http.MethodDelete, long.PollURL, nil, &cancelled)
	p.visit(long.FormURL)
	p.look("withdrawn")

	expired := p.ask(`CONFIRM "Now?" WITHIN 0.01 SECONDS`, nil)
	for expired.Status == "paused" || expired.Status == "running" {
		p.call(http.MethodGet, expired.PollURL+"?wait=10", nil, &expired)
	}
	p.visit(expired.FormURL)
	p.look("expired")
	p.visit(p.url + "/form/nothing")
	p.look("nothing")
	p.visit(p.url + "/files/nothing")
	p.look("no-link")

	p.service.Operate(func(o *operator.Operator) error {
		if err := o.Accounts.SetFlag(t.Context(), "user_test", "show_effects", true); err != nil {
			return err
		}
		_, err := o.Accounts.SetLook(t.Context(), "user_test", account.LookChange{DisplayName: new("Ada & Sons, Purveyors of Fine Teas"), Logo: new("/logo.png"), Accent: new("#7a1f5c")})
		return err
	})
	var b bytes.Buffer
	p.must(png.Encode(&b, image.NewPaletted(image.Rect(0, 0, 60, 40), color.Palette{color.NRGBA{0x7a, 0x1f, 0x5c, 0xff}})))
	branded := p.ask(`WRITE FROM_BASE64(!GET("logo")) TO "/logo.png" CONFIRM "Shall we send it?" INSERT INTO sent VALUES (1); FETCH "https://api.example.com/a/very/long/path" SET ?r WRITE "x" TO "/sent/of-a-rather-long-name-without-a-break-in-it-that-must-not-make-the-page-wider.txt"`, map[string]any{"logo": b.Bytes()})
	p.visit(branded.FormURL)
	if got := p.read(`[document.querySelector(".logo").naturalWidth, getComputedStyle(document.querySelector("button.main")).backgroundColor].join()`); got != "60,rgb(122, 31, 92)" {
		t.Errorf("the account's own look: %s", got)
	}
	p.steady("branded")
	p.look("branded")

	p.speaks("de")
	german := p.ask(`GATHER "Wie war es?" FIELDS score INTEGER MIN 1 MAX 5 REQUIRED LABEL "Note", why LONG TEXT MAX 2000 LABEL "Warum?", again BOOLEAN REQUIRED LABEL "Kommen Sie wieder?" WITHIN 1 DAY SET ?f`, nil)
	p.visit(german.FormURL)
	p.look("german")
	p.unchecked()
	p.send("button")
	p.look("german-wrong")
	for _, complaint := range p.complaints() {
		t.Error(complaint)
	}
}
