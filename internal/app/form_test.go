package app_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
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

// page is a page that was fetched, with where it came from after redirects.
type page struct {
	status int
	at     string
	header http.Header
	body   string
}

func (a asked) send(method, to, kind string, body io.Reader) page {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), method, to, body)
	if err != nil {
		a.t.Fatal(err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return page{res.StatusCode, res.Request.URL.String(), res.Header, string(text)}
}

func (a asked) get(url string) page { return a.send("GET", url, "", nil) }

func (a asked) post(to string, values url.Values) page {
	return a.send("POST", to, "application/x-www-form-urlencoded", strings.NewReader(values.Encode()))
}

func (p page) want(t *testing.T, status int, parts ...string) {
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
	if err := json.Unmarshal([]byte(a.get(a.pollURL).body), &answer); err != nil {
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
		SET ?f
		CONFIRM "Send {?f.qty}?"
		EMIT ?f`)
	p := a.get(a.formURL)
	p.want(t, 200, "user_test", "Ship &lt;b&gt;it&lt;/b&gt;?", "Your &lt;i&gt;name&lt;/i&gt; *", `value="1"`, `<option value="M">M</option>`, "Gift wrap", `type="radio"`)
	if csp := p.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "form-action 'self'") {
		t.Errorf("the policy is %q", csp)
	}
	if p.header.Get("Cache-Control") != "no-store" || p.header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("the headers are %v", p.header)
	}

	p = a.post(a.formURL, url.Values{"qty": {"99"}, "extra": {"gift"}})
	p.want(t, 422, "must be answered", "must be a whole number from 1 to 10", `value="99"`)

	p = a.post(a.formURL, url.Values{"name": {"Ada"}, "qty": {"2"}, "size": {"M"}, "extra": {"gift", "fast"}, "news": {"true"}})
	p.want(t, 200, "Send 2?", "Approve", "Decline")
	if p.at == a.formURL || !strings.HasPrefix(p.at, a.url+"/form/") {
		t.Errorf("the next question is at %s", p.at)
	}
	a.post(p.at, url.Values{}).want(t, 400, "true or false fits")
	a.post(p.at, url.Values{"approved": {"true"}}).want(t, 200, "Thank you")
	a.post(p.at, url.Values{"approved": {"true"}}).want(t, 404, "Nothing to answer")
	a.get(a.formURL).want(t, 404, "Nothing to answer")

	status, result := a.result()
	if want := `{"name":"Ada","qty":2,"size":"M","extra":["gift","fast"],"news":true}`; status != "complete" || result != want {
		t.Errorf("the job is %s with %s", status, result)
	}
}

func TestFormPageTakesFiles(t *testing.T) {
	a := ask(t, `GATHER "A photo?" FIELDS note TEXT, photo FILE REQUIRED SET ?f READ ?f.photo.path AS TEXT SET ?content EMIT "{?f.note} {?f.photo.name} {?content}"`)
	a.get(a.formURL).want(t, 200, `enctype="multipart/form-data"`, `type="file"`)
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	if err := w.WriteField("note", "hello"); err != nil {
		t.Fatal(err)
	}
	part, err := w.CreateFormFile("photo", "me.txt")
	if err == nil {
		_, err = io.WriteString(part, "a face")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	a.send("POST", a.formURL, w.FormDataContentType(), &body).want(t, 200, "Thank you")
	if status, result := a.result(); status != "complete" || result != "hello me.txt a face" {
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
