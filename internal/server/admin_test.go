package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/audit"
)

// adminActs are all that administrators do.
var adminActs = []struct{ method, path, body string }{
	{"GET", "/v1/admin/accounts", ""},
	{"POST", "/v1/admin/accounts", `{}`},
	{"PATCH", "/v1/admin/accounts/bob", `{"plan":"free"}`},
	{"POST", "/v1/admin/accounts/bob/reset", ""},
	{"GET", "/v1/admin/invitations", ""},
	{"GET", "/v1/admin/plans", ""},
	{"GET", "/v1/admin/node", ""},
}

// TestAdministrators: administrators who have entered the password do it, and to all others there is
// nothing.
func TestAdministrators(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	check(t, w.accounts.SetFlag(t.Context(), "ada", "admin", true))
	send := func(i int, headers []string) response {
		kind := ""
		if adminActs[i].body != "" {
			kind = jsonType
		}
		return w.send(adminActs[i].method, adminActs[i].path, kind, adminActs[i].body, headers...)
	}
	browser, others := w.signIn(ada), w.signIn(bob)
	w.ahead.Add(int64(16 * time.Minute)) // the password counts no more
	for what, test := range map[string]struct {
		headers []string
		status  int
		code    string
	}{
		"basic":           {[]string{"Authorization", basic(ada.name, ada.password)}, 200, ""},
		"token":           {page(w.token(browser)), 403, "confirm_required"},
		"key":             {bearer(w.key(ada, "all", "run", "manage")), 403, "confirm_required"},
		"API key":         {[]string{"Authorization", basic(ada.name, ada.key)}, 401, "bad_credentials"},
		"nobody":          {nil, 401, "bad_credentials"},
		"another":         {[]string{"Authorization", basic(bob.name, bob.password)}, 404, "not_found"},
		"another's token": {page(w.token(others)), 404, "not_found"},
		"another's key":   {bearer(w.key(bob, "all", "run", "manage")), 404, "not_found"},
	} {
		for i, act := range adminActs {
			r := send(i, test.headers)
			if r.status != test.status || test.code != "" && r.read(t).Error.Code != test.code {
				t.Errorf("%s %s by %s: %d %s", act.method, act.path, what, r.status, r.body)
			}
		}
	}
	if r := w.send("POST", "/v1/session/confirm", jsonType, `{"password":`+quote(ada.password)+`}`, browser...); r.status != 204 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	admin := page(w.token(browser))
	for i, act := range adminActs {
		if r := send(i, admin); r.status != 200 {
			t.Errorf("%s %s: %d %s", act.method, act.path, r.status, r.body)
		}
	}

	r := w.send("GET", "/v1/admin/accounts?limit=1", "", "", admin...)
	if !strings.Contains(r.body, `"username":"ada"`) || !strings.Contains(r.body, `"next":"ada"`) {
		t.Errorf("%s", r.body)
	}
	if r := w.send("GET", "/v1/admin/accounts?after=ada", "", "", admin...); !strings.Contains(r.body, `"username":"bob"`) || strings.Contains(r.body, `"username":"ada"`) || strings.Contains(r.body, "argon2") {
		t.Errorf("%s", r.body)
	}
	change := func(name, body string) response {
		return w.send("PATCH", "/v1/admin/accounts/"+name, jsonType, body, admin...)
	}
	if r := change("bob", `{"plan":"standard","limits":{"rate":"9"},"disabled":true}`); r.status != 200 || !strings.Contains(r.body, `"limits":{"rate":"9"}`) || !strings.Contains(r.body, `"disabled":true`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	w.send("GET", "/v1/session", "", "", others...).wantError(t, 401, "bad_credentials")
	if r := change("bob", `{"limits":{"rate":null},"disabled":false}`); r.status != 200 || !strings.Contains(r.body, `"limits":{}`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	for body, name := range map[string]string{`{"plan":"golden"}`: "bob", `{"limits":{"speed":"1"}}`: "bob", `{"limits":{"rate":1}}`: "bob", `{}`: "bob", `{"admin":true}`: "bob", `{"disabled":true}`: "ada"} {
		change(name, body).wantError(t, 400, "invalid_request")
	}
	change("nobody", `{"plan":"free"}`).wantError(t, 404, "not_found")
	w.send("POST", "/v1/admin/accounts/nobody/reset", "", "", admin...).wantError(t, 404, "not_found")
	if r := w.send("POST", "/v1/admin/accounts", jsonType, `{"email":"eve@example.com"}`, admin...); !strings.Contains(r.body, `"url":"http://ql.example/app/welcome/`) {
		t.Errorf("%s", r.body)
	}
	// Both logs have it, with who did it.
	for _, id := range []account.ID{bob.ID, audit.Operator} {
		entries, err := w.store.Audit().Entries(t.Context(), id, 0, 100)
		check(t, err)
		acts := ""
		for _, e := range entries {
			if e.By == audit.ByOperator && e.Key == "ada" {
				acts += string(e.Act) + " "
			}
		}
		for _, act := range []audit.Act{audit.PlanChanged, audit.LimitChanged, audit.AccountChanged, audit.ResetLinked} {
			if !strings.Contains(acts, string(act)) {
				t.Errorf("the log of %d has %q and no %s", id, acts, act)
			}
		}
	}
}

// TestStrangersAtAdministration: whoever asks for what is not there for them is refused after a while, and
// administrators are not.
func TestStrangersAtAdministration(t *testing.T) {
	w := boot(t)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	check(t, w.accounts.SetFlag(t.Context(), "ada", "admin", true))
	statuses := map[int]int{}
	for range 40 {
		statuses[w.send("GET", "/v1/admin/node", "", "", "Authorization", basic(bob.name, bob.password)).status]++
	}
	if statuses[404] < 30 || statuses[429] == 0 || len(statuses) != 2 {
		t.Errorf("%v", statuses)
	}
	if r := w.send("GET", "/v1/admin/node", "", "", "Authorization", basic(ada.name, ada.password)); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// TestRevokedInvitations: what is out is listed, and what was revoked makes no account.
func TestRevokedInvitations(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	check(t, w.accounts.SetFlag(t.Context(), "ada", "admin", true))
	admin := []string{"Authorization", basic(ada.name, ada.password)}
	type invitation struct {
		ID        int64
		Plan      string
		Email, By *string
		Admin     bool
		ExpiresAt time.Time `json:"expires_at"`
	}
	list := func() []invitation {
		t.Helper()
		var l struct{ Invitations []invitation }
		check(t, json.Unmarshal([]byte(w.send("GET", "/v1/admin/invitations", "", "", admin...).body), &l))
		return l.Invitations
	}
	if r := w.send("GET", "/v1/admin/invitations", "", "", admin...); r.body != `{"status":"ok","invitations":[]}` {
		t.Errorf("%s", r.body)
	}
	invite := func(body string) (token string) {
		t.Helper()
		var made struct{ URL string }
		check(t, json.Unmarshal([]byte(w.send("POST", "/v1/admin/accounts", jsonType, body, admin...).body), &made))
		return `,"invite":` + quote(made.URL[strings.LastIndex(made.URL, "/")+1:])
	}
	used, revoked := invite(`{"plan":"standard"}`), invite(`{"email":"eve@example.com","admin":true}`)
	_, _, err := w.accounts.Invite(t.Context(), account.Invitation{Plan: account.Free})
	check(t, err)
	out := list()
	if len(out) != 3 || out[0].By != nil || out[0].Email != nil || *out[1].By != "ada" || *out[1].Email != "eve@example.com" || !out[1].Admin || out[1].Plan != "free" || out[2].Plan != "standard" || out[2].Admin || !out[2].ExpiresAt.After(time.Now().Add(6*24*time.Hour)) {
		t.Fatalf("%+v", out)
	}
	revoke := func(id string, by []string) response {
		return w.send("DELETE", "/v1/admin/invitations/"+id, "", "", by...)
	}
	revoke(fmt.Sprint(out[1].ID), []string{"Authorization", basic(bob.name, bob.password)}).wantError(t, 404, "not_found")
	if r := revoke(fmt.Sprint(out[1].ID), admin); r.status != 204 {
		t.Errorf("%d %s", r.status, r.body)
	}
	if a := w.newAccount("eve", revoked).wantError(t, 404, "not_found"); !strings.Contains(a.Error.Message, "the invitation was revoked: ask whoever sent it for another") {
		t.Errorf("%s", a.Error.Message)
	}
	if r := w.newAccount("grace", used); r.status != 201 {
		t.Errorf("%d %s", r.status, r.body)
	}
	for _, id := range []string{fmt.Sprint(out[1].ID), fmt.Sprint(out[2].ID), "0", "-1", "x", "01", "9223372036854775808"} {
		revoke(id, admin).wantError(t, 404, "not_found")
	}
	if now := list(); len(now) != 1 || now[0].ID != out[0].ID {
		t.Errorf("%+v are out", now)
	}
	entries, err := w.store.Audit().Entries(t.Context(), audit.Operator, 0, 100)
	check(t, err)
	logged := ""
	for _, e := range entries {
		if e.Act == audit.Invited || e.Act == audit.Uninvited {
			logged += string(e.Act) + " " + e.On + "; "
		}
	}
	for _, want := range []string{"uninvited free eve@example.com; ", "invited standard; "} {
		if !strings.Contains(logged, want) {
			t.Errorf("the log has %q and no %q", logged, want)
		}
	}
	// The time of what is out ends.
	w.ahead.Add(int64(8 * 24 * time.Hour))
	if now := list(); len(now) != 0 {
		t.Errorf("%+v are out", now)
	}
}
