package listen

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
)

// What net/http writes of an answer to HTTP/1, it writes into a buffer of this size. Its head is at the beginning of the first.
const answerBuffer = 4 << 10

// mostKept is how large a buffer is at most that is used again: sites may have long headers.
const mostKept = 2 * answerBuffer

// heads are buffers of what net/http wrote first, with the lines that were added.
var heads = sync.Pool{New: func() any { b := make([]byte, 0, answerBuffer+2<<10); return &b }}

type connKey struct{}

// withConn has a context know its connection, where that is one of ours without TLS.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if own, ok := c.(*conn); ok {
		return context.WithValue(ctx, connKey{}, own)
	}
	return ctx
}

// plainConn returns the connection of a request that came by HTTP/1 without TLS; nil for others.
func plainConn(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}

// SetHead has lines added to the head of the answer to a request, which is written next; false where they cannot be. They are
// whole, in the order of their names, and the headers that were set otherwise go before those of the same name.
func SetHead(ctx context.Context, set http.Header, lines []string) bool {
	c := plainConn(ctx)
	if c == nil || sizeOf(set) > mostSet {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.head = lines
	return true
}

// mostSet is how long the headers are at most that were set: with what net/http adds to them, the first that it writes has
// the whole head.
const mostSet = answerBuffer / 2

func sizeOf(h http.Header) (size int) {
	for name, values := range h {
		for _, value := range values {
			size += len(name) + len(": ") + len(value) + len("\r\n")
		}
	}
	return size
}

var errNoHead = errors.New("what begins an answer is not its head")

// writeHead writes what net/http wrote first of an answer, with the lines that are added. The connection is locked.
func (c *conn) writeHead(p []byte) (int, error) {
	buffer, _ := heads.Get().(*[]byte)
	defer heads.Put(buffer)
	all, ok := appendHead((*buffer)[:0], p, c.head)
	if !ok {
		return 0, errNoHead // and the connection is closed: without these headers nothing is sent
	}
	c.head = nil
	if *buffer = all; cap(all) > mostKept {
		*buffer = nil
	}
	if _, err := c.writeAll(all); err != nil {
		return 0, err
	}
	return len(p), nil
}

// appendHead appends what net/http wrote of an answer, which begins with its head, and lines in their places in that. False
// tells that it does not begin with the head of an answer.
func appendHead(to, p []byte, lines []string) ([]byte, bool) {
	status, rest, ok := cutLine(p)
	if !ok || !bytes.HasPrefix(status, []byte("HTTP/1.")) || len(status) < len("HTTP/1.1 200") || status[len("HTTP/1.1 ")] == '1' {
		return to, false
	}
	to = append(to, status...)
	// Headers that were set come in the order of their names, and those that net/http adds after them, the date first.
	for len(lines) > 0 {
		line, after, ok := cutLine(rest)
		if !ok {
			return to, false
		}
		name, _, isField := bytes.Cut(line, []byte(":"))
		if !isField || string(name) == "Date" {
			break
		}
		for len(lines) > 0 && lineName(lines[0]) < string(name) {
			to = append(to, lines[0]...)
			lines = lines[1:]
		}
		for len(lines) > 0 && lineName(lines[0]) == string(name) {
			lines = lines[1:]
		}
		to, rest = append(to, line...), after
	}
	for _, line := range lines {
		to = append(to, line...)
	}
	return append(to, rest...), true
}

// cutLine cuts after the end of the first line.
func cutLine(p []byte) (line, rest []byte, ok bool) {
	i := bytes.IndexByte(p, '\n')
	if i < 0 {
		return nil, nil, false
	}
	return p[:i+1], p[i+1:], true
}

func lineName(line string) string {
	name, _, _ := strings.Cut(line, ":")
	return name
}
