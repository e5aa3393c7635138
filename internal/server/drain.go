package server

import (
	"io"
	"net/http"
	"time"
)

// Many clients send a whole body before they look for an answer. Where one is
// refused by then and its connection closed, they find that broken and never see
// why. So the rest of a body is read and thrown away for a while, after the
// answer was sent.
const (
	drainBytes = 64 << 20
	drainTime  = 5 * time.Second
	mostDrains = 64 // at once
	// ownDrain is what net/http throws away by itself, and keeps the connection.
	ownDrain = 256 << 10
)

// sent is a body that knows how much of it was read.
type sent struct {
	io.ReadCloser
	read  int64
	ended bool // it was read to its end, or cannot be
}

// Read implements io.Reader.
func (s *sent) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.read += int64(n)
	s.ended = s.ended || err != nil
	return n, err
}

// hasRest tells whether much of the body may be on its way still. HTTP/2 can
// refuse the rest of a body without the connection; a client that waits to be
// told to go on has sent none.
func (r *Request) hasRest() bool {
	if r.ProtoMajor != 1 || r.ContentLength == 0 || r.body.ended || r.body.read == 0 && r.Header.Get("Expect") != "" {
		return false
	}
	return r.ContentLength < 0 || r.ContentLength-r.body.read > ownDrain
}

// announceRest is called before the headers are sent of an answer that comes
// before the rest of the body: the connection ends with it.
func (r *Request) announceRest(h http.Header) {
	// What cannot do this, as in tests without a connection, has read all.
	_ = r.control.EnableFullDuplex()
	h.Set("Connection", "close")
}

// drain throws the rest of a body away, after the answer. Where too many do,
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
