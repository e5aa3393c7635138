package server_test

import (
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
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
	pause := account.Standard.Limits().Pause.Milliseconds()
	const script = `CONFIRM "Go?" WITHIN 4000 DAYS`
	if a := w.query(ada, script, "").wantError(t, 422, "limit_exceeded"); a.Error.Limit != "pause" || a.Error.Value != pause {
		t.Errorf("sync: %+v", a.Error)
	}
	if a := w.reach(w.submit(ada, script), "failed"); a.Error.Code != "limit_exceeded" || a.Error.Limit != "pause" || a.Error.Value != pause {
		t.Errorf("async: %+v", a.Error)
	}
	shown := w.limits(ada).Limits
	for limit, script := range map[string]string{
		"session_bytes": `START SESSION SET "k" AS REPEAT("x", 100000) OF !SESSION`,
		"session_keys":  `START SESSION FOR ?i FROM 1 TO 257 DO SET "{?i}" AS 1 OF !SESSION END`,
	} {
		for mode, a := range map[string]answer{
			"sync": w.query(ada, script, "").wantError(t, 422, "session_full"), "async": w.reach(w.submit(ada, script), "failed"),
		} {
			if a.Error.Code != "session_full" || a.Error.Limit != limit || shown[limit].Value == nil || a.Error.Value != *shown[limit].Value {
				t.Errorf("%s: %+v", mode, a.Error)
			}
		}
	}
}

// TestPollWaits: how long a poll waits is bounded, and said so.
func TestPollWaits(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	id := w.submit(ada, `EMIT 1`)
	w.reach(id, "complete")
	for _, long := range []string{"61", "99999999999999999999"} {
		if r := w.poll(id, "?wait="+long); r.status != 200 {
			t.Errorf("a long wait: %d %s", r.status, r.body)
		}
	}
	for _, bad := range []string{"x", "-1", "1.5", ""} {
		if a := w.poll(id, "?wait="+bad).wantError(t, 400, "invalid_request"); a.Error.Message != "wait: is no whole number of seconds: 30 fits, and more than 60 is 60" {
			t.Errorf("wait=%s: %s", bad, a.Error.Message)
		}
	}
}

// TestParameters: what an address does not take is refused, and what it takes is
// said.
func TestParameters(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	id := w.query(ada, `CONFIRM "Sure?"`, "").read(t).JobID
	for _, test := range []struct{ method, path, want string }{
		{"GET", "/v1/job/" + id + "?x=1", "x: is no parameter of this address: wait fits"},
		{"DELETE", "/v1/job/" + id + "?x=1", "x: is no parameter of this address: it has none"},
		{"DELETE", "/v1/job/" + id + "?wait=1", "wait: is no parameter of this address: it has none"},
		{"GET", "/v1/files/?x=1", "x: is no parameter of this address: limit and after fit"},
		{"GET", "/v1/jobs?x=1", "x: is no parameter of this address: status, state, q, error, convention, schedule, since, until, limit and before fit"},
		{"GET", "/v1/jobs?before=foo", "before: is no id of a job: next of the page before fits"},
		{"GET", "/v1/shares?before=foo", "before: is no id of a link of the account: next of the page before fits"},
	} {
		r := w.send(test.method, test.path, "", "", "Authorization", basic(ada.name, ada.password))
		if a := r.wantError(t, 400, "invalid_request"); a.Error.Message != test.want {
			t.Errorf("%s %s: %s", test.method, test.path, a.Error.Message)
		}
	}
	if w.state(id) != job.Paused {
		t.Errorf("the job is %s", w.state(id))
	}
}
