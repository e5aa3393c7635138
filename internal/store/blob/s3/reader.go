package s3

import (
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// reader reads an object. How long its user takes between reads is the user's matter; a read that
// waits for too long fails.
type reader struct {
	body    io.ReadCloser
	cancel  func()
	stall   *time.Timer
	stalled atomic.Bool
}

// newReader returns a reader of what cancel cancels: from now on it waits for its body.
func newReader(cancel func()) *reader {
	r := &reader{cancel: cancel}
	r.stall = time.AfterFunc(requestTime, func() {
		r.stalled.Store(true)
		cancel()
	})
	return r
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	r.stall.Reset(stallTime)
	n, err := r.body.Read(p)
	r.stall.Stop()
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	if r.stalled.Load() {
		err = errors.New("the content stopped coming")
	}
	// It says little of the bucket, which gives up those who read slowly.
	return n, unavailable(err)
}

// Close implements io.Closer.
func (r *reader) Close() error {
	r.stall.Stop()
	r.cancel()
	_ = r.body.Close() // it was only read
	return nil
}
