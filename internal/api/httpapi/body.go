package httpapi

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"ql/internal/fault"
	"ql/internal/wire"
)

// Body reads the body, of at most so many bytes, and of the one media type that
// the route takes. Whose it is, is not known yet: so all large bodies together
// are held to a number of bytes too.
func (r *Request) Body(mediaType string, most int) ([]byte, error) {
	if err := wire.CheckType(mediaType, r.Sent("Content-Type"), r.Sent("Content-Encoding")); err != nil {
		return nil, err
	}
	return r.RawBody(most)
}

// RawBody is Body of whatever type.
func (r *Request) RawBody(most int) ([]byte, error) {
	if r.ContentLength > int64(most) {
		return nil, tooLarge(most)
	}
	var from io.Reader = &r.body
	if r.ContentLength < 0 { // of one that tells its length no more is read than that
		from = http.MaxBytesReader(r.writer, &r.body, int64(most))
	}
	body, err := r.read(from, int64(most))
	if err != nil {
		return nil, unread(err, most)
	}
	// The time to send a request is over with the request.
	_ = r.control.SetReadDeadline(time.Time{})
	return body, nil
}

// Incoming returns the body as it comes, of whatever length and type, to be read
// to its end. Who sends it too slowly is cut off, and so is who is not done after
// so long.
func (r *Request) Incoming(longest time.Duration) (io.Reader, error) {
	if err := wire.CheckEncoding(r.Sent("Content-Encoding")); err != nil {
		return nil, err
	}
	now := time.Now()
	return &incoming{r: r, began: now, until: now.Add(longest)}, nil
}

// paceTime is the time in which a sender must send paceBytes, again and again.
const (
	paceTime  = writeTime
	paceBytes = slowest * int64(paceTime/time.Second)
)

// incoming is a body that must come at some speed.
type incoming struct {
	r     *Request
	began time.Time // when the bytes began to count
	got   int64     // since then
	until time.Time // when all must be there
}

// Read implements io.Reader.
func (in *incoming) Read(p []byte) (int, error) {
	if now := time.Now(); in.got == 0 || in.got >= paceBytes && now.Sub(in.began) > time.Second {
		in.began, in.got = now, 0
		end := now.Add(paceTime)
		if end.After(in.until) {
			end = in.until
		}
		// What cannot set a deadline, as in tests without a connection, has none.
		_ = in.r.control.SetReadDeadline(end)
	}
	n, err := in.r.body.Read(p)
	in.got += int64(n)
	switch {
	case errors.Is(err, io.EOF):
		_ = in.r.control.SetReadDeadline(time.Time{})
	case err != nil:
		err = fault.Invalid("body", "could not be read to its end: it was cut off, or came too slowly").Because(err)
	}
	return n, err
}

func tooLarge(most int) error {
	e := fault.New(fault.TooLarge, "is too large: %d bytes at most"+wire.WhateverThePlan, most)
	e.Field = "body" // and no limit: it is not known yet whose would count
	return e
}

// unread says why a body was not read.
func unread(err error, most int) error {
	var over *http.MaxBytesError
	var refused *fault.Error
	switch {
	case errors.As(err, &over):
		return tooLarge(most)
	case errors.As(err, &refused):
		return err
	}
	return fault.Invalid("body", "could not be read to its end").Because(err)
}

const (
	// firstRead bounds what is set aside for a body before any of it has come.
	firstRead = 64 << 10
	// smallBody is what a body may have without counting as a large one.
	smallBody = 1 << 20
)

// read reads all, without growing step by step where the length is known.
func (r *Request) read(from io.Reader, most int64) ([]byte, error) {
	size := int64(512)
	if r.ContentLength > 0 {
		size = min(r.ContentLength, firstRead) + 1 // one more, to meet the end
		most = r.ContentLength
	}
	body := make([]byte, 0, size)
	for {
		if len(body) == cap(body) {
			if err := r.reserve(len(body), most); err != nil {
				return nil, err
			}
			body = append(body, 0)[:len(body)]
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

// reserve takes what a body may come to off the budget, once it is a large one.
func (r *Request) reserve(length int, most int64) error {
	if r.held > 0 || length < smallBody {
		return nil
	}
	if !r.large.take(most) {
		return fault.Busy(fault.Overloaded, time.Second, "too many large requests at once: try again in a moment")
	}
	r.held = most
	return nil
}

// release gives back what the body took.
func (r *Request) release() {
	if r.held > 0 {
		r.large.give(r.held)
		r.held = 0
	}
}

// budget is a number of bytes that requests share.
type budget struct {
	mu   sync.Mutex
	left int64
}

func (b *budget) take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.left {
		return false
	}
	b.left -= n
	return true
}

func (b *budget) give(n int64) {
	b.mu.Lock()
	b.left += n
	b.mu.Unlock()
}
