// The library that drives the browser has races of its own, which the detector finds.

//go:build !race

package formpage_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"ql/internal/apptest"
	"ql/internal/config"
	"ql/internal/server/browsertest"
)

// person is somebody in front of a browser, and the service that asks.
type person struct {
	t       *testing.T
	service *apptest.Service
	url     string
	tab     context.Context

	mu      sync.Mutex
	console []string // what the browser complained of
}

// newPerson starts a service and a browser.
func newPerson(t *testing.T, change ...func(*config.Settings)) *person {
	t.Helper()
	p := &person{t: t, service: apptest.Boot(t, change...)}
	p.url = p.service.URL()
	var cancel context.CancelFunc
	p.tab, cancel = context.WithCancel(browsertest.Open(t))
	messages := chromedp.Console(p.tab)
	var listening sync.WaitGroup
	listening.Go(func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			// A page that refuses an answer has a status that says so, and advice is none of ours.
			if m.Source != "network" && m.Type != chromedp.ConsoleDebug && m.Type != chromedp.ConsoleInfo {
				p.mu.Lock()
				p.console = append(p.console, m.String())
				p.mu.Unlock()
			}
		}
	})
	t.Cleanup(listening.Wait)
	t.Cleanup(cancel)
	p.do(`0`) // the browser is there
	return p
}

// complaints returns what the browser complained of since the last call.
func (p *person) complaints() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.console
	p.console = nil
	return all
}

func (p *person) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// do evaluates an expression in the page, whether its scripts may run or not.
func (p *person) do(expression string) {
	p.t.Helper()
	if got := p.read("(" + expression + "), ''"); got != "" {
		p.t.Fatalf("%s: %s", expression, got)
	}
}

// read returns the text that an expression gives.
func (p *person) read(expression string) string {
	p.t.Helper()
	return browsertest.Read(p.t, p.tab, expression)
}

// until waits until an expression is true.
func (p *person) until(expression string) {
	p.t.Helper()
	browsertest.Until(p.t, p.tab, expression)
}

// scripts says whether the scripts of pages run.
func (p *person) scripts(run bool) {
	p.t.Helper()
	_, err := chromedp.Call(p.tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !run})
	p.must(err)
}

// speaks says which languages the person reads.
func (p *person) speaks(languages string) {
	p.t.Helper()
	_, err := chromedp.Call(p.tab, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": json.RawMessage(strconv.Quote(languages))}})
	p.must(err)
}

// question is a job that asks.
type question struct {
	Status  string
	JobID   string `json:"job_id"`
	FormURL string `json:"form_url"`
	PollURL string `json:"poll_url"`
	Result  string
	Error   struct{ Message string }
}

// ask runs a script that asks, with values that it finds by !GET.
func (p *person) ask(script string, values map[string]any) (q question) {
	p.t.Helper()
	call := map[string]any{"auth": map[string]string{"username": "dev", "password": "dev"}, "query": script}
	if values != nil {
		call["request"] = map[string]any{"get": values}
	}
	body, err := json.Marshal(call)
	p.must(err)
	p.call(http.MethodPost, p.url+"/v1/query", body, &q)
	if q.Status != "paused" {
		p.t.Fatalf("the job is %+v", q)
	}
	return q
}

func (p *person) call(method, url string, body []byte, into any) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, url, bytes.NewReader(body))
	p.must(err)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	p.must(err)
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	p.must(err)
	if err := json.Unmarshal(text, into); err != nil {
		p.t.Fatalf("%v: %.300s", err, text)
	}
}

// result is what became of a job that has been answered.
func (p *person) result(q question) string {
	p.t.Helper()
	var now question
	p.call(http.MethodGet, q.PollURL+"?wait=30", nil, &now)
	if now.Status != "complete" {
		p.t.Fatalf("the job is %+v", now)
	}
	return now.Result
}

// visit opens a page.
func (p *person) visit(url string) {
	p.t.Helper()
	p.must(chromedp.Do(p.tab, chromedp.Navigate(url)))
	p.until(`document.readyState === "complete" && document.querySelector("main")`)
}

// fill fills in a field.
func (p *person) fill(name string, values ...string) {
	p.t.Helper()
	wanted, err := json.Marshal(append([]string{}, values...))
	p.must(err)
	p.do(fmt.Sprintf(`((name, values) => {
		for (const e of [...document.querySelectorAll("form :is(input, select, textarea)")].filter((e) => e.name === name)) {
			if (e.type === "radio" || e.type === "checkbox") e.checked = values.includes(e.value);
			else if (e.type !== "file") e.value = values[0] ?? "";
			e.dispatchEvent(new Event("input", { bubbles: true }));
		}
	})(%q, %s)`, name, wanted))
}

// choose chooses a file.
func (p *person) choose(name, content string) {
	p.t.Helper()
	path := filepath.Join(p.t.TempDir(), "photo.txt")
	p.must(os.WriteFile(path, []byte(content), 0o600))
	ids, err := chromedp.Run(p.tab, chromedp.QueryNodeIDs(chromedp.CSS(fmt.Sprintf("input[name=%q]", name))))
	p.must(err)
	_, err = chromedp.Call(p.tab, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: []string{path}, NodeID: ids[0]})
	p.must(err)
}

// send presses a button and waits for the page that follows.
func (p *person) send(button string) {
	p.t.Helper()
	p.do(fmt.Sprintf(`document.querySelector("main").old = true, document.querySelector(%q).click()`, button))
	p.until(`document.readyState === "complete" && document.querySelector("main") && !document.querySelector("main").old`)
}

// unchecked lets the browser send whatever was filled in.
func (p *person) unchecked() { p.t.Helper(); p.do(`document.forms[0].noValidate = true`) }

// kind is a kind of field with answers to it.
type kind struct {
	name, field    string // as a script declares it, with bounds
	preset         string // an attribute that a person clears
	right, wrong   []string
	want, cleared  string // what the script gets
	problem        string
	required       bool // what is wrong is that nothing was chosen
	isFile, secret bool
}

var kinds = []kind{
	{name: "text", field: `TEXT MAX 5`, preset: `DEFAULT "abc"`, right: []string{"Ada"}, wrong: []string{"too long"}, want: `"Ada"`, problem: "Must have at most 5 characters."},
	{name: "long", field: `LONG TEXT MAX 5`, preset: `DEFAULT "abc"`, right: []string{"a\nb"}, wrong: []string{"too\nlong"}, want: `"a\nb"`, problem: "Must have at most 5 characters."},
	{name: "email", field: `EMAIL`, preset: `DEFAULT "ada@example.com"`, right: []string{"bob@example.com"}, wrong: []string{"bob@nowhere"}, want: `"bob@example.com"`, problem: "Must be an e-mail address such as ada@example.com."},
	{name: "url", field: `URL`, preset: `DEFAULT "https://example.com"`, right: []string{"https://example.org/x"}, wrong: []string{"ftp://example.org"}, want: `"https://example.org/x"`, problem: "Must be an address such as https://example.com/page."},
	{name: "phone", field: `PHONE`, preset: `DEFAULT "+1 202 555 0143"`, right: []string{"030 1234"}, wrong: []string{"nobody"}, want: `"030 1234"`, problem: "Must be a phone number such as +1 202 555 0143."},
	{name: "secret", field: `SECRET MIN 4`, right: []string{"hunter2"}, wrong: []string{"abc"}, want: `"hunter2"`, problem: "Must have at least 4 characters.", secret: true},
	{name: "number", field: `NUMBER MIN 0 MAX 10`, preset: `DEFAULT 2.5`, right: []string{"7.25"}, wrong: []string{"99.5"}, want: `7.25`, problem: "Must be a number from 0 to 10."},
	{name: "whole", field: `INTEGER MIN 1 MAX 10`, preset: `DEFAULT 2`, right: []string{"7"}, wrong: []string{"1.5"}, want: `7`, problem: "Must be a whole number from 1 to 10."},
	{name: "price", field: `DECIMAL MIN 0 MAX 10`, preset: `DEFAULT "2.50"`, right: []string{"7.20"}, wrong: []string{"7,20"}, want: `"7.20"`, problem: "Must be a decimal number from 0 to 10."},
	{name: "sure", field: `BOOLEAN REQUIRED`, right: []string{"false"}, want: `false`, problem: "Must be answered.", required: true},
	{name: "news", field: `BOOLEAN`, preset: `DEFAULT TRUE`, right: []string{"true"}, want: `true`, cleared: `false`},
	{name: "day", field: `DATE MIN "2026-01-01"`, preset: `DEFAULT "2026-12-31"`, right: []string{"2026-12-30"}, wrong: []string{"2025-12-31"}, want: `"2026-12-30"`, problem: "Must be a date from 2026-01-01 on."},
	{name: "clock", field: `TIME MAX "18:00"`, preset: `DEFAULT "09:30"`, right: []string{"10:15"}, wrong: []string{"19:00"}, want: `"10:15"`, problem: "Must be a time up to 18:00."},
	{name: "photo", field: `FILE MAX 6`, right: []string{"a face"}, wrong: []string{"two faces"}, want: `{"name":"photo.txt","type":"text/plain","size":6,"path":`, problem: "Must be a file of at most 6 bytes.", isFile: true},
	{name: "size", field: `CHOICE {s: "Small", m: "Medium"} REQUIRED`, right: []string{"m"}, want: `"m"`, problem: "Must be answered.", required: true},
	{name: "colour", field: `CHOICE ["red", "green"]`, preset: `DEFAULT "red"`, right: []string{"green"}, want: `"green"`},
	{name: "land", field: `CHOICE ["a", "b", "c", "d", "e", "f", "g"] REQUIRED`, right: []string{"g"}, want: `"g"`, problem: "Must be answered.", required: true},
	{name: "town", field: `CHOICE ["a", "b", "c", "d", "e", "f", "g"]`, preset: `DEFAULT "c"`, right: []string{"b"}, want: `"b"`},
	{name: "extras", field: `CHOICES ["x", "y", "z"] MAX 1`, preset: `DEFAULT ["x"]`, right: []string{"y"}, wrong: []string{"x", "z"}, want: `["y"]`, cleared: `[]`, problem: "Must be at most 1 choice."},
}

// give fills in a field of a kind.
func (p *person) give(k kind, values []string) {
	p.t.Helper()
	if k.isFile && len(values) > 0 {
		p.choose(k.name, values[0])
		return
	}
	p.fill(k.name, values...)
}

// gather is a script that asks for some fields and shows what it got.
func gather(all []kind, preset bool) string {
	var fields []string
	for _, k := range all {
		f := k.name + " " + k.field
		if preset {
			f = k.name + " " + strings.TrimSuffix(k.field, " REQUIRED") + " " + k.preset
		}
		fields = append(fields, f)
	}
	return `GATHER "Please" FIELDS ` + strings.Join(fields, ", ") + ` SET ?f EMIT ?f`
}

// holds tells whether the JSON of a form has what a script is to get of a field.
func holds(result, name, want string) bool {
	return strings.Contains(result, fmt.Sprintf("%q:%s", name, want))
}

// right fills in all fields as they should be, and sends them.
func (p *person) right(all []kind) {
	p.t.Helper()
	q := p.ask(gather(all, false), nil)
	p.visit(q.FormURL)
	p.sendRight(all, q)
}

func (p *person) sendRight(all []kind, q question) {
	p.t.Helper()
	for _, k := range all {
		p.give(k, k.right)
	}
	p.send("button")
	if title := p.read("document.title"); title != "Thank you" {
		p.t.Fatalf("the page is %q: %s", title, p.read("document.body.innerText"))
	}
	result := p.result(q)
	for _, k := range all {
		if !holds(result, k.name, k.want) {
			p.t.Errorf("%s: the script gets %s, want %s", k.name, result, k.want)
		}
	}
}

// wrong fills in what does not fit, reads what is wrong beside each field, and mends it.
func (p *person) wrong(all []kind) {
	p.t.Helper()
	q := p.ask(gather(all, false), nil)
	p.visit(q.FormURL)
	first := ""
	for _, k := range all {
		values := k.wrong
		if k.problem == "" {
			values = k.right
		} else if first == "" {
			first = k.name
		}
		p.give(k, values)
	}
	if first == "" {
		return
	}
	p.unchecked()
	p.send("button")
	p.until(fmt.Sprintf("document.activeElement.name === %q", first))
	for _, k := range all {
		beside := p.read(fmt.Sprintf(`(() => {
			const e = [...document.forms[0].elements].find((e) => e.name === %q);
			const group = e.closest("fieldset");
			const ids = ((group ?? e).getAttribute("aria-describedby") ?? "").split(" ").filter(Boolean);
			return ids.map((id) => document.getElementById(id)).filter((n) => n.matches(".wrong") && !n.hidden).map((n) => n.textContent).join("|");
		})()`, k.name))
		if k.problem != "" && !strings.Contains(beside, k.problem) {
			p.t.Errorf("%s: beside it stands %q, want %q", k.name, beside, k.problem)
		}
		linked := p.read(fmt.Sprintf(`[...document.querySelectorAll(".summary a")].some((a) => document.querySelector(a.getAttribute("href"))?.name === %q)`, k.name))
		if want := strconv.FormatBool(k.problem != ""); linked != want {
			p.t.Errorf("%s: is it in the summary? %s", k.name, linked)
		}
		if k.secret && p.read(fmt.Sprintf(`document.forms[0].elements[%q].getAttribute("value")`, k.name)) != "null" {
			p.t.Errorf("%s: the page brings a secret back", k.name)
		}
		// What was wrong is still there to be mended.
		if !k.secret && !k.isFile && len(k.wrong) == 1 && p.read(fmt.Sprintf(`document.forms[0].elements[%q].value`, k.name)) != k.wrong[0] {
			p.t.Errorf("%s: what was filled in is gone", k.name)
		}
	}
	p.sendRight(all, q)
}

// cleared takes away what stands in the fields, and sends nothing.
func (p *person) cleared(all []kind) {
	p.t.Helper()
	q := p.ask(gather(all, true), nil)
	p.visit(q.FormURL)
	for _, k := range all {
		if k.required { // radios, which nobody can clear unless there is one for that
			continue
		}
		if k.name == "colour" {
			p.fill(k.name, "")
			continue
		}
		p.give(k, nil)
	}
	p.send("button")
	result := p.result(q)
	for _, k := range all {
		want := k.cleared
		if want == "" {
			want = "null"
		}
		if k.name == "sure" { // a box that is not ticked
			want = "false"
		}
		if !holds(result, k.name, want) {
			p.t.Errorf("%s: the script gets %s, want %s", k.name, result, want)
		}
	}
}

// states are what a person does with a form.
var states = []struct {
	name string
	do   func(*person, []kind)
}{{"right", (*person).right}, {"wrong", (*person).wrong}, {"cleared", (*person).cleared}}

// TestPromiseFields: every kind of field takes what is right, says what is wrong, and can be cleared,
// with scripts and without.
func TestPromiseFields(t *testing.T) {
	p := newPerson(t)
	groups := [][]kind{kinds} // all at once
	if n, _ := strconv.Atoi(os.Getenv("QL_PROMISES")); n > 0 {
		for i := range kinds {
			groups = append(groups, kinds[i:i+1])
		}
	}
	for _, on := range []bool{true, false} {
		p.scripts(on)
		for _, group := range groups {
			for _, state := range states {
				t.Run(fmt.Sprintf("%s, %s, scripts %t", group[0].name, state.name, on), func(t *testing.T) {
					within := &person{t: t, url: p.url, tab: p.tab}
					state.do(within, group)
				})
			}
		}
	}
	for _, complaint := range p.complaints() {
		t.Error(complaint)
	}
}
