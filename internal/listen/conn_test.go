package listen

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/guard"
)

// countingConn counts the deadlines that a connection is told, and its reads of a byte.
type countingConn struct {
	net.Conn
	told, bytes atomic.Int64
}

func (c *countingConn) Read(p []byte) (int, error) {
	if len(p) == 1 {
		c.bytes.Add(1)
	}
	return c.Conn.Read(p)
}

func (c *countingConn) SetReadDeadline(t time.Time) error {
	c.told.Add(1)
	return c.Conn.SetReadDeadline(t)
}

func (c *countingConn) SetWriteDeadline(t time.Time) error {
	c.told.Add(1)
	return c.Conn.SetWriteDeadline(t)
}

// pair returns both ends of a connection, ours and the client's.
func pair(t *testing.T) (ours *conn, below *countingConn, client net.Conn) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	below = &countingConn{Conn: accepted}
	ours = newConn(below, func() {})
	t.Cleanup(func() {
		_ = ours.Close()
		_ = client.Close()
	})
	return ours, below, client
}

// TestDeadlinesAreToldOnce goes through what net/http and a handler do for each request.
func TestDeadlinesAreToldOnce(t *testing.T) {
	ours, below, client := pair(t)
	buffer := make([]byte, 4096)
	const requests = 50
	for range requests {
		_ = ours.SetReadDeadline(time.Now().Add(time.Minute)) // idle
		if _, err := client.Write([]byte("a request")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(ours, buffer[:9]); err != nil {
			t.Fatal(err)
		}
		_ = ours.SetReadDeadline(time.Now().Add(time.Minute / 2)) // its headers
		_ = ours.SetReadDeadline(time.Now().Add(time.Minute))     // all of it
		_ = ours.SetReadDeadline(time.Time{})
		ended := make(chan error)
		go func() {
			_, err := ours.Read(make([]byte, 1))
			ended <- err
		}()
		_ = ours.SetWriteDeadline(time.Now().Add(time.Minute))
		if _, err := ours.Write([]byte("an answer")); err != nil {
			t.Fatal(err)
		}
		_ = ours.SetReadDeadline(time.Unix(1, 0))
		if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("the wait for the caller's end gave %v", err)
		}
		_ = ours.SetReadDeadline(time.Time{})
		_ = ours.SetWriteDeadline(time.Time{})
		if _, err := io.ReadFull(client, buffer[:9]); err != nil {
			t.Fatal(err)
		}
	}
	// Where this is slow, some waits became reads, which are told their end, and the next call its deadline.
	told, reads := below.told.Load(), below.bytes.Load()
	if told > 4+3*reads {
		t.Errorf("%d deadlines were told for %d requests, of which %d were slow", told, requests, reads)
	}
}

// isBusy tells whether a call is on its way.
func (c *conn) isBusy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read.calls+c.write.calls > 0
}

// TestDeadlinesAreKept moves deadlines of calls that are on their way.
func TestDeadlinesAreKept(t *testing.T) {
	full := make([]byte, 16<<20) // more than the system holds for a client that reads nothing
	for name, kind := range map[string]struct {
		set  func(*conn, time.Time) error
		call func(*conn) error
	}{
		"read":  {(*conn).SetReadDeadline, func(c *conn) error { _, err := c.Read(make([]byte, 2)); return err }},
		"write": {(*conn).SetWriteDeadline, func(c *conn) error { _, err := c.Write(full); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			ours, _, _ := pair(t)
			begin := func() <-chan error {
				ended := make(chan error, 1)
				go func() { ended <- kind.call(ours) }()
				for !ours.isBusy() && len(ended) == 0 {
					runtime.Gosched()
				}
				return ended
			}
			for wait := 20 * time.Millisecond; ; wait *= 2 {
				first := time.Now().Add(wait)
				_ = kind.set(ours, first)
				ended := begin()
				later := first.Add(2 * wait)
				_ = kind.set(ours, later)
				inTime := time.Now().Before(first) // or else it is tried again
				err := <-ended
				if inTime && (!errors.Is(err, os.ErrDeadlineExceeded) || time.Now().Before(later)) {
					t.Errorf("a deadline that was put off: %v, %s early", err, time.Until(later))
				}
				if inTime {
					break
				}
			}
			if err := <-begin(); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("after its deadline: %v", err)
			}
			_ = kind.set(ours, time.Now().Add(time.Hour))
			ended := begin()
			_ = kind.set(ours, time.Now().Add(10*time.Millisecond))
			if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("a deadline that was brought forward: %v", err)
			}
			_ = kind.set(ours, time.Time{})
			ended = begin()
			_ = kind.set(ours, time.Unix(1, 0))
			if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("where none was: %v", err)
			}
		})
	}
}

// TestWriteGoesOn puts off a deadline: what is written is neither cut nor sent twice.
func TestWriteGoesOn(t *testing.T) {
	ours, _, client := pair(t)
	sent := make([]byte, 16<<20)
	for i := range sent {
		sent[i] = byte(i * i >> 8)
	}
	_ = ours.SetWriteDeadline(time.Now().Add(400 * time.Millisecond))
	ended := make(chan error, 1)
	go func() {
		n, err := ours.Write(sent)
		if n != len(sent) {
			t.Errorf("%d of %d bytes are said to be written", n, len(sent))
		}
		ended <- err
	}()
	for !ours.isBusy() {
		runtime.Gosched()
	}
	_ = ours.SetWriteDeadline(time.Now().Add(time.Hour))
	first, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	<-first.Done() // the first deadline is over, and the system's buffers are full
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(client, got); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil || !bytes.Equal(got, sent) {
		t.Errorf("the write ended with %v; is it what was sent: %t", err, bytes.Equal(got, sent))
	}
}

func TestWatch(t *testing.T) {
	read := func(c net.Conn, size int) <-chan string {
		ended := make(chan string, 1)
		go func() {
			p := make([]byte, size)
			n, err := c.Read(p)
			if err == nil {
				ended <- string(p[:n])
				return
			}
			ended <- err.Error()
		}()
		return ended
	}
	t.Run("what is sent meanwhile", func(t *testing.T) {
		ours, _, client := pair(t)
		waiting := read(ours, 1)
		_, _ = client.Write([]byte("pipelined"))
		_ = ours.SetReadDeadline(time.Unix(1, 0))
		first := <-waiting
		_ = ours.SetReadDeadline(time.Time{})
		if first != "p" && first != os.ErrDeadlineExceeded.Error() {
			t.Fatalf("the wait gave %q", first)
		}
		want := "pipelined"
		if first == "p" { // the wait had become a read
			want = want[1:]
		}
		rest := make([]byte, len(want))
		if _, err := io.ReadFull(ours, rest); err != nil || string(rest) != want {
			t.Errorf("then %q, %v", rest, err)
		}
	})
	t.Run("a byte", func(t *testing.T) {
		ours, _, client := pair(t)
		for range 2 { // the second is watched as the first is
			_, _ = client.Write([]byte("x"))
			if got := <-read(ours, 1); got != "x" {
				t.Errorf("%q was read", got)
			}
		}
	})
	t.Run("the caller hangs up", func(t *testing.T) {
		ours, _, client := pair(t)
		waiting := read(ours, 1)
		_ = client.Close()
		if got := <-waiting; got != "EOF" {
			t.Errorf("it gave %q", got)
		}
	})
	t.Run("it is closed here", func(t *testing.T) {
		ours, _, _ := pair(t)
		waiting := read(ours, 1)
		_ = ours.Close()
		if got := <-waiting; got == "" || got == "EOF" {
			t.Errorf("it gave %q", got)
		}
		<-read(ours, 1) // and so do those that begin later
	})
}

// TestHangUpEndsCall checks that a handler hears of it when its caller hangs up.
func TestHangUpEndsCall(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	client := dial(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(ended)
	}))
	if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: here\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-begun
	_ = client.Close()
	<-ended
}

// dial connects to a server with a handler.
func dial(t *testing.T, h http.Handler) net.Conn {
	t.Helper()
	l, err := Open(t.Context(), "listen", "127.0.0.1:0", Limits{Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(l, Options{Handler: h, Log: slog.New(slog.DiscardHandler), ReadHeaderTimeout: time.Minute, ReadTimeout: time.Minute, IdleTimeout: time.Minute})
	s.Start(guard.New(nil, nil), make(chan error, 1))
	client, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		_, _ = s.Shutdown(context.Background(), time.Now().Add(time.Minute))
	})
	return client
}
