package server_test

import (
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/service"
)

// TestTraceModes: however a job is run and looked at, its trace is there as its caller
// asked for it.
func TestTraceModes(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	const (
		good   = `EMIT "a" EMIT "b"`
		bad    = `EMIT "a" EMIT 1 / 0`
		asking = `EMIT "a" CONFIRM "Go on?" SET ?ok IF NOT ?ok THEN FAIL "no" END EMIT "b"`
		wrong  = `EMIT ?nothing`
	)
	for _, mode := range []struct {
		sent                string
		shown, shownOfError bool
	}{
		{`"full"`, true, true}, {`"errors"`, false, true}, {`false`, false, false},
	} {
		t.Run(strings.Trim(mode.sent, `"`), func(t *testing.T) {
			more := `"trace":` + mode.sent
			want := func(what string, r response, status string, shown bool) string {
				t.Helper()
				a := r.read(t)
				if a.Status != status || strings.Contains(r.body, `"trace"`) != shown || !shown && strings.Contains(r.body, "trace_dropped") {
					t.Errorf("%s: %d %s", what, r.status, r.body)
				}
				return a.JobID
			}
			for _, s := range []struct {
				script, sync, async string
				shown               bool
			}{{good, "ok", "complete", mode.shown}, {bad, "failed", "failed", mode.shownOfError}} {
				key := []string{"Idempotency-Key", mode.sent + s.script}
				first := w.query(ada, s.script, more, key...)
				id := want("a call", first, s.sync, s.shown)
				if again := w.query(ada, s.script, more, key...); again.body != first.body {
					t.Errorf("its repeat: %s, and was %s", again.body, first.body)
				}
				want("a poll of it", w.poll(id, ""), s.async, s.shown)
				for _, script := range []string{s.script, `WRITE "x" TO "/x" ` + s.script} { // inline, and stored before
					id := w.query(ada, script, more+`,"mode":"async"`).read(t).JobID
					want("a job", w.poll(id, "?wait=60"), s.async, s.shown)
				}
			}
			want("what does not compile", w.query(ada, wrong, more), "failed", mode.shownOfError)
			for _, more := range []string{more, more + `,"mode":"async"`} {
				for reply, end := range map[string]struct {
					status string
					shown  bool
				}{`{"approved":true}`: {"complete", mode.shown}, `{"approved":false}`: {"failed", mode.shownOfError}} {
					id := w.query(ada, asking, more).read(t).JobID
					want("a question", w.poll(id, "?wait=60"), "paused", mode.shown)
					want("its end", w.confirm(id, reply), end.status, end.shown)
				}
				id := w.query(ada, asking, more).read(t).JobID
				w.poll(id, "?wait=60")
				want("one that was cancelled", w.send("DELETE", "/v1/job/"+id, "", ""), "cancelled", mode.shown)
			}
			// What is not kept is not told.
			id := w.query(ada, good, more+`,"mode":"async"`).read(t).JobID
			if _, steps, text := told(w.watch(id, func(event) {})); len(steps) > 0 != mode.shown || text != "ab" {
				t.Errorf("told the steps %v and %q", steps, text)
			}
		})
	}
	if r := w.query(ada, good, `"trace":false`, "Idempotency-Key", `"full"`+good); r.status != 422 || r.read(t).Error.Code != "idempotency_mismatch" {
		t.Errorf("another trace under the same key: %d %s", r.status, r.body)
	}
}

// TestTraceOfRunning: what runs shows its trace as it was asked for, before it has shown
// anything and after.
func TestTraceOfRunning(t *testing.T) {
	h := newHost(t)
	w := boot(t, h.settings())
	t.Cleanup(h.free)
	ada := w.member("ada", account.Standard)
	ids := map[string]string{}
	for _, mode := range []string{`"full"`, `"errors"`, `false`} {
		ids[mode] = w.query(ada, `EMIT "a" FETCH "https://example.com" SET ?r`, `"mode":"async","trace":`+mode).read(t).JobID
		h.wait(t)
		r := w.poll(ids[mode], "")
		if a := r.read(t); a.Status != "running" || strings.Contains(r.body, `"trace"`) != (mode == `"full"`) {
			t.Errorf("%s: %s", mode, r.body)
		}
	}
	h.free()
	for mode, id := range ids {
		if a := w.poll(id, "?wait=60"); a.read(t).Status != "failed" || strings.Contains(a.body, `"step":"FETCH","status":"Error"`) != (mode != "false") {
			t.Errorf("%s: %s", mode, a.body)
		}
	}
}

// TestWebhookTrace: a webhook has the trace where its caller asked for it, and a trace that
// is not sent takes no room of what is.
func TestWebhookTrace(t *testing.T) {
	w := boot(t, settings{service: func(o *service.Options) { o.CheckWebhook = nil }})
	ada := w.member("ada", account.Standard)
	for options, shown := range map[string]bool{
		`"options":{"webhook":"https://example.com/x"}`:                                        false,
		`"options":{"webhook":"https://example.com/x","webhook_trace":false}`:                  false,
		`"options":{"webhook":"https://example.com/x","webhook_trace":true}`:                   true,
		`"trace":"errors","options":{"webhook":"https://example.com/x","webhook_trace":true}`:  true,
		`"trace":"errors","options":{"webhook":"https://example.com/x","webhook_trace":false}`: false,
	} {
		for _, script := range []string{`EMIT "a" EMIT 1 / 0`, `WRITE "x" TO "/x" EMIT "a" EMIT 1 / 0`} { // inline, and stored before
			id := w.query(ada, script, options+`,"mode":"async"`).read(t).JobID
			polled := w.poll(id, "?wait=60")
			parsed, ok := job.ParseID(id)
			if !ok || !strings.Contains(polled.body, `"trace":[{`) {
				t.Fatalf("%s: %s", options, polled.body)
			}
			sent, err := w.service.WebhookBody(t.Context(), parsed, "", 1<<20)
			check(t, err)
			if strings.Contains(string(sent), `"trace"`) != shown || !strings.Contains(string(sent), `"result":"a"`) {
				t.Errorf("%s: %s", options, sent)
			}
		}
	}
	id := w.query(ada, strings.Repeat(`EMIT "a" `, 400), `"mode":"async","options":{"webhook":"https://example.com/x"}`).read(t).JobID
	w.poll(id, "?wait=60")
	parsed, _ := job.ParseID(id)
	sent, err := w.service.WebhookBody(t.Context(), parsed, "", 2000)
	check(t, err)
	if strings.Contains(string(sent), "truncated") || len(sent) < 400 {
		t.Errorf("what fits without its trace is sent as %s", sent)
	}
}
