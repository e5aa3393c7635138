package app_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"ql/internal/apptest"
)

// asked is a service with a script that stands at a question.
type asked struct {
	t       *testing.T
	url     string
	formURL string
	pollURL string
}

func ask(t *testing.T, script string) asked {
	t.Helper()
	s := apptest.Boot(t)
	body, err := json.Marshal(map[string]any{"auth": map[string]string{"username": "dev", "password": "dev"}, "query": script})
	if err != nil {
		t.Fatal(err)
	}
	a := asked{t: t, url: s.URL()}
	res := a.send("POST", s.URL()+"/v1/query", "application/json", bytes.NewReader(body))
	var answer struct {
		Status  string `json:"status"`
		FormURL string `json:"form_url"`
		PollURL string `json:"poll_url"`
	}
	if err := json.Unmarshal([]byte(res.body), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Status != "paused" || answer.FormURL == "" {
		t.Fatalf("the call was answered with %+v", answer)
	}
	a.formURL, a.pollURL = answer.FormURL, answer.PollURL
	return a
}

func (a asked) send(method, to, kind string, body io.Reader) answer {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), method, to, body)
	if err != nil {
		a.t.Fatal(err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	return settle(a.t, send(a.t, req))
}

// settle follows a page that says that the job is at work, as scripts of the page do.
func settle(t *testing.T, p answer) answer {
	t.Helper()
	for p.refreshes() {
		// Where too many wait, or ask too often, it is merely loaded again.
		if state := get(t, p.at+"&state&wait=20"); state.status != 200 && state.status != 429 {
			t.Errorf("its state is answered with %d: %s", state.status, state.body)
		}
		p = get(t, p.at)
	}
	return p
}

func (a asked) get(url string) answer { return a.send("GET", url, "", nil) }

func (a asked) post(to string, values url.Values) answer {
	return a.send("POST", to, "application/x-www-form-urlencoded", strings.NewReader(values.Encode()))
}

// parts sends a form as browsers do that has files: each part is a name, the
// name of a file or "", and what it holds.
func (a asked) parts(parts ...[3]string) answer {
	a.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, p := range parts {
		h := textproto.MIMEHeader{}
		h.Set("Content-Disposition", `form-data; name="`+strings.ReplaceAll(p[0], `"`, "%22")+`"`)
		if p[1] != "" {
			h.Set("Content-Disposition", h.Get("Content-Disposition")+`; filename="`+p[1]+`"`)
			h.Set("Content-Type", "text/plain")
		}
		part, err := w.CreatePart(h)
		if err == nil {
			_, err = io.WriteString(part, p[2])
		}
		if err != nil {
			a.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		a.t.Fatal(err)
	}
	return a.send("POST", a.formURL, w.FormDataContentType(), &body)
}

func (p answer) want(t *testing.T, status int, parts ...string) {
	t.Helper()
	if p.status != status {
		t.Errorf("the page has status %d, want %d", p.status, status)
	}
	for _, part := range parts {
		if !strings.Contains(p.body, part) {
			t.Errorf("%q is not on the page:\n%s", part, p.body)
		}
	}
}

// result is what a poll of the job shows.
func (a asked) result() (status, result string) {
	a.t.Helper()
	var answer struct{ Status, Result string }
	if err := json.Unmarshal([]byte(a.get(a.pollURL+"?wait=60").body), &answer); err != nil {
		a.t.Fatal(err)
	}
	return answer.Status, answer.Result
}

func TestFormPage(t *testing.T) {
	a := ask(t, `
		GATHER "Ship <b>it</b>?" FIELDS
			name TEXT REQUIRED LABEL "Your <i>name</i>",
			qty INTEGER MIN 1 MAX 10 DEFAULT 1,
			size CHOICE ["S", "M"],
			extra CHOICES {gift: "Gift wrap", fast: "Express"},
			news BOOLEAN
		TO "buyer"
		SET ?f
		CONFIRM "Send {?f.qty}?" TO "buyer"
		EMIT ?f`)
	p := a.get(a.formURL)
	p.want(t, 200, "user_test", "Ship &lt;b&gt;it&lt;/b&gt;?", "Your &lt;i&gt;name&lt;/i&gt; *", `value="1"`, `type="radio" name="size" value="M"`, "Gift wrap", `type="checkbox" name="news"`)
	if csp := p.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "form-action 'self'") {
		t.Errorf("the policy is %q", csp)
	}
	if p.header.Get("Cache-Control") != "no-store" || p.header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("the headers are %v", p.header)
	}

	p = a.post(a.formURL, url.Values{"qty": {"99"}, "extra": {"gift"}})
	p.want(t, 422, "Must be answered.", "Must be a whole number from 1 to 10.", `value="99"`, `value="gift" checked`, `aria-describedby="w0"`, `id="w0"`)

	p = a.post(a.formURL, url.Values{"name": {"Ada"}, "qty": {"2"}, "size": {"M"}, "extra": {"gift", "fast"}, "news": {"true"}})
	p.want(t, 200, "Send 2?", "Approve", "Decline")
	if p.at == a.formURL || !strings.HasPrefix(p.at, a.url+"/form/") {
		t.Errorf("the next question is at %s", p.at)
	}
	a.post(p.at, url.Values{}).want(t, 400, "true or false fits")
	a.post(p.at, url.Values{"approved": {"true"}}).want(t, 200, "Thank you")

	status, result := a.result()
	if want := `{"name":"Ada","qty":2,"size":"M","extra":["gift","fast"],"news":true}`; status != "complete" || result != want {
		t.Errorf("the job is %s with %s", status, result)
	}
}

// TestFormPageShowsWhatIsStored: what stands on the page is what the script
// gets, whether a person leaves it or clears it.
func TestFormPageShowsWhatIsStored(t *testing.T) {
	const script = `
		GATHER "Order" FIELDS
			name TEXT DEFAULT "Ada",
			qty INTEGER DEFAULT 2,
			at TIME DEFAULT "09:30",
			size CHOICE ["S", "M"] DEFAULT "M",
			extra CHOICES {gift: "Gift wrap", fast: "Express", dry: "Dry"} DEFAULT ["gift", "dry"],
			news BOOLEAN DEFAULT TRUE
		SET ?f EMIT ?f`
	tests := []struct {
		name string
		sent url.Values
		want string
	}{
		{
			"left as it is",
			url.Values{"name": {"Ada"}, "qty": {"2"}, "at": {"09:30"}, "size": {"M"}, "extra": {"gift", "dry"}, "news": {"true"}},
			`{"name":"Ada","qty":2,"at":"09:30","size":"M","extra":["gift","dry"],"news":true}`,
		},
		{
			"cleared", url.Values{"name": {""}, "qty": {""}, "at": {""}, "size": {""}},
			`{"name":null,"qty":null,"at":null,"size":null,"extra":[],"news":false}`,
		},
		{
			"one ticked", url.Values{"name": {"Bob"}, "qty": {"3"}, "at": {"10:00:30"}, "size": {"S"}, "extra": {"fast"}},
			`{"name":"Bob","qty":3,"at":"10:00:30","size":"S","extra":["fast"],"news":false}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := ask(t, script)
			a.get(a.formURL).want(t, 200, `type="text" autocomplete="name" value="Ada"`, `type="number" step="1" value="2"`, `type="time" step="any" value="09:30"`, `name="size" value="M" checked`,
				`value="gift" checked`, `value="fast">`, `value="dry" checked`, `name="news" value="true" checked`)
			a.post(a.formURL, test.sent).want(t, 200, "Thank you")
			if status, result := a.result(); status != "complete" || result != test.want {
				t.Errorf("the job is %s with %s, want %s", status, result, test.want)
			}
		})
	}
}

// TestFormPageRequired: a default does not answer for whoever clears a field
// that must be answered.
func TestFormPageRequired(t *testing.T) {
	a := ask(t, `
		GATHER "Order" FIELDS
			name TEXT REQUIRED DEFAULT "Ada",
			extra CHOICES ["a", "b"] REQUIRED DEFAULT ["a"],
			sure BOOLEAN REQUIRED,
			pin SECRET
		SET ?f EMIT ?f`)
	a.get(a.formURL).want(t, 200, `type="radio" name="sure" value="false" required`)
	p := a.post(a.formURL, url.Values{"name": {""}, "pin": {"hunter2"}})
	p.want(t, 422, `id="w0">Must be answered.`, `id="w1">Must be answered.`, `id="w2">Must be answered.`, "Please type it again", `name="extra" value="a">`)
	if strings.Contains(p.body, "hunter2") {
		t.Error("the secret stands on the page")
	}
	a.post(a.formURL, url.Values{"name": {"Bob"}, "extra": {"b"}, "sure": {"false"}, "pin": {""}}).want(t, 200, "Thank you")
	if status, result := a.result(); status != "complete" || result != `{"name":"Bob","extra":["b"],"sure":false,"pin":null}` {
		t.Errorf("the job is %s with %s", status, result)
	}
}

// TestFormPageLines: browsers end lines by CRLF, and drop a line break at the
// start of a textarea.
func TestFormPageLines(t *testing.T) {
	a := ask(t, `
		GATHER "Note" FIELDS
			note LONG TEXT MAX 4 PATTERN "[^\\r]*" DEFAULT "\n<b>",
			mood CHOICE ["a\nb", "c"],
			moods CHOICES ["a\r\nb", "c"]
		SET ?f EMIT ?f`)
	a.get(a.formURL).want(t, 200, ">\n\n&lt;b&gt;</textarea>")
	a.post(a.formURL, url.Values{"note": {"1\r\n2\r\n3"}}).want(t, 422, "Must have at most 4 characters.", ">\n1\n2\n3</textarea>")
	a.post(a.formURL, url.Values{"note": {"\r\n1\r\n2"}, "mood": {"a\r\nb"}, "moods": {"a\r\nb"}}).want(t, 200, "Thank you")
	if status, result := a.result(); status != "complete" || result != `{"note":"\n1\n2","mood":"a\nb","moods":["a\r\nb"]}` {
		t.Errorf("the job is %s with %s", status, result)
	}
}

// TestFormPageTwice: of a field that is given twice none is taken.
func TestFormPageTwice(t *testing.T) {
	a := ask(t, `GATHER "Who?" FIELDS name TEXT, news BOOLEAN, photo FILE TO "me" SET ?f CONFIRM "Sure?" TO "me" EMIT ?f.name`)
	a.post(a.formURL, url.Values{"name": {"a", "b"}}).want(t, 400, "name: occurs twice: once fits")
	a.post(a.formURL, url.Values{"news": {"true", "false"}}).want(t, 400, "news: occurs twice: once fits")
	a.parts([3]string{"photo", "a.txt", "a"}, [3]string{"photo", "b.txt", "b"}).want(t, 400, "photo: occurs twice: once fits")
	a.parts([3]string{"photo", "a.txt", "a"}, [3]string{"photo", "", "b"}).want(t, 400, "photo: occurs twice: once fits")
	p := a.post(a.formURL, url.Values{"name": {"Ada"}, "other": {"1", "2"}})
	p.want(t, 200, "Sure?")
	a.post(p.at, url.Values{"approved": {"true", "false"}}).want(t, 400, "approved: occurs twice: once fits")
	a.post(p.at, url.Values{"approved": {"true"}}).want(t, 200, "Thank you")
	if status, result := a.result(); status != "complete" || result != "Ada" {
		t.Errorf("the job is %s with %q", status, result)
	}
}

// TestFormPageAnsweredAlready: whoever clicks twice gets where one click leads,
// and whoever comes back reads that the question is answered.
func TestFormPageAnsweredAlready(t *testing.T) {
	a := ask(t, `GATHER "Who?" FIELDS name TEXT TO "me" SET ?f CONFIRM "Is it {?f.name}?" TO "me" EMIT ?f.name`)
	var clicks sync.WaitGroup
	pages := make([]answer, 4)
	for i := range pages {
		clicks.Go(func() { pages[i] = a.post(a.formURL, url.Values{"name": {"Ada"}}) })
	}
	clicks.Wait()
	for _, p := range pages {
		p.want(t, 200, "Is it Ada?")
	}
	a.post(a.formURL, url.Values{"name": {"Bob"}}).want(t, 410, "Already answered", "was not taken")
	a.get(a.formURL).want(t, 410, "Already answered")
	// Who answers the same on another page has not clicked twice.
	a.post(a.formURL+"?once=another", url.Values{"name": {"Ada"}}).want(t, 410, "Already answered", "was not taken")

	sure := pages[0].at
	a.post(sure, url.Values{"approved": {"true"}}).want(t, 200, "Thank you")
	a.post(sure, url.Values{"approved": {"true"}}).want(t, 200, "Thank you")
	a.post(sure, url.Values{"approved": {"false"}}).want(t, 410, "Already answered")
	if status, result := a.result(); status != "complete" || result != "Ada" {
		t.Errorf("the job is %s with %q", status, result)
	}
}

func TestFormPageTakesFiles(t *testing.T) {
	a := ask(t, `GATHER "A photo?" FIELDS note TEXT, photo FILE REQUIRED, 'the "size"' INTEGER SET ?f READ ?f.photo.path AS TEXT SET ?content EMIT "{?f.note} {?f.photo.name} {?content} {?f['the "size"']}"`)
	a.get(a.formURL).want(t, 200, `enctype="multipart/form-data"`, `type="file"`)
	a.parts([3]string{"note"}, [3]string{"photo", "me.txt", "a face"}, [3]string{`the "size"`, "", "x"}).want(t, 422, "Please choose the file again.")
	a.parts([3]string{"note", "", "hello"}, [3]string{"photo", "me.txt", "a face"}, [3]string{`the "size"`, "", "2"}).want(t, 200, "Thank you")
	if status, result := a.result(); status != "complete" || result != "hello me.txt a face 2" {
		t.Errorf("the job is %s with %q", status, result)
	}
}

func TestFormPageUnknown(t *testing.T) {
	a := ask(t, `CONFIRM "sure?" EMIT "yes"`)
	for _, token := range []string{"x", strings.Repeat("A", 43)} {
		a.get(a.url+"/form/"+token).want(t, 404, "Nothing to answer")
	}
	a.post(a.formURL, url.Values{"approved": {"false"}}).want(t, 200, "Thank you")
	if status, _ := a.result(); status != "declined" {
		t.Errorf("the job is %s", status)
	}
}

// TestFormPageAudience: who answers a question goes on to those for the same audience alone,
// and never to one whose address the script has taken.
func TestFormPageAudience(t *testing.T) {
	for _, test := range []struct {
		name, first, second string
		goesOn              bool
	}{
		{"two forms", `GATHER "one" SET ?f`, `GATHER "two" SET ?f`, true},
		{"a decision about the person", `GATHER "one" SET ?f`, `CONFIRM "two"`, false},
		{"after a decision of nobody", `CONFIRM "one"`, `GATHER "two" SET ?f`, false},
		{"two decisions of nobody", `CONFIRM "one"`, `CONFIRM "two"`, false},
		{"the same team", `CONFIRM "one" TO "finance"`, `GATHER "two" TO "fin" + "ance" SET ?f`, true},
		{"another team", `CONFIRM "one" TO "finance"`, `CONFIRM "two" TO "Finance"`, false},
		{"from the page to a team", `GATHER "one" SET ?f`, `GATHER "two" TO "finance" SET ?f`, false},
		{"from a team to the page", `GATHER "one" TO "finance" SET ?f`, `GATHER "two" SET ?f`, false},
		{"an address that was taken", `GATHER "one" SET ?f`, `SET ?url AS !JOB('form_url') GATHER "two" SET ?f`, false},
		{"all of !JOB", `GATHER "one" TO "a" SET ?f`, `SET ?job AS !JOB GATHER "two" TO "a" SET ?f`, false},
		{"another entry of !JOB", `GATHER "one" SET ?f`, `SET ?id AS !JOB('id') GATHER "two" SET ?f`, true},
		{"the address of the question before", `SET ?url AS !JOB.form_url GATHER "one" SET ?f`, `GATHER "two" SET ?f`, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := ask(t, test.first+" "+test.second)
			p := a.post(a.formURL, url.Values{"approved": {"true"}, "one": {"x"}})
			if test.goesOn {
				p.want(t, 200, "two")
				if strings.HasPrefix(p.at, a.formURL) {
					t.Error("it stays at the first question")
				}
				return
			}
			p.want(t, 200, "Thank you")
			if status, _ := a.result(); status != "paused" || !strings.HasPrefix(p.at, a.formURL) {
				t.Errorf("the job is %s, and the page at %s", status, p.at)
			}
		})
	}
}

// TestSurvey: a customer of the example is not asked what the team is.
func TestSurvey(t *testing.T) {
	script, err := os.ReadFile("../../examples/survey.ql")
	if err != nil {
		t.Fatal(err)
	}
	a := ask(t, string(script))
	a.post(a.formURL, url.Values{"score": {"1"}, "note": {"too loud"}}).want(t, 200, "Thank you")
	var answer struct {
		Prompt  struct{ Kind, To string }
		FormURL string `json:"form_url"`
	}
	if err := json.Unmarshal([]byte(a.get(a.pollURL+"?wait=60").body), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Prompt.Kind != "confirm" || answer.Prompt.To != "team" {
		t.Errorf("the job asks %+v", answer.Prompt)
	}
	a.post(answer.FormURL, url.Values{"approved": {"true"}}).want(t, 200, "Thank you")
	if status, result := a.result(); status != "complete" || !strings.HasPrefix(result, "called") {
		t.Errorf("the job is %s with %q", status, result)
	}
}

// TestQuestionsAfterRestart: what became of a question is told on its page, also by a process that was
// not there when it did.
func TestQuestionsAfterRestart(t *testing.T) {
	settings := apptest.Settings(t)
	b := apptest.Start(t, settings)
	formOf := func(a answer) string {
		t.Helper()
		var body struct {
			FormURL string `json:"form_url"`
		}
		if err := json.Unmarshal([]byte(a.body), &body); err != nil || body.FormURL == "" {
			t.Fatalf("%v: %s", err, a.body)
		}
		return strings.TrimPrefix(body.FormURL, b.URL())
	}
	ask := func(script string) (answer, string) {
		t.Helper()
		a := query(t, b.URL(), "dev", "dev", script)
		return a, formOf(a)
	}
	_, answered := ask(`CONFIRM "Answered?" SET ?ok`)
	form := func(page string) answer {
		return post(t, b.URL()+page, "application/x-www-form-urlencoded", "approved=false&note=later")
	}
	form(answered).want(t, 200, "Thank you", "you declined", "Your receipt is")
	expired, expires := ask(`CONFIRM "Expired?" WITHIN 0.01 SECONDS`)
	for a := expired; a.Status != "expired"; a = get(t, b.URL()+"/v1/job/"+expired.JobID+"?wait=10") {
		if a.status != 200 && a.status != 202 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	cancelled, withdrawn := ask(`CONFIRM "Withdrawn?"`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, b.URL()+"/v1/job/"+cancelled.JobID, nil)
	if err != nil {
		t.Fatal(err)
	}
	send(t, req).want(t, 200)
	_, open := ask(`CONFIRM "Open?"`)
	waits := query(t, b.URL(), "dev", "dev", `EMIT !JOB('form_url') WAIT 1 HOUR CONFIRM "Announced?"`)
	announced := strings.TrimPrefix(waits.Result, b.URL())
	look := func() {
		t.Helper()
		get(t, b.URL()+answered).want(t, 410, "Already answered", "by somebody who had its link")
		get(t, b.URL()+expires).want(t, 410, "The time to answer is over")
		get(t, b.URL()+withdrawn).want(t, 410, "No longer asked")
		get(t, b.URL()+open).want(t, 200, "Open?", "Approve")
		get(t, b.URL()+announced).want(t, 200, "Not asked yet")
		get(t, b.URL()+open+"x").want(t, 404, "Nothing to answer")
		for _, page := range []string{answered + "?once=another", expires, withdrawn} {
			form(page).want(t, 410, "What you sent now was not taken")
		}
		// The same answer again is known by what is stored of it.
		form(answered).want(t, 200, "Thank you", "you declined", "Your receipt is")
		form(announced).want(t, 200, "Not asked yet", "What you sent now was not taken")
	}
	t.Run("before", func(t *testing.T) {
		get(t, b.URL()+announced).want(t, 200, "Not asked yet")
		get(t, b.URL()+expires).want(t, 410, "The time to answer is over")
	})
	if err := b.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	b = apptest.Start(t, settings)
	look()
	// One that is announced is withdrawn with its job, and the open one can still be answered.
	req, err = http.NewRequestWithContext(t.Context(), http.MethodDelete, b.URL()+"/v1/job/"+waits.JobID, nil)
	if err != nil {
		t.Fatal(err)
	}
	send(t, req).want(t, 200)
	get(t, b.URL()+announced).want(t, 410, "No longer asked")
	form(open).want(t, 200, "Thank you")
}
