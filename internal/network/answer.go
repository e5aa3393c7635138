package network

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"
)

// bounds are those of one call.
type bounds struct {
	bytes int64
	ratio int64
	total time.Duration
}

// free is how much a body may decompress to whatever its ratio: short texts
// often repeat themselves a lot.
const free = 64 << 10

var errTooSlow = errors.New("the time for the call is over")

// read returns the body of an answer, decompressed where unpack asks for it.
// With an error it returns what came before.
func (b bounds) read(r *http.Response, unpack bool) ([]byte, error) {
	sent := &counter{r: r.Body}
	if !unpack || !strings.EqualFold(r.Header.Get("Content-Encoding"), "gzip") {
		return b.readAll(sent, nil)
	}
	buffered := bufio.NewReader(sent)
	if _, err := buffered.Peek(1); errors.Is(err, io.EOF) {
		return nil, nil // as to a HEAD
	}
	unpacked, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, refuse(FetchFailed, "the answer says that it is gzip and is not").because(err)
	}
	body, err := b.readAll(unpacked, sent)
	r.Header.Del("Content-Encoding")
	r.Header.Del("Content-Length")
	return body, err
}

// chunks are what answers are read by, piece after piece.
var chunks = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// readAll reads within the bounds; packed counts what body is decompressed from.
func (b bounds) readAll(body io.Reader, packed *counter) ([]byte, error) {
	var all []byte
	held := chunks.Get().(*[]byte)
	defer chunks.Put(held)
	chunk := *held
	for {
		n, err := body.Read(chunk[:min(int64(len(chunk)), b.bytes+1-int64(len(all)))])
		all = append(all, chunk[:n]...)
		length := int64(len(all))
		if length > b.bytes {
			return all[:b.bytes], b.tooLarge()
		}
		if packed != nil && length > free && length > b.ratio*packed.n {
			return all, exceeds(LimitRatio, b.ratio, "the answer grows more than %d times when it is decompressed", b.ratio)
		}
		if packed != nil && packed.n > b.bytes {
			return all, b.tooLarge()
		}
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

func (b bounds) tooLarge() *Error {
	return exceeds(LimitBytes, b.bytes, "the answer has more than %s", size(b.bytes))
}

// size writes a number of bytes for people.
func size(n int64) string {
	for _, u := range []struct {
		name string
		unit int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.unit && n%u.unit == 0 {
			return fmt.Sprintf("%d %s", n/u.unit, u.name)
		}
	}
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// counter counts what is read.
type counter struct {
	r io.Reader
	n int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func (e *Error) because(cause error) *Error {
	e.cause = cause
	return e
}

// explain says in plain words why a call failed. Addresses of the node and of
// its resolvers, which the errors of package net name, stay untold.
func explain(ctx, limited context.Context, err error) error {
	var refused *Error
	if errors.As(err, &refused) {
		return refused
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	fail := func(format string, args ...any) error { return refuse(FetchFailed, format, args...).because(err) }
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	var record tls.RecordHeaderError
	var slow net.Error
	switch {
	case errors.Is(context.Cause(limited), errTooSlow):
		return fail("the host took too long to answer")
	case errors.As(err, &name) && name.IsNotFound:
		return fail("the host's name was not found")
	case errors.As(err, &name):
		return fail("the host's name could not be looked up")
	case errors.As(err, &certificate):
		return fail("the host's certificate is not valid: %s", flaw(certificate.Err))
	case errors.As(err, &alert), errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return fail("the host does not speak TLS as it should")
	case errors.Is(err, syscall.ECONNREFUSED):
		return fail("the host refused the connection")
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return fail("the host broke the connection off")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fail("the host ended the connection before its answer was whole")
	case errors.As(err, &slow) && slow.Timeout():
		return fail("the host could not be reached in time")
	}
	return fail("the host could not be reached, or its answer was no HTTP")
}

// flaw says what is wrong with a certificate.
func flaw(err error) string {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &unknown):
		return "nobody who is trusted has signed it"
	case errors.As(err, &name):
		return "it is for another host"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "it has expired, or is not valid yet"
	}
	return "it cannot be used for a host"
}
