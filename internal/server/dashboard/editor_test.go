//go:build !race

package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// edit opens the editor with a text, and the focus in it.
func (v *visitor) edit(text string) {
	v.Helper()
	v.open("editor?text=" + url.QueryEscape(text))
	v.until(`document.querySelector(".cm-content")`)
}

// written is the text in the editor.
const written = `[...document.querySelectorAll(".host .cm-line")].map((l) => l.innerText.replace("\n", "")).join("\n")`

var _ = inBrowser("EditorRuns", func(v *visitor) {
	v.open("editor")
	v.until(`document.activeElement.className.includes("cm-content")`)
	v.press("\r", chromedp.ModifierCtrl)
	v.untilText("Hello, Hedy!\n6 × 7 is 42.")
	v.untilText("complete")
	v.until(`/fuel [\d,]+ · memory .* of .* · output/.test(document.body.innerText)`)
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
	v.click("Format")
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
			v.untilText("must be answered")
		}
		v.press(name + "\r")
	}
	v.until(`document.querySelector("form.question")?.ariaLabel === "Question: All right?"`)
	v.until(`document.activeElement.tagName === "INPUT"`)
	v.press("\r")
	v.untilText("1: Ada\n2: Grace\n3: Hedy\n4: Rosa\n5: Mary\ndone")
	v.untilText("complete")
})

var _ = inBrowser("EditorLosesNothing", func(v *visitor) {
	v.call(http.MethodPut, "/v1/files/kept.ql", "EMIT 1\n", nil)
	v.open("editor?file=/kept.ql")
	v.until(`document.activeElement.className.includes("cm-content")`)
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
