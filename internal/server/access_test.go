package server_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/auth"
	"ql/internal/job"
	"ql/internal/programtest"
	"ql/internal/server"
	"ql/internal/service"
)

// The pages that call in the matrix.
const (
	noPage   = ""
	listed   = "https://shop.example.com" // on ada's list
	bobs     = "https://bob.example.com"  // on bob's list
	unlisted = "https://evil.example"
	nullPage = "null"
	ownPage  = "http://localhost:8080"
)

var pages = []string{noPage, listed, bobs, unlisted, nullPage, ownPage}

// TestAccessMatrix calls every route with every kind of credentials from every
// kind of page. A route without a table here fails.
func TestAccessMatrix(t *testing.T) {
	w := boot(t, settings{
		service: func(o *service.Options) {
			o.Limiter = admit.NewLimiter(admit.LimiterOptions{Unlimited: true})
			o.Owners = unchanging{o.Owners}
		},
		auth: func(o *auth.Options) { o.Unthrottled = true },
	})
	ada, bob, carl := w.member("ada", account.Standard), w.member("bob", account.Standard), w.member("carl", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	_, err = w.accounts.AddDomain(t.Context(), "bob", "bob.example.com", false)
	check(t, err)
	wrong := ada
	wrong.password, wrong.key = "another long sentence", bob.key
	dev := member{name: "dev", password: "dev", key: "dev"}
	nobody := member{}
	kind := ada // of the credential that the other convention takes
	kind.password, kind.key = ada.key, ada.password
	w.publish("greet", "EMIT 1", account.CallersDomains)
	finished := w.query(ada, `EMIT "it"`, "").read(t).JobID

	link := w.share(ada, bob, carl, member{Account: account.Account{Username: account.Development}, name: "dev", password: "dev"})

	deliveries := map[string]string{"ada": w.delivery(ada), "bob": w.delivery(bob), "carl": w.delivery(carl)}

	credentials := map[string]member{"none": nobody, "ada": ada, "bob": bob, "carl": carl, "wrong": wrong, "kind": kind, "dev": dev}
	always := func(status int) []int { return []int{status, status, status, status, status, status} }
	public := map[string][]int{"none": always(200)}
	holder := map[string][]int{
		"none":  {200, 200, 403, 403, 403, 403},
		"ada":   {200, 200, 403, 403, 403, 403},
		"bob":   always(404),
		"carl":  always(404),
		"wrong": always(401),
		"kind":  always(404), // the key did not start the job
		"dev":   {404, 403, 403, 403, 403, 404},
	}
	// Whoever is let in has a file of this name.
	owner := map[string][]int{
		"none":  always(401),
		"ada":   {200, 200, 403, 403, 403, 403},
		"bob":   {200, 403, 200, 403, 403, 403},
		"carl":  always(200),
		"wrong": always(401),
		"kind":  always(401),
		"dev":   {200, 403, 403, 403, 403, 200},
	}
	// Carl lists no page: none reaches into his account by HTTP Basic.
	changing := maps.Clone(owner)
	changing["carl"] = []int{200, 403, 403, 403, 403, 403}
	// The development account has no keys where others know its credentials.
	creating, revoking := maps.Clone(changing), maps.Clone(changing)
	creating["dev"], revoking["dev"] = []int{400, 403, 403, 403, 403, 400}, []int{404, 403, 403, 403, 403, 404}
	showing, shared := maps.Clone(owner), maps.Clone(owner)
	showing["dev"], shared["dev"] = revoking["dev"], creating["dev"]
	// What the password alone does, no page does, listed or not.
	guarded := func(table map[string][]int) map[string][]int {
		out := map[string][]int{}
		for who, statuses := range table {
			for i, status := range statuses {
				if i > 0 && status != 401 {
					status = 403
				}
				out[who] = append(out[who], status)
			}
		}
		return out
	}
	// A job by its number is its account's alone.
	byRef := map[string][]int{
		"none":  always(401),
		"ada":   {200, 200, 403, 403, 403, 403},
		"bob":   {404, 403, 404, 403, 403, 403},
		"carl":  always(404),
		"wrong": always(401),
		"kind":  {404, 404, 403, 403, 403, 403},
		"dev":   {404, 403, 403, 403, 403, 404},
	}
	// Nobody has sent a mail.
	unsent := map[string][]int{}
	for who, statuses := range owner {
		for _, status := range statuses {
			if status == 200 {
				status = 404
			}
			unsent[who] = append(unsent[who], status)
		}
	}
	// It has ended, and stands nowhere. No key stands for its owner.
	standing := maps.Clone(byRef)
	standing["ada"], standing["kind"] = always(409), always(401)
	repeating := maps.Clone(byRef)
	repeating["carl"] = []int{404, 403, 403, 403, 403, 403}
	// Nobody has a proof.
	proving := map[string][]int{}
	for who, statuses := range creating {
		for _, status := range statuses {
			if status == 200 {
				status = 422
			}
			proving[who] = append(proving[who], status)
		}
	}
	// No page of another origin signs anybody in, whoever lists it; the service is called by another
	// name than its own here.
	ownAlone := func(status int) []int { return []int{status, 403, 403, 403, 403, 403} }
	everybody := func(statuses []int) map[string][]int {
		table := map[string][]int{}
		for who := range credentials {
			table[who] = statuses
		}
		return table
	}
	unseen := everybody(always(404))
	unseen["none"], unseen["wrong"], unseen["kind"] = always(401), always(401), always(401)
	// In the order of pages: none, listed, bob's, unlisted, null, own.
	want := map[string]map[string][]int{
		"POST /v1/query": {
			"none":  {401, 200, 200, 403, 403, 403},
			"ada":   {200, 200, 403, 403, 403, 403},
			"bob":   {200, 403, 200, 403, 403, 403},
			"carl":  always(200),
			"wrong": always(401),
			"kind":  always(401),
			"dev":   {200, 403, 403, 403, 403, 200},
		},
		// Of a program for pages. Whoever is not let in finds none there.
		"* /run/{path}": {
			"none":  {404, 200, 404, 404, 404, 404},
			"ada":   {200, 200, 403, 403, 403, 403},
			"bob":   {404, 403, 404, 403, 403, 403},
			"carl":  {404, 403, 403, 403, 403, 403},
			"wrong": always(401),
			"kind":  {200, 200, 403, 403, 403, 403},
			"dev":   {404, 403, 403, 403, 403, 404},
		},
		"POST /api": {
			"none":  always(400),
			"ada":   always(200),
			"bob":   always(200),
			"carl":  always(200),
			"wrong": always(401),
			"kind":  always(401),
			"dev":   {200, 403, 403, 403, 403, 200},
		},
		"GET /v1/job/{id}":        holder,
		"DELETE /v1/job/{id}":     holder,
		"GET /v1/job/{id}/events": holder,
		"POST /v1/confirm/{id}":   holder,
		"GET /v1/limits": {
			"none":  always(401),
			"ada":   {200, 200, 403, 403, 403, 403},
			"bob":   {200, 403, 200, 403, 403, 403},
			"carl":  always(200),
			"wrong": always(401),
			"kind":  {200, 200, 403, 403, 403, 403},
			"dev":   {200, 403, 403, 403, 403, 200},
		},
		"GET /v1/usage": {
			"none":  always(401),
			"ada":   {200, 200, 403, 403, 403, 403},
			"bob":   {200, 403, 200, 403, 403, 403},
			"carl":  always(200),
			"wrong": always(401),
			"kind":  {200, 200, 403, 403, 403, 403},
			"dev":   {200, 403, 403, 403, 403, 200},
		},
		"GET /v1/jobs": {
			"none":  always(401),
			"ada":   {200, 200, 403, 403, 403, 403},
			"bob":   {200, 403, 200, 403, 403, 403},
			"carl":  always(200),
			"wrong": always(401),
			"kind":  {200, 200, 403, 403, 403, 403},
			"dev":   {200, 403, 403, 403, 403, 200},
		},
		"GET /v1/jobs/events": {
			"none":  always(401),
			"ada":   {200, 200, 403, 403, 403, 403},
			"bob":   {200, 403, 200, 403, 403, 403},
			"carl":  always(200),
			"wrong": always(401),
			"kind":  {200, 200, 403, 403, 403, 403},
			"dev":   {200, 403, 403, 403, 403, 200},
		},
		"GET /v1/questions": {
			"none":  always(401),
			"ada":   {200, 200, 403, 403, 403, 403},
			"bob":   {200, 403, 200, 403, 403, 403},
			"carl":  always(200),
			"wrong": always(401),
			"kind":  {200, 200, 403, 403, 403, 403},
			"dev":   {200, 403, 403, 403, 403, 200},
		},
		// The job is ada's, and her API key did not start it.
		"GET /v1/jobs/{ref}":         byRef,
		"GET /v1/jobs/{ref}/source":  byRef,
		"GET /v1/jobs/{ref}/answers": byRef,
		"GET /v1/jobs/{ref}/stack":   guarded(standing),
		"POST /v1/jobs/{ref}/repeat": repeating,

		"GET /v1/files/{path}":    owner,
		"PUT /v1/files/{path}":    changing,
		"DELETE /v1/files/{path}": changing,
		"POST /v1/files/{path}":   changing,

		"GET /v1/account/key": guarded(showing),
		"GET /v1/account/log": owner,

		"GET /v1/account":                            owner,
		"PATCH /v1/account":                          guarded(creating),
		"DELETE /v1/account":                         guarded(creating),
		"POST /v1/account/password":                  guarded(creating),
		"POST /v1/account/key":                       guarded(creating),
		"GET /v1/account/webhook-secret":             guarded(shared),
		"POST /v1/account/webhook-secret":            guarded(creating),
		"GET /v1/domains":                            owner,
		"POST /v1/domains":                           guarded(creating),
		"DELETE /v1/domains/{id}":                    guarded(creating),
		"POST /v1/domains/{id}/prove":                guarded(proving),
		"GET /v1/sites/main/domains":                 owner,
		"POST /v1/sites/main/domains":                guarded(creating),
		"DELETE /v1/sites/main/domains/{domain}":     guarded(creating),
		"POST /v1/sites/main/domains/{domain}/prove": guarded(proving),
		"GET /v1/secrets":                            owner,
		"PUT /v1/secrets/{name}":                     guarded(creating),
		"DELETE /v1/secrets/{name}":                  guarded(creating),
		"GET /v1/machines":                           owner,
		"GET /v1/machines/{name}":                    owner,
		"PUT /v1/machines/{name}":                    guarded(creating),
		"DELETE /v1/machines/{name}":                 guarded(creating),
		"POST /v1/machines/{name}/test":              guarded(creating),

		"GET /v1/keys":           owner,
		"POST /v1/keys":          guarded(creating),
		"DELETE /v1/keys/{name}": guarded(revoking),
		"GET /v1/shares":         owner,
		"DELETE /v1/shares/{id}": changing,
		"POST /v1/shares":        changing,
		"POST /v1/previews":      changing,

		"GET /v1/webhooks":              owner,
		"GET /v1/webhooks/{id}":         showing,
		"POST /v1/webhooks/{id}/repeat": revoking,

		"GET /v1/databases":                owner,
		"GET /v1/databases/{name}":         owner,
		"DELETE /v1/databases/{name}":      changing,
		"POST /v1/databases/{name}/query":  changing,
		"GET /v1/databases/{name}/export":  owner,
		"POST /v1/databases/{name}/import": changing,

		"POST /v1/check":      changing,
		"POST /v1/complete":   changing,
		"POST /v1/hover":      changing,
		"POST /v1/definition": changing,
		"POST /v1/rename":     changing,
		"POST /v1/format":     changing,

		"GET /v1/mails":                     owner,
		"GET /v1/mails/{id}":                unsent,
		"GET /v1/schedules":                 owner,
		"GET /v1/schedules/{name}":          owner,
		"PUT /v1/schedules/{name}":          changing,
		"DELETE /v1/schedules/{name}":       changing,
		"GET /v1/schedules/{name}/ticks":    owner,
		"POST /v1/schedules/{name}/preview": changing,
		"POST /v1/schedules/{name}/run":     changing,
		"POST /v1/schedules/{name}/pause":   changing,
		"POST /v1/schedules/{name}/resume":  changing,
		"GET /v1/scripts":                   owner,
		"GET /v1/scripts/{name}":            owner,
		"PUT /v1/scripts/{name}":            changing,
		"DELETE /v1/scripts/{name}":         changing,

		"GET /v1/sites/main":                         owner,
		"PUT /v1/sites/main":                         changing,
		"POST /v1/sites/main/plan":                   changing,
		"PUT /v1/sites/main/content/{id}":            changing,
		"GET /v1/sites/main/releases":                owner,
		"POST /v1/sites/main/releases/{ref}/restore": changing,

		"POST /v1/session": {
			"none": ownAlone(401), "ada": ownAlone(200), "bob": ownAlone(200), "carl": ownAlone(200), "wrong": ownAlone(401), "kind": ownAlone(401), "dev": ownAlone(200),
		},
		// Nobody has a cookie here.
		"GET /v1/session":          everybody(always(401)),
		"DELETE /v1/session":       everybody(ownAlone(200)),
		"POST /v1/session/dev":     everybody(ownAlone(404)),
		"POST /v1/session/token":   everybody(ownAlone(401)),
		"POST /v1/session/confirm": everybody(ownAlone(401)),

		"POST /v1/accounts":       everybody(ownAlone(400)),
		"POST /v1/resets":         everybody(ownAlone(422)),
		"POST /v1/resets/{token}": everybody(ownAlone(404)),

		// None of them is an administrator.
		"GET /v1/admin/accounts":               guarded(unseen),
		"POST /v1/admin/accounts":              guarded(unseen),
		"PATCH /v1/admin/accounts/{name}":      guarded(unseen),
		"POST /v1/admin/accounts/{name}/reset": guarded(unseen),
		"GET /v1/admin/invitations":            guarded(unseen),
		"DELETE /v1/admin/invitations/{id}":    guarded(unseen),
		"GET /v1/admin/plans":                  guarded(unseen),
		"GET /v1/admin/node":                   guarded(unseen),

		// Credentials make no difference to a link.
		"GET /files/{token}": {
			"none": always(404), "ada": always(404), "bob": always(404), "carl": always(404), "wrong": always(404), "kind": always(404), "dev": always(404),
		},

		// Nor do they, or the page, to the address of a question.
		"GET /form/{token}": {
			"none": always(200), "ada": always(200), "bob": always(200), "carl": always(200), "wrong": always(200), "kind": always(200), "dev": always(200),
		},
		"POST /v1/signals/{token}": everybody(always(404)),
		"GET /form/{token}/logo": { // of an account without one
			"none": always(404), "ada": always(404), "bob": always(404), "carl": always(404), "wrong": always(404), "kind": always(404), "dev": always(404),
		},
		"POST /form/{token}": {
			"none": always(200), "ada": always(200), "bob": always(200), "carl": always(200), "wrong": always(200), "kind": always(200), "dev": always(200),
		},

		"GET /healthz":      public,
		"GET /readyz":       public,
		"GET /openapi.json": public,

		// The tests of assets have their names, which change with them.
		"GET /assets/{name}": {"none": always(404)},
	}
	// mayRead lists the pages that may read the answers to calls as an account.
	mayRead := map[string]string{"ada": listed, "bob": bobs, "kind": listed}

	for n, route := range w.handler.Routes() {
		name := route.Method + " " + route.Path
		table, ok := want[name]
		if !ok {
			t.Errorf("%s (%s) is in no table", name, route.Accepts)
			continue
		}
		if route.Public != (len(route.Accepts) == 0) || route.Public && len(table) != 1 || !route.Public && len(table) != len(credentials) {
			t.Errorf("%s accepts %q and has %d kinds of credentials", name, route.Accepts, len(table))
		}
		for who, statuses := range table {
			for i, page := range pages {
				// A password that is wrong costs a hash: each route is asked from another page.
				if (who == "wrong" || who == "kind") && i != n%len(pages) && !programtest.Promised() {
					continue
				}
				var headers []string
				if page != noPage {
					headers = []string{"Origin", page}
				}
				id := finished
				if changesJob(name) {
					id = w.query(ada, `CONFIRM "Sure?"`, "").read(t).JobID
				}
				if strings.HasPrefix(route.Path, "/v1/shares/") {
					id = link
				}
				if strings.HasPrefix(route.Path, "/v1/webhooks/") {
					id = cmp.Or(deliveries[who], deliveries["ada"])
				}
				if strings.HasPrefix(route.Path, "/form/") {
					id = w.formToken(ada)
				}
				if strings.HasSuffix(route.Path, "{path}") {
					for _, m := range []member{ada, bob, carl, dev} {
						w.send("PUT", "/v1/files/a/b.txt", "", m.name, "Authorization", basic(m.name, m.password))
					}
				}
				if strings.HasSuffix(route.Path, "{name}") {
					for _, m := range []member{ada, bob, carl} {
						_ = w.accounts.RevokeNamedKey(t.Context(), m.ID, accessKey) // where it is left
						_, _, err := w.accounts.CreateNamedKey(t.Context(), m.Account, account.NewNamed{Name: accessKey, Scopes: []string{"run"}})
						check(t, err)
					}
				}
				if strings.HasPrefix(route.Path, "/v1/domains/") {
					for _, m := range []member{ada, bob, carl} {
						d, err := w.accounts.RequestDomain(t.Context(), m.name, "claimed.example.com", false)
						check(t, err)
						id = d.ID
					}
				}
				if strings.HasPrefix(route.Path, "/v1/sites/main/domains/") {
					for _, m := range []member{ada, bob, carl} {
						_, err := w.accounts.RequestSiteDomain(t.Context(), m.name, "claimed.example.com")
						check(t, err)
					}
				}
				if strings.HasPrefix(route.Path, "/v1/secrets/") {
					for _, m := range []member{ada, bob, carl} {
						check(t, w.accounts.SetSecret(t.Context(), m.name, accessKey, "x"))
					}
				}
				if strings.HasPrefix(route.Path, "/v1/machines/") {
					for _, m := range []member{ada, bob, carl} {
						w.addMachine(m.name)
					}
					w.addMachine(account.Development)
				}
				if strings.HasPrefix(route.Path, "/v1/schedules/") {
					w.scheduleFor("ada", "bob", "carl", account.Development)
				}
				if strings.HasPrefix(route.Path, "/v1/scripts/") {
					w.publishFor("ada", "bob", "carl", account.Development)
				}
				if strings.HasPrefix(route.Path, "/v1/databases/") {
					w.makeDatabases(ada, bob, carl, dev)
				}
				if strings.HasPrefix(route.Path, "/v1/sites/") {
					w.deployEmpty(ada, bob, carl, dev)
				}
				r := w.callAs(name, credentials[who], id, headers)
				if r.status == 201 || r.status == 204 || r.status == 202 && strings.HasSuffix(name, "/run") {
					r.status = 200
				}
				if r.status != statuses[i] {
					t.Errorf("%s as %s from %q: %d, want %d: %s", name, who, page, r.status, statuses[i], r.body)
				}
				if changesJob(name) && (w.state(id) == job.Paused) != (r.status != 200) {
					t.Errorf("%s as %s from %q: answered %d, and the job is %s", name, who, page, r.status, w.state(id))
				}
				readable := r.header.Get("Access-Control-Allow-Origin")
				expected := ""
				if (r.status == 200 || r.status == 422 || r.status == 404 && strings.HasPrefix(route.Path, "/v1/mails/")) && route.Pages {
					switch {
					case mayRead[who] == page && page != noPage:
						expected = page
					case who == "none" && slices.Contains([]string{listed, bobs}, page):
						expected = page
					}
				}
				// What is refused before it tells of an account may be read by the
				// pages of any.
				if r.status == 400 && slices.Contains([]string{listed, bobs}, page) {
					expected = page
				}
				if readable != expected {
					t.Errorf("%s as %s from %q may be read by %q, want %q", name, who, page, readable, expected)
				}
				if expected != "" && (r.header.Get("Vary") != "Origin" || r.header.Get("Access-Control-Allow-Credentials") != "true" ||
					r.header.Get("Cross-Origin-Resource-Policy") != "cross-origin") {
					t.Errorf("%s as %s from %q: headers %v", name, who, page, r.header)
				}
			}
		}
	}
	for name := range want {
		if !slices.ContainsFunc(w.handler.Routes(), func(r server.Route) bool { return r.Method+" "+r.Path == name }) {
			t.Errorf("there is no %s", name)
		}
	}
}

// TestRememberedBasicChangesNothing: a browser that remembers HTTP Basic adds it
// to what any page sends. A page that the account does not list changes nothing by
// it, also where the account lists none. Programs send no Origin, and credentials
// in a body are nothing that a browser adds.
func TestRememberedBasicChangesNothing(t *testing.T) {
	w := boot(t, settings{
		service: func(o *service.Options) { o.Limiter = admit.NewLimiter(admit.LimiterOptions{Unlimited: true}) },
		auth:    func(o *auth.Options) { o.Unthrottled = true },
	})
	with, without := w.member("with", account.Standard), w.member("without", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), with.name, "shop.example.com", false)
	check(t, err)
	link := w.share(with, without)
	callers := []struct {
		name    string
		headers []string
		change  [2]bool // with a list, without one: whether it may change something
		read    [2]bool
	}{
		{"a program", nil, [2]bool{true, true}, [2]bool{true, true}},
		{"typed by a person", []string{"Sec-Fetch-Site", "none"}, [2]bool{true, true}, [2]bool{true, true}},
		{"a listed page", []string{"Origin", listed, "Sec-Fetch-Site", "cross-site"}, [2]bool{true, false}, [2]bool{true, true}},
		{"an unlisted page", []string{"Origin", unlisted, "Sec-Fetch-Site", "cross-site"}, [2]bool{false, false}, [2]bool{false, true}},
		{"an unlisted page of an old browser", []string{"Origin", unlisted}, [2]bool{false, false}, [2]bool{false, true}},
		{"a page of nowhere", []string{"Origin", "null"}, [2]bool{false, false}, [2]bool{false, true}},
		{"without an Origin, cross-site", []string{"Sec-Fetch-Site", "cross-site"}, [2]bool{false, false}, [2]bool{true, true}},
		{"without an Origin, same-site", []string{"Sec-Fetch-Site", "same-site"}, [2]bool{false, false}, [2]bool{true, true}},
	}
	for i, m := range []member{with, without} {
		password, key := basic(m.name, m.password), basic(m.name, m.key)
		asks := func() string { return w.query(m, `CONFIRM "Sure?"`, "").read(t).JobID }
		keyAsks := func() string { return w.form(m, `CONFIRM "Sure?"`, nil).header.Get("QL-Job-Id") }
		file := func() string {
			w.send("PUT", "/v1/files/a.txt", "", "x", "Authorization", password)
			return "/v1/files/a.txt"
		}
		for _, request := range []struct {
			what, method, known string
			path                func() string
			body                string
			changes             bool
		}{
			{"read a file", "GET", password, file, "", false},
			{"limits", "GET", key, func() string { return "/v1/limits" }, "", false},
			{"store a file", "PUT", password, file, "", true},
			{"remove a file", "DELETE", password, file, "", true},
			{"revoke a link", "DELETE", password, func() string { return "/v1/shares/" + link }, "", true},
			{"cancel", "DELETE", password, func() string { return "/v1/job/" + asks() }, "", true},
			{"cancel by key", "DELETE", key, func() string { return "/v1/job/" + keyAsks() }, "", true},
			{"confirm", "POST", password, func() string { return "/v1/confirm/" + asks() }, `{"approved":true}`, true},
			{"confirm by key", "POST", key, func() string { return "/v1/confirm/" + keyAsks() }, `{"approved":true}`, true},
		} {
			for _, c := range callers {
				what := fmt.Sprintf("%s as %s by %s", request.what, m.name, c.name)
				contentType := ""
				if request.method == "POST" {
					contentType = jsonType
				}
				r := w.send(request.method, request.path(), contentType, request.body, append([]string{"Authorization", request.known}, c.headers...)...)
				may := c.read[i]
				if request.changes {
					may = c.change[i]
				}
				if may && r.status != 200 {
					t.Errorf("%s: %d %s", what, r.status, r.body)
				}
				if !may {
					r.wantError(t, 403, "origin_not_allowed")
				}
			}
		}
		for _, c := range callers {
			// By credentials in the body, or by nothing but a job's id, pages call as
			// the list says, if there is one.
			want := 200
			if !c.read[i] {
				want = 403
			}
			if r := w.query(m, "EMIT 1", "", c.headers...); r.status != want {
				t.Errorf("a query as %s by %s: %d %s", m.name, c.name, r.status, r.body)
			}
			if r := w.send("DELETE", "/v1/job/"+asks(), "", "", c.headers...); r.status != want {
				t.Errorf("a cancel by the id, as %s by %s: %d %s", m.name, c.name, r.status, r.body)
			}
		}
	}
}

// formToken asks a question of a new job, and returns what its page's address
// ends with.
func (w *world) formToken(m member) string {
	w.t.Helper()
	address := w.query(m, `CONFIRM "Sure?"`, "").read(w.t).FormURL
	token, ok := strings.CutPrefix(address, "http://ql.example/form/")
	if !ok {
		w.t.Fatalf("the form is at %q", address)
	}
	return token
}

// changesJob tells whether a route does something to a job.
func changesJob(route string) bool {
	return route == "DELETE /v1/job/{id}" || route == "POST /v1/confirm/{id}"
}

// ref returns the number of a job.
func (w *world) ref(id string) string {
	w.t.Helper()
	check(w.t, w.recorder.Flush(w.t.Context()))
	parsed, _ := job.ParseID(id)
	v, err := w.worker.View(w.t.Context(), parsed)
	check(w.t, err)
	return strconv.FormatInt(v.Seq, 10)
}

// state looks at a job past all routes.
func (w *world) state(id string) job.State {
	w.t.Helper()
	parsed, _ := job.ParseID(id)
	v, err := w.worker.View(w.t.Context(), parsed)
	check(w.t, err)
	return v.State
}

// basic returns the header of HTTP Basic.
func basic(name, secret string) string {
	req := http.Request{Header: http.Header{}}
	req.SetBasicAuth(name, secret)
	return req.Header.Get("Authorization")
}

// accessKey is the named key that is revoked.
const accessKey = "access"

// unchanging lets owners do what would end the test for them, and does not do it.
type unchanging struct{ service.Owners }

func (unchanging) MarkDeleted(context.Context, string) error { return nil }

func (unchanging) RotateKey(context.Context, string) (account.Account, account.Key, error) {
	return account.Account{}, account.Key{Text: "qlk_x"}, nil
}

// accountBodies are the bodies of routes that need one.
var accountBodies = map[string]string{
	"POST /v1/admin/accounts":           `{}`,
	"PATCH /v1/admin/accounts/{name}":   `{"plan":"free"}`,
	"POST /v1/session/confirm":          `{"password":"x"}`,
	"POST /v1/accounts":                 `{"username":"new","password":"x"}`,
	"POST /v1/resets":                   `{"username":"ada"}`,
	"POST /v1/resets/{token}":           `{"password":"x"}`,
	"PUT /v1/schedules/{name}":          `{"script":` + quote(accessKey) + `,"every":"25h"}`,
	"POST /v1/schedules/{name}/preview": `{"script":` + quote(accessKey) + `,"every":"25h"}`,
	"PUT /v1/scripts/{name}":            `{"text":"EMIT 1"}`,
	"POST /v1/check":                    `{"text":"EMIT 1"}`,
	"POST /v1/complete":                 `{"text":"EMIT 1","line":1,"column":1}`,
	"POST /v1/hover":                    `{"text":"EMIT 1","line":1,"column":1}`,
	"POST /v1/format":                   `{"text":"EMIT 1"}`,
	"PATCH /v1/account":                 `{"require_auth_on_jobs":false}`,
	"POST /v1/account/password":         `{"password":` + quote(goodPassword) + `}`,
	"PUT /v1/secrets/{name}":            `{"value":"x"}`,
	"PUT /v1/machines/{name}":           `{"kind":"wasm","module":"/calc.wasm"}`,
	"POST /v1/domains":                  `{"domain":"claimed.example.com"}`,
	"POST /v1/sites/main/domains":       `{"domain":"claimed.example.com"}`,
	"PUT /v1/sites/main":                `{"files":{}}`,
	"POST /v1/sites/main/plan":          `{"files":{}}`,
	"POST /v1/definition":               `{"text":"EMIT 1","line":1,"column":1}`,
	"POST /v1/rename":                   `{"text":"SET ?a AS 1","line":1,"column":5,"name":"b"}`,
}

// callAs calls a route in the way that it takes credentials.
func (w *world) callAs(route string, m member, jobID string, headers []string) response {
	w.t.Helper()
	switch route {
	case "GET /v1/jobs/events": // which does not end
		headers := headers
		if m.name != "" {
			headers = append([]string{"Authorization", basic(m.name, m.password)}, headers...)
		}
		if r := w.send("HEAD", "/v1/jobs/events", "", "", headers...); r.status == 200 {
			return r
		}
		return w.send("GET", "/v1/jobs/events", "", "", headers...)
	case "POST /v1/query":
		if m.name == "" {
			return w.send("POST", "/v1/query", "application/json", `{"query":"EMIT 1"}`, headers...)
		}
		return w.query(m, "EMIT 1", "", headers...)
	case "* /run/{path}":
		if m.name != "" {
			headers = append([]string{"Authorization", basic(m.name, m.password)}, headers...)
		}
		return w.send("GET", "/run/ada/greet", "", "", headers...)
	case "POST /form/{token}":
		return w.send("POST", "/form/"+jobID, formType, "approved=true", headers...)
	case "POST /v1/session":
		return w.send("POST", "/v1/session", jsonType, `{"username":`+quote(m.name)+`,"password":`+quote(m.password)+`}`, headers...)
	case "POST /api":
		if m.name == "" {
			return w.send("POST", "/api", "application/x-www-form-urlencoded", url.Values{"q": {"EMIT 1"}}.Encode(), headers...)
		}
		return w.form(m, "EMIT 1", nil, headers...)
	}
	method, path, _ := strings.Cut(route, " ")
	if m.name != "" {
		headers = append([]string{"Authorization", basic(m.name, m.password)}, headers...)
	}
	path = strings.NewReplacer("/content/{id}", "/content/"+emptyDigest, "/releases/{ref}", "/releases/1").Replace(path)
	path = strings.NewReplacer("/form/{token}", "/form/"+jobID, "{id}", jobID, "{path}", "a/b.txt", "{name}", accessKey, "{domain}", "claimed.example.com").Replace(path)
	if strings.Contains(path, "{ref}") {
		path = strings.ReplaceAll(path, "{ref}", w.ref(jobID))
	}
	if body, ok := accountBodies[route]; ok {
		return w.send(method, path, jsonType, body, headers...)
	}
	if method == http.MethodPost {
		body := `{"approved":true}`
		switch route {
		case "POST /v1/databases/{name}/query":
			body = `{"sql":"SELECT 1"}`
		case "POST /v1/databases/{name}/import":
			body = `SELECT 1;`
		case "POST /v1/files/{path}":
			body = `{"copy":"/copy.txt","replace":true}`
		case "POST /v1/shares", "POST /v1/previews":
			body = `{"path":"/shared.txt"}`
		case "POST /v1/jobs/{ref}/repeat":
			body = `{}`
		case "POST /v1/signals/{token}":
			body = `{"name":"paid"}`
		}
		if route == "POST /v1/keys" {
			body = `{"name":` + quote("k"+rand.Text()) + `,"scopes":["run"]}`
		}
		return w.send(method, path, jsonType, body, headers...)
	}
	return w.send(method, path, "", "", headers...)
}

// publishFor publishes a script of some accounts, named as the routes have it.
func (w *world) publishFor(usernames ...string) {
	w.t.Helper()
	for _, username := range usernames {
		_, _, err := w.accounts.Publish(w.t.Context(), username, account.Publication{Name: accessKey, Text: "EMIT 1", Switches: account.Switches{Callers: account.CallersKeys}})
		check(w.t, err)
	}
}

// TestAsyncAccess submits jobs as TestAccessMatrix sends queries: who may run a
// script may submit one, and nobody else.
func TestAsyncAccess(t *testing.T) {
	w := boot(t)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	wrong := ada
	wrong.password = ada.key
	for _, test := range []struct {
		who  string
		as   *member
		page string
		want int
	}{
		{"nobody", nil, noPage, 401},
		{"a listed page", nil, listed, 202},
		{"another page", nil, unlisted, 403},
		{"ada", &ada, noPage, 202},
		{"ada on her page", &ada, listed, 202},
		{"ada on another page", &ada, unlisted, 403},
		{"bob, who lists none", &bob, unlisted, 202},
		{"the key", &wrong, noPage, 401},
	} {
		var headers []string
		if test.page != noPage {
			headers = []string{"Origin", test.page}
		}
		var r response
		if test.as == nil {
			r = w.send("POST", "/v1/query", jsonType, `{"mode":"async","query":"EMIT 1"}`, headers...)
		} else {
			r = w.query(*test.as, "EMIT 1", `"mode":"async"`, headers...)
		}
		if r.status != test.want {
			t.Errorf("%s: %d %s, want %d", test.who, r.status, r.body, test.want)
		}
	}
}

func TestCredentials(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	other := func(change func(*member)) member {
		m := ada
		change(&m)
		return m
	}
	byMail := other(func(m *member) { m.name = "ADA@example.com" })
	if r := w.form(byMail, "EMIT 1", nil); r.status != 200 {
		t.Errorf("form by e-mail: %d %s", r.status, r.body)
	}
	if r := w.query(byMail, "EMIT 1", ""); r.status != 200 {
		t.Errorf("JSON by e-mail: %d %s", r.status, r.body)
	}
	// Each convention takes its own credential alone.
	r := w.form(other(func(m *member) { m.key = ada.password }), "EMIT 1", nil)
	if r.status != 401 || r.header.Get("QL-Error") != "bad_credentials" || !strings.Contains(r.body, "qlk_") {
		t.Errorf("the password at /api: %d %s", r.status, r.body)
	}
	w.query(other(func(m *member) { m.password = ada.key }), "EMIT 1", "").wantError(t, 401, "bad_credentials")
	wrong := w.query(other(func(m *member) { m.password = "something else, long" }), "EMIT 1", "")
	unknown := w.query(other(func(m *member) { m.name = "nobody" }), "EMIT 1", "")
	if wrong.status != 401 || wrong.body != unknown.body {
		t.Errorf("a wrong password says %s, an unknown name %s", wrong.body, unknown.body)
	}
	w.send("POST", "/v1/query", "application/json", `{"auth":{"username":"ada","token":"x"},"query":""}`).wantError(t, 401, "bad_credentials")
	// A rotated key is dead.
	_, fresh, err := w.accounts.RotateKey(t.Context(), "ada")
	check(t, err)
	if r := w.form(ada, "EMIT 1", nil); r.status != 401 {
		t.Errorf("the old key: %d", r.status)
	}
	if r := w.form(other(func(m *member) { m.key = fresh.Reveal() }), "EMIT 1", nil); r.status != 200 {
		t.Errorf("the new key: %d %s", r.status, r.body)
	}
}

func TestJobs(t *testing.T) {
	w := boot(t)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	byPassword := w.query(ada, "EMIT 1", "").read(t).JobID
	byKey := w.form(ada, "EMIT 2", nil).header.Get("QL-Job-Id")
	byPage := w.send("POST", "/v1/query", "application/json", `{"query":"EMIT 3"}`, "Origin", listed).read(t).JobID
	check(t, w.recorder.Flush(t.Context()))
	poll := func(id string, headers ...string) response { return w.send("GET", "/v1/job/"+id, "", "", headers...) }

	for id, want := range map[string]string{byPassword: "1", byKey: "2", byPage: "3"} {
		r := poll(id)
		a := r.read(t)
		if r.status != 200 || a.Status != "complete" || *a.Result != want || r.header.Get("Cache-Control") != "no-store" {
			t.Errorf("poll: %d %s", r.status, r.body)
		}
		if again := poll(strings.ToUpper(id)); again.body != r.body {
			t.Errorf("a later poll says %s after %s", again.body, r.body)
		}
	}
	for _, id := range []string{"0d3f0a4e-7b8c-4d5e-9f00-112233445566", "x", "..", "%2e%2e", "0d3f0a4e7b8c4d5e9f00112233445566"} {
		if r := poll(id); id != ".." && r.status != 404 {
			t.Errorf("%s: %d", id, r.status)
		}
	}
	poll("x").wantError(t, 404, "job_not_found")
	poll(byKey, "Authorization", "Digest x").wantError(t, 400, "invalid_request")
	poll(byKey, "Authorization", "Bearer x").wantError(t, 401, "bad_credentials")
	poll(byKey, "Authorization", basic("bob", bob.password)).wantError(t, 404, "job_not_found")

	check(t, w.accounts.SetFlag(t.Context(), "ada", "require_auth_on_jobs", true))
	if a := poll(byPassword).wantError(t, 401, "bad_credentials"); !strings.Contains(a.Error.Message, "password") || !strings.Contains(a.Error.Message, "API key") {
		t.Errorf("what fits: %s", a.Error.Message)
	}
	tests := []struct {
		name    string
		id      string
		headers []string
		want    int
	}{
		{"nothing", byPassword, nil, 401},
		{"password", byPassword, []string{"Authorization", basic("ada", ada.password)}, 200},
		{"password for what the key started", byKey, []string{"Authorization", basic("ada", ada.password)}, 200},
		{"key", byKey, []string{"Authorization", basic("ada", ada.key)}, 200},
		{"key for what the password started", byPassword, []string{"Authorization", basic("ada", ada.key)}, 404},
		{"wrong", byKey, []string{"Authorization", basic("ada", "wrong password")}, 401},
		{"its page", byPage, []string{"Origin", listed}, 200},
		{"a page, for what it did not start", byKey, []string{"Origin", listed}, 401},
		{"another page", byPage, []string{"Origin", unlisted}, 403},
	}
	routes := map[string]func(id string, headers ...string) response{
		"poll": poll,
		"events": func(id string, headers ...string) response {
			return w.send("GET", "/v1/job/"+id+"/events", "", "", headers...)
		},
		"cancel": func(id string, headers ...string) response {
			return w.send("DELETE", "/v1/job/"+id, "", "", headers...)
		},
		"confirm": func(id string, headers ...string) response {
			r := w.send("POST", "/v1/confirm/"+id, jsonType, `{"approved":true}`, headers...)
			if r.status == 409 { // it was let in, and the job is finished
				r.status = 200
			}
			return r
		},
	}
	for _, test := range tests {
		for route, ask := range routes {
			r := ask(test.id, test.headers...)
			if r.status != test.want {
				t.Errorf("%s, %s: %d %s, want %d", route, test.name, r.status, r.body, test.want)
			}
			if (r.header.Get("WWW-Authenticate") != "") != (test.want == 401) {
				t.Errorf("%s, %s: WWW-Authenticate %q", route, test.name, r.header.Get("WWW-Authenticate"))
			}
		}
	}

	// A deleted account's jobs are gone with it.
	check(t, w.accounts.Delete(t.Context(), "ada"))
	poll(byKey).wantError(t, 404, "job_not_found")
}

// untilRefused calls until a rate is over, and returns what is answered then: on a slow machine rates
// fill up meanwhile.
func untilRefused(t *testing.T, call func() response) (last response) {
	t.Helper()
	for range 2000 {
		if last = call(); last.status == http.StatusTooManyRequests {
			return last
		}
	}
	t.Fatalf("2000 calls were let in; the last: %d %s", last.status, last.body)
	return last
}

func TestMissesAreCounted(t *testing.T) {
	w := boot(t)
	miss := func() response { return w.send("GET", "/v1/job/"+job.NewID().String(), "", "") }
	for range 30 {
		miss().wantError(t, 404, "job_not_found")
	}
	r := untilRefused(t, miss)
	if a := r.wantError(t, 429, "rate_limited"); a.Error.Limit != "" { // none of an account's
		t.Errorf("too many misses: %+v", a.Error)
	}
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}
