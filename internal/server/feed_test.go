package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/service"
)

// follower reads an account's feed.
type follower struct {
	t     *testing.T
	lines *bufio.Scanner
	last  string // the id of the last event
	stop  func()
}

// follow opens a feed, behind an event; "" for none.
func (w *world) follow(t *testing.T, auth, last string) *follower {
	t.Helper()
	return w.open(t, "/v1/jobs/events", auth, last)
}

// open opens a stream of events.
func (w *world) open(t *testing.T, path, auth, last string) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+path, nil)
	check(t, err)
	req.Header.Set("Authorization", auth)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := w.client.Do(req) //nolint:bodyclose // stop does
	check(t, err)
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	f := &follower{t: t, lines: bufio.NewScanner(res.Body), stop: func() {
		cancel()
		_ = res.Body.Close()
	}}
	t.Cleanup(f.stop)
	return f
}

// next returns the kind of the next event and, of a job, its id and state.
func (f *follower) next() string {
	f.t.Helper()
	var kind string
	for f.lines.Scan() {
		name, value, _ := strings.Cut(f.lines.Text(), ": ")
		switch name {
		case "id":
			f.last = value
		case "event":
			kind = value
		case "data":
			var j struct {
				ID     string `json:"job_id"`
				Status string
			}
			check(f.t, json.Unmarshal([]byte(value), &j))
			return strings.TrimSpace(kind + " " + j.ID + " " + j.Status)
		}
	}
	f.t.Fatalf("the feed has ended: %v", f.lines.Err())
	return ""
}

func (f *follower) want(events ...string) {
	f.t.Helper()
	for _, want := range events {
		if got := f.next(); got != want {
			f.t.Fatalf("got %q, want %q", got, want)
		}
	}
}

func TestJobFeed(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	auth := basic(ada.name, ada.password)
	f := w.follow(t, auth, "")
	f.want("resync") // what was before is to be listed
	w.query(bob, "EMIT 1", "")
	id := w.query(ada, "EMIT 1", "").read(t).JobID
	f.want("job " + id + " complete")
	asking := w.query(ada, `CONFIRM "Sure?"`, "").read(t).JobID
	f.want("job " + asking + " paused")
	w.send("POST", "/v1/confirm/"+asking, jsonType, `{"approved":true}`)
	for got := f.next(); got != "job "+asking+" complete"; got = f.next() { // it may be seen as it runs
		if got != "job "+asking+" running" {
			t.Fatalf("%s", got)
		}
	}
	// Who comes back is told what it missed, and who was away too long that it did.
	f.stop()
	missed := w.query(ada, "EMIT 2", "").read(t).JobID
	again := w.follow(t, auth, f.last)
	again.want("job " + missed + " complete")
	for _, unknown := range []string{"1", "9000000000000000000"} {
		w.follow(t, auth, unknown).want("resync")
	}
	// A key sees its own jobs.
	key := w.follow(t, basic(ada.name, ada.key), "")
	key.want("resync")
	w.query(ada, "EMIT 3", "")
	own := w.form(ada, "EMIT 4", nil).header.Get("QL-Job-Id")
	key.want("job " + own + " complete")
	w.send("GET", "/v1/jobs/events", "", "", "Authorization", auth, "Last-Event-ID", "x").wantError(t, 400, "invalid_request")
	w.send("GET", "/v1/jobs/events?only=x", "", "", "Authorization", auth).wantError(t, 400, "invalid_request")
}

// TestJobFeedIsBounded: a burst is told as one event, and feeds count as listeners.
func TestJobFeedIsBounded(t *testing.T) {
	w := boot(t, unlimitedCalls, settings{service: func(o *service.Options) {
		o.Listeners = admit.NewTransferLimiter(admit.TransferOptions{Max: 16, Reason: admit.TooManyListeners})
		limits := o.Limits
		o.Limits = func(p account.Plan) account.Limits {
			l := limits(p)
			l.Listeners = 1
			return l
		}
	}})
	ada := w.member("ada", account.Unlimited)
	auth := basic(ada.name, ada.password)
	f := w.follow(t, auth, "")
	f.want("resync")
	f.stop()
	for range 150 {
		w.query(ada, "EMIT 1", "")
	}
	check(t, w.recorder.Flush(t.Context()))
	again := w.follow(t, auth, f.last)
	again.want("resync")
	last := w.query(ada, "EMIT 2", "").read(t).JobID
	again.want("job " + last + " complete")
	w.send("GET", "/v1/jobs/events", "", "", "Authorization", auth).wantError(t, 429, "rate_limited")
}

// ends waits until the feed ends by itself. Before, it may tell that a job is paused, if it is told late, and nothing else.
func (f *follower) ends() {
	f.t.Helper()
	over := time.AfterFunc(30*time.Second, f.stop)
	defer over.Stop()
	for f.lines.Scan() {
		if strings.HasPrefix(f.lines.Text(), "data: ") && !strings.Contains(f.lines.Text(), `"status":"paused"`) {
			f.t.Fatalf("it tells %s", f.lines.Text())
		}
	}
	check(f.t, f.lines.Err())
}

// TestFeedsOfCredentials: what is followed ends with the credentials that opened it, the feed of an
// account and the events of a job.
func TestFeedsOfCredentials(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	byPassword, byKey := basic(ada.name, ada.password), basic(ada.name, ada.key)
	for _, test := range []struct {
		name, auth string
		end        func() error
	}{
		{"a revoked key", bearer(w.key(ada, "ends", "run", "jobs"))[1], func() error { return w.accounts.RevokeNamedKey(t.Context(), ada.ID, "ends") }},
		{"another password", byPassword, func() error { return w.accounts.SetPassword(t.Context(), "ada", "another sentence, as long") }},
		{"a disabled account", bearer(w.key(ada, "stays", "run", "jobs"))[1], func() error { return w.accounts.SetFlag(t.Context(), "ada", "disabled", true) }},
		{"a deleted account", bearer(w.key(ada, "last", "run", "jobs"))[1], func() error { return w.accounts.Delete(t.Context(), "ada") }},
	} {
		if test.name == "a deleted account" {
			check(t, w.accounts.SetFlag(t.Context(), "ada", "disabled", false))
		}
		id := w.form(ada, `CONFIRM "Sure?"`, nil).header.Get("QL-Job-Id")
		other := w.follow(t, byKey, "")
		other.want("resync")
		f := w.follow(t, test.auth, "")
		f.want("resync")
		if test.name != "a revoked key" {
			check(t, test.end())
			f.ends()
			other.stop()
			continue
		}
		events := w.open(t, "/v1/job/"+id+"/events", test.auth, "")
		if got := events.next(); !strings.HasPrefix(got, "step") && !strings.HasPrefix(got, "state") {
			t.Fatalf("the job tells %s", got)
		}
		check(t, test.end())
		w.confirm(id, `{"approved":true}`)
		for got := other.next(); got != "job "+id+" complete"; got = other.next() { // others go on
			t.Log(got)
		}
		f.ends()
		other.stop()
		events.over()
	}
}

// over waits until a job's events end before the job does.
func (f *follower) over() {
	f.t.Helper()
	over := time.AfterFunc(30*time.Second, f.stop)
	defer over.Stop()
	for f.lines.Scan() {
		if strings.Contains(f.lines.Text(), `"status":"complete"`) {
			f.t.Errorf("it tells %s", f.lines.Text())
		}
	}
	check(f.t, f.lines.Err())
}
