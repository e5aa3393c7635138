package server

import (
	"io"
	"net/http"
	"time"
)

// Many clients send a whole body before they look for an answer. Where one is
// refused by then and its connection closed, they find that broken and never see
// why. So the unread body is read and discarded for a while, after the
// answer was sent.
const (
	drainBytes = 64 << 20
	drainTime  = 5 * time.Second
	mostDrains = 64 // at once
	// netHTTPDrain is what net/http discards by itself, and keeps the connection open.
	netHTTPDrain = 256 << 10
)

// countedBody is a body that knows how much of it was read.
type countedBody struct {
	io.ReadCloser
	read  int64
	ended bool // it was read to its end, or cannot be
}

// Read implements io.Reader.
func (s *countedBody) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.read += int64(n)
	s.ended = s.ended || err != nil
	return n, err
}

// hasUnreadBody tells whether much of the body may be on its way still. HTTP/2 can
// refuse it without closing the connection; a client that waits for 100 Continue has
// sent none.
func (r *Request) hasUnreadBody() bool {
	if r.sent != nil && !r.sent.isClosed() { // it is being read
		return r.ProtoMajor == 1
	}
	if r.ProtoMajor != 1 || r.ContentLength == 0 || r.body.ended || r.body.read == 0 && r.Header.Get("Expect") != "" {
		return false
	}
	return r.ContentLength < 0 || r.ContentLength-r.body.read > netHTTPDrain
}

// announceClose is called before the headers are sent of an answer that comes
// before the body was read: the connection ends with it.
func (r *Request) announceClose(h http.Header) {
	// What cannot do this, as in tests without a connection, has read all.
	_ = r.control.EnableFullDuplex()
	h.Set("Connection", "close")
}

// drain discards the unread body, after the answer. Where too many do,
// the connection is closed as it is.
func (h *Handler) drain(r *Request) {
	select {
	case h.drains <- struct{}{}:
		defer func() { <-h.drains }()
	default:
		return
	}
	if r.control.Flush() != nil || r.control.SetReadDeadline(time.Now().Add(drainTime)) != nil {
		return
	}
	// Whatever ends it, the connection is closed next.
	_, _ = io.CopyN(io.Discard, &r.body, drainBytes)
}
