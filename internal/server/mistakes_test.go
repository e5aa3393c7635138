package server_test

import (
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/job"
)

// TestMistakesFromPages: a page of a list reads what is wrong with its request,
// whoever it calls as; other pages do not.
func TestMistakesFromPages(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	id := w.query(ada, `CONFIRM "Sure?"`, "").read(t).JobID
	for _, test := range []struct {
		method, path, kind, body string
		headers                  []string
		status                   int
	}{
		{"GET", "/v1/job/" + id + "?wait=x", "", "", nil, 400},
		{"GET", "/v1/job/" + id + "?more=1", "", "", nil, 400},
		{"GET", "/v1/job/" + id, "", "", []string{"Authorization", "Digest x"}, 400},
		{"DELETE", "/v1/job/" + id + "?more=1", "", "", nil, 400},
		{"DELETE", "/v1/job/" + id, "", "", []string{"Authorization", "Digest x"}, 400},
		{"GET", "/v1/job/" + id + "/events?more=1", "", "", nil, 400},
		{"GET", "/v1/job/" + id + "/events", "", "", []string{"Last-Event-ID", "x"}, 400},
		{"POST", "/v1/confirm/" + id + "?wait=x", jsonType, `{"approved":true}`, nil, 400},
		{"POST", "/v1/confirm/" + id, jsonType, `{`, nil, 400},
		{"POST", "/v1/confirm/" + id, "text/plain", `{}`, nil, 415},
		{"POST", "/v1/query", jsonType, `{"query":1}`, nil, 400},
		{"GET", "/v1/query", "", "", nil, 405},
		{"POST", "/api", formType, "q=EMIT+1", nil, 400},
		{"POST", "/api", "text/plain", "q=EMIT+1", nil, 415},
		{"GET", "/v1/jobs?limit=x", "", "", nil, 400},
		{"GET", "/v1/questions?limit=101", "", "", nil, 400},
		{"GET", "/v1/limits?more=1", "", "", nil, 400},
		{"GET", "/v1/shares?limit=x", "", "", nil, 400},
		{"DELETE", "/v1/shares/x?more=1", "", "", nil, 400},
		{"GET", "/v1/files/a?limit=x", "", "", nil, 400},
		{"PUT", "/v1/files/a", "", "", []string{"Content-Range", "bytes 0-1/2"}, 400},
		{"DELETE", "/v1/files/a?more=1", "", "", nil, 400},
		{"GET", "/v1/job/" + id + "?" + strings.Repeat("x", 9000), "", "", nil, 413},
	} {
		for page, want := range map[string]string{listed: listed, unlisted: ""} {
			r := w.send(test.method, test.path, test.kind, test.body, append([]string{"Origin", page}, test.headers...)...)
			if got := r.header.Get("Access-Control-Allow-Origin"); r.status != test.status || got != want {
				t.Errorf("%s %.60s from %s: %d, read by %q, want %d by %q: %s", test.method, test.path, page, r.status, got, test.status, want, r.body)
			}
		}
	}
	// Of what there is not, nobody can tell whose page may know.
	r := w.send("GET", "/v1/job/"+job.NewID().String(), "", "", "Origin", listed)
	r.wantError(t, 404, "job_not_found")
	if got := r.header.Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("a job that is not there may be read by %q", got)
	}
	if w.state(id) != job.Paused {
		t.Errorf("the job is %s", w.state(id))
	}
}

// TestHeadersSentTwice: of two that cannot both be meant neither is taken.
func TestHeadersSentTwice(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	as := []string{"Authorization", basic(ada.name, ada.password)}
	id := w.query(ada, `EMIT 1`, "").read(t).JobID
	w.send("PUT", "/v1/files/a", "", "old", as...)
	for _, test := range []struct {
		header string
		values [2]string
		send   func(headers []string) response
	}{
		{"Idempotency-Key", [2]string{"a", "b"}, func(h []string) response { return w.query(ada, `WRITE "new" TO "/a"`, "", h...) }},
		{"Idempotency-Key", [2]string{"a", "a"}, func(h []string) response { return w.query(ada, `WRITE "new" TO "/a"`, "", h...) }},
		{"Origin", [2]string{listed, unlisted}, func(h []string) response { return w.query(ada, `WRITE "new" TO "/a"`, "", h...) }},
		{"Sec-Fetch-Site", [2]string{"same-origin", "cross-site"}, func(h []string) response { return w.query(ada, `WRITE "new" TO "/a"`, "", h...) }},
		{"Authorization", [2]string{as[1], basic("bob", "x")}, func(h []string) response { return w.send("GET", "/v1/job/"+id, "", "", h...) }},
		{"Last-Event-Id", [2]string{"1", "2"}, func(h []string) response { return w.send("GET", "/v1/job/"+id+"/events", "", "", h...) }},
		{"If-Unmodified-Since", [2]string{"Sun, 06 Nov 1994 08:49:37 GMT", "Mon, 07 Nov 1994 08:49:37 GMT"}, func(h []string) response {
			return w.send("PUT", "/v1/files/a", "", "new", append(h, as...)...)
		}},
		{"If-Modified-Since", [2]string{"x", "y"}, func(h []string) response { return w.send("GET", "/v1/files/a", "", "", append(h, as...)...) }},
		{"If-Range", [2]string{`"x"`, `"y"`}, func(h []string) response { return w.send("GET", "/v1/files/a", "", "", append(h, as...)...) }},
		{"Range", [2]string{"bytes=0-0", "bytes=1-1"}, func(h []string) response { return w.send("GET", "/v1/files/a", "", "", append(h, as...)...) }},
		{"Content-Range", [2]string{"", ""}, func(h []string) response { return w.send("PUT", "/v1/files/a", "", "new", append(h, as...)...) }},
	} {
		r := test.send([]string{test.header, test.values[0], test.header, test.values[1]})
		if a := r.wantError(t, 400, "invalid_request"); a.Error.Field != test.header || !strings.Contains(a.Error.Message, "occurs 2 times: once fits") {
			t.Errorf("%s: %+v", test.header, a.Error)
		}
	}
	if r := w.form(ada, "EMIT 1", nil, "Idempotency-Key", "a", "Idempotency-Key", "b"); r.status != 400 || r.body != "error: invalid_request: Idempotency-Key: occurs 2 times: once fits\n" {
		t.Errorf("as a form: %d %s", r.status, r.body)
	}
	// Lists may come in parts.
	if r := w.send("GET", "/v1/job/"+id, "", "", "Prefer", "respond-async", "Prefer", "wait=1"); r.status != 200 {
		t.Errorf("two preferences: %d %s", r.status, r.body)
	}
	if r := w.send("GET", "/v1/files/a", "", "", append(as, "If-None-Match", `"x"`, "If-None-Match", `"y"`)...); r.status != 200 || r.body != "old" {
		t.Errorf("two conditions: %d %s", r.status, r.body)
	}
}
