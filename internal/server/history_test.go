package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"ql/internal/account"
)

// history is a job by its number.
type history struct {
	Status string
	JobID  string `json:"job_id"`
	Ref    int64
	Name   *string
	Result string
	Mode   string
	By     string
	Origin *int64
	Source *struct {
		Text  string
		Files []struct{ Path, Text string }
	}
	Request json.RawMessage
	Input   json.RawMessage
	Cost    *struct{ Fuel, Memory, Output, Fetches int64 }
	Answers []struct {
		PromptID string `json:"prompt_id"`
		By       string
	}
	Error *struct{ Code string }
	Steps int64
}

func (w *world) history(m member, ref string) (h history) {
	w.t.Helper()
	r := w.send("GET", "/v1/jobs/"+ref, "", "", "Authorization", basic(m.name, m.password))
	if r.status != 200 {
		w.t.Fatalf("%d %s", r.status, r.body)
	}
	check(w.t, json.Unmarshal([]byte(r.body), &h))
	return h
}

// repeat repeats a job, and returns the answer.
func (w *world) repeat(m member, ref, body string, headers ...string) response {
	w.t.Helper()
	return w.send("POST", "/v1/jobs/"+ref+"/repeat", jsonType, body, append([]string{"Authorization", basic(m.name, m.password)}, headers...)...)
}

// settled waits until a job has ended or asks.
func (w *world) settled(id string) {
	w.t.Helper()
	w.send("GET", "/v1/job/"+id+"?wait=20", "", "")
}

// TestJobHistory looks at jobs by their numbers, with what they were called with.
func TestJobHistory(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	w.send("PUT", "/v1/files/lib.ql", "", "DEFINE FUNCTION hello()\n  RETURN \"hello\"\nEND DEFINE\n", "Authorization", basic(ada.name, ada.password))
	const script = "-- Greet\nINPUT FIELDS name TEXT\nEMIT !INPUT('name') + !GET('b') + !REQUEST('header:x-a')"
	first := w.query(ada, script, `"input":{"name":"Bo"},"request":{"get":{"b":"c"},"cookie":{"sid":"secret-cookie"},"header:x-a":"d","header:Authorization":"Bearer secret-header"}`).read(t)
	ref := w.ref(first.JobID)
	h := w.history(ada, ref)
	if h.JobID != first.JobID || h.Name == nil || *h.Name != "Greet" || h.Result != "Bocd" || h.Source == nil || h.Source.Text != script || h.Origin != nil || h.Status != "complete" {
		t.Errorf("%+v", h)
	}
	if string(h.Request) != `{"header:x-a":"d","get":{"b":"c"}}` || string(h.Input) != `{"name":"Bo"}` {
		t.Errorf("the request is %s, the input %s", h.Request, h.Input)
	}
	if h.Cost == nil || h.Cost.Fuel == 0 || h.Cost.Output != 4 || h.Cost.Fetches != 0 {
		t.Errorf("the cost is %+v", h.Cost)
	}
	r := w.send("GET", "/v1/jobs/"+ref+"/source", "", "", "Authorization", basic(ada.name, ada.password))
	if want := `{"status":"ok","ref":` + ref + `,"text":` + quote(script) + `,"files":[]}`; r.status != 200 || r.body != want {
		t.Errorf("%d %s, want %s", r.status, r.body, want)
	}

	// A job that waits has its source and request too, and its answers afterwards.
	paused := w.query(ada, "CONFIRM \"Sure?\"\nEMIT 1", `"mode":"async"`).read(t)
	w.settled(paused.JobID)
	pausedRef := w.ref(paused.JobID)
	if h := w.history(ada, pausedRef); h.Status != "paused" || h.Source == nil || !strings.HasPrefix(h.Source.Text, "CONFIRM") || h.Cost != nil || len(h.Answers) != 0 || string(h.Request) != "null" || h.Name != nil {
		t.Errorf("%+v", h)
	}
	w.send("POST", "/v1/confirm/"+paused.JobID, jsonType, `{"approved":true}`)
	w.settled(paused.JobID)
	if h := w.history(ada, pausedRef); h.Status != "complete" || len(h.Answers) != 1 || h.Cost == nil || h.Cost.Fuel == 0 {
		t.Errorf("%+v", h)
	}

	// One that does not compile has its text.
	failed := w.query(ada, "EMIT (", "").read(t)
	if h := w.history(ada, w.ref(failed.JobID)); h.Source == nil || h.Source.Text != "EMIT (" || h.Error == nil || h.Error.Code != "syntax_error" {
		t.Errorf("%+v", h)
	}

	// By its id it is the same, to its owner alone.
	byID, byRef := w.history(ada, failed.JobID), w.history(ada, w.ref(failed.JobID))
	if byID.Source.Text != byRef.Source.Text || byID.Steps != byRef.Steps {
		t.Errorf("%+v and %+v", byID, byRef)
	}
	eve := w.member("eve", account.Standard)
	for _, route := range []string{"", "/source", "/answers"} {
		w.send("GET", "/v1/jobs/"+failed.JobID+route, "", "", "Authorization", basic(eve.name, eve.password)).wantError(t, 404, "job_not_found")
	}
	w.repeat(eve, failed.JobID, `{}`).wantError(t, 404, "job_not_found")

	for _, wrong := range []string{"0", "-1", "01", "x", "99999999", "9223372036854775808", "0d3f0a4e-7b8c-4d5e-9f00-112233445566"} {
		for _, route := range []string{"", "/source", "/answers"} {
			w.send("GET", "/v1/jobs/"+wrong+route, "", "", "Authorization", basic(ada.name, ada.password)).wantError(t, 404, "job_not_found")
		}
		w.repeat(ada, wrong, `{}`).wantError(t, 404, "job_not_found")
	}
}

// TestJobsAreFoundAtOnce: a job that was accepted, or has just ended, is found by its id, though its record is
// stored a moment later.
func TestJobsAreFoundAtOnce(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	for i := range 40 {
		mode := `"mode":"async"`
		if i%2 == 0 {
			mode = `"mode":"sync"`
		}
		made := w.query(ada, "EMIT 1", mode).read(t)
		if h := w.history(ada, made.JobID); h.JobID != made.JobID || h.Ref == 0 {
			t.Fatalf("%+v", h)
		}
	}
}

// TestRepeat repeats jobs: the same, edited, by key, and never with more rights than they had.
func TestRepeat(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	check(t, w.accounts.SetSecret(t.Context(), "ada", "key", "s3cret"))
	const script = "INPUT FIELDS name TEXT DEFAULT 'nobody'\nEMIT !INPUT('name') + !GET('b')"
	first := w.query(ada, script, `"input":{"name":"Bo"},"request":{"get":{"b":"c"}}`).read(t)
	ref := w.ref(first.JobID)
	for body, want := range map[string]string{
		``:                              "Boc",
		`{}`:                            "Boc",
		`{"request":{"get":{"b":"x"}}}`: "Box",
		`{"input":{"name":"Al"}}`:       "Alc",
		`{"input":{},"request":{"get":{"b":""}}}`:     "nobody",
		`{"input":{"name":"Al"},"mode":"sync"}`:       "Alc",
		`{"trace":false,"request":{"get":{"b":"y"}}}`: "Boy",
	} {
		a := w.repeat(ada, ref, body).read(t)
		if *a.Result != want || a.JobID == first.JobID {
			t.Errorf("%s: %+v", body, a)
			continue
		}
		if h := w.history(ada, w.ref(a.JobID)); h.Origin == nil || *h.Origin == 0 || h.Source.Text != script {
			t.Errorf("%s: %+v", body, h)
		}
	}
	async := w.repeat(ada, ref, `{"mode":"async"}`)
	if async.status != 202 {
		t.Fatalf("%d %s", async.status, async.body)
	}
	w.settled(async.read(t).JobID)
	if h := w.history(ada, w.ref(async.read(t).JobID)); h.Mode != "async" || h.Result != "Boc" {
		t.Errorf("%+v", h)
	}

	// The key of a repetition leads to it, and to no other.
	again := w.repeat(ada, ref, `{}`, "Idempotency-Key", "k1").read(t)
	if same := w.repeat(ada, ref, `{}`, "Idempotency-Key", "k1").read(t); same.JobID != again.JobID {
		t.Errorf("%s, not %s", same.JobID, again.JobID)
	}
	w.repeat(ada, ref, `{"request":{}}`, "Idempotency-Key", "k1").wantError(t, 422, "idempotency_mismatch")

	for body, field := range map[string]string{
		`{"query":"EMIT 1"}`: "query", `{"mode":"x"}`: "mode", `{"request":1}`: "request", `{"input":1}`: "input", `[]`: "body", `{`: "body", `{"auth":{}}`: "auth",
	} {
		if a := w.repeat(ada, ref, body).wantError(t, 400, "invalid_request"); a.Error.Field != field {
			t.Errorf("%s: %+v", body, a.Error)
		}
	}

	// What a page started reads no secrets, however often it is repeated.
	const reads = "TRY\n  EMIT !SECRET('key')\nCATCH ?e\n  EMIT 'none'\nEND"
	if a := w.query(ada, reads, "").read(t); *a.Result != "s3cret" {
		t.Fatalf("%+v", a)
	} else if b := w.repeat(ada, w.ref(a.JobID), `{}`).read(t); *b.Result != "s3cret" {
		t.Errorf("the owner's own: %+v", b)
	}
	page := w.send("POST", "/v1/query", jsonType, `{"query":`+quote(reads)+`}`, "Origin", listed).read(t)
	if *page.Result != "none" {
		t.Fatalf("%+v", page)
	}
	for range 3 {
		page = w.repeat(ada, w.ref(page.JobID), `{}`).read(t)
		if *page.Result != "none" {
			t.Errorf("a page's, repeated: %+v", page)
		}
	}

	// A published script is called by its name, as it is now, and by who may call it.
	w.publish("greet", "EMIT 'old'", account.CallersKeys)
	called := w.send("POST", "/v1/query", jsonType, `{"auth":{"username":"ada","password":`+quote(ada.password)+`},"script":"greet"}`).read(t)
	w.publish("greet", "EMIT 'new'", account.CallersKeys)
	named := w.ref(called.JobID)
	if a := w.repeat(ada, named, `{}`).read(t); *a.Result != "new" {
		t.Errorf("%+v", a)
	}
	key := w.key(ada, "greeter", "jobs", "run:greet")
	post := func(ref string) response {
		return w.send("POST", "/v1/jobs/"+ref+"/repeat", jsonType, `{}`, bearer(key)...)
	}
	if a := post(named).read(t); *a.Result != "new" {
		t.Errorf("by a key: %+v", a)
	}
	if r := post(ref); r.status != 404 { // a key for some programs sees no others
		t.Errorf("another script by a key: %d %s", r.status, r.body)
	}
}
