//go:build !race

package dashboard_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"ql/internal/programtest"
)

// of is the first number where QL_PROMISES is set, else the second. Figures are logged, and recorded in
// bench/README.md: how long something took on a machine that others use too fails no test.
func of(promised, small int) int {
	if programtest.Promised() {
		return promised
	}
	return small
}

// await returns what the promise of an expression gives.
func await[T any](v *visitor, expression string) T {
	v.Helper()
	got, err := chromedp.Run(v.tab, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	v.must(nil, err)
	return got
}

// took does something in the page, and returns after how many milliseconds the page has drawn what it waits for.
func (v *visitor) took(act, until string) float64 {
	v.Helper()
	return await[float64](v, fmt.Sprintf(`(async () => {
		const began = performance.now();
		%s;
		while (!(%s)) { if (performance.now() - began > 60000) throw new Error("never drawn"); await new Promise((r) => setTimeout(r)); }
		await new Promise((r) => requestAnimationFrame(r));
		return performance.now() - began;
	})()`, act, until))
}

// figures logs the percentiles of some measurements.
func (v *visitor) figures(what, unit string, all []float64) {
	v.Helper()
	if len(all) == 0 {
		v.Errorf("%s was not measured", what)
		return
	}
	slices.Sort(all)
	at := func(p float64) float64 { return all[min(len(all)-1, int(p*float64(len(all))))] }
	v.Logf("figure: %s: median %.0f, p95 %.0f, most %.0f %s (%d)", what, at(0.5), at(0.95), all[len(all)-1], unit, len(all))
}

// ManyJobs: the list of very many jobs is drawn, filtered and followed as quickly as that of a few.
var _ = inBrowser("ManyJobs", func(v *visitor) {
	n := of(100_000, 120)
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprintf("-- Crowd %d\nEMIT 1", i))
	}
	names = append(names, "-- Crowd that fails\nEMIT 1 / 0")
	work := make(chan string)
	var working sync.WaitGroup
	failures := make(chan error, 8)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	defer client.CloseIdleConnections()
	for range 8 {
		working.Go(func() {
			for script := range work {
				body, err := json.Marshal(map[string]any{"auth": map[string]string{"username": v.username, "password": v.password}, "query": script, "trace": false})
				if err == nil {
					var r *http.Request
					if r, err = http.NewRequestWithContext(v.Context(), http.MethodPost, v.service.URL()+"/v1/query", bytes.NewReader(body)); err == nil {
						r.Header.Set("Content-Type", "application/json")
						var res *http.Response
						if res, err = client.Do(r); err == nil {
							_, err = io.Copy(io.Discard, res.Body)
							_ = res.Body.Close()
							if err == nil && res.StatusCode != http.StatusOK && res.StatusCode != http.StatusUnprocessableEntity {
								err = fmt.Errorf("status %d", res.StatusCode)
							}
						}
					}
				}
				if err != nil {
					select {
					case failures <- err:
					default:
					}
				}
			}
		})
	}
	for i := range n {
		work <- names[i%len(names)]
	}
	close(work)
	working.Wait()
	select {
	case err := <-failures:
		v.Fatal(err)
	default:
	}
	v.open("jobs?q=Crowd")
	v.until(`document.querySelectorAll("tbody tr").length === 50`)
	v.look("jobs-many")
	var filtered, further, appeared, shown []float64
	for range of(20, 2) {
		for _, state := range []string{"Failed", "All"} {
			filtered = append(filtered, v.took(find(state)+`.click()`, fmt.Sprintf(`document.querySelectorAll("tbody tr").length >= 1 && [...document.querySelectorAll("tbody tr")].every((r) => r.innerText.includes("failed")) === %t`, state == "Failed")))
		}
	}
	for i := range of(10, 1) {
		further = append(further, v.took(find("Show older jobs")+`.click()`, fmt.Sprintf(`document.querySelectorAll("tbody tr").length >= %d`, 50*(i+2))))
	}
	v.open("")
	v.untilText("Latest jobs")
	for range of(10, 1) {
		shown = append(shown, v.took(`history.pushState(null, "", "/app/jobs?q=Crowd"), dispatchEvent(new PopStateEvent("popstate"))`, `document.querySelectorAll("tbody tr").length === 50`))
		v.read(`history.back()`)
		v.until(`document.querySelector("h1").innerText === "Overview"`)
	}
	v.open("jobs")
	v.untilText("● live")
	for i := range of(10, 1) {
		name := fmt.Sprintf("Latecomer %d", i)
		v.read(fmt.Sprintf(`window.__late = 0, new MutationObserver((_, o) => { if (document.body.innerText.includes(%q)) { window.__late = Date.now(); o.disconnect() } }).observe(document.body, { childList: true, subtree: true, characterData: true })`, name))
		before := await[float64](v, `Date.now()`)
		v.run("-- " + name + "\nEMIT 1")
		v.until(`window.__late > 0`)
		appeared = append(appeared, await[float64](v, `window.__late`)-before)
	}
	v.figures(fmt.Sprintf("%d jobs, the list opened", n), "ms", shown)
	v.figures(fmt.Sprintf("%d jobs, filtered", n), "ms", filtered)
	v.figures(fmt.Sprintf("%d jobs, 50 more", n), "ms", further)
	v.figures("a new job appears", "ms", appeared)
})

// ManySteps: of a long trace the rows that can be seen are there, and scroll as those of a short one.
var _ = inProduction("ManySteps", func(v *visitor) {
	v.signIn("ada")
	// Behind the first 5,000 steps those are kept that ask for something.
	v.run("-- A long trace\nFOR ?i FROM 1 TO 5000 DO\n  SET ?x AS ?i\nEND\nFOR ?i FROM 1 TO 5000 DO\n  SELECT ?i SET ?x;\nEND")
	v.open("jobs?q=A+long+trace")
	v.click("A long trace")
	v.until(`document.querySelector("[data-step]")`)
	all := await[float64](v, `document.querySelector(".steps").offsetHeight / 28`)
	if all < 10_000 {
		v.Errorf("%.0f steps are shown", all)
	}
	frames := await[[]float64](v, fmt.Sprintf(`(async () => {
		const end = document.querySelector(".steps").offsetTop + document.querySelector(".steps").offsetHeight, took = [];
		let most = 0, last = await new Promise((r) => requestAnimationFrame(r));
		for (let i = 1; i <= %d; i++) {
			window.scrollTo(0, end * i / %[1]d);
			const now = await new Promise((r) => requestAnimationFrame(r));
			took.push(now - last); last = now;
			most = Math.max(most, document.querySelectorAll("[data-step]").length);
		}
		if (most > 200) throw new Error(most + " rows are there at once");
		return took;
	})()`, of(300, 20)))
	v.until(fmt.Sprintf(`[...document.querySelectorAll("[data-step]")].some((e) => Number(e.dataset.step) === %d)`, int(all)-1))
	v.figures(fmt.Sprintf("%d steps shown, a frame while scrolling", int(all)), "ms", frames)
})

// ManyRows: pages of a large table go by its key, so that the last is as near as the first.
var _ = inBrowser("ManyRows", func(v *visitor) {
	n := of(1_000_000, 2_000)
	v.run(fmt.Sprintf("DROP TABLE IF EXISTS crowd; CREATE TABLE crowd (id INTEGER PRIMARY KEY, name TEXT NOT NULL, born INTEGER);\nINSERT INTO crowd (name, born) WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c WHERE x < %d) SELECT 'Person ' || x, 1900 + x %% 100 FROM c;", n))
	v.open("databases/main/crowd")
	v.until(`document.querySelectorAll(".rows tbody tr").length === 50`)
	first := func(id int) string {
		return fmt.Sprintf(`document.querySelector(".rows tbody tr")?.innerText.includes("Person %d")`, id)
	}
	var next, jump []float64
	for i := range of(30, 3) {
		next = append(next, v.took(find("Next page")+`.click()`, first(50*(i+1)+1)))
	}
	for i := range of(20, 2) {
		after := n - 60 - i*n/40
		jump = append(jump, v.took(fmt.Sprintf(`history.pushState(null, "", "/app/databases/main/crowd?after=" + encodeURIComponent("[%d]")), dispatchEvent(new PopStateEvent("popstate"))`, after), first(after+1)))
	}
	v.figures(fmt.Sprintf("%d rows, the next page", n), "ms", next)
	v.figures(fmt.Sprintf("%d rows, a page far behind", n), "ms", jump)
	v.run("DROP TABLE crowd")
})

// lastBlock is what is drawn of the end of the editor's output.
const lastBlock = `[...document.querySelectorAll(".text pre")].at(-1)`

// copies selects all of the editor's output by keys, and returns what is copied of it.
func (v *visitor) copies() string {
	v.Helper()
	v.read(`document.querySelector(".body").focus()`)
	v.press("a", chromedp.ModifierCtrl)
	v.until(`document.querySelector(".text").contains(getSelection().anchorNode) && getSelection().focusNode.parentElement === ` + lastBlock)
	return v.copied()
}

// copied is what is copied of what is selected.
func (v *visitor) copied() string {
	v.Helper()
	return v.read(`((d) => (document.querySelector(".text").dispatchEvent(new ClipboardEvent("copy", { clipboardData: d, bubbles: true, cancelable: true })), d.getData("text/plain")))(new DataTransfer())`)
}

// keyTime is how long it is from one key to the next for who types very fast.
const keyTime = 60 * time.Millisecond

// LongOutput: while much output arrives, keys are drawn as they are typed.
var _ = inProduction("LongOutput", func(v *visitor) {
	v.signIn("ada")
	parts := of(511, 16) // of 64 KiB: 32 MiB are shown, and the last words
	v.open("editor?text=" + url.QueryEscape(fmt.Sprintf("SET ?part AS REPEAT(\"0123456789abcde\\n\", 4096)\nFOR ?i FROM 1 TO %d DO\n  EMIT ?part\nEND\nEMIT \"the end\"\n-- ", parts)))
	v.until(`document.activeElement.matches(".cm-content[aria-autocomplete]")`)
	v.press("-- typed before it is run\n") // as by everybody: the first keys of a page are slower
	v.press("\r", chromedp.ModifierCtrl)
	v.until(lastBlock + ` !== undefined`)
	v.read(`window.__keys = [], addEventListener("keydown", (e) => requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = () => window.__keys.push(performance.now() - e.timeStamp); c.port2.postMessage(0) }), true)`)
	typed := 0
	for isOver := false; !isOver && typed < 2_000; {
		v.press("-- still typing\n"[typed%16 : typed%16+1])
		typed++
		<-time.After(keyTime) // or one key would wait for the frame of the one before
		isOver = typed >= 32 && v.read(`document.querySelector(".head [role=status]").innerText.trim()`) == "complete"
	}
	keys := await[[]float64](v, `window.__keys`) // of letters alone
	// Of all of it a little is in the document, and the rest is there for who looks for it.
	v.click("Go to the end")
	v.until(lastBlock + `?.textContent.endsWith("the end")`)
	if got := await[float64](v, `document.querySelectorAll(".text pre").length`); got > 50 {
		v.Errorf("%.0f blocks are drawn", got)
	}
	copied := v.copies()
	if want := strings.Repeat(strings.Repeat("0123456789abcde\n", 4096), parts) + "the end"; copied != want {
		v.Errorf("%d bytes are copied, want %d", len(copied), len(want))
	}
	if got := v.read(written); strings.Count(got, "still typing") < typed/16 {
		v.Errorf("of %d keys the text has %q", typed, got)
	}
	v.figures(fmt.Sprintf("%.1f MiB of output, a key drawn", float64(len(copied))/(1<<20)), "ms", keys)
})

// CompletionTime: how long completions take, from the call and from the key to the list; and mistakes to their line below.
var _ = inBrowser("CompletionTime", func(v *visitor) {
	rounds := of(20, 1)
	v.edit("")
	v.read(`document.querySelector(".cm-content").focus()`)
	v.read(`performance.setResourceTimingBufferSize(2000), window.__lists = [], window.__key = 0, addEventListener("keydown", (e) => window.__key = e.timeStamp, true), new MutationObserver((l) => { if (window.__key && l.some((m) => [...m.addedNodes].some((n) => n.classList?.contains("cm-tooltip-autocomplete") || n.querySelector?.(".cm-tooltip-autocomplete")))) { window.__lists.push(performance.now() - window.__key); window.__key = 0 } }).observe(document.body, { childList: true, subtree: true })`)
	for i := range of(60, 3) {
		v.press([]string{"EMIT uppe", "SET ?a AS len", "EMIT !COO", "SELECT * FR"}[i%4])
		v.until(`document.querySelector(".cm-tooltip-autocomplete")`)
		v.press("\x1b")
		v.until(`!document.querySelector(".cm-tooltip-autocomplete")`)
		v.press("\r")
	}
	v.figures("a call of /v1/complete", "ms", await[[]float64](v, `performance.getEntriesByType("resource").filter((e) => e.name.endsWith("/v1/complete")).map((e) => e.duration)`))
	v.figures("a key until the list is there, 50 ms of rest among it", "ms", await[[]float64](v, `window.__lists`))
	var squiggles []float64
	for i := range rounds {
		v.edit(fmt.Sprintf("EMIT 1\n-- %d", i))
		v.read(`document.querySelector(".cm-content").focus()`)
		v.press("EMIT ?nothing ")
		squiggles = append(squiggles, v.took("", `document.querySelector(".cm-lintRange-error")`))
	}
	v.figures("the last key until a mistake is underlined, 150 ms of rest among it", "ms", squiggles)
})

// Interactive: how long a page takes from its address to what somebody can use, first and with what the browser kept.
var _ = inBrowser("Interactive", func(v *visitor) {
	v.must(chromedp.Call(v.tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `new MutationObserver((_, o) => { if (document.querySelector("main h1, .cm-content")) { o.disconnect(); requestAnimationFrame(() => setTimeout(() => window.__usable = performance.now())) } }).observe(document, { childList: true, subtree: true })`,
	}))
	for _, p := range []string{"", "jobs", "files", "editor"} {
		var all []float64
		for range of(20, 2) {
			v.open(p)
			v.until(`window.__usable > 0`)
			all = append(all, await[float64](v, `window.__usable`))
		}
		v.figures("/app/"+p+" usable: first time "+fmt.Sprintf("%.0f", all[0])+" ms; all", "ms", all)
	}
})
