package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/service"
)

// look asks about a script of somebody's editor.
func (w *world) look(m member, what, body string) response {
	w.t.Helper()
	return w.send("POST", "/v1/"+what, jsonType, body, "Authorization", basic(m.name, m.password))
}

// edited is the body of a request; the place is where the script has a |.
func edited(script string) string {
	text, _, placed := strings.Cut(script, "|")
	if !placed {
		return `{"text":` + quote(script) + `}`
	}
	line := strings.Count(text, "\n")
	column := len([]rune(text[strings.LastIndexByte(text, '\n')+1:]))
	return fmt.Sprintf(`{"text":%s,"line":%d,"column":%d}`, quote(strings.Replace(script, "|", "", 1)), line+1, column+1)
}

func TestEditorRoutes(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	w.query(ada, `CREATE TABLE people (name TEXT, born INTEGER);`, "")
	w.send("PUT", "/v1/files/lib/tax.ql", "", "DEFINE tax(?n) RETURN ?n END", "Authorization", basic(ada.name, ada.password))
	w.publish("greet", "EMIT 1", account.CallersKeys)

	labels := func(m member, script string) (all []string) {
		t.Helper()
		r := w.look(m, "complete", edited(script))
		var a struct {
			Completions []struct{ Label string }
		}
		check(t, json.Unmarshal([]byte(r.body), &a))
		if r.status != 200 {
			t.Fatalf("%s: %d %s", script, r.status, r.body)
		}
		for _, c := range a.Completions {
			all = append(all, c.Label)
		}
		return all
	}
	for script, want := range map[string]string{
		"|":                                    "EMIT",
		`EMIT "😀", up|`:                        "UPPER",
		"SELECT | FROM people SET ?rows":       "born",
		"SELECT * FROM |":                      "people",
		`READ "/lib/t|" SET ?x`:                "/lib/tax.ql",
		"INCLUDE \"/lib/tax.ql\"\nEMIT ta|":    "tax",
		"SET ?total AS 1\nEMIT ?t|":            "?total",
		"SELECT * FROM people p WHERE p.| = 1": "name",
	} {
		if got := labels(ada, script); !slices.Contains(got, want) {
			t.Errorf("%s: no %s among %q", script, want, got)
		}
	}
	// Another account sees nothing of hers.
	if got := labels(bob, "SELECT * FROM |"); slices.Contains(got, "people") {
		t.Errorf("bob is offered %q", got)
	}

	const none = `{"names":[],"any":false}`
	for script, want := range map[string]string{
		"EMIT 1":                               `{"status":"ok","mistakes":[],"more":false,"effects":{"databases":` + none + `,"reads":` + none + `,"writes":` + none + `,"hosts":` + none + `,"machines":` + none + `,"secrets":` + none + `,"mails":` + none + `,"scripts":` + none + `,"people":false,"waits":false,"signals":false,"sessions":false,"shares":false}}`,
		"INCLUDE \"/lib/tax.ql\"\nEMIT tax(1)": `"mistakes":[]`,
		"SET ?name AS 1 EMIT \"😀\", ?nmae":     `"code":"unknown_variable"`,
		"EMIT ?x":                              `"line":1,"column":6,"end_line":1,"end_column":8`,
		`CONFIRM "Sure?" READ "/a.txt" SET ?a`: `"reads":{"names":["/a.txt"],"any":false}`,
	} {
		if r := w.look(ada, "check", edited(script)); r.status != 200 || !strings.Contains(r.body, want) {
			t.Errorf("%s: %d %s, want %s", script, r.status, r.body, want)
		}
	}
	r := w.look(ada, "check", edited("SET ?name AS 1\nEMIT ?nmae"))
	if want := `"edits":[{"text":"?name","line":2,"column":6,"end_line":2,"end_column":11}]`; !strings.Contains(r.body, want) {
		t.Errorf("%s has no %s", r.body, want)
	}

	if r := w.look(ada, "hover", edited("EMIT up|per('a')")); r.status != 200 || !strings.Contains(r.body, "UPPER") || !strings.Contains(r.body, `"column":6`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := w.look(ada, "hover", edited("| EMIT 1")); r.body != `{"status":"ok","hover":null}` {
		t.Errorf("%d %s", r.status, r.body)
	}
	for script, want := range map[string]string{
		"SET ?name AS 1\nEMIT ?na|me":                  `{"status":"ok","definition":{"file":null,"line":1,"column":5,"end_line":1,"end_column":10}}`,
		"INCLUDE \"/lib/tax.ql\"\nEMIT \"😀\", ta|x(1)": `{"status":"ok","definition":{"file":"/lib/tax.ql","line":1,"column":8,"end_line":1,"end_column":11}}`,
		"EMIT up|per('a')":                             `{"status":"ok","definition":null}`,
		"|":                                            `{"status":"ok","definition":null}`,
	} {
		if r := w.look(ada, "definition", edited(script)); r.status != 200 || r.body != want {
			t.Errorf("%s: %d %s", script, r.status, r.body)
		}
	}
	rename := func(script, name string) response {
		return w.look(ada, "rename", strings.TrimSuffix(edited(script), "}")+`,"name":`+quote(name)+"}")
	}
	if r := rename("SET ?a AS 1\nEMIT \"😀 {?a}\", ?a|", "total"); r.body != `{"status":"ok","edits":[{"text":"?total","line":1,"column":5,"end_line":1,"end_column":7},{"text":"?total","line":2,"column":10,"end_line":2,"end_column":12},{"text":"?total","line":2,"column":16,"end_line":2,"end_column":18}]}` {
		t.Errorf("%d %s", r.status, r.body)
	}
	for script, name := range map[string]string{"SET ?a AS 1 SET ?b AS ?a|": "b", "SET ?a| AS 1": "1", "EMIT 1|": "a", "EMIT up|per('a')": "lower", "SET ?long| AS 1": strings.Repeat("x", 201)} {
		if a := rename(script, name).wantError(t, 400, "invalid_request"); a.Error.Field != "name" {
			t.Errorf("%s: %+v", script, a.Error)
		}
	}
	if r := w.look(ada, "format", edited("emit   upper( 'a' )")); r.body != `{"status":"ok","text":"EMIT UPPER('a')\n"}` {
		t.Errorf("%d %s", r.status, r.body)
	}
	w.look(ada, "format", edited("EMIT (")).wantError(t, 422, "syntax_error")
	// Nothing was run.
	if r := w.look(ada, "check", edited(`DROP TABLE people; WRITE 1 TO "/written.txt"`)); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	if got := labels(ada, "SELECT * FROM |"); !slices.Contains(got, "people") {
		t.Error("a script that was looked at has run")
	}
	w.send("GET", "/v1/files/written.txt", "", "", "Authorization", basic(ada.name, ada.password)).wantError(t, 404, "file_not_found")
}

func TestEditorRequests(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Free)
	for body, field := range map[string]string{
		`{}`:                                    "text",
		`{"text":1}`:                            "text",
		`{"text":"","line":1}`:                  "column",
		`{"text":"","column":1}`:                "line",
		`{"text":"","line":0,"column":1}`:       "line",
		`{"text":"","line":1.5,"column":1}`:     "line",
		`{"text":"","line":1,"column":"1"}`:     "column",
		`{"text":"","line":1,"column":1,"a":1}`: "a",
	} {
		for _, what := range []string{"complete", "hover", "definition"} {
			r := w.look(ada, what, body)
			if r.wantError(t, 400, "invalid_request"); !strings.Contains(r.body, field) {
				t.Errorf("%s: %s, want the field %s", body, r.body, field)
			}
		}
	}
	// A place beyond the text is its end, and one in a check makes no difference.
	for _, body := range []string{`{"text":"EMIT ","line":9,"column":9}`, `{"text":"","line":1073741824,"column":1073741824}`} {
		for _, what := range []string{"complete", "hover", "definition", "check", "format"} {
			if r := w.look(ada, what, body); r.status != 200 && r.status != 422 {
				t.Errorf("%s %s: %d %s", what, body, r.status, r.body)
			}
		}
	}
	most := account.Free.Limits().ScriptBytes
	for _, what := range []string{"complete", "hover", "definition", "check", "format"} {
		at := `,"line":1,"column":1}`
		if r := w.look(ada, what, `{"text":`+quote(strings.Repeat(" ", most))+at); r.status != 200 {
			t.Errorf("%s of the longest script: %d %s", what, r.status, r.body)
		}
		w.look(ada, what, `{"text":`+quote(strings.Repeat(" ", most+1))+at).wantError(t, 413, "too_large")
	}
}

// TestEditorRate: what an editor asks has a rate of its own, and takes nothing of that for scripts.
func TestEditorRate(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Free)
	refused := 0
	for range 250 {
		switch r := w.look(ada, "hover", `{"text":"EMIT 1","line":1,"column":1}`); r.status {
		case 200:
		case http.StatusTooManyRequests:
			if refused++; !strings.HasPrefix(r.header.Get("RateLimit-Policy"), `"edits"`) {
				t.Fatalf("the rate is %s", r.header.Get("RateLimit-Policy"))
			}
		default:
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	if refused == 0 {
		t.Error("250 requests at once were answered")
	}
	if r := w.query(ada, "EMIT 1", ""); r.status != 200 {
		t.Errorf("a script after them: %d %s", r.status, r.body)
	}
}

// TestEditorTurns: many who ask at once wait for their turns as scripts do, and give all back.
func TestEditorTurns(t *testing.T) {
	w := boot(t, settings{service: func(o *service.Options) { o.Limiter = admit.NewLimiter(admit.LimiterOptions{Unlimited: true}) }})
	ada := w.member("ada", account.Standard)
	body := `{"text":` + quote(strings.Repeat("SET ?a AS UPPER(\"{?a}\")\n", 2000)) + `,"line":1000,"column":5}`
	var all sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for range 40 {
		all.Go(func() {
			r := w.look(ada, "complete", body)
			mu.Lock()
			defer mu.Unlock()
			statuses[r.status]++
		})
	}
	all.Wait()
	for status := range statuses {
		if status != 200 && status != 429 && status != 503 {
			t.Errorf("the answers are %v", statuses)
		}
	}
	if statuses[200] == 0 {
		t.Errorf("nobody was answered: %v", statuses)
	}
	if r := w.query(ada, "EMIT 1", ""); r.status != 200 {
		t.Errorf("a script after them: %d %s", r.status, r.body)
	}
}
