package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/auth"
	"ql/internal/principal"
	"ql/internal/server"
	"ql/internal/service"
)

// dashboard is what a browser says of a call of the dashboard's own page.
var dashboard = []string{"Origin", ownPage, "Sec-Fetch-Site", "same-origin"}

// session is what the routes of sign-ins answer.
type session struct {
	Username       string     `json:"username"`
	Admin          bool       `json:"admin"`
	Dev            bool       `json:"dev"`
	Token          string     `json:"token"`
	ExpiresAt      time.Time  `json:"expires_at"`
	ConfirmedUntil *time.Time `json:"confirmed_until"`
}

func (r response) session(t testing.TB) (s session) {
	t.Helper()
	if r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	check(t, json.Unmarshal([]byte(r.body), &s))
	return s
}

// signInCookie returns the Set-Cookie of an answer, "" for none.
func (r response) signInCookie() string {
	for _, text := range r.header.Values("Set-Cookie") {
		if strings.Contains(text, "qldash=") {
			return text
		}
	}
	return ""
}

// signIn signs somebody in, and returns the headers of a browser that has its cookie.
func (w *world) signIn(m member, headers ...string) []string {
	w.t.Helper()
	r := w.send("POST", "/v1/session", jsonType, `{"username":`+quote(m.name)+`,"password":`+quote(m.password)+`}`, append(headers, dashboard...)...)
	r.session(w.t)
	pair, _, _ := strings.Cut(r.signInCookie(), ";")
	return append([]string{"Cookie", pair}, dashboard...)
}

// token returns a token for a browser that is signed in.
func (w *world) token(browser []string) string {
	w.t.Helper()
	return w.send("POST", "/v1/session/token", "", "", browser...).session(w.t).Token
}

// page is what a page of the dashboard sends with a token.
func page(token string) []string { return append(bearer(token), dashboard...) }

func TestSignIn(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	check(t, w.accounts.SetFlag(t.Context(), "ada", "admin", true))
	began := time.Now()
	r := w.send("POST", "/v1/session", jsonType, `{"username":"Ada@example.com","password":`+quote(ada.password)+`}`, dashboard...)
	s := r.session(t)
	if s.Username != "ada" || !s.Admin || s.Dev || s.ExpiresAt.Before(began.Add(2*time.Hour)) || s.ExpiresAt.After(time.Now().Add(2*time.Hour)) || s.ConfirmedUntil == nil || s.ConfirmedUntil.Before(began.Add(15*time.Minute)) {
		t.Errorf("%s", r.body)
	}
	cookie := r.signInCookie()
	pair, attributes, _ := strings.Cut(cookie, "; ")
	name, secret, _ := strings.Cut(pair, "=")
	if name != "__Host-qldash" || len(secret) != 43 || attributes != "Path=/; HttpOnly; Secure; SameSite=Strict" || strings.Contains(r.body, secret) || r.header.Get("Cache-Control") != "no-store" {
		t.Errorf("the cookie is %s", cookie)
	}
	browser := append([]string{"Cookie", pair}, dashboard...)
	if s := w.send("GET", "/v1/session", "", "", browser...).session(t); s.Username != "ada" {
		t.Errorf("%+v", s)
	}
	// Who signs in again leaves nothing behind, and gets another secret.
	again := w.signIn(ada, "Cookie", pair)
	if again[1] == pair {
		t.Error("the secret is the same")
	}
	w.send("GET", "/v1/session", "", "", browser...).wantError(t, 401, "bad_credentials")
	token := w.token(again)
	if r := w.send("DELETE", "/v1/session", "", "", again...); r.status != 204 || r.signInCookie() != "__Host-qldash=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Strict" {
		t.Errorf("%d %s", r.status, r.signInCookie())
	}
	w.send("GET", "/v1/session", "", "", again...).wantError(t, 401, "bad_credentials")
	w.send("GET", "/v1/account", "", "", page(token)...).wantError(t, 401, "bad_credentials")
	w.send("POST", "/v1/session/token", "", "", again...).wantError(t, 401, "bad_credentials")

	for body, field := range map[string]string{
		`{"username":"ada"}`:                         "password",
		`{"password":"x"}`:                           "username",
		`{"username":1,"password":"x"}`:              "username",
		`{"username":"ada","password":"x","more":1}`: "more",
	} {
		if a := w.send("POST", "/v1/session", jsonType, body, dashboard...).wantError(t, 400, "invalid_request"); !strings.HasSuffix(a.Error.Field, field) {
			t.Errorf("%s: the field %s", body, a.Error.Field)
		}
	}
	good := `{"username":"ada","password":` + quote(ada.password) + `}`
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", ""} {
		w.send("POST", "/v1/session", kind, good, dashboard...).wantError(t, 415, "unsupported_media_type")
	}
	w.send("POST", "/v1/session?x=1", jsonType, good, dashboard...).wantError(t, 400, "invalid_request")
	w.send("POST", "/v1/session", jsonType, `{"username":"ada","password":`+quote(ada.key)+`}`, dashboard...).wantError(t, 401, "bad_credentials")
	for _, cookie := range []string{"__Host-qldash=", "__Host-qldash=x", "__Host-qldash=" + strings.Repeat("A", 43), "qldash=" + secret} {
		w.send("GET", "/v1/session", "", "", "Cookie", cookie).wantError(t, 401, "bad_credentials")
	}
	// The challenge of HTTP Basic would have a browser ask people by itself.
	if r := w.send("GET", "/v1/account", "", "", page("qlt_x")...); strings.Contains(strings.Join(r.header.Values("Www-Authenticate"), " "), "Basic") {
		t.Errorf("%v", r.header)
	}
}

// TestForgedSignIns: pages of other origins, of the same site or not, neither sign anybody in or out
// nor get a token, whatever cookie the browser adds.
func TestForgedSignIns(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	browser := w.signIn(ada)
	cookie := browser[:2]
	host := strings.TrimPrefix(w.url, "http://")
	for what, forged := range map[string][]string{
		"cross-site":                      {"Origin", unlisted, "Sec-Fetch-Site", "cross-site"},
		"a listed page":                   {"Origin", listed, "Sec-Fetch-Site", "cross-site"},
		"a site of the service":           {"Origin", "http://ada.localhost:8081", "Sec-Fetch-Site", "same-site"},
		"another port":                    {"Origin", "http://127.0.0.1:3000", "Sec-Fetch-Site", "same-site"},
		"an old browser":                  {"Origin", unlisted},
		"nowhere":                         {"Origin", "null"},
		"its Origin without the rest":     {"Origin", "http://evil." + host},
		"the own Origin, from elsewhere":  {"Origin", ownPage, "Sec-Fetch-Site", "cross-site"},
		"no Origin, and yet another site": {"Sec-Fetch-Site", "same-site"},
	} {
		headers := append(append([]string{}, cookie...), forged...)
		for _, path := range []string{"/v1/session", "/v1/session/token", "/v1/session/confirm", "/v1/session/dev"} {
			r := w.send("POST", path, jsonType, `{"username":"ada","password":`+quote(ada.password)+`}`, headers...)
			if a := r.wantError(t, 403, "origin_not_allowed"); r.header.Get("Set-Cookie") != "" || r.header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s, %s: %+v %v", path, what, a, r.header)
			}
		}
		w.send("DELETE", "/v1/session", "", "", headers...).wantError(t, 403, "origin_not_allowed")
	}
	w.send("GET", "/v1/session", "", "", append(append([]string{}, cookie...), "Sec-Fetch-Site", "same-site")...).wantError(t, 403, "origin_not_allowed")
	// No page asks for leave to call them.
	r := w.send("OPTIONS", "/v1/session", "", "", "Origin", listed, "Access-Control-Request-Method", "POST")
	if r.status != 405 || r.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%d %v", r.status, r.header)
	}
	w.send("GET", "/v1/session", "", "", browser...).session(t)
	// The cookie alone opens nothing else.
	for _, route := range w.handler.Routes() {
		if route.Public || route.Method == server.AnyMethod || strings.HasPrefix(route.Path, "/v1/session") || route.Accepts.Has(principal.ByNobody) {
			continue
		}
		path := strings.NewReplacer("{name}", "own", "{id}", "1", "{path}", "a.txt", "{token}", "x", "{ref}", "1", "{domain}", "a.example").Replace(route.Path)
		body, kind := "", ""
		if route.Method != http.MethodGet && route.Method != http.MethodDelete {
			kind, body = jsonType, "{}"
		}
		if r := w.send(route.Method, path, kind, body, browser...); r.status != 401 && r.status != 400 && r.status != 415 && r.status != 403 {
			t.Errorf("%s %s: %d %s", route.Method, path, r.status, r.body)
		}
	}
}

// TestTokens calls with tokens as pages of the dashboard do, and as others might.
func TestTokens(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	browser := w.signIn(ada)
	r := w.send("POST", "/v1/session/token", "", "", browser...)
	s := r.session(t)
	if s.Username != "ada" || !strings.HasPrefix(s.Token, "qlt_") || s.ExpiresAt.After(time.Now().Add(15*time.Minute)) || s.ExpiresAt.Before(time.Now().Add(14*time.Minute)) {
		t.Errorf("%s", r.body)
	}
	token := s.Token
	query := func(auth string, headers ...string) response {
		return w.send("POST", "/v1/query", jsonType, `{`+auth+`"query":"EMIT 6 * 7"}`, headers...)
	}
	inBody := `"auth":{"username":"ada","token":` + quote(token) + `},`
	for _, test := range []struct {
		what    string
		headers []string
		change  int // the status of what changes something, and of what reads
		read    int
	}{
		{"the dashboard", dashboard, 200, 200},
		{"by another name of the machine", []string{"Origin", "http://127.0.0.1:8080", "Sec-Fetch-Site", "same-origin"}, 200, 200},
		{"an old browser", []string{"Origin", ownPage}, 200, 200},
		{"without an Origin, which browsers leave out where nothing changes", []string{"Sec-Fetch-Site", "same-origin"}, 401, 200},
		{"a program", nil, 401, 401},
		{"typed by a person", []string{"Sec-Fetch-Site", "none"}, 401, 401},
		{"another site", []string{"Sec-Fetch-Site", "cross-site"}, 401, 401},
		{"a listed page", []string{"Origin", listed, "Sec-Fetch-Site", "cross-site"}, 403, 403},
		{"an unlisted page", []string{"Origin", unlisted}, 403, 403},
		{"another port", []string{"Origin", "http://localhost:8081", "Sec-Fetch-Site", "same-site"}, 403, 403},
		{"by https", []string{"Origin", "https://localhost:8080"}, 403, 403},
		{"a site", []string{"Origin", "http://ada.localhost:8080"}, 403, 403},
		{"nowhere", []string{"Origin", "null"}, 403, 403},
	} {
		for _, r := range []response{query(inBody, test.headers...), query("", append(bearer(token), test.headers...)...)} {
			if r.status != test.change || r.status == 200 && *r.read(t).Result != "42" {
				t.Errorf("%s: a query is %d %s", test.what, r.status, r.body)
			}
		}
		if r := w.send("GET", "/v1/account", "", "", append(bearer(token), test.headers...)...); r.status != test.read {
			t.Errorf("%s: the account is %d %s", test.what, r.status, r.body)
		}
	}
	// By whatever name leads to the account, and to no other.
	for name, status := range map[string]int{"ada": 200, "ADA@example.com": 200, "bob": 401, "": 401, "dev": 401} {
		if r := query(`"auth":{"username":`+quote(name)+`,"token":`+quote(token)+`},`, dashboard...); r.status != status {
			t.Errorf("%q: %d %s", name, r.status, r.body)
		}
	}
	query(`"auth":{"username":"ada","password":"wrong one, this","token":`+quote(token)+`},`, dashboard...).wantError(t, 401, "bad_credentials")
	query(`"auth":{"username":"ada"},`, dashboard...).wantError(t, 400, "invalid_request")
	query(inBody, page(token)...).wantError(t, 400, "invalid_request")
	for _, wrong := range []string{token[:len(token)-2], token + "A", "qlt_", "qlt_" + strings.Repeat("A", 98), strings.ToUpper(token[:40]) + token[40:], strings.TrimPrefix(browser[1], "__Host-qldash=")} {
		w.send("GET", "/v1/account", "", "", page(wrong)...).wantError(t, 401, "bad_credentials")
	}
	// It is neither a password nor a key, and Basic is none of it.
	w.send("GET", "/v1/account", "", "", "Authorization", basic("ada", token)).wantError(t, 401, "bad_credentials")
	w.query(member{name: "ada", password: token}, "EMIT 1", "").wantError(t, 401, "bad_credentials")

	// It acts as the owner: on a job, whatever the account lists.
	job := w.query(ada, `CONFIRM "Sure?"`, "").read(t).JobID
	check(t, w.accounts.SetFlag(t.Context(), "ada", "require_auth_on_jobs", true))
	if r := w.send("GET", "/v1/job/"+job, "", "", page(token)...); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := w.send("POST", "/v1/confirm/"+job, jsonType, `{"approved":true}`, page(token)...); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	w.send("GET", "/v1/job/"+w.query(bob, `EMIT 1`, "").read(t).JobID, "", "", page(token)...).wantError(t, 404, "job_not_found")
	check(t, w.accounts.SetSecret(t.Context(), "ada", "token", "s3cret"))
	if r := w.send("POST", "/v1/query", jsonType, `{"query":"EMIT !SECRET('token')"}`, page(token)...); *r.read(t).Result != "s3cret" {
		t.Errorf("%s", r.body)
	}
}

// TestSignInsEnd moves the clock, and changes accounts: what ends a sign-in ends its tokens.
func TestSignInsEnd(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	signedIn := func(browser []string) int { return w.send("GET", "/v1/session", "", "", browser...).status }
	takes := func(token string) int { return w.send("GET", "/v1/account", "", "", page(token)...).status }
	forward := func(d time.Duration) { w.ahead.Add(int64(d)) }

	browser := w.signIn(ada)
	token := w.token(browser)
	forward(14 * time.Minute)
	renewed := w.token(browser)
	if takes(token) != 200 {
		t.Error("a token is over before its time")
	}
	forward(time.Minute + time.Second)
	if a := w.send("GET", "/v1/account", "", "", page(token)...).wantError(t, 401, "bad_credentials"); !strings.Contains(a.Error.Message, "expired") {
		t.Errorf("%s", a.Error.Message)
	}
	if takes(renewed) != 200 || signedIn(browser) != 200 {
		t.Error("the renewed token, or the sign-in, is over")
	}
	forward(2*time.Hour - time.Minute) // the use is stored to the minute
	if signedIn(browser) != 200 {
		t.Error("it was over before two hours without a use")
	}
	forward(2*time.Hour + time.Minute)
	if signedIn(browser) != 401 {
		t.Error("it was used for two hours by nobody")
	}

	// However often it is used, it is over after a day, and so is a token of its last minute.
	browser = w.signIn(ada)
	for range 23 {
		forward(time.Hour)
		if signedIn(browser) != 200 {
			t.Fatal("a sign-in that is used is over")
		}
	}
	forward(59 * time.Minute)
	token = w.token(browser)
	if takes(token) != 200 {
		t.Error("the token of the last minute")
	}
	forward(time.Minute + time.Second)
	if signedIn(browser) != 401 || takes(token) != 401 {
		t.Error("it lives after a day")
	}

	for what, end := range map[string]func(){
		"a changed password": func() { check(t, w.accounts.SetPassword(t.Context(), "ada", goodPassword)) },
		"a disabled account": func() {
			check(t, w.accounts.SetFlag(t.Context(), "ada", "disabled", true))
			if status := w.send("POST", "/v1/session", jsonType, `{"username":"ada","password":`+quote(goodPassword)+`}`, dashboard...).status; status != 401 {
				t.Errorf("a disabled account is signed in to: %d", status)
			}
			check(t, w.accounts.SetFlag(t.Context(), "ada", "disabled", false)) // which brings nobody back
		},
	} {
		browser := w.signIn(ada)
		token := w.token(browser)
		if _, _, err := w.accounts.RotateKey(t.Context(), "ada"); err != nil || takes(token) != 200 {
			t.Errorf("a rotated key ended a sign-in: %v", err)
		}
		end()
		if signedIn(browser) != 401 || takes(token) != 401 {
			t.Errorf("%s leaves a sign-in", what)
		}
	}
	browser = w.signIn(ada)
	token = w.token(browser)
	check(t, w.accounts.Delete(t.Context(), "ada"))
	if signedIn(browser) != 401 || takes(token) != 401 {
		t.Error("a deleted account leaves a sign-in")
	}
}

// guardedActs are those that ask for the password, as a page of the dashboard sends them, and what
// is answered where it was entered.
var guardedActs = []struct {
	route, path, body string
	want              int
}{
	{"GET /v1/account/key", "/v1/account/key", "", 200},
	{"POST /v1/account/key", "/v1/account/key", "", 200},
	{"PATCH /v1/account", "/v1/account", `{"phone":"+12025550143"}`, 200},
	{"POST /v1/keys", "/v1/keys", `{"name":"new","scopes":["run"]}`, 201},
	{"DELETE /v1/keys/{name}", "/v1/keys/new", "", 204},
	{"GET /v1/account/webhook-secret", "/v1/account/webhook-secret", "", 200},
	{"POST /v1/account/webhook-secret", "/v1/account/webhook-secret", "", 200},
	{"POST /v1/domains", "/v1/domains", `{"domain":"claimed.example.com"}`, 201},
	{"DELETE /v1/domains/{id}", "/v1/domains/1", "", 404},
	{"POST /v1/domains/{id}/prove", "/v1/domains/1/prove", "", 404},
	{"POST /v1/sites/main/domains", "/v1/sites/main/domains", `{"domain":"claimed.example.com"}`, 201},
	{"DELETE /v1/sites/main/domains/{domain}", "/v1/sites/main/domains/other.example.com", "", 404},
	{"POST /v1/sites/main/domains/{domain}/prove", "/v1/sites/main/domains/other.example.com/prove", "", 404},
	{"PUT /v1/secrets/{name}", "/v1/secrets/token", `{"value":"x"}`, 201},
	{"DELETE /v1/secrets/{name}", "/v1/secrets/token", "", 204},
	{"PUT /v1/machines/{name}", "/v1/machines/calc", `{"kind":"wasm","module":"/calc.wasm"}`, 201},
	{"POST /v1/machines/{name}/test", "/v1/machines/none/test", "", 404},
	{"DELETE /v1/machines/{name}", "/v1/machines/calc", "", 204},
	{"POST /v1/account/password", "/v1/account/password", `{"password":` + quote(goodPassword) + `}`, 204},
	{"DELETE /v1/account", "/v1/account", "", 204},
}

// TestGuardedActs does what asks for the password with every kind of credential. A route that asks
// for it and has no row here fails.
func TestGuardedActs(t *testing.T) {
	w := boot(t, unlimitedCalls)
	rows := map[string]bool{}
	for _, act := range guardedActs {
		rows[act.route] = true
	}
	for _, route := range w.handler.Routes() {
		name := route.Method + " " + route.Path
		if strings.HasPrefix(route.Path, "/v1/admin/") { // see TestAdministrators
			continue
		}
		if route.Path == "/v1/jobs/{ref}/stack" { // which no key shows, and who is signed in sees: TestJobStack
			continue
		}
		isGuarded := route.Accepts.Has(principal.ByToken) && !route.Accepts.Has(principal.ByNamedKey)
		if isGuarded != rows[name] {
			t.Errorf("%s asks for the password: %t, and has a row: %t", name, isGuarded, rows[name])
		}
	}
	send := func(path string, act int, headers []string) response {
		method, _, _ := strings.Cut(guardedActs[act].route, " ")
		kind := ""
		if guardedActs[act].body != "" {
			kind = jsonType
		}
		return w.send(method, path, kind, guardedActs[act].body, headers...)
	}
	for _, test := range []string{"key", "token", "confirmed token", "wrong password", "basic"} {
		m := w.member(strings.ReplaceAll(test, " ", "-"), account.Standard)
		named := w.key(m, "all", "run", "answer", "jobs", "files", "databases", "manage")
		browser := w.signIn(m)
		w.ahead.Add(int64(16 * time.Minute)) // the password of the sign-in counts no more
		if s := w.send("GET", "/v1/session", "", "", browser...).session(t); s.ConfirmedUntil != nil {
			t.Errorf("%s: %+v", test, s)
		}
		headers := page(w.token(browser))
		switch test {
		case "key":
			headers = bearer(named)
		case "basic":
			headers = []string{"Authorization", basic(m.name, m.password)}
		case "wrong password":
			w.send("POST", "/v1/session/confirm", jsonType, `{"password":"another long sentence"}`, browser...).wantError(t, 403, "confirm_required")
		case "confirmed token":
			if r := w.send("POST", "/v1/session/confirm", jsonType, `{"password":`+quote(m.password)+`}`, browser...); r.status != 204 {
				t.Fatalf("%d %s", r.status, r.body)
			}
			if s := w.send("GET", "/v1/session", "", "", browser...).session(t); s.ConfirmedUntil == nil {
				t.Errorf("%+v", s)
			}
		}
		for i, act := range guardedActs {
			r := send(act.path, i, headers)
			if test != "basic" && test != "confirmed token" {
				r.wantError(t, 403, "confirm_required")
				continue
			}
			if r.status != act.want {
				t.Errorf("%s with %s: %d, want %d: %s", act.route, test, r.status, act.want, r.body)
			}
			if act.route == "POST /v1/account/password" && test == "confirmed token" {
				// It ended the sign-in that did it.
				w.send("GET", "/v1/session", "", "", browser...).wantError(t, 401, "bad_credentials")
				headers = page(w.token(w.signIn(m)))
			}
		}
	}
	// It counts for a quarter of an hour.
	eve := w.member("eve", account.Standard)
	browser := w.signIn(eve)
	w.ahead.Add(int64(14 * time.Minute))
	if r := w.send("GET", "/v1/account/key", "", "", page(w.token(browser))...); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	w.ahead.Add(int64(time.Minute + time.Second))
	w.send("GET", "/v1/account/key", "", "", page(w.token(browser))...).wantError(t, 403, "confirm_required")
}

// TestDeveloperSignsIn signs in without a password, where that is allowed and nowhere else.
func TestDeveloperSignsIn(t *testing.T) {
	w := boot(t, settings{
		service: func(o *service.Options) { o.SignsInDevelopers = true },
		http:    func(o *server.Options) { o.PlainCookies = true },
		auth:    func(o *auth.Options) { o.Unthrottled = true },
	})
	r := w.send("POST", "/v1/session/dev", "", "", dashboard...)
	cookie := r.signInCookie()
	if s := r.session(t); !s.Dev || s.Username != account.Development || !strings.HasPrefix(cookie, "qldash=") || !strings.HasSuffix(cookie, "; Path=/; HttpOnly; SameSite=Strict") {
		t.Errorf("%s %s", cookie, r.body)
	}
	pair, _, _ := strings.Cut(cookie, ";")
	browser := append([]string{"Cookie", pair}, dashboard...)
	token := w.token(browser)
	for _, name := range []string{"dev", account.Development} {
		if r := w.send("POST", "/v1/query", jsonType, `{"auth":{"username":`+quote(name)+`,"token":`+quote(token)+`},"query":"EMIT 1"}`, dashboard...); r.status != 200 {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	w.send("POST", "/v1/session/confirm", jsonType, `{"password":"no"}`, browser...).wantError(t, 403, "confirm_required")
	if r := w.send("POST", "/v1/session/confirm", jsonType, `{"password":"dev"}`, browser...); r.status != 204 {
		t.Errorf("%d %s", r.status, r.body)
	}
	for what, headers := range map[string][]string{
		"a program":           nil,
		"a page of elsewhere": {"Origin", unlisted, "Sec-Fetch-Site", "cross-site"},
		"another port":        {"Origin", "http://localhost:3000", "Sec-Fetch-Site", "same-site"},
		"an old browser":      {"Origin", ownPage},
		"without an Origin":   {"Sec-Fetch-Site", "same-origin"},
		"a person":            {"Sec-Fetch-Site", "none"},
		"through a proxy":     append([]string{"X-Forwarded-For", "192.0.2.7"}, dashboard...),
		"through a tunnel":    {"Origin", "https://abc.tunnel.example", "Sec-Fetch-Site", "same-origin"},
	} {
		if r := w.send("POST", "/v1/session/dev", "", "", headers...); r.status != 403 || r.signInCookie() != "" {
			t.Errorf("%s: %d %s", what, r.status, r.body)
		}
	}
}

// TestDeveloperSignsInByLink: where others reach a service in development, its link signs one browser in, from
// any machine, and a page of the dashboard alone uses it.
func TestDeveloperSignsInByLink(t *testing.T) {
	w := boot(t, settings{
		service: func(o *service.Options) { o.SignsInByLink = true },
		http:    func(o *server.Options) { o.PlainCookies = true },
		auth:    func(o *auth.Options) { o.Unthrottled = true },
	})
	token := w.signIns.NewLink().Reveal()
	send := func(body string, headers ...string) response {
		return w.send("POST", "/v1/session/dev", jsonType, body, headers...)
	}
	for body, headers := range map[string][]string{
		"a program":           nil,
		"a page of elsewhere": {"Origin", unlisted, "Sec-Fetch-Site", "cross-site"},
		"another port":        {"Origin", "http://localhost:3000", "Sec-Fetch-Site", "same-site"},
		"without an Origin":   {"Sec-Fetch-Site", "same-origin"},
	} {
		if r := send(`{"token":`+quote(token)+`}`, headers...); r.status != 403 || r.signInCookie() != "" {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
	}
	for _, body := range []string{`{}`, `{"token":null}`, `{"token":1}`, `{"password":"dev"}`} {
		send(body, dashboard...).wantError(t, 400, "invalid_request")
	}
	send(`{"token":"`+strings.Repeat("A", 43)+`"}`, dashboard...).wantError(t, 404, "not_found")
	r := send(`{"token":`+quote(token)+`}`, dashboard...)
	if s := r.session(t); !s.Dev || s.Username != account.Development || !strings.HasPrefix(r.signInCookie(), "qldash=") {
		t.Errorf("%s %s", r.signInCookie(), r.body)
	}
	if a := send(`{"token":`+quote(token)+`}`, dashboard...).wantError(t, 404, "not_found"); !strings.Contains(a.Error.Message, "it was used") {
		t.Errorf("%s", a.Error.Message)
	}
}

// TestSignInsByHTTP: over a network that others can read, nobody signs in.
func TestSignInsByHTTP(t *testing.T) {
	w := boot(t, settings{http: func(o *server.Options) { o.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }})
	ada := w.member("ada", account.Standard)
	body := `{"username":"ada","password":` + quote(ada.password) + `}`
	from := []string{"X-Forwarded-For", "192.0.2.7"}
	w.send("POST", "/v1/session", jsonType, body, from...).wantError(t, 403, "origin_not_allowed")
	if r := w.send("POST", "/v1/session", jsonType, body, append(from, "X-Forwarded-Proto", "https")...); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// TestManySignIns: who signs in again and again, with the right password or a wrong one, is slowed
// down, and leaves no more rows than an account may have.
func TestManySignIns(t *testing.T) {
	times, kept := 120, 50
	if os.Getenv("QL_PROMISES") != "" {
		times = 5000
	}
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	var browsers [][]string
	for range times {
		browsers = append(browsers, w.signIn(ada))
	}
	alive := 0
	for _, browser := range browsers[times-100:] {
		if w.send("GET", "/v1/session", "", "", browser...).status == 200 {
			alive++
		}
	}
	if alive != kept || w.send("GET", "/v1/session", "", "", browsers[times-1]...).status != 200 {
		t.Errorf("%d sign-ins are left, want %d", alive, kept)
	}

	w = boot(t)
	w.member("bob", account.Standard)
	sign := func(password string) response {
		return w.send("POST", "/v1/session", jsonType, `{"username":"bob","password":`+quote(password)+`}`, dashboard...)
	}
	count := map[int]int{}
	for i := range 20 {
		count[sign(fmt.Sprint("wrong sentence ", i)).status]++
	}
	if count[401] != 10 || count[429] != 10 {
		t.Errorf("wrong passwords: %v", count)
	}
	// Cookies that nobody has are counted too; who is signed in is not kept out by them.
	w = boot(t)
	known := w.signIn(w.member("bob", account.Standard))
	name, _, _ := strings.Cut(known[1], "=")
	unknown := append([]string{"Cookie", name + "=" + strings.Repeat("x", 43)}, dashboard...)
	clear(count)
	for range 200 {
		count[w.send("GET", "/v1/session", "", "", unknown...).status]++
	}
	if count[401] == 0 || count[429] == 0 || count[401]+count[429] != 200 || w.send("GET", "/v1/session", "", "", known...).status != 200 {
		t.Errorf("wrong cookies: %v", count)
	}
	w = boot(t, settings{auth: func(o *auth.Options) { o.Unthrottled = true }})
	w.member("bob", account.Standard)
	clear(count)
	for range 40 {
		count[sign(goodPassword).status]++
	}
	if count[200] < 30 || count[429] < 5 {
		t.Errorf("right passwords: %v", count)
	}
}
