package server_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/fault"
	"ql/internal/job"
)

// TestPromiseMalformed sends requests that are all wrong in some way. Each gets
// a documented refusal in its convention's shape, none of them a fault of the
// service, and good calls go on working in between.
func TestPromiseMalformed(t *testing.T) {
	count := 500
	if os.Getenv("QL_PROMISES") == "1" {
		count = 5000
	}
	w := boot(t)
	ada := w.member("ada", account.Unlimited)
	asked := w.query(ada, `GATHER "How many?" FIELDS n INTEGER MIN 1 REQUIRED SET ?f EMIT ?f.n`, "").read(t).JobID
	m := &mangler{Rand: rand.New(rand.NewPCG(1, 2)), ada: ada, asked: asked}
	kinds := []func() mangled{m.json, m.form, m.media, m.address, m.id, m.reply, m.watch, m.list, m.submit, m.file}
	for i := range count {
		x := kinds[i%len(kinds)]()
		r := w.send(x.method, x.path, x.kind, x.body, x.headers...)
		if problem := undocumented(x, r); problem != "" {
			t.Fatalf("request %d: %s\n%s %q %q %q\n%.300q\nanswer %d %s", i, problem, x.method, x.path, x.kind, x.headers, x.body, r.status, r.body)
		}
		if i%50 == 0 {
			if r := w.query(ada, "EMIT 1", ""); r.status != 200 {
				t.Fatalf("after request %d a good one gets %d %s", i, r.status, r.body)
			}
			if r := w.form(ada, "EMIT 1", nil); r.status != 200 || r.body != "1" {
				t.Fatalf("after request %d a good form gets %d %s", i, r.status, r.body)
			}
		}
	}
	if log := w.log.String(); log != "" {
		t.Errorf("faults of the service:\n%s", log)
	}
	if got := w.state(asked); got != job.Paused {
		t.Errorf("the job that nobody answered well is %s", got)
	}
	if a := w.send("POST", "/v1/confirm/"+asked, jsonType, `{"fields":{"n":"2"}}`).read(t); a.Status != "complete" || *a.Result != "2" {
		t.Errorf("answered well: %+v", a)
	}
}

// undocumented says what is wrong with a refusal.
func undocumented(x mangled, r response) string {
	if r.status < 400 || r.status > 499 {
		return "this is no refusal"
	}
	code := r.header.Get("QL-Error")
	switch {
	case x.method == http.MethodHead:
		return ""
	case x.path == "/api" || strings.HasPrefix(x.path, "/api?"):
		if !strings.HasPrefix(r.body, "error: "+code+": ") || strings.Count(r.body, "\n") != 1 || r.header.Get("Content-Type") != "text/plain; charset=utf-8" {
			return "this is not the form convention"
		}
	default:
		var a answer
		if err := json.Unmarshal([]byte(r.body), &a); err != nil || a.Status != "error" || a.Error.Message == "" {
			return "this is not the JSON convention"
		}
		code = a.Error.Code
	}
	if status, ok := fault.Statuses()[fault.Code(code)]; !ok || status != r.status {
		return "the status is not that of " + code
	}
	return ""
}

type mangled struct {
	method, path, kind, body string
	headers                  []string
}

// mangler makes requests that are wrong.
type mangler struct {
	*rand.Rand
	ada   member
	asked string // a job that asks for a whole number n
}

func pick[T any](m *mangler, of ...T) T { return of[m.IntN(len(of))] }

// noise returns random bytes.
func (m *mangler) noise(most int) string {
	b := make([]byte, m.IntN(most))
	for i := range b {
		b[i] = byte(m.Uint32())
	}
	return string(b)
}

// json returns a query whose body is no request.
func (m *mangler) json() mangled {
	good := `{"auth":{"username":"ada","password":` + quote(m.ada.password) + `},"query":"EMIT 1","mode":"sync","request":{"path":"/","get":{"a":"1"}}}`
	at := m.IntN(len(good))
	body := pick(m,
		func() string { return good[:at] },
		func() string { return good + pick(m, "x", "{}", "\x00", ",", "]") },
		func() string { return "\ufeff" + good },
		func() string { return good[:1] + "\xff" + good[1:] },
		func() string { return good[:1] + pick(m, "//x\n", "'", "query:", ",", "NaN", "\\u0022") + good[1:] },
		func() string {
			return strings.Replace(good, `"query":"EMIT 1"`, `"query":`+pick(m, "1", "null", "true", "[]", "{}", `"`+"\n"+`"`, `"\ud800"`, "01", "1e999999", "-"), 1)
		},
		func() string {
			return strings.Replace(good, `"query"`, pick(m, `"Query"`, `"q"`, `"__proto__"`, `""`), 1)
		},
		func() string {
			return strings.Replace(good, `"mode":"sync"`, `"mode":`+pick(m, `"SYNC"`, `""`, `null`, `1`, `"asynchronous"`, `["async"]`), 1)
		},
		func() string {
			return strings.Replace(good, `"mode":"sync"`, pick(m, `"query":""`, `"auth":{}`, `"que\u0072y":"x"`), 1)
		},
		func() string {
			return strings.Replace(good, `{"a":"1"}`, pick(m, `{"a":1e999}`, `{"a":tru}`, `["a"]`, `"x"`, `{"a":"1","a":"2"}`), 1)
		},
		func() string {
			return strings.Replace(good, `"username":"ada",`, pick(m, ``, `"username":1,`, `"USERNAME":"ada",`), 1)
		},
		func() string { return strings.Repeat(pick(m, "[", `{"a":`, " ", "0,"), 1+m.IntN(100_000)) },
		func() string {
			return `{"query":"","request":` + strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 101)
		},
		func() string { return m.noise(200) },
	)()
	return mangled{"POST", "/v1/query", jsonType, body, nil}
}

// form returns a form that is no request.
func (m *mangler) form() mangled {
	good := url.Values{"identity": {"ada"}, "password": {m.ada.key}, "q": {"EMIT 1"}}.Encode()
	body := pick(m,
		func() string { return good + pick(m, "&q=x", "&identity=ada", "&password=", "&%71=1") },
		func() string { return good + "&path=" + pick(m, "%", "%4", "%zz", "%ff", "%c3%28", "\xff") },
		func() string {
			return good + "&" + pick(m, "get", "post", "cookie") + "=" + pick(m, "", "{", "[1]", "1", "null", `{"a":1}`, `{"a":"1","a":"2"}`, "%7B%7D%7D", `{"a":{"b":"c"}}`)
		},
		func() string {
			return strings.Replace(good, pick(m, "identity=", "password=", "q="), pick(m, "x=", "IDENTITY=", "=", "q[]="), 1)
		},
		func() string { return strings.Repeat("a=b&", 101) + good },
		func() string { return strings.Replace(good, "password=qlk_", "password="+pick(m, "", "x", "qlk"), 1) },
		func() string { return "%" + m.noise(200) },
		func() string { return "" },
	)()
	return mangled{"POST", "/api", formType, body, nil}
}

// media returns a good query under a wrong type.
func (m *mangler) media() mangled {
	x := mangled{method: "POST", path: pick(m, "/v1/query", "/api", "/v1/confirm/"+m.asked), body: `{"query":"EMIT 1"}`}
	x.kind = pick(m, "", "text/plain", "application/json, text/plain", "application/json;", "application/xml", "multipart/form-data; boundary=x", "application/json; charset=latin1", "*/*", "application", "application/ld+json", strings.Repeat("x", m.IntN(2000)))
	if x.kind == "application/json;" && x.path != "/api" || m.IntN(4) == 0 {
		x.headers = []string{"Content-Encoding", pick(m, "gzip", "deflate", "br", "gzip, gzip", "identity, gzip")}
	}
	return x
}

// address returns a request for what is not there, or in a wrong way.
func (m *mangler) address() mangled {
	method := pick(m, "GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "POST", "get", "X")
	path := pick(m, "/v1/query", "/api", "/", "/v1", "/v1/", "/v1/query/", "//api", "/api/", "/API", "/v1/confirm/x", "/v1/jobs", "/files/x", "/v1/job", "/v1/job//", "/v1/query%00", "/%2e%2e/api", "/.git/config", "/v1/query;x", "/"+url.PathEscape(m.noise(40)), "/v1/query?"+strings.Repeat("x", 9000))
	if method == "POST" && (path == "/v1/query" || path == "/api") {
		method = "GET"
	}
	return mangled{method: method, path: path, headers: pick(m, nil, []string{"Origin", "null"}, []string{"Origin", "\x80"}, []string{"Cookie", "QLSESSID=" + strings.Repeat("=", 50)})}
}

// id returns a poll of a job that cannot be.
func (m *mangler) id() mangled {
	id := pick(m, "x", "0", strings.Repeat("a", 1+m.IntN(300)), "00000000-0000-0000-0000-000000000000", "0D3F0A4E-7B8C-4D5E-9F00-112233445566", "{0d3f0a4e-7b8c-4d5e-9f00-112233445566}", "0d3f0a4e-7b8c-4d5e-9f00-112233445566%20", url.PathEscape("x"+m.noise(40)), fmt.Sprintf("%08x-7b8c-4d5e-9f00-112233445566", m.Uint32()))
	headers := pick(m, nil, []string{"Authorization", "Basic"}, []string{"Authorization", "Basic !!!"}, []string{"Authorization", "Bearer x"}, []string{"Authorization", "Basic eA=="})
	return mangled{method: pick(m, "GET", "HEAD", "POST", "DELETE"), path: "/v1/job/" + id, headers: headers}
}

// reply returns a reply that does not fit the job's question, or is none.
func (m *mangler) reply() mangled {
	good := `{"fields":{"n":2}}`
	body := pick(m,
		func() string { return good[:m.IntN(len(good))] },
		func() string { return good + pick(m, "x", "{}", "\x00", ",") },
		func() string {
			return strings.Replace(good, "2", pick(m, "0", "-1", "1.5", `"x"`, `""`, "null", "true", "[2]", `{"a":2}`, "1e400", "01", `"2 "+`, `{"base64":"AA=="}`), 1)
		},
		func() string {
			return strings.Replace(good, `"n":2`, pick(m, ``, `"m":2`, `"n":2,"n":3`, `"n":2,"m":1`), 1)
		},
		func() string { return strings.Replace(good, `"fields"`, pick(m, `"Fields"`, `"field"`, `""`), 1) },
		func() string {
			return pick(m, `{"approved":true}`, `{"approved":false}`, `{"approved":"yes"}`, `{}`, `[]`, `null`)
		},
		func() string {
			return `{"prompt_id":` + pick(m, `""`, `1`, `null`, `"x"`, quote(strings.Repeat("x", m.IntN(3000)))) + "," + good[1:]
		},
		func() string { return `{"fields":` + strings.Repeat(`{"n":`, 100) + "1" + strings.Repeat("}", 101) },
		func() string { return m.noise(200) },
	)()
	return mangled{"POST", "/v1/confirm/" + m.asked, jsonType, body, m.badHeaders()}
}

// badHeaders returns credentials that open nothing, or none.
func (m *mangler) badHeaders() []string {
	return pick(m, nil, []string{"Authorization", "Basic"}, []string{"Authorization", "Bearer x"}, []string{"Authorization", basic("ada", "not her password")})
}

// watch returns a question for a job that is there, in a wrong way.
func (m *mangler) watch() mangled {
	job := "/v1/job/" + m.asked
	return pick(m,
		func() mangled {
			return mangled{method: "GET", path: job + pick(m, "?wait=", "?wait=-1", "?wait=1.5", "?wait=x", "?wait=1&wait=2", "?Wait=1", "?more=1", "?wait=%", "?wait=0x1", "?%zz")}
		},
		func() mangled {
			return mangled{method: pick(m, "GET", "HEAD"), path: job + "/events", headers: []string{"Last-Event-ID", pick(m, "x", "-1", "1.5", "1 2", "9999999999999999999999", "0x1")}}
		},
		func() mangled {
			return mangled{method: "GET", path: job + "/events" + pick(m, "?wait=1", "?from=0", "/", "/x")}
		},
		func() mangled {
			return mangled{method: pick(m, "PUT", "PATCH", "POST"), path: job + pick(m, "", "/events")}
		},
		func() mangled {
			return mangled{method: pick(m, "GET", "DELETE"), path: job, headers: []string{"Authorization", pick(m, "Basic", "Bearer x", "Basic !!!")}}
		},
	)()
}

// list returns a question for jobs that cannot be answered.
func (m *mangler) list() mangled {
	good := []string{"Authorization", basic("ada", m.ada.password)}
	query := pick(m, "?status=done", "?status=", "?status=Complete", "?limit=0", "?limit=501", "?limit=x", "?limit=", "?limit=1&limit=2", "?before=x", "?before=", "?after=1", "?%zz")
	switch query {
	case "?status=", "?before=": // as if they were left out
		return mangled{method: "GET", path: "/v1/jobs" + query}
	}
	return mangled{method: pick(m, "GET", "HEAD"), path: "/v1/jobs" + query, headers: good}
}

// submit returns a job that cannot be accepted.
func (m *mangler) submit() mangled {
	body := `{"auth":{"username":"ada","password":` + quote(m.ada.password) + `},"query":"EMIT 1","mode":"async","options":{"webhook":"https://example.com"}}`
	x := mangled{method: "POST", path: "/v1/query", kind: jsonType, body: body}
	if m.IntN(4) == 0 {
		x.headers = []string{"Idempotency-Key", strings.Repeat("k", 256+m.IntN(100))}
		return x
	}
	x.body = strings.Replace(body, `{"webhook":"https://example.com"}`, pick(m, `{"webhook":1}`, `{"webhook":null}`, `{"webhook":["https://example.com"]}`, `{"hook":""}`, `"x"`, `null`), 1)
	return x
}

// file returns a call for a file that is wrong.
func (m *mangler) file() mangled {
	x := mangled{method: pick(m, "GET", "HEAD", "PUT", "DELETE"), path: "/v1/files/missing/x.txt", headers: []string{"Authorization", basic("ada", m.ada.password)}}
	switch m.IntN(7) {
	case 0:
		x.headers = pick(m, nil, []string{"Authorization", "Basic x"}, []string{"Authorization", "Bearer x"}, []string{"Authorization", basic("ada", m.ada.key)})
	case 1:
		x.path = "/v1/files/" + pick(m, "a/", "a//b", "..", "a/../b", "%2e%2e/a", "a%2F..%2Fb", "a%00", "%ff", "CON", "a%5Cb", "%20", "/", ".ql/x", url.PathEscape(m.noise(20))+"%01")
	case 2:
		x.path += pick(m, "?x=1", "?limit=0", "?limit=1&limit=2", "?%zz")
	case 3:
		x.headers = append(x.headers, pick(m, "If-Match", "If-None-Match"), pick(m, "x", `"`, `"a" "b"`, "W/x", ","))
	case 4:
		x.method = "PUT"
		x.headers = append(x.headers, pick(m, []string{"Content-Range", "bytes 0-1/2"}, []string{"Content-Encoding", "gzip"}, []string{"If-Match", "*"}, []string{"If-Match", `"other"`})...)
		x.body = "x"
	case 5:
		x.method = pick(m, "POST", "PATCH", "OPTIONS", "MOVE")
	default:
		x.method = pick(m, "GET", "HEAD", "DELETE")
	}
	return x
}

// TestCanary looks for what must stay secret in everything that the service
// says, logs and stores, in calls and in jobs.
func TestCanary(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	const secretValue, wrongPassword, wrongKey, token, answered = "canary-secret-3f9a", "canary-wrong-password", "qlk_canarywrongkey", "canary-token-77", "canary-answer-51c"
	check(t, w.accounts.SetSecret(t.Context(), "ada", "api", secretValue))
	var said []response
	say := func(r response) response {
		said = append(said, r)
		return r
	}
	started := say(w.query(ada, `START SESSION SET "k" AS "v" OF !SESSION`, ""))
	session := started.cookie(t).Value
	cookie := []string{"Cookie", "QLSESSID=" + session}
	var jobs []string
	for _, script := range []string{
		`EMIT LENGTH(!SECRET('api'))`, `FAIL !SECRET('api')`, `SET ?x AS NUMBER(!SECRET('api'))`, `EMIT 1 / 0`, `EMIT (`, `START SESSION`,
		`READ !SECRET('api') SET ?x`, `CONFIRM "x"`, `EMIT !JOB('none')`,
		// What a pause and a WAIT keep, and a journal: results before and after changes.
		`START SESSION SET ?s AS !SECRET('api') GATHER "x" FIELDS f SECRET REQUIRED SET ?f EMIT LENGTH(?f.f), LENGTH(?s)`,
		`SET ?s AS !SECRET('api') WAIT 0.01 SECONDS WRITE ?s TO "/s.txt" REMOVE "/s.txt"`,
		"SET ?s AS !SECRET('api')\nCREATE TABLE IF NOT EXISTS t (n INTEGER);\nINSERT INTO t VALUES (1);\nCONFIRM \"x\"\nINSERT INTO t VALUES (LENGTH(:?s));",
	} {
		jobs = append(jobs, say(w.query(ada, script, "", cookie...)).read(t).JobID)
		jobs = append(jobs, say(w.form(ada, script, nil, cookie...)).header.Get("QL-Job-Id"))
		jobs = append(jobs, say(w.query(ada, script, `"mode":"async","options":{"webhook":"https://example.com"}`, cookie...)).read(t).JobID)
	}
	for _, id := range jobs {
		a := say(w.poll(id, "?wait=60")).read(t)
		switch a.Prompt.Kind {
		case "confirm":
			say(w.confirm(id, `{"approved":true}`))
		case "gather":
			say(w.confirm(id, `{"fields":{"f":["`+answered+`"]}}`))
			say(w.confirm(id, `{"fields":{"f":"`+answered+`"}}`))
		}
		say(w.send("GET", "/v1/job/"+id+"/events", "", ""))
		say(w.poll(id, ""))
		parsed, _ := job.ParseID(id)
		if told, err := w.service.WebhookBody(t.Context(), parsed, "", 1<<20); err == nil {
			say(response{body: string(told)})
		}
	}
	say(w.send("GET", "/v1/jobs", "", "", "Authorization", basic("ada", ada.password)))
	bad := ada
	bad.password, bad.key = wrongPassword, wrongKey
	say(w.query(bad, "EMIT 1", "", cookie...))
	say(w.query(bad, "EMIT 1", `"mode":"async"`, cookie...))
	say(w.form(bad, "EMIT 1", nil, cookie...))
	say(w.query(ada, "EMIT 1", `"mode":"wrong"`))
	say(w.send("POST", "/v1/query", jsonType, `{"auth":{"username":"ada","token":"`+token+`"},"query":"EMIT 1"}`))
	say(w.send("POST", "/v1/query", jsonType, `{"auth":{"username":"ada","password":["`+wrongPassword+`"]},"query":"EMIT 1"}`))
	say(w.send("POST", "/api", formType, "identity=ada&password="+ada.key+"&password="+wrongKey))
	say(w.send("GET", "/v1/job/"+started.read(t).JobID, "", "", "Authorization", "Basic "+wrongPassword))
	say(w.send("DELETE", "/v1/job/"+jobs[0], "", "", "Authorization", basic("ada", wrongPassword)))
	check(t, w.recorder.Flush(t.Context()))
	paused := say(w.query(ada, `SET ?s AS !SECRET('api') GATHER "x" FIELDS f SECRET SET ?f FAIL ?s`, "", cookie...)).read(t).JobID

	secrets := []string{secretValue, answered, wrongPassword, wrongKey, token, ada.password, ada.key, ada.key[4:20], session}
	stored := w.stored()
	for _, secret := range secrets {
		if at := slices.IndexFunc(stored, func(s string) bool { return strings.Contains(s, secret) }); at >= 0 {
			t.Errorf("what is stored tells %q", secret)
		}
	}
	if !slices.ContainsFunc(stored, func(s string) bool { return strings.Contains(s, "ada@example.com") }) {
		t.Error("the e-mail address is not found in what is stored: the test looks at nothing")
	}

	check(t, w.store.Close()) // from here on everything fails
	say(w.query(ada, `START SESSION`, "", cookie...))
	say(w.form(ada, `START SESSION`, nil, cookie...))
	say(w.query(ada, `EMIT !SECRET('api')`, `"mode":"async"`, cookie...))
	say(w.query(ada, `CONFIRM "x"`, "", cookie...))
	say(w.confirm(paused, `{"fields":{"f":"`+answered+`"}}`))
	say(w.poll(paused, ""))
	say(w.send("DELETE", "/v1/job/"+paused, "", ""))

	log := w.log.String()
	if log == "" {
		t.Error("nothing was logged: the test looks at nothing")
	}
	for _, secret := range secrets {
		if strings.Contains(log, secret) {
			t.Errorf("the log tells %q:\n%s", secret, log)
		}
		for _, r := range said[1:] {
			if strings.Contains(r.body, secret) || strings.Contains(fmt.Sprint(r.header), secret) {
				t.Errorf("an answer tells %q: %v %s", secret, r.header, r.body)
			}
		}
	}
	for _, id := range append(jobs, paused) {
		if id != "" && strings.Contains(log, id) {
			t.Errorf("the log tells the whole id of a job:\n%s", log)
		}
	}
	if !slices.ContainsFunc(said, func(r response) bool { return r.status >= 500 }) {
		t.Error("nothing failed")
	}
}

// TestCanaryAcrossPauses lets scripts fail with a secret in the message that
// they read before they stood.
func TestCanaryAcrossPauses(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	const secretValue = "canary-secret-3f9a"
	check(t, w.accounts.SetSecret(t.Context(), "ada", "api", secretValue))
	for _, script := range []string{
		`SET ?s AS !SECRET('api') CONFIRM "x" FAIL ?s`,
		`SET ?s AS !SECRET('api') CONFIRM "x" READ ?s SET ?x`,
		`SET ?s AS !SECRET('api') CONFIRM "x" CONFIRM "y" FAIL ?s`,
		`SET ?s AS !SECRET('api') WAIT 0.01 SECONDS FAIL ?s`,
	} {
		for way, id := range map[string]string{
			"sync": w.query(ada, script, "").read(t).JobID, "form": w.form(ada, script, nil).header.Get("QL-Job-Id"), "async": w.submit(ada, script),
		} {
			for w.poll(id, "?wait=60").read(t).Status == "paused" {
				w.confirm(id, `{"approved":true}`)
			}
			if r := w.poll(id, ""); r.read(t).Status != "failed" || strings.Contains(r.body, secretValue) {
				t.Errorf("%s, %s: an answer tells the secret: %s", script, way, r.body)
			}
		}
	}
	if slices.ContainsFunc(w.stored(), func(s string) bool { return strings.Contains(s, secretValue) }) {
		t.Error("what is stored tells the secret")
	}
}

// stored returns all files of the service's store, without those of accounts,
// which are theirs.
func (w *world) stored() []string {
	w.t.Helper()
	var all []string
	check(w.t, filepath.WalkDir(w.folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == "accounts" {
				return fs.SkipDir
			}
			return err
		}
		text, err := os.ReadFile(name)
		all = append(all, string(text))
		return err
	}))
	return all
}
