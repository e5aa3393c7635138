package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
)

// TestContentBesideServeContent is the table of decision 0035 for files: what we answer
// to ranges and conditions, and what http.ServeContent would.
func TestContentBesideServeContent(t *testing.T) {
	const text = "0123456789"
	w := boot(t)
	ada := w.member("ada", account.Standard)
	files := w.filesOf(ada)
	if r := files.call("PUT", "/a.txt", text); r.status != 201 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	first := files.call("GET", "/a.txt", "")
	etag, modified := first.header.Get("Etag"), first.header.Get("Last-Modified")
	written, err := time.Parse(http.TimeFormat, modified)
	check(t, err)
	standard := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Etag", etag)
		http.ServeContent(w, r, "a.txt", written, strings.NewReader(text))
	}))
	t.Cleanup(standard.Close)

	type answer struct {
		status int
		body   string // of 200 and 206; else what it holds
		part   string // Content-Range
	}
	whole := answer{200, text, ""}
	unchanged := answer{304, "", ""}
	for _, test := range []struct {
		why            string
		headers        []string
		ours, standard answer
	}{
		{"all", nil, whole, whole},
		{"a range", []string{"Range", "bytes=2-4"}, answer{206, "234", "bytes 2-4/10"}, answer{206, "234", "bytes 2-4/10"}},
		{"from a byte on", []string{"Range", "bytes=7-"}, answer{206, "789", "bytes 7-9/10"}, answer{206, "789", "bytes 7-9/10"}},
		{"the last bytes", []string{"Range", "bytes=-3"}, answer{206, "789", "bytes 7-9/10"}, answer{206, "789", "bytes 7-9/10"}},
		{"more than there is", []string{"Range", "bytes=5-99"}, answer{206, "56789", "bytes 5-9/10"}, answer{206, "56789", "bytes 5-9/10"}},
		{"the caller has it", []string{"If-None-Match", etag}, unchanged, unchanged},
		{"the caller has it, weakly", []string{"If-None-Match", "W/" + etag}, unchanged, unchanged},
		{"not modified since", []string{"If-Modified-Since", modified}, unchanged, unchanged},
		{"a range of this content", []string{"Range", "bytes=2-4", "If-Range", etag}, answer{206, "234", "bytes 2-4/10"}, answer{206, "234", "bytes 2-4/10"}},
		{"a range of another content", []string{"Range", "bytes=2-4", "If-Range", `"other"`}, whole, whole},
		// Errors are answered in JSON, with a code, as everywhere.
		{"past the end", []string{"Range", "bytes=10-"}, answer{416, `"range_not_satisfiable"`, "bytes */10"}, answer{416, "invalid range", "bytes */10"}},
		{"another content is wanted", []string{"If-Match", `"other"`}, answer{412, `"precondition_failed"`, ""}, answer{412, "", ""}},
		{"no list of tags", []string{"If-Match", "other"}, answer{400, `"invalid_request"`, ""}, answer{412, "", ""}},
		// A header that is no range, or asks for what we do not give, asks for all
		// (RFC 9110, 14.2); the standard library refuses it.
		{"no range", []string{"Range", "bytes=x-y"}, whole, answer{416, "invalid range", ""}},
		{"a range that ends before it begins", []string{"Range", "bytes=5-2"}, whole, answer{416, "invalid range", ""}},
		{"another unit", []string{"Range", "lines=1-2"}, whole, answer{416, "invalid range", ""}},
		// Several ranges are one answer of several parts, which is for viewers of
		// documents; a hostile caller makes many of one file.
		{"several ranges", []string{"Range", "bytes=0-1,4-5"}, whole, answer{206, "Content-Range: bytes 4-5/10", ""}},
		// A second has room for two contents: a range is of the content that a tag
		// names, and of none that a moment does.
		{"a range by the time", []string{"Range", "bytes=2-4", "If-Range", modified}, whole, answer{206, "234", "bytes 2-4/10"}},
	} {
		t.Run(test.why, func(t *testing.T) {
			ours := files.call("GET", "/a.txt", "", test.headers...)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, standard.URL, nil)
			check(t, err)
			for i := 0; i+1 < len(test.headers); i += 2 {
				req.Header.Set(test.headers[i], test.headers[i+1])
			}
			res, err := http.DefaultClient.Do(req)
			check(t, err)
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			check(t, err)
			for name, one := range map[string]struct {
				got  response
				want answer
			}{"we": {ours, test.ours}, "ServeContent": {response{res.StatusCode, res.Header, string(body)}, test.standard}} {
				exact := one.want.body == "" || one.want.body == one.got.body
				if one.got.status != one.want.status || one.got.header.Get("Content-Range") != one.want.part || !exact && !strings.Contains(one.got.body, one.want.body) {
					t.Errorf("%s answer %d %q with the range %q, want %+v", name, one.got.status, one.got.body, one.got.header.Get("Content-Range"), one.want)
				}
			}
		})
	}
}
