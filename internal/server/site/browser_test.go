// The library that drives the browser has races of its own, which the detector finds.

//go:build !race

package site_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"ql/internal/account"
	"ql/internal/config"
	"ql/internal/programtest"
	"ql/internal/server/browsertest"
	"ql/internal/server/pagetest"
)

// attack tries all that a page may try on another origin, and returns what it got.
const attack = `
async function attack(other, secret) {
  const got = [];
  const attempt = async (name, f) => { try { const v = await f(); if (v) got.push(name + ": " + v); } catch (e) {} };
  await attempt("cookies", () => /QL|theirs/i.test(document.cookie) && document.cookie);
  await attempt("storage", () => localStorage.getItem("theirs"));
  for (const mode of ["cors", "no-cors", "same-origin"])
    await attempt("fetch " + mode, async () => { const r = await fetch(other + secret, {mode: mode, credentials: "include"}); return await r.text(); });
  await attempt("post", async () => { const r = await fetch(other + secret, {method: "POST", mode: "cors", credentials: "include"}); return await r.text(); });
  await attempt("image", () => new Promise((yes, no) => { const i = new Image(); i.onload = () => yes("loaded"); i.onerror = no; i.src = other + "/pixel.svg"; }));
  await attempt("script", () => new Promise((yes, no) => { const s = document.createElement("script"); s.onload = () => yes("run"); s.onerror = no; s.src = other + "/code.js"; document.head.append(s); }));
  await attempt("frame", () => new Promise((yes, no) => { const f = document.createElement("iframe"); f.onload = () => { try { yes(f.contentDocument.body.innerText) } catch (e) { no(e) } }; f.src = other + secret; document.body.append(f); setTimeout(no, 2000); }));
  return got;
}`

// openBrowser starts a browser for as long as a test may take, and returns a tab of it.
func openBrowser(t *testing.T) context.Context {
	t.Helper()
	tab, cancel := context.WithTimeout(browsertest.Open(t), 2*time.Minute)
	t.Cleanup(cancel)
	return tab
}

// TestQuestionsInBrowser: somebody whose browser runs no scripts goes from question to question,
// back, and answers nothing twice.
func TestQuestionsInBrowser(t *testing.T) {
	w := boot(t, lift, func(s *config.Settings) { s.SiteHost = "sites.localhost" })
	w.put("ada", "order.ql", order)
	tab := openBrowser(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// A page may be loading: what cannot be read then is read again.
	shows := func(text string) {
		t.Helper()
		var err error
		for body := ""; !strings.Contains(body, text); {
			if body, err = chromedp.Run(tab, chromedp.Evaluate[string](`document.body ? document.body.innerText : ""`)); tab.Err() != nil {
				t.Fatalf("the page shows %q, and not %q: %v", body, text, err)
			}
		}
	}
	do := func(expression string) {
		t.Helper()
		_, err := chromedp.Run(tab, chromedp.Evaluate[string]("("+expression+`), ""`))
		must(err)
	}
	const send = `document.querySelector("button.main").click()`
	_, err := chromedp.Call(tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	must(err)
	must(chromedp.Do(tab, chromedp.Navigate(w.SiteURL("ada")+"/order")))
	shows("What would you like?")
	do(`document.querySelector("[name=what]").value = "tea", ` + send)
	shows("Where to?")
	do(`history.back()`)
	shows("What would you like?")
	do(`document.querySelector("[name=what]").value = "coffee", ` + send)
	shows("1 of tea")
	do(`document.querySelector("[name=city]").value = "Ulm", ` + send)
	shows("Anything else?")
	do(`document.querySelector("[name=note]").value = "<b>no", ` + send)
	shows("Thank you: <b>no")
	if got := w.stored(); len(got) != 1 || got[0].Status != "complete" {
		t.Errorf("%v", got)
	}
}

// TestIsolation: a hostile site gets nothing of a neighbour, nor of the service's own pages, in the
// browser of somebody who is signed in at both. So that the test can fail, the neighbour's own page
// tries the same on itself.
func TestIsolation(t *testing.T) {
	w := boot(t, lift, func(s *config.Settings) { s.SiteHost = "sites.localhost" })
	w.Account("mallory", account.Standard)
	files := map[string]string{
		"index.ql":  `START SESSION SET "n" AS 1 OF !SESSION EMIT "<!doctype html><body><script src='/attack.js'></script>hello"`,
		"secret.ql": `START SESSION EMIT "secret of {=!SESSION('n') DEFAULT 'nobody'}"`,
		"attack.js": attack,
		"pixel.svg": `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>`,
		"code.js":   `window.ran = true`,
		"change.ql": `WRITE "changed" TO "/changed.txt" EMIT "changed"`,
	}
	for name, text := range files {
		w.put("ada", name, text)
		w.put("mallory", name, text)
	}
	w.put("mallory", "_site.toml", `[headers]
"/*" = { Content-Security-Policy = "default-src * 'unsafe-inline'", Cross-Origin-Opener-Policy = "unsafe-none" }`)
	neighbour, hostile := w.SiteURL("ada"), w.SiteURL("mallory")
	service := strings.Replace(w.URL(), "127.0.0.1", "localhost", 1)

	tab := openBrowser(t)

	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	try := func(from, on, secret string) []string {
		t.Helper()
		must(chromedp.Do(tab, chromedp.Navigate(from+"/")))
		got, err := chromedp.Run(tab, chromedp.Evaluate[[]string](`attack("`+on+`", "`+secret+`")`, chromedp.EvalAwaitPromise))
		must(err)
		return got
	}
	must(chromedp.Do(tab, chromedp.Navigate(service+"/openapi.json")))
	_, err := chromedp.Call(tab, network.SetCookie, network.SetCookieParams{Name: "qldash", Value: "theirs", URL: service + "/", Path: "/"})
	must(err)
	must(chromedp.Do(tab, chromedp.Navigate(neighbour+"/")))
	_, err = chromedp.Run(tab, chromedp.Evaluate[string](`localStorage.setItem("theirs", "1"); document.cookie = "theirs=1"`))
	must(err)
	if got := strings.Join(try(neighbour, neighbour, "/secret"), "\n"); !strings.Contains(got, "cookies: theirs=1") || !strings.Contains(got, "fetch cors: secret of 1") ||
		!strings.Contains(got, "storage: 1") || !strings.Contains(got, "frame: secret of 1") || !strings.Contains(got, "script: run") || !strings.Contains(got, "image: loaded") {
		t.Errorf("the test shows nothing: a page gets of itself\n%s", got)
	}
	if got := try(hostile, neighbour, "/secret"); len(got) > 0 {
		t.Errorf("a hostile site gets of its neighbour\n%s", strings.Join(got, "\n"))
	}
	if got := try(hostile, service, "/openapi.json"); len(got) > 0 {
		t.Errorf("a hostile site gets of the service\n%s", strings.Join(got, "\n"))
	}
	// A form that is sent from there changes nothing.
	must(chromedp.Do(tab, chromedp.Navigate(hostile+"/")))
	_, err = chromedp.Run(tab, chromedp.Evaluate[string](`document.body.innerHTML = '<form method="post" action="`+neighbour+`/change"></form>'; document.forms[0].submit(); ""`))
	must(err)
	for title := ""; title != "This was not sent from this site"; {
		if title, err = chromedp.Run(tab, chromedp.Title()); err != nil && tab.Err() != nil {
			t.Fatalf("the page has the title %q: %v", title, err)
		}
	}
	if a := w.call("GET", w.URL()+"/v1/files/changed.txt", "", "Authorization", "Basic "+basic("ada")); a.status != 404 {
		t.Errorf("the neighbour was changed: %d %s", a.status, a.body)
	}
}

// TestHostileTextsInBrowser: what visitors send does not run, on a page that would let it.
func TestHostileTextsInBrowser(t *testing.T) {
	w := boot(t, lift, func(s *config.Settings) { s.SiteHost = "sites.localhost" })
	w.puts(hostilePage)
	tab := openBrowser(t)
	every := 12
	if programtest.Promised() {
		every = 1
	}
	for i, text := range pagetest.Hostile() {
		if i%every != 0 {
			continue
		}
		for _, path := range []string{"/page?x=", "/ask?x="} {
			if err := chromedp.Do(tab, chromedp.Navigate(w.SiteURL("ada")+path+url.QueryEscape(text))); err != nil {
				t.Fatal(err)
			}
			if got := browsertest.Read(t, tab, `[...document.querySelectorAll("input, textarea, select, button, a")].forEach((e) => e.focus()), [typeof window.pwned, getComputedStyle(document.body).getPropertyValue("--pwned"), document.baseURI === location.href].join()`); got != "undefined,,true" {
				t.Errorf("%s%s: %s", path, text, got)
			}
		}
	}
}

// TestPagesAreAccessible: everybody can use the forms in pages and what the service says in the place of a page.
func TestPagesAreAccessible(t *testing.T) {
	w := boot(t, lift, func(s *config.Settings) { s.SiteHost = "sites.localhost" })
	w.puts(map[string]string{
		"ask.ql": `EMIT HTML "<!doctype html><html lang=en><meta name=viewport content='width=device-width'><title>Order</title><main><h1>Order</h1><ql-form></ql-form></main>"
			GATHER "What would you like?" FIELDS what TEXT REQUIRED MAX 20 HELP "Tea, say.", many INTEGER MIN 1 MAX 9, size CHOICE {s: "Small", l: "Large"} REQUIRED, town CHOICE ["A", "B", "C", "D", "E", "F", "G"],
			extras CHOICES ["milk", "sugar"], now BOOLEAN, note LONG TEXT MAX 100, photo FILE SET ?f CONFIRM "Shall we?" TO "office"`,
		"fails.ql": `FAIL "no"`,
	})
	tab := openBrowser(t)
	open := func(path string) {
		t.Helper()
		if err := chromedp.Do(tab, chromedp.Navigate(w.SiteURL("ada")+path)); err != nil {
			t.Fatal(err)
		}
	}
	for path, page := range map[string]string{"/nothing": "no such page", "/fails": "a page that failed", "/a%2fb": "an address that does not fit"} {
		open(path)
		browsertest.Accessible(t, tab, page)
	}
	open("/ask")
	browsertest.Accessible(t, tab, "a form in a page")
	press := func(then string) {
		t.Helper()
		browsertest.Read(t, tab, `document.forms[0].noValidate = true, document.querySelector("button.main").click()`)
		browsertest.Until(t, tab, then)
	}
	press(`document.querySelector(".summary")`)
	browsertest.Accessible(t, tab, "a form with mistakes in a page")
	browsertest.Read(t, tab, `document.querySelector("[name=what]").value = "tea", document.querySelector("[name=size]").checked = true`)
	press(`document.body.innerText.includes("takes a while")`)
	browsertest.Accessible(t, tab, "a page that waits")
}
