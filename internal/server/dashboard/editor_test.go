//go:build !race

package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// edit opens the editor with a text, and waits for all of its parts.
func (v *visitor) edit(text string) {
	v.Helper()
	v.open("editor?text=" + url.QueryEscape(text))
	v.until(`document.querySelector(".cm-content[aria-autocomplete]")`)
}

// written is the text in the editor.
const written = `[...document.querySelectorAll(".host .cm-line")].map((l) => l.innerText.replace("\n", "")).join("\n")`

// EditorExamples: what was written goes nowhere when an example is opened, and the example runs.
var _ = inBrowser("EditorExamples", func(v *visitor) {
	v.call(http.MethodPut, "/v1/files/mine.ql", "-- mine", nil)
	v.open("editor?file=/mine.ql")
	v.until(`document.activeElement.matches(".cm-content[aria-autocomplete]")`)
	v.press("EMIT 1 ")
	v.click("Examples")
	v.until(`document.querySelector("ul[aria-label=Examples] li a strong")?.innerText === "hello.ql"`)
	v.forgetJumps() // the list has come into the dialog
	v.look("editor-examples")
	v.read(`[...document.querySelectorAll("ul[aria-label=Examples] a")].find((a) => a.innerText.startsWith("hello.ql")).click()`)
	v.until(`!document.querySelector("dialog[open]") && ` + written + `.includes("Says hello")`)
	v.click("Run")
	v.untilText("complete")
	v.until(`document.querySelector(".text pre")?.innerText.startsWith("Hello")`)
	v.read(`history.back()`)
	v.until(written + `.includes("EMIT 1 -- mine")`)
})

var _ = inBrowser("EditorRuns", func(v *visitor) {
	v.open("editor")
	v.until(`document.activeElement.matches(".cm-content[aria-autocomplete]")`)
	v.press("\r", chromedp.ModifierCtrl)
	v.untilText("Hello, Hedy!\n6 × 7 is 42.")
	v.untilText("complete")
	v.until(`/fuel [\d,]+ of [\d,]+M? · memory .* of .* · output .* of .* · fetches 0 of/.test(document.body.innerText)`)
	v.look("editor-ran")
	// Each bar selects its line, and each line its bars.
	v.click("Trace6")
	v.until(`document.querySelectorAll("[data-step]").length === 6`)
	v.read(`[...document.querySelectorAll("[data-step]")].at(-1).click()`)
	v.until(`document.querySelector(".cm-marked").innerText.startsWith("EMIT \"6")`)
	v.read(`document.querySelector(".cm-content").focus()`)
	v.must(nil, chromedp.Do(v.tab, chromedp.MouseClickXY(500, 155)))
	v.until(`document.querySelectorAll("[data-step].marked").length >= 1`)
	v.look("editor-trace")
})

var _ = inBrowser("EditorChecks", func(v *visitor) {
	v.edit("SET ?name AS 1\nEMIT ?nmae")
	v.until(`document.querySelector(".cm-lintRange-error")?.innerText === "?nmae"`)
	v.untilText("1 error")
	v.look("editor-mistake")
	// It fails as the checker said, at its line.
	v.press("\r", chromedp.ModifierCtrl)
	v.untilText("syntax_error")
	v.until(`document.querySelector(".cm-marked")?.innerText.startsWith("EMIT")`)
	// The written form.
	v.edit("emit upper( 'a' )")
	v.press("F", chromedp.ModifierShift, chromedp.ModifierAlt)
	v.until(written + ` === "EMIT UPPER('a')\n"`)
	v.untilText("only computes")
	v.edit(`APPEND "x" TO FILE "/out.txt" CONFIRM "Sure?"`)
	v.untilText("can: writes /out.txt, asks a person")
})

var _ = inBrowser("EditorCompletes", func(v *visitor) {
	v.edit("")
	v.read(`document.querySelector(".cm-content").focus()`)
	v.press("EMIT uppe")
	v.until(`[...document.querySelectorAll(".cm-tooltip-autocomplete li")].some((l) => l.innerText.includes("UPPER"))`)
	v.look("editor-completion")
	// The list takes keys a moment after it is seen, so that nothing is taken by chance.
	v.until(`(document.querySelector(".cm-tooltip-autocomplete li[aria-selected]") && (window.__since ??= performance.now()) < performance.now() - 100)`)
	v.press("\r")
	v.until(written + `.includes("EMIT UPPER")`)

	// Nobody is asked what might follow in a comment. Mistakes are asked for after completions would be.
	v.read(`window.__asked = [], window.__fetch = fetch, window.fetch = (at, o) => { if (/complete$|check$/.test(at)) window.__asked.push({ at, ...JSON.parse(o.body) }); return window.__fetch(at, o) }, ""`)
	v.press("\r-- EMI")
	v.until(`window.__asked.some((a) => a.at.endsWith("check") && a.text.includes("-- EMI"))`)
	// Nor behind the end of a text: what is there is another line.
	v.press("\rEMIT \"x\"")
	v.until(`window.__asked.some((a) => a.at.endsWith("check") && /EMIT "x"\s*$/.test(a.text))`)
	v.press("\rEMIT lowe")
	v.until(`[...document.querySelectorAll(".cm-tooltip-autocomplete li")].some((l) => l.innerText.includes("LOWER"))`)
	if asked := v.read(`window.__asked.filter((a) => a.at.endsWith("complete")).map((a) => a.text.split("\n")[a.line - 1].slice(0, a.column - 1)).filter((l) => l.startsWith("--") || l === 'EMIT "x"').join()`); asked != "" {
		v.Errorf("completions are asked for behind %s", asked)
	}
})

// EditorBegins: who writes before all parts of the editor are there gets the rest of them too.
var _ = inBrowser("EditorBegins", func(v *visitor) {
	held := chromedp.Events(v.tab, fetch.RequestPaused)
	v.must(chromedp.Call(v.tab, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*/app/assets/later-*.js"}}}))
	v.open("editor?text=")
	v.read(`document.querySelector(".cm-content").focus()`)
	v.press("EMIT uppe")
	v.until(written + `.startsWith("EMIT uppe")`)
	for e, err := range held {
		v.must(nil, err)
		v.must(chromedp.Call(v.tab, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID}))
		break
	}
	v.until(`[...document.querySelectorAll(".cm-tooltip-autocomplete li")].some((l) => l.innerText.includes("UPPER"))`)
})

var _ = inBrowser("EditorAsks", func(v *visitor) {
	v.edit("FOR ?i FROM 1 TO 5 DO\n  GATHER \"Name {?i}?\" FIELDS name TEXT REQUIRED SET ?form\n  EMIT LINE \"{?i}: {?form.name}\"\nEND\nCONFIRM \"All right?\"\nEMIT \"done\"")
	v.read(`document.querySelector(".cm-content").focus()`)
	v.press("\r", chromedp.ModifierCtrl)
	for i, name := range []string{"Ada", "Grace", "Hedy", "Rosa", "Mary"} {
		v.untilText(fmt.Sprintf("Name %d?", i+1))
		v.until(`document.activeElement.tagName === "INPUT"`)
		if i == 0 {
			v.look("editor-question")
			v.read(`document.querySelector("form.question input").focus()`)
			v.press("\r") // without an answer
			v.untilText("Must be answered")
		}
		v.press(name + "\r")
	}
	v.until(`document.querySelector("form.question")?.ariaLabel === "Question: All right?"`)
	v.until(`document.activeElement.tagName === "INPUT"`)
	v.press("\r")
	v.untilText("1: Ada\n2: Grace\n3: Hedy\n4: Rosa\n5: Mary\ndone")
	v.untilText("complete")
	v.until(`document.activeElement.matches(".cm-content[aria-autocomplete]")`)
})

var _ = inBrowser("EditorLosesNothing", func(v *visitor) {
	v.call(http.MethodPut, "/v1/files/kept.ql", "EMIT 1\n", nil)
	v.open("editor?file=/kept.ql")
	v.until(`document.activeElement.matches(".cm-content[aria-autocomplete]")`)
	v.press("-- a draft ")
	v.until(written + `.includes("-- a draft EMIT 1")`)
	v.until(`(window.__kept ?? (indexedDB.open("ql-editor").onsuccess = (e) => { const r = e.target.result.transaction("drafts").objectStore("drafts").getAll(); r.onsuccess = () => { if (r.result.some((d) => d.text.includes("a draft"))) window.__kept = true; e.target.result.close() } }, 0)) === true`)
	// The tab is killed: it has no chance to say good-bye.
	v.must(chromedp.Call(v.tab, page.Navigate, page.NavigateParams{URL: "about:blank"}))
	v.open("editor?file=/kept.ql")
	v.untilText("What you had not saved is back.")
	v.until(written + `.includes("-- a draft EMIT 1")`)
	v.look("editor-restored")
	// Somebody else stores another text meanwhile.
	v.call(http.MethodPut, "/v1/files/kept.ql", "EMIT 2\n", nil)
	v.press("s", chromedp.ModifierCtrl)
	v.untilText("/kept.ql was changed meanwhile")
	v.until(`document.querySelectorAll("dialog[open] .cm-content").length === 2`)
	v.look("editor-conflict")
	v.click("Save mine over it")
	v.until(`!document.querySelector("dialog[open]")`)
	v.until(`document.querySelector(".kept").innerText === "saved"`)
	v.must(nil, chromedp.Do(v.tab, chromedp.Navigate("about:blank")))
	v.open("editor?file=/kept.ql&line=1")
	v.until(written + `.startsWith("-- a draft EMIT 1")`)
	if got := v.read(`document.body.innerText`); strings.Contains(got, "is back") {
		v.Error("a draft that was saved is there still")
	}
})

var _ = inBrowser("EditorShows", func(v *visitor) {
	v.edit(`EMIT JSON [{name: "Ada", born: 1815, tags: ["a"]}, {name: "Grace", born: NULL, tags: []}]`)
	v.read(`document.querySelector(".cm-content").focus()`)
	v.press("\r", chromedp.ModifierCtrl)
	v.until(`document.querySelector("table td")?.innerText === "Ada" && document.querySelector("td.null").innerText === "null"`)
	v.look("editor-table")
	v.click("JSON")
	v.until(`document.querySelector("details summary").innerText.includes("list of 2")`)
	v.click("Text")
	v.until(`document.querySelector(".text pre").innerText.startsWith("[{")`)
	v.click("Request")
	v.fill("Values for !GET, as JSON", `{"name": `)
	v.untilText("JSON")
	v.fill("Values for !GET, as JSON", `{"name": "Bo"}`)
	v.look("editor-request")
})

var _ = inBrowser("EditorFinds", func(v *visitor) {
	v.edit("SET ?a AS 1\nSET ?b AS ?a\nEMIT ?a + ?b")
	v.read(`document.querySelector(".cm-content").focus()`)
	v.until(`(document.querySelector(".cm-content").dispatchEvent(new KeyboardEvent("keydown", { key: "f", code: "KeyF", keyCode: 70, ctrlKey: true, bubbles: true, cancelable: true })), document.querySelector(".cm-search"))`)
	v.press("?b")
	v.until(`document.querySelectorAll(".cm-searchMatch").length === 2`)
	v.press("\r")
	v.until(`document.querySelectorAll(".cm-searchMatch-selected").length === 1`)
	v.forgetJumps()
	v.look("editor-find")
	v.press("\x1b")
	v.until(`!document.querySelector(".cm-search") && document.activeElement.matches(".cm-content")`)
})

var _ = inBrowser("EditorRequests", func(v *visitor) {
	v.call(http.MethodPut, "/v1/files/sets.ql", "EMIT \"Hello, {!GET('name')}!\"\n", nil)
	v.open("editor?file=/sets.ql")
	v.click("Request")
	v.fill("Values for !GET, as JSON", `{"name": "Ada"}`)
	v.click("New set")
	v.fill("Name of the set", "Grace")
	v.fill("Values for !GET, as JSON", `{"name": "Grace"}`)
	v.look("editor-sets")
	v.press("\r", chromedp.ModifierCtrl)
	v.untilText("Hello, Grace!")
	// They are there again with the file, and the one that was chosen is.
	v.open("editor?file=/sets.ql")
	v.click("Request")
	v.until(`document.querySelector(".sets select").selectedOptions[0].text === "Grace"`)
	v.read(`((s) => { s.value = s.options[0].value; s.dispatchEvent(new Event("change", { bubbles: true })) })(document.querySelector(".sets select"))`)
	v.until(find("Values for !GET, as JSON") + `.value.includes("Ada")`)
	v.click("Output")
	v.click("Run")
	v.untilText("Hello, Ada!")
	v.click("Request")
	v.click("Remove the set Request")
	v.until(`document.querySelectorAll(".sets option").length === 1 && document.activeElement.tagName === "SELECT"`)
})

// EditorNames: a name is renamed wherever it stands, and its definition found, by keys alone.
var _ = inBrowser("EditorNames", func(v *visitor) {
	v.call(http.MethodPut, "/v1/files/lib/vat.ql", "-- Taxes\nDEFINE vat(?n)\n  RETURN ?n * 0.2\nEND\n", nil)
	v.edit("INCLUDE \"/lib/vat.ql\"\nSET ?price AS 10\nEMIT \"{?price}: {=vat(?price)}\"")
	v.read(`document.querySelector(".cm-content").focus()`)
	v.press(kb.ArrowDown + kb.End + kb.Home + strings.Repeat(kb.ArrowRight, 6))
	v.press(kb.F2)
	v.until(`document.activeElement.value === "?price"`)
	v.look("editor-rename")
	v.press("1\r") // in the place of all, which is selected
	v.untilText("is no name")
	v.press(kb.Backspace + "?net\r")
	v.until(written + `.endsWith('SET ?net AS 10\nEMIT "{?net}: {=vat(?net)}"\n')`)
	v.untilText("?price is ?net now, at 3 places")
	v.until(`document.activeElement.matches(".cm-content[aria-autocomplete]")`)
	v.press(kb.ArrowDown + kb.Home + strings.Repeat(kb.ArrowRight, 8)) // on ?net within the text
	v.press(kb.F12)
	v.until(`getSelection().toString() === "?net" && document.querySelector(".cm-activeLine").innerText.startsWith("SET ?net")`)
	// In a file that is included, by a click.
	var x, y float64
	v.must(fmt.Sscan(v.read(`((r) => { const t = [...document.querySelectorAll(".cm-line")][2]; const w = document.createTreeWalker(t, NodeFilter.SHOW_TEXT); for (let n; (n = w.nextNode()); ) { const at = n.data.indexOf("vat"); if (at >= 0) { r.setStart(n, at); r.setEnd(n, at + 3) } } const b = r.getBoundingClientRect(); return (b.x + b.width / 2) + " " + (b.y + b.height / 2) })(document.createRange())`), &x, &y))
	v.must(nil, chromedp.Do(v.tab, chromedp.MouseClickXY(x, y, chromedp.ButtonModifiers(chromedp.ModifierCtrl))))
	v.until(`location.search.includes("file=%2Flib%2Fvat.ql") && document.querySelector(".cm-activeLine")?.innerText.startsWith("DEFINE vat")`)
	v.read(`history.back()`)
	v.until(written + `.includes("INCLUDE")`)
})

// EditorHistory: any run opens again, with its text, its request and what became of it.
var _ = inBrowser("EditorHistory", func(v *visitor) {
	v.call(http.MethodPost, "/v1/query", map[string]any{"auth": map[string]string{"username": "dev", "password": "dev"}, "query": "-- A run of before\nEMIT \"To {!GET('name')}\"", "request": map[string]any{"get": map[string]string{"name": "Rosa"}}}, nil)
	v.run("-- A run that waits\nEMIT LINE \"So far.\"\nCONFIRM \"Shall it go on?\"\nEMIT \"It went on.\"")
	v.edit("EMIT 1")
	v.click("History")
	v.until(`document.querySelectorAll("[aria-label=Runs] a").length >= 2`)
	v.look("editor-history")
	v.fill("Runs whose name contains", "A run")
	v.until(`document.querySelectorAll("[aria-label=Runs] a").length === 2`)
	v.read(`[...document.querySelectorAll("[aria-label=Runs] a")].find((a) => a.innerText.includes("of before")).click()`)
	v.until(written + `.includes("EMIT \"To {!GET('name')}\"")`)
	v.click("Output")
	v.untilText("To Rosa")
	v.until(`/fuel [\d,]+ of [\d,]+M? · memory .* of .* · output .* of /.test(document.body.innerText)`)
	v.click("Run") // with the same request
	v.until(`[...document.querySelectorAll("[role=status]")].some((e) => e.innerText.includes("complete")) && document.body.innerText.includes("To Rosa")`)
	// One that waits is answered where it is.
	v.click("History")
	v.fill("Runs whose name contains", "A run that waits")
	v.until(`document.querySelectorAll("[aria-label=Runs] a").length === 1`)
	v.read(`document.querySelector("[aria-label=Runs] a").click()`)
	v.until(written + `.includes("A run that waits")`)
	v.click("Output")
	v.untilText("Shall it go on?")
	v.click("Approve")
	v.untilText("It went on.")
	v.untilText("So far.")
})

// EditorPage: what is HTML is shown as a page, in which nothing runs and which reaches nothing.
var _ = inBrowser("EditorPage", func(v *visitor) {
	v.edit("SET \"header:Content-Type\" AS \"text/html\" OF !RESPONSE\n" + `EMIT '<!doctype html><html><head><style>h1 \{ color: rgb(1, 2, 3) }</style></head><body><h1>A page</h1><p>With a style.</p><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw="><a href="/app/">home</a></body></html>'`)
	v.read(`document.querySelector(".cm-content").focus()`)
	v.press("\r", chromedp.ModifierCtrl)
	v.until(`document.querySelector("iframe[title='Output as a page']")?.getAttribute("sandbox") === "allow-scripts"`)
	v.look("editor-page")
	v.click("Text")
	v.until(`document.querySelector(".text pre").innerText.startsWith("<!doctype")`)
	// The document by itself shows nothing of anybody, and has no origin.
	v.must(nil, chromedp.Do(v.tab, chromedp.Navigate(v.url+"/app/preview")))
	v.read(`postMessage("<p id=taken>x</p>", "*")`)
	if got := v.read(`String(self.origin) + " " + document.querySelectorAll("#taken").length`); got != "null 0" {
		v.Errorf("opened by itself it is of %s", got)
	}
})

// EditorOutput: of a long output all can be found and copied, though little of it is in the document.
var _ = inBrowser("EditorOutput", func(v *visitor) {
	v.edit("FOR ?i FROM 1 TO 40000 DO\n  EMIT LINE \"Number {?i}\"\nEND\nEMIT REPEAT(\"long \", 30000)\nEMIT LINE \"\"\nEMIT \"the end\"")
	v.read(`document.querySelector(".cm-content").focus()`)
	v.press("\r", chromedp.ModifierCtrl)
	v.untilText("complete")
	v.click("Find in the output")
	v.press("number 31000")
	v.press("\r")
	v.untilText("1 of 1")
	v.until(`((r) => { const [range] = CSS.highlights.get("found"); const at = range.getBoundingClientRect(); return range.toString() === "Number 31000" && at.top >= r.top && at.bottom <= r.bottom })(document.querySelector(".body").getBoundingClientRect())`)
	if got := await[float64](v, `document.querySelectorAll(".text pre").length`); got > 60 {
		v.Errorf("%.0f blocks are drawn", got)
	}
	v.look("editor-output-found")
	v.read(`document.querySelector("input[aria-label='Find in the output']").focus()`)
	v.press("\x1b")
	v.until(`!document.querySelector("input[aria-label='Find in the output']") && CSS.highlights.get("found") === undefined && document.activeElement.matches(".body")`)
	// What is selected is copied as a whole, also where it was scrolled away.
	v.read(`((b) => { const t = [...document.querySelectorAll(".text pre")].map((p) => p.firstChild).find((t) => t.data.includes("Number 31000\n")); const at = t.data.indexOf("Number 31000\n"); getSelection().setBaseAndExtent(t, at, t, at + 6); b.scrollTop = b.scrollHeight })(document.querySelector(".body"))`)
	v.until(lastBlock + `.textContent.endsWith("the end")`)
	v.read(`getSelection().extend(` + lastBlock + `.firstChild, 0)`)
	if got := v.copied(); !strings.HasPrefix(got, "Number 31000\nNumber 31001\n") || !strings.Contains(got, "Number 40000\nlong long ") {
		v.Errorf("%d characters are copied: %.40q", len(got), got)
	}
	var want strings.Builder
	for i := range 40000 {
		fmt.Fprintf(&want, "Number %d\n", i+1)
	}
	want.WriteString(strings.Repeat("long ", 30000) + "\nthe end")
	if got := v.copies(); got != want.String() {
		v.Errorf("%d characters are copied, want %d", len(got), want.Len())
	}
})
