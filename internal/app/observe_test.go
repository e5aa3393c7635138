package app

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestObserve: metrics show what is in the store as it was counted last, and never a number
// that could not be counted.
func TestObserve(t *testing.T) {
	refusing := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(refusing.Close)
	a := start(t, nil)
	shows := func(what string, lines ...string) {
		t.Helper()
		text := scraped(t, a.parts.metrics)
		for _, line := range lines {
			if !strings.Contains(text, "\n"+line+"\n") {
				t.Errorf("%s there is no %s in\n%s", what, line, text)
			}
		}
	}
	observe := func(at time.Time) {
		t.Helper()
		if err := a.parts.observer.Observe(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	shows("at the start", `ql_jobs{state="accepted"} 0`, `ql_jobs{state="paused"} 0`, "ql_jobs_oldest_accepted_seconds 0", "ql_webhooks_waiting 0",
		`ql_job_attempts_total{outcome="suspended"} 0`, "ql_job_crashes_total 0", "ql_jobs_quarantined_accounts 0", "ql_intake_failed 0", "ql_store_failing 0",
		"ql_upkeep_failures_total 0", `ql_webhook_attempts_total{outcome="retried"} 0`)

	for _, body := range []string{
		`{"auth":{"username":"dev","password":"dev"},"mode":"async","query":"WAIT 1 HOUR"}`,
		`{"auth":{"username":"dev","password":"dev"},"mode":"async","query":"CONFIRM 'Go on?'"}`,
		`{"auth":{"username":"dev","password":"dev"},"mode":"async","options":{"webhook":"` + refusing.URL + `"},"query":"EMIT 1"}`,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL()+"/v1/query", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != http.StatusAccepted && r.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d", body, r.StatusCode)
		}
	}
	for done := false; !done; runtime.Gosched() {
		w := a.parts.worker.Stats()
		done = w.Suspended == 2 && w.Finished == 1 && strings.Contains(scraped(t, a.parts.metrics), `ql_webhook_attempts_total{outcome="retried"} 1`)
		if t.Context().Err() != nil {
			t.Fatal("the jobs and the webhook take too long")
		}
	}
	observe(time.Now())
	shows("with jobs", `ql_jobs{state="accepted"} 0`, `ql_jobs{state="running"} 0`, `ql_jobs{state="paused"} 1`, `ql_jobs{state="waiting"} 1`, "ql_webhooks_waiting 1",
		"ql_jobs_due_lag_seconds 0", "ql_webhooks_due_lag_seconds 0", `ql_job_attempts_total{outcome="finished"} 1`, `ql_job_attempts_total{outcome="suspended"} 2`)
	observe(time.Now().Add(2 * time.Hour))
	for name, least := range map[string]float64{"ql_jobs_due_lag_seconds": 3500, "ql_webhooks_due_lag_seconds": 6000} {
		_, text, _ := strings.Cut(scraped(t, a.parts.metrics), "\n"+name+" ")
		text, _, _ = strings.Cut(text, "\n")
		if lag, err := strconv.ParseFloat(text, 64); err != nil || lag < least || lag > 7300 {
			t.Errorf("two hours later %s is %s", name, text)
		}
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.parts.observer.Observe(ended, time.Now()); err == nil {
		t.Error("an observation that failed succeeded")
	}
	shows("after a failure", `ql_jobs{state="paused"} NaN`, "ql_jobs_due_lag_seconds NaN", "ql_webhooks_waiting NaN")
}
