package server_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/job"
)

// TestResultJSON: the value of EMIT JSON stands beside its text, wherever a job is shown.
func TestResultJSON(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	large := strings.Repeat(`ä\"`, 20_000)
	for script, want := range map[string]string{
		`EMIT JSON {name: "Zoë", n: [1, 2.50, NULL]}`: `{"name":"Zoë","n":[1,2.5,null]}`,
		`EMIT JSON NULL`:                                    `null`,
		`EMIT JSON "<b>"`:                                   `"<b>"`,
		`EMIT JSON {a: REPEAT('ä"', 20000)}`:                `{"a":"` + large + `"}`,
		`SET "status" AS 201 OF !RESPONSE EMIT JSON [TRUE]`: `[true]`,
	} {
		short, key := script[:min(len(script), 40)], strconv.Itoa(len(script))
		first := w.query(ada, script, "", "Idempotency-Key", key)
		a := first.read(t)
		headers, _ := a.Response["headers"].(map[string]any)
		if first.status != 200 || *a.Result != want || string(a.ResultJSON) != want || headers["Content-Type"] != "application/json" {
			t.Errorf("%s: %d %.200s", short, first.status, first.body)
		}
		if again := w.query(ada, script, "", "Idempotency-Key", key); again.body != first.body {
			t.Errorf("%s, repeated: %.200s", short, again.body)
		}
		if poll := w.poll(a.JobID, ""); poll.body != strings.Replace(first.body, `"ok"`, `"complete"`, 1) {
			t.Errorf("%s, polled: %.200s", short, poll.body)
		}
		form := w.form(ada, script, nil)
		if got := form.header.Get("Content-Type"); form.status != 200 || got != "application/json" || form.body != want {
			t.Errorf("%s, as a form: %d %q %.200s", short, form.status, got, form.body)
		}
		id := w.query(ada, script, `"mode":"async","trace":false`).read(t).JobID // which webhooks have none of
		if a := w.reach(id, "complete"); *a.Result != want || string(a.ResultJSON) != want {
			t.Errorf("%s, as a job: %.200s", short, a.ResultJSON)
		}
		parsed, _ := job.ParseID(id)
		body, err := w.service.WebhookBody(t.Context(), parsed, "", 1<<20)
		check(t, err)
		var sent answer
		if err := json.Unmarshal(body, &sent); err != nil || *sent.Result != want || string(sent.ResultJSON) != want {
			t.Errorf("%s, as a webhook: %.200s, %v", short, body, err)
		}
		events := readEvents(t, w.send("GET", "/v1/job/"+id+"/events", "", ""))
		_, _, output := told(events)
		_, valued := events[len(events)-1].data["result_json"]
		if output != want || valued != (len(want) < 64<<10) {
			t.Errorf("%s, as events: %.200s, and a value at its end: %t", short, output, valued)
		}
	}

	// What else is JSON by its looks is text.
	if a := w.query(ada, `SET "header:Content-Type" AS "application/json" OF !RESPONSE EMIT {a: 1}`, "").read(t); a.ResultJSON != nil || *a.Result != `{"a":1}` {
		t.Errorf("EMIT of a map: %+v", a)
	}
	// The line about an error is no JSON.
	failed := w.form(ada, `EMIT JSON [1] EMIT 2`, nil)
	if got := failed.header.Get("Content-Type"); failed.status != 422 || got != "text/plain; charset=utf-8" || !strings.HasPrefix(failed.body, "[1]\nerror: emit_conflict: ") {
		t.Errorf("a conflict: %d %q %s", failed.status, got, failed.body)
	}
	if a := w.query(ada, `EMIT JSON [1] EMIT 2`, "").wantError(t, 422, "emit_conflict"); *a.Result != "[1]" || string(a.ResultJSON) != "[1]" {
		t.Errorf("a conflict: %+v", a)
	}
}

// TestResultJSONPauses: the value stays one through a pause, and after a cancel.
func TestResultJSONPauses(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	for _, more := range []string{"", `"mode":"async"`} {
		for _, end := range []string{"complete", "failed", "cancelled"} {
			id := w.query(ada, `EMIT JSON [1] CONFIRM "Sure?" SET ?ok IF NOT ?ok THEN EMIT 2 END`, more).read(t).JobID
			if a := w.reach(id, "paused"); *a.Result != "[1]" || string(a.ResultJSON) != "[1]" {
				t.Errorf("paused: %+v", a)
			}
			switch end {
			case "complete":
				w.confirm(id, `{"approved":true}`)
			case "failed":
				w.confirm(id, `{"approved":false}`)
			default:
				w.send("DELETE", "/v1/job/"+id, "", "", "Authorization", basic("ada", ada.password))
			}
			if a := w.reach(id, end); *a.Result != "[1]" || string(a.ResultJSON) != "[1]" || end == "failed" && a.Error.Code != "emit_conflict" {
				t.Errorf("%s: %+v", end, a)
			}
		}
	}
}
