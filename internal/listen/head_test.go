package listen

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// lines are headers as SetHead takes them.
func lines(h http.Header) []string {
	var all []string
	for name, values := range h {
		for _, value := range values {
			all = append(all, name+": "+value+"\r\n")
		}
	}
	slices.Sort(all)
	return all
}

var dated = regexp.MustCompile("Date: [^\r\n]*")

// TestHeadIsTheSame compares answers, to the byte, whose headers were set by SetHead, with such that were set as all others.
func TestHeadIsTheSame(t *testing.T) {
	shared := http.Header{
		"Accept-Ranges": {"bytes"}, "Cache-Control": {"no-store"}, "Content-Security-Policy": {"default-src 'none'"}, "Etag": {"\"a\""},
		"Last-Modified": {"yesterday"}, "QL-Job-Id": {"1"}, "Vary": {"Accept", "Origin"}, "X-Content-Type-Options": {"nosniff"},
	}
	for name, test := range map[string]struct {
		method, version string
		more            http.Header // set by the handler
		status, body    int
		isLong          bool
	}{
		"small":                {"GET", "1.1", nil, 200, 100, false},
		"empty":                {"GET", "1.1", nil, 200, 0, false},
		"fills the buffer":     {"GET", "1.1", nil, 200, answerBuffer, false},
		"large":                {"GET", "1.1", nil, 200, 64 << 10, false},
		"larger":               {"GET", "1.1", nil, 200, 3 << 20, false},
		"head":                 {"HEAD", "1.1", nil, 200, 64 << 10, false},
		"not found":            {"GET", "1.1", nil, 404, 100, false},
		"old":                  {"GET", "1.0", nil, 200, 100, false},
		"others between":       {"GET", "1.1", http.Header{"Age": {"1"}, "Ratelimit": {"a"}, "Set-Cookie": {"a=1", "b=2"}, "Zone": {"z"}}, 200, 100, false},
		"the same, by handler": {"GET", "1.1", http.Header{"Cache-Control": {"public"}, "Vary": {"Cookie"}, "X-Content-Type-Options": {"other"}}, 200, 5000, false},
		"closes":               {"GET", "1.1", http.Header{"Connection": {"close"}}, 200, 100, false},
		"just not too long":    {"GET", "1.1", http.Header{"Age": {strings.Repeat("1", mostSet-100)}, "Zone": {"z"}}, 200, 100, false},
		"too long":             {"GET", "1.1", http.Header{"Age": {strings.Repeat("1", 3*answerBuffer)}, "Zone": {"z"}}, 200, 100, true},
	} {
		t.Run(name, func(t *testing.T) {
			body := bytes.Repeat([]byte("0123456789"), test.body/10+1)[:test.body]
			answer := func(shares bool) []byte {
				client := dial(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					h := w.Header()
					h["Content-Type"] = []string{"text/plain"}
					h["Content-Length"] = []string{strconv.Itoa(len(body))}
					for name, values := range test.more {
						h[name] = values
					}
					if shares {
						isTaken := SetHead(r.Context(), h, lines(shared))
						if isTaken == test.isLong {
							t.Errorf("is it taken: %t", isTaken)
						}
						shares = isTaken
					}
					if !shares {
						for name, values := range shared {
							if h[name] == nil {
								h[name] = values
							}
						}
					}
					w.WriteHeader(test.status)
					_, _ = w.Write(body)
				}))
				// Two requests: what is kept of one must not meet the next.
				const last = "GET /last HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"
				if _, err := fmt.Fprintf(client, "%s / HTTP/%s\r\nHost: here\r\n\r\n"+last, test.method, test.version); err != nil {
					t.Fatal(err)
				}
				all, err := io.ReadAll(client)
				if err != nil {
					t.Fatal(err)
				}
				return dated.ReplaceAll(all, []byte("Date: today"))
			}
			plain, shared := answer(false), answer(true)
			if !bytes.Equal(plain, shared) {
				t.Errorf("%.2000q is not %.2000q", shared, plain)
			}
			if n := bytes.Count(plain, []byte("X-Content-Type-Options")); n < 1 {
				t.Errorf("%.1000q lacks headers", plain)
			}
		})
	}
}

// TestHeadElsewhere has requests that did not come by HTTP/1 without TLS.
func TestHeadElsewhere(t *testing.T) {
	if SetHead(t.Context(), nil, []string{"A: b\r\n"}) {
		t.Error("headers are taken where there is no connection")
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if SetHead(r.Context(), nil, []string{"A: b\r\n"}) {
			t.Error("headers are taken of an answer by TLS")
		}
		_, _ = w.Write(bytes.Repeat([]byte("x"), 2*answerBuffer))
	}))
	s.Listener = &limitedListener{Listener: s.Listener, slots: make(chan struct{}, 4), closed: make(chan struct{})}
	s.Config.ConnContext = withConn
	s.StartTLS()
	defer s.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if all, err := io.ReadAll(answer.Body); err != nil || len(all) != 2*answerBuffer {
		t.Errorf("%d bytes came, %v", len(all), err)
	}
}

// TestHeadIsNotLost checks that nothing is sent without the headers that were set.
func TestHeadIsNotLost(t *testing.T) {
	for _, first := range []string{"", "a body", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\nAge: 1"} {
		ours, _, client := pair(t)
		if !SetHead(withConn(context.Background(), ours), nil, []string{"B: c\r\n"}) {
			t.Fatal("it is not taken")
		}
		if n, err := ours.Write([]byte(first)); n != 0 || err == nil {
			t.Errorf("%q: %d bytes are written, %v", first, n, err)
		}
		_ = ours.Close()
		if got, err := io.ReadAll(client); err != nil || len(got) > 0 {
			t.Errorf("%q: the client got %q, %v", first, got, err)
		}
	}
}
