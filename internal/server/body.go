package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"ql/internal/admit"
	"ql/internal/fault"
	"ql/internal/service"
	"ql/internal/wire"
)

// Body reads the body, of at most so many bytes, and of the one media type that
// the route takes. Whose it is, is not known yet: so it is counted with others of its
// network, together with what it takes to decode it.
func (r *Request) Body(mediaType string, most int) ([]byte, error) {
	if err := wire.CheckType(mediaType, r.HeaderValue("Content-Type"), r.HeaderValue("Content-Encoding")); err != nil {
		return nil, err
	}
	body, err := r.RawBody(most)
	if err == nil && len(body) > service.UnreservedBytes {
		err = r.Reserve(wire.DecodeBytes(body))
	}
	return body, err
}

// DecodeLimits are the limits under which a body is decoded: what that takes is reserved.
func (r *Request) DecodeLimits(body []byte, l wire.Limits) wire.Limits {
	if len(body) > service.UnreservedBytes {
		l.Reserve = r.Reserve
	}
	return l
}

// RawBody is Body of whatever type, without what is made of it.
func (r *Request) RawBody(most int) ([]byte, error) {
	if r.whole != nil { // the call is looked at once more
		return r.whole, nil
	}
	if r.ContentLength > int64(most) {
		return nil, tooLarge(most)
	}
	var from io.Reader = &r.body
	if r.ContentLength < 0 { // where the length is declared, no more is read than that
		from = http.MaxBytesReader(r.writer, &r.body, int64(most))
	}
	size := int64(512)
	if r.ContentLength > 0 {
		size = min(r.ContentLength, service.UnreservedBytes) + 1 // one more, to meet the end
		most = int(r.ContentLength)
	}
	body, err := r.read(from, size, int64(most))
	if err != nil {
		return nil, BodyError(err, most)
	}
	// The time to send a request ends with the request.
	_ = r.control.SetReadDeadline(time.Time{})
	if r.keepsBody {
		r.whole = body
	}
	return body, nil
}

// ReadPart reads all of a part of the body, which is at most so long, and reserves
// what it takes.
func (r *Request) ReadPart(part io.Reader, most int) ([]byte, error) {
	body, err := r.read(part, 512, int64(most))
	if err != nil {
		return nil, BodyError(err, most)
	}
	return body, nil
}

// BodyStream returns the body as it comes, of whatever length and type, to be read
// to its end. Who sends it too slowly is cut off, and so is who is not done after
// so long.
func (r *Request) BodyStream(longest time.Duration) (io.Reader, error) {
	if err := wire.CheckEncoding(r.HeaderValue("Content-Encoding")); err != nil {
		return nil, err
	}
	now := time.Now()
	return &pacedReader{r: r, from: &r.body, time: paceTime, until: now.Add(longest)}, nil
}

// A sender must send at some speed, again and again within a time. Who sends what is
// held in memory has less of it.
const (
	paceTime  = writeTime
	stallTime = 5 * time.Second
)

// pacedReader is a body that must come at some speed.
type pacedReader struct {
	r     *Request
	from  io.Reader
	time  time.Duration // in which it must bring bytes
	began time.Time     // when the bytes began to count
	got   int64         // since then
	until time.Time     // when all must be there

	mu          sync.Mutex
	stopped     bool // nobody is to read it any more
	interrupted bool // by which a read ended
}

var errStopped = errors.New("this is read no more")

// setDeadline says until when the next bytes must come; an error that nobody is to wait for them.
func (in *pacedReader) setDeadline(t time.Time) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.stopped {
		return errStopped
	}
	// What cannot set a deadline, as in tests without a connection, has none.
	_ = in.r.control.SetReadDeadline(t)
	return nil
}

func (in *pacedReader) isStopped() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.stopped
}

// Read implements io.Reader.
func (in *pacedReader) Read(p []byte) (int, error) {
	if now := time.Now(); in.got == 0 || in.got >= minBytesPerSecond*int64(in.time/time.Second) && now.Sub(in.began) > time.Second {
		in.began, in.got = now, 0
		end := now.Add(in.time)
		if end.After(in.until) {
			end = in.until
		}
		if err := in.setDeadline(end); err != nil {
			return 0, err
		}
	} else if in.isStopped() {
		return 0, errStopped
	}
	n, err := in.from.Read(p)
	in.got += int64(n)
	switch {
	case errors.Is(err, io.EOF):
		_ = in.setDeadline(time.Time{})
	case err != nil && in.isStopped():
		in.interrupted = errors.Is(err, os.ErrDeadlineExceeded)
	case err != nil && !isTooLarge(err):
		err = fault.Invalid("body", "could not be read to its end: it was cut off, or came too slowly").WithCause(err)
	}
	return n, err
}

func isTooLarge(err error) bool {
	var over *http.MaxBytesError
	return errors.As(err, &over)
}

func tooLarge(most int) error {
	e := fault.New(fault.TooLarge, "is too large: %d bytes at most"+wire.WhateverThePlan, most)
	e.Field = "body" // and no limit: it is not known yet whose would count
	return e
}

// BodyError says why a body, of at most so many bytes, was not read.
func BodyError(err error, most int) error {
	var known *fault.Error
	var refused *admit.Refused
	switch {
	case isTooLarge(err):
		return tooLarge(most)
	case errors.As(err, &known), errors.As(err, &refused):
		return err
	}
	return fault.Invalid("body", "could not be read to its end").WithCause(err)
}

// read reads all, at most so many bytes, into a buffer that has a size at first. What
// is large is reserved as it comes: what its length promises may never come.
func (r *Request) read(whole io.Reader, size, most int64) (body []byte, err error) {
	from := whole
	body = make([]byte, 0, size)
	for {
		if len(body) == cap(body) {
			if body, err = r.grow(body, most); err != nil {
				return nil, err
			}
			if len(body) >= service.UnreservedBytes && from == whole {
				from = r.withStallLimit(from)
			}
		}
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			return body, nil
		}
		if err != nil {
			return body, err
		}
	}
}

// grow returns a body with room for more, and reserves that.
func (r *Request) grow(body []byte, most int64) ([]byte, error) {
	had := int64(cap(body))
	next := max(min(2*had, most+1), had+1)
	if next > service.UnreservedBytes+1 {
		if err := r.memory.Grow(r.Context(), next); err != nil {
			return nil, err
		}
	}
	larger := append(make([]byte, 0, next), body...)
	if had > service.UnreservedBytes+1 {
		r.memory.Shrink(had)
	}
	return larger, nil
}

// withStallLimit returns a body that is held in memory while it comes: who stalls is cut off.
func (r *Request) withStallLimit(from io.Reader) io.Reader {
	return &pacedReader{r: r, from: from, time: stallTime, until: r.began.Add(r.bodyTime)}
}

// Reserve reserves memory until the answer is written, or gives some of it back where
// the number is negative. The error is one to answer.
func (r *Request) Reserve(bytes int64) error {
	r.memory.Shrink(-bytes)
	return r.memory.Grow(r.Context(), bytes)
}

// streamBytes is about what one of the many streams that an HTTP/2 connection may
// have takes by itself. Of HTTP/1.1 connections are bounded, and each has one request.
const streamBytes = 24 << 10

// reserveHeaders reserves what a request takes before its body is read.
func (r *Request) reserveHeaders() error {
	var bytes int64
	for name, values := range r.Header {
		for _, v := range values {
			bytes += int64(len(name) + len(v))
		}
	}
	if bytes < service.UnreservedBytes {
		bytes = 0
	}
	if r.ProtoMajor > 1 {
		bytes += streamBytes
	}
	return r.memory.Grow(r.Context(), bytes)
}
