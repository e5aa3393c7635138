package server

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"ql/internal/admit"
	"ql/internal/fault"
)

// pipes is a listener of connections in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestSlowBodies sends a body at several speeds: one that comes too slowly, or
// takes too long altogether, is cut off.
func TestSlowBodies(t *testing.T) {
	const longest = time.Minute
	for _, test := range []struct {
		name  string
		piece int // bytes
		every time.Duration
		size  int
		want  int
		after time.Duration // at most
	}{
		{"quick", 100_000, time.Millisecond, 1_000_000, 200, time.Second},
		{"just quick enough", 2048, time.Second, 40_000, 200, 25 * time.Second},
		{"too slow", 100, time.Second, 40_000, 400, 16 * time.Second},
		{"a byte at a time", 1, 10 * time.Second, 40_000, 400, 16 * time.Second},
		{"quick, and then not at all", 500_000, time.Hour, 1_000_000, 400, 16 * time.Second},
		{"too long altogether", 2048, time.Second, 400_000, 400, longest + time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				handler := New(Options{Routes: []Route{{
					Method: http.MethodPut, Path: "/x/{path}", Timeout: longest, EncodeError: EncodeErrorJSON,
					Serve: func(_ http.Header, r *Request) (Response, error) {
						body, err := r.BodyStream(longest)
						if err != nil {
							return Response{}, err
						}
						n, err := io.Copy(io.Discard, body)
						if err == nil && n != int64(test.size) {
							t.Errorf("%d bytes came", n)
						}
						if err != nil && !fault.Is(err, fault.InvalidRequest) {
							t.Errorf("the error is %v", err)
						}
						return Response{Status: 200}, err
					},
				}}})
				listener := make(pipes, 1)
				server := &http.Server{Handler: handler, ReadTimeout: 15 * time.Second}
				go func() { _ = server.Serve(listener) }()
				here, there := net.Pipe()
				listener <- there
				began := time.Now()
				go trickle(here, test.size, test.piece, test.every)
				res, err := http.ReadResponse(bufio.NewReader(here), nil)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); res.StatusCode != test.want || took > test.after {
					t.Errorf("%d after %s", res.StatusCode, took)
				}
				_ = res.Body.Close()
				_ = here.Close()
				close(listener)
				_ = server.Close()
				time.Sleep(2 * time.Hour) // until everybody has ended
			})
		})
	}
}

// TestStalledBody holds a body in memory while it comes: one that stalls is cut off
// soon, and one that comes at some speed has the time that a request has.
func TestStalledBody(t *testing.T) {
	const size = 100_000
	for _, test := range []struct {
		name        string
		piece       int
		every       time.Duration
		want        int
		least, most time.Duration
	}{
		{"quick", 50_000, time.Millisecond, 200, 0, time.Second},
		{"slow", 10_000, time.Second, 200, 8 * time.Second, 11 * time.Second},
		{"too slow altogether", 5_000, time.Second, 400, 14 * time.Second, 16 * time.Second},
		{"stalls at first", 1000, time.Hour, 400, 14 * time.Second, 16 * time.Second},
		{"stalls", 50_000, time.Hour, 400, 4 * time.Second, 6 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ledger := admit.NewLedger(admit.LedgerOptions{Budget: 16 << 20})
				handler := New(Options{Ledger: ledger, Routes: []Route{{
					Method: http.MethodPut, Path: "/x/{path}", EncodeError: EncodeErrorJSON,
					Serve: func(_ http.Header, r *Request) (Response, error) {
						body, err := r.RawBody(1 << 20)
						if err == nil && (len(body) != size || ledger.Stats().Held < size) {
							t.Errorf("%d bytes came, %d are reserved", len(body), ledger.Stats().Held)
						}
						return Response{Status: 200}, err
					},
				}}})
				listener := make(pipes, 1)
				server := &http.Server{Handler: handler, ReadTimeout: 15 * time.Second}
				go func() { _ = server.Serve(listener) }()
				here, there := net.Pipe()
				listener <- there
				began := time.Now()
				go trickle(here, size, test.piece, test.every)
				res, err := http.ReadResponse(bufio.NewReader(here), nil)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); res.StatusCode != test.want || took < test.least || took > test.most {
					t.Errorf("%d after %s", res.StatusCode, took)
				}
				_ = res.Body.Close()
				_ = here.Close()
				close(listener)
				_ = server.Close()
				time.Sleep(2 * time.Hour) // until everybody has ended
				if s := ledger.Stats(); s.Held != 0 || s.Holders != 0 {
					t.Errorf("afterwards the ledger has %+v", s)
				}
			})
		})
	}
}

// trickle sends a request piece by piece, as long as it is taken.
func trickle(to net.Conn, size, piece int, every time.Duration) {
	head := "PUT /x/y HTTP/1.1\r\nHost: x\r\nContent-Length: " + strconv.Itoa(size) + "\r\n\r\n"
	if _, err := io.WriteString(to, head); err != nil {
		return
	}
	for sent := 0; sent < size; sent += piece {
		if _, err := to.Write(make([]byte, min(piece, size-sent))); err != nil {
			return
		}
		time.Sleep(every)
	}
}
