package server_test

import (
	"strings"
	"testing"
	"time"

	"ql/internal/job"
)

// TestPublishedConcurrency: jobs of a script that is published with a key wait for each other, whoever
// starts them; the owner may name another key for one, and others none.
func TestPublishedConcurrency(t *testing.T) {
	s := bootScheduled(t)
	w := s.world
	owner, err := w.accounts.Find(t.Context(), "ada")
	check(t, err)
	key := bearer(w.key(member{Account: owner}, "all", "run"))
	_, err = w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	page := []string{"Origin", "https://shop.example.com"}
	put := func(concurrency string) response {
		return w.send("PUT", "/v1/scripts/import", jsonType, `{"text":"CONFIRM 'Go on?' EMIT 'done'","callers":"domains","concurrency":`+concurrency+`}`, s.auth...)
	}
	for _, wrong := range []string{`{"most":2}`, `{"key":"shop","most":10001}`, `null`, `{"key":"shop","least":1}`} {
		put(wrong).wantError(t, 400, "invalid_request")
	}
	if r := put(`{"key":"shop"}`); r.status != 201 || !strings.Contains(r.body, `"concurrency":{"key":"shop","most":1}`) {
		t.Fatalf("published: %d %s", r.status, r.body)
	}
	start := func(more string, headers ...string) string {
		t.Helper()
		r := w.send("POST", "/v1/query", jsonType, `{"script":"import"`+more+`}`, headers...)
		if r.status != 202 {
			t.Fatalf("%s: %d %s", more, r.status, r.body)
		}
		return r.read(t).JobID
	}
	const async = `,"mode":"async"`
	first := start(async, key...)
	w.reach(first, "paused")
	second := start(async, key...)
	third := start(async, page...)
	s.call("PUT", "/nightly", `{"script":"import","every":"1h","overlap":"queue"}`, 201, nil)
	s.pass(time.Hour + time.Second)
	ticks := s.ticks("nightly").Ticks
	if len(ticks) != 1 || ticks[0].Ref == 0 {
		t.Fatalf("the schedule: %+v", ticks)
	}
	w.reach(start(async+`,"options":{"concurrency":{"key":"other"}}`, key...), "paused")
	s.call("PUT", "/apart", `{"script":"import","every":"1h","concurrency":{"key":"apart"}}`, 201, nil)
	s.call("POST", "/apart/run", "", 202, nil)
	for _, id := range []string{second, third} {
		if got := w.state(id); got != job.Accepted {
			t.Errorf("beside the first, another is %s", got)
		}
	}

	// Nobody waits for a turn, and strangers do not take that of the owner's jobs.
	for body, headers := range map[string][]string{`{"script":"import"}`: key, `{"script":"import","mode":"sync"}`: page} {
		if r := w.send("POST", "/v1/query", jsonType, body, headers...); !strings.Contains(r.body, "async") {
			t.Errorf("%s: %s", body, r.body)
		} else {
			r.wantError(t, 400, "invalid_request")
		}
	}
	r := w.send("POST", "/v1/query", jsonType, `{"query":"EMIT 1","mode":"async","options":{"concurrency":{"key":"shop"}}}`, page...)
	r.wantError(t, 400, "invalid_request")
	if !strings.Contains(r.body, "options.concurrency") {
		t.Error(r.body)
	}

	// One after the other, in their order.
	for _, id := range []string{first, second, third} {
		w.reach(id, "paused")
		w.send("DELETE", "/v1/job/"+id, "", "")
		if a := w.ended(id); a.Status != "cancelled" {
			t.Errorf("a job that was cancelled is %s", a.Status)
		}
	}
}
