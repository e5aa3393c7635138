// Package load is what the benchmarks of the service share: they start it as in
// production, in a process of its own, and call it on connections that stay
// open, with requests made beforehand. What is called, and what the figures
// mean, is each benchmark's own business.
package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// Caller is one connection, for one goroutine.
type Caller struct {
	conn  net.Conn
	in    *bufio.Reader
	times []time.Duration
	err   error
}

// Dial opens a connection.
func Dial(ctx context.Context, address string) (*Caller, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &Caller{conn: conn, in: bufio.NewReaderSize(conn, 16<<10)}, nil
}

// Close closes the connection, which has said all that counts.
func (c *Caller) Close() { _ = c.conn.Close() }

// Call sends a request and passes over its answer.
func (c *Caller) Call(request []byte) error {
	if _, err := c.conn.Write(request); err != nil {
		return err
	}
	return c.body(nil)
}

// Ask sends a request and returns the body of its answer.
func (c *Caller) Ask(request []byte) ([]byte, error) {
	if _, err := c.conn.Write(request); err != nil {
		return nil, err
	}
	var body bytes.Buffer
	err := c.body(&body)
	return body.Bytes(), err
}

// body reads an answer and copies its body; nil passes over it.
func (c *Caller) body(to *bytes.Buffer) error {
	length, err := c.head()
	if err != nil {
		return err
	}
	if length != inPieces {
		return c.take(to, length)
	}
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		length, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 31)
		if err != nil {
			return err
		}
		if err := c.take(to, int(length)); err != nil {
			return err
		}
		if _, err := c.in.Discard(len("\r\n")); err != nil || length == 0 {
			return err
		}
	}
}

// take reads so much of a body.
func (c *Caller) take(to *bytes.Buffer, length int) error {
	if to == nil {
		_, err := c.in.Discard(length)
		return err
	}
	_, err := io.CopyN(to, c.in, int64(length))
	return err
}

var (
	contentLength = []byte("Content-Length: ")
	chunked       = []byte("Transfer-Encoding: chunked")
)

// inPieces is the length of a body that comes in pieces, each with its own.
const inPieces = -1

// head reads the head of an answer, which must be a good one, and returns the
// length of its body.
func (c *Caller) head() (int, error) {
	status, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 20")) {
		refused := strings.TrimSpace(string(status))
		rest, _ := c.in.Peek(c.in.Buffered()) // what came with it, which mostly is all
		_, body, _ := bytes.Cut(rest, []byte("\r\n\r\n"))
		return 0, fmt.Errorf("the answer is %s %.300s", refused, body)
	}
	const unknown = -2
	length := unknown
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimSuffix(line, []byte("\r\n"))
		if len(line) == 0 {
			break
		}
		if value, ok := bytes.CutPrefix(line, contentLength); ok {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, err
			}
		} else if bytes.Equal(line, chunked) {
			length = inPieces
		}
	}
	if length == unknown {
		return 0, errors.New("the answer tells no length")
	}
	return length, nil
}

// Post returns a request as it goes over the wire.
func Post(host, path, kind, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", path, host, kind, len(body), body)
}

// Put returns a request as it goes over the wire, of somebody who is known by a password.
func Put(host, path, kind, body string, by Credentials) []byte {
	return signed("PUT", host, path, kind, body, by)
}

// PostBy returns a request as it goes over the wire, of somebody who is known by a password.
func PostBy(host, path, kind, body string, by Credentials) []byte {
	return signed("POST", host, path, kind, body, by)
}

func signed(method, host, path, kind, body string, by Credentials) []byte {
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Basic %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
		method, path, host, base64.StdEncoding.EncodeToString([]byte(by.Username+":"+by.Password)), kind, len(body), body)
}

// Get returns a request as it goes over the wire, with further lines of its head.
func Get(host, path string, lines ...string) []byte {
	request := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\n", path, host)
	for _, line := range lines {
		request = append(append(request, line...), "\r\n"...)
	}
	return append(request, "\r\n"...)
}
