package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ql/internal/server"
)

// muxOf is an http.ServeMux with the same routes, each of which answers 200 and its
// variable part. It panics where two routes are for the same requests.
func muxOf(w *world) *http.ServeMux {
	mux := http.NewServeMux()
	for _, route := range w.handler.Routes() {
		pattern := strings.Replace(route.Path, "{path}", "{path...}", 1)
		if route.Method != server.AnyMethod {
			pattern = route.Method + " " + pattern
		}
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Variable", r.PathValue("id")+r.PathValue("token")+r.PathValue("path"))
		})
	}
	return mux
}

// TestRouterBesideServeMux is the table of decision 0035: what our router answers, and
// what http.ServeMux would. Where they differ, ours is what callers rely on.
func TestRouterBesideServeMux(t *testing.T) {
	w := boot(t)
	mux := muxOf(w)
	type answer struct {
		status          int
		allow, location string
	}
	const aJob = "/v1/job/0d3f0a4e-7b8c-4d5e-9f00-112233445566"
	for _, test := range []struct {
		why, method, path string
		ours, mux         answer
	}{
		{"a route", "GET", "/healthz", answer{status: 200}, answer{status: 200}},
		{"HEAD is GET", "HEAD", "/healthz", answer{status: 200}, answer{status: 200}},
		{"no route", "GET", "/nothing", answer{status: 404}, answer{status: 404}},
		{"case matters", "POST", "/V1/query", answer{status: 404}, answer{status: 404}},
		{"an empty part", "GET", "/v1/job/", answer{status: 404}, answer{status: 404}},
		{"another method", "GET", "/v1/query", answer{405, "POST", ""}, answer{405, "POST", ""}},
		{"GET brings HEAD", "POST", "/v1/jobs", answer{405, "GET, HEAD", ""}, answer{405, "GET, HEAD", ""}},
		// The order of Allow is that of the routes, not of the alphabet.
		{"several methods", "POST", aJob, answer{405, "GET, HEAD, DELETE", ""}, answer{405, "DELETE, GET, HEAD", ""}},
		// An address is what it is: nobody is sent elsewhere with what they sent.
		{"two slashes", "POST", "//v1/query", answer{status: 404}, answer{307, "", "/v1/query"}},
		{"dots", "POST", "/v1/../v1/query", answer{status: 404}, answer{307, "", "/v1/query"}},
		{"no slash before a rest", "GET", "/v1/files", answer{status: 404}, answer{307, "", "/v1/files/"}},
		{"two slashes in a file's path", "PUT", "/v1/files/a//b", answer{status: 401}, answer{307, "", "/v1/files/a/b"}},
		{"dots in a file's path", "PUT", "/v1/files/a/../b", answer{status: 401}, answer{307, "", "/v1/files/b"}},
		// A slash in an id is none of an id's, encoded or not.
		{"an encoded slash in an id", "GET", "/v1/job/a%2Fb", answer{status: 404}, answer{status: 200}},
		{"a slash after a literal", "POST", "/v1/query/", answer{status: 404}, answer{status: 404}},
	} {
		request := func() *http.Request { return httptest.NewRequestWithContext(t.Context(), test.method, test.path, nil) }
		ours, theirs := httptest.NewRecorder(), httptest.NewRecorder()
		w.handler.ServeHTTP(ours, request())
		mux.ServeHTTP(theirs, request())
		for name, one := range map[string]struct {
			got  *httptest.ResponseRecorder
			want answer
		}{"ours": {ours, test.ours}, "ServeMux": {theirs, test.mux}} {
			got := answer{one.got.Code, one.got.Header().Get("Allow"), one.got.Header().Get("Location")}
			if got != one.want {
				t.Errorf("%s: %s %s: %s answers %+v, want %+v", test.why, test.method, test.path, name, got, one.want)
			}
		}
		if kind := ours.Header().Get("Content-Type"); kind != "application/json" {
			t.Errorf("%s: %s %s: content type %q", test.why, test.method, test.path, kind)
		}
	}
}
