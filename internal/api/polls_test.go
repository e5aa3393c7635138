package api_test

import (
	"sync"
	"testing"
	"time"

	"ql/internal/account"
)

// TestTraceOfComputing looks at a job that does nothing but compute.
func TestTraceOfComputing(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Unlimited)
	id := w.submit(ada, `EMIT "a" SET ?i AS 0 WHILE TRUE DO SET ?i AS ?i + 1 END`)
	var seen answer
	for end := time.Now().Add(30 * time.Second); len(seen.Trace) == 0 && time.Now().Before(end); {
		seen = w.poll(id, "").read(t)
	}
	if seen.Status != "running" || *seen.Result != "a" || len(seen.Trace) < 3 {
		t.Errorf("a poll shows %s, %d steps", seen.Status, len(seen.Trace))
	}
	stop := sync.OnceFunc(func() { w.send("DELETE", "/v1/job/"+id, "", "") })
	before := 0
	w.watch(id, func(e event) {
		switch {
		case e.kind == "step":
			before++
		case e.kind == "state" && e.data["status"] == "running":
			if before == 0 {
				t.Error("nothing is told of a job that computes")
			}
			stop()
		}
	})
}

// TestLimitsAreNamed: the error of a limit says which one it is, and how much it
// allows, in both modes.
func TestLimitsAreNamed(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	pause := int64(account.Standard.Limits().Pause / time.Second)
	const script = `CONFIRM "Go?" WITHIN 4000 DAYS`
	if a := w.query(ada, script, "").wantError(t, 422, "limit_exceeded"); a.Error.Limit != "pause" || a.Error.Value != pause {
		t.Errorf("sync: %+v", a.Error)
	}
	if a := w.reach(w.submit(ada, script), "failed"); a.Error.Code != "limit_exceeded" || a.Error.Limit != "pause" || a.Error.Value != pause {
		t.Errorf("async: %+v", a.Error)
	}
}

// TestPollWaits: how long a poll waits is bounded, and said so.
func TestPollWaits(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	id := w.submit(ada, `EMIT 1`)
	w.reach(id, "complete")
	if r := w.poll(id, "?wait=61"); r.status != 200 {
		t.Errorf("a long wait: %d %s", r.status, r.body)
	}
	for _, bad := range []string{"x", "-1", "1.5", ""} {
		if a := w.poll(id, "?wait="+bad).wantError(t, 400, "invalid_request"); a.Error.Message != "wait: is no whole number of seconds: 30 fits, and more than 60 is 60" {
			t.Errorf("wait=%s: %s", bad, a.Error.Message)
		}
	}
}
