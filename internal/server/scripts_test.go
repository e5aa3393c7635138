package server_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/auth"
	"ql/internal/service"
)

// script is an answer about published scripts.
type script struct {
	Status    string          `json:"status"`
	Name      string          `json:"name"`
	Version   int64           `json:"version"`
	Callers   string          `json:"callers"`
	Methods   []string        `json:"methods"`
	Secrets   bool            `json:"secrets"`
	Hash      string          `json:"sha256"`
	Published time.Time       `json:"published_at"`
	Until     *time.Time      `json:"until"`
	Schema    json.RawMessage `json:"schema"`
	Text      *string         `json:"text"`
	Versions  []struct {
		Version int64      `json:"version"`
		Until   *time.Time `json:"until"`
	} `json:"versions"`
	Scripts []struct {
		Name    string `json:"name"`
		Version int64  `json:"version"`
		Callers string `json:"callers"`
	} `json:"scripts"`
	Next *string `json:"next"`
}

func (r response) script(t *testing.T, status int) (s script) {
	t.Helper()
	if r.status != status {
		t.Fatalf("%d, want %d: %s", r.status, status, r.body)
	}
	check(t, json.Unmarshal([]byte(r.body), &s))
	return s
}

func TestScriptRoutes(t *testing.T) {
	w := boot(t)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	owner := []string{"Authorization", basic(ada.name, ada.password)}
	put := func(name, body string, headers ...string) response {
		return w.send("PUT", "/v1/scripts/"+name, jsonType, body, append(headers, owner...)...)
	}
	get := func(path string) response { return w.send("GET", "/v1/scripts"+path, "", "", owner...) }

	const text = "INPUT FIELDS n INTEGER REQUIRED MIN 1, note TEXT\nEMIT !INPUT.n * 2"
	first := put("double", `{"text":`+quote(text)+`}`).script(t, 201)
	if first.Name != "double" || first.Version != 1 || first.Callers != "keys" || len(first.Methods) != 5 || first.Secrets || len(first.Hash) != 64 {
		t.Errorf("%+v", first)
	}
	again := put("double", `{"text":`+quote(strings.ReplaceAll(text, "\n", "\r\n")+"\r\n")+`,"callers":"anyone","methods":["GET","POST"],"secrets":true,"keep":60}`).script(t, 200)
	if again.Version != 1 || again.Callers != "anyone" || strings.Join(again.Methods, " ") != "GET POST" || !again.Secrets || again.Hash != first.Hash || !again.Published.Equal(first.Published) {
		t.Errorf("%+v", again)
	}
	got := get("/double").script(t, 200)
	if *got.Text != text+"\n" || len(got.Versions) != 1 || got.Until != nil || got.Callers != "anyone" {
		t.Errorf("%+v", got)
	}
	var schema struct {
		Type       string                    `json:"type"`
		Properties map[string]map[string]any `json:"properties"`
		Required   []string                  `json:"required"`
	}
	check(t, json.Unmarshal(got.Schema, &schema))
	if schema.Type != "object" || len(schema.Properties) != 2 || schema.Properties["n"]["type"] != "integer" || strings.Join(schema.Required, " ") != "n" || string(again.Schema) != string(got.Schema) {
		t.Errorf("the schema is %s", got.Schema)
	}

	second := put("double", `{"text":"EMIT 2","keep":60}`).script(t, 200)
	if second.Version != 2 || second.Callers != "keys" || string(second.Schema) != "null" {
		t.Errorf("what is left out stays as it was: %+v", second)
	}
	if got = get("/double").script(t, 200); *got.Text != "EMIT 2\n" || len(got.Versions) != 2 || got.Versions[1].Version != 1 || got.Versions[1].Until == nil || got.Versions[0].Until != nil {
		t.Errorf("%+v", got)
	}
	if got = get("/double@1").script(t, 200); *got.Text != text+"\n" || got.Until == nil || got.Callers != "keys" {
		t.Errorf("an earlier version is %+v", got)
	}

	put("a", `{"text":"EMIT 1"}`).script(t, 201)
	put("z", `{"text":"EMIT 1","callers":"domains"}`).script(t, 201)
	page := get("?limit=2").script(t, 200)
	if len(page.Scripts) != 2 || page.Scripts[0].Name != "a" || page.Scripts[1].Name != "double" || page.Next == nil || *page.Next != "double" {
		t.Errorf("%+v", page)
	}
	if page = get("?after="+*page.Next).script(t, 200); len(page.Scripts) != 1 || page.Scripts[0].Callers != "domains" || page.Next != nil {
		t.Errorf("%+v", page)
	}
	if others := w.send("GET", "/v1/scripts", "", "", "Authorization", basic(bob.name, bob.password)).script(t, 200); len(others.Scripts) != 0 {
		t.Errorf("another account has %+v", others)
	}

	if r := w.send("DELETE", "/v1/scripts/double", "", "", owner...); r.status != 204 || r.body != "" {
		t.Errorf("%d %s", r.status, r.body)
	}
	get("/double").wantError(t, 404, "script_not_found")
	get("/double@1").wantError(t, 404, "script_not_found")
	w.call(ada, "double", "").wantError(t, 404, "script_not_found")
	w.send("DELETE", "/v1/scripts/double", "", "", owner...).wantError(t, 404, "script_not_found")
}

func TestScriptsRefused(t *testing.T) {
	w := boot(t, limited(func(l *account.Limits) { l.Published, l.PublishedBytes, l.ScriptBytes = 2, 8<<10, 6000 }))
	ada := w.member("ada", account.Standard)
	put := func(name, body string) response {
		return w.send("PUT", "/v1/scripts/"+name, jsonType, body, "Authorization", basic(ada.name, ada.password))
	}
	for field, body := range map[string]string{
		"text":    `{"callers":"keys"}`,
		"callers": `{"text":"","callers":"everybody"}`,
		"methods": `{"text":"","methods":["get"]}`,
		"secrets": `{"text":"","secrets":1}`,
		"keep":    `{"text":"EMIT 1","keep":2592001}`,
		"public":  `{"text":"","public":true}`,
	} {
		if a := put("x", body).wantError(t, 400, "invalid_request"); a.Error.Field != field {
			t.Errorf("%s: %+v", body, a.Error)
		}
	}
	for _, text := range []string{"", " \n\t"} {
		if a := put("x", `{"text":`+quote(text)+`}`).wantError(t, 400, "invalid_request"); a.Error.Field != "text" {
			t.Errorf("%q: %+v", text, a.Error)
		}
	}
	for _, name := range []string{"x@1", "x@99", "x@x"} {
		a := w.send("DELETE", "/v1/scripts/"+name, "", "", "Authorization", basic(ada.name, ada.password)).wantError(t, 400, "invalid_request")
		if a.Error.Field != "name" || !strings.Contains(a.Error.Message, "keep of 0") {
			t.Errorf("%s: %+v", name, a.Error)
		}
	}
	for _, keep := range []string{"99999999999", "2592001", "-1"} {
		if a := put("x", `{"text":"EMIT 1","keep":`+keep+`}`).wantError(t, 400, "invalid_request"); !strings.Contains(a.Error.Message, "0 to 2592000") {
			t.Errorf("%s: %+v", keep, a.Error)
		}
	}
	if a := put("1x", `{"text":""}`).wantError(t, 400, "invalid_request"); a.Error.Field != "name" {
		t.Errorf("%+v", a.Error)
	}
	put("x@1", `{"text":""}`).wantError(t, 400, "invalid_request")

	// A script that does not compile is refused with all that is wrong.
	a := put("x", `{"text":"EMIT ?a +\nEMIT NO_SUCH(1)\nEND"}`).wantError(t, 422, "syntax_error")
	if len(a.Error.Details) < 2 || a.Error.Line != 1 {
		t.Errorf("%+v", a.Error)
	}
	put("x", `{"text":"INCLUDE \"/none.ql\""}`).wantError(t, 422, "syntax_error")
	put("x", `{"text":`+quote(strings.Repeat("x", 6001))+`}`).wantError(t, 413, "too_large")
	long := "EMIT 1 --" + strings.Repeat("x", 5000)
	put("x", `{"text":`+quote(long)+`}`).script(t, 201)
	if a := put("x", `{"text":`+quote(long+"y")+`}`).wantError(t, 422, "limit_exceeded"); a.Error.Limit != "published_bytes" || a.Error.Value != 8<<10 {
		t.Errorf("%+v", a.Error)
	}
	put("x", `{"text":`+quote(long+"y")+`,"keep":0}`).script(t, 200)
	put("y", `{"text":"EMIT 1"}`).script(t, 201)
	if a := put("z", `{"text":"EMIT 1"}`).wantError(t, 422, "limit_exceeded"); a.Error.Limit != "published" || a.Error.Value != 2 {
		t.Errorf("%+v", a.Error)
	}
}

// TestScriptKeys: a key runs, reads and publishes what its scopes say.
func TestScriptKeys(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	check(t, w.accounts.SetSecret(t.Context(), "ada", "key", "very secret"))
	for _, name := range []string{"greet", "other"} {
		w.publish(name, `EMIT LENGTH(!SECRET('key'))`, account.CallersKeys)
	}
	w.publish("open", `EMIT LENGTH(!SECRET('key'))`, account.CallersAnyone)
	one, run, manage, jobs := w.key(ada, "one", "run:greet"), w.key(ada, "run", "run"), w.key(ada, "manage", "manage"), w.key(ada, "jobs", "jobs")
	publisher, narrow := w.key(ada, "publisher", "run", "manage"), w.key(ada, "narrow", "run:new", "manage")
	call := func(key, name string) response { return w.call(member{}, name, "", bearer(key)...) }
	ran := func(r response) {
		t.Helper()
		if a := r.read(t); a.Status != "ok" || *a.Result != "11" {
			t.Errorf("%s", r.body)
		}
	}
	ran(call(one, "greet"))
	ran(call(one, "greet@1"))
	ran(call(run, "greet"))
	ran(call(run, "other"))
	call(run, "none").wantError(t, 404, "script_not_found")
	// A key is not told which scripts there are that it may not run.
	other := call(one, "other").wantError(t, 403, "scope_missing")
	none := call(one, "none").wantError(t, 403, "scope_missing")
	if strings.ReplaceAll(other.Error.Message, "other", "none") != none.Error.Message {
		t.Errorf("%q and %q", other.Error.Message, none.Error.Message)
	}
	call(manage, "greet").wantError(t, 403, "scope_missing")
	// What everybody may call, a key may too, by its address and with the rights of everybody.
	for _, key := range []string{one, jobs} {
		call(key, "open").wantError(t, 403, "scope_missing")
		w.send("GET", "/run/ada/open", "", "", bearer(key)...).wantError(t, 500, "not_available")
	}
	ran(call(run, "open"))

	get := func(key, name string) response { return w.send("GET", "/v1/scripts/"+name, "", "", bearer(key)...) }
	get(one, "greet").script(t, 200)
	get(one, "greet@1").script(t, 200)
	get(one, "other").wantError(t, 403, "scope_missing")
	get(one, "none").wantError(t, 403, "scope_missing")
	get(one, "a%20b").wantError(t, 403, "scope_missing")
	get(run, "other").script(t, 200)
	get(manage, "other").script(t, 200)
	put := func(key, body string) response {
		return w.send("PUT", "/v1/scripts/new", jsonType, body, bearer(key)...)
	}
	put(publisher, `{"text":"EMIT 1"}`).script(t, 201)
	put(publisher, `{"text":"EMIT 1","secrets":true}`).wantError(t, 403, "confirm_required")
	// A text that somebody else's key runs would read the secrets that its writer may not.
	for _, key := range []string{run, manage, narrow} {
		a := put(key, `{"text":"EMIT UPPER(!SECRET('key'))"}`).wantError(t, 403, "scope_missing")
		if !strings.Contains(a.Error.Message, "takes the scope run and manage") {
			t.Errorf("%s", a.Error.Message)
		}
	}
	if r := call(narrow, "new").read(t); r.Result == nil || *r.Result != "1" {
		t.Errorf("it runs %+v", r)
	}
}

// TestProgramInput: what does not fit is refused field by field before the first step, and
// counts as no run.
func TestProgramInput(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", true)
	check(t, err)
	const text = "INPUT FIELDS n INTEGER REQUIRED MIN 1, note TEXT DEFAULT 'none'\nWRITE 'x' TO '/ran.txt'\nEMIT !INPUT.n, ':', !INPUT.note"
	w.publish("x", text, account.CallersDomains)
	ran := func() bool {
		t.Helper()
		return *w.query(ada, `READ '/ran.txt' AS TEXT OPTIONAL SET ?t EMIT ?t DEFAULT ''`, "").read(t).Result == "x"
	}
	calls := map[string]func(more string) response{
		"by name":   func(more string) response { return w.call(ada, "x", more) },
		"as a page": func(more string) response { return w.call(member{}, "x", more, "Origin", listed) },
		"as a job":  func(more string) response { return w.call(ada, "x", strings.TrimPrefix(more+`,"mode":"async"`, ",")) },
		"by text":   func(more string) response { return w.query(ada, text, more) },
	}
	for what, call := range calls {
		for more, wrong := range map[string][]string{
			``: {"n"}, `"input":{}`: {"n"}, `"input":[]`: {"n"}, `"input":{"n":0}`: {"n"}, `"input":{"n":"a","note":1,"m":2}`: {"n", "m"},
		} {
			r := call(more)
			a := r.wantError(t, 422, "invalid_fields")
			if a.JobID != "" {
				t.Errorf("%s with %s: there is a job: %s", what, more, r.body)
			}
			for _, field := range wrong {
				if a.Error.Fields[field] == "" {
					t.Errorf("%s with %s: nothing is said of %s: %s", what, more, field, r.body)
				}
			}
		}
	}
	if ran() {
		t.Error("a script ran with an input that does not fit")
	}
	for what, call := range calls {
		r := call(`"input":{"n":"7"}`)
		if what == "as a job" {
			r = w.send("GET", "/v1/job/"+r.read(t).JobID+"?wait=10", "", "")
		}
		if a := r.read(t); a.Result == nil || *a.Result != "7:none" {
			t.Errorf("%s: %s", what, r.body)
		}
	}
	if !ran() {
		t.Error("nothing ran")
	}
	// By an owner's name as well.
	if _, err := w.visitor(service.Program{Owner: "ada", Name: "x"}, service.Caller{Page: listed, Source: auth.Source{Origin: auth.ReadOrigin([]string{listed})}}, nil); service.Refused(err).Status != 422 {
		t.Errorf("a visitor without input: %v", err)
	}
}
