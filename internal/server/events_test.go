package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/service"
	"ql/lang/value"
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
	lines.Buffer(nil, 1<<20) // a piece of output, escaped
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
			steps = append(steps, e.data["step"].(string)+" "+e.data["status"].(string))
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
	// A step that stands is told when it is done, and not before.
	if !slices.Equal(steps, []string{"EMIT Ok", "CONFIRM Ok", "EMIT Ok", "GATHER Ok", "EMIT Ok"}) {
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
	told := 0
	for _, e := range readEvents(t, w.send("GET", "/v1/job/"+id+"/events", "", "")) {
		if e.kind != "output" {
			continue
		}
		told++
		if e.data["output"] != "/wD+" || e.data["output_encoding"] != "base64" {
			t.Errorf("%+v", e)
		}
	}
	if told != 1 {
		t.Errorf("the output was told %d times", told)
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

// host is a server that takes its time, and then does not answer.
type host struct {
	called chan struct{}
	freed  chan struct{}
	free   func()
}

func newHost(t *testing.T) *host {
	h := &host{called: make(chan struct{}, 1), freed: make(chan struct{})}
	h.free = sync.OnceFunc(func() { close(h.freed) })
	t.Cleanup(h.free)
	return h
}

// Fetch implements engine.Network.
func (h *host) Fetch(ctx context.Context, _ engine.Request) (engine.Reply, error) {
	h.called <- struct{}{}
	select {
	case <-h.freed:
		return engine.Reply{}, value.Errorf("fetch_failed", "the host took too long to answer")
	case <-ctx.Done():
		return engine.Reply{}, ctx.Err()
	}
}

// Serve implements engine.Network.
func (h *host) Serve(ctx context.Context, calls <-chan engine.Request, done func(engine.Request, engine.Reply, error)) {
	go func() {
		for r := range calls {
			reply, err := h.Fetch(ctx, r)
			done(r, reply, err)
		}
	}()
}

func (h *host) settings() settings {
	return settings{service: func(o *service.Options) {
		open := o.Host.Resources
		o.Host.Resources = func(ctx context.Context, a account.Account, l account.Limits, session string) (engine.Resources, error) {
			r, err := open(ctx, a, l, session)
			r.Network = h
			return r, err
		}
	}}
}

func (h *host) wait(t *testing.T) {
	t.Helper()
	select {
	case <-h.called:
	case <-time.After(time.Minute):
		t.Fatal("the host is not called")
	}
}

// watch calls at with each event of a job, to its end, and returns all.
func (w *world) watch(id string, at func(event)) []event {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.url+"/v1/job/"+id+"/events", nil)
	check(w.t, err)
	res, err := w.client.Do(req)
	check(w.t, err)
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	var seen []event
	for e, ok := readEvent(w.t.(*testing.T), lines); ok; e, ok = readEvent(w.t.(*testing.T), lines) {
		seen = append(seen, e)
		at(e)
	}
	return seen
}

// TestEventsOfUnfinished watches a job whose step takes its time and then
// fails: it is told once, with how it ended.
func TestEventsOfUnfinished(t *testing.T) {
	tests := []struct{ name, script, before, after, state string }{
		{
			"uncaught", `EMIT "a" FETCH "https://example.com" TIMEOUT 2 SECONDS SET ?r`,
			"EMIT Ok", "FETCH Error", "failed",
		},
		{
			"caught", `EMIT "a" TRY FETCH "https://example.com" SET ?r CATCH ?e EMIT ?e.code END`,
			"EMIT Ok", "FETCH Error, EMIT Ok", "complete",
		},
		{
			"in a function", `DEFINE f() EMIT "b" TRY FETCH "https://example.com" SET ?r CATCH ?e EMIT "c" END RETURN 1 END EMIT "a" SET ?x AS f() EMIT ?x`,
			"EMIT Ok, EMIT Ok", "FETCH Error, EMIT Ok, RETURN Ok, SET Ok, EMIT Ok", "complete",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t)
			w := boot(t, h.settings())
			t.Cleanup(h.free)
			ada := w.member("ada", account.Standard)
			id := w.submit(ada, tt.script)
			h.wait(t)
			if r := w.poll(id, ""); r.read(t).Status != "running" || strings.Contains(r.body, "FETCH") || strings.Contains(r.body, "SET") || !strings.Contains(r.body, "EMIT") {
				t.Errorf("a poll meanwhile: %s", r.body)
			}
			var before []event
			all := w.watch(id, func(e event) {
				if e.kind == "state" && e.data["status"] == "running" {
					before = append(before, readPart(t, w, id, 0)...)
					h.free()
				}
			})
			_, steps, _ := told(before)
			if got := strings.Join(steps, ", "); got != tt.before {
				t.Errorf("told meanwhile: %s, want %s", got, tt.before)
			}
			states, steps, _ := told(all)
			if got := strings.Join(steps, ", "); got != tt.before+", "+tt.after || states[len(states)-1] != tt.state {
				t.Errorf("told %s, and %v", got, states)
			}
			// Whoever comes back is told what they missed, whenever they left.
			for i, e := range all {
				if e.kind == "state" {
					continue
				}
				rest := readEvents(t, w.send("GET", "/v1/job/"+id+"/events", "", "", "Last-Event-ID", e.id))
				_, missed, _ := told(all[i+1:])
				if _, got, _ := told(rest); !slices.Equal(got, missed) {
					t.Errorf("behind %v: told %v, want %v", e, got, missed)
				}
			}
		})
	}
}

// readPart returns what the events of a running job have told up to its state.
func readPart(t *testing.T, w *world, id string, from int64) []event {
	t.Helper()
	e, _, err := w.service.Events(t.Context(), service.Caller{}, id, nil, from, nil)
	check(t, err)
	defer e.Stop()
	list, _, err := e.Next(t.Context(), time.Minute)
	check(t, err)
	var all []event
	for _, x := range list {
		part := event{kind: x.Kind}
		check(t, json.Unmarshal(x.Data, &part.data))
		all = append(all, part)
	}
	return all
}

// TestEventsOfDeclined watches a question that somebody says no to.
func TestEventsOfDeclined(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	id := w.query(ada, `DEFINE sure() CONFIRM "Sure?" RETURN 1 END EMIT "a" SET ?x AS sure()`, "").read(t).JobID
	if r := w.poll(id, ""); !strings.Contains(r.body, `"Paused"`) {
		t.Errorf("a poll of a paused job: %s", r.body)
	}
	all := w.watch(id, func(e event) {
		if e.kind == "state" && e.data["status"] == "paused" {
			w.confirm(id, `{"approved":false}`)
		}
	})
	if _, steps, _ := told(all); !slices.Equal(steps, []string{"EMIT Ok", "CONFIRM Declined", "SET Ok"}) {
		t.Errorf("told %v", steps)
	}
}

// TestEventsOfLongTrace watches a job with more steps than its trace keeps:
// none is told twice.
func TestEventsOfLongTrace(t *testing.T) {
	h := newHost(t)
	w := boot(t, h.settings())
	t.Cleanup(h.free)
	ada := w.member("ada", account.Free)
	id := w.submit(ada, `FOR ?i FROM 1 TO 400 DO WAIT 0 SECONDS END TRY FETCH "https://example.com" SET ?r CATCH ?e EMIT 1 END WAIT 0 SECONDS`)
	h.wait(t)
	all := w.watch(id, func(e event) {
		if e.kind == "state" && e.data["status"] == "running" {
			h.free()
		}
	})
	_, steps, _ := told(all)
	// The first 100, and 100 of what came after, of which FETCH was not yet over;
	// then that and WAIT.
	if len(steps) != 201 || steps[199] != "FETCH Error" || steps[200] != "WAIT Ok" {
		t.Errorf("told %d steps: %v", len(steps), steps)
	}
	for i, e := range all {
		if e.kind != "step" || i%20 != 0 {
			continue
		}
		rest := readEvents(t, w.send("GET", "/v1/job/"+id+"/events", "", "", "Last-Event-ID", e.id))
		_, missed, _ := told(all[i+1:])
		_, got, _ := told(rest)
		if len(got) > len(missed) || !slices.Equal(got, missed[len(missed)-len(got):]) {
			t.Errorf("behind step %d: told %d again", i, len(got)-len(missed))
		}
	}
}

// TestEventsOnly asks for some kinds of events.
func TestEventsOnly(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	id := w.submit(ada, `EMIT "a" EMIT "b"`)
	all := w.watch(id, func(event) {})
	for _, only := range []string{"state", "step", "output", "output,state", "state,output,step", "step,step"} {
		var want, got []string
		for _, e := range all {
			if slices.Contains(strings.Split(only, ","), e.kind) {
				want = append(want, fmt.Sprint(e.kind, e.data))
			}
		}
		for _, e := range readEvents(t, w.send("GET", "/v1/job/"+id+"/events?only="+only, "", "")) {
			got = append(got, fmt.Sprint(e.kind, e.data))
		}
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("only %s: got %v, want %v", only, got, want)
		}
	}
	// Who comes back for another kind is sent it from its start.
	output := readEvents(t, w.send("GET", "/v1/job/"+id+"/events?only=output", "", ""))
	last := output[len(output)-1].id
	if _, steps, text := told(readEvents(t, w.send("GET", "/v1/job/"+id+"/events", "", "", "Last-Event-ID", last))); len(steps) != 2 || text != "" {
		t.Errorf("behind the output: steps %v, output %q", steps, text)
	}
	for query, want := range map[string]string{
		"only=":            `only: names no kind of events: state, step, output and machine fit, with commas between`,
		"only=output,":     `only: names no kind of events: state, step, output and machine fit, with commas between`,
		"only=output,logs": `only: names "logs", which is no kind of events: state, step, output and machine fit, with commas between`,
		"only=Output":      `only: names "Output", which is no kind of events: state, step, output and machine fit, with commas between`,
		"only=a&only=b":    `only: stands there more than once`,
		"kinds=output":     `kinds: is no parameter of this address: only fits`,
	} {
		if r := w.send("GET", "/v1/job/"+id+"/events?"+query, "", ""); r.status != 400 || r.read(t).Error.Message != want {
			t.Errorf("%s: %d %s", query, r.status, r.body)
		}
	}
}

// TestEventsOnlyWhileRunning: a stream without states ends with its job all the same, and
// passes on what was asked for meanwhile.
func TestEventsOnlyWhileRunning(t *testing.T) {
	h := newHost(t)
	w := boot(t, h.settings())
	t.Cleanup(h.free)
	ada := w.member("ada", account.Standard)
	id := w.submit(ada, `EMIT "a" TRY FETCH "https://example.com" SET ?r CATCH ?e EMIT "b" END`)
	h.wait(t)
	e, _, err := w.service.Events(t.Context(), service.Caller{}, id, nil, 0, service.EventKinds{service.EventOutput: true})
	check(t, err)
	defer e.Stop()
	var text string
	for more := true; more; {
		var list []service.Event
		list, more, err = e.Next(t.Context(), time.Minute)
		check(t, err)
		for _, x := range list {
			if x.Kind != service.EventOutput {
				t.Errorf("told of a %s", x.Kind)
			}
			text += string(x.Data)
		}
		h.free()
	}
	if text != `{"output":"a"}{"output":"b"}` {
		t.Errorf("told %s", text)
	}
}
