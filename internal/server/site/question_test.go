package site_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"mime/multipart"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/apptest"
	"ql/internal/config"
	"ql/internal/job"
	"ql/internal/operator"
	"ql/internal/programtest"
)

// visitor is a browser without scripts that visits ada's site.
type visitor struct {
	*world
	cookies map[string]string
}

func (w *world) visitor() *visitor { return &visitor{w, map[string]string{}} }

// send sends a request with the visitor's cookies, and keeps those of the answer.
func (v *visitor) send(method, path, body string) answer {
	v.t.Helper()
	var cookies []string
	for name, value := range v.cookies {
		cookies = append(cookies, name+"="+value)
	}
	a := v.call(method, v.SiteURL("ada")+path, body, "Cookie", strings.Join(cookies, "; "), "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
	for _, line := range a.header.Values("Set-Cookie") {
		c, err := http.ParseSetCookie(line)
		if err != nil {
			v.t.Fatal(err)
		}
		v.cookies[c.Name] = c.Value
	}
	return a
}

// filled is a form of a page, filled in.
type filled struct {
	action string
	values url.Values
}

var (
	formTag   = regexp.MustCompile(`<form method="post" action="([^"]*)"`)
	hiddenTag = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
)

// form returns the form of a page, with answers.
func (v *visitor) form(a answer, fields ...string) filled {
	v.t.Helper()
	found := formTag.FindStringSubmatch(a.body)
	if found == nil {
		v.t.Fatalf("there is no form: %d %v %s", a.status, a.header, a.body)
	}
	f := filled{html.UnescapeString(found[1]), url.Values{}}
	for _, hidden := range hiddenTag.FindAllStringSubmatch(a.body, -1) {
		f.values.Set(html.UnescapeString(hidden[1]), html.UnescapeString(hidden[2]))
	}
	for i := 0; i+1 < len(fields); i += 2 {
		f.values.Set(fields[i], fields[i+1])
	}
	return f
}

// submit sends a form.
func (v *visitor) submit(f filled) answer {
	v.t.Helper()
	return v.send("POST", f.action, f.values.Encode())
}

// follow loads where an answer leads, until that is neither elsewhere nor at work.
func (v *visitor) follow(a answer) answer {
	v.t.Helper()
	at := ""
	for end := time.Now().Add(time.Minute); ; {
		switch {
		case a.status == http.StatusSeeOther:
			at = a.header.Get("Location")
		case a.header.Get("Refresh") != "2":
			return a
		case time.Now().After(end):
			v.t.Fatal("the page is still at work")
		}
		a = v.send("GET", at, "")
	}
}

// owner sends a request of ada's.
func (w *world) owner(method, path, body string) string {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.URL()+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.SetBasicAuth("ada", apptest.Password)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 300 {
		w.t.Fatalf("%s %s: %d %s, %v", method, path, res.StatusCode, text, err)
	}
	return string(text)
}

// stored returns the jobs that ada has.
func (w *world) stored() (list []struct {
	ID                 string `json:"job_id"`
	Status, Convention string
}) {
	w.t.Helper()
	var answer struct{ Jobs json.RawMessage }
	text := w.owner("GET", "/v1/jobs?limit=100", "")
	if err := json.Unmarshal([]byte(text), &answer); err != nil || json.Unmarshal(answer.Jobs, &list) != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
	return list
}

// wantPage checks an answer.
func (v *visitor) wantPage(a answer, status int, parts ...string) {
	v.t.Helper()
	for _, part := range parts {
		if !strings.Contains(a.body, part) {
			v.t.Errorf("%q is missing: %d %s", part, a.status, a.body)
		}
	}
	if a.status != status || status != http.StatusSeeOther && a.header.Get("Content-Type") != "text/html; charset=utf-8" {
		v.t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
}

// order asks three questions, with work between them.
const order = `EMIT HTML "<h1>Order</h1>"
GATHER "What would you like?" FIELDS what TEXT REQUIRED, many INTEGER MIN 1 MAX 9 DEFAULT 1 SET ?a
WAIT 0.01 SECONDS
EMIT HTML "<p>{?a['many']} of {?a['what']}</p>"
GATHER "Where to?" FIELDS city TEXT REQUIRED SET ?b
WRITE ?b['city'] TO "/orders/last.txt"
EMIT HTML "<p>To {?b['city']}</p><ql-form></ql-form><footer>"
GATHER "Anything else?" FIELDS note LONG TEXT SET ?c
EMIT HTML "Thank you: {?c['note']}</footer>"`

// TestQuestions: a page asks its visitor where its output stands, and goes on with the answers. Until
// the first of them nothing is stored.
func TestQuestions(t *testing.T) {
	w := boot(t)
	w.put("ada", "order.ql", order)
	v := w.visitor()
	first := v.send("GET", "/order", "")
	v.wantPage(first, 200, `<h1>Order</h1><section class="ql-form"`, "What would you like?", `name="what"`, `value="1"`)
	if got := first.header.Get("Cache-Control"); got != "private, no-cache" {
		t.Errorf("others may keep the page: %s", got)
	}
	cookie := first.header.Get("Set-Cookie")
	if !strings.HasPrefix(cookie, "QLVISITOR=") || !strings.HasSuffix(cookie, "; Path=/; HttpOnly; SameSite=Lax") {
		t.Errorf("the visitor's cookie: %s", cookie)
	}
	if jobs := w.stored(); len(jobs) != 0 {
		t.Errorf("a page that was looked at leaves %v", jobs)
	}

	// What does not fit is shown beside the fields, and nothing is stored.
	wrong := v.submit(v.form(first, "what", "<tea>", "many", "12"))
	v.wantPage(wrong, 422, "<h1>Order</h1>", "&lt;tea&gt;", `value="12"`, "Must be a whole number from 1 to 9")
	if jobs := w.stored(); len(jobs) != 0 {
		t.Errorf("an answer that does not fit leaves %v", jobs)
	}
	answered := v.form(wrong, "what", "tea", "many", "2")
	sent := v.submit(answered)
	v.wantPage(sent, 303)
	second := v.follow(sent)
	v.wantPage(second, 200, "<h1>Order</h1><p>2 of tea</p><section", "Where to?")
	if second.header.Get("Set-Cookie") != "" {
		t.Errorf("a visitor is given a second cookie: %s", second.header)
	}

	// Back and Send again answers nothing, whatever is sent.
	for _, again := range []filled{answered, v.form(wrong, "what", "coffee", "many", "9"), v.form(first, "what", "milk")} {
		v.wantPage(v.follow(v.submit(again)), 200, "2 of tea", "Where to?")
	}
	if jobs := w.stored(); len(jobs) != 1 || jobs[0].Status != "paused" || jobs[0].Convention != "site" {
		t.Errorf("%v", jobs)
	}
	v.wantPage(v.submit(v.form(second, "city", "")), 422, "2 of tea", "Must be answered")
	third := v.follow(v.submit(v.form(second, "city", "Ulm")))
	v.wantPage(third, 200, `<p>To Ulm</p><section class="ql-form"`, `</section><footer>`)
	last := v.submit(v.form(third, "note", "no <b>"))
	end := v.follow(last)
	v.wantPage(end, 200, "<p>To Ulm</p>", "Thank you: no &lt;b&gt;</footer>")
	v.wantPage(v.send("GET", last.header.Get("Location"), ""), 200, "Thank you")
	v.wantPage(v.follow(v.submit(v.form(second, "city", "Bonn"))), 200, "To Ulm", "Thank you")

	// What leads one visitor on leads no other.
	for _, other := range []*visitor{w.visitor(), {w, map[string]string{"QLVISITOR": "AAAAAAAAAAAAAAAAAAAAAAAAAA"}}} {
		v.wantPage(other.send("GET", last.header.Get("Location"), ""), 404)
		v.wantPage(other.submit(answered), 404)
		v.wantPage(other.submit(v.form(first, "what", "tea")), 404)
	}
	if a := v.call("POST", w.SiteURL("ada")+answered.action, answered.values.Encode(), "Sec-Fetch-Site", "cross-site", "Content-Type", "application/x-www-form-urlencoded"); a.status != 403 {
		t.Errorf("a page of another site answers: %d", a.status)
	}
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		v.wantPage(v.send(method, answered.action, ""), 405)
	}
	v.wantPage(v.send("POST", last.header.Get("Location"), ""), 405)
	v.wantPage(v.send("GET", "/_ql/", ""), 404)
	v.wantPage(v.send("GET", "/_ql/run/", ""), 404)
}

// TestSubmittedTwice: of answers that are sent at once one counts.
func TestSubmittedTwice(t *testing.T) {
	w := boot(t)
	w.put("ada", "ask.ql", `GATHER "A?" FIELDS a TEXT SET ?a APPEND LINE ?a['a'] TO FILE "/log.txt" READ "/log.txt" AS TEXT SET ?log EMIT ?log`)
	v := w.visitor()
	f := v.form(v.send("GET", "/ask", ""), "a", "x")
	answers := make([]answer, 4)
	var sending sync.WaitGroup
	for i := range answers {
		sending.Go(func() { // without the cookies of the answers, which are none
			answers[i] = v.call("POST", w.SiteURL("ada")+f.action, f.values.Encode(), "Cookie", "QLVISITOR="+v.cookies["QLVISITOR"], "Content-Type", "application/x-www-form-urlencoded")
		})
	}
	sending.Wait()
	for _, a := range answers {
		v.wantPage(a, 303)
		if end := v.follow(a); end.body != "x\n" {
			t.Errorf("%d %s", end.status, end.body)
		}
	}
	if jobs := w.stored(); len(jobs) != 1 {
		t.Errorf("%v", jobs)
	}
}

// TestTwoVisitors: people who answer the same page at once each have their own run of it, and nobody answers, or sees, that of
// another.
func TestTwoVisitors(t *testing.T) {
	w := boot(t, lift)
	const rest = `GATHER "Name?" FIELDS a TEXT SET ?a APPEND LINE ?a['a'] TO FILE "/log.txt" GATHER "Town?" FIELDS b TEXT SET ?b EMIT "{?a['a']} of {?b['b']}"`
	w.puts(map[string]string{"carried.ql": rest, "stored.ql": `APPEND LINE "begun" TO FILE "/begun.txt" ` + rest})
	for _, path := range []string{"/carried", "/stored"} {
		const people = 4
		var answering sync.WaitGroup
		for i := range people {
			answering.Go(func() {
				v := w.visitor()
				name := fmt.Sprint("visitor", i)
				second := v.follow(v.submit(v.form(v.follow(v.send("GET", path, "")), "a", name)))
				end := v.follow(v.submit(v.form(second, "b", "Ulm")))
				v.wantPage(end, 200)
				if !strings.HasSuffix(end.body, name+" of Ulm") {
					t.Errorf("%s of %s: %s", path, name, end.body)
				}
			})
		}
		answering.Wait()

		ada, eve := w.visitor(), w.visitor()
		eve.send("GET", path, "")
		led := ada.send("GET", path, "")
		page := ada.follow(led)
		form := ada.form(page, "a", "eve")
		if a := eve.submit(form); a.status != 404 {
			t.Errorf("%s: somebody answers in the place of another: %d %s", path, a.status, a.body)
		}
		form.values.Set("a", "ada")
		answered := ada.submit(form)
		second := ada.follow(answered)
		ada.wantPage(second, 200, "Town?")
		if a := eve.send("GET", answered.header.Get("Location"), ""); a.status != 404 || strings.Contains(a.body, "Town?") {
			t.Errorf("%s: somebody sees the page of another: %d %s", path, a.status, a.body)
		}
		if a := eve.submit(eve.form(second, "b", "Eve's")); a.status != 404 {
			t.Errorf("%s: somebody goes on in the place of another: %d %s", path, a.status, a.body)
		}
		ada.wantPage(ada.follow(ada.submit(ada.form(second, "b", "Köln"))), 200, "ada of Köln")
	}
	log := w.owner("GET", "/v1/files/log.txt", "")
	if strings.Contains(log, "eve") || strings.Count(log, "\n") != 2*(4+1) {
		t.Errorf("the answers are\n%s", log)
	}
}

// TestTampered: what a visitor carries opens as it was sealed, and not otherwise.
func TestTampered(t *testing.T) {
	w := boot(t)
	w.puts(map[string]string{"ask.ql": `GATHER "A?" FIELDS a TEXT SET ?a EMIT ?a['a']`, "other.ql": `GATHER "B?" FIELDS a TEXT SET ?a EMIT "B"`})
	v := w.visitor()
	f := v.form(v.send("GET", "/ask", ""), "a", "x")
	other := v.form(v.send("GET", "/other", ""), "a", "x")
	const carried = " ql-page"
	flip := func(text string, at int) string {
		b := []byte(text)
		if b[at] == 'A' {
			b[at] = 'B'
		} else {
			b[at] = 'A'
		}
		return string(b)
	}
	change := func(action, state string) {
		t.Helper()
		a := v.submit(filled{action, url.Values{"a": {"x"}, carried: {state}}})
		if a.status != 404 && a.status != 429 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	state := f.values.Get(carried)
	for _, at := range []int{0, 1, 40, 60, len(state) / 2, len(state) - 2} {
		change(f.action, flip(state, at))
	}
	change(f.action, "")
	change(f.action, state[:len(state)/2])
	change(f.action, other.values.Get(carried)) // of another page
	change(other.action, state)
	change(flip(f.action, len(f.action)-5), state)
	change(f.action+"A", state)
	if jobs := w.stored(); len(jobs) != 0 {
		t.Errorf("%v", jobs)
	}
	v.wantPage(v.follow(v.submit(f)), 200, "x")
}

// TestChangedPage: an answer to a page that was changed since is kept, and shown with the page as it
// is now.
func TestChangedPage(t *testing.T) {
	w := boot(t)
	w.put("ada", "ask.ql", `GATHER "A?" FIELDS a TEXT, b TEXT SET ?a EMIT ?a['a']`)
	v := w.visitor()
	page := v.send("GET", "/ask?x=1", "")
	posted := v.send("POST", "/ask", "y=1")
	w.put("ada", "ask.ql", `EMIT !GET('x'), "" GATHER "New?" FIELDS a TEXT, c TEXT DEFAULT "!" SET ?a EMIT ?a['a'], ?a['c']`)
	again := v.submit(v.form(page, "a", "mine", "b", "gone"))
	v.wantPage(again, 409, "1<section", "This page was changed", "New?", `name="a" type="text" value="mine"`, `value="!"`)
	v.wantPage(v.follow(v.submit(v.form(again, "a", "mine", "c", "?"))), 200, "1mine?")
	v.wantPage(v.submit(v.form(posted, "a", "x")), 409, "This page has changed", "Open it again")
	w.put("ada", "ask.ql", `EMIT "nothing to ask"`)
	v.wantPage(v.submit(v.form(page, "a", "mine")), 200, "nothing to ask")
	w.owner("DELETE", "/v1/files/site/ask.ql", "")
	v.wantPage(v.submit(v.form(page, "a", "mine")), 404)
}

// TestStoredQuestion: a page that has changed something is stored, where it can be loaded again and
// goes on after a restart.
func TestStoredQuestion(t *testing.T) {
	settings := apptest.Settings(t, apptest.Production, func(s *config.Settings) { s.SiteHost, s.SiteListen = domain, "127.0.0.1:0" })
	w := bootWith(t, settings)
	w.put("ada", "ask.ql", `WRITE "1" TO "/n.txt" SET "seen" AS "1" OF !COOKIE EMIT HTML "<h1>Hi</h1>" GATHER "A?" FIELDS a TEXT REQUIRED SET ?a
		GATHER "B?" FIELDS b TEXT SET ?b SET "status" AS 201 OF !RESPONSE EMIT ?a['a'], ?b['b']`)
	v := w.visitor()
	led := v.send("GET", "/ask", "")
	v.wantPage(led, 303)
	page := v.follow(led)
	v.wantPage(page, 200, "<h1>Hi</h1><section", "A?")
	if v.cookies["seen"] != "1" {
		t.Errorf("%v", v.cookies)
	}
	v.wantPage(v.send("GET", led.header.Get("Location"), ""), 200, "A?")
	if jobs := w.stored(); len(jobs) != 1 {
		t.Errorf("%v", jobs)
	}
	v.wantPage(v.submit(v.form(page, "a", "")), 422, "<h1>Hi</h1>", "Must be answered")
	second := v.follow(v.submit(v.form(page, "a", "x")))
	v.wantPage(second, 200, "B?")

	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.client.CloseIdleConnections()
	w.Service = apptest.Start(t, settings)
	v.wantPage(v.follow(v.submit(v.form(page, "a", "other"))), 200, "B?")
	v.wantPage(v.send("GET", led.header.Get("Location"), ""), 200, "B?")
	v.wantPage(v.follow(v.submit(v.form(second, "b", "y"))), 201, "<h1>Hi</h1>xy")
}

// TestCarriedAcrossRestart: what a visitor carries outlives the process that made it.
func TestCarriedAcrossRestart(t *testing.T) {
	settings := apptest.Settings(t, apptest.Production, func(s *config.Settings) { s.SiteHost, s.SiteListen = domain, "127.0.0.1:0" })
	w := bootWith(t, settings)
	w.put("ada", "ask.ql", `SET ?t AS TOKEN() EMIT ?t, "|" GATHER "A?" FIELDS a TEXT SET ?a EMIT ?a['a'], ?t`)
	v := w.visitor()
	page := v.send("GET", "/ask", "")
	token, _, _ := strings.Cut(page.body, "|")
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.client.CloseIdleConnections()
	w.Service = apptest.Start(t, settings)
	v.wantPage(v.follow(v.submit(v.form(page, "a", "x"))), 200, token+"|x"+token)
}

// TestQuestionsForOthers: what others are asked no visitor sees, who waits for it and then goes on.
func TestQuestionsForOthers(t *testing.T) {
	w := boot(t)
	w.put("ada", "ask.ql", `GATHER "Your name?" FIELDS name TEXT SET ?a
		CONFIRM "Is {?a['name']} welcome?"
		GATHER "Desk?" FIELDS desk TEXT TO "office" SET ?d
		GATHER "Lunch?" FIELDS lunch TEXT SET ?l
		EMIT "{?a['name']} sits at {?d['desk']} and eats {?l['lunch']}"`)
	v := w.visitor()
	led := v.submit(v.form(v.send("GET", "/ask", ""), "name", "Bo"))
	run := led.header.Get("Location")
	page := v.follow(led)
	v.wantPage(page, 200, "This takes a while")
	if page.header.Get("Refresh") == "" || strings.Contains(page.body, "welcome") || strings.Contains(page.body, "/form/") {
		t.Errorf("%v %s", page.header, page.body)
	}
	w.put("ada", "_waiting.html", "<p>We look at it")
	v.wantPage(v.send("GET", run, ""), 200, "<p>We look at it")
	id := w.stored()[0].ID
	w.owner("POST", "/v1/confirm/"+id, `{"approved":true}`)
	page = v.follow(answer{status: 303, header: http.Header{"Location": {run}}})
	v.wantPage(page, 200, "<p>We look at it")
	w.owner("POST", "/v1/confirm/"+id, `{"fields":{"desk":"7"}}`)
	page = v.follow(answer{status: 303, header: http.Header{"Location": {run}}})
	v.wantPage(page, 200, "Lunch?")
	v.wantPage(v.follow(v.submit(v.form(page, "lunch", "soup"))), 200, "Bo sits at 7 and eats soup")
}

// TestQuestionEnds: each end of a page that asked something has its own words.
func TestQuestionEnds(t *testing.T) {
	w := boot(t)
	w.puts(map[string]string{
		"ask.ql":    `WRITE "" TO "/n.txt" GATHER "A?" FIELDS a TEXT SET ?a FAIL "secret thing"`,
		"soon.ql":   `WRITE "" TO "/n.txt" GATHER "A?" FIELDS a TEXT WITHIN 1 SECOND SET ?a`,
		"go.ql":     `GATHER "A?" FIELDS a TEXT SET ?a SET "status" AS 303 OF !RESPONSE SET "header:Location" AS "/thanks" OF !RESPONSE`,
		"carry.ql":  `GATHER "A?" FIELDS a TEXT WITHIN 1 SECOND SET ?a EMIT "done"`,
		"thanks.ql": `EMIT "thanks"`,
	})
	v := w.visitor()
	failed := v.follow(v.submit(v.form(v.follow(v.send("GET", "/ask", "")), "a", "x")))
	v.wantPage(failed, 500, "This page has failed", "Reference: <code>"+w.stored()[0].ID[:8]+"</code>")
	if strings.Contains(failed.body, "secret") {
		t.Error(failed.body)
	}
	led := v.send("GET", "/ask", "")
	page := v.follow(led)
	w.owner("DELETE", "/v1/job/"+w.stored()[0].ID, "")
	v.wantPage(v.follow(led), 410, "This page was ended")
	v.wantPage(v.follow(v.submit(v.form(page, "a", "x"))), 410, "This page was ended")

	led = v.send("GET", "/soon", "")
	carry := v.send("GET", "/carry", "")
	page = v.follow(led)
	look := time.NewTicker(100 * time.Millisecond) // as often as the rate of a visitor lets it
	defer look.Stop()
	for end := time.Now().Add(time.Minute); page.status == 200 && time.Now().Before(end); <-look.C {
		page = v.follow(led)
	}
	v.wantPage(page, 410, "The time to answer is over")
	// It was carried, and is as old: it begins anew.
	v.wantPage(v.submit(v.form(carry, "a", "kept")), 409, "A?", `value="kept"`)

	v.wantPage(v.follow(v.submit(v.form(v.send("GET", "/go", ""), "a", "x"))), 200, "thanks")
}

// TestLargePage: a page that is too large to be carried is stored.
func TestLargePage(t *testing.T) {
	w := boot(t)
	w.put("ada", "ask.ql", `SET ?big AS REPEAT("0123456789", 4000) EMIT "x" GATHER "A?" FIELDS a TEXT SET ?a EMIT LENGTH(?big), ?a['a']`)
	v := w.visitor()
	led := v.send("GET", "/ask", "")
	v.wantPage(led, 303)
	v.wantPage(v.follow(v.submit(v.form(v.follow(led), "a", "y"))), 200, "x40000y")
}

// TestReadsAreCarried: pages that have merely looked at files and tables leave nothing.
func TestReadsAreCarried(t *testing.T) {
	w := boot(t)
	w.puts(map[string]string{
		"make.ql":   `CREATE TABLE IF NOT EXISTS t (a INT); INSERT INTO t VALUES (7); WRITE "8" TO "/f.txt"`,
		"read.ql":   `SELECT a FROM t SET VALUE ?a; READ "/f.txt" AS TEXT SET ?f WAIT 0.001 SECONDS EMIT ?a, ?f, " " GATHER "A?" FIELDS a TEXT SET ?x EMIT "end"`,
		"change.ql": `UPDATE t SET a = 7; GATHER "A?" FIELDS a TEXT SET ?x EMIT "end"`,
	})
	v := w.visitor()
	v.send("GET", "/make", "")
	page := v.send("GET", "/read", "")
	v.wantPage(page, 200, "78 <section")
	if jobs := w.stored(); len(jobs) != 0 {
		t.Errorf("%v", jobs)
	}
	v.wantPage(v.follow(v.submit(v.form(page, "a", "y"))), 200, "78 end")
	// Its history has what it read before it was a job.
	id, ok := job.ParseID(w.stored()[0].ID)
	w.Operate(func(o *operator.Operator) error {
		report, err := o.ReplayJob(t.Context(), id)
		if !ok || report.Left != nil || report.Cut || !report.Ended || report.Effects < 4 {
			t.Errorf("%+v", report)
		}
		return err
	})
	v.wantPage(v.send("GET", "/change", ""), 303)
}

// TestBots: whoever looks at a page that asks, and answers nothing, leaves nothing.
func TestBots(t *testing.T) {
	w := boot(t, func(s *config.Settings) { s.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	w.put("ada", "order.ql", order)
	n := 300
	if programtest.Promised() {
		n = 10_000
	}
	for i := range n { // each address has a rate of its own
		if a := w.get("/order", "X-Forwarded-For", fmt.Sprintf("10.1.%d.1", i/250)); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	if jobs := w.stored(); len(jobs) != 0 {
		t.Errorf("%d jobs", len(jobs))
	}
	if strings.Contains(w.owner("GET", "/v1/questions", ""), "prompt") {
		t.Error("a question is stored")
	}
}

// TestUploadsInPage: files come with the answer to a page, streamed, whether that is carried or stored.
func TestUploadsInPage(t *testing.T) {
	w := boot(t)
	w.puts(map[string]string{
		"carried.ql": `EMIT HTML "<h1>Hi</h1>" GATHER "Photo?" FIELDS who TEXT REQUIRED, photo FILE MAX 1000 SET ?a READ ?a['photo']['path'] AS TEXT SET ?t EMIT ?a['who'], " ", ?a['photo']['name'], " ", ?t`,
		"stored.ql":  `WRITE "" TO "/n.txt" GATHER "Photo?" FIELDS who TEXT REQUIRED, photo FILE MAX 1000 SET ?a READ ?a['photo']['path'] AS TEXT SET ?t EMIT ?a['who'], " ", ?a['photo']['name'], " ", ?t`,
	})
	v := w.visitor()
	send := func(page answer, who, content string) answer {
		t.Helper()
		f := v.form(page, "who", who)
		var b bytes.Buffer
		m := multipart.NewWriter(&b)
		for _, name := range []string{" ql-page", "who"} { // in the order of the form
			if values, ok := f.values[name]; ok {
				if err := m.WriteField(name, values[0]); err != nil {
					t.Fatal(err)
				}
			}
		}
		part, err := m.CreateFormFile("photo", "me.txt")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(part, content); err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		return v.call("POST", w.SiteURL("ada")+f.action, b.String(), "Cookie", "QLVISITOR="+v.cookies["QLVISITOR"], "Content-Type", m.FormDataContentType())
	}
	for _, path := range []string{"/carried", "/stored"} {
		page := v.follow(v.send("GET", path, ""))
		if !strings.Contains(page.body, `enctype="multipart/form-data"`) {
			t.Errorf("%s: %s", path, page.body)
		}
		wrong := send(page, "Bo", strings.Repeat("x", 2000))
		v.wantPage(wrong, 422, `value="Bo"`, "Must be a file of at most 1000 bytes")
		v.wantPage(v.follow(send(page, "Bo", "hello")), 200, "Bo me.txt hello")
	}
	if files := w.owner("GET", "/v1/files/uploads", ""); strings.Count(files, "me.txt") != 4 { // path and name of two
		t.Errorf("%s", files)
	}
}

// TestFormTemplate: a site says what stands around its forms.
func TestFormTemplate(t *testing.T) {
	w := boot(t)
	w.puts(map[string]string{
		"ask.ql":     `EMIT HTML "<h1>Hi</h1>" GATHER "Who <b> are you?\nTell us" FIELDS a TEXT REQUIRED SET ?a EMIT ?a['a']`,
		"_form.html": `<div class="box" title="{{.title}}">{{.message}}<ql-form></ql-form></div>`,
	})
	v := w.visitor()
	page := v.send("GET", "/ask", "")
	v.wantPage(page, 200, `<h1>Hi</h1><div class="box" title="Who &lt;b&gt; are you?">Tell us<section class="ql-form"`, `</section></div>`)
	v.wantPage(v.submit(v.form(page, "a", "")), 422, `<h1>Hi</h1><div class="box"`, "Must be answered")
	w.put("ada", "_form.html", `<hr>`)
	v.wantPage(v.send("GET", "/ask", ""), 200, `<h1>Hi</h1><hr><section class="ql-form"`)
	for _, wrong := range []string{`{{if}}`, `{{template "/site/ask.ql"}}`, "\xff"} {
		w.put("ada", "_form.html", wrong)
		v.wantPage(v.send("GET", "/ask", ""), 500, "This page has failed", "Reference")
	}
	if got := w.jobs("ada"); got["/site/_form.html failed"] != 3 {
		t.Errorf("the owner finds %v", got)
	}
}

// TestQuestionsBelowPaths: where sites share a host, each keeps to its own path.
func TestQuestionsBelowPaths(t *testing.T) {
	w := boot(t, func(s *config.Settings) { s.Dev, s.SiteHost = true, "localhost" })
	w.put("ada", "ask.ql", `GATHER "A?" FIELDS a TEXT SET ?a EMIT ?a['a']`)
	plain := strings.Replace(w.SiteURL("ada"), "ada.localhost", "127.0.0.1", 1)
	v := w.visitor()
	page := w.call("GET", plain+"/~ada/ask", "")
	cookie := page.header.Get("Set-Cookie")
	f := v.form(page, "a", "x")
	if !strings.HasPrefix(f.action, "/~ada/_ql/answer/") || !strings.Contains(cookie, "; Path=/~ada/;") {
		t.Errorf("%s %s", f.action, cookie)
	}
	cookie, _, _ = strings.Cut(cookie, ";")
	led := w.call("POST", plain+f.action, f.values.Encode(), "Cookie", cookie, "Content-Type", "application/x-www-form-urlencoded")
	run := led.header.Get("Location")
	if led.status != 303 || !strings.HasPrefix(run, "/~ada/_ql/run/") {
		t.Fatalf("%d %v %s", led.status, led.header, led.body)
	}
	end := w.call("GET", plain+run, "", "Cookie", cookie)
	for until := time.Now().Add(time.Minute); end.header.Get("Refresh") != "" && time.Now().Before(until); {
		end = w.call("GET", plain+run, "", "Cookie", cookie)
	}
	if end.status != 200 || end.body != "x" {
		t.Errorf("%d %s", end.status, end.body)
	}
}
