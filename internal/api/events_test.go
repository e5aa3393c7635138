package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"ql/internal/account"
)

// event is an event of a stream.
type event struct {
	id, kind string
	data     map[string]any
}

// readEvent reads the next event; false at the end of the stream.
func readEvent(t *testing.T, lines *bufio.Scanner) (event, bool) {
	t.Helper()
	var e event
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.kind = value
		case "data":
			check(t, json.Unmarshal([]byte(value), &e.data))
		case "":
			if e.kind != "" {
				return e, true
			}
		default:
			t.Errorf("line %q", lines.Text())
		}
	}
	return e, false
}

func readEvents(t *testing.T, r response) []event {
	t.Helper()
	if got := r.header.Get("Content-Type"); r.status != 200 || got != "text/event-stream" {
		t.Fatalf("%d %q %s", r.status, got, r.body)
	}
	var all []event
	lines := bufio.NewScanner(strings.NewReader(r.body))
	for e, ok := readEvent(t, lines); ok; e, ok = readEvent(t, lines) {
		all = append(all, e)
	}
	return all
}

// told puts together what events tell.
func told(events []event) (states, steps []string, output string) {
	for _, e := range events {
		switch e.kind {
		case "state":
			states = append(states, e.data["status"].(string))
		case "step":
			steps = append(steps, e.data["step"].(string))
		case "output":
			output += e.data["output"].(string)
		}
	}
	return states, steps, output
}

func TestEvents(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	id := w.query(ada, `EMIT "a" CONFIRM "Sure?" EMIT "b" GATHER "x" SET ?f EMIT ?f.x`, "").read(t).JobID

	// One who watches is told each question, and answers it.
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/v1/job/"+id+"/events", nil)
	check(t, err)
	res, err := w.client.Do(req)
	check(t, err)
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	var seen []event
	for e, ok := readEvent(t, lines); ok; e, ok = readEvent(t, lines) {
		seen = append(seen, e)
		if prompt, ok := e.data["prompt"].(map[string]any); ok {
			reply := map[string]string{"confirm": `"approved":true`, "gather": `"fields":{"x":"c"}`}[prompt["kind"].(string)]
			if r := w.confirm(id, `{`+reply+`,"prompt_id":`+quote(prompt["id"].(string))+`}`); r.status != 200 {
				t.Fatalf("%d %s", r.status, r.body)
			}
		}
		if e.kind == "state" && e.data["result"] != nil {
			t.Errorf("a state tells the output again: %v", e.data)
		}
	}
	states, steps, output := told(seen)
	asked := slices.DeleteFunc(slices.Clone(states), func(s string) bool { return s == "running" })
	if !slices.Equal(asked, []string{"paused", "paused", "complete"}) || output != "abc" {
		t.Errorf("told %v, %q", states, output)
	}
	// A step that stands is told again when it is done.
	done := slices.Compact(steps)
	if !slices.Equal(done, []string{"EMIT", "CONFIRM", "EMIT", "GATHER", "EMIT"}) {
		t.Errorf("steps %v", steps)
	}

	// Whoever comes later is told the same, whoever comes back only the rest.
	whole := readEvents(t, w.send("GET", "/v1/job/"+id+"/events", "", ""))
	states, steps, output = told(whole)
	if !slices.Equal(states, []string{"complete"}) || len(steps) != 5 || output != "abc" {
		t.Errorf("told %v %v %q", states, steps, output)
	}
	for i, e := range whole {
		rest := readEvents(t, w.send("GET", "/v1/job/"+id+"/events", "", "", "Last-Event-ID", e.id))
		// The state at the end is always told: it has no place of its own.
		want := whole[i+1:]
		if i == len(whole)-1 {
			want = whole[i:]
		}
		if len(rest) != len(want) || rest[0].kind != want[0].kind {
			t.Errorf("behind %+v: %+v", e, rest)
		}
	}
	for _, bad := range []string{"x", "-1", "1.5"} {
		w.send("GET", "/v1/job/"+id+"/events", "", "", "Last-Event-ID", bad).wantError(t, 400, "invalid_request")
	}
	w.send("GET", "/v1/job/"+id+"/events?wait=1", "", "").wantError(t, 400, "invalid_request")
	w.send("GET", "/v1/job/x/events", "", "").wantError(t, 404, "job_not_found")
	if r := w.send("HEAD", "/v1/job/"+id+"/events", "", ""); r.status != 200 || r.header.Get("Cache-Control") != "no-store" {
		t.Errorf("HEAD: %d %v", r.status, r.header)
	}
}

func TestEventsOfBytes(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	id := w.submit(ada, `EMIT FROM_BASE64("/wD+")`)
	w.reach(id, "complete")
	for _, e := range readEvents(t, w.send("GET", "/v1/job/"+id+"/events", "", "")) {
		if e.kind == "output" && (e.data["output"] != "/wD+" || e.data["output_encoding"] != "base64") {
			t.Errorf("%+v", e)
		}
	}
}

// TestEventsOfRunning watches a job that is under way.
func TestEventsOfRunning(t *testing.T) {
	h := newHold(t)
	w := boot(t, h.settings())
	t.Cleanup(h.free)
	ada := w.member("ada", account.Standard)
	id := w.submit(ada, `EMIT "a" EMIT !QUOTA('x') EMIT "b"`)
	h.wait(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/v1/job/"+id+"/events", nil)
	check(t, err)
	res, err := w.client.Do(req)
	check(t, err)
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	var seen []event
	for e, ok := readEvent(t, lines); ok; e, ok = readEvent(t, lines) {
		seen = append(seen, e)
		if e.kind == "state" && e.data["status"] == "running" {
			h.free()
		}
	}
	states, steps, output := told(seen)
	if !slices.Equal(states, []string{"running", "complete"}) || output != "ab" || len(steps) != 3 {
		t.Errorf("told %v %v %q", states, steps, output)
	}
}
