package forward

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/guard"
	"ql/internal/listen"
)

// stoppable is a node that counts its calls, and is stopped while others send.
type stoppable struct {
	*Nodes
	server *listen.Server
	begun  atomic.Int64
}

func newStoppable(t *testing.T, serve http.HandlerFunc) *stoppable {
	t.Helper()
	nodes, err := Open(t.Context(), "127.0.0.1:0", "secret", listen.Limits{Connections: 10})
	if err != nil {
		t.Fatal(err)
	}
	s := &stoppable{Nodes: nodes}
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.begun.Add(1)
		serve(w, r)
	})
	failed := make(chan error, 1)
	s.server = nodes.Start(counted, nil, listen.Options{Log: slog.New(slog.DiscardHandler)}, guard.New(slog.New(slog.DiscardHandler), nil), failed)
	t.Cleanup(func() {
		select {
		case err := <-failed:
			t.Errorf("the server failed: %v", err)
		default:
		}
	})
	return s
}

// stop stops the server, and closes what it returns when it has stopped.
func (s *stoppable) stop(t *testing.T) <-chan struct{} {
	t.Helper()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if aborted, err := s.server.Shutdown(context.Background(), time.Now().Add(time.Minute)); err != nil || aborted != 0 {
			t.Errorf("%d calls were aborted, %v", aborted, err)
		}
	}()
	return stopped
}

// awaitEnding returns when connections are being ended.
func (s *stoppable) awaitEnding() {
	for {
		s.received.mu.Lock()
		isEnding := s.received.isEnding
		s.received.mu.Unlock()
		if isEnding {
			return
		}
		runtime.Gosched()
	}
}

// sender is a node that sends to others, by connections whose bytes are held up as the test likes.
type sender struct {
	*Nodes
	isHeld  atomic.Bool
	arrived chan struct{} // gets one when something has come that is held up, or the end
	wrote   chan struct{} // gets one when something was written while it is
	goOn    chan struct{} // closed when what is held up may come
}

func newSender(t *testing.T) *sender {
	t.Helper()
	nodes, err := Open(t.Context(), "", "secret", listen.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	s := &sender{Nodes: nodes, arrived: make(chan struct{}, 1), wrote: make(chan struct{}, 1), goOn: make(chan struct{})}
	nodes.client.Transport.(*http.Transport).DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		var dialer net.Dialer
		plain, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return nodes.secure(ctx, &heldConn{Conn: plain, by: s})
	}
	t.Cleanup(func() { _ = nodes.Close(context.Background()) })
	return s
}

type heldConn struct {
	net.Conn
	by *sender
}

func note(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Read implements net.Conn.
func (c *heldConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.by.isHeld.Load() {
		note(c.by.arrived)
		<-c.by.goOn
	}
	return n, err
}

// Write implements net.Conn.
func (c *heldConn) Write(p []byte) (int, error) {
	if c.by.isHeld.Load() {
		defer note(c.by.wrote)
	}
	return c.Conn.Write(p)
}

func (s *sender) send(t *testing.T, to, body string) (string, error) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	content, length := Bytes([]byte(body))
	answer, err := s.Send(t.Context(), to, r, Origin{Addr: netip.MustParseAddr("203.0.113.7")}, content, length)
	if err != nil {
		return "", err
	}
	got, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	return string(got), err
}

func greet(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // or its connection is not used again
	_, _ = io.WriteString(w, "hello")
}

// TestEndsBeforeACall: of a call that is sent by a connection which the other side is ending, which the sender has not heard yet, it
// is known that it was not begun.
func TestEndsBeforeACall(t *testing.T) {
	for _, body := range []string{"", "body", strings.Repeat("x", 4<<20)} {
		to, from := newStoppable(t, greet), newSender(t)
		if got, err := from.send(t, to.Address(), body); err != nil || got != "hello" {
			t.Fatalf("%q, %v", got, err)
		}
		from.isHeld.Store(true)
		stopped := to.stop(t)
		<-from.arrived // what it said, or its end
		sent := make(chan error)
		go func() { _, err := from.send(t, to.Address(), body); sent <- err }()
		<-from.wrote
		close(from.goOn)
		if err := <-sent; !errors.Is(err, ErrNotSent) {
			t.Errorf("what was not begun: %v", err)
		}
		<-stopped
		if got := to.begun.Load(); got != 1 {
			t.Errorf("%d calls were begun", got)
		}
		if _, err := from.send(t, to.Address(), body); !errors.Is(err, ErrNotSent) {
			t.Errorf("what was sent to nobody: %v", err)
		}
	}
}

// TestEndsAfterACall: a call that is under way is answered, and nothing is begun after it, however early it has come.
func TestEndsAfterACall(t *testing.T) {
	arrived, goOn := make(chan struct{}, 2), make(chan struct{})
	to := newStoppable(t, func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-goOn
		_, _ = io.WriteString(w, "hello")
	})
	c := dialRaw(t, to)
	const call = "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 4\r\nQl-Node-From: 203.0.113.7\r\nQl-Node-Method: GET\r\n\r\nbody"
	// The body of the first is not read before it is answered, and with it the second one is.
	if _, err := io.WriteString(c, call+call); err != nil {
		t.Fatal(err)
	}
	<-arrived
	stopped := to.stop(t)
	to.awaitEnding()
	close(goOn)
	all := bufio.NewReader(c)
	for i, status := range []int{http.StatusOK, http.StatusMisdirectedRequest} {
		answer, err := http.ReadResponse(all, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close() // it was read
		if err != nil || answer.StatusCode != status || HasMoved(answer) != (i == 1) || (string(body) == "hello") != (i == 0) {
			t.Errorf("%d %q with %v, %v", answer.StatusCode, body, answer.Header, err)
		}
	}
	select {
	case <-stopped:
		t.Error("the connection was ended by who may be sent something by it")
	default:
	}
	_ = c.Close()
	<-stopped
	if got := to.begun.Load(); got != 1 {
		t.Errorf("%d calls were begun", got)
	}
}

// TestEndsAlone: a node that does not end its connections is not waited for long, nor is who never said anything.
func TestEndsAlone(t *testing.T) {
	to := newStoppable(t, greet)
	dialRaw(t, to)
	var dialer net.Dialer
	silent, err := dialer.DialContext(t.Context(), "tcp", to.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	<-to.stop(t)
}

// TestPartingIsSecret: an answer that looks like the end of a connection is none.
func TestPartingIsSecret(t *testing.T) {
	to := newStoppable(t, greet)
	first, second := dialRaw(t, to), dialRaw(t, to)
	one, err := partingOf(first.ConnectionState())
	if err != nil {
		t.Fatal(err)
	}
	other, err := partingOf(second.ConnectionState())
	if err != nil || len(one) != len(other) || string(one) == string(other) {
		t.Errorf("two connections end by %q and %q, %v", one, other, err)
	}
	_, _ = first.Close(), second.Close()
	<-to.stop(t)
}

// dialRaw connects as a node, and does not more.
func dialRaw(t *testing.T, to *stoppable) *tls.Conn {
	t.Helper()
	c, err := (&tls.Dialer{Config: to.tls()}).DialContext(t.Context(), "tcp", to.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.(*tls.Conn)
}
