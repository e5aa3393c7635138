package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/fault"
	"ql/internal/forward"
	"ql/internal/guard"
	"ql/internal/listen"
)

// away is the error of what is at the node with an address.
type away string

func (away) Error() string         { return "it is elsewhere" }
func (a away) NodeAddress() string { return string(a) }
func (away) Owner() int64          { return 1 }

// twoNodes starts a node that serves routes, and one that sends all calls of them on. Around, where there is one, is what
// calls to the latter go through.
func twoNodes(t *testing.T, around func(http.Handler) http.Handler, routes ...Route) (front *httptest.Server) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	nodes, err := forward.Open(t.Context(), "127.0.0.1:0", "secret", listen.Limits{Connections: 200})
	if err != nil {
		t.Fatal(err)
	}
	home := nodes.Start(New(Options{Routes: routes, Nodes: nodes, Log: quiet}), nil, listen.Options{Log: quiet}, guard.New(quiet, nil), make(chan error, 1))
	t.Cleanup(func() {
		if _, err := home.Shutdown(context.Background(), time.Now().Add(10*time.Second)); err != nil {
			t.Error(err)
		}
		_ = nodes.Close(context.Background())
	})
	var sent []Route
	for _, r := range routes {
		r.Serve = func(h http.Header, _ *Request) (Response, error) {
			h.Set("X-Here", "is not for callers")
			return Response{}, away(nodes.Address())
		}
		sent = append(sent, r)
	}
	var handler http.Handler = New(Options{Routes: sent, Nodes: nodes, Log: quiet})
	if around != nil {
		handler = around(handler)
	}
	front = httptest.NewUnstartedServer(handler)
	front.EnableHTTP2 = true
	front.StartTLS()
	t.Cleanup(front.Close)
	return front
}

// head is what an answer begins with.
type head struct {
	StatusCode int
	Header     http.Header
}

func ask(t *testing.T, front *httptest.Server, method, path, body string) (head, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, front.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := front.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Header.Get("X-Here") != "" {
		t.Error("headers of what was not answered here are sent")
	}
	return head{answer.StatusCode, answer.Header}, string(content)
}

// TestForwardedAnswers: what a node answers is the answer, whatever its status and its headers are.
func TestForwardedAnswers(t *testing.T) {
	var ran atomic.Int64
	const large = 32 << 20
	front := twoNodes(t, nil,
		Route{Method: AnyMethod, Path: "/status/{id}", EncodeError: EncodeErrorJSON, Serve: func(h http.Header, r *Request) (reply Response, err error) {
			ran.Add(1)
			h.Set("Ql-Node-Moved", "1") // as a script might
			_, err = fmt.Sscan(r.Variable, &reply.Status)
			if reply.Status != http.StatusNoContent && reply.Status != http.StatusNotModified {
				reply.Body = []byte("text")
			}
			return reply, err
		}},
		Route{Method: http.MethodGet, Path: "/large", EncodeError: EncodeErrorJSON, Serve: func(http.Header, *Request) (Response, error) {
			return Response{Status: http.StatusOK, Body: make([]byte, large)}, nil
		}},
		// What is forwarded once is not sent on again.
		Route{Method: http.MethodGet, Path: "/moved", EncodeError: EncodeErrorJSON, Serve: func(http.Header, *Request) (Response, error) {
			ran.Add(1)
			return Response{}, away("127.0.0.1:1")
		}},
		Route{Method: http.MethodGet, Path: "/site", EncodeError: EncodeErrorJSON, Serve: func(http.Header, *Request) (Response, error) {
			ran.Add(1)
			return Response{}, fault.New(fault.MisdirectedRequest, "there is no site of this name here")
		}},
	)
	for _, test := range []struct {
		method, path string
		status       int
		body, length string
		ran          int64
	}{
		{"GET", "/status/200", 200, "text", "4", 1},
		{"HEAD", "/status/200", 200, "", "4", 1},
		{"OPTIONS", "/status/200", 200, "text", "4", 1},
		{"GET", "/status/204", 204, "", "", 1},
		{"GET", "/status/304", 304, "", "", 1},
		{"GET", "/status/421", 421, "text", "4", 1}, // of a script, which ran
		{"GET", "/moved", 503, "", "", 2},
	} {
		ran.Store(0)
		answer, body := ask(t, front, test.method, test.path, "")
		if answer.StatusCode != test.status || test.status != 503 && (body != test.body || answer.Header.Get("Content-Length") != test.length) || ran.Load() != test.ran {
			t.Errorf("%s %s: %d %q with %v, run %d times", test.method, test.path, answer.StatusCode, body, answer.Header, ran.Load())
		}
	}
	ran.Store(0)
	answer, _ := ask(t, front, "GET", "/site", "")
	if answer.StatusCode != http.StatusMisdirectedRequest || ran.Load() != 1 {
		t.Errorf("a site that is not there: %d, looked for %d times", answer.StatusCode, ran.Load())
	}
	if _, body := ask(t, front, "GET", "/large", ""); len(body) != large {
		t.Errorf("%d bytes come of %d", len(body), large)
	}
}

// TestForwardedStream: an answer that has begun may take longer than it may take to begin.
func TestForwardedStream(t *testing.T) {
	const begins = time.Second
	front := twoNodes(t, nil, Route{Method: http.MethodGet, Path: "/x", Timeout: begins - writeTime, EncodeError: EncodeErrorJSON, Serve: func(http.Header, *Request) (Response, error) {
		return Response{Status: http.StatusOK, StreamWhole: func(ctx context.Context, w io.Writer) error {
			_, _ = io.WriteString(w, "a while ")
			late := time.NewTimer(3 * begins / 2)
			defer late.Stop()
			select {
			case <-late.C:
			case <-ctx.Done():
				return ctx.Err()
			}
			_, err := io.WriteString(w, "later")
			return err
		}}, nil
	}}, Route{Method: http.MethodGet, Path: "/first", EncodeError: EncodeErrorJSON, Serve: func(http.Header, *Request) (Response, error) {
		return Response{Status: http.StatusOK}, nil
	}})
	ask(t, front, "GET", "/first", "") // so that the nodes are connected, however long that takes
	if _, body := ask(t, front, "GET", "/x", ""); body != "a while later" {
		t.Errorf("the answer is %q", body)
	}
}

// watchedBody knows whether somebody is reading it.
type watchedBody struct {
	io.ReadCloser
	reading atomic.Int64
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.reading.Add(1)
	defer b.reading.Add(-1)
	return b.ReadCloser.Read(p)
}

// TestForwardedBodyIsLeftAlone: a node refuses what it has not read, of which more is to come. Nobody reads it once the call
// has ended: with HTTP/2 that would end the process.
func TestForwardedBodyIsLeftAlone(t *testing.T) {
	begun := make(chan struct{}, 1)
	ended := make(chan int64, 1)
	around := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := &watchedBody{ReadCloser: r.Body}
			r.Body = body
			defer func() { ended <- body.reading.Load() }()
			next.ServeHTTP(w, r)
		})
	}
	front := twoNodes(t, around, Route{Method: http.MethodPut, Path: "/x", EncodeError: EncodeErrorJSON, Serve: func(_ http.Header, r *Request) (Response, error) {
		_, err := io.ReadFull(r.Request.Body, make([]byte, 10)) // so that it is on its way
		begun <- struct{}{}
		if err != nil {
			return Response{}, err
		}
		return Response{}, fault.New(fault.TooLarge, "is too large")
	}})
	for _, major := range []int{1, 2} {
		client := front.Client()
		if major == 1 {
			transport := client.Transport.(*http.Transport).Clone()
			transport.ForceAttemptHTTP2, transport.TLSNextProto = false, map[string]func(string, *tls.Conn) http.RoundTripper{}
			transport.TLSClientConfig.NextProtos = []string{"http/1.1"}
			defer transport.CloseIdleConnections()
			client = &http.Client{Transport: transport}
		}
		body, more := io.Pipe()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, front.URL+"/x", body)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.WriteString(more, "ten bytes, and no more come") }()
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != http.StatusRequestEntityTooLarge || answer.ProtoMajor != major {
			t.Errorf("the answer is %d by HTTP/%d", answer.StatusCode, answer.ProtoMajor)
		}
		<-begun
		_ = more.Close()
		if reading := <-ended; reading != 0 {
			t.Errorf("HTTP/%d: the body is read when its call has ended", major)
		}
		_ = answer.Body.Close()
	}
}

// TestForwardsOfOne: an account has so many calls sent on at once, and no more; all that they took is given back.
func TestForwardsOfOne(t *testing.T) {
	arrived, goOn := make(chan struct{}, mostForwardsOfOne), make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	front := twoNodes(t, nil, Route{Method: http.MethodGet, Path: "/x", EncodeError: EncodeErrorJSON, Serve: func(http.Header, *Request) (Response, error) {
		arrived <- struct{}{}
		<-goOn
		return Response{Status: http.StatusOK, Body: []byte("text")}, nil
	}})
	t.Cleanup(release) // before its servers wait for their calls
	var calls sync.WaitGroup
	// One after another: the handshakes of all at once may take a slow machine longer than a node is waited for.
	for range mostForwardsOfOne {
		failed := make(chan struct{})
		calls.Go(func() {
			defer close(failed)
			if answer, body := ask(t, front, "GET", "/x", ""); answer.StatusCode != http.StatusOK || body != "text" {
				t.Errorf("the answer is %d %q", answer.StatusCode, body)
			}
		})
		select {
		case <-arrived:
		case <-failed:
			t.FailNow()
		}
	}
	if answer, body := ask(t, front, "GET", "/x", ""); answer.StatusCode != http.StatusTooManyRequests {
		t.Errorf("one more is answered with %d %q", answer.StatusCode, body)
	}
	release()
	calls.Wait()
	if answer, _ := ask(t, front, "GET", "/x", ""); answer.StatusCode != http.StatusOK {
		t.Errorf("the next one is answered with %d", answer.StatusCode)
	}
}
