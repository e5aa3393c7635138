package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ql/internal/account"
)

// TestJobStack: an owner sees where a job stands that waits, with its variables; what the script has read as a secret is
// hidden in them, however large they are, and others see nothing.
func TestJobStack(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	if r := w.send("PUT", "/v1/secrets/token", jsonType, `{"value":"hush-hush \"now\""}`, "Authorization", basic(ada.name, ada.password)); r.status != 201 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	id := w.submit(ada, `DEFINE ask(?n, ?who)
  SET ?words AS SPLIT("a b", " ")
  CONFIRM "May {?who} have {?n}?" TO "ada"
  RETURN ?n
END
SET ?key AS !SECRET('token')
SET ?header AS {authorization: "Bearer {?key}", list: [?key, 1, TRUE, NULL]}
SET ?long AS REPEAT("x", 2040) + ?key
SET ?huge AS RANGE(1, 5000)
SET ?raw AS BYTES(?key)
EMIT ask(7, "<bob>")
SET ?later AS 1`)
	w.reach(id, "paused")
	stack := func(headers ...string) response {
		return w.send("GET", "/v1/jobs/"+w.ref(id)+"/stack", "", "", headers...)
	}
	r := stack("Authorization", basic(ada.name, ada.password))
	var shown struct {
		Frames []struct {
			Function, File *string
			Line           int
			Variables      []struct{ Name, Kind, Value string }
		}
		More bool
	}
	check(t, json.Unmarshal([]byte(r.body), &shown))
	if r.status != 200 || strings.Contains(strings.ToLower(r.body), "hush") || strings.Contains(r.body, `\"now`) || len(r.body) > 16<<10 {
		t.Fatalf("%d %d bytes: %s", r.status, len(r.body), r.body)
	}
	got := ""
	for _, f := range shown.Frames {
		if f.Function != nil {
			got += *f.Function
		}
		got += fmt.Sprintf(" at %d:\n", f.Line)
		for _, v := range f.Variables {
			if letters := []rune(v.Value); len(letters) > 80 {
				v.Value = string(letters[:4]) + " " + string(letters[len(letters)-5:])
			}
			got += fmt.Sprintf("  %s %s %s\n", v.Name, v.Kind, v.Value)
		}
	}
	want := `ask at 3:
  n number 7
  who text "<bob>"
  words list ["a", "b"]
 at 11:
  key text "•••"
  header map {"authorization": "Bearer •••", "list": ["•••", 1, true, null]}
  long text "xxx •••…"
  huge list [1,  1, …]
  raw bytes 15 bytes
  later null null
`
	if got != want || shown.More {
		t.Errorf("got %s\nwant %s", got, want)
	}
	// Who is signed in sees it without the password once more. Nobody else does, and no key.
	if r := stack(page(w.token(w.signIn(ada)))...); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	stack("Authorization", basic(bob.name, bob.password)).wantError(t, 404, "job_not_found")
	stack(bearer(w.key(ada, "all", "run", "answer", "jobs", "files", "databases", "manage"))...).wantError(t, 403, "confirm_required")
	stack("Authorization", basic(ada.name, ada.key)).wantError(t, 401, "bad_credentials")
	stack().wantError(t, 401, "bad_credentials")
	// To look changes nothing: it goes on as if nobody had.
	if r := w.confirm(id, `{"approved":true}`, "Authorization", basic(ada.name, ada.password)); r.status >= 300 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if a := w.ended(id); a.Result == nil || *a.Result != "7" {
		t.Errorf("%+v", a)
	}
	stack("Authorization", basic(ada.name, ada.password)).wantError(t, 409, "not_paused")
	// One that waits for a moment stands somewhere too.
	id = w.query(ada, "SET ?n AS 3\nWAIT 1 HOUR", "").read(t).JobID
	if r := stack("Authorization", basic(ada.name, ada.password)); !strings.Contains(r.body, `"frames":[{"function":null,"file":null,"line":2,"variables":[{"name":"n","kind":"number","value":"3"}]}],"more":false`) {
		t.Errorf("%d %s", r.status, r.body)
	}
}
