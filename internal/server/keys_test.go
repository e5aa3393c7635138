package server_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/auth"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/server"
	"ql/internal/service"
)

// unlimitedCalls is a service that counts no calls and no wrong keys.
var unlimitedCalls = settings{
	service: func(o *service.Options) { o.Limiter = admit.NewLimiter(admit.LimiterOptions{Unlimited: true}) },
	auth:    func(o *auth.Options) { o.Unthrottled = true },
}

// key makes a named key of an account, past the routes.
func (w *world) key(m member, name string, scopes ...string) string {
	w.t.Helper()
	_, key, err := w.accounts.CreateNamedKey(w.t.Context(), m.Account, account.NewNamed{Name: name, Scopes: scopes})
	check(w.t, err)
	return key.Reveal()
}

func bearer(key string) []string { return []string{"Authorization", "Bearer " + key} }

// TestScopes calls every route with a key of every scope. A route without a row here fails.
func TestScopes(t *testing.T) {
	scopes := []string{"run", "run:greet", "answer", "jobs", "files", "databases", "manage", "all"}
	all := []string{"run", "run:greet", "answer", "jobs", "files", "databases", "manage"}
	never := func(status int) []int { return slices.Repeat([]int{status}, len(scopes)) }
	// The status for each, where the job is one that the owner's password started.
	job := []int{404, 404, 404, 200, 404, 404, 404, 200}
	files := []int{403, 403, 403, 403, 200, 403, 403, 200}
	manage := []int{403, 403, 403, 403, 403, 403, 200, 200}
	databases := []int{403, 403, 403, 403, 403, 200, 403, 200}
	runs := []int{200, 403, 403, 403, 403, 403, 403, 200}
	deploys := []int{403, 403, 403, 403, 403, 403, 403, 200} // which takes run and manage
	want := map[string][]int{
		"POST /v1/query":          runs,
		"GET /v1/job/{id}":        job,
		"DELETE /v1/job/{id}":     job,
		"GET /v1/job/{id}/events": job,
		"POST /v1/confirm/{id}":   {403, 403, 200, 403, 403, 403, 403, 200},
		"* /run/{path}":           {200, 200, 403, 403, 403, 403, 403, 200},
		"GET /v1/jobs":            {200, 200, 403, 200, 403, 403, 403, 200}, // what it started itself, where it may start any
		"GET /v1/jobs/events":     {200, 200, 403, 200, 403, 403, 403, 200},
		"GET /v1/questions":       {200, 200, 200, 200, 403, 403, 403, 200}, // of what it started itself, sees or may answer
		"GET /v1/limits":          manage,

		"GET /v1/jobs/{ref}":         {403, 403, 403, 200, 403, 403, 403, 200},
		"GET /v1/jobs/{ref}/source":  {403, 403, 403, 200, 403, 403, 403, 200},
		"GET /v1/jobs/{ref}/answers": {403, 403, 403, 200, 403, 403, 403, 200},
		"GET /v1/jobs/{ref}/stack":   never(403),
		"POST /v1/jobs/{ref}/repeat": {403, 403, 403, 403, 403, 403, 403, 200}, // which takes jobs and run

		"GET /v1/usage":           manage,
		"GET /v1/files/{path}":    files,
		"PUT /v1/files/{path}":    files,
		"DELETE /v1/files/{path}": files,
		"POST /v1/files/{path}":   files,
		"GET /v1/shares":          files,
		"DELETE /v1/shares/{id}":  files,
		"POST /v1/shares":         files,
		"POST /v1/previews":       files,
		"GET /v1/keys":            manage,
		"GET /v1/account/key":     never(403),
		"GET /v1/account/log":     manage,

		"GET /v1/account":                            manage,
		"PATCH /v1/account":                          never(403),
		"DELETE /v1/account":                         never(403),
		"POST /v1/account/password":                  never(403),
		"POST /v1/account/key":                       never(403),
		"GET /v1/account/webhook-secret":             never(403),
		"POST /v1/account/webhook-secret":            never(403),
		"GET /v1/domains":                            manage,
		"POST /v1/domains":                           never(403),
		"DELETE /v1/domains/{id}":                    never(403),
		"POST /v1/domains/{id}/prove":                never(403),
		"GET /v1/sites/main/domains":                 manage,
		"POST /v1/sites/main/domains":                never(403),
		"DELETE /v1/sites/main/domains/{domain}":     never(403),
		"POST /v1/sites/main/domains/{domain}/prove": never(403),
		"GET /v1/secrets":                            manage,
		"PUT /v1/secrets/{name}":                     never(403),
		"DELETE /v1/secrets/{name}":                  never(403),
		"GET /v1/machines":                           manage,
		"GET /v1/machines/{name}":                    manage,
		"PUT /v1/machines/{name}":                    never(403),
		"DELETE /v1/machines/{name}":                 never(403),
		"POST /v1/machines/{name}/test":              never(403),
		"POST /v1/keys":                              never(403),
		"DELETE /v1/keys/{name}":                     never(403),

		"GET /v1/webhooks":              manage,
		"GET /v1/webhooks/{id}":         manage,
		"POST /v1/webhooks/{id}/repeat": manage,

		"GET /v1/databases":                databases,
		"GET /v1/databases/{name}":         databases,
		"DELETE /v1/databases/{name}":      databases,
		"POST /v1/databases/{name}/query":  databases,
		"GET /v1/databases/{name}/export":  databases,
		"POST /v1/databases/{name}/import": databases,

		"POST /v1/check":      runs,
		"POST /v1/complete":   runs,
		"POST /v1/hover":      runs,
		"POST /v1/definition": runs,
		"POST /v1/rename":     runs,
		"POST /v1/format":     runs,

		"GET /v1/mails":                     manage,
		"GET /v1/mails/{id}":                {403, 403, 403, 403, 403, 403, 404, 404}, // none was sent
		"GET /v1/schedules":                 manage,
		"GET /v1/schedules/{name}":          manage,
		"PUT /v1/schedules/{name}":          deploys,
		"DELETE /v1/schedules/{name}":       manage,
		"GET /v1/schedules/{name}/ticks":    manage,
		"POST /v1/schedules/{name}/preview": deploys,
		"POST /v1/schedules/{name}/run":     deploys,
		"POST /v1/schedules/{name}/pause":   manage,
		"POST /v1/schedules/{name}/resume":  deploys,
		"GET /v1/scripts":                   manage,
		"GET /v1/scripts/{name}":            {200, 403, 403, 403, 403, 403, 200, 200}, // and a key for this very script
		"PUT /v1/scripts/{name}":            deploys,
		"DELETE /v1/scripts/{name}":         manage,

		"GET /v1/sites/main":                         manage,
		"PUT /v1/sites/main":                         deploys,
		"POST /v1/sites/main/plan":                   deploys,
		"PUT /v1/sites/main/content/{id}":            deploys,
		"GET /v1/sites/main/releases":                manage,
		"POST /v1/sites/main/releases/{ref}/restore": deploys,

		// Who is signed in has a cookie, and no key is one.
		"POST /v1/session":         never(401),
		"GET /v1/session":          never(401),
		"DELETE /v1/session":       never(200),
		"POST /v1/session/dev":     never(404),
		"POST /v1/session/token":   never(401),
		"POST /v1/session/confirm": never(401),

		"POST /v1/accounts":       never(400),
		"POST /v1/resets":         never(422),
		"POST /v1/resets/{token}": never(404),

		// Its account is no administrator.
		"GET /v1/admin/accounts":               never(404),
		"POST /v1/admin/accounts":              never(404),
		"PATCH /v1/admin/accounts/{name}":      never(404),
		"POST /v1/admin/accounts/{name}/reset": never(404),
		"GET /v1/admin/invitations":            never(404),
		"DELETE /v1/admin/invitations/{id}":    never(404),
		"GET /v1/admin/plans":                  never(404),
		"GET /v1/admin/node":                   never(404),

		// Where nobody is asked who calls, a key makes no difference.
		"POST /api":                never(400),
		"GET /files/{token}":       never(404),
		"GET /form/{token}":        never(200),
		"POST /v1/signals/{token}": never(404),
		"GET /form/{token}/logo":   never(404),
		"POST /form/{token}":       never(200),
		"GET /assets/{name}":       never(404),
		"GET /healthz":             never(200),
		"GET /readyz":              never(200),
		"GET /openapi.json":        never(200),
	}
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	keys := make([]string, len(scopes))
	for i, scope := range scopes {
		of := []string{scope}
		if scope == "all" {
			of = all
		}
		keys[i] = w.key(ada, "key"+fmt.Sprint(i), of...)
	}
	w.key(ada, accessKey, "run")
	w.publish("greet", "EMIT 1", account.CallersKeys)
	link := w.share(ada)
	for _, route := range w.handler.Routes() {
		name := route.Method + " " + route.Path
		statuses, ok := want[name]
		if !ok {
			t.Errorf("%s is in no row", name)
			continue
		}
		if named := route.Accepts.Has(principal.ByNamedKey); strings.HasPrefix(route.Path, "/v1/") && named == slices.Equal(statuses, never(403)) && !route.Accepts.Has(principal.ByNobody) && !strings.HasPrefix(route.Path, "/v1/session") && !strings.HasPrefix(route.Path, "/v1/admin/") {
			t.Errorf("%s says that it takes named keys: %t", name, named)
		}
		for i, key := range keys {
			id := w.query(ada, `CONFIRM "Sure?"`, "").read(t).JobID
			if name == "GET /v1/job/{id}/events" || strings.HasSuffix(name, "/repeat") { // which ends with the job
				id = w.query(ada, `EMIT 1`, "").read(t).JobID
			}
			switch {
			case strings.HasPrefix(route.Path, "/v1/shares/"):
				id = link
			case strings.HasPrefix(route.Path, "/v1/webhooks/"):
				id = w.delivery(ada)
			case strings.HasPrefix(route.Path, "/form/"):
				id = w.formToken(ada)
			case strings.HasSuffix(route.Path, "{path}"):
				w.send("PUT", "/v1/files/a/b.txt", "", "x", "Authorization", basic(ada.name, ada.password))
			case strings.HasPrefix(route.Path, "/v1/schedules/"):
				w.scheduleFor("ada")
			case strings.HasPrefix(route.Path, "/v1/scripts/"):
				w.publishFor("ada")
			case strings.HasPrefix(route.Path, "/v1/machines/"):
				w.addMachine("ada")
			case strings.HasPrefix(route.Path, "/v1/databases/"):
				w.makeDatabases(ada)
			case strings.HasPrefix(route.Path, "/v1/sites/"):
				w.deployEmpty(ada)
			}
			r := w.callAs(name, member{}, id, bearer(key))
			if r.status == 201 || r.status == 204 || r.status == 202 && strings.HasSuffix(name, "/run") {
				r.status = 200
			}
			if r.status != statuses[i] {
				t.Errorf("%s with %s: %d, want %d: %s", name, scopes[i], r.status, statuses[i], r.body)
			}
			if r.status != 403 {
				continue
			}
			a := r.read(t)
			switch {
			case slices.Equal(statuses, never(403)):
				if a.Error.Code != "confirm_required" || !strings.Contains(a.Error.Message, "password") {
					t.Errorf("%s with %s: %s", name, scopes[i], r.body)
				}
			case a.Error.Code != "scope_missing" || !strings.Contains(a.Error.Message, "it has "+scopes[i]):
				t.Errorf("%s with %s: %s", name, scopes[i], r.body)
			}
		}
	}
	for name := range want {
		if !slices.ContainsFunc(w.handler.Routes(), func(r server.Route) bool { return r.Method+" "+r.Path == name }) {
			t.Errorf("there is no %s", name)
		}
	}
}

// TestKeyRoutes makes, lists and revokes keys as their owner does.
func TestKeyRoutes(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada, bob := w.member("ada", account.Free), w.member("bob", account.Standard)
	owner := []string{"Authorization", basic(ada.name, ada.password)}
	post := func(body string, headers ...string) response {
		return w.send("POST", "/v1/keys", jsonType, body, headers...)
	}
	r := post(`{"name":"ci","scopes":["jobs","run"],"expires_in":3600}`, owner...)
	made := r.read(t)
	if r.status != 201 || made.Name != "ci" || !strings.HasPrefix(made.Key, "qln_") || r.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if r := post(`{"name":"shop","scopes":["run:greet"]}`, owner...); r.status != 201 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	post(`{"name":"ci","scopes":["run"]}`, owner...).wantError(t, 409, "already_exists")
	for body, field := range map[string]string{
		`{"scopes":["run"]}`:                                  "name",
		`{"name":"a"}`:                                        "scopes",
		`{"name":"","scopes":["run"]}`:                        "name",
		`{"name":"1a","scopes":["run"]}`:                      "name",
		`{"name":"a","scopes":[]}`:                            "scopes",
		`{"name":"a","scopes":"run"}`:                         "scopes",
		`{"name":"a","scopes":["read"]}`:                      "scopes",
		`{"name":"a","scopes":[1]}`:                           "scopes[0]",
		`{"name":"a","scopes":["run"],"expires_in":0}`:        "expires_in",
		`{"name":"a","scopes":["run"],"expires_in":1.5}`:      "expires_in",
		`{"name":"a","scopes":["run"],"expires_in":"3600"}`:   "expires_in",
		`{"name":"a","scopes":["run"],"expires_in":1e99}`:     "expires_in",
		`{"name":"a","scopes":["run"],"more":1}`:              "body.more",
		`{"name":"a","scopes":["run"],"expires_in":31536e05}`: "expires_in",
	} {
		if a := post(body, owner...).wantError(t, 400, "invalid_request"); a.Error.Field != field && a.Error.Field != strings.TrimPrefix(field, "body.") {
			t.Errorf("%s: the field %s", body, a.Error.Field)
		}
	}
	post(`{"name":"a","scopes":["run"]}`).wantError(t, 401, "bad_credentials")
	post(`{"name":"a","scopes":["run"]}`, "Authorization", basic(ada.name, ada.key)).wantError(t, 401, "bad_credentials")

	list := func(headers ...string) answer { return w.send("GET", "/v1/keys", "", "", headers...).read(t) }
	l := list(owner...)
	if len(l.Keys) != 2 || l.Keys[0].Name != "ci" || l.Keys[1].Name != "shop" {
		t.Fatalf("the list is %+v", l.Keys)
	}
	ci, shop := l.Keys[0], l.Keys[1]
	if ci.ExpiresAt == nil || ci.ExpiresAt.Sub(ci.CreatedAt) != time.Hour || ci.LastUsedAt != nil || !slices.Equal(ci.Scopes, []string{"run", "jobs"}) ||
		!strings.HasPrefix(made.Key, ci.Prefix) || len(ci.Prefix) > 10 || shop.ExpiresAt != nil {
		t.Errorf("the list is %+v", l.Keys)
	}
	if r := w.send("GET", "/v1/jobs", "", "", bearer(made.Key)...); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if used := list(owner...).Keys[0].LastUsedAt; used == nil || time.Since(*used) > time.Minute {
		t.Errorf("it was used at %v", used)
	}
	if keys := list("Authorization", basic(bob.name, bob.password)).Keys; len(keys) != 0 {
		t.Errorf("bob has %+v", keys)
	}

	remove := func(name string, headers ...string) response {
		return w.send("DELETE", "/v1/keys/"+name, "", "", headers...)
	}
	remove("ci", "Authorization", basic(bob.name, bob.password)).wantError(t, 404, "not_found")
	remove("ci", bearer(made.Key)...).wantError(t, 403, "confirm_required")
	if r := remove("ci", owner...); r.status != 204 || r.body != "" {
		t.Errorf("%d %s", r.status, r.body)
	}
	remove("ci", owner...).wantError(t, 404, "not_found")
	w.send("GET", "/v1/jobs", "", "", bearer(made.Key)...).wantError(t, 401, "bad_credentials")

	for i := range 19 {
		w.key(ada, fmt.Sprint("k", i), "run")
	}
	if a := post(`{"name":"more","scopes":["run"]}`, owner...).wantError(t, 422, "limit_exceeded"); a.Error.Limit != "named_keys" || a.Error.Value != 20 {
		t.Errorf("%+v", a.Error)
	}
	check(t, w.accounts.SetFlag(t.Context(), "ada", "disabled", true))
	remove("shop", owner...).wantError(t, 401, "bad_credentials")
}

// TestBearer sends keys, and what is none, in all ways.
func TestBearer(t *testing.T) {
	now := time.Now()
	var mu sync.Mutex
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	w := boot(t, unlimitedCalls, settings{auth: func(o *auth.Options) { o.Now = clock }})
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	key, bobsKey := w.key(ada, "ci", "run", "files"), w.key(bob, "ci", "run", "files")
	_, ending, err := w.accounts.CreateNamedKey(t.Context(), ada.Account, account.NewNamed{Name: "ending", Scopes: []string{"run"}, For: time.Hour})
	check(t, err)
	query := func(body string, headers ...string) response {
		return w.send("POST", "/v1/query", jsonType, body, headers...)
	}
	const plain = `{"query":"EMIT !ACCOUNT('username')"}`
	withAuth := `{"auth":{"username":"ada","password":` + quote(ada.password) + `},"query":"EMIT 1"}`
	for _, test := range []struct {
		name    string
		body    string
		headers []string
		status  int
		code    string
		says    string
	}{
		{"a key", plain, bearer(key), 200, "", `"result":"ada"`},
		{"in small letters", plain, []string{"Authorization", "bearer " + key}, 200, "", `"result":"ada"`},
		{"another's", plain, bearer(bobsKey), 200, "", `"result":"bob"`},
		{"beside auth", withAuth, bearer(key), 400, "invalid_request", "Authorization"},
		{"beside auth, of Basic", withAuth, []string{"Authorization", basic("ada", ada.password)}, 400, "invalid_request", "Authorization"},
		{"Basic", plain, []string{"Authorization", basic("ada", ada.password)}, 400, "invalid_request", "Bearer"},
		{"Basic that a browser added, on a listed page", plain, []string{"Authorization", basic("bob", bob.password), "Origin", listed}, 200, "", `"result":"ada"`},
		{"Basic that a browser added, on another page", plain, []string{"Authorization", basic("bob", bob.password), "Origin", unlisted}, 403, "origin_not_allowed", ""},
		{"another scheme on a listed page", plain, []string{"Authorization", "Digest x", "Origin", listed}, 400, "invalid_request", "Bearer"},
		{"another scheme", plain, []string{"Authorization", "Digest x"}, 400, "invalid_request", "Bearer"},
		{"no scheme", plain, []string{"Authorization", key}, 400, "invalid_request", "Bearer"},
		{"nothing behind", plain, []string{"Authorization", "Bearer"}, 400, "invalid_request", "qln_"},
		{"two keys", plain, []string{"Authorization", "Bearer " + key + " " + key}, 400, "invalid_request", "qln_"},
		{"sent twice", plain, append(bearer(key), bearer(key)...), 400, "invalid_request", "once"},
		{"a wrong one", plain, bearer(key[:len(key)-1] + "-"), 401, "bad_credentials", "wrong"},
		{"no key", plain, bearer("x"), 401, "bad_credentials", "qln_"},
		{"the API key", plain, bearer(ada.key), 401, "bad_credentials", "API key"},
		{"in auth.password", `{"auth":{"username":"ada","password":` + quote(key) + `},"query":"EMIT 1"}`, nil, 401, "bad_credentials", "Bearer"},
		{"from a listed page", plain, append(bearer(key), "Origin", listed), 200, "", `"result":"ada"`},
		{"from another page", plain, append(bearer(key), "Origin", unlisted), 403, "origin_not_allowed", ""},
		{"from a page of who lists none", plain, append(bearer(bobsKey), "Origin", unlisted), 200, "", `"result":"bob"`},
		{"from a page of another account", plain, append(bearer(bobsKey), "Origin", listed), 200, "", `"result":"bob"`},
		{"before its end", plain, bearer(ending.Reveal()), 200, "", ""},
	} {
		r := query(test.body, test.headers...)
		if r.status != test.status || test.code != "" && r.read(t).Error.Code != test.code || !strings.Contains(r.body, test.says) {
			t.Errorf("%s: %d %s, want %d %s with %s", test.name, r.status, r.body, test.status, test.code, test.says)
		}
		if strings.Contains(r.body, key[4:]) {
			t.Errorf("%s: the answer shows the key: %s", test.name, r.body)
		}
	}
	if r := query(plain, append(bearer(key), "Origin", listed)...); r.header.Get("Access-Control-Allow-Origin") != listed {
		t.Errorf("the page may not read it: %v", r.header)
	}
	// A browser adds no Bearer by itself: an account without a list lets pages change things.
	if r := w.send("PUT", "/v1/files/a.txt", "", "x", append(bearer(bobsKey), "Origin", unlisted, "Sec-Fetch-Site", "cross-site")...); r.status != 201 {
		t.Errorf("%d %s", r.status, r.body)
	}
	w.send("PUT", "/v1/files/a.txt", "", "x", append(bearer(key), "Origin", unlisted)...).wantError(t, 403, "origin_not_allowed")
	if r := w.form(member{name: "ada", key: key}, "EMIT 1", nil); r.status != 401 || !strings.Contains(r.body, "qlk_") {
		t.Errorf("at /api: %d %s", r.status, r.body)
	}
	w.send("GET", "/v1/files/", "", "", "Authorization", basic("ada", key)).wantError(t, 401, "bad_credentials")

	mu.Lock()
	now = now.Add(2 * time.Hour)
	mu.Unlock()
	if a := query(plain, bearer(ending.Reveal())...).wantError(t, 401, "bad_credentials"); !strings.Contains(a.Error.Message, "expired") {
		t.Errorf("after its end: %s", a.Error.Message)
	}
	check(t, w.accounts.SetFlag(t.Context(), "bob", "disabled", true))
	query(plain, bearer(bobsKey)...).wantError(t, 401, "bad_credentials")
	check(t, w.accounts.Delete(t.Context(), "bob"))
	query(plain, bearer(bobsKey)...).wantError(t, 401, "bad_credentials")
}

// TestWrongKeysAreCounted: whoever tries keys is stopped, and whoever has one is not.
func TestWrongKeysAreCounted(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	key := w.key(ada, "ci", "run", "jobs")
	try := func() response { return w.send("GET", "/v1/jobs", "", "", bearer("qln_wrong")...) }
	for range 30 {
		try().wantError(t, 401, "bad_credentials")
	}
	if r := untilRefused(t, try); r.header.Get("Retry-After") == "" {
		t.Errorf("%d %v", r.status, r.header)
	} else {
		r.wantError(t, 429, "rate_limited")
	}
	if r := w.send("GET", "/v1/jobs", "", "", bearer(key)...); r.status != 200 {
		t.Errorf("the right one: %d %s", r.status, r.body)
	}
}

// TestKeyJobs: a key sees the jobs that its scopes say, and no others.
func TestKeyJobs(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	keys := map[string]string{
		"runs":           w.key(ada, "runs", "run"),
		"other":          w.key(ada, "other", "run"),
		"sees":           w.key(ada, "sees", "jobs"),
		"runs and sees":  w.key(ada, "runs-sees", "run", "jobs"),
		"greets":         w.key(ada, "greets", "run:greet"),
		"greets, sees":   w.key(ada, "greets-sees", "run:greet", "run:third", "jobs"),
		"greets, says":   w.key(ada, "greets-says", "run:greet", "answer"),
		"bob's, of all":  w.key(bob, "all", "run", "jobs", "answer", "files", "manage"),
		"files":          w.key(ada, "files", "files"),
		"runs and files": w.key(ada, "runs-files", "run", "files"),
	}
	ids := map[string]string{}
	for _, m := range []string{"runs", "other"} {
		ids[m] = w.send("POST", "/v1/query", jsonType, `{"query":"EMIT 1"}`, bearer(keys[m])...).read(t).JobID
	}
	ids["owner"] = w.query(ada, "EMIT 1", "").read(t).JobID
	ids["api"] = w.form(ada, "EMIT 1", nil).header.Get("QL-Job-Id")
	for _, program := range []string{"greet", "hidden"} { // as the record of one that ran
		r := job.Record{Summary: job.Summary{
			ID: w.store.NewID(), Account: ada.ID, State: job.Complete, Mode: job.Sync, Convention: job.JSON, Credential: principal.ByPassword,
			Created: time.Now(), Finished: time.Now(), ProgramName: program,
		}, Result: []byte("1"), Trace: []byte("[]")}
		check(t, w.recorder.Record(t.Context(), r))
		ids[program] = r.ID.String()
	}
	all := []string{"runs", "other", "owner", "api", "greet", "hidden"}
	for name, sees := range map[string][]string{
		"runs":           {"runs"},
		"other":          {"other"},
		"sees":           all,
		"runs and sees":  all,
		"greets":         {},
		"greets, sees":   {"greet"},
		"greets, says":   {},
		"bob's, of all":  {},
		"files":          nil, // it never starts any
		"runs and files": {},
	} {
		for whose, id := range ids {
			want := 404
			if slices.Contains(sees, whose) {
				want = 200
			}
			for _, path := range []string{"/v1/job/" + id, "/v1/job/" + id + "/events"} {
				if r := w.send("GET", path, "", "", bearer(keys[name])...); r.status != want {
					t.Errorf("%s sees %s: %d %s", path, whose, r.status, r.body)
				}
			}
			if r := w.send("DELETE", "/v1/job/"+id, "", "", bearer(keys[name])...); r.status != want {
				t.Errorf("%s stops %s: %d %s", name, whose, r.status, r.body)
			}
		}
		r := w.send("GET", "/v1/jobs", "", "", bearer(keys[name])...)
		if sees == nil {
			r.wantError(t, 403, "scope_missing")
			continue
		}
		var listed, want []string
		for _, j := range r.read(t).Jobs {
			listed = append(listed, j.ID)
		}
		for _, whose := range sees {
			want = append(want, ids[whose])
		}
		slices.Sort(listed)
		slices.Sort(want)
		if !slices.Equal(listed, want) {
			t.Errorf("%s lists %v, want %v", name, listed, want)
		}
	}
	// Who started what.
	list := w.send("GET", "/v1/jobs", "", "", "Authorization", basic(ada.name, ada.password)).read(t).Jobs
	started := map[string]string{}
	for _, j := range list {
		text := j.By
		if j.Key != nil {
			text += " " + *j.Key
		}
		if j.Program != nil {
			text += " " + *j.Program
		}
		started[j.ID] = text
	}
	for whose, want := range map[string]string{"runs": "named_key runs", "other": "named_key other", "owner": "password", "api": "key", "greet": "password greet"} {
		if got := started[ids[whose]]; got != want {
			t.Errorf("%s was started by %q, want %q", whose, got, want)
		}
	}
	// A page shows its origin, which anybody can write: that opens no job of a key where the account
	// asks for credentials, and no list.
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	check(t, w.accounts.SetFlag(t.Context(), "ada", "require_auth_on_jobs", true))
	w.send("GET", "/v1/job/"+ids["runs"], "", "", "Origin", listed).wantError(t, 401, "bad_credentials")
	w.send("DELETE", "/v1/job/"+ids["runs"], "", "", "Origin", listed).wantError(t, 401, "bad_credentials")
	w.send("GET", "/v1/jobs", "", "", "Origin", listed).wantError(t, 401, "bad_credentials")
	w.send("GET", "/v1/jobs", "", "", append(bearer(keys["sees"]), "Origin", unlisted)...).wantError(t, 403, "origin_not_allowed")
	if r := w.send("GET", "/v1/job/"+ids["runs"], "", "", append(bearer(keys["runs"]), "Origin", listed)...); r.status != 200 {
		t.Errorf("its own key on a listed page: %d %s", r.status, r.body)
	}

	check(t, w.accounts.RevokeNamedKey(t.Context(), ada.ID, "other"))
	again := w.key(ada, "other", "run")
	w.send("GET", "/v1/job/"+ids["other"], "", "", bearer(again)...).wantError(t, 404, "job_not_found")
}

// TestKeyPrograms: a key for one program runs that one, with the owner's rights, and sees what came of
// it by whomever; it runs no other, and no text.
func TestKeyPrograms(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	check(t, w.accounts.SetSecret(t.Context(), "ada", "token", "s3cret"))
	for name, text := range map[string]string{"greet": `EMIT "hello {=LENGTH(!SECRET('token'))}"`, "other": `EMIT "no"`, "asks": `CONFIRM "Sure?"`} {
		_, _, err := w.accounts.Publish(t.Context(), "ada", account.Publication{Name: name, Text: text, Switches: account.Switches{Callers: account.CallersKeys}})
		check(t, err)
	}
	greets, sees, runs := w.key(ada, "greets", "run:greet"), w.key(ada, "sees", "run:greet", "run:asks", "jobs"), w.key(ada, "runs", "run")
	call := func(key, body string) response { return w.send("POST", "/v1/query", jsonType, body, bearer(key)...) }
	mine := call(greets, `{"script":"greet"}`)
	if mine.status != 200 || *mine.read(t).Result != "hello 6" {
		t.Fatalf("%d %s", mine.status, mine.body)
	}
	if r := call(greets, `{"script":"greet@1","mode":"async"}`); r.status != 202 {
		t.Errorf("%d %s", r.status, r.body)
	}
	for body, needs := range map[string]string{
		`{"script":"other"}`:   "run or run:other",
		`{"script":"other@1"}`: "run or run:other",
		`{"script":"nothing"}`: "run or run:nothing", // as if it were there
		`{"query":"EMIT 1"}`:   "run: it has",
		`{"query":"EMIT \"hello {=LENGTH(!SECRET('token'))}\""}`: "run: it has", // the very text
	} {
		if a := call(greets, body).wantError(t, 403, "scope_missing"); !strings.Contains(a.Error.Message, "the scope "+needs) || !strings.Contains(a.Error.Message, "it has run:greet") {
			t.Errorf("%s: %s", body, a.Error.Message)
		}
	}
	other := call(runs, `{"script":"other"}`)
	if other.status != 200 {
		t.Fatalf("%d %s", other.status, other.body)
	}
	theirs := call(runs, `{"script":"greet"}`).read(t).JobID
	asked := call(runs, `{"script":"asks"}`).read(t).JobID
	text := call(runs, `{"query":"EMIT 1"}`).read(t).JobID
	for id, want := range map[string][2]int{ // to greets, and to sees
		mine.read(t).JobID: {200, 200}, theirs: {404, 200}, asked: {404, 200}, other.read(t).JobID: {404, 404}, text: {404, 404},
	} {
		for i, key := range []string{greets, sees} {
			if r := w.send("GET", "/v1/job/"+id, "", "", bearer(key)...); r.status != want[i] {
				t.Errorf("%d %s, want %d", r.status, r.body, want[i])
			}
		}
	}
	programs := map[string]int{}
	for _, j := range w.send("GET", "/v1/jobs", "", "", bearer(sees)...).read(t).Jobs {
		programs[*j.Program]++
	}
	if len(programs) != 2 || programs["greet"] != 3 || programs["asks"] != 1 {
		t.Errorf("it lists %v", programs)
	}
	w.send("POST", "/v1/confirm/"+asked, jsonType, `{"approved":true}`, bearer(sees)...).wantError(t, 403, "scope_missing")
	w.send("DELETE", "/v1/job/"+asked, "", "", bearer(greets)...).wantError(t, 404, "job_not_found")
	if r := w.send("DELETE", "/v1/job/"+asked, "", "", bearer(sees)...); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// TestKeyAnswers: a key answers with the scope for it, also its own job; without, it says so, and is
// not taken for somebody who has the id alone.
func TestKeyAnswers(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	runs, says := w.key(ada, "runs", "run", "jobs"), w.key(ada, "says", "answer")
	only := w.key(ada, "only", "run:greet", "answer")
	ask := func(headers ...string) string {
		return w.send("POST", "/v1/query", jsonType, `{"query":"CONFIRM \"Sure?\" SET ?ok EMIT ?ok"}`, headers...).read(t).JobID
	}
	reply := func(id string, headers ...string) response {
		return w.send("POST", "/v1/confirm/"+id, jsonType, `{"approved":true}`, headers...)
	}
	id := ask(bearer(runs)...)
	for range 2 {
		reply(id, bearer(runs)...).wantError(t, 403, "scope_missing")
		reply(id, bearer(only)...).wantError(t, 404, "job_not_found") // it is for another program
		if w.state(id) != job.Paused {
			t.Fatalf("the job is %s", w.state(id))
		}
		check(t, w.accounts.SetFlag(t.Context(), "ada", "require_auth_on_jobs", true))
		reply(id).wantError(t, 401, "bad_credentials")
	}
	if r := reply(id, bearer(says)...); r.status != 200 || w.state(id) != job.Complete {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// TestKeyIdempotency: an idempotency key belongs to the named key that sent it. Neither the owner,
// nor another key, nor a page with a forged Origin finds what came of it, or uses it up.
func TestKeyIdempotency(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	one, two := w.key(ada, "one", "run"), w.key(ada, "two", "run")
	body := `{"query":"EMIT UUID()"}`
	callers := map[string]func() response{
		"owner": func() response { return w.query(ada, "EMIT UUID()", "", "Idempotency-Key", "k") },
		"page": func() response {
			return w.send("POST", "/v1/query", jsonType, body, "Origin", listed, "Idempotency-Key", "k")
		},
		"one": func() response {
			return w.send("POST", "/v1/query", jsonType, body, append(bearer(one), "Idempotency-Key", "k")...)
		},
		"two": func() response {
			return w.send("POST", "/v1/query", jsonType, body, append(bearer(two), "Idempotency-Key", "k")...)
		},
		"one on a page": func() response {
			return w.send("POST", "/v1/query", jsonType, body, append(bearer(one), "Idempotency-Key", "k", "Origin", listed)...)
		},
	}
	first := map[string]string{}
	for _, who := range []string{"page", "one", "owner", "two"} {
		r := callers[who]()
		if r.status != 200 {
			t.Fatalf("%s: %d %s", who, r.status, r.body)
		}
		for other, result := range first {
			if result == *r.read(t).Result {
				t.Errorf("%s got what %s did", who, other)
			}
		}
		first[who] = *r.read(t).Result
	}
	first["one on a page"] = first["one"]
	for who, call := range callers {
		if got := *call().read(t).Result; got != first[who] {
			t.Errorf("%s got %s, and then %s", who, first[who], got)
		}
	}
	// One who has the name of a revoked key has nothing of it.
	check(t, w.accounts.RevokeNamedKey(t.Context(), ada.ID, "one"))
	one = w.key(ada, "one", "run")
	if got := *callers["one"]().read(t).Result; got == first["one"] {
		t.Error("a new key found what the old one did")
	}
}

// TestKeysReadSecrets: what a key runs has the owner's rights, and what a page runs has not.
func TestKeysReadSecrets(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	check(t, w.accounts.SetSecret(t.Context(), "ada", "token", "s3cret"))
	key := w.key(ada, "ci", "run")
	const body = `{"query":"EMIT LENGTH(!SECRET('token'))"}`
	if r := w.send("POST", "/v1/query", jsonType, body, bearer(key)...); r.status != 200 || *r.read(t).Result != "6" {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := w.send("POST", "/v1/query", jsonType, body, "Origin", listed); r.status == 200 {
		t.Errorf("a page: %s", r.body)
	}
}

// TestKeysOfSites: what is written below /site is run, so a key for files alone changes nothing there.
func TestKeysOfSites(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	owner := []string{"Authorization", basic(ada.name, ada.password)}
	for _, path := range []string{"/a.ql", "/site/kept.ql", "/other/b.ql"} {
		if r := w.send("PUT", "/v1/files"+path, "", "EMIT 1", owner...); r.status != 201 {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	files, deploys := bearer(w.key(ada, "files", "files")), bearer(w.key(ada, "deploys", "files", "run", "manage"))
	for _, test := range []struct{ method, path, body string }{
		{"PUT", "/site/x.ql", "EMIT 1"}, {"PUT", "/SITE/x.ql", "EMIT 1"}, {"PUT", "/%C5%BFite/x.ql", "EMIT 1"}, {"PUT", "/site/_site.toml", ""}, {"DELETE", "/site/kept.ql", ""},
		{"POST", "/a.ql", `{"move":"/site/a.ql"}`}, {"POST", "/a.ql", `{"copy":"/site/a.ql"}`}, {"POST", "/site", `{"move":"/gone"}`}, {"POST", "/site/made", `{"folder":true}`},
	} {
		kind := ""
		if test.method == "POST" {
			kind = jsonType
		}
		w.send(test.method, "/v1/files"+test.path, kind, test.body, files...).wantError(t, 403, "scope_missing")
	}
	for path, want := range map[string]int{"/other/c.ql": 201, "/sites/x.ql": 201, "/x/site/x.ql": 201} {
		if r := w.send("PUT", "/v1/files"+path, "", "EMIT 1", files...); r.status != want {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	if r := w.send("GET", "/v1/files/site/kept.ql", "", "", files...); r.status != 200 {
		t.Errorf("reading: %d %s", r.status, r.body)
	}
	if r := w.send("PUT", "/v1/files/site/x.ql", "", "EMIT 1", deploys...); r.status != 201 {
		t.Errorf("a key that deploys: %d %s", r.status, r.body)
	}
}

// TestPromiseRevokedKeys rotates API keys and revokes named ones while clients call by them: none is
// let in by a key whose end was answered before the call began. With QL_PROMISES=1 it is done 200
// times under 64 clients.
func TestPromiseRevokedKeys(t *testing.T) {
	rounds, clients := 20, 8
	if os.Getenv("QL_PROMISES") == "1" {
		rounds, clients = 200, 64
	}
	w := boot(t, unlimitedCalls, settings{service: func(o *service.Options) {
		o.Limits = func(account.Plan) account.Limits { return account.Unlimited.Limits() }
	}})
	ada := w.member("ada", account.Unlimited)
	owner := []string{"Authorization", basic(ada.name, ada.password)}
	w.client.Transport = &http.Transport{MaxIdleConnsPerHost: clients + 1}
	type credentials struct {
		named, api string
		namedDead  bool
		apiDead    bool
	}
	var mu sync.Mutex
	current := &credentials{named: w.key(ada, "key0", "run"), api: ada.key}
	old := []*credentials{current}
	done := make(chan struct{})
	var group sync.WaitGroup
	counts := make([]struct{ let, refused int }, clients)
	for n := range clients {
		group.Go(func() {
			for i := n; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				mu.Lock()
				c := old[len(old)-1-min(i%3, len(old)-1)] // the newest, and some before it
				named, api := c.namedDead, c.apiDead
				mu.Unlock()
				var status int
				var dead bool
				if i%2 == 0 {
					status, dead = w.status("POST", "/v1/query", jsonType, `{"query":"EMIT 1"}`, "Bearer "+c.named), named
				} else {
					status, dead = w.status("POST", "/api", formType, "identity=ada&q=EMIT+1&password="+c.api, ""), api
				}
				switch {
				case status == 200 && dead:
					t.Errorf("a key was taken after its end was answered")
				case status == 200:
					counts[n].let++
				case status == 401:
					counts[n].refused++
				default:
					t.Errorf("a call was answered %d", status)
				}
			}
		})
	}
	for n := 1; n <= rounds; n++ {
		last := old[len(old)-1]
		next := &credentials{named: w.key(ada, fmt.Sprint("key", n), "run")}
		_, key, err := w.accounts.RotateKey(t.Context(), "ada")
		check(t, err)
		next.api = key.Reveal()
		mu.Lock()
		last.apiDead = true
		old = append(old, next)
		mu.Unlock()
		if got := w.statusOf("DELETE", fmt.Sprint("/v1/keys/key", n-1), owner[1]); got != 204 {
			t.Errorf("revoking: %d", got)
		}
		mu.Lock()
		last.namedDead = true
		mu.Unlock()
		if got := w.status("POST", "/v1/query", jsonType, `{"query":"EMIT 1"}`, "Bearer "+last.named); got != 401 {
			t.Errorf("the key just revoked: %d", got)
		}
	}
	close(done)
	group.Wait()
	let, refused := 0, 0
	for _, c := range counts {
		let, refused = let+c.let, refused+c.refused
	}
	t.Logf("%d rounds, %d calls let in, %d refused", rounds, let, refused)
	if let == 0 || refused == 0 {
		t.Errorf("%d calls were let in, and %d refused", let, refused)
	}
}

// status sends a request and returns the status alone.
func (w *world) status(method, path, contentType, body, authorization string) int {
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Error(err)
		return 0
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	res, err := w.client.Do(req)
	if err != nil {
		w.t.Error(err)
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}

func (w *world) statusOf(method, path, authorization string) int {
	return w.status(method, path, "", "", authorization)
}

// TestShowKey: the API key is shown to the password alone, where a copy is kept.
func TestShowKey(t *testing.T) {
	w := boot(t, settings{})
	ada := w.member("ada", account.Standard)
	r := w.send("GET", "/v1/account/key", "", "", "Authorization", basic("ada", ada.password))
	if want := `{"status":"ok","username":"ada","api_key":"` + ada.key + `"}`; r.status != 200 || r.body != want || r.header.Get("Cache-Control") != "no-store" {
		t.Errorf("answer %d %s %v\nwant %s", r.status, r.body, r.header, want)
	}
	w.send("GET", "/v1/account/key", "", "", "Authorization", basic("ada", ada.key)).wantError(t, 401, "bad_credentials")
	w.send("GET", "/v1/account/key", "", "").wantError(t, 401, "bad_credentials")

	w = boot(t, settings{accounts: func(o *account.Options) { o.KeysOnce = true }})
	ada = w.member("ada", account.Standard)
	e := w.send("GET", "/v1/account/key", "", "", "Authorization", basic("ada", ada.password)).wantError(t, 404, "not_found")
	if e.Error.Message != "no copy of the API key is kept: rotate it to see a new one" {
		t.Errorf("message %q", e.Error.Message)
	}
}

// TestMeantAccount: a call that says whom it is meant for is none of another account's key, and all
// names that lead to an account do.
func TestMeantAccount(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	hers, his := w.key(ada, "k", "files", "manage", "run", "jobs"), w.key(bob, "k", "files", "manage", "run", "jobs")
	for _, route := range []string{"GET /v1/limits", "GET /v1/keys", "GET /v1/scripts", "GET /v1/jobs", "GET /v1/shares", "GET /v1/files/", "PUT /v1/files/x"} {
		method, path, _ := strings.Cut(route, " ")
		w.send(method, path, "", "", "Authorization", "Bearer "+his, "QL-Account", "ada").wantError(t, 401, "bad_credentials")
		for _, name := range []string{"ada", "ADA", ""} {
			if r := w.send(method, path, "", "", "Authorization", "Bearer "+hers, "QL-Account", name); r.status != 200 && r.status != 201 {
				t.Errorf("%s for %q: %d %s", route, name, r.status, r.body)
			}
		}
	}
	if r := w.send("POST", "/v1/query", jsonType, `{"query":"EMIT 1"}`, "Authorization", "Bearer "+his, "QL-Account", "ada"); r.status != 401 {
		t.Errorf("a query: %d %s", r.status, r.body)
	}
	if r := w.send("GET", "/v1/files/x", "", "", "Authorization", "Bearer "+his); r.status != 404 {
		t.Errorf("his file: %d %s", r.status, r.body)
	}
}
