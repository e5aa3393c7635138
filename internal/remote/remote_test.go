package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ql/internal/fault"
)

const testKey = "qln_test"

// serve answers calls, and returns a client for it.
func serve(t *testing.T, o Options, answer http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	o.URL = server.URL + o.URL
	if o.Key == "" && o.Password == "" {
		o.Key = testKey
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAddresses(t *testing.T) {
	for address, good := range map[string]bool{
		"https://ql.example.com":      true,
		"https://ql.example.com:8443": true,
		"https://ql.example.com/ql/":  true,
		"http://127.0.0.1:8080":       true,
		"http://[::1]:8080":           true,
		"http://localhost:8080":       true,
		"http://ql.localhost":         true,
		"http://ql.example.com":       false,
		"http://127.0.0.1.example":    false,
		"http://10.0.0.1":             false,
		"http://localhost.example":    false,
		"ql.example.com":              false,
		"https://":                    false,
		"ftp://ql.example.com":        false,
		"https://u:p@ql.example.com":  false,
		"https://ql.example.com?a=1":  false,
		"https://ql.example.com#a":    false,
		"https://ql.example.com:x":    false,
		"":                            false,
		"\x00":                        false,
	} {
		if _, err := New(Options{URL: address, Key: testKey}); (err == nil) != good || err != nil && !errors.Is(err, ErrAddress) {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := New(Options{URL: "http://ql.example.com", PlainHTTP: true}); err != nil {
		t.Error(err)
	}
}

func TestCall(t *testing.T) {
	var got *http.Request
	var body []byte
	c := serve(t, Options{URL: "/base/", Account: "ada", Agent: "ql/test"}, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		_, _ = w.Write([]byte(`{"status":"ok","name":"x"}`))
	})
	var answer struct{ Name string }
	err := c.Do(t.Context(), Call{Method: Put, Path: []string{"files", "a b", "%2F", "../..", "c?d#e"}, Query: map[string][]string{"limit": {"1"}}, JSON: map[string]int{"a": 1}}, &answer)
	if err != nil || answer.Name != "x" {
		t.Fatal(err, answer)
	}
	if got.RequestURI != "/base/v1/files/a%20b/%252F/..%2F../c%3Fd%23e?limit=1" || string(body) != `{"a":1}` {
		t.Errorf("%s %s", got.RequestURI, body)
	}
	for header, want := range map[string]string{"Authorization": "Bearer " + testKey, "Ql-Account": "ada", "User-Agent": "ql/test", "Content-Type": "application/json"} {
		if got.Header.Get(header) != want {
			t.Errorf("%s: %q", header, got.Header.Get(header))
		}
	}
	for _, part := range []string{".", ".."} {
		if err := c.Do(t.Context(), Call{Method: Delete, Path: []string{"keys", part}}, nil); !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%s: %v", part, err)
		}
	}
	c.o.Key, c.o.Password = "", "secret"
	if err := c.Do(t.Context(), Call{Method: Get, Path: []string{"keys"}}, nil); err != nil {
		t.Error(err)
	}
	if name, password, ok := got.BasicAuth(); !ok || name != "ada" || password != "secret" || got.Header.Get("QL-Account") != "" {
		t.Errorf("%v", got.Header)
	}
}

// TestRedirects: no key goes where an answer points to.
func TestRedirects(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("called with %v", r.Header)
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		c := serve(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", elsewhere.URL+"/v1/keys?secret=1")
			w.WriteHeader(status)
		})
		err := c.Do(t.Context(), Call{Method: Get, Path: []string{"keys"}}, nil)
		if err == nil || !strings.Contains(err.Error(), "leads to "+elsewhere.URL+"/v1/keys: name that") {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// TestCertificates: a service that cannot prove its name gets no key.
func TestCertificates(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("called") }))
	defer server.Close()
	server.Config.ErrorLog = nil
	c, err := New(Options{URL: server.URL, Key: testKey})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Do(t.Context(), Call{Method: Get, Path: []string{"keys"}}, nil)
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Error(err)
	}
	// The same by an authority that is trusted.
	called := false
	trusted := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		called = r.Header.Get("Authorization") == "Bearer "+testKey
	}))
	defer trusted.Close()
	if c, err = New(Options{URL: trusted.URL, Key: testKey, Transport: trusted.Client().Transport}); err != nil {
		t.Fatal(err)
	}
	if err := c.Do(t.Context(), Call{Method: Get, Path: []string{"keys"}}, nil); err != nil || !called {
		t.Error(err, called)
	}
}

func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		code   fault.Code
		want   string
	}{
		{404, `{"status":"error","error":{"code":"file_not_found","message":"there is none"}}`, fault.FileNotFound, "there is none"},
		{400, `{"status":"error","error":{"code":"invalid_request","message":"name: is missing","field":"name"}}`, fault.InvalidRequest, "invalid_request: name: is missing"},
		{400, `{"status":"error","error":{"code":"invalid_request","message":"is missing","field":"name"}}`, fault.InvalidRequest, "invalid_request: name: is missing"},
		{418, `{"status":"error","error":{"code":"of_a_later_version","message":"m"}}`, "of_a_later_version", "m"},
		{502, `<html>Bad gateway`, "", "answered 502 with what is no answer of this service"},
		{500, `{}`, "", "answered 500"},
		{500, ``, "", "answered 500"},
		{200, `<html>`, "", "answered 200"},
		{200, strings.Repeat("x", 2000), "", "longer than 1000 bytes"},
		{404, strings.Repeat("x", 2000), "", "longer than 1000 bytes"},
		{304, ``, "", "answered 304"},
	} {
		c := serve(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body)
		})
		c.most = 1000
		var into map[string]any
		err := c.Do(t.Context(), Call{Method: Get, Path: []string{"keys"}}, &into)
		if err == nil || !strings.Contains(err.Error(), test.want) || test.code != "" && !fault.Is(err, test.code) {
			t.Errorf("%d %.50s: %v", test.status, test.body, err)
		}
		if err != nil && strings.Contains(err.Error(), testKey) {
			t.Errorf("the key is told: %v", err)
		}
	}
}

func TestDetails(t *testing.T) {
	c := serve(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, `{"error":{"code":"syntax_error","message":"a","details":[{"code":"syntax_error","message":"b","line":2,"column":3}]}}`)
	})
	err := c.Do(t.Context(), Call{Method: Put, Path: []string{"scripts", "x"}}, nil)
	var detailed *DetailedError
	if !errors.As(err, &detailed) || len(detailed.Details) != 1 || detailed.Details[0] != (Detail{"", 2, 3, "b"}) || !fault.Is(err, fault.SyntaxError) {
		t.Error(err)
	}
}

func TestList(t *testing.T) {
	var asked []string
	c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		body := `{"status":"ok","things":[1,2],"next":"2"}`
		if r.URL.Query().Get("after") == "2" {
			body = `{"status":"ok","things":[3],"next":null}`
		}
		_, _ = io.WriteString(w, body)
	})
	list, err := List[int](t.Context(), c, Call{Method: Get, Path: []string{"things"}}, "things", "after", 1000)
	if err != nil || len(list) != 3 || strings.Join(asked, " ") != "limit=500 after=2&limit=500" {
		t.Error(list, err, asked)
	}
	if list, err := List[int](t.Context(), c, Call{Method: Get, Path: []string{"things"}}, "things", "after", 2); err != nil || len(list) != 2 {
		t.Error(list, err)
	}
	if _, err := List[int](t.Context(), c, Call{Method: Get, Path: []string{"things"}}, "others", "after", 2); err == nil {
		t.Error("a list that is not there")
	}
	// The pages together are bounded, too: this service has one after each.
	endless := serve(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"status":"ok","things":[1],"next":"2"}`)
	})
	endless.most = 1000
	if _, err := List[int](t.Context(), endless, Call{Method: Get, Path: []string{"things"}}, "things", "after", 1_000_000); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Error(err)
	}
}

// TestContent: a stored file is never taken for an answer of the service, nor the other way round.
func TestContent(t *testing.T) {
	attach := true
	c := serve(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		if attach {
			w.Header().Set("Content-Disposition", "attachment")
		}
		_, _ = io.WriteString(w, `{"files":[],"next":null}`)
	})
	call := Call{Method: Get, Path: []string{"files", "x"}}
	if _, err := List[int](t.Context(), c, call, "files", "after", 1); !errors.Is(err, ErrIsContent) {
		t.Error(err)
	}
	content, size, err := c.Download(t.Context(), call)
	if err != nil || size != 24 {
		t.Fatal(size, err)
	}
	if err := content.Close(); err != nil {
		t.Error(err)
	}
	attach = false
	if _, _, err := c.Download(t.Context(), call); !errors.Is(err, ErrIsNoContent) {
		t.Error(err)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := serve(t, Options{}, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if err := c.Do(ctx, Call{Method: Get, Path: []string{"keys"}}, nil); err == nil || !strings.HasPrefix(err.Error(), "interrupted") {
		t.Error(err)
	}
}

// FuzzAnswers reads whatever a machine at the address may say.
func FuzzAnswers(f *testing.F) {
	f.Add(200, []byte(`{"status":"ok","things":[1],"next":"x"}`))
	f.Add(422, []byte(`{"error":{"code":"syntax_error","message":"a","details":[{"line":-1}]}}`))
	f.Add(302, []byte(``))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		status = 200 + int(uint(status-200)%400) // those that http passes on
		c, err := New(Options{URL: "https://ql.example", Key: testKey, Transport: answering{status, body}})
		if err != nil {
			t.Fatal(err)
		}
		c.most = 1 << 16
		list, err := List[int](t.Context(), c, Call{Method: Get, Path: []string{"things"}}, "things", "after", 3)
		if err == nil && (status >= 300 || len(list) > 3+len(body)) || err != nil && err.Error() == "" {
			t.Errorf("%d %q: %v %v", status, body, list, err)
		}
	})
}

// answering is a machine that says the same to everybody.
type answering struct {
	status int
	body   []byte
}

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: http.Header{"Location": {"/x"}}, Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: r}, nil
}
