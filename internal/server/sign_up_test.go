package server_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/service"
)

// newAccount asks for an account; more holds further fields.
func (w *world) newAccount(username, more string) response {
	w.t.Helper()
	return w.send("POST", "/v1/accounts", jsonType, `{"username":`+quote(username)+`,"password":`+quote(goodPassword)+more+`}`, dashboard...)
}

func TestInvitations(t *testing.T) {
	w := boot(t, unlimitedCalls, settings{accounts: func(o *account.Options) { o.Plans = account.Plans() }})
	invite := func(i account.Invitation) string {
		token, expires, err := w.accounts.Invite(t.Context(), i)
		check(t, err)
		if left := time.Until(expires); left < 6*24*time.Hour || left > 7*24*time.Hour {
			t.Errorf("it is good until %s", expires)
		}
		return `,"invite":` + quote(token.Reveal())
	}
	if a := w.newAccount("ada", "").wantError(t, 400, "invalid_request"); a.Error.Field != "invite" {
		t.Errorf("%+v", a.Error)
	}
	token := invite(account.Invitation{Plan: account.Standard, Email: "Ada@example.com"})
	for body, field := range map[string]string{
		`{"username":"ada","password":"short"` + token + `}`:                                  "password",
		`{"username":"a","password":` + quote(goodPassword) + token + `}`:                     "username",
		`{"username":"admin","password":` + quote(goodPassword) + token + `}`:                 "username",
		`{"username":"ada"` + token + `}`:                                                     "password",
		`{"username":"ada","password":` + quote(goodPassword) + `,"admin":true` + token + `}`: "admin",
	} {
		if a := w.send("POST", "/v1/accounts", jsonType, body, dashboard...).wantError(t, 400, "invalid_request"); !strings.HasSuffix(a.Error.Field, field) {
			t.Errorf("%s: %s", body, a.Error.Field)
		}
	}
	// What did not work has used nothing up. Of many that come at once, one account is made.
	statuses := make([]int, 6)
	var group sync.WaitGroup
	for i := range statuses {
		group.Go(func() {
			statuses[i] = w.newAccount(fmt.Sprint("ada", i), token+`,"email":"other@example.com"`).status
		})
	}
	group.Wait()
	made := ""
	for i, status := range statuses {
		switch {
		case status == 201 && made == "":
			made = fmt.Sprint("ada", i)
		case status != 404 && status != 400: // or the address was taken first
			t.Errorf("%v", statuses)
		}
	}
	a, err := w.accounts.Find(t.Context(), "ada@example.com") // which whoever invited knew to be theirs
	check(t, err)
	if a.Username != made || a.Plan != account.Standard || a.Admin || !a.EmailVerified {
		t.Errorf("%+v of %v", a, statuses)
	}
	w.signIn(member{name: made, password: goodPassword})
	w.newAccount("again", token).wantError(t, 404, "not_found")
	check(t, w.accounts.Delete(t.Context(), made))
	w.newAccount("again", token).wantError(t, 404, "not_found")

	for what, wrong := range map[string]string{"made up": strings.Repeat("A", 100), "no base64": "?", "long": strings.Repeat("A", 10_000), "a token of another kind": token[:40]} {
		if r := w.newAccount("eve", `,"invite":`+quote(wrong)); r.status != 404 {
			t.Errorf("%s: %d %s", what, r.status, r.body)
		}
	}
	_, _, err = w.accounts.Invite(t.Context(), account.Invitation{Plan: "golden"})
	if err == nil {
		t.Error("there is no such plan")
	}
	_, _, err = w.accounts.Invite(t.Context(), account.Invitation{Plan: account.Free, Email: "x"})
	if err == nil {
		t.Error("this is no address")
	}
}

// TestFirstAdministrator: the first account is an administrator, and a link for it counts as long as
// there is none.
func TestFirstAdministrator(t *testing.T) {
	w := boot(t, unlimitedCalls)
	one, err := w.accounts.InviteFirst()
	check(t, err)
	other, err := w.accounts.InviteFirst()
	check(t, err)
	statuses := map[int]int{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for i, token := range []string{one.Reveal(), other.Reveal(), one.Reveal(), other.Reveal()} {
		group.Go(func() {
			r := w.newAccount(fmt.Sprint("root", i, "x"), `,"invite":`+quote(token))
			mu.Lock()
			defer mu.Unlock()
			statuses[r.status]++
		})
	}
	group.Wait()
	list, err := w.accounts.List(t.Context(), "", 10)
	check(t, err)
	if statuses[201] != 1 || statuses[404] != 3 || len(list) != 2 {
		t.Errorf("%v, %d accounts", statuses, len(list))
	}
	for _, a := range list {
		if a.Admin != (a.Username != account.Development) {
			t.Errorf("%+v", a)
		}
	}
}

func TestOpenSignUp(t *testing.T) {
	w := boot(t, settings{service: func(o *service.Options) { o.OpenSignUp = true }})
	r := w.newAccount("ada", `,"email":"ada@example.com","phone":"+12025550143"`)
	if r.status != 201 || !strings.Contains(r.body, `"api_key":"qlk_`) {
		t.Fatalf("%d %s", r.status, r.body)
	}
	a, err := w.accounts.Find(t.Context(), "ada")
	check(t, err)
	if a.Plan != account.Free || a.Admin || a.EmailVerified || a.PhoneVerified || a.Email != "ada@example.com" {
		t.Errorf("%+v", a)
	}
	w.newAccount("ada", "").wantError(t, 400, "invalid_request")
	statuses := map[int]int{}
	for i := range 25 {
		statuses[w.send("POST", "/v1/accounts", jsonType, `{"username":"x`+fmt.Sprint(i)+`x","password":"short"}`, dashboard...).status]++
	}
	if statuses[429] == 0 {
		t.Errorf("%v", statuses)
	}
}

func TestResets(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	for _, name := range []string{"ada", "nobody"} {
		w.send("POST", "/v1/resets", jsonType, `{"username":`+quote(name)+`}`, dashboard...).wantError(t, 422, "not_available")
	}
	link := func() string {
		token, expires, err := w.accounts.InviteReset(t.Context(), "ada")
		check(t, err)
		if left := time.Until(expires); left < 59*time.Minute || left > time.Hour {
			t.Errorf("it is good until %s", expires)
		}
		return "/v1/resets/" + token.Reveal()
	}
	set := func(path, password string) response {
		return w.send("POST", path, jsonType, `{"password":`+quote(password)+`}`, dashboard...)
	}
	browser := w.signIn(ada)
	one, other := link(), link()
	set(one, "short").wantError(t, 400, "invalid_request")
	const fresh = "quite another sentence"
	if r := set(one, fresh); r.status != 204 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	w.send("GET", "/v1/session", "", "", browser...).wantError(t, 401, "bad_credentials")
	w.send("GET", "/v1/account", "", "", "Authorization", basic("ada", ada.password)).wantError(t, 401, "bad_credentials")
	if r := w.send("GET", "/v1/account", "", "", "Authorization", basic("ada", fresh)); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	for _, dead := range []string{one, other, "/v1/resets/x", one + "A"} {
		set(dead, goodPassword).wantError(t, 404, "not_found")
	}
	disabled := link()
	check(t, w.accounts.SetFlag(t.Context(), "ada", "disabled", true))
	set(disabled, goodPassword).wantError(t, 404, "not_found")
	if _, _, err := w.accounts.InviteReset(t.Context(), account.Development); err == nil {
		t.Error("the password of the development account is of the settings")
	}
	log := w.log.String()
	if strings.Contains(log, fresh) || strings.Contains(log, strings.TrimPrefix(one, "/v1/resets/")) {
		t.Error("a link or a password is in the log")
	}
}

// TestLinksEnd: after their time, links for accounts and passwords count no more.
func TestLinksEnd(t *testing.T) {
	w := boot(t, unlimitedCalls)
	w.member("ada", account.Standard)
	invitation, _, err := w.accounts.Invite(t.Context(), account.Invitation{Plan: account.Free})
	check(t, err)
	reset, _, err := w.accounts.InviteReset(t.Context(), "ada")
	check(t, err)
	w.ahead.Add(int64(time.Hour + time.Second))
	w.send("POST", "/v1/resets/"+reset.Reveal(), jsonType, `{"password":`+quote(goodPassword)+`}`, dashboard...).wantError(t, 404, "not_found")
	w.ahead.Add(int64(7 * 24 * time.Hour))
	w.newAccount("bob", `,"invite":`+quote(invitation.Reveal())).wantError(t, 404, "not_found")
}
