package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/server"
	"ql/internal/service"
)

const (
	jsonType = "application/json"
	formType = "application/x-www-form-urlencoded"
)

func TestMethodsAndAddresses(t *testing.T) {
	w := boot(t)
	tests := []struct {
		method, path string
		status       int
		code         string
		allow        string
	}{
		{"GET", "/v1/query", 405, "method_not_allowed", "POST"},
		{"PUT", "/v1/query", 405, "method_not_allowed", "POST"},
		{"POST", "/v1/job/0d3f0a4e-7b8c-4d5e-9f00-112233445566", 405, "method_not_allowed", "GET, HEAD, DELETE"},
		{"DELETE", "/v1/job/0d3f0a4e-7b8c-4d5e-9f00-112233445566/events", 405, "method_not_allowed", "GET, HEAD"},
		{"GET", "/v1/confirm/0d3f0a4e-7b8c-4d5e-9f00-112233445566", 405, "method_not_allowed", "POST"},
		{"POST", "/v1/jobs", 405, "method_not_allowed", "GET, HEAD"},
		{"POST", "/v1/limits", 405, "method_not_allowed", "GET, HEAD"},
		{"PATCH", "/healthz", 405, "method_not_allowed", "GET, HEAD"},
		{"GET", "/", 404, "not_found", ""},
		{"GET", "/v1", 404, "not_found", ""},
		{"POST", "/v1/query/", 404, "not_found", ""},
		{"POST", "//v1/query", 404, "not_found", ""},
		{"POST", "/V1/query", 404, "not_found", ""},
		{"POST", "/v1/../v1/query", 404, "not_found", ""},
		{"GET", "/v1/job/", 404, "not_found", ""},
		{"GET", "/v1/job/a%2Fb", 404, "not_found", ""},
		{"GET", "/v1/job//events", 404, "not_found", ""},
		{"GET", "/v1/job/x/event", 404, "not_found", ""},
		{"POST", "/v1/confirm/", 404, "not_found", ""},
		{"POST", "/v1/confirm/a%2Fb", 404, "not_found", ""},
		{"GET", "/v1/jobs/", 404, "not_found", ""},
		{"GET", "/v2/query", 404, "not_found", ""},
		{"GET", "/healthz?x=" + strings.Repeat("x", 9000), 413, "too_large", ""},
	}
	for _, test := range tests {
		r := w.send(test.method, test.path, "", "")
		r.wantError(t, test.status, test.code)
		if got := r.header.Get("Allow"); got != test.allow {
			t.Errorf("%s %.40s: Allow %q, want %q", test.method, test.path, got, test.allow)
		}
	}
	r := w.send("GET", "/api", "", "")
	if r.status != 405 || r.header.Get("Allow") != "POST" || r.body != "error: method_not_allowed: GET is not allowed here: use POST\n" {
		t.Errorf("GET /api: %d %s", r.status, r.body)
	}
	if r := w.send("HEAD", "/healthz", "", ""); r.status != 200 || r.body != "" {
		t.Errorf("HEAD: %d %q", r.status, r.body)
	}
}

func TestMediaTypesAndSizes(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	free := w.member("free", account.Free)
	goodJSON := `{"auth":{"username":"ada","password":` + quote(ada.password) + `},"query":"EMIT 1"}`
	goodForm := url.Values{"identity": {"ada"}, "password": {ada.key}, "q": {"EMIT 1"}}.Encode()
	tests := []struct {
		name       string
		path, kind string
		body       string
		headers    []string
		status     int
		code       string
	}{
		{"charset", "/v1/query", "application/json; charset=UTF-8", goodJSON, nil, 200, ""},
		{"charset of a form", "/api", formType + ";charset=utf-8", goodForm, nil, 200, ""},
		{"no type", "/v1/query", "", goodJSON, nil, 415, "unsupported_media_type"},
		{"form as JSON", "/v1/query", formType, goodForm, nil, 415, "unsupported_media_type"},
		{"JSON as form", "/api", jsonType, goodJSON, nil, 415, "unsupported_media_type"},
		{"multipart", "/api", "multipart/form-data; boundary=x", goodForm, nil, 415, "unsupported_media_type"},
		{"text", "/v1/query", "text/plain", goodJSON, nil, 415, "unsupported_media_type"},
		{"another charset", "/v1/query", "application/json; charset=latin1", goodJSON, nil, 415, "unsupported_media_type"},
		{"two types", "/v1/query", jsonType, goodJSON, []string{"Content-Type", formType}, 415, "unsupported_media_type"},
		{"compressed", "/v1/query", jsonType, goodJSON, []string{"Content-Encoding", "gzip"}, 415, "unsupported_media_type"},
		{"too large for anybody", "/v1/query", jsonType, strings.Repeat(" ", 16<<20+1), nil, 413, "too_large"},
		{"a form too large for anybody", "/api", formType, strings.Repeat("&", 16<<20+1), nil, 413, "too_large"},
		{"empty", "/v1/query", jsonType, "", nil, 400, "invalid_request"},
		{"empty form", "/api", formType, "", nil, 400, "invalid_request"},
		{"fields in the address", "/api?" + goodForm, formType, "", nil, 400, "invalid_request"},
		{"unknown form field", "/api", formType, goodForm + "&more=1", nil, 200, ""},
		{"unknown JSON field", "/v1/query", jsonType, `{"query":"","more":1}`, nil, 400, "invalid_request"},
		{"duplicate", "/v1/query", jsonType, `{"query":"","query":""}`, nil, 400, "invalid_request"},
		{"async", "/v1/query", jsonType, strings.Replace(goodJSON, `"query"`, `"mode":"async","query"`, 1), nil, 202, ""},
		{"webhook with sync", "/v1/query", jsonType, strings.Replace(goodJSON, `"query"`, `"options":{"webhook":"https://a.example"},"query"`, 1), nil, 400, "invalid_request"},
		{"a reply to no job", "/v1/confirm/x", jsonType, `{"approved":true}`, nil, 404, "job_not_found"},
		{"a reply of no type", "/v1/confirm/x", "", `{"approved":true}`, nil, 415, "unsupported_media_type"},
		{"a reply as a form", "/v1/confirm/x", formType, "approved=true", nil, 415, "unsupported_media_type"},
		{"a reply too large for anybody", "/v1/confirm/x", jsonType, strings.Repeat(" ", 16<<20+1), nil, 413, "too_large"},
		{"an empty reply", "/v1/confirm/x", jsonType, "", nil, 400, "invalid_request"},
		{"bad JSON in get", "/api", formType, goodForm + "&get=%7B", nil, 400, "invalid_request"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := w.send("POST", test.path, test.kind, test.body, test.headers...)
			if strings.HasPrefix(test.path, "/api") {
				if r.status != test.status || r.header.Get("QL-Error") != test.code || test.code != "" && !strings.HasPrefix(r.body, "error: "+test.code+": ") {
					t.Errorf("%d %s", r.status, r.body)
				}
			} else if a := r.read(t); r.status != test.status || a.Error.Code != test.code || test.code != "" && a.Status != "error" {
				t.Errorf("%d %s", r.status, r.body)
			}
		})
	}

	// What fits the largest plan is then held to the account's own.
	large := strings.Repeat("-- x\n", 70<<10/5)
	if r := w.query(ada, large, ""); r.status != 200 {
		t.Errorf("70 KiB on standard: %d %s", r.status, r.body)
	}
	if a := w.query(free, large, "").wantError(t, 413, "too_large"); a.Error.Field != "query" || a.Error.Limit != "script_bytes" || a.Error.Value != 64<<10 {
		t.Errorf("70 KiB on free: %+v", a)
	}
	if r := w.form(free, large, nil); r.status != 413 || r.body != "error: too_large: q: is too large: 65536 bytes at most\n" {
		t.Errorf("70 KiB on free: %d %s", r.status, r.body)
	}
}

// TestLimitsOfAnybody: what no plan takes is refused before it is known who
// calls, and names no limit as if it were theirs.
func TestLimitsOfAnybody(t *testing.T) {
	w := boot(t)
	free := w.member("free", account.Free)
	largest := w.service.LargestRequest()
	script := strings.Repeat(" ", largest.Script+1)
	deep := strings.Repeat("[", largest.Depth) + strings.Repeat("]", largest.Depth)
	most := strconv.Itoa(largest.Script) + " bytes at most, whatever the plan"
	for name, test := range map[string]struct {
		r      response
		status int
		code   string
		want   string
	}{
		"a script": {w.query(free, script, ""), 413, "too_large", "query: is too large: " + most},
		"a body":   {w.send("POST", "/v1/query", jsonType, strings.Repeat(" ", largest.Body+1)), 413, "too_large", "body: is too large: " + strconv.Itoa(largest.Body) + " bytes at most, whatever the plan"},
		"depth":    {w.send("POST", "/v1/query", jsonType, `{"query":`+deep+`}`), 400, "invalid_request", "inside one another at most, whatever the plan"},
	} {
		a := test.r.wantError(t, test.status, test.code)
		if !strings.HasSuffix(a.Error.Message, test.want) || a.Error.Limit != "" || strings.Contains(test.r.body, `"value"`) {
			t.Errorf("%s: %.300s", name, test.r.body)
		}
	}
	if r := w.form(free, script, nil); r.status != 413 || r.body != "error: too_large: q: is too large: "+most+"\n" {
		t.Errorf("a form: %d %.300s", r.status, r.body)
	}
}

// TestWidestPlan: settings may give any plan more than the others have.
func TestWidestPlan(t *testing.T) {
	w := boot(t, settings{service: func(o *service.Options) {
		o.Limits = func(p account.Plan) account.Limits {
			l := p.Limits()
			if p == account.Free {
				l.ScriptBytes, l.BodyBytes, l.SyncTime = 2<<20, 4<<20, time.Hour
			}
			return l
		}
	}})
	free := w.member("free", account.Free)
	if r := w.query(free, "EMIT 1"+strings.Repeat(" ", 1<<20), ""); r.status != 200 {
		t.Errorf("a script of 1 MiB: %d %.300s", r.status, r.body)
	}
	if got := w.service.LongestCall(); got < time.Hour {
		t.Errorf("a call of an hour is cut off after %v", got)
	}
}

// TestRefusedInTheWordsOfTheAddress: what is refused before its route is asked
// is answered as the route answers.
func TestRefusedInTheWordsOfTheAddress(t *testing.T) {
	w := boot(t, settings{http: func(o *server.Options) {
		o.CheckRequest = func(r *http.Request) error {
			if r.Header.Get("X-Refuse") != "" {
				return fault.New(fault.NotFound, "not by this name")
			}
			return nil
		}
	}})
	long := "?" + strings.Repeat("a", 9000)
	for _, refused := range []struct {
		more, header string
		status       int
		code         string
	}{{long, "", 413, "too_large"}, {"", "1", 404, "not_found"}} {
		for _, method := range []string{"POST", "GET"} {
			r := w.send(method, "/api"+refused.more, formType, "", "X-Refuse", refused.header)
			if r.status != refused.status || r.header.Get("QL-Error") != refused.code || r.header.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.HasPrefix(r.body, "error: "+refused.code+": ") {
				t.Errorf("%s /api: %d %v %s", method, r.status, r.header, r.body)
			}
			w.send(method, "/v1/query"+refused.more, jsonType, "", "X-Refuse", refused.header).wantError(t, refused.status, refused.code)
			w.send(method, "/nothing"+refused.more, "", "", "X-Refuse", refused.header).wantError(t, refused.status, refused.code)
			r = w.send(method, "/form/x"+refused.more, formType, "", "X-Refuse", refused.header)
			if r.status != refused.status || !strings.HasPrefix(r.header.Get("Content-Type"), "text/html") {
				t.Errorf("%s /form: %d %v", method, r.status, r.header)
			}
		}
	}
}

// TestTwoLengths sends a body in chunks beside a Content-Length, which a proxy
// in front may have gone by. What follows on the connection is no request.
func TestTwoLengths(t *testing.T) {
	w := boot(t)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
	check(t, err)
	defer conn.Close()
	const request = "POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
	_, err = io.WriteString(conn, request+request)
	check(t, err)
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, nil)
	check(t, err)
	_, err = io.Copy(io.Discard, res.Body)
	check(t, err)
	check(t, res.Body.Close())
	if !res.Close {
		t.Fatalf("the connection is kept: %v", res.Header)
	}
	if rest, err := io.ReadAll(in); len(rest) > 0 {
		t.Errorf("there is a second answer: %s, %v", rest, err)
	}
}

// TestUnfinishedBody sends less than it announces, past the client library.
func TestUnfinishedBody(t *testing.T) {
	w := boot(t)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
	check(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	check(t, err)
	check(t, conn.(*net.TCPConn).CloseWrite())
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	check(t, err)
	defer res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("%d", res.StatusCode)
	}
}

func TestHeaders(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	for name, r := range map[string]response{
		"JSON":          w.query(ada, "EMIT 1", ""),
		"JSON error":    w.send("POST", "/v1/query", jsonType, ""),
		"form":          w.form(ada, `EMIT "<script>"`, nil),
		"form error":    w.send("POST", "/api", formType, ""),
		"nothing there": w.send("GET", "/nothing", "", ""),
		"health":        w.send("GET", "/healthz", "", ""),
	} {
		want := map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
			"Cross-Origin-Resource-Policy": "same-origin", "Server": "", "Strict-Transport-Security": "",
		}
		if strings.HasPrefix(name, "form") {
			want["Content-Type"] = "text/plain; charset=utf-8"
			want["Content-Security-Policy"] = "sandbox; default-src 'none'"
		} else {
			want["Content-Type"] = "application/json"
			want["Content-Security-Policy"] = "default-src 'none'; frame-ancestors 'none'"
		}
		for header, value := range want {
			if got := r.header.Get(header); got != value {
				t.Errorf("%s: %s is %q, want %q", name, header, got, value)
			}
		}
	}
}

// TestSessionsOfAPlan begins more sessions than the account may have: the one
// unused for longest ends.
func TestSessionsOfAPlan(t *testing.T) {
	w := boot(t, limited(func(l *account.Limits) { l.Sessions = 2 }))
	ada := w.member("ada", account.Free)
	const script = `START SESSION IF !SESSION("n") IS NULL THEN SET "n" AS 1 OF !SESSION EMIT "new" ELSE EMIT "known" END`
	var cookies []string
	for range 3 {
		cookies = append(cookies, "QLSESSID="+w.query(ada, script, "").cookie(t).Value)
	}
	for _, test := range []struct {
		cookie int
		want   string
	}{{2, "known"}, {1, "known"}, {0, "new"}} {
		if a := w.query(ada, script, "", "Cookie", cookies[test.cookie]).read(t); a.Result == nil || *a.Result != test.want {
			t.Errorf("session %d: %+v", test.cookie, a)
		}
	}
}

func TestSessions(t *testing.T) {
	w := boot(t)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	const count = `START SESSION
IF !SESSION('n') IS NULL THEN SET "n" AS 0 OF !SESSION END
SET "n" AS !SESSION('n') + 1 OF !SESSION
EMIT !SESSION('n')`
	first := w.query(ada, count, "")
	cookie := first.cookie(t)
	if a := first.read(t); cookie == nil || *a.Result != "1" {
		t.Fatalf("%v %s", first.header, first.body)
	}
	if got := first.header.Get("Set-Cookie"); got != "QLSESSID="+cookie.Value+"; Path=/; HttpOnly; SameSite=Lax" || len(cookie.Value) != 43 {
		t.Errorf("cookie %q", got)
	}
	send := []string{"Cookie", "QLSESSID=" + cookie.Value}
	// The conventions share it.
	second := w.form(ada, count, nil, send...)
	if second.body != "2" || second.cookie(t) != nil {
		t.Errorf("second: %s %v", second.body, second.header)
	}
	if a := w.query(ada, count, "", send...).read(t); *a.Result != "3" {
		t.Errorf("third: %s", *a.Result)
	}
	// The same cookie under another account is another session, and an id that
	// the service did not make is never taken over.
	other := w.query(bob, count, "", send...)
	if a := other.read(t); *a.Result != "1" || other.cookie(t) == nil || other.cookie(t).Value == cookie.Value {
		t.Errorf("another account: %s %v", *a.Result, other.header)
	}
	fixed := w.form(ada, count, nil, "Cookie", "QLSESSID="+strings.Repeat("A", 43))
	if fixed.body != "1" || fixed.cookie(t) == nil || strings.HasPrefix(fixed.cookie(t).Value, "AAAA") {
		t.Errorf("a made-up id: %s %v", fixed.body, fixed.header)
	}
	if r := w.query(ada, "EMIT 1", ""); r.cookie(t) != nil {
		t.Error("a script without a session sets a cookie")
	}
	ended := w.query(ada, "START SESSION END SESSION", "", send...)
	if a := ended.read(t); a.Status != "ok" || ended.cookie(t) != nil {
		t.Errorf("end: %s", ended.body)
	}
	if r := w.form(ada, count, nil, send...); r.body != "1" {
		t.Errorf("after the end: %s", r.body)
	}
	// Pages of other sites get a cookie that browsers send back from there.
	for fetchSite, want := range map[string]string{
		"cross-site": "; Path=/; HttpOnly; Secure; SameSite=None; Partitioned",
		"":           "; Path=/; HttpOnly; Secure; SameSite=None; Partitioned",
		"same-site":  "; Path=/; HttpOnly; SameSite=Lax",
	} {
		r := w.send("POST", "/v1/query", jsonType, `{"query":"START SESSION"}`, "Origin", listed, "Sec-Fetch-Site", fetchSite)
		if got := r.header.Get("Set-Cookie"); !strings.HasSuffix(got, want) {
			t.Errorf("%q: cookie %q", fetchSite, got)
		}
	}
}

func TestProxies(t *testing.T) {
	var seen []service.Caller
	watch := server.Route{
		Method: "GET", Path: "/watch", Public: true, EncodeError: server.EncodeErrorJSON,
		Serve: func(h http.Header, r *server.Request) (server.Response, error) {
			seen = append(seen, r.Caller)
			h.Set("Https", fmt.Sprint(r.Setting("").HTTPS))
			return server.Response{Status: 200}, nil
		},
	}
	tests := []struct {
		name    string
		proxies []string
		headers []string
		want    string
		https   string
	}{
		{"nobody is trusted", nil, []string{"X-Forwarded-For", "192.0.2.1", "X-Forwarded-Proto", "https"}, "127.0.0.1", "false"},
		{"a trusted one", []string{"127.0.0.0/8"}, []string{"X-Forwarded-For", "192.0.2.1", "X-Forwarded-Proto", "https"}, "192.0.2.1", "true"},
		{"what the caller made up comes first", []string{"127.0.0.0/8"}, []string{"X-Forwarded-For", "10.9.9.9, 192.0.2.1"}, "192.0.2.1", "false"},
		{"two proxies", []string{"127.0.0.0/8", "10.0.0.0/8"}, []string{"X-Forwarded-For", "192.0.2.7, 10.1.1.1"}, "192.0.2.7", "false"},
		{"two headers", []string{"127.0.0.0/8"}, []string{"X-Forwarded-For", "192.0.2.7", "X-Forwarded-For", "192.0.2.8"}, "192.0.2.8", "false"},
		{"no address", []string{"127.0.0.0/8"}, []string{"X-Forwarded-For", "192.0.2.7, unknown"}, "127.0.0.1", "false"},
		{"none", []string{"127.0.0.0/8"}, nil, "127.0.0.1", "false"},
		{"mapped", []string{"127.0.0.0/8"}, []string{"X-Forwarded-For", "::ffff:192.0.2.7"}, "192.0.2.7", "false"},
	}
	for _, test := range tests {
		w := boot(t, settings{http: func(o *server.Options) {
			o.Routes = append(o.Routes, watch)
			for _, p := range test.proxies {
				o.Proxies = append(o.Proxies, netip.MustParsePrefix(p))
			}
		}})
		seen = nil
		r := w.send("GET", "/watch", "", "", test.headers...)
		if r.status != 200 || seen[0].Addr.String() != test.want || r.header.Get("Https") != test.https {
			t.Errorf("%s: %d from %s, https %s", test.name, r.status, seen[0].Addr, r.header.Get("Https"))
		}
	}
}

func TestPanicsAndFaults(t *testing.T) {
	fail := func(path string, serve func() error) server.Route {
		return server.Route{Method: "GET", Path: path, Public: true, EncodeError: server.EncodeErrorJSON,
			Serve: func(h http.Header, _ *server.Request) (server.Response, error) {
				h.Set("X-Half", "done")
				return server.Response{Status: 200}, serve()
			}}
	}
	w := boot(t, settings{http: func(o *server.Options) {
		o.Routes = append(o.Routes,
			fail("/panic", func() error { panic("the inside story") }),
			fail("/error", func() error { return errors.New("the inside story") }),
			fail("/store", func() error {
				return fault.Retryable(fault.StorageUnavailable, 5*time.Second, "the storage cannot be used").WithCause(errors.New("the inside story"))
			}))
		o.Ready = func(context.Context) error { return errors.New("the inside story") }
	}})
	for path, want := range map[string]struct {
		status int
		code   string
	}{
		"/panic": {500, "internal"}, "/error": {500, "internal"}, "/store": {503, "storage_unavailable"}, "/readyz": {503, "storage_unavailable"},
	} {
		before := strings.Count(w.log.String(), "the inside story")
		r := w.send("GET", path, "", "")
		a := r.wantError(t, want.status, want.code)
		if strings.Contains(r.body, "inside story") || r.header.Get("X-Half") != "" {
			t.Errorf("%s tells %s %v", path, r.body, r.header)
		}
		if got := strings.Count(w.log.String(), "the inside story") - before; got != 1 {
			t.Errorf("%s is logged %d times:\n%s", path, got, w.log)
		}
		if want.code == "internal" && (len(a.Error.ID) != 8 || !strings.Contains(w.log.String(), `"id":"`+a.Error.ID+`"`)) {
			t.Errorf("%s: the log does not have %q", path, a.Error.ID)
		}
		if path == "/store" && r.header.Get("Retry-After") != "5" {
			t.Errorf("Retry-After %q", r.header.Get("Retry-After"))
		}
	}
	if r := w.send("GET", "/healthz", "", ""); r.status != 200 || r.body != `{"status":"ok"}` {
		t.Errorf("health: %d %s", r.status, r.body)
	}
}

// TestHangUp checks that a caller who goes away does not stop the script.
func TestHangUp(t *testing.T) {
	ran := make(chan job.State, 1)
	started := make(chan struct{})
	w := boot(t, settings{service: func(o *service.Options) {
		o.OnRun = func(s job.State, _ time.Duration) { ran <- s }
		open := o.Host.Resources
		o.Host.Resources = func(ctx context.Context, a account.Account, l account.Limits, session string) (engine.Resources, error) {
			close(started)
			return open(ctx, a, l, session)
		}
	}})
	ada := w.member("ada", account.Standard)
	ctx, hangUp := context.WithCancel(t.Context())
	body := url.Values{"identity": {"ada"}, "password": {ada.key}, "q": {`WAIT 0.2 SECONDS WRITE "done" TO "/done.txt"`}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/api", strings.NewReader(body))
	check(t, err)
	req.Header.Set("Content-Type", formType)
	go func() {
		<-started
		hangUp()
	}()
	res, err := w.client.Do(req)
	if err == nil {
		defer res.Body.Close()
		t.Fatal("the call was answered")
	}
	if state := <-ran; state != job.Complete {
		t.Errorf("the script is %s", state)
	}
}

// TestBusy fills the node, and an account's own bound. A script that waits for
// something keeps its account's place, and computes nothing.
func TestBusy(t *testing.T) {
	gate := admit.NewGate(admit.GateOptions{Slots: 2, Wait: time.Millisecond})
	h := newHold(t)
	w := boot(t, limited(func(l *account.Limits) { l.Concurrent = 1 }), h.settings(), settings{service: func(o *service.Options) { o.Gate = gate }})
	t.Cleanup(h.free) // before the service is stopped
	ada, bob, carl := w.member("ada", account.Standard), w.member("bob", account.Standard), w.member("carl", account.Standard)
	done := make(chan response, 2)
	for _, m := range []member{ada, bob} {
		go func() { done <- w.query(m, "EMIT !QUOTA('x')", "") }()
		h.wait(t)
	}
	r := w.query(ada, "EMIT 1", "")
	if a := r.wantError(t, 429, "rate_limited"); a.Error.Limit != "concurrent" || a.Error.Value != 1 {
		t.Errorf("too many at once: %+v", a.Error)
	}
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	// Two that wait leave both slots free.
	if r := w.query(carl, "EMIT 1", ""); r.status != 200 {
		t.Errorf("beside scripts that wait: %d %s", r.status, r.body)
	}
	var computing []*admit.Ticket
	for i := range 2 {
		ticket, err := gate.Acquire(t.Context(), admit.Request{Account: int64(1000 + i)})
		check(t, err)
		computing = append(computing, ticket)
	}
	r = w.query(carl, "EMIT 1", "")
	r.wantError(t, 503, "overloaded")
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if f := w.form(carl, "EMIT 1", nil); f.status != 503 || f.header.Get("QL-Error") != "overloaded" || f.header.Get("Retry-After") == "" {
		t.Errorf("form: %d %v", f.status, f.header)
	}
	for _, ticket := range computing {
		ticket.Release()
	}
	h.free()
	for range 2 {
		if r := <-done; r.status != 200 {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	if r := w.query(carl, "EMIT 1", ""); r.status != 200 {
		t.Errorf("afterwards: %d %s", r.status, r.body)
	}
	if log := w.log.String(); log != "" {
		t.Errorf("being busy is logged as a fault:\n%s", log)
	}
}

func TestHTTPS(t *testing.T) {
	w := boot(t, settings{http: func(o *server.Options) { o.HTTPS = true }})
	ada := w.member("ada", account.Standard)
	r := w.query(ada, "START SESSION", "")
	if got := r.header.Get("Strict-Transport-Security"); got != "max-age=31536000" {
		t.Errorf("Strict-Transport-Security %q", got)
	}
	if got := r.header.Get("Set-Cookie"); !strings.HasSuffix(got, "; Path=/; HttpOnly; Secure; SameSite=Lax") {
		t.Errorf("cookie %q", got)
	}
}

// TestLargeBodies lets two large bodies share what there is room for one of.
func TestLargeBodies(t *testing.T) {
	ledger := admit.NewLedger(admit.LedgerOptions{Budget: 6 << 20, Unlimited: true, Wait: time.Millisecond})
	reading, free := make(chan struct{}), make(chan struct{})
	hold := server.Route{
		Method: "POST", Path: "/hold", Public: true, EncodeError: server.EncodeErrorJSON,
		Serve: func(_ http.Header, r *server.Request) (server.Response, error) {
			_, err := r.Body(jsonType, 16<<20)
			reading <- struct{}{}
			<-free
			return server.Response{Status: http.StatusOK}, err
		},
	}
	w := boot(t, settings{http: func(o *server.Options) { o.Routes, o.Ledger = append(o.Routes, hold), ledger }})
	ada := w.member("ada", account.Unlimited)
	large := strings.Repeat(" ", 2<<20)
	first := make(chan response)
	go func() { first <- w.send("POST", "/hold", jsonType, large) }()
	<-reading
	w.send("POST", "/v1/query", jsonType, large).wantError(t, 503, "overloaded")
	if r := w.query(ada, "EMIT 1", ""); r.status != 200 {
		t.Errorf("a small one: %d %s", r.status, r.body)
	}
	close(free)
	if r := <-first; r.status != 200 {
		t.Errorf("the first: %d %s", r.status, r.body)
	}
	w.send("POST", "/v1/query", jsonType, large).wantError(t, 400, "invalid_request")
	if s := ledger.Stats(); s.Held != 0 || s.Holders != 0 || s.Waiting != 0 {
		t.Errorf("afterwards the ledger has %+v", s)
	}
}
