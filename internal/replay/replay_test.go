package replay_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/job"
	"ql/internal/operator"
	"ql/internal/programtest"
	"ql/internal/replay"
	"ql/lang/langtest/gen"
)

// call calls the service as the developer.
func call(t *testing.T, s *apptest.Service, method, path, body string) map[string]any {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if path != "/v1/query" { // which has them in its body
		r.SetBasicAuth("dev", "dev")
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var a map[string]any
	if len(text) > 0 {
		if err := json.NewDecoder(bytes.NewReader(text)).Decode(&a); err != nil {
			t.Fatalf("%s %s: %s", method, path, text)
		}
	}
	return a
}

// run runs a script to its end, whatever it asks, and returns its job.
func run(t *testing.T, s *apptest.Service, script, more string) ended {
	t.Helper()
	query, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	a := call(t, s, "POST", "/v1/query", `{"auth":{"username":"dev","password":"dev"},"query":`+string(query)+more+`}`)
	id, _ := a["job_id"].(string)
	for range 20 {
		a = call(t, s, "GET", "/v1/job/"+id+"?wait=1", "")
		status, _ := a["status"].(string)
		if status != "paused" && status != "waiting" && status != "accepted" && status != "running" {
			return ended{id: id, status: status, script: script, acted: acted(a["trace"])}
		}
		if status == "paused" {
			if p, _ := a["prompt"].(map[string]any); p["kind"] == "confirm" {
				call(t, s, "POST", "/v1/confirm/"+id, `{"approved":true}`)
				continue
			}
		}
		call(t, s, "DELETE", "/v1/job/"+id, "")
	}
	call(t, s, "DELETE", "/v1/job/"+id, "") // it asks again and again
	return ended{id: id, status: "cancelled", script: script}
}

// ended is a job that has come to its end.
type ended struct {
	id, status, script string
	acted              bool // a step of it reached a resource or a person
}

// acted tells whether a trace has a step that did more than compute. One that failed may have
// asked for nothing, and so do TRANSACTION and USE DATABASE without SQL behind them.
func acted(trace any) bool {
	steps, _ := trace.([]any)
	return slices.ContainsFunc(steps, func(step any) bool {
		s, _ := step.(map[string]any)
		return s["exec_class"] != "Cpu" && s["status"] == "Ok" && s["step"] != "TRANSACTION" && s["step"] != "USE DATABASE"
	})
}

// check replays jobs.
func check(t *testing.T, s *apptest.Service, jobs []ended, do func(ended, replay.Report, error)) {
	t.Helper()
	call(t, s, "GET", "/v1/jobs?limit=1", "") // which stores all that was recorded
	s.Operate(func(o *operator.Operator) error {
		for _, j := range jobs {
			id, _ := job.ParseID(j.id)
			r, err := o.ReplayJob(t.Context(), id)
			do(j, r, err)
		}
		return nil
	})
}

// TestPromiseJobsReplay: jobs of random programs do the same again from their histories.
func TestPromiseJobsReplay(t *testing.T) {
	n, atOnce := 40, 500
	switch {
	case programtest.Promised():
		n = 10_000
	case testing.Short():
		n = 12
	}
	s := apptest.Boot(t)
	effects, ends := 0, 0
	var jobs []ended
	for seed := range uint64(n) {
		script := gen.Program(seed, gen.Options{Statements: 25})
		more := `,"mode":"async"`
		if seed%4 == 3 {
			more = `,"history":true`
		}
		jobs = append(jobs, run(t, s, script, more))
		if len(jobs) < atOnce && int(seed) < n-1 {
			continue
		}
		check(t, s, jobs, func(j ended, r replay.Report, err error) {
			if err != nil && strings.Contains(err.Error(), "has no history") && (!j.acted || j.status == "cancelled") {
				return // it did not compile, had no effects, or was cancelled before its first snapshot
			}
			if err != nil || r.Left != nil {
				t.Errorf("%s: %v, %+v %+v\n%s", j.status, err, r, r.Left, j.script)
			}
			effects += r.Effects
			if r.EndKnown {
				ends++
			}
		})
		jobs = nil
	}
	t.Logf("%d jobs, %d effects, %d ends", n, effects, ends)
	if effects < n/4 || ends < n/4 {
		t.Errorf("%d jobs had %d effects, and %d ends were known", n, effects, ends)
	}
}

// TestNoHistory: an account whose limit is 0 keeps none.
func TestNoHistory(t *testing.T) {
	s := apptest.Boot(t)
	s.Operate(func(o *operator.Operator) error {
		return o.Accounts.SetLimit(t.Context(), account.Development, "history_bytes", "0")
	})
	one := run(t, s, "EMIT NOW()\nCONFIRM \"Go?\"\nEMIT NOW()", `,"mode":"async"`)
	check(t, s, []ended{one}, func(j ended, r replay.Report, err error) {
		if j.status != "complete" || err == nil || !strings.Contains(err.Error(), "has no history") {
			t.Errorf("%s: %v, %+v", j.status, err, r)
		}
	})
}

// TestHistories: which jobs have a history, over pauses, includes and failures.
func TestHistories(t *testing.T) {
	s := apptest.Boot(t)
	for name, test := range map[string]struct {
		script, more string
		effects      int // -1 for no history
	}{
		"a call":                  {"EMIT NOW()", "", -1},
		"a call that asks for it": {"EMIT NOW() + ''\nEMIT RANDOM(1, 6)", `,"history":true`, 2},
		"a call that fails":       {"EMIT NOW()\nFAIL \"no\"", "", 1},
		"an asynchronous job":     {"EMIT NOW()\nWRITE \"x\" TO \"/a.txt\"\nREAD \"/a.txt\" SET ?t\nEMIT ?t", `,"mode":"async"`, 3},
		"without effects":         {"EMIT 1", `,"mode":"async"`, -1}, // which has but one way to go
		"a failure of its own":    {"FAIL \"no\"", `,"mode":"async"`, 0},
		"a call that pauses":      {"EMIT NOW()\nCONFIRM \"Go?\"\nEMIT NOW()", "", 3},
		"a job that pauses":       {"EMIT NOW()\nCONFIRM \"Go?\"\nEMIT NOW()\nCONFIRM \"Again?\"\nEMIT RANDOM(1, 6)", `,"mode":"async"`, 5},
	} {
		check(t, s, []ended{run(t, s, test.script, test.more)}, func(j ended, r replay.Report, err error) {
			if test.effects < 0 {
				if err == nil || !strings.Contains(err.Error(), "has no history") {
					t.Errorf("%s (%s): %v, %+v", name, j.status, err, r)
				}
				return
			}
			if err != nil || r.Left != nil || r.Effects != test.effects || !r.EndKnown {
				t.Errorf("%s (%s): %v, %+v, %+v", name, j.status, err, r, r.Left)
			}
		})
	}
}
