package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ql/internal/fault"
)

// refusals is a handler with routes that refuse a body in several ways.
func refusals() *Handler {
	route := func(method, path string, serve func(*Request) error) Route {
		return Route{Method: method, Path: path, EncodeError: EncodeErrorJSON, Timeout: time.Minute, Serve: func(h http.Header, r *Request) (Response, error) {
			return Response{Status: http.StatusOK, Body: []byte("{}")}, serve(r)
		}}
	}
	return New(Options{Routes: []Route{
		route(http.MethodPost, "/json", func(r *Request) error {
			_, err := r.Body("application/json", 1<<20)
			return err
		}),
		route(http.MethodPost, "/refused", func(*Request) error { return fault.New(fault.BadCredentials, "no") }),
		route(http.MethodPut, "/some", func(r *Request) error {
			body, err := r.BodyStream(time.Minute)
			if err == nil {
				_, err = io.CopyN(io.Discard, body, 100_000)
			}
			if err == nil {
				err = fault.New(fault.TooLarge, "is too large")
			}
			return err
		}),
		route(http.MethodPut, "/fine", func(*Request) error { return nil }),
	}})
}

// upload is a request whose body has so many bytes, all in its head but the body.
func upload(method, path, kind string, size int, chunked bool) (head string, body io.Reader) {
	head = method + " " + path + " HTTP/1.1\r\nHost: x\r\nContent-Type: " + kind + "\r\n"
	zeros := io.LimitReader(zero{}, int64(size))
	if !chunked {
		return head + fmt.Sprintf("Content-Length: %d\r\n\r\n", size), zeros
	}
	return head + "Transfer-Encoding: chunked\r\n\r\n", io.MultiReader(strings.NewReader(fmt.Sprintf("%x\r\n", size)), zeros, strings.NewReader("\r\n0\r\n\r\n"))
}

type zero struct{}

func (zero) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestRefusedBodies: a client that sends the whole body before it reads is
// answered all the same, and its connection then ends.
func TestRefusedBodies(t *testing.T) {
	server := httptest.NewServer(refusals())
	t.Cleanup(server.Close)
	const large = 17 << 20
	for _, test := range []struct {
		name, method, path, kind string
		chunked                  bool
		want                     int
	}{
		{"too large", "POST", "/json", "application/json", false, 413},
		{"too large, not said", "POST", "/json", "application/json", true, 413},
		{"of another type", "POST", "/json", "text/plain", false, 415},
		{"refused at once", "POST", "/refused", "", false, 401},
		{"refused at once, of unknown length", "POST", "/refused", "", true, 401},
		{"refused in the middle", "PUT", "/some", "", false, 413},
		{"refused in the middle, of unknown length", "PUT", "/some", "", true, 413},
		{"a method that is not there", "PATCH", "/json", "", false, 405},
		{"an address that is not there", "POST", "/nothing", "", false, 404},
		{"taken and not read", "PUT", "/fine", "", false, 200},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			head, body := upload(test.method, test.path, test.kind, large, test.chunked)
			if _, err := io.Copy(c, io.MultiReader(strings.NewReader(head), body)); err != nil {
				t.Fatalf("the body was not taken: %v", err)
			}
			from := bufio.NewReader(c)
			r, err := http.ReadResponse(from, nil)
			if err != nil {
				t.Fatalf("no answer: %v", err)
			}
			defer r.Body.Close()
			text, err := io.ReadAll(r.Body)
			if err != nil || r.StatusCode != test.want || !r.Close {
				t.Errorf("%d %s, closed %t, %v", r.StatusCode, text, r.Close, err)
			}
			if _, err := from.ReadByte(); !errors.Is(err, io.EOF) {
				t.Errorf("the connection goes on: %v", err)
			}
		})
	}
}

// TestSmallRefusedBodies: what is little is read by the server, and the
// connection is used again.
func TestSmallRefusedBodies(t *testing.T) {
	server := httptest.NewServer(refusals())
	t.Cleanup(server.Close)
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	from := bufio.NewReader(c)
	for range 2 {
		head, body := upload("POST", "/refused", "", 100_000, false)
		if _, err := io.Copy(c, io.MultiReader(strings.NewReader(head), body)); err != nil {
			t.Fatal(err)
		}
		r, err := http.ReadResponse(from, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil || r.StatusCode != http.StatusUnauthorized || r.Close {
			t.Errorf("%d, closed %t, %v", r.StatusCode, r.Close, err)
		}
		_ = r.Body.Close()
	}
}

// TestDrainIsBounded: who was answered and sends on, slowly or for ever, is cut
// off, and so is at once who comes when too many do.
func TestDrainIsBounded(t *testing.T) {
	for _, test := range []struct {
		name   string
		piece  int
		every  time.Duration
		full   bool // all places are taken
		expect bool
		after  time.Duration // at most
		most   int64         // bytes taken
	}{
		{"slow", 10, time.Second, false, false, drainTime + time.Second, 1000},
		{"nothing more", 0, time.Second, false, false, drainTime + time.Second, 0},
		{"for ever", 1 << 20, 0, false, false, drainTime + time.Second, drainBytes + 2<<20},
		{"too many", 1 << 20, time.Second, true, false, time.Second, 1 << 20},
		{"nothing before it is asked for", 0, time.Second, false, true, time.Second, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				handler := refusals()
				if test.full {
					for range mostDrains {
						handler.drains <- struct{}{}
					}
				}
				server := &http.Server{Handler: handler, ReadTimeout: time.Minute}
				listener := make(pipes, 1)
				served := make(chan error, 1)
				go func() { served <- server.Serve(listener) }()
				c, other := net.Pipe()
				listener <- other
				head, _ := upload("POST", "/refused", "", 1<<40, false)
				if test.expect {
					head = strings.Replace(head, "\r\n", "\r\nExpect: 100-continue\r\n", 1)
				}
				if _, err := io.WriteString(c, head); err != nil {
					t.Fatal(err)
				}
				from := bufio.NewReader(c)
				r, err := http.ReadResponse(from, nil)
				if err != nil || r.StatusCode != http.StatusUnauthorized {
					t.Fatalf("%v, %v", r, err)
				}
				defer r.Body.Close()
				began := time.Now()
				taken := make(chan int64, 1)
				go func() {
					sum := int64(0)
					for piece := make([]byte, test.piece); ; time.Sleep(test.every) {
						n, err := c.Write(piece)
						if sum += int64(n); err != nil {
							taken <- sum
							return
						}
					}
				}()
				if _, err := io.Copy(io.Discard, from); err != nil {
					t.Errorf("the end: %v", err)
				}
				if took := time.Since(began); took > test.after {
					t.Errorf("cut off after %s", took)
				}
				_ = c.Close()
				if n := <-taken; n > test.most {
					t.Errorf("%d bytes were taken", n)
				}
				synctest.Wait()
				if n := len(handler.drains); (n == mostDrains) != test.full || n != 0 && !test.full {
					t.Errorf("%d places are taken", n)
				}
				close(listener)
				<-served
				_ = server.Close()
				synctest.Wait()
			})
		})
	}
}
