package server_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/audit"
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
