package app_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/config"
)

// logLine is a line of a log, by its attributes.
type logLine map[string]any

// logLines returns the lines of a log that say something.
func logLines(t *testing.T, log *apptest.Log, message string) (lines []logLine) {
	t.Helper()
	for text := range strings.Lines(log.String()) {
		var line logLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if line["msg"] == message {
			lines = append(lines, line)
		}
	}
	return lines
}

// wantLine checks that a log has as many lines that say something as wanted, all of a level,
// and returns the last.
func wantLine(t *testing.T, log *apptest.Log, level, message string, n int) logLine {
	t.Helper()
	lines := logLines(t, log, message)
	if len(lines) != n || n == 0 {
		t.Fatalf("%d lines say that %s, want %d:\n%s", len(lines), message, n, log)
	}
	for _, line := range lines {
		if line["level"] != level {
			t.Errorf("%v is not of the level %s", line, level)
		}
	}
	return lines[n-1]
}

// TestLogOfRequests: at debug each request is a line, which tells neither its address nor
// whatever else its caller made up.
func TestLogOfRequests(t *testing.T) {
	b := apptest.Boot(t, apptest.Production)
	b.Account("ada", account.Standard)
	a := query(t, b.URL(), "ada", apptest.Password, `EMIT 1`)
	line := wantLine(t, b.Log, "DEBUG", "a request was answered", 1)
	if line["route"] != "/v1/query" || line["method"] != "POST" || line["status"] != 200.0 || line["network"] != "127.0.0.0/24" || line["took_us"].(float64) <= 0 {
		t.Errorf("the line is %v", line)
	}
	get(t, b.URL()+"/v1/job/"+a.JobID+"?canary=1")
	if line := wantLine(t, b.Log, "DEBUG", "a request was answered", 2); line["route"] != "/v1/job/{id}" {
		t.Errorf("the line is %v", line)
	}
	req, err := http.NewRequestWithContext(t.Context(), "CANARY", b.URL()+"/canary", nil)
	if err != nil {
		t.Fatal(err)
	}
	send(t, req)
	if line := wantLine(t, b.Log, "DEBUG", "a request was answered", 3); line["route"] != "none" || line["method"] != "other" || line["status"] != 404.0 {
		t.Errorf("the line is %v", line)
	}
	if b.Log.Has(a.JobID) || b.Log.Has("canary") || b.Log.Has("CANARY") {
		t.Errorf("the log shows what callers said:\n%s", b.Log)
	}
}

// TestLogOfLogins: a log-in that failed is a line, by which attempts at one name are found, and
// which shows neither the name nor the password.
func TestLogOfLogins(t *testing.T) {
	b := apptest.Boot(t, apptest.Production)
	b.Account("ada", account.Standard)
	began := time.Now()
	const failed = "a log-in failed"
	query(t, b.URL(), "ada", "canary-wrong", `EMIT 1`)
	known := wantLine(t, b.Log, "INFO", failed, 1)
	if known["by"] != "password" || known["network"] != "127.0.0.0/24" || known["code"] != "bad_credentials" || known["account"] == nil {
		t.Errorf("a wrong password: %v", known)
	}
	query(t, b.URL(), "ADA", "canary-wronger", `EMIT 1`)
	if again := wantLine(t, b.Log, "INFO", failed, 2); again["name_hash"] != known["name_hash"] || again["account"] != known["account"] {
		t.Errorf("the same name again: %v", again)
	}
	query(t, b.URL(), "canary-password-as-name", "x", `EMIT 1`)
	if stranger := wantLine(t, b.Log, "INFO", failed, 3); stranger["account"] != nil || stranger["name_hash"] == known["name_hash"] || len(stranger["name_hash"].(string)) != 12 {
		t.Errorf("a name that nobody has: %v", stranger)
	}
	form(t, b.URL(), "ada", "qlk_canary", `EMIT 1`)
	if key := wantLine(t, b.Log, "INFO", failed, 4); key["by"] != "key" || key["name_hash"] != known["name_hash"] {
		t.Errorf("a wrong key: %v", key)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.URL()+"/v1/jobs", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer qln_canary")
	send(t, req)
	if key := wantLine(t, b.Log, "INFO", failed, 5); key["by"] != "named_key" || key["name_hash"] != nil {
		t.Errorf("a wrong named key: %v", key)
	}
	if b.Log.Has("canary") || b.Log.Has(`"ada"`) {
		t.Errorf("the log shows names or passwords:\n%s", b.Log)
	}
	// Whoever guesses on fills no disk.
	for range 300 {
		form(t, b.URL(), "ada", "qlk_canary", `EMIT 1`)
	}
	most := 200 + int(5*time.Since(began).Seconds()) + 1 // at once, and each second
	if n := len(logLines(t, b.Log, failed)); n < 200 || n > most {
		t.Errorf("%d lines of 305 log-ins that failed, and %d fit", n, most)
	}
	if lines := logLines(t, b.Log, failed); lines[len(lines)-1]["code"] != "rate_limited" {
		t.Errorf("the last is %v", lines[len(lines)-1])
	}
}

// TestLogOfJobs: a job that failed is a line with its code, unless the script made that up, and
// so is a webhook that nobody took and a job that goes on after a stop.
func TestLogOfJobs(t *testing.T) {
	refusing := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(refusing.Close)
	settings := apptest.Settings(t, func(s *config.Settings) { s.StopTimeout = 1 })
	b := apptest.Start(t, settings)
	const failed = "a job failed"
	n := 0
	for script, code := range map[string]string{
		`EMIT 1 / 0`:                          "division_by_zero",
		`EMIT (`:                              "syntax_error",
		`FAIL "canary" CODE "canary_code"`:    "script_failed",
		`FAIL {message: "x", code: "canary"}`: "script_failed",
		`SET ?x AS NUMBER("canary")`:          "not_a_number",
	} {
		query(t, b.URL(), "dev", "dev", script)
		n++
		if line := wantLine(t, b.Log, "INFO", failed, n); line["code"] != code || line["mode"] != "sync" || line["state"] != "failed" || len(line["job"].(string)) != 8 || line["account"] == nil {
			t.Errorf("%s: %v", script, line)
		}
	}
	submitTelling(t, b.URL(), refusing.URL+"/canary", `WRITE "x" TO "/a" EMIT 1 / 0`)
	for !b.Log.Has("a webhook was not delivered") {
		runtime.Gosched()
	}
	if line := wantLine(t, b.Log, "INFO", failed, n+1); line["code"] != "division_by_zero" || line["mode"] != "async" {
		t.Errorf("of a job: %v", line)
	}
	if line := wantLine(t, b.Log, "INFO", "a webhook was not delivered and will be tried again", 1); line["status"] != 404.0 || line["attempt"] != 1.0 || line["account"] == nil {
		t.Errorf("of a webhook: %v", line)
	}
	if b.Log.Has("canary") {
		t.Errorf("the log shows what scripts say:\n%s", b.Log)
	}

	a := submitTelling(t, b.URL(), refusing.URL, `WRITE "x" TO "/begun" WHILE TRUE DO SET ?x AS NOW() END`)
	for begun := false; !begun; runtime.Gosched() {
		begun = strings.Contains(get(t, b.URL()+"/v1/job/"+a.JobID).body, "running")
	}
	if err := b.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := apptest.Start(t, settings)
	for !again.Log.Has("a job is resumed") {
		runtime.Gosched()
	}
	if line := wantLine(t, again.Log, "INFO", "a job is resumed that an attempt was interrupted at", 1); line["job"] != a.JobID[:8] || line["attempt"].(float64) < 2 {
		t.Errorf("of a job that goes on: %v", line)
	}
}
