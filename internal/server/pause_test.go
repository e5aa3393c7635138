package server_test

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/fault"
	"ql/internal/server"
	"ql/internal/service"
)

// confirm answers a job's question.
func (w *world) confirm(id, body string, headers ...string) response {
	w.t.Helper()
	return w.send("POST", "/v1/confirm/"+id, jsonType, body, headers...)
}

func quickGate() settings {
	return settings{service: func(o *service.Options) { o.Gate = admit.NewGate(admit.GateOptions{Slots: 2, Wait: time.Millisecond}) }}
}

// starts are the ways to start a script that pauses. Each returns the id of its
// job, having checked how it was answered.
func (w *world) starts(m member) map[string]func(t *testing.T, script, output string) string {
	return map[string]func(t *testing.T, script, output string) string{
		"sync": func(t *testing.T, script, output string) string {
			r := w.query(m, script, "")
			a := r.read(t)
			if poll := w.poll(a.JobID, ""); r.status != 202 || poll.body != r.body {
				t.Errorf("sync: %d %s\npoll: %s", r.status, r.body, poll.body)
			}
			return a.JobID
		},
		"async": func(_ *testing.T, script, _ string) string { return w.submit(m, script) },
		"form": func(t *testing.T, script, output string) string {
			r := w.form(m, script, nil)
			id := r.header.Get("QL-Job-Id")
			want := map[string]string{
				"QL-Status": "paused", "Location": "http://api.ql.example/v1/job/" + id, "QL-Error": "",
				"Link": "<http://api.ql.example/v1/confirm/" + id + `>; rel="resume"`, "Content-Type": "text/plain; charset=utf-8",
			}
			for name, value := range want {
				if got := r.header.Get(name); got != value {
					t.Errorf("form: %s is %q, want %q", name, got, value)
				}
			}
			if r.status != 202 || r.body != output {
				t.Errorf("form: %d %q", r.status, r.body)
			}
			return id
		},
	}
}

func TestPauseAndResume(t *testing.T) {
	w := boot(t, settings{service: func(o *service.Options) { o.Limiter = admit.NewLimiter(admit.LimiterOptions{Unlimited: true}) }})
	ada := w.member("ada", account.Standard)
	tests := []struct {
		name, script string
		output       string // so far
		kind         string
		message      string
		reply        string
		status       string
		result       string
	}{
		{"approved", `EMIT "a" CONFIRM "Sure?" EMIT "b"`, "a", "confirm", "Sure?", `{"approved":true}`, "complete", "ab"},
		{"declined", `EMIT "a" CONFIRM "Sure?" EMIT "b"`, "a", "confirm", "Sure?", `{"approved":false}`, "declined", "a"},
		{"declined and kept", `CONFIRM "Sure?" SET ?ok EMIT ?ok`, "", "confirm", "Sure?", `{"approved":false}`, "complete", "false"},
		{"form", `GATHER "Who?" FIELDS name TEXT REQUIRED, n NUMBER SET ?f EMIT ?f`, "", "gather", "Who?", `{"fields":{"name":"Grüße","n":1.5}}`, "complete", `{"name":"Grüße","n":1.5}`},
		{"texts", `GATHER "x" FIELDS n NUMBER, i INTEGER, b BOOLEAN, c BOOLEAN SET ?f EMIT ?f`, "", "gather", "x", `{"fields":{"n":"10","i":"-3","b":"true","c":"on"}}`, "complete", `{"n":10,"i":-3,"b":true,"c":true}`},
		{"in a try", "TRY\n  EMIT \"a\"\n  GATHER \"Name?\" FIELDS name TEXT SET ?f\nCATCH\n  EMIT \"b\"\nEND\nEMIT ?f.name", "a", "gather", "Name?", `{"fields":{"name":"c"}}`, "complete", "ac"},
		{"fails afterwards", `CONFIRM "Sure?" EMIT 1 / 0`, "", "confirm", "Sure?", `{"approved":true}`, "failed", ""},
		{
			"file", `GATHER "x" FIELDS f FILE REQUIRED SET ?f READ ?f.f.path SET ?t EMIT ?f.f.name, " ", ?f.f.type, " ", ?f.f.size, " ", ?t`, "", "gather", "x",
			`{"fields":{"f":{"name":"a.txt","type":"text/plain","base64":"` + base64.StdEncoding.EncodeToString([]byte("hello")) + `"}}}`, "complete", "a.txt text/plain 5 hello",
		},
	}
	for _, test := range tests {
		for way, start := range w.starts(ada) {
			t.Run(test.name+"/"+way, func(t *testing.T) {
				id := start(t, test.script, test.output)
				a := w.reach(id, "paused")
				if *a.Result != test.output || a.Prompt.Kind != test.kind || a.Prompt.Message != test.message || a.Prompt.ID == "" || a.Prompt.ExpiresAt.IsZero() ||
					a.ConfirmURL != "http://api.ql.example/v1/confirm/"+id || a.PollURL != "http://api.ql.example/v1/job/"+id ||
					len(strings.TrimPrefix(a.FormURL, "http://ql.example/form/")) != 43 || strings.Contains(a.FormURL, id) {
					t.Errorf("paused: %+v", a)
				}
				if (a.Prompt.Schema != nil) != (test.kind == "gather") {
					t.Errorf("schema: %v", a.Prompt.Schema)
				}
				if last := a.Trace[len(a.Trace)-1]; last["status"] != "Paused" || last["exec_class"] != "Human" {
					t.Errorf("last step: %v", last)
				}
				r := w.confirm(id, test.reply)
				a = r.read(t)
				if r.status != 200 || a.Status != test.status || *a.Result != test.result || (a.Error.Code != "") != (test.status == "failed") {
					t.Errorf("answered: %d %s", r.status, r.body)
				}
				if poll := w.poll(id, ""); !strings.HasPrefix(r.body, strings.TrimSuffix(poll.body, "}")+`,"answer":{`) {
					t.Errorf("polled: %s\nanswered: %s", poll.body, r.body)
				}
				w.confirm(id, test.reply).wantError(t, 409, "not_paused")
			})
		}
	}
}

// TestDisabledAsksNobody: while an account is disabled, its jobs take no answer.
func TestDisabledAsksNobody(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	paused := w.query(ada, `CONFIRM "Sure?" EMIT "b"`, "").read(t)
	token := strings.TrimPrefix(paused.FormURL, "http://ql.example/form/")
	row, err := w.accounts.Find(t.Context(), "ada")
	check(t, err)
	disable := func(on bool) { check(t, w.store.Accounts().SetFlag(t.Context(), row.ID, account.FlagDisabled, on)) }
	disable(true)
	if a := w.confirm(paused.JobID, `{"approved":true}`).wantError(t, 409, "not_paused"); !strings.Contains(a.Error.Message, "takes no answer for now") {
		t.Errorf("told %q", a.Error.Message)
	}
	w.confirm(paused.JobID, `{"approved":true}`, "Authorization", basic("ada", ada.password)).wantError(t, 401, "bad_credentials")
	if _, err := w.service.Prompt(t.Context(), service.Caller{}, token); !fault.Is(err, fault.NotFound) {
		t.Errorf("the page: %v", err)
	}
	disable(false)
	if _, err := w.service.Prompt(t.Context(), service.Caller{}, token); err != nil {
		t.Errorf("the page afterwards: %v", err)
	}
	if a := w.confirm(paused.JobID, `{"approved":true}`).read(t); a.Status != "complete" || *a.Result != "b" {
		t.Errorf("afterwards: %+v", a)
	}
}

func TestSchema(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	a := w.query(ada, `GATHER "x" FIELDS name TEXT REQUIRED MAX 80, file FILE SET ?f`, "").read(t)
	properties, _ := a.Prompt.Schema["properties"].(map[string]any)
	file, _ := properties["file"].(map[string]any)
	if a.Prompt.Schema["type"] != "object" || len(properties) != 2 || file["type"] != "string" || file["format"] != "binary" || fmt.Sprint(a.Prompt.Schema["required"]) != "[name]" {
		t.Errorf("%v", a.Prompt.Schema)
	}
}

func TestWrongReplies(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	confirm := w.query(ada, `CONFIRM "Sure?"`, "").read(t).JobID
	gather := w.query(ada, `GATHER "x" FIELDS name TEXT REQUIRED MAX 3, n INTEGER MIN 1, f FILE SET ?f EMIT ?f.name`, "").read(t).JobID
	tests := []struct {
		id, body string
		status   int
		code     string
		field    string
	}{
		{confirm, `{"fields":{}}`, 422, "wrong_reply", ""},
		{gather, `{"approved":true}`, 422, "wrong_reply", ""},
		{confirm, `{}`, 400, "invalid_request", "approved"},
		{confirm, `{"approved":"true"}`, 400, "invalid_request", "approved"},
		{confirm, `{"approved":null}`, 400, "invalid_request", "approved"},
		{gather, `{"fields":[]}`, 400, "invalid_request", "fields"},
		{gather, `{"approved":true,"fields":{}}`, 400, "invalid_request", "fields"},
		{confirm, `{"approved":true,"prompt_id":""}`, 400, "invalid_request", "prompt_id"},
		{confirm, `{"approved":true,"prompt_id":"another"}`, 409, "not_paused", ""},
		{gather, `{"fields":{"name":"Ada"},"prompt_id":"another"}`, 409, "not_paused", ""},
	}
	for _, test := range tests {
		if a := w.confirm(test.id, test.body).wantError(t, test.status, test.code); a.Error.Field != test.field || a.Error.Message == "" {
			t.Errorf("%s: %+v", test.body, a.Error)
		}
	}
	for body, fields := range map[string][]string{
		`{"fields":{}}`: {"name"},
		`{"fields":{"name":"long name","n":"x"}}`:       {"name", "n"},
		`{"fields":{"name":1,"n":0}}`:                   {"name", "n"},
		`{"fields":{"name":"Ada","n":1.5}}`:             {"n"},
		`{"fields":{"name":"Ada","f":"text"}}`:          {"f"},
		`{"fields":{"name":"Ada","f":{"name":"a"}}}`:    {"f"},
		`{"fields":{"name":"Ada","f":{"base64":"*"}}}`:  {"f"},
		`{"fields":{"name":"Ada","f":{"path":"/etc"}}}`: {"f"},
	} {
		a := w.confirm(gather, body).wantError(t, 422, "invalid_fields")
		if len(a.Error.Fields) != len(fields) {
			t.Errorf("%s: %v", body, a.Error.Fields)
		}
		for _, name := range fields {
			if a.Error.Fields[name] == "" {
				t.Errorf("%s: %v", body, a.Error.Fields)
			}
		}
	}
	for _, id := range []string{confirm, gather} {
		if got := w.state(id); got != "paused" {
			t.Errorf("the job is %s", got)
		}
	}
	if a := w.confirm(gather, `{"fields":{"name":"Ada"}}`).read(t); a.Status != "complete" || *a.Result != "Ada" {
		t.Errorf("%+v", a)
	}
	w.confirm(w.query(ada, "EMIT 1", "").read(t).JobID, `{"approved":true}`).wantError(t, 409, "not_paused")
	w.confirm("x", `{"approved":true}`).wantError(t, 404, "job_not_found")
	w.confirm(confirm+"?wait=x", `{"approved":true}`).wantError(t, 400, "invalid_request")
}

// TestPromptID answers by the question's id: a double click approves one
// question, not the next.
func TestPromptID(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	id := w.query(ada, `CONFIRM "one" SET ?a CONFIRM "two" SET ?b EMIT ?a, ?b`, "").read(t)
	reply := func(prompt string, approved bool) response {
		return w.confirm(id.JobID, fmt.Sprintf(`{"approved":%t,"prompt_id":%q}`, approved, prompt))
	}
	first := id.Prompt.ID
	var group sync.WaitGroup
	clicks := make([]response, 4)
	for i := range clicks {
		group.Go(func() { clicks[i] = reply(first, true) })
	}
	group.Wait()
	for _, r := range clicks {
		if a := r.read(t); r.status != 200 && r.status != 202 || a.Status == "paused" && a.Prompt.Message != "two" {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	second := w.reach(id.JobID, "paused").Prompt
	if second.Message != "two" || second.ID == first {
		t.Fatalf("%+v", second)
	}
	if r := reply(first, true); r.status != 200 || r.read(t).Prompt.ID != second.ID {
		t.Errorf("the same reply again: %d %s", r.status, r.body)
	}
	reply(first, false).wantError(t, 409, "not_paused")
	w.confirm(id.JobID, fmt.Sprintf(`{"fields":{},"prompt_id":%q}`, first)).wantError(t, 409, "not_paused")
	r := reply(second.ID, false)
	if a := r.read(t); r.status != 200 || a.Status != "complete" || *a.Result != "truefalse" {
		t.Errorf("%d %s", r.status, r.body)
	}
	ended, _, _ := strings.Cut(r.body, `,"answer":`)
	for _, same := range []response{reply(first, true), reply(second.ID, false)} {
		if job, _, _ := strings.Cut(same.body, `,"answer":`); same.status != 200 || job != ended {
			t.Errorf("after the end: %d %s", same.status, same.body)
		}
	}
	reply(second.ID, true).wantError(t, 409, "not_paused")
}

// TestLinksBeforeThePause has a script hand out where its questions are answered,
// each before it is asked.
func TestLinksBeforeThePause(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	script := `
		EMIT !JOB('form_url'), " "
		TRY CONFIRM "none" WITHIN 0 SECONDS CATCH END
		EMIT !JOB('confirm_url'), " "
		CONFIRM "one"
		EMIT !JOB.form_url
		GATHER "two" FIELDS name TEXT SET ?f`
	for way, start := range w.starts(ada) {
		if way == "form" {
			continue // its start wants to know the output
		}
		id := start(t, script, "")
		first := w.reach(id, "paused")
		want := first.FormURL + " " + first.ConfirmURL + " "
		if *first.Result != want || first.Prompt.Message != "one" {
			t.Errorf("%s: %q, and it is asked at %s", way, *first.Result, first.FormURL)
		}
		w.confirm(id, `{"approved":true}`)
		second := w.reach(id, "paused")
		if *second.Result != want+second.FormURL || second.FormURL == first.FormURL || second.Prompt.Message != "two" {
			t.Errorf("%s: %q, and it is asked at %s", way, *second.Result, second.FormURL)
		}
	}
}

// TestConfirmWait answers a job that goes on for longer than the answer waits.
func TestConfirmWait(t *testing.T) {
	h := newHold(t)
	w := boot(t, h.settings())
	t.Cleanup(h.free)
	ada := w.member("ada", account.Standard)
	for _, header := range [][]string{nil, {"Prefer", "wait=0"}} {
		id := w.query(ada, `CONFIRM "Sure?" EMIT "a" EMIT !QUOTA('x')`, "").read(t).JobID
		path := id
		if header == nil {
			path += "?wait=0"
		}
		r := w.confirm(path, `{"approved":true}`, header...)
		if a := r.read(t); r.status != 202 || a.Status != "running" || r.header.Get("Retry-After") == "" {
			t.Errorf("%d %s %v", r.status, r.body, r.header)
		}
		h.wait(t)
		w.confirm(id, `{"approved":true}`).wantError(t, 409, "not_paused")
		if r := w.send("DELETE", "/v1/job/"+id, "", ""); r.status != 200 {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	// A WAIT, and the next question, are answers.
	id := w.query(ada, `CONFIRM "one" WAIT 1 HOUR`, "").read(t).JobID
	if r := w.confirm(id, `{"approved":true}`); r.status != 200 || r.read(t).Status != "waiting" {
		t.Errorf("%d %s", r.status, r.body)
	}
}

func TestExpiry(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	for way, start := range map[string]func(script string) string{
		"sync": func(script string) string { return w.query(ada, script, "").read(t).JobID },
		"form": func(script string) string { return w.form(ada, script, nil).header.Get("QL-Job-Id") },
	} {
		id := start(`EMIT "a" GATHER "x" WITHIN 0.01 SECONDS SET ?f EMIT "b"`)
		if a := w.ended(id); a.Status != "expired" || *a.Result != "a" || a.Error.Code != "expired" || a.Error.Step != "GATHER" {
			t.Errorf("%s: %+v", way, a)
		}
		w.confirm(id, `{"fields":{"x":"y"}}`).wantError(t, 409, "not_paused")
	}
	a := w.query(ada, `CONFIRM "x" WITHIN 8 DAYS`, "").wantError(t, 422, "limit_exceeded")
	if a.Error.Step != "CONFIRM" {
		t.Errorf("%+v", a.Error)
	}
}

// TestNoRoomToStand has more scripts ask something than the account may have.
func TestNoRoomToStand(t *testing.T) {
	const script = `EMIT "a" CONFIRM "Sure?" EMIT "b"`
	w := boot(t, limited(func(l *account.Limits) { l.Suspended = 2 }))
	ada := w.member("ada", account.Free)
	first := w.query(ada, script, "").read(t).JobID
	w.reach(w.submit(ada, script), "paused")

	r := w.query(ada, script, "")
	a := r.wantError(t, 422, "quota_exceeded")
	if a.Error.Limit != "standing" || a.Error.Value != 2 || a.Error.Step != "CONFIRM" || a.Error.Line != 1 || a.Error.Column != 10 || *a.Result != "a" {
		t.Errorf("%s", r.body)
	}
	if last := a.Trace[len(a.Trace)-1]; last["step"] != "CONFIRM" || last["status"] != "Error" {
		t.Errorf("the trace ends with %+v", last)
	}
	// It is decided when the script is stored, so nothing in it can catch it.
	w.query(ada, `TRY CONFIRM "Sure?" CATCH EMIT "caught" END`, "").wantError(t, 422, "quota_exceeded")
	for script, step := range map[string]string{`WAIT 1 HOUR`: "WAIT", `GATHER "x" FIELDS n TEXT SET ?f`: "GATHER"} {
		a := w.reach(w.submit(ada, script), "failed")
		if a.Error.Code != "quota_exceeded" || a.Error.Limit != "standing" || a.Error.Step != step || a.Error.Line != 1 || a.Error.Column != 1 {
			t.Errorf("%+v", a.Error)
		}
		if last := a.Trace[len(a.Trace)-1]; last["step"] != step || last["status"] != "Error" {
			t.Errorf("the trace ends with %+v", last)
		}
	}
	if r := w.form(ada, script, nil); r.status != 422 || r.header.Get("QL-Error") != "quota_exceeded" {
		t.Errorf("by form: %d %v", r.status, r.header)
	}
	// Another account has room of its own, and an answer makes some.
	w.reach(w.submit(w.member("bob", account.Free), script), "paused")
	if r := w.confirm(first, `{"approved":true}`); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	w.ended(first)
	if a := w.query(ada, script, "").read(t); a.Status != "paused" {
		t.Errorf("after an answer: %+v", a)
	}
}

// TestProgramsHaveTheirRoom: programs that jobs need are stored within a bound, those
// that none needs make way, and a job whose program made way is run all the same.
func TestProgramsHaveTheirRoom(t *testing.T) {
	w := boot(t, limited(func(l *account.Limits) { l.SuspendedBytes, l.Queued = 100_000, 100 }))
	ada := w.member("ada", account.Free)
	// Each has about 30,000 bytes of program.
	script := func(n int, end string) string {
		return `SET ?x AS "` + strings.Repeat(strconv.Itoa(n), 30_000) + `" EMIT LENGTH(?x) SET ?x AS NULL ` + end
	}
	for n := range 9 {
		if a := w.query(ada, script(n, `CONFIRM "Sure?"`), "").read(t); a.Status != "paused" {
			t.Fatalf("job %d: %+v", n, a)
		} else if n != 4 {
			w.confirm(a.JobID, `{"approved":true}`)
			w.ended(a.JobID)
		}
	}
	for range 2 { // the first has made way, though it was stored lately
		first := w.query(ada, script(0, `CONFIRM "Sure?"`), "").read(t)
		if first.Status != "paused" {
			t.Fatalf("the first again: %+v", first)
		}
	}
	a := w.query(ada, script(1, `CONFIRM "Sure?"`), "").wantError(t, 422, "quota_exceeded")
	if a.Error.Limit != "standing_bytes" || a.Error.Value != 100_000 {
		t.Errorf("a fourth that stands: %+v", a.Error)
	}
	// One that could never be stored is refused when it comes.
	w = boot(t, limited(func(l *account.Limits) { l.SuspendedBytes = 20_000 }))
	bob := w.member("bob", account.Free)
	r := w.query(bob, script(1, `WAIT 1 HOUR`), `"mode":"async"`)
	if a := r.wantError(t, 429, "quota_exceeded"); a.Error.Limit != "standing_bytes" || r.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// TestNoBytesToStand has scripts hold more together than the account's may.
func TestNoBytesToStand(t *testing.T) {
	w := boot(t, limited(func(l *account.Limits) { l.SuspendedBytes = 50_000 }))
	ada := w.member("ada", account.Free)
	const script = `SET ?x AS REPEAT("x", 20000) CONFIRM "Sure?" EMIT LENGTH(?x)`
	for range 2 {
		w.reach(w.submit(ada, script), "paused")
	}
	r := w.query(ada, script, "")
	if a := r.wantError(t, 422, "quota_exceeded"); a.Error.Limit != "standing_bytes" || a.Error.Value != 50_000 {
		t.Errorf("%s", r.body)
	}
	if a := w.query(ada, `CONFIRM "Sure?"`, "").read(t); a.Status != "paused" {
		t.Errorf("a small one: %+v", a)
	}
}

// TestTooLargeToStand holds more at a question than may be stored.
func TestTooLargeToStand(t *testing.T) {
	w := boot(t, limited(func(l *account.Limits) { l.SnapshotBytes = 10_000 }))
	ada := w.member("ada", account.Standard)
	const script = `SET ?x AS REPEAT("x", 20000) EMIT "a" CONFIRM "Sure?" EMIT LENGTH(?x)`
	r := w.query(ada, script, "")
	if a := r.wantError(t, 422, "limit_exceeded"); a.Error.Limit != "snapshot" || a.Error.Value != 10_000 || *a.Result != "a" {
		t.Errorf("%s", r.body)
	}
	if a := w.reach(w.submit(ada, script), "failed"); a.Error.Limit != "snapshot" || *a.Result != "a" {
		t.Errorf("%+v", a)
	}
}

// TestLargeFormPage: the page of a form with many choices is many times as large as the
// form. It is made only where the node has memory for it.
func TestLargeFormPage(t *testing.T) {
	for _, test := range []struct {
		budget int64
		status int
	}{{480 << 20, 200}, {4 << 20, 413}} {
		ledger := admit.NewLedger(admit.LedgerOptions{Budget: test.budget, Unlimited: true, Wait: time.Millisecond})
		w := boot(t, settings{http: func(o *server.Options) { o.Ledger = ledger }})
		ada := w.member("ada", account.Unlimited)
		const script = `SET ?c AS MAP(RANGE(1, 1000), ?i -> "choice {?i}")
GATHER "Which?" FIELDS a CHOICE ?c, b CHOICE ?c, c CHOICE ?c, d CHOICE ?c SET ?f`
		paused := w.query(ada, script, "").read(t)
		page := w.send("GET", strings.TrimPrefix(paused.FormURL, "http://ql.example"), "", "")
		if page.status != test.status || test.status == 200 && strings.Count(page.body, "<option") < 4000 {
			t.Errorf("with %d bytes: %d, %.300s", test.budget, page.status, page.body)
		}
	}
}
