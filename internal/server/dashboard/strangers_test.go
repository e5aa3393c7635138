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

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/programtest"
	"ql/internal/server/pagetest"
)

// ran is an expression that tells what hostile texts have done to a page: a script that ran, what they made
// elements, and links that run something. "" is nothing.
const ran = `[
	window.pwned ? "a script ran" : "",
	getComputedStyle(document.body).getPropertyValue("--pwned") ? "a style counts" : "",
	...[...document.querySelectorAll("a, iframe, form, img, [href], [src], [action], [formaction]")].flatMap((e) => ["href", "src", "action", "formaction", "xlink:href"].map((n) => e.getAttribute(n) ?? "").filter((a) => /^\s*(javascript|data:text|\/\/)/i.test(a) || a.startsWith("http://127.0.0.1:9/"))),
	...[...document.querySelectorAll("body script, base, object, embed, marquee, math, xss, body style:not([nonce]), [onerror], [onload], [onfocus], [onclick]")].map((e) => "an element " + e.outerHTML.slice(0, 200)),
].filter(Boolean).join("\n")`

// try asks for something that may be refused: not every text is a name of everything.
func (v *visitor) try(method, path, body string) bool {
	v.Helper()
	r, err := http.NewRequestWithContext(v.Context(), method, v.service.URL()+path, strings.NewReader(body))
	v.must(nil, err)
	r.SetBasicAuth("dev", "dev")
	if strings.HasPrefix(body, "{") {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(r)
	v.must(nil, err)
	_, err = io.Copy(io.Discard, res.Body)
	v.must(nil, err)
	v.must(nil, res.Body.Close())
	if res.StatusCode >= 500 {
		v.Errorf("%s %s: %d", method, path, res.StatusCode)
	}
	return res.StatusCode < 300
}

// HostileTexts has texts that run where they are not escaped in all that an account has names and values of,
// and opens all pages on which they are seen.
var _ = inBrowser("HostileTexts", func(v *visitor) {
	texts := pagetest.Hostile()
	if !programtest.Promised() {
		texts = []string{texts[0], texts[13], `javascript:window.pwned=1`, `" onfocus="window.pwned=1" autofocus="`, `'-window.pwned=1-'`}
	}
	quoted := func(text string) string {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		v.must(nil, e.Encode(text))
		return strings.ReplaceAll(strings.TrimSpace(b.String()), "{", `\u007b`)
	}
	column := func(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }
	v.must(chromedp.Call(v.tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `for (const n of ["alert", "confirm", "prompt", "print"]) window[n] = () => { window.pwned = n };`,
	}))
	v.run("DROP TABLE IF EXISTS hostile; CREATE TABLE hostile (id INTEGER PRIMARY KEY)") // the database is there
	kept := map[string]int{}
	var sent []string
	count := func(kind string, ok bool) {
		if ok {
			kept[kind]++
		}
	}
	for i, text := range texts {
		flat := strings.ReplaceAll(text, "/", "∕")
		name := url.PathEscape(flat)
		count("file", v.try(http.MethodPut, "/v1/files/hostile/"+name+".txt", text))
		count("folder", v.try(http.MethodPut, "/v1/files/hostile/"+name+"/x.csv", text+","+text+"\n"+text+",1\n"))
		count("svg", v.try(http.MethodPut, fmt.Sprintf("/v1/files/hostile/%d.svg", i), `<svg xmlns="http://www.w3.org/2000/svg">`+text+`<script>top.pwned=1;parent.pwned=1</script></svg>`))
		count("link", v.try(http.MethodPost, "/v1/shares", fmt.Sprintf(`{"path":"/hostile/%d.svg","name":%s}`, i, quoted(flat))))
		count("script", v.try(http.MethodPut, fmt.Sprintf("/v1/scripts/hostile-%d", i), `{"text":`+quoted("EMIT "+quoted(text))+`}`))
		count("schedule", v.try(http.MethodPut, fmt.Sprintf("/v1/schedules/hostile-%d", i), fmt.Sprintf(`{"script":"hostile-%d","every":"9d","input":{"a":%s},"concurrency":{"key":%s,"most":1}}`, i, quoted(text), quoted("key "+strings.ReplaceAll(text, "\n", " ")))))
		v.run("MAIL TO \"nobody@example.com\" SUBJECT " + quoted("hostile "+strings.ReplaceAll(text, "\n", " ")) + " TEXT \"x\" ATTACH [{path: \"/hostile/" + fmt.Sprint(i) + ".svg\", name: " + quoted(flat) + "}]")
		// Names of these are plain.
		for _, name := range []struct{ method, path, body string }{
			{http.MethodPut, "/v1/secrets/" + url.PathEscape(text), `{"value":"x"}`}, {http.MethodPost, "/v1/keys", `{"name":` + quoted(text) + `,"scopes":["run"]}`},
			{http.MethodPost, "/v1/domains", `{"domain":` + quoted(text) + `}`}, {http.MethodPost, "/v1/sites/main/domains", `{"domain":` + quoted(text) + `}`},
			{http.MethodPut, "/v1/machines/" + url.PathEscape(text), `{"kind":"wasm","module":"/x.wasm"}`}, {http.MethodPost, "/v1/databases/" + url.PathEscape(text) + "/query", `{"write":true,"sql":"CREATE TABLE x (a)"}`}, {http.MethodPut, "/v1/scripts/" + url.PathEscape(text), `{"text":"EMIT 1"}`},
			{http.MethodPut, "/v1/schedules/" + url.PathEscape(text), fmt.Sprintf(`{"script":"hostile-%d","every":"9d"}`, i)},
		} {
			if v.try(name.method, name.path, name.body) {
				v.Errorf("%s %s takes %s", name.method, name.path, text)
			}
		}
		v.run("-- hostile " + strings.ReplaceAll(text, "\n", " ") + "\nEMIT " + quoted(text) + "\nEMIT JSON [{a: " + quoted(text) + "}]\nREAD " + quoted("/"+text) + " SET ?x")
		if i%3 == 0 {
			v.run("-- hostile asked " + text + "\nGATHER " + quoted(text) + " FIELDS name TEXT REQUIRED, kind CHOICE [" + quoted(text) + `, "b"] TO "hostile" SET ?f`)
			v.run("-- hostile confirmed " + text + "\nCONFIRM " + quoted(text) + ` TO "hostile"`)
		}
		// What a caller sends, what somebody notes beside a decision, and what a server answers to a webhook.
		var asked struct {
			JobID string `json:"job_id"`
		}
		v.call(http.MethodPost, "/v1/query", map[string]any{
			"auth": map[string]string{"username": v.username, "password": v.password}, "query": "-- hostile sent\nSET ?held AS [" + quoted(text) + "]\nCONFIRM \"Go on?\" TO \"nobody\"", "mode": "async",
			"request": map[string]any{"get": map[string]string{"a": text}}, "options": map[string]any{"webhook": v.echo + "/?say=" + url.QueryEscape(text)},
		}, &asked)
		sent = append(sent, asked.JobID)
		table := fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s TEXT, id INTEGER PRIMARY KEY); INSERT INTO %s (%s) VALUES (%s);", column(text), column(text), column(text), column(text), "'"+strings.ReplaceAll(text, "'", "''")+"'")
		count("table", v.try(http.MethodPost, "/v1/databases/main/query", `{"write":true,"sql":`+quoted(table)+`}`))
	}
	for kind, least := range map[string]int{"file": 1, "folder": 1, "svg": len(texts), "link": 1, "script": len(texts), "schedule": 1, "table": len(texts)} {
		if kept[kind] < least {
			v.Errorf("of %d texts %d became a %s", len(texts), kept[kind], kind)
		}
	}
	// Commands that a machine allows are any words.
	var allowed []string
	for _, text := range texts[:5] {
		allowed = append(allowed, quoted(strings.NewReplacer(`"`, "", `'`, "", "`", "").Replace(text)))
	}
	if !v.try(http.MethodPut, "/v1/machines/hostile", `{"kind":"ssh","address":"nobody@127.0.0.1:9","allow":[`+strings.Join(allowed, ",")+`]}`) {
		v.Error("a machine does not allow any command")
	}
	look := func(what string) {
		v.Helper()
		if found := v.read(ran); found != "" {
			v.Errorf("%s: %s", what, found)
		}
		if refused := v.read(`JSON.stringify(window.__refused ?? [])`); refused != "[]" {
			v.Errorf("%s was refused: %s", what, refused)
		}
	}
	first := texts[0]
	for _, at := range []struct{ path, text string }{
		{"", "hostile"}, {"jobs?q=hostile", "hostile"}, {"jobs?q=" + url.QueryEscape(first), "hostile"},
		{"inbox?to=hostile", first}, {"inbox?to=" + url.QueryEscape(first), "Nothing"},
		{"files/hostile", ".svg"}, {"files/" + url.PathEscape(first), "cannot be used"}, {"links", "Links"},
		{"databases", "Databases"}, {"databases/main", "Tables"}, {"settings/keys", "Keys"}, {"settings/secrets", "Secrets"},
		{"machines", "hostile"}, {"schedules", "hostile-0"}, {"schedules?name=" + url.QueryEscape(first), "Schedules"}, {"mails", "hostile"}, {"mails?id=" + url.QueryEscape(first), "Mails"}, {"sites", "Own domains"}, {"usage", "Running time"}, {"settings/scripts", "Scripts"}, {"settings/domains", "Domains"}, {"settings/log", "Who did what"}, {"sign-in?next=javascript:pwned=1", "Overview"},
		{"sign-in?next=" + url.QueryEscape("/app/../files/x"), "Overview"}, {"sign-in?next=" + url.QueryEscape("/app/../..//127.0.0.1:9/"), "Overview"}, {"sign-in?next=" + url.QueryEscape("/app/%2e%2e/x"), "Overview"}, {url.PathEscape(first), ""},
		{"reset/" + url.PathEscape(first), "password"}, {"welcome/" + url.PathEscape(first), "account"},
	} {
		v.open(at.path)
		if at.text != "" {
			v.untilText(at.text)
		}
		look(at.path)
		if !strings.HasPrefix(v.read(`location.href`), v.url+"/app/") {
			v.Fatalf("%s leads to %s", at.path, v.read(`location.href`))
		}
	}
	for i, id := range sent {
		text := texts[i]
		var job struct {
			Ref        int
			ConfirmURL string `json:"confirm_url"`
		}
		for job.ConfirmURL == "" {
			v.call(http.MethodGet, "/v1/jobs/"+id, nil, &job)
		}
		v.open(fmt.Sprintf("jobs/%d", job.Ref))
		v.click("Variables")
		v.until(`document.querySelectorAll("[role=tabpanel] dl").length === 1`)
		look("variables of a job " + text)
		v.call(http.MethodPost, strings.TrimPrefix(job.ConfirmURL, v.service.URL()), map[string]any{"approved": true, "note": text}, nil)
		v.open(fmt.Sprintf("jobs/%d", job.Ref))
		for _, tab := range []string{"Request", "Answers1", "Webhook"} {
			v.until(`[...document.querySelectorAll("[role=tab]")].some((t) => t.innerText.replace(/\s/g, "") === "` + tab + `")`)
			v.read(`[...document.querySelectorAll("[role=tab]")].find((t) => t.innerText.replace(/\s/g, "") === "` + tab + `").click()`)
			look(tab + " of a job " + text)
		}
	}
	var hooks struct {
		Webhooks []struct {
			ID       string
			Attempts int
		}
	}
	for len(hooks.Webhooks) == 0 || hooks.Webhooks[0].Attempts == 0 {
		v.call(http.MethodGet, "/v1/webhooks?limit=100", nil, &hooks)
	}
	v.open("webhooks")
	v.untilText("say=")
	look("webhooks")
	for _, hook := range hooks.Webhooks {
		v.open("webhooks?id=" + hook.ID)
		v.until(`document.querySelector("dialog[open], aside, .panel")`)
		look("webhook " + hook.ID)
	}
	v.open("machines?name=hostile")
	v.until(`document.querySelectorAll("dialog[open] code.line").length === 5`)
	look("a machine")
	for i := range texts {
		v.open(fmt.Sprintf("schedules?name=hostile-%d", i))
		v.until(`document.querySelector("dialog[open] dl, dialog[open] [role=alert]")`)
		look("a schedule " + texts[i])
	}
	var mails struct {
		Mails []struct{ ID, Subject string }
	}
	v.call(http.MethodGet, "/v1/mails?limit=100", nil, &mails)
	for _, m := range mails.Mails {
		v.open("mails?id=" + m.ID)
		v.until(`document.querySelector("dialog[open] dl")`)
		look("a mail " + m.Subject)
	}
	if len(mails.Mails) < 4 {
		v.Errorf("%d mails were looked at", len(mails.Mails))
	}
	for i, text := range texts {
		flat := strings.ReplaceAll(text, "/", "∕")
		v.open("jobs?q=" + url.QueryEscape("hostile "+text))
		look("jobs " + text)
		if v.read(`String(document.querySelectorAll("tbody a.name").length)`) != "0" {
			v.read(`document.querySelector("tbody a.name").click()`)
			v.until(`location.pathname.startsWith("/app/jobs/") && document.querySelector("[data-step], li[data-line]")`)
			look("job " + text)
		}
		v.open("files/hostile?file=" + url.QueryEscape(flat+".txt"))
		v.until(`document.querySelector("aside")`)
		look("file " + text)
		v.open("files/hostile/" + url.PathEscape(flat) + "?file=x.csv")
		look("folder " + text)
		v.open("databases/main/" + url.PathEscape(text))
		// Names that differ in capital letters alone are one table's.
		v.until(`document.querySelector(".rows tbody tr") || document.body.innerText.includes("There is no table")`)
		look("table " + text)
		if i == 0 {
			v.open(fmt.Sprintf("files/hostile?file=%d.svg", i))
			v.until(`document.querySelector("aside iframe")`)
			look("svg " + text)
		}
	}
	v.edit("EMIT " + quoted(first) + "\nGATHER " + quoted(first) + " FIELDS name TEXT, kind CHOICE [" + quoted(first) + `, "b"] SET ?f`)
	v.read(`document.querySelector(".cm-content").focus()`)
	v.press("\r", chromedp.ModifierCtrl)
	v.until(`document.querySelector("form.question")`)
	look("editor")
})

// RepeatedTexts: nothing that an account may have twice is shown once, or breaks the page that shows it.
var _ = inBrowser("RepeatedTexts", func(v *visitor) {
	v.call(http.MethodPut, "/v1/machines/repeated", map[string]any{"kind": "ssh", "address": "nobody@127.0.0.1:9", "allow": []string{"ls *", "date", "ls *"}}, nil)
	v.open("machines?name=repeated")
	v.until(`[...document.querySelectorAll("dialog[open] code.line")].map((e) => e.innerText).join() === "ls *,date,ls *"`)
	v.call(http.MethodDelete, "/v1/machines/repeated", nil, nil)

	v.run(`WRITE "x" TO "/repeated/a.txt"
		MAIL TO ["nobody@example.com", "nobody@example.com"] SUBJECT "repeated" TEXT "x" ATTACH ["/repeated/a.txt", "/repeated/a.txt"]`)
	var mails struct {
		Mails []struct {
			ID, Subject string
		}
	}
	v.call(http.MethodGet, "/v1/mails?limit=1", nil, &mails)
	if len(mails.Mails) != 1 || mails.Mails[0].Subject != "repeated" {
		v.Fatalf("no mail was made: %v", mails)
	}
	v.open("mails?id=" + mails.Mails[0].ID)
	v.until(`document.querySelectorAll("dialog[open] dd .line").length === 2`)

	// A link that is used by many at once has receipts of the same moment and address.
	var share struct{ URL string }
	v.call(http.MethodPost, "/v1/shares", map[string]any{"path": "/repeated/a.txt", "times": 100}, &share)
	var loading sync.WaitGroup
	for range 40 {
		loading.Go(func() {
			r, err := http.NewRequestWithContext(v.Context(), http.MethodGet, share.URL, nil)
			if err != nil {
				v.Error(err)
				return
			}
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				v.Error(err)
				return
			}
			if err := res.Body.Close(); err != nil {
				v.Error(err)
			}
		})
	}
	loading.Wait()
	var links struct {
		Shares []struct {
			ID       string
			Receipts []struct{ At string }
		}
	}
	v.call(http.MethodGet, "/v1/shares?limit=1", nil, &links)
	v.open("links?id=" + links.Shares[0].ID)
	v.until(fmt.Sprintf(`document.querySelectorAll("dialog[open] tbody tr").length === %d`, len(links.Shares[0].Receipts)))
	v.open("files/repeated?file=a.txt")
	v.untilText("127.0.0.1")

	// Each row once, however often more are asked for.
	v.run("FOR ?i FROM 1 TO 205 DO\nWRITE \"x\" TO \"/repeated/many/{?i}.txt\"\nEND")
	v.open("files/repeated/many")
	v.until(find("Show more"))
	v.read(find("Show more") + `.click(), ` + find("Show more") + `?.click()`)
	v.until(`document.querySelectorAll("tbody tr").length === 205`)
})

// PreviewsAreShown: in development pages are called by any name of the machine, and previews are shown in them,
// in a sandbox: they are never of the origin of a page.
var _ = inBrowser("PreviewsAreShown", func(v *visitor) {
	for _, name := range []string{"a.svg", "a.html"} {
		v.call(http.MethodPut, "/v1/files/framed/"+name, `<svg xmlns="http://www.w3.org/2000/svg"><script>top.pwned=1</script></svg>`, nil)
		var made struct{ URL string }
		v.call(http.MethodPost, "/v1/previews", map[string]string{"path": "/framed/" + name}, &made)
		r, err := http.NewRequestWithContext(v.Context(), http.MethodGet, made.URL, nil)
		v.must(nil, err)
		res, err := http.DefaultClient.Do(r)
		v.must(nil, err)
		v.must(nil, res.Body.Close())
		policy := res.Header.Get("Content-Security-Policy")
		_, framers, _ := strings.Cut(policy, "frame-ancestors ")
		if !strings.HasPrefix(policy, "sandbox; ") || !slices.Equal(strings.Fields(framers), []string{v.service.URL(), v.url}) {
			v.Errorf("%s: %s", name, policy)
		}
		// Opened as a page of its own, it is of no origin and runs nothing.
		v.call(http.MethodPost, "/v1/previews", map[string]string{"path": "/framed/" + name}, &made)
		v.must(nil, chromedp.Do(v.tab, chromedp.Navigate(strings.Replace(made.URL, v.service.URL(), v.url, 1))))
		if got := v.read(`String(self.origin) + " " + String(window.pwned)`); got != "null undefined" {
			v.Errorf("%s: %s", name, got)
		}
		v.mu.Lock()
		v.console = nil // which says that the sandbox let no script run
		v.mu.Unlock()
	}
	// A PDF is shown by the browser's own viewer, which no sandbox has.
	v.call(http.MethodPut, "/v1/files/framed/a.pdf", "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>/Contents 4 0 R>>endobj\n4 0 obj<</Length 44>>stream\nBT /F 24 Tf 20 100 Td (A page of PDF) Tj ET\nendstream endobj\ntrailer<</Root 1 0 R>>\n", nil)
	var pdf struct{ URL string }
	v.call(http.MethodPost, "/v1/previews", map[string]string{"path": "/framed/a.pdf"}, &pdf)
	r, err := http.NewRequestWithContext(v.Context(), http.MethodGet, pdf.URL, nil)
	v.must(nil, err)
	res, err := http.DefaultClient.Do(r)
	v.must(nil, err)
	v.must(nil, res.Body.Close())
	if policy := res.Header.Get("Content-Security-Policy"); policy != "frame-ancestors "+v.service.URL()+" "+v.url || res.Header.Get("Content-Type") != "application/pdf" || res.Header.Get("X-Content-Type-Options") != "nosniff" {
		v.Errorf("%s %s", res.Header.Get("Content-Type"), policy)
	}
	v.open("files/framed?file=a.pdf")
	v.until(`document.querySelector("aside iframe") && !document.querySelector("aside iframe").hasAttribute("sandbox")`)
	v.picture("files-pdf")
	v.open("files/framed?file=a.svg")
	v.until(`document.querySelector("aside iframe")?.getAttribute("sandbox") === ""`)
})

// AnotherSignsIn: a page of an account does nothing to that of somebody who signs in by another tab.
var _ = inBrowser("AnotherSignsIn", func(v *visitor) {
	v.service.Account("another-one", account.Free)
	v.call(http.MethodPut, "/v1/files/ours/kept.txt", "hello", nil)
	v.open("files/ours")
	v.untilText("kept.txt")
	v.read(`window.__before = true`)
	// As another tab does, which has the same cookie.
	v.read(fmt.Sprintf(`fetch("/v1/session", {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({username: "another-one", password: %q})}).then((r) => window.__signed = r.status), ""`, apptest.Password))
	v.until(`window.__signed === 200`)
	v.click("New folder")
	v.fill("Name", "theirs")
	v.click("Make it")
	v.until(`!window.__before && document.querySelector("h1")`)
	v.untilText("There is no folder /ours")
})
