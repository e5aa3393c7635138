package server_test

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/server"
)

// TestClientAddress: !REQUEST('ip') is the address of the connection, or what a
// trusted proxy says, in both conventions, with a request or without; a job keeps
// that of its submission; and nobody can say another.
func TestClientAddress(t *testing.T) {
	w := boot(t, settings{http: func(o *server.Options) { o.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }})
	ada := w.member("ada", account.Standard)
	const script = `EMIT !REQUEST('ip')`
	for _, test := range []struct {
		name    string
		headers []string
		want    string
	}{
		{"the connection's", nil, "127.0.0.1"},
		{"a proxy's client", []string{"X-Forwarded-For", "192.0.2.9"}, "192.0.2.9"},
		{"of IPv6", []string{"X-Forwarded-For", "2001:DB8:0::1"}, "2001:db8::1"},
		{"without its zone", []string{"X-Forwarded-For", "fe80::1%eth0"}, "fe80::1"},
	} {
		for more, request := range map[string]url.Values{"": nil, `"request":{"path":"/x"}`: {"path": {"/x"}}} {
			if r := w.query(ada, script, more, test.headers...); r.status != 200 || *r.read(t).Result != test.want {
				t.Errorf("%s, %q, JSON: %d %s", test.name, more, r.status, r.body)
			}
			if r := w.form(ada, script, request, test.headers...); r.status != 200 || r.body != test.want {
				t.Errorf("%s, %q, form: %d %s", test.name, more, r.status, r.body)
			}
		}
	}
	if r := w.query(ada, `EMIT !REQUEST`, `"request":{"path":"/x"}`); *r.read(t).Result != `{"path":"/x","ip":"127.0.0.1"}` {
		t.Errorf("all of it: %s", r.body)
	}

	// A caller who says one is told so.
	r := w.query(ada, script, `"request":{"path":"/x","ip":"10.0.0.1"}`)
	if e := r.read(t).Error; r.status != 400 || e.Code != "invalid_request" || e.Field != "request.ip" {
		t.Errorf("JSON: %d %s", r.status, r.body)
	}
	r = w.form(ada, script, url.Values{"ip": {"10.0.0.1"}})
	if r.status != 400 || r.header.Get("QL-Error") != "invalid_request" || !strings.Contains(r.body, "ip: is not the caller's to say") {
		t.Errorf("form: %d %s", r.status, r.body)
	}

	// Who answers a job's question is not who has sent it.
	const asks = `CONFIRM "go on?" EMIT !REQUEST('ip')`
	for more, status := range map[string]int{"": 202, `"mode":"async"`: 202} {
		r := w.query(ada, asks, more, "X-Forwarded-For", "192.0.2.9")
		if r.status != status {
			t.Fatalf("%d %s", r.status, r.body)
		}
		id := r.read(t).JobID
		if r := w.send("GET", "/v1/job/"+id+"?wait=30", "", ""); r.read(t).Status != "paused" {
			t.Fatal(r.body)
		}
		r = w.send("POST", "/v1/confirm/"+id+"?wait=30", "application/json", `{"approved":true}`, "X-Forwarded-For", "192.0.2.77")
		if a := r.read(t); r.status != 200 || a.Result == nil || *a.Result != "192.0.2.9" {
			t.Errorf("after an answer: %d %s", r.status, r.body)
		}
	}
}
