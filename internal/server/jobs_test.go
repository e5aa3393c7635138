package server_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/job"
	"ql/internal/service"
	"ql/lang/value"
)

// hold makes scripts wait at !QUOTA until it is freed.
type hold struct {
	reached  chan struct{}
	freed    chan struct{}
	free     func()
	stubborn bool // also those that are cut off
}

func newHold(t *testing.T) *hold {
	h := &hold{reached: make(chan struct{}), freed: make(chan struct{})}
	h.free = sync.OnceFunc(func() { close(h.freed) })
	t.Cleanup(h.free)
	return h
}

func (h *hold) settings() settings {
	return settings{service: func(o *service.Options) {
		open := o.Host.Resources
		o.Host.Resources = func(ctx context.Context, a account.Account, l account.Limits, session string) (engine.Resources, error) {
			r, err := open(ctx, a, l, session)
			r.Quota = h.quota
			return r, err
		}
	}}
}

func (h *hold) quota(ctx context.Context) (value.Value, error) {
	cut := ctx.Done()
	if h.stubborn {
		cut = nil
	}
	select {
	case h.reached <- struct{}{}:
	case <-h.freed:
	}
	select {
	case <-h.freed:
	case <-cut:
		return value.Null, ctx.Err()
	}
	return value.NewMap(nil, 0).Value(), nil
}

// wait returns when a script is held.
func (h *hold) wait(t *testing.T) {
	t.Helper()
	select {
	case <-h.reached:
	case <-time.After(time.Minute):
		t.Fatal("no script came to where it is held")
	}
}

// submit submits a script, and returns the id of its job.
func (w *world) submit(m member, script string, headers ...string) string {
	w.t.Helper()
	r := w.query(m, script, `"mode":"async"`, headers...)
	a := r.read(w.t)
	if r.status != 202 || a.Status != "accepted" {
		w.t.Fatalf("submitted: %d %s", r.status, r.body)
	}
	return a.JobID
}

// poll polls a job; query may be "?wait=…".
func (w *world) poll(id, query string, headers ...string) response {
	w.t.Helper()
	return w.send("GET", "/v1/job/"+id+query, "", "", headers...)
}

// reach waits until a job is finished or asks something, and checks its state.
func (w *world) reach(id, status string) answer {
	w.t.Helper()
	r := w.poll(id, "?wait=60")
	a := r.read(w.t)
	if r.status != 200 || a.Status != status {
		w.t.Fatalf("the job is no %s: %d %s", status, r.status, r.body)
	}
	return a
}

// ended waits for the end of a job, through all questions and waits.
func (w *world) ended(id string) answer {
	w.t.Helper()
	w.send("GET", "/v1/job/"+id+"/events", "", "") // ends with the job
	return w.poll(id, "").read(w.t)
}

func TestAsync(t *testing.T) {
	h := newHold(t)
	w := boot(t, h.settings())
	t.Cleanup(h.free)
	ada := w.member("ada", account.Standard)
	r := w.query(ada, `EMIT "so far" EMIT !QUOTA('x') EMIT ", done"`, `"mode":"async"`)
	a := r.read(t)
	want := fmt.Sprintf(`{"status":"accepted","job_id":%q,"poll_url":"http://api.ql.example/v1/job/%s"}`, a.JobID, a.JobID)
	if r.status != 202 || r.body != want || r.header.Get("Location") != a.PollURL {
		t.Fatalf("%d %s %v", r.status, r.body, r.header)
	}
	h.wait(t)
	r = w.poll(a.JobID, "")
	running := r.read(t)
	if running.Status != "running" || !strings.HasPrefix("so far, done", *running.Result) || running.PollURL != a.PollURL || r.header.Get("Retry-After") != "1" {
		t.Errorf("under way: %s %v", r.body, r.header)
	}
	// A wait that is over shows it as it is.
	if r := w.poll(a.JobID, "?wait=0"); r.read(t).Status != "running" {
		t.Errorf("%s", r.body)
	}
	answers := make(chan response, 2)
	go func() { answers <- w.poll(a.JobID, "?wait=60") }()
	go func() { answers <- w.poll(a.JobID, "", "Prefer", "respond-async, wait=60") }()
	h.free()
	first := <-answers
	done := first.read(t)
	if first.status != 200 || done.Status != "complete" || *done.Result != "so far, done" || len(done.Trace) != 3 || first.header.Get("Retry-After") != "" {
		t.Errorf("finished: %s %v", first.body, first.header)
	}
	if second := <-answers; second.body != first.body {
		t.Errorf("another poll: %s", second.body)
	}
	for range 3 {
		if again := w.poll(a.JobID, ""); again.body != first.body {
			t.Errorf("a later poll: %s", again.body)
		}
	}
	if r := w.send("HEAD", "/v1/job/"+a.JobID, "", ""); r.status != 200 || r.body != "" {
		t.Errorf("HEAD: %d %q", r.status, r.body)
	}
}

func TestAsyncEnds(t *testing.T) {
	w := boot(t, limited(func(l *account.Limits) { l.AsyncCPU = 50 * time.Millisecond }))
	ada := w.member("ada", account.Standard)
	tests := []struct {
		name, script string
		status       string
		result       string
		code         string
		line         int
	}{
		{"complete", `EMIT "Grüße"`, "complete", "Grüße", "", 0},
		{"nothing", ``, "complete", "", "", 0},
		{"failed", "EMIT \"so far\"\nEMIT 1 / 0", "failed", "so far", "division_by_zero", 2},
		{"own code", `FAIL "none left" CODE "out_of_stock"`, "failed", "", "out_of_stock", 1},
		{"endless", `WHILE TRUE DO SET ?x AS 1 END`, "failed", "", "limit_exceeded", 1},
		{"a code that looks like ours", `FAIL "mine" CODE "expired"`, "failed", "", "expired", 1},
		{"bytes", `EMIT FROM_BASE64("/wD+")`, "complete", "/wD+", "", 0},
		{"expired", `EMIT "so far" CONFIRM "Sure?" WITHIN 0.01 SECONDS`, "expired", "so far", "expired", 1},
		{"expired and caught", "TRY\n  CONFIRM \"Sure?\" WITHIN 0.01 SECONDS\nCATCH ?e\n  EMIT ?e.code\nEND", "complete", "expired", "", 0},
		{"waited", `EMIT "a" WAIT 0.01 SECONDS EMIT "b"`, "complete", "ab", "", 0},
		{"effects", "WRITE \"x\" TO \"/x.txt\"\nREAD \"/x.txt\" SET ?x\nCREATE TABLE t (n INTEGER);\nINSERT INTO t VALUES (7);\nSELECT n FROM t SET VALUE ?n\nEMIT ?x, ?n", "complete", "x7", "", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			id := w.submit(ada, test.script)
			a := w.ended(id)
			if a.Status != test.status || a.Result == nil || *a.Result != test.result || a.Error.Code != test.code || a.Error.Line != test.line {
				t.Errorf("%+v", a)
			}
			if (a.ResultEncoding == "base64") != (test.name == "bytes") {
				t.Errorf("encoding %q", a.ResultEncoding)
			}
			if first, second := w.poll(id, "").body, w.poll(id, "?wait=1").body; first != second {
				t.Errorf("polled twice:\n%s\n%s", first, second)
			}
		})
	}
}

// TestAsyncUncompiled checks that a script that does not compile is told at once.
func TestAsyncUncompiled(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	r := w.query(ada, "EMIT (", `"mode":"async","options":{"webhook":"https://example.com/end"}`)
	a := r.wantError(t, 422, "syntax_error")
	if a.Status != "failed" || len(a.Error.Details) == 0 || r.header.Get("Location") != "" {
		t.Errorf("%s %v", r.body, r.header)
	}
	if poll := w.poll(a.JobID, ""); poll.status != 200 || poll.body != r.body {
		t.Errorf("poll: %d %s", poll.status, poll.body)
	}
}

func TestJobID(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	const script = `EMIT !JOB('id')`
	if a := w.query(ada, script, "").read(t); *a.Result != a.JobID {
		t.Errorf("sync: %+v", a)
	}
	if r := w.form(ada, script, nil); r.body != r.header.Get("QL-Job-Id") {
		t.Errorf("form: %s %v", r.body, r.header)
	}
	id := w.submit(ada, script)
	if a := w.reach(id, "complete"); *a.Result != id {
		t.Errorf("async: %+v", a)
	}
	paused := w.query(ada, `EMIT !JOB('id') CONFIRM "Sure?" EMIT !JOB('id')`, "").read(t)
	a := w.confirm(paused.JobID, `{"approved":true}`).read(t)
	if *a.Result != paused.JobID+paused.JobID {
		t.Errorf("resumed: %+v", a)
	}
}

func TestCancel(t *testing.T) {
	h := newHold(t)
	w := boot(t, h.settings(), limited(func(l *account.Limits) { l.Concurrent = 1 }))
	t.Cleanup(h.free)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	cancel := func(id string, status int, state string) response {
		t.Helper()
		r := w.send("DELETE", "/v1/job/"+id, "", "")
		if a := r.read(t); r.status != status || a.Status != state {
			t.Errorf("cancelled: %d %s, want %d %s", r.status, r.body, status, state)
		}
		return r
	}

	running := w.submit(ada, `EMIT "so far" WRITE "x" TO "/x.txt" EMIT !QUOTA('x') EMIT "never"`)
	h.wait(t)
	accepted := w.submit(ada, `EMIT "never"`)
	if a := w.poll(accepted, "").read(t); a.Status != "accepted" {
		t.Errorf("behind another: %+v", a)
	}
	cancel(accepted, 200, "cancelled")
	r := cancel(running, 200, "cancelled")
	if a := r.read(t); *a.Result != "so far" || a.Error.Code != "" {
		t.Errorf("%s", r.body)
	}
	// It stays so, and what it did stays done.
	if again := cancel(running, 200, "cancelled"); again.body != r.body {
		t.Errorf("cancelled again: %s", again.body)
	}
	if poll := w.poll(running, ""); poll.body != r.body {
		t.Errorf("polled: %s", poll.body)
	}
	if a := w.query(ada, `READ "/x.txt" SET ?x EMIT ?x`, "").read(t); *a.Result != "x" {
		t.Errorf("%+v", a)
	}

	paused := w.query(bob, `EMIT "so far" CONFIRM "Sure?"`, "").read(t)
	cancel(paused.JobID, 200, "cancelled")
	w.confirm(paused.JobID, `{"approved":true}`).wantError(t, 409, "not_paused")
	waiting := w.query(bob, `EMIT "so far" WAIT 1 HOUR`, "").read(t)
	if a := cancel(waiting.JobID, 200, "cancelled").read(t); *a.Result != "so far" {
		t.Errorf("%+v", a)
	}
	complete := w.query(bob, "EMIT 1", "").read(t)
	cancel(complete.JobID, 200, "complete")
	failed := w.submit(bob, "EMIT 1 / 0")
	w.reach(failed, "failed")
	cancel(failed, 200, "failed")
	w.send("DELETE", "/v1/job/"+job.NewID().String(), "", "").wantError(t, 404, "job_not_found")
}

// TestCancelStubborn cancels a job that does not stop at once.
func TestCancelStubborn(t *testing.T) {
	h := newHold(t)
	h.stubborn = true
	w := boot(t, h.settings())
	t.Cleanup(h.free)
	ada := w.member("ada", account.Standard)
	id := w.submit(ada, `EMIT "so far" EMIT !QUOTA('x') EMIT "never"`)
	h.wait(t)
	r := w.send("DELETE", "/v1/job/"+id, "", "")
	if a := r.read(t); r.status != 202 || a.Status != "running" || r.header.Get("Retry-After") == "" {
		t.Errorf("%d %s %v", r.status, r.body, r.header)
	}
	h.free()
	if a := w.reach(id, "cancelled"); *a.Result != "so far" {
		t.Errorf("%+v", a)
	}
}

func TestQueueLimit(t *testing.T) {
	h := newHold(t)
	w := boot(t, h.settings(), limited(func(l *account.Limits) { l.Concurrent, l.Queued = 1, 2 }))
	t.Cleanup(h.free)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	ids := []string{w.submit(ada, "EMIT !QUOTA('x')")}
	h.wait(t)
	for range 2 {
		ids = append(ids, w.submit(ada, "EMIT 1"))
	}
	r := w.query(ada, "EMIT 1", `"mode":"async"`)
	if a := r.wantError(t, 429, "quota_exceeded"); a.Status != "error" || r.header.Get("Retry-After") == "" || a.Error.Limit != "queued" || a.Error.Value != 2 ||
		!strings.Contains(a.Error.Message, "has 2 jobs in line") || strings.Contains(a.Error.Message, "waiting") {
		t.Errorf("%s %v", r.body, r.header)
	}
	w.reach(w.submit(bob, "EMIT 1"), "complete") // others are not concerned
	h.free()
	for _, id := range ids {
		w.reach(id, "complete")
	}
	w.reach(w.submit(ada, "EMIT 1"), "complete")
}

func TestJobList(t *testing.T) {
	w := boot(t)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	byPassword := []string{w.query(ada, "EMIT 1", "").read(t).JobID, w.query(ada, "EMIT 1 / 0", "").read(t).JobID}
	byPassword = append(byPassword, w.submit(ada, "EMIT 2"), w.query(ada, `CONFIRM "Sure?"`, "").read(t).JobID)
	w.reach(byPassword[2], "complete")
	byKey := []string{w.form(ada, "EMIT 1", nil).header.Get("QL-Job-Id"), w.form(ada, `GATHER "x" SET ?x`, nil).header.Get("QL-Job-Id")}
	w.query(bob, "EMIT 1", "")
	check(t, w.recorder.Flush(t.Context()))
	list := func(query string, headers ...string) answer {
		t.Helper()
		r := w.send("GET", "/v1/jobs"+query, "", "", headers...)
		if r.status != 200 {
			t.Fatalf("%d %s", r.status, r.body)
		}
		return r.read(t)
	}
	ids := func(a answer) []string {
		var all []string
		for _, j := range a.Jobs {
			all = append(all, j.ID)
		}
		return all
	}
	sorted := func(list ...string) []string { return slices.Sorted(slices.Values(list)) }
	password := []string{"Authorization", basic("ada", ada.password)}
	key := []string{"Authorization", basic("ada", ada.key)}

	all := list("", password...)
	if got, want := sorted(ids(all)...), sorted(slices.Concat(byPassword, byKey)...); !slices.Equal(got, want) || all.Next != "" {
		t.Errorf("all: %v, want %v", got, want)
	}
	if got := sorted(ids(list("", key...))...); !slices.Equal(got, sorted(byKey...)) {
		t.Errorf("the key's: %v, want %v", got, byKey)
	}
	for _, j := range all.Jobs {
		open := j.ID == byPassword[3] || j.ID == byKey[1]
		if (j.Status == "paused") != open || (j.FinishedAt == nil) != open || j.CreatedAt.IsZero() || (j.Mode == "async") != (j.ID == byPassword[2]) ||
			(j.Convention == "form") != slices.Contains(byKey, j.ID) {
			t.Errorf("%+v", j)
		}
	}
	if got := ids(list("?status=failed", password...)); !slices.Equal(got, byPassword[1:2]) {
		t.Errorf("failed: %v", got)
	}
	if got := sorted(ids(list("?status=paused", password...))...); !slices.Equal(got, sorted(byPassword[3], byKey[1])) {
		t.Errorf("paused: %v", got)
	}
	if got := list("?status=expired", password...); len(got.Jobs) != 0 || got.Next != "" {
		t.Errorf("expired: %+v", got)
	}
	// Page by page it is the same list.
	var paged []string
	for query := "?limit=2"; ; {
		page := list(query, password...)
		paged = append(paged, ids(page)...)
		if page.Next == "" {
			break
		}
		if len(page.Jobs) != 2 || len(paged) > 6 {
			t.Fatalf("%s: %+v", query, page)
		}
		query = "?limit=2&before=" + page.Next
	}
	if !slices.Equal(paged, ids(all)) {
		t.Errorf("paged: %v, all: %v", paged, ids(all))
	}
	for query, code := range map[string]string{
		"?limit=0": "limit", "?limit=501": "limit", "?limit=x": "limit", "?status=ok": "status", "?before=x": "before", "?more=1": "more", "?limit=1&limit=1": "limit",
	} {
		if a := w.send("GET", "/v1/jobs"+query, "", "", password...).wantError(t, 400, "invalid_request"); a.Error.Field != code {
			t.Errorf("%s: %+v", query, a.Error)
		}
	}
	r := w.send("GET", "/v1/jobs", "", "")
	if r.wantError(t, 401, "bad_credentials"); r.header.Get("WWW-Authenticate") == "" {
		t.Errorf("%v", r.header)
	}
}

func TestAsyncSessions(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	const count = `START SESSION
IF !SESSION('n') IS NULL THEN SET "n" AS 0 OF !SESSION END
SET ?n AS !SESSION('n') + 1
WAIT 0 SECONDS
SET "n" AS ?n OF !SESSION
EMIT ?n`
	r := w.query(ada, count, `"mode":"async"`)
	cookie := r.cookie(t)
	if r.status != 202 || cookie == nil {
		t.Fatalf("%d %s %v", r.status, r.body, r.header)
	}
	if a := w.reach(r.read(t).JobID, "complete"); *a.Result != "1" {
		t.Errorf("%+v", a)
	}
	send := []string{"Cookie", "QLSESSID=" + cookie.Value}
	// Jobs and calls on one session run one after the other.
	const calls = 4
	results := make(chan string, 2*calls)
	for range calls {
		go func() { results <- *w.query(ada, count, "", send...).read(t).Result }()
		go func() {
			r := w.query(ada, count, `"mode":"async"`, send...)
			if r.cookie(t) != nil {
				t.Errorf("a session that the caller has is given again: %v", r.header)
			}
			results <- *w.reach(r.read(t).JobID, "complete").Result
		}()
	}
	var got []string
	for range 2 * calls {
		got = append(got, <-results)
	}
	slices.Sort(got)
	if want := []string{"2", "3", "4", "5", "6", "7", "8", "9"}; !slices.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
	if r := w.query(ada, "EMIT 1", `"mode":"async"`); r.cookie(t) != nil {
		t.Error("a script without a session sets a cookie")
	}

	// A pause lets go of the session, and it is read anew afterwards.
	for name, start := range map[string]func(script string) string{
		"async": func(script string) string { return w.submit(ada, script, send...) },
		"sync":  func(script string) string { return w.query(ada, script, "", send...).read(t).JobID },
		"form":  func(script string) string { return w.form(ada, script, nil, send...).header.Get("QL-Job-Id") },
	} {
		id := start(`START SESSION SET "x" AS 1 OF !SESSION CONFIRM "Sure?" EMIT !SESSION('x')`)
		w.reach(id, "paused")
		if r := w.query(ada, `START SESSION SET "x" AS !SESSION('x') + 4 OF !SESSION`, "", send...); r.status != 200 {
			t.Errorf("%s: %s", name, r.body)
		}
		if a := w.confirm(id, `{"approved":true}`).read(t); a.Status != "complete" || *a.Result != "5" {
			t.Errorf("%s: %+v", name, a)
		}
	}

	// A script that starts its session only after a pause has one to start.
	paused := w.query(ada, `CONFIRM "Sure?" START SESSION SET "late" AS "yes" OF !SESSION`, "")
	late := paused.cookie(t)
	if late == nil {
		t.Fatalf("no session: %s %v", paused.body, paused.header)
	}
	w.confirm(paused.read(t).JobID, `{"approved":true}`)
	if r := w.form(ada, `START SESSION EMIT !SESSION('late')`, nil, "Cookie", "QLSESSID="+late.Value); r.body != "yes" {
		t.Errorf("after the pause: %s", r.body)
	}
}

// TestPageJobs checks that a job that a page started stays a page's.
func TestPageJobs(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	check(t, w.accounts.SetSecret(t.Context(), "ada", "key", "very secret"))
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	const script = `TRY EMIT !SECRET('key') CATCH ?e EMIT ?e.code END CONFIRM "Sure?" TRY EMIT !SECRET('key') CATCH ?e EMIT ?e.code END`
	for _, mode := range []string{"sync", "async"} {
		r := w.send("POST", "/v1/query", jsonType, `{"mode":"`+mode+`","query":`+quote(script)+`}`, "Origin", listed)
		id := r.read(t).JobID
		w.reach(id, "paused")
		// Also where the account's owner answers.
		a := w.confirm(id, `{"approved":true}`, "Authorization", basic("ada", ada.password)).read(t)
		if a.Status != "complete" || *a.Result != "not_availablenot_available" {
			t.Errorf("%s: %+v", mode, a)
		}
	}
	for _, mode := range []string{"sync", "async"} {
		id := w.query(ada, script, `"mode":"`+mode+`"`).read(t).JobID
		w.reach(id, "paused")
		// Whoever answers: the script is the owner's.
		if a := w.confirm(id, `{"approved":true}`, "Origin", listed).read(t); *a.Result != "very secretvery secret" {
			t.Errorf("%s: %+v", mode, a)
		}
	}
}

func TestWebhooks(t *testing.T) {
	w := boot(t, settings{service: func(o *service.Options) {
		o.CheckWebhook = func(u string) error {
			if strings.Contains(u, "127.0.0.1") {
				return fmt.Errorf("is not allowed")
			}
			return nil
		}
	}})
	ada := w.member("ada", account.Standard)
	submit := func(m member, url string) response {
		return w.query(m, `EMIT "done"`, `"mode":"async","options":{"webhook":"`+url+`","webhook_trace":true}`)
	}
	for _, r := range []response{submit(ada, "https://127.0.0.1/"), submit(member{name: "dev", password: "dev"}, "https://example.com/")} {
		if a := r.wantError(t, 400, "invalid_request"); a.Error.Field != "options.webhook" {
			t.Errorf("%+v", a.Error)
		}
	}
	id := submit(ada, "https://example.com/end").read(t).JobID
	w.reach(id, "complete")
	parsed, _ := job.ParseID(id)
	told, err := w.service.WebhookBody(t.Context(), parsed, "", 1<<20)
	check(t, err)
	if poll := w.poll(id, ""); string(told) != poll.body {
		t.Errorf("told %s\npolled %s", told, poll.body)
	}
	short, err := w.service.WebhookBody(t.Context(), parsed, "", 10)
	check(t, err)
	if want := `{"status":"complete","job_id":"` + id + `","truncated":true}`; string(short) != want {
		t.Errorf("told %s, want %s", short, want)
	}
}

// TestWebhookBodiesTakeTurns: a large body is made when its account may compute.
func TestWebhookBodiesTakeTurns(t *testing.T) {
	gate := admit.NewGate(admit.GateOptions{Slots: 1})
	w := boot(t, settings{service: func(o *service.Options) { o.Gate = gate }})
	ada := w.member("ada", account.Standard)
	id := w.submit(ada, `EMIT REPEAT("x", 100000)`)
	w.reach(id, "complete")
	parsed, _ := job.ParseID(id)
	other := gate.Auxiliary(99)
	check(t, other.Turn(t.Context()))
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if body, err := w.service.WebhookBody(short, parsed, "", 1<<20); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while another computes: %d bytes, %v", len(body), err)
	}
	other.Release()
	if body, err := w.service.WebhookBody(t.Context(), parsed, "", 1<<20); err != nil || len(body) < 100000 {
		t.Errorf("afterwards: %d bytes, %v", len(body), err)
	}
}

func TestWait(t *testing.T) {
	w := boot(t, limited(func(l *account.Limits) { l.SyncTime = 100 * time.Millisecond }))
	ada := w.member("ada", account.Standard)
	const script = `EMIT "a" WAIT 0.2 SECONDS EMIT "b"`
	r := w.query(ada, script, "")
	a := r.read(t)
	if r.status != 202 || a.Status != "waiting" || *a.Result != "a" || len(a.Trace) != 2 || a.ResumeAt.IsZero() || a.PollURL != "http://api.ql.example/v1/job/"+a.JobID {
		t.Errorf("sync: %d %s", r.status, r.body)
	}
	f := w.form(ada, script, nil)
	if f.status != 202 || f.body != "a" || f.header.Get("QL-Status") != "waiting" || f.header.Get("Link") != "" ||
		f.header.Get("Location") != "http://api.ql.example/v1/job/"+f.header.Get("QL-Job-Id") {
		t.Errorf("form: %d %s %v", f.status, f.body, f.header)
	}
	for _, id := range []string{a.JobID, f.header.Get("QL-Job-Id"), w.submit(ada, script)} {
		if a := w.reach(id, "complete"); *a.Result != "ab" {
			t.Errorf("%+v", a)
		}
	}
	long := w.query(ada, `EMIT "a" WAIT 1 HOUR EMIT "b"`, "").read(t)
	r = w.poll(long.JobID, "")
	if a := r.read(t); a.Status != "waiting" || *a.Result != "a" || len(a.Trace) != 2 || !a.ResumeAt.Equal(long.ResumeAt) || r.header.Get("Retry-After") != "60" {
		t.Errorf("poll: %s %v", r.body, r.header)
	}
	w.confirm(long.JobID, `{"approved":true}`).wantError(t, 409, "not_paused")
}

// TestJobFilters lists jobs by each filter. What the store makes of them is tested there.
func TestJobFilters(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	w.query(ada, "-- Import people\nEMIT 1", "")
	w.query(ada, "-- Report\nEMIT 1 / 0", "")
	w.form(ada, "-- Import goods\nEMIT 1", nil)
	w.query(bob, "-- Import people\nEMIT 1", "")
	check(t, w.recorder.Flush(t.Context()))
	as := []string{"Authorization", basic(ada.name, ada.password)}
	today, tomorrow := time.Now().UTC().Format(time.DateOnly), time.Now().UTC().Add(24*time.Hour).Format(time.DateOnly)
	for query, want := range map[string]int{
		"q=import": 2, "q=PEOPLE": 1, "q=%25": 0, "error=division_by_zero": 1, "error=sql_error": 0, "convention=form": 1, "convention=site": 0,
		"state=failed": 1, "status=failed": 1, "state=paused": 0, "since=" + today: 3, "since=" + tomorrow: 0, "until=" + tomorrow: 3, "until=" + today: 0,
		"since=2000-01-01T00:00:00Z&until=" + tomorrow + "&q=import&convention=json&state=complete": 1,
	} {
		r := w.send("GET", "/v1/jobs?"+query, "", "", as...)
		if got := len(r.read(t).Jobs); r.status != 200 || got != want {
			t.Errorf("%s: %d, %d jobs, want %d", query, r.status, got, want)
		}
	}
	for _, query := range []string{
		"state=gone", "state=failed&status=failed", "convention=soap", "since=yesterday", "until=16.11.2026", "since=2026-11-16&until=2026-11-16", "q=" + strings.Repeat("x", 201), "name=x",
	} {
		w.send("GET", "/v1/jobs?"+query, "", "", as...).wantError(t, 400, "invalid_request")
	}
}
