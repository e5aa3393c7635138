package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/server"
	"ql/internal/service"
)

// makeDatabases makes the database that the routes of the tables are about.
func (w *world) makeDatabases(members ...member) {
	w.t.Helper()
	for _, m := range members {
		r := w.sql(m, accessKey, `{"sql":"CREATE TABLE IF NOT EXISTS t(a, b)","write":true}`)
		if r.status != 200 {
			w.t.Fatalf("%d %s", r.status, r.body)
		}
	}
}

// sql runs SQL on a database of an account.
func (w *world) sql(m member, name, body string) response {
	w.t.Helper()
	return w.send("POST", "/v1/databases/"+name+"/query", jsonType, body, "Authorization", basic(m.name, m.password))
}

func TestDatabases(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	mine := []string{"Authorization", basic(ada.name, ada.password)}
	for _, test := range []struct {
		body string
		want string // of the answer, without its frame
	}{
		{`{"sql":"CREATE TABLE t(id INTEGER PRIMARY KEY, a, b); INSERT INTO t(a, b) VALUES (?, ?), (NULL, 1.5)","params":["x\"y",{"base64":"AAE="}],"write":true}`,
			`[{"changes":0,"last_id":null},{"changes":2,"last_id":2}]`},
		{`{"sql":"SELECT a, b, a FROM t; SELECT count(*) AS n FROM t"}`,
			`[{"columns":["a","b","a"],"rows":[["x\"y",{"base64":"AAE="},"x\"y"],[null,1.5,null]],"more":false},{"columns":["n"],"rows":[[2]],"more":false}]`},
		{`{"sql":"SELECT id FROM t","limit":1}`, `[{"columns":["id"],"rows":[[1]],"more":true}]`},
		{`{"sql":"SELECT ?","params":[[1,{"a":null}]]}`, `[{"columns":["?"],"rows":[["[1,{\"a\":null}]"]],"more":false}]`},
	} {
		r := w.sql(ada, "main", test.body)
		if want := `{"status":"ok","results":` + test.want + `}`; r.status != 200 || r.body != want {
			t.Errorf("%s: %d\ngot  %s\nwant %s", test.body, r.status, r.body, want)
		}
	}
	// A script has the same database.
	if r := w.query(ada, `SELECT count(*) FROM t SET VALUE ?n; EMIT ?n`, "").read(t); r.Result == nil || *r.Result != "2" {
		t.Errorf("a script: %+v", r)
	}
	for _, test := range []struct {
		body   string
		status int
		code   string
	}{
		{`{"sql":"DELETE FROM t"}`, 422, "sql_denied"},
		{`{"sql":"SELECT * FROM u"}`, 422, "no_such_table"},
		{`{"sql":"DELETE FROM t; SELECT * FROM u","write":true}`, 422, "no_such_table"},
		{`{"sql":"INSERT INTO t(id) VALUES (1)","write":true}`, 422, "unique"},
		{`{"sql":"ATTACH 'x' AS y","write":true}`, 422, "sql_denied"},
		{`{"sql":"SELECT ?"}`, 422, "sql_error"},
		{`{"sql":"SELECT ?","params":[{"base64":"%"}]}`, 400, "invalid_request"},
		{`{"sql":"SELECT 1","limit":0}`, 400, "invalid_request"},
		{`{"sql":"SELECT 1","params":{}}`, 400, "invalid_request"},
		{`{"sql":"SELECT 1","more":1}`, 400, "invalid_request"},
		{`{}`, 400, "invalid_request"},
		{`{"sql":"WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c"}`, 422, "limit_exceeded"},
		{`{"sql":"WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c) SELECT x, printf('%1000s', x) FROM c","limit":100000}`, 422, "limit_exceeded"},
	} {
		w.sql(ada, "main", test.body).wantError(t, test.status, test.code)
	}
	w.sql(ada, "other", `{"sql":"SELECT 1"}`).wantError(t, 404, "not_found")
	w.sql(ada, "%20", `{"sql":"SELECT 1"}`).wantError(t, 422, "invalid_database")
	w.sql(bob, "main", `{"sql":"SELECT 1"}`).wantError(t, 404, "not_found")

	var listed struct {
		Databases []struct{ Name string }
		Tables    []struct {
			Name    string
			Rows    int
			Columns []struct{ Name string }
		}
		Next *string
	}
	check(t, json.Unmarshal([]byte(w.send("GET", "/v1/databases?limit=1", "", "", mine...).body), &listed))
	check(t, json.Unmarshal([]byte(w.send("GET", "/v1/databases/main", "", "", mine...).body), &listed))
	if got := fmt.Sprint(listed); got != "{[{main}] [{t 2 [{id} {a} {b}]}] <nil>}" {
		t.Errorf("listed: %s", got)
	}
	w.send("GET", "/v1/databases/other", "", "", mine...).wantError(t, 404, "not_found")
	w.send("GET", "/v1/databases?limit=0", "", "", mine...).wantError(t, 400, "invalid_request")

	sql := w.send("GET", "/v1/databases/main/export", "", "", mine...)
	if sql.status != 200 || !strings.Contains(sql.body, "INSERT INTO \"t\"") || !strings.HasSuffix(sql.body, "COMMIT;\n") || sql.header.Get("Content-Disposition") == "" {
		t.Errorf("%d %v %s", sql.status, sql.header, sql.body)
	}
	csv := w.send("GET", "/v1/databases/main/export?format=csv&table=t", "", "", mine...)
	if csv.status != 200 || csv.body != "id,a,b\n1,\"x\"\"y\",0001\n2,,1.5\n" {
		t.Errorf("%d %s", csv.status, csv.body)
	}
	for _, query := range []string{"format=xml", "format=csv", "format=sql&table=t", "table=", "more=1"} {
		w.send("GET", "/v1/databases/main/export?"+query, "", "", mine...).wantError(t, 400, "invalid_request")
	}
	w.send("GET", "/v1/databases/main/export?table=u", "", "", mine...).wantError(t, 404, "not_found")
	w.send("GET", "/v1/databases/other/export", "", "", mine...).wantError(t, 404, "not_found")

	if r := w.send("POST", "/v1/databases/copy/import", "", sql.body, mine...); r.body != `{"status":"ok","statements":3}` {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := w.send("POST", "/v1/databases/copy/import?table=t", "text/csv", "a,b\n1,2\n3,4\n", mine...); r.body != `{"status":"ok","rows":2}` {
		t.Errorf("%d %s", r.status, r.body)
	}
	w.send("POST", "/v1/databases/copy/import", "", "DELETE FROM t; SELECT * FROM u;", mine...).wantError(t, 422, "no_such_table")
	w.send("POST", "/v1/databases/copy/import?table=t", "", "a,z\n1,2\n", mine...).wantError(t, 422, "no_such_column")
	w.send("POST", "/v1/databases/new/import", "", "BEGIN; CREATE TABLE x(a);", mine...).wantError(t, 422, "sql_error")
	w.send("GET", "/v1/databases/new", "", "", mine...).wantError(t, 404, "not_found")
	if r := w.sql(ada, "copy", `{"sql":"SELECT count(*) FROM t"}`); !strings.Contains(r.body, "[[4]]") {
		t.Errorf("after the imports: %s", r.body)
	}

	if r := w.send("DELETE", "/v1/databases/copy", "", "", mine...); r.body != `{"status":"ok","name":"copy","result":"removed"}` {
		t.Errorf("%d %s", r.status, r.body)
	}
	w.send("DELETE", "/v1/databases/copy", "", "", mine...).wantError(t, 404, "not_found")
}

// TestDatabasesAtOnce has a hundred callers change and read one database: all are answered, and none
// that was told so is lost.
func TestDatabasesAtOnce(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Unlimited)
	w.sql(ada, "main", `{"sql":"CREATE TABLE t(a)","write":true}`)
	var all sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for i := range 100 {
		all.Go(func() {
			body := `{"sql":"INSERT INTO t VALUES (1)","write":true}`
			if i%2 == 1 {
				body = `{"sql":"SELECT count(*) FROM t"}`
			}
			r := w.sql(ada, "main", body)
			mu.Lock()
			defer mu.Unlock()
			if i%2 == 0 {
				statuses[r.status]++
			}
		})
	}
	all.Wait()
	r := w.sql(ada, "main", `{"sql":"SELECT count(*) FROM t"}`)
	if want := fmt.Sprintf(`"rows":[[%d]]`, statuses[200]); statuses[200] == 0 || !strings.Contains(r.body, want) {
		t.Errorf("%v: %s", statuses, r.body)
	}
	for status := range statuses {
		if status != 200 && status != 429 && status != 503 && status != 422 {
			t.Errorf("%v", statuses)
		}
	}
}

// TestExportIsBounded checks that a reader who stalls has one export, and that an export which cannot be
// written to its end is no whole one.
func TestExportIsBounded(t *testing.T) {
	w := boot(t, unlimitedCalls, settings{service: func(o *service.Options) {
		o.Limiter = admit.NewLimiter(admit.LimiterOptions{Unlimited: true})
	}})
	ada := w.member("ada", account.Standard)
	w.sql(ada, "main", `{"sql":"CREATE TABLE t(a); WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM c LIMIT 40000) INSERT INTO t SELECT printf('%1000d', x) FROM c","write":true}`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/v1/databases/main/export", nil)
	check(t, err)
	req.SetBasicAuth(ada.name, ada.password)
	stalled, err := w.client.Do(req)
	check(t, err)
	defer stalled.Body.Close()
	w.send("GET", "/v1/databases/main/export", "", "", "Authorization", basic(ada.name, ada.password)).wantError(t, 429, "rate_limited")
	// The account's scripts go on meanwhile.
	if r := w.sql(ada, "main", `{"sql":"INSERT INTO t VALUES (1); SELECT count(*) FROM t","write":true}`); !strings.Contains(r.body, "[[40001]]") {
		t.Errorf("%d %s", r.status, r.body)
	}
	text, err := io.ReadAll(stalled.Body)
	if err != nil || !strings.HasSuffix(string(text), "COMMIT;\n") || strings.Contains(string(text), "VALUES(1);") {
		t.Errorf("%v: %d bytes", err, len(text))
	}
}

// TestExportIsLoggedOnce checks what the account's log has of exports: those that were sent.
func TestExportIsLoggedOnce(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	w.sql(ada, "main", `{"sql":"CREATE TABLE t(a)","write":true}`)
	before := len(w.acts(ada))
	for _, method := range []string{"HEAD", "GET"} {
		for _, query := range []string{"", "?format=csv&table=t"} {
			if r := w.send(method, "/v1/databases/main/export"+query, "", "", "Authorization", basic(ada.name, ada.password)); r.status != 200 {
				t.Errorf("%s %s: %d %s", method, query, r.status, r.body)
			}
		}
	}
	if got := w.acts(ada)[before:]; len(got) != 2 || !strings.HasSuffix(got[0], " exported database main") || !strings.HasSuffix(got[1], " exported database main.t") {
		t.Errorf("the log has %q", got)
	}
}

// TestImportCutOff sends less than it announces: nothing of it is imported, wherever it ends.
func TestImportCutOff(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	const piece = 256 << 10
	text := "CREATE TABLE t(a);\n" + strings.Repeat(" ", 2*piece)
	for _, size := range []int{30, piece, piece + 1} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
		check(t, err)
		_, err = fmt.Fprintf(conn, "POST /v1/databases/half/import HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s",
			basic(ada.name, ada.password), len(text), text[:size])
		check(t, err)
		check(t, conn.(*net.TCPConn).CloseWrite())
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		check(t, err)
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("after %d bytes: %d", size, res.StatusCode)
		}
		check(t, res.Body.Close())
		check(t, conn.Close())
	}
	w.sql(ada, "half", `{"sql":"SELECT 1"}`).wantError(t, 404, "not_found")
}

// TestAnswerOfNames checks that an answer that grows by names of columns alone ends where it is too long.
func TestAnswerOfNames(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	w.sql(ada, "main", `{"sql":"CREATE TABLE w(`+strings.Repeat("x", 90_000)+`)","write":true}`)
	r := w.sql(ada, "main", `{"sql":"`+strings.Repeat("SELECT*FROM w;", 7000)+`"}`)
	if r.status != 422 || !strings.Contains(r.body, `"limit":"output"`) || !strings.Contains(r.body, "statement 1") {
		t.Errorf("%d %.300s", r.status, r.body)
	}
}

// TestPartIsNoWhole: an answer that is of no use in part is cut off where it cannot be written to its
// end, and its length tells nobody that it is whole.
func TestPartIsNoWhole(t *testing.T) {
	for _, failure := range []error{nil, errors.New("the rest is lost")} {
		h := server.New(server.Options{Routes: []server.Route{{
			Method: http.MethodGet, Path: "/whole", Public: true, EncodeError: server.EncodeErrorJSON,
			Serve: func(http.Header, *server.Request) (server.Response, error) {
				return server.Response{Status: http.StatusOK, StreamWhole: func(_ context.Context, w io.Writer) error {
					_, err := io.WriteString(w, "the beginning")
					return errors.Join(err, failure)
				}}, nil
			},
		}}})
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/whole", nil)
		check(t, err)
		res, err := s.Client().Do(req)
		check(t, err)
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if string(text) != "the beginning" || (err == nil) != (failure == nil) {
			t.Errorf("%v: %q %v", failure, text, err)
		}
	}
}
