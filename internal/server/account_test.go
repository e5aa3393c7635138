package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/audit"
	"ql/internal/domainproof"
	"ql/internal/service"
)

// acts returns what the log of an account says, the oldest first.
func (w *world) acts(m member) (acts []string) {
	w.t.Helper()
	check(w.t, w.auth.FlushUses(w.t.Context()))
	_, err := audit.Verify(w.t.Context(), w.store.Audit(), m.ID)
	check(w.t, err)
	_, err = w.store.Audit().Scan(w.t.Context(), m.ID, func(e audit.Entry) error {
		acts = append(acts, fmt.Sprintf("%s %s %s", e.By, e.Act, e.On))
		return nil
	})
	check(w.t, err)
	return acts
}

// readAny reads an answer of any shape.
func readAny(t *testing.T, r response) map[string]any {
	t.Helper()
	var a map[string]any
	if err := json.Unmarshal([]byte(r.body), &a); err != nil || r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	return a
}

// TestAccountLog has what owners, keys and strangers do in the log, and nothing else.
func TestAccountLog(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	owner := []string{"Authorization", basic(ada.name, ada.password)}
	manage := w.key(ada, "manage", "manage")
	before := len(w.acts(ada))

	for i := range 34 { // 102 acts that ask for the password
		name := fmt.Sprintf("k%d", i)
		if r := w.send("POST", "/v1/keys", jsonType, fmt.Sprintf(`{"name":%q,"scopes":["run"]}`, name), owner...); r.status != 201 {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if r := w.send("GET", "/v1/account/key", "", "", owner...); r.status != 200 {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if r := w.send("DELETE", "/v1/keys/"+name, "", "", owner...); r.status != 204 {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	id := w.query(ada, `CONFIRM "Sure?"`, "").read(t).JobID
	w.confirm(id, `{"approved":true}`)
	acts := w.acts(ada)[before:]
	count := map[string]int{}
	for _, act := range acts {
		count[strings.Fields(act)[1]]++
	}
	for act, want := range map[string]int{"key_created": 34, "api_key_shown": 34, "key_revoked": 34, "logged_in": 1, "prompt_answered": 1} {
		if count[act] != want {
			t.Errorf("%s is in the log %d times, want %d", act, count[act], want)
		}
	}
	if len(acts) != 104 {
		t.Errorf("the log has %d entries, want 104", len(acts))
	}
	if answered := acts[len(acts)-1]; answered != "none prompt_answered "+id[:8]+" "+strings.Fields(answered)[3] {
		t.Errorf("%q", answered)
	}

	// Calls by keys, and by a password that is known, write nothing.
	runs := w.key(ada, "run", "run")
	before = len(w.acts(ada))
	for range 20 {
		w.send("POST", "/v1/query", jsonType, `{"query":"EMIT 1"}`, bearer(runs)...)
		w.query(ada, "EMIT 1", "")
	}
	if after := len(w.acts(ada)); after != before {
		t.Errorf("plain calls wrote %d entries", after-before)
	}

	// Paging, by a key.
	var seen []float64
	for next := ""; ; {
		r := w.send("GET", "/v1/account/log?limit=40"+next, "", "", bearer(manage)...)
		a := readAny(t, r)
		for _, e := range a["entries"].([]any) {
			seen = append(seen, e.(map[string]any)["number"].(float64))
		}
		if a["next"] == nil {
			break
		}
		next = "&before=" + a["next"].(string)
	}
	if len(seen) != before || seen[0] != float64(before) || seen[before-1] != 1 || !slices.IsSortedFunc(seen, func(a, b float64) int { return int(b - a) }) {
		t.Errorf("pages have %v", seen)
	}
	for query, field := range map[string]string{"limit=0": "limit", "limit=501": "limit", "before=x": "before", "before=0": "before", "after=1": "after"} {
		if e := w.send("GET", "/v1/account/log?"+query, "", "", owner...).wantError(t, 400, "invalid_request"); !strings.Contains(e.Error.Field+e.Error.Message, field) {
			t.Errorf("%s: %s", query, e.Error.Message)
		}
	}

	// Another account has its own.
	r := w.send("GET", "/v1/account/log", "", "", "Authorization", basic(bob.name, bob.password))
	if strings.Contains(r.body, "key_created") || strings.Contains(r.body, "k33") {
		t.Errorf("%s", r.body)
	}
	w.send("GET", "/v1/account/log", "", "", "Authorization", basic("ada", ada.key)).wantError(t, 401, "bad_credentials")

	// Nothing that opens the account is in it.
	r = w.send("GET", "/v1/account/log?limit=500", "", "", owner...)
	for _, secret := range []string{ada.password, ada.key, manage, id} {
		if strings.Contains(r.body, secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

// TestOwnerManagesAccount does what an owner does, over HTTP.
func TestOwnerManagesAccount(t *testing.T) {
	deleted := 0
	w := boot(t, unlimitedCalls, settings{service: func(o *service.Options) { o.OnDeleted = func() { deleted++ } }})
	ada, bob := w.member("ada", account.Free), w.member("bob", account.Free)
	owner := []string{"Authorization", basic(ada.name, ada.password)}
	ok := func(r response, status int) map[string]any {
		t.Helper()
		if r.status != status || r.header.Get("Cache-Control") != "no-store" {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if r.body == "" {
			return nil
		}
		r.status = 200
		return readAny(t, r)
	}
	a := ok(w.send("GET", "/v1/account", "", "", owner...), 200)
	if a["username"] != "ada" || a["email"] != "ada@example.com" || a["phone"] != nil || a["plan"] != "free" || a["require_auth_on_jobs"] != false {
		t.Errorf("%v", a)
	}
	if a := ok(w.send("PATCH", "/v1/account", jsonType, `{"require_auth_on_jobs":true}`, owner...), 200); a["require_auth_on_jobs"] != true {
		t.Errorf("%v", a)
	}
	if a := ok(w.send("GET", "/v1/account", "", "", owner...), 200); a["require_auth_on_jobs"] != true {
		t.Errorf("%v", a)
	}
	// An address that nobody has shown to be the owner's leads nowhere; one that stays, stays verified.
	byEmail := func(email string, status int) {
		t.Helper()
		if r := w.send("GET", "/v1/account", "", "", "Authorization", basic(email, ada.password)); r.status != status {
			t.Errorf("by %s: %d %s", email, r.status, r.body)
		}
	}
	ok(w.send("PATCH", "/v1/account", jsonType, `{"email":"ada@example.com","phone":"+12025550143"}`, owner...), 200)
	byEmail("ada@example.com", 200)
	if a := ok(w.send("PATCH", "/v1/account", jsonType, `{"email":"ada@example.org","phone":null}`, owner...), 200); a["email"] != "ada@example.org" || a["phone"] != nil {
		t.Errorf("%v", a)
	}
	byEmail("ada@example.org", 401)
	byEmail("ada@example.com", 401)
	w.send("PATCH", "/v1/account", jsonType, `{"email":"nowhere"}`, owner...).wantError(t, 400, "invalid_request")
	w.send("PATCH", "/v1/account", jsonType, `{"phone":5}`, owner...).wantError(t, 400, "invalid_request")
	w.send("PATCH", "/v1/account", jsonType, `{}`, owner...).wantError(t, 400, "invalid_request")
	w.send("PATCH", "/v1/account", jsonType, `{"plan":"unlimited"}`, owner...).wantError(t, 400, "invalid_request")

	// Secrets: never shown, and bounded.
	ok(w.send("PUT", "/v1/secrets/token", jsonType, `{"value":"s3cret"}`, owner...), 201)
	ok(w.send("PUT", "/v1/secrets/token", jsonType, `{"value":"0ther"}`, owner...), 204)
	if r := w.query(ada, `EMIT !SECRET("token")`, ""); *r.read(t).Result != "0ther" {
		t.Errorf("%s", r.body)
	}
	list := w.send("GET", "/v1/secrets", "", "", owner...)
	if secrets := ok(list, 200)["secrets"].([]any); len(secrets) != 1 || strings.Contains(list.body, "0ther") {
		t.Errorf("%s", list.body)
	}
	if r := w.send("GET", "/v1/secrets", "", "", "Authorization", basic(bob.name, bob.password)); strings.Contains(r.body, "token") {
		t.Errorf("another account sees %s", r.body)
	}
	w.send("PUT", "/v1/secrets/1st", jsonType, `{"value":"x"}`, owner...).wantError(t, 400, "invalid_request")
	w.send("PUT", "/v1/secrets/big", jsonType, `{"value":"`+strings.Repeat("x", 64<<10+1)+`"}`, owner...).wantError(t, 400, "invalid_request")
	w.send("PUT", "/v1/secrets/big", jsonType, `{"value":"`+strings.Repeat("x", 1<<20)+`"}`, owner...).wantError(t, 413, "too_large")
	for i := range 19 {
		ok(w.send("PUT", fmt.Sprintf("/v1/secrets/s%d", i), jsonType, `{"value":"x"}`, owner...), 201)
	}
	if e := w.send("PUT", "/v1/secrets/more", jsonType, `{"value":"x"}`, owner...).wantError(t, 422, "limit_exceeded"); e.Error.Limit != "secrets" || e.Error.Value != 20 {
		t.Errorf("%+v", e.Error)
	}
	ok(w.send("DELETE", "/v1/secrets/token", "", "", owner...), 204)
	w.send("DELETE", "/v1/secrets/token", "", "", owner...).wantError(t, 404, "not_found")

	// Webhook secret: the same until it is rotated.
	one := ok(w.send("GET", "/v1/account/webhook-secret", "", "", owner...), 200)["webhook_secret"]
	same := ok(w.send("GET", "/v1/account/webhook-secret", "", "", owner...), 200)["webhook_secret"]
	other := ok(w.send("POST", "/v1/account/webhook-secret", "", "", owner...), 200)["webhook_secret"]
	if one != same || one == other || !strings.HasPrefix(other.(string), "whsec_") {
		t.Errorf("%v, %v, %v", one, same, other)
	}

	// API key: the one before is dead.
	if r := w.form(ada, "EMIT 1", nil); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	key := ok(w.send("POST", "/v1/account/key", "", "", owner...), 200)["api_key"].(string)
	if r := w.form(ada, "EMIT 1", nil); r.status != 401 {
		t.Errorf("the key before: %d %s", r.status, r.body)
	}
	ada.key = key
	if r := w.form(ada, "EMIT 1", nil); r.status != 200 {
		t.Errorf("the new key: %d %s", r.status, r.body)
	}

	// Password: the one before is dead, a weak one is refused.
	w.send("POST", "/v1/account/password", jsonType, `{"password":"short"}`, owner...).wantError(t, 400, "invalid_request")
	ok(w.send("POST", "/v1/account/password", jsonType, `{"password":"violet mouse climbing"}`, owner...), 204)
	w.send("GET", "/v1/account", "", "", owner...).wantError(t, 401, "bad_credentials")
	owner[1] = basic(ada.name, "violet mouse climbing")
	ok(w.send("GET", "/v1/account", "", "", owner...), 200)

	// Deletion: all that led to it is dead.
	bearing := w.key(ada, "all", "run", "manage")
	acts := strings.Join(w.acts(ada), "\n")
	for _, act := range []string{"account_changed", "secret_set", "secret_removed", "webhook_secret_shown", "webhook_secret_rotated", "api_key_rotated", "password_changed"} {
		if !strings.Contains(acts, "password "+act) {
			t.Errorf("%s is not in the log:\n%s", act, acts)
		}
	}
	ok(w.send("DELETE", "/v1/account", "", "", owner...), 204)
	w.send("GET", "/v1/account", "", "", owner...).wantError(t, 401, "bad_credentials")
	w.send("GET", "/v1/account", "", "", bearer(bearing)...).wantError(t, 401, "bad_credentials")
	if r := w.form(ada, "EMIT 1", nil); r.status != 401 || deleted != 1 {
		t.Errorf("the key of a deleted account: %d, and %d deletions were told", r.status, deleted)
	}
	ok(w.send("GET", "/v1/account", "", "", "Authorization", basic(bob.name, bob.password)), 200)
}

// TestDomainsAreProved lists domains as their owner does: none counts before it is proved.
func TestDomainsAreProved(t *testing.T) {
	proofs := map[string]string{}
	w := boot(t, unlimitedCalls, settings{service: func(o *service.Options) {
		o.CheckDomain = func(_ context.Context, record, url, value string) (bool, error) {
			return proofs[record] == value || proofs[url] == value, nil
		}
	}})
	ada, bob := w.member("ada", account.Free), w.member("bob", account.Free)
	owner, other := []string{"Authorization", basic(ada.name, ada.password)}, []string{"Authorization", basic(bob.name, bob.password)}
	add := func(domain string, by []string) map[string]any {
		t.Helper()
		r := w.send("POST", "/v1/domains", jsonType, `{"domain":`+quote(domain)+`,"published_only":false}`, by...)
		if r.status != 201 {
			t.Fatalf("%d %s", r.status, r.body)
		}
		r.status = 200
		return readAny(t, r)
	}
	page := func(origin string) int {
		return w.send("POST", "/v1/query", jsonType, `{"query":"EMIT 1"}`, "Origin", origin).status
	}
	request := add("shop.example.com", owner)
	proof := request["proof"].(map[string]any)
	if request["proven"] != false || request["domain"] != listed || proof["txt_record"] != "_ql-domain.shop.example.com" || proof["file_url"] != "https://shop.example.com/.well-known/ql-domain" {
		t.Errorf("%v", request)
	}
	rival := add("shop.example.com", other)
	if rival["id"] != request["id"] || rival["proof"].(map[string]any)["value"] == proof["value"] {
		t.Errorf("the proof of another account is the same: %v", rival)
	}
	prove := "/v1/domains/" + request["id"].(string) + "/prove"
	w.send("POST", prove, "", "", owner...).wantError(t, 422, "domain_not_proven")
	if status := page(listed); status != 403 {
		t.Errorf("a page of a domain that is not proved: %d", status)
	}
	proofs["_ql-domain.shop.example.com"] = proof["value"].(string)
	if d := readAny(t, w.send("POST", prove, "", "", owner...)); d["proven"] != true || d["proof"] != nil {
		t.Errorf("%v", d)
	}
	if status := page(listed); status != 200 {
		t.Errorf("a page of a domain that is proved: %d", status)
	}
	readAny(t, w.send("POST", prove, "", "", owner...)) // again changes nothing
	// One domain is one account's, whoever proves it afterwards.
	proofs["https://shop.example.com/.well-known/ql-domain"] = rival["proof"].(map[string]any)["value"].(string)
	w.send("POST", prove, "", "", other...).wantError(t, 400, "invalid_request")

	// Of a wildcard the domain above answers.
	wild := add("*.example.net", owner)
	if p := wild["proof"].(map[string]any); p["txt_record"] != "_ql-domain.example.net" || p["file_url"] != "https://example.net/.well-known/ql-domain" {
		t.Errorf("%v", wild)
	}
	if list := readAny(t, w.send("GET", "/v1/domains", "", "", owner...))["domains"].([]any); len(list) != 2 || list[0].(map[string]any)["proven"] != true {
		t.Errorf("%v", list)
	}
	for _, domain := range []string{"", "localhost", "*.com", "https://a.example.com/path", "127.0.0.1"} {
		w.send("POST", "/v1/domains", jsonType, `{"domain":`+quote(domain)+`}`, owner...).wantError(t, 400, "invalid_request")
	}
	for i := range 8 {
		add(fmt.Sprintf("d%d.example.com", i), owner)
	}
	if e := w.send("POST", "/v1/domains", jsonType, `{"domain":"more.example.com"}`, owner...).wantError(t, 422, "limit_exceeded"); e.Error.Limit != "domains" {
		t.Errorf("%+v", e.Error)
	}
	if r := w.send("DELETE", "/v1/domains/"+request["id"].(string), "", "", owner...); r.status != 204 {
		t.Errorf("%d %s", r.status, r.body)
	}
	if status := page(listed); status != 403 {
		t.Errorf("a page of a domain that was removed: %d", status)
	}
	w.send("DELETE", "/v1/domains/"+request["id"].(string), "", "", owner...).wantError(t, 404, "not_found")
	w.send("POST", "/v1/domains/x/prove", "", "", owner...).wantError(t, 404, "not_found")
	acts := strings.Join(w.acts(ada), "\n")
	for _, act := range []string{"domain_requested https://shop.example.com", "domain_proven https://shop.example.com", "domain_removed https://shop.example.com"} {
		if !strings.Contains(acts, "password "+act) {
			t.Errorf("%s is not in the log:\n%s", act, acts)
		}
	}
}

// TestSiteDomainRoutes has a site served at a domain as its owner does.
func TestSiteDomainRoutes(t *testing.T) {
	record, unknown := "", false
	w := boot(t, unlimitedCalls, settings{service: func(o *service.Options) {
		o.CheckRecord = func(_ context.Context, name, value string) (bool, error) {
			if unknown {
				return false, domainproof.ErrUnknown
			}
			return name == "_ql.shop.example.com" && strings.Contains(record, value), nil
		}
	}})
	ada, bob := w.member("ada", account.Free), w.member("bob", account.Free)
	owner, other := []string{"Authorization", basic(ada.name, ada.password)}, []string{"Authorization", basic(bob.name, bob.password)}
	const all, one = "/v1/sites/main/domains", "/v1/sites/main/domains/shop.example.com"
	add := func(domain string, by []string) map[string]any {
		t.Helper()
		r := w.send("POST", all, jsonType, `{"domain":`+quote(domain)+`}`, by...)
		if r.status != 201 {
			t.Fatalf("%d %s", r.status, r.body)
		}
		r.status = 200
		return readAny(t, r)
	}
	adas, bobs := add("Shop.example.com.", owner), add("shop.example.com", other)
	if adas["domain"] != "shop.example.com" || adas["record"] != "_ql.shop.example.com" || adas["state"] != "requested" || adas["value"] == bobs["value"] || adas["proven_at"] != nil {
		t.Errorf("%v and %v", adas, bobs)
	}
	w.send("POST", one+"/prove", "", "", owner...).wantError(t, 422, "domain_not_proven")
	unknown = true
	w.send("POST", one+"/prove", "", "", owner...).wantError(t, 422, "domain_not_proven")
	unknown, record = false, adas["value"].(string)+bobs["value"].(string)
	if d := readAny(t, w.send("POST", one+"/prove", "", "", owner...)); d["state"] != "proven" || d["proven_at"] == nil || d["missing_since"] != nil {
		t.Errorf("%v", d)
	}
	w.send("POST", one+"/prove", "", "", other...).wantError(t, 400, "invalid_request")
	record = bobs["value"].(string)
	if e := w.send("POST", one+"/prove", "", "", other...).wantError(t, 400, "invalid_request"); !strings.Contains(e.Error.Message, "it is free at") {
		t.Errorf("%+v", e.Error)
	}
	list := readAny(t, w.send("GET", all, "", "", owner...))["domains"].([]any)
	if d := list[0].(map[string]any); len(list) != 1 || d["state"] != "missing" || d["missing_since"] == nil || d["value"] != adas["value"] {
		t.Errorf("%v", list)
	}
	for _, body := range []string{`{"domain":"com"}`, `{"domain":1}`, `{}`, `{"domain":"a.example.com","x":1}`} {
		w.send("POST", all, jsonType, body, owner...).wantError(t, 400, "invalid_request")
	}
	for i := range 9 {
		add(fmt.Sprintf("d%d.example.com", i), owner)
	}
	if e := w.send("POST", all, jsonType, `{"domain":"more.example.com"}`, owner...).wantError(t, 422, "limit_exceeded"); e.Error.Limit != "domains" {
		t.Errorf("%+v", e.Error)
	}
	if r := w.send("DELETE", one, "", "", owner...); r.status != 204 {
		t.Errorf("%d %s", r.status, r.body)
	}
	w.send("DELETE", one, "", "", owner...).wantError(t, 404, "not_found")
	w.send("POST", one+"/prove", "", "", owner...).wantError(t, 404, "not_found")
	if d := readAny(t, w.send("POST", one+"/prove", "", "", other...)); d["state"] != "proven" {
		t.Errorf("%v", d)
	}
	acts := strings.Join(w.acts(ada), "\n")
	for _, act := range []string{"site_domain_requested", "site_domain_proven", "site_domain_removed"} {
		if !strings.Contains(acts, "password "+act+" shop.example.com") {
			t.Errorf("%s is not in the log:\n%s", act, acts)
		}
	}
}

// TestProofsAreCounted asks for proofs again and again.
func TestProofsAreCounted(t *testing.T) {
	asked := 0
	w := boot(t, settings{service: func(o *service.Options) {
		o.CheckDomain = func(context.Context, string, string, string) (bool, error) { asked++; return false, nil }
		o.CheckRecord = func(context.Context, string, string) (bool, error) { asked++; return false, nil }
	}})
	ada := w.member("ada", account.Unlimited)
	d, err := w.accounts.RequestDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	_, err = w.accounts.RequestSiteDomain(t.Context(), "ada", "shop.example.com")
	check(t, err)
	ways := []string{"/v1/domains/" + d.ID, "/v1/sites/main/domains/shop.example.com"} // which count as one
	calls := 0
	prove := func() response {
		calls++
		return w.send("POST", ways[calls%2]+"/prove", "", "", "Authorization", basic(ada.name, ada.password))
	}
	for range 30 {
		prove()
	}
	if asked < 5 || asked > 12 {
		t.Errorf("of 30 calls %d asked the domain", asked)
	}
	untilRefused(t, prove).wantError(t, 429, "rate_limited")
}
