package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ql/internal/fault"
	"ql/internal/wire"
)

// readParts sends a body to a route that reads its parts, and returns what that came to.
func readParts(l PartLimits, contentType, body string, take func(*Part) error) (err error) {
	handler := New(Options{Routes: []Route{{
		Method: http.MethodPost, Path: "/x", Public: true, EncodeError: EncodeErrorJSON,
		Serve: func(_ http.Header, r *Request) (Response, error) {
			err = r.ReadParts(l, take)
			return Response{Status: 200}, nil
		},
	}}})
	req := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/x", strings.NewReader(body))
	req.Header.Set("Content-Type", contentType)
	handler.ServeHTTP(httptest.NewRecorder(), req)
	return err
}

const (
	partsType = "multipart/form-data; boundary=b"
	onePart   = "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n"
	oneFile   = "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"C:\\dir/x.txt\"\r\nContent-Type: text/plain\r\n\r\ntwo\r\n"
	noFile    = "--b\r\nContent-Disposition: form-data; name=\"g\"; filename=\"\"\r\nContent-Type: application/octet-stream\r\n\r\n\r\n"
)

func TestReadParts(t *testing.T) {
	stop := errors.New("enough")
	for _, test := range []struct {
		name, contentType, body string
		limits                  PartLimits
		take                    func(*Part) error
		want                    string // parts
		code                    fault.Code
	}{
		{name: "all kinds", contentType: partsType, body: onePart + oneFile + noFile + "--b--\r\n", want: `a false "" "" "one", f true "x.txt" "text/plain" "two", g true "" "application/octet-stream" "", `},
		{name: "nothing is read", contentType: partsType, body: onePart + oneFile + "--b--\r\n", take: func(*Part) error { return nil }},
		{name: "an error of who takes", contentType: partsType, body: onePart + "--b--\r\n", take: func(*Part) error { return stop }},
		{name: "none", contentType: partsType, body: "--b--\r\n"},
		{name: "no end", contentType: partsType, body: onePart + oneFile, want: `a false "" "" "one", `, code: fault.InvalidRequest},
		{name: "no boundary", contentType: "multipart/form-data", body: onePart, code: fault.InvalidRequest},
		{name: "another boundary", contentType: "multipart/form-data; boundary=c", body: onePart, code: fault.InvalidRequest},
		{name: "another type", contentType: "text/plain", body: onePart, code: "unsupported_media_type"},
		{name: "broken type", contentType: "multipart/form-data; =", body: onePart, code: "unsupported_media_type"},
		{name: "too many bytes", contentType: partsType, body: onePart + oneFile + "--b--\r\n", limits: PartLimits{Bytes: 100, Parts: 10}, want: `a false "" "" "one", `, code: fault.TooLarge},
		{name: "too many parts", contentType: partsType, body: onePart + oneFile + "--b--\r\n", limits: PartLimits{Bytes: 1000, Parts: 1}, want: `a false "" "" "one", `, code: fault.TooLarge},
		{name: "a header without end", contentType: partsType, body: "--b\r\nContent-Disposition: form-data; name=\"" + strings.Repeat("x", 1<<20), limits: PartLimits{Bytes: 2 << 20, Parts: 10}, code: fault.InvalidRequest},
		{name: "lines before it", contentType: partsType, body: strings.Repeat("\r\n", 1<<20), limits: PartLimits{Bytes: 4 << 20, Parts: 10}, code: fault.InvalidRequest},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.limits == (PartLimits{}) {
				test.limits = PartLimits{Bytes: 1000, Parts: 10, Time: time.Minute}
			}
			got := ""
			if test.take == nil {
				test.take = func(p *Part) error {
					content, err := io.ReadAll(p)
					if err == nil {
						got += fmt.Sprintf("%s %t %q %q %q, ", p.Name, p.IsFile, p.FileName, p.Type, content)
					}
					return err
				}
			}
			err := readParts(test.limits, test.contentType, test.body, test.take)
			if errors.Is(err, stop) {
				return
			}
			code := fault.Code("")
			if err != nil {
				code = codeOf(err)
			}
			if got != test.want || code != test.code {
				t.Errorf("got %s and %v, want %s and %q", got, err, test.want, test.code)
			}
		})
	}
}

func codeOf(err error) fault.Code {
	var refusal *wire.Refusal
	if errors.As(err, &refusal) {
		return fault.Code(refusal.Code)
	}
	return fault.Of(err).Code
}

// TestSlowParts: who sends a form with files slowly is cut off where nobody waits for it any more, also in
// the middle of a file.
func TestSlowParts(t *testing.T) {
	for _, test := range []struct {
		name  string
		time  time.Duration // that it may take
		every time.Duration // between pieces of 20,000 bytes
		want  int
		after time.Duration // at most
	}{
		{"held in memory, quick", 0, 100 * time.Millisecond, 200, 5 * time.Second},
		{"held in memory, slow", 0, 3 * time.Second, 400, 16 * time.Second},
		{"streamed, slow", time.Hour, 3 * time.Second, 200, 40 * time.Second},
		{"streamed, too slow altogether", 20 * time.Second, 3 * time.Second, 400, 21 * time.Second},
		{"streamed, and then not at all", time.Hour, time.Hour, 400, 16 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				handler := New(Options{Routes: []Route{{
					Method: http.MethodPost, Path: "/x", Public: true, Timeout: time.Minute, EncodeError: EncodeErrorJSON,
					Serve: func(_ http.Header, r *Request) (Response, error) {
						err := r.ReadParts(PartLimits{Bytes: 1 << 20, Parts: 10, Time: test.time}, func(p *Part) error {
							_, err := io.Copy(io.Discard, p)
							return err
						})
						return Response{Status: 200}, err
					},
				}}})
				var body bytes.Buffer
				w := multipart.NewWriter(&body)
				part, err := w.CreateFormFile("f", "x")
				if err == nil {
					_, err = part.Write(make([]byte, 200_000))
				}
				if err = errors.Join(err, w.Close()); err != nil {
					t.Fatal(err)
				}
				listener := make(pipes, 1)
				server := &http.Server{Handler: handler, ReadTimeout: 15 * time.Second}
				go func() { _ = server.Serve(listener) }()
				here, there := net.Pipe()
				listener <- there
				began := time.Now()
				go func() {
					head := "POST /x HTTP/1.1\r\nHost: x\r\nContent-Type: " + w.FormDataContentType() + "\r\nContent-Length: " + strconv.Itoa(body.Len()) + "\r\n\r\n"
					if _, err := io.WriteString(here, head); err != nil {
						return
					}
					for body.Len() > 0 {
						if _, err := here.Write(body.Next(20_000)); err != nil {
							return
						}
						time.Sleep(test.every)
					}
				}()
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

// FuzzReadParts: whatever is sent, no more of it is read than may be, and parts are those of a form.
func FuzzReadParts(f *testing.F) {
	f.Add(onePart + oneFile + noFile + "--b--\r\n")
	f.Add("--b\r\n\r\n--b--")
	f.Fuzz(func(t *testing.T, body string) {
		read := int64(0)
		err := readParts(PartLimits{Bytes: 4096, Parts: 5}, partsType, body, func(p *Part) error {
			n, err := io.Copy(io.Discard, p)
			read += n
			return err
		})
		if read > 4096 || err == nil && len(body) > 4096 && !strings.Contains(body[:4096], "--b--") {
			t.Errorf("%d bytes were read of %d: %v", read, len(body), err)
		}
	})
}
