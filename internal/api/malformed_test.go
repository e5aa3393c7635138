package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/fault"
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
	m := &mangler{Rand: rand.New(rand.NewPCG(1, 2)), ada: ada}
	kinds := []func() mangled{m.json, m.form, m.media, m.address, m.id}
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
	ada member
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
			return strings.Replace(good, `"mode":"sync"`, `"mode":`+pick(m, `"SYNC"`, `""`, `null`, `1`, `"async"`), 1)
		},
		func() string {
			return strings.Replace(good, `"mode":"sync"`, pick(m, `"query":""`, `"auth":{}`, `"que\u0072y":"x"`), 1)
		},
		func() string {
			return strings.Replace(good, `{"a":"1"}`, pick(m, `{"a":1}`, `{"a":null}`, `["a"]`, `"x"`, `{"a":"1","a":"2"}`), 1)
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
	x := mangled{method: "POST", path: pick(m, "/v1/query", "/api"), body: `{"query":"EMIT 1"}`}
	x.kind = pick(m, "", "text/plain", "application/json, text/plain", "application/json;", "application/xml", "multipart/form-data; boundary=x", "application/json; charset=latin1", "*/*", "application", "application/ld+json", strings.Repeat("x", m.IntN(2000)))
	if x.kind == "application/json;" && x.path == "/v1/query" || m.IntN(4) == 0 {
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

// TestCanary looks for what must stay secret in everything that the service
// says and logs.
func TestCanary(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	const secretValue, wrongPassword, wrongKey, token = "canary-secret-3f9a", "canary-wrong-password", "qlk_canarywrongkey", "canary-token-77"
	check(t, w.accounts.SetSecret(t.Context(), "ada", "api", secretValue))
	var said []response
	say := func(r response) response {
		said = append(said, r)
		return r
	}
	started := say(w.query(ada, `START SESSION SET "k" AS "v" OF !SESSION`, ""))
	session := started.cookie(t).Value
	cookie := []string{"Cookie", "QLSESSID=" + session}
	for _, script := range []string{
		`EMIT LENGTH(!SECRET('api'))`, `FAIL !SECRET('api')`, `SET ?x AS NUMBER(!SECRET('api'))`, `EMIT 1 / 0`, `EMIT (`, `START SESSION`,
		`READ !SECRET('api') SET ?x`, `CONFIRM "x"`, `EMIT !JOB('none')`,
	} {
		say(w.query(ada, script, "", cookie...))
		say(w.form(ada, script, nil, cookie...))
	}
	bad := ada
	bad.password, bad.key = wrongPassword, wrongKey
	say(w.query(bad, "EMIT 1", "", cookie...))
	say(w.form(bad, "EMIT 1", nil, cookie...))
	say(w.query(ada, "EMIT 1", `"mode":"wrong"`))
	say(w.send("POST", "/v1/query", jsonType, `{"auth":{"username":"ada","token":"`+token+`"},"query":"EMIT 1"}`))
	say(w.send("POST", "/v1/query", jsonType, `{"auth":{"username":"ada","password":["`+wrongPassword+`"]},"query":"EMIT 1"}`))
	say(w.send("POST", "/api", formType, "identity=ada&password="+ada.key+"&password="+wrongKey))
	say(w.send("GET", "/v1/job/"+started.read(t).JobID, "", "", "Authorization", "Basic "+wrongPassword))
	check(t, w.recorder.Flush(t.Context()))
	check(t, w.store.Close()) // from here on everything fails
	say(w.query(ada, `START SESSION`, "", cookie...))
	say(w.form(ada, `START SESSION`, nil, cookie...))

	secrets := []string{secretValue, wrongPassword, wrongKey, token, ada.password, ada.key, ada.key[4:20], session}
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
	for _, r := range said {
		if id := r.header.Get("QL-Job-Id"); id != "" && strings.Contains(log, id) {
			t.Errorf("the log tells the whole id of a job:\n%s", log)
		}
	}
	if !slices.ContainsFunc(said, func(r response) bool { return r.status >= 500 }) {
		t.Error("nothing failed")
	}
}
