package app_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"ql/internal/apptest"
)

// visitor is a browser without scripts: it follows redirects, sends forms where they say, and loads a
// page again when that asks for it.
type visitor struct {
	t    *testing.T
	page answer
}

func (v *visitor) open(address string) { v.page = get(v.t, address) }

// send fills in the form of the page.
func (v *visitor) send(values url.Values) {
	v.t.Helper()
	action := regexp.MustCompile(`<form method="post" action="([^"]*)"`).FindStringSubmatch(v.page.body)
	if action == nil {
		v.t.Fatalf("there is no form on the page:\n%s", v.page.body)
	}
	at, err := url.Parse(v.page.at)
	if err == nil {
		at, err = at.Parse(action[1])
	}
	if err != nil {
		v.t.Fatal(err)
	}
	began := time.Now()
	v.page = post(v.t, at.String(), "application/x-www-form-urlencoded", values.Encode())
	v.t.Logf("answered after %s", time.Since(began).Round(time.Millisecond))
}

// refresh loads the page again until it does not ask for that, and reports how often. It is quicker than
// a browser, which waits for as long as the page says.
func (v *visitor) refresh() (loads int) {
	v.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for v.page.refreshes() {
		v.page.want(v.t, 200, "Working…", "<progress", "Your answer has arrived", "Your receipt is")
		<-tick.C
		v.open(v.page.at)
		loads++
	}
	return loads
}

// refreshes tells whether a page asks browsers without scripts to load it again.
func (p answer) refreshes() bool {
	return strings.Contains(p.body, `<noscript><meta http-equiv="refresh" content="2"></noscript>`)
}

// formURL is the address of the question that a call has stopped at.
func formURL(t *testing.T, a answer) string {
	t.Helper()
	var body struct {
		FormURL string `json:"form_url"`
	}
	if err := json.Unmarshal([]byte(a.body), &body); err != nil || body.FormURL == "" {
		t.Fatalf("%v: %s", err, a.body)
	}
	return body.FormURL
}

// receiptOn is the number of the receipt on a page.
func receiptOn(t *testing.T, p answer) string {
	t.Helper()
	found := regexp.MustCompile(`<strong>([0-9-]{14})</strong>`).FindStringSubmatch(p.body)
	if found == nil {
		t.Fatalf("no receipt is on the page:\n%s", p.body)
	}
	return found[1]
}

// TestPromiseFollow: a person without scripts in the browser answers three questions with work between
// them that takes longer than an answer waits; the last one after a restart, which the page outlives.
func TestPromiseFollow(t *testing.T) {
	work := "1.5"
	if os.Getenv("QL_PROMISES") != "" {
		work = "8"
	}
	settings := apptest.Settings(t)
	b := apptest.Start(t, settings)
	asked := query(t, b.URL(), "dev", "dev", strings.ReplaceAll(`
		GATHER "First?" FIELDS a TEXT SET ?f
		WAIT x SECONDS
		GATHER "Second?" FIELDS b TEXT SET ?g
		WAIT x SECONDS
		GATHER "Third?" FIELDS c TEXT SET ?h
		EMIT ?f.a, ?g.b, ?h.c`, "WAIT x", "WAIT "+work))
	v := &visitor{t: t}
	v.open(formURL(t, asked))
	v.page.want(t, 200, "First?")
	v.send(url.Values{"a": {"1"}})
	if v.refresh() == 0 {
		t.Error("the page did not say that the job is at work")
	}
	v.page.want(t, 200, "Second?")
	v.send(url.Values{"b": {"2"}})
	v.page.want(t, 200, "Working…")
	before := b.URL()
	if err := b.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	b = apptest.Start(t, settings)
	v.open(b.URL() + strings.TrimPrefix(v.page.at, before))
	v.refresh()
	v.page.want(t, 200, "Third?")
	third := v.page.at
	v.send(url.Values{"c": {"3"}})
	v.refresh()
	v.page.want(t, 200, "Thank you", "Your answer has arrived", "Your receipt is")
	if a := get(t, b.URL()+"/v1/job/"+asked.JobID+"?wait=60"); a.Status != "complete" || a.Result != "123" {
		t.Errorf("the job is %s with %q", a.Status, a.Result)
	}
	// Who has the link and did not answer is led nowhere.
	for _, more := range []string{"", "?receipt=", "?receipt=0000-0000-0000"} {
		get(t, third+more).want(t, 410, "Already answered")
	}
}

// TestFollowState: scripts of a page learn how it stands, and wait for a job that is at work.
func TestFollowState(t *testing.T) {
	a := ask(t, `GATHER "First?" FIELDS a TEXT TO "me" SET ?f WAIT 1.5 SECONDS CONFIRM "Second?" TO "me" SET ?ok WAIT 1 HOUR CONFIRM "Third?" TO "me"`)
	state := func(address, want string) string {
		t.Helper()
		p := get(t, address)
		var s struct{ State, URL string }
		if err := json.Unmarshal([]byte(p.body), &s); err != nil || p.status != 200 || p.header.Get("Cache-Control") != "no-store" {
			t.Fatalf("%d %s %v", p.status, p.body, p.header)
		}
		if s.State != want {
			t.Errorf("the state is %q, want %q", s.State, want)
		}
		return s.URL
	}
	state(a.formURL+"?state", "open")
	first := post(t, a.formURL, "application/x-www-form-urlencoded", "a=1")
	first.want(t, 200, "Working…")
	state(first.at+"&state", "working")
	next := state(first.at+"&state&wait=20", "next")
	state(a.formURL+"?state", "answered")
	state(a.formURL+"?state&wait=20", "answered")
	if p := get(t, first.at); p.at != next {
		t.Errorf("the page leads to %s, and its state to %s", p.at, next)
	}
	get(t, a.formURL+"?state&wait=x").want(t, 400)
	// A job that waits for long is not waited for, and the page leads on when it has got there.
	second := post(t, next, "application/x-www-form-urlencoded", "approved=true")
	second.want(t, 200)
	second = settle(t, second)
	second.want(t, 200, "Thank you", "you approved", "More may be asked after")
	state(next+"?state", "answered")
	state(first.at+"&state&wait=20", "done")
	receipt := receiptOn(t, second)
	state(next+"?state&receipt="+receipt+"&wait=20", "done")
	// With its job the question that was to come goes.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, a.pollURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	send(t, req).want(t, 200)
	p := get(t, next+"?receipt="+receipt)
	p.want(t, 200, "Thank you")
	if strings.Contains(p.body, "More may be asked") {
		t.Errorf("more may be asked of a job that has ended:\n%s", p.body)
	}
}

// TestFollowsOnlyTheOwnQuestion: where another person has answered what follows a question, who answered
// the first is led no further.
func TestFollowsOnlyTheOwnQuestion(t *testing.T) {
	a := ask(t, `GATHER "First?" FIELDS a TEXT SET ?f
		SET ?url AS !JOB('form_url') GATHER "Second?" FIELDS b TEXT SET ?g
		GATHER "Third?" FIELDS c TEXT SET ?h EMIT ?f.a, ?g.b, ?h.c`)
	first := a.post(a.formURL, url.Values{"a": {"1"}})
	first.want(t, 200, "Thank you")
	receipt := receiptOn(t, first)
	mine := a.formURL + "?receipt=" + receipt
	a.get(mine).want(t, 200, "Thank you")
	sent := formURL(t, a.get(a.pollURL))
	third := a.post(sent, url.Values{"b": {"2"}})
	third.want(t, 200, "Third?")
	a.get(mine).want(t, 200, "Thank you")
	a.post(third.at, url.Values{"c": {"3"}}).want(t, 200, "Thank you")
	if status, result := a.result(); status != "complete" || result != "123" {
		t.Errorf("the job is %s with %q", status, result)
	}
}
