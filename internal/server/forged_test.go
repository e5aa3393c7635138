package server_test

import (
	"net/http"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/principal"
)

// TestForgedOrigin: whoever writes the Origin of a listed page, and has no credentials, may run what
// its pages may run, and has nothing of what others did: their idempotency keys, their questions,
// their jobs, the account's scripts.
func TestForgedOrigin(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	check(t, w.accounts.SetSecret(t.Context(), "ada", "token", "s3cret"))
	w.publish("own", `EMIT UUID()`, account.CallersKeys)
	w.publish("once", `EMIT UUID()`, account.CallersDomains)
	w.publish("reads", `EMIT !SECRET('token')`, account.CallersDomains)
	forged := []string{"Origin", listed}
	owner := []string{"Authorization", basic(ada.name, ada.password)}

	t.Run("idempotency", func(t *testing.T) {
		for name, call := range map[string]func(headers []string) response{
			"script": func(headers []string) response {
				if headers[0] == "Authorization" {
					return w.query(ada, `EMIT UUID()`, "", "Idempotency-Key", "script")
				}
				return w.send("POST", "/v1/query", jsonType, `{"query":"EMIT UUID()"}`, append([]string{"Idempotency-Key", "script"}, headers...)...)
			},
			"program": func(headers []string) response {
				return w.send("POST", "/run/ada/once", "", "", append([]string{"Idempotency-Key", "program"}, headers...)...)
			},
		} {
			first := call(owner)
			theirs := call(forged)
			again := call(owner)
			if first.status != 200 || again.status != 200 || theirs.status != 200 {
				t.Fatalf("%s: %d %d %d: %s", name, first.status, theirs.status, again.status, theirs.body)
			}
			result := func(r response) string {
				if name == "program" {
					return r.body
				}
				return *r.read(t).Result
			}
			if result(first) != result(again) || result(first) == result(theirs) {
				t.Errorf("%s: the owner has %s and then %s, the page %s", name, result(first), result(again), result(theirs))
			}
		}
		// Nor does it use up keys that the owner has still to send.
		if r := w.send("POST", "/v1/query", jsonType, `{"query":"EMIT 1"}`, "Origin", listed, "Idempotency-Key", "next"); r.status != 200 {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if r := w.query(ada, `EMIT 2`, "", "Idempotency-Key", "next"); r.status != 200 || *r.read(t).Result != "2" {
			t.Errorf("the owner's own: %d %s", r.status, r.body)
		}
	})

	t.Run("questions and jobs", func(t *testing.T) {
		check(t, w.accounts.SetFlag(t.Context(), "ada", "require_auth_on_jobs", true))
		id := w.query(ada, `EMIT "inside" CONFIRM "pay" EMIT "paid"`, "").read(t).JobID
		ran := w.query(ada, `EMIT "done"`, "").read(t).JobID
		for _, job := range []string{id, ran} {
			for _, test := range []struct{ method, path, body string }{
				{"GET", "/v1/job/" + job, ""}, {"GET", "/v1/job/" + job + "/events", ""}, {"DELETE", "/v1/job/" + job, ""},
				{"POST", "/v1/confirm/" + job, `{"approved":true}`}, {"GET", "/v1/jobs", ""},
			} {
				kind := ""
				if test.body != "" {
					kind = jsonType
				}
				r := w.send(test.method, test.path, kind, test.body, forged...)
				r.wantError(t, 401, "bad_credentials")
				if strings.Contains(r.body, "inside") || strings.Contains(r.body, "pay") {
					t.Errorf("%s %s: %s", test.method, test.path, r.body)
				}
			}
		}
		if a := w.send("GET", "/v1/job/"+id, "", "", owner...).read(t); a.Status != "paused" {
			t.Errorf("the job is %+v", a)
		}
	})

	t.Run("scripts", func(t *testing.T) {
		w.call(member{}, "own", "", forged...).wantError(t, 403, "script_not_published")
		w.send("GET", "/run/ada/own", "", "", forged...).wantError(t, 404, "script_not_found")
		w.call(member{}, "reads", "", forged...).wantError(t, 422, "not_available")
		if r := w.send("GET", "/run/ada/reads", "", "", forged...); r.status != 500 || strings.Contains(r.body, "s3cret") {
			t.Errorf("%d %s", r.status, r.body)
		}
	})

	// What asks for credentials asks this caller, too: it is the account's by no other route.
	for _, route := range w.handler.Routes() {
		if route.Public || route.Method == "*" || route.Accepts.Has(principal.ByNobody) || route.Accepts.Has(principal.ByOrigin) || route.Path == "/api" {
			continue
		}
		path := strings.NewReplacer("{name}", "own", "{id}", "1", "{path}", "a.txt", "{token}", "x").Replace(route.Path)
		kind, body := "", ""
		if route.Method == http.MethodPost || route.Method == http.MethodPut || route.Method == http.MethodPatch {
			kind, body = jsonType, "{}"
		}
		if r := w.send(route.Method, path, kind, body, forged...); r.status < 400 || r.status == 404 || r.status == 409 {
			t.Errorf("%s %s: %d %s", route.Method, path, r.status, r.body)
		}
	}
	if p, err := w.accounts.CalledScript(t.Context(), ada.ID, "own"); err != nil || p.Version != 1 {
		t.Errorf("the script is %+v, %v", p, err)
	}
}
