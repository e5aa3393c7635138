package server

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"

	"ql/internal/fault"
	"ql/internal/forward"
	"ql/internal/service"
)

const (
	// nodeRetry is when a call may be sent again that a node did not get.
	nodeRetry = time.Second
	// forwardBuffer is how much of an answer is held at a time.
	forwardBuffer = 16 << 10
	// forwardBytes is about what a call that was sent on takes here until it is answered: the buffer, and those of its connection.
	forwardBytes = 64 << 10
	// How many calls are sent on at once, of all accounts and of one: an account whose callers read slowly keeps no
	// others from their databases.
	mostForwards      = 512
	mostForwardsOfOne = 128
	// forwardWait is how long a call waits for another one of its account.
	forwardWait = time.Second
)

// elsewhere is the error of a call that another node can answer.
type elsewhere interface {
	error
	NodeAddress() string // "" where it cannot be reached
	Owner() int64        // the account that it is for
}

func isElsewhere(err error) (there elsewhere, ok bool) {
	ok = errors.As(err, &there)
	return there, ok
}

const (
	// awayTime is how long a call waits for databases whose node is not there: one that stops has let them go by
	// then, one that died has not.
	awayTime  = 2 * time.Second
	awayPause = 100 * time.Millisecond
)

// pause waits; false where the context ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// runAnywhere runs a route, here or at the node that can. Whoever gets a request that was sent on sends it no further: should
// it belong to yet another one, that has just changed, and it is looked for once more.
func (h *Handler) runAnywhere(header http.Header, r *Request, route Route) (reply Response, err error) {
	began := time.Now()
	for tries := 0; tries < 2; {
		reply, err = h.run(header, r, route)
		there, ok := isElsewhere(err)
		if !ok || h.o.Nodes == nil || r.isForwarded || there.NodeAddress() == "" {
			return reply, err
		}
		body, length, ok := r.bodyToForward()
		if !ok { // what the script needs is known by then, and the next time it is sent on before its body is read
			return reply, fault.Retryable(fault.StorageUnavailable, nodeRetry, "another node has the databases of this account: send this again")
		}
		clear(header) // what was answered here is not
		var moved bool
		moved, err = h.forward(header, r, route, &reply, there, body, length)
		if errors.Is(err, forward.ErrNotSent) && (r.ContentLength == 0 || r.whole != nil) && time.Since(began) < awayTime && pause(r.Context(), awayPause) {
			r.Caller.Counted = true
			continue // a node that stops lets others have the databases in a moment
		}
		if !moved {
			return reply, err
		}
		tries++
		if r.ContentLength != 0 && r.whole == nil { // it was sent, and there is none left
			return reply, fault.Retryable(fault.StorageUnavailable, nodeRetry, "the databases of this account have just moved to another node: do this again")
		}
		r.Caller.Counted = true
	}
	return reply, err
}

// forward sends a request on, and makes its answer the reply; moved says that it belongs to yet another node.
func (h *Handler) forward(header http.Header, r *Request, route Route, reply *Response, there elsewhere, body io.ReadCloser, length int64) (moved bool, err error) {
	release, err := h.forwards.Acquire(r.Context(), there.Owner(), mostForwardsOfOne)
	if err != nil {
		return false, err
	}
	if err := r.Reserve(forwardBytes); err != nil {
		release()
		return false, err
	}
	until := route.Timeout + writeTime
	if r.sent != nil { // as long as it comes
		until += service.LongestTransfer
	}
	ctx, cancel := context.WithCancel(r.Context())
	// An answer that has begun takes as long as its caller does to read it.
	late := time.AfterFunc(until, cancel)
	end := func() {
		late.Stop()
		cancel()
		release()
		if r.sent != nil {
			r.sent.stop()
		}
	}
	answer, err := h.o.Nodes.Send(ctx, there.NodeAddress(), r.Request, forward.Origin{Addr: r.Caller.Addr, Encrypted: r.Caller.Encrypted, Site: h.o.RoutesAlone}, body, length) //nolint:bodyclose // once it was written
	if err != nil {
		end()
		return false, sendError(err)
	}
	late.Reset(service.LongestTransfer)
	if forward.HasMoved(answer) {
		_ = answer.Body.Close() // what it says is of no interest
		end()
		return true, fault.Retryable(fault.StorageUnavailable, nodeRetry, "the databases of this account are moving between nodes: do this again")
	}
	maps.Copy(header, answer.Header)
	reply.Status = answer.StatusCode
	reply.StreamWhole = func(_ context.Context, w io.Writer) error {
		_, err := io.CopyBuffer(struct{ io.Writer }{w}, answer.Body, make([]byte, forwardBuffer))
		return err
	}
	reply.After = func() { // also where nobody wants to read it, as after HEAD
		_ = answer.Body.Close() // it was read
		end()
	}
	return false, nil
}

// sendError says what is known of a call that another node did not answer.
func sendError(err error) error {
	var known *fault.Error
	switch {
	case errors.Is(err, forward.ErrNotSent):
		return fault.Retryable(fault.StorageUnavailable, nodeRetry, "the node that has the databases of this account does not answer: do this again in a while, when another one has them").WithCause(err)
	case errors.As(err, &known): // of its body
		return known
	}
	return fault.New(fault.OutcomeUnknown, "the node that ran this went away before it answered: whether it was done is not known. With an Idempotency-Key it could be sent again")
}

// bodyToForward returns the body to be sent on: as it comes where nothing of it was read, or all of it. Of what was
// read in parts nothing is left.
func (r *Request) bodyToForward() (body io.ReadCloser, length int64, ok bool) {
	switch {
	case r.ContentLength == 0:
		return http.NoBody, 0, true
	case r.whole != nil:
		body, length = forward.Bytes(r.whole)
		return body, length, true
	case r.body.read == 0 && r.sent == nil:
		r.sent = &sentBody{pacedReader: pacedReader{r: r, from: &r.body, time: paceTime, until: time.Now().Add(service.LongestTransfer)}, closed: make(chan struct{})}
		return r.sent, r.ContentLength, true
	}
	return nil, 0, false
}

// sentBody is a body that is sent on as it comes. The library reads it beside what it does with the answer, and goes on with
// that as it likes: it is stopped before the request ends, of which nobody may read any more then.
type sentBody struct {
	pacedReader
	once   sync.Once
	closed chan struct{} // when nobody reads it any more
}

// Close implements io.Closer.
func (b *sentBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

func (b *sentBody) isClosed() bool {
	select {
	case <-b.closed:
		return true
	default:
		return false
	}
}

// stop has nobody read it any more. What has not come may be read by others.
func (b *sentBody) stop() {
	b.mu.Lock()
	b.stopped = true
	b.mu.Unlock()
	if b.isClosed() {
		return
	}
	_ = b.r.control.SetReadDeadline(time.Now().Add(-time.Second)) // wakes who waits for it
	<-b.closed
	_ = b.r.control.SetReadDeadline(time.Time{})
	b.r.body.ended = b.r.body.ended && !b.interrupted
}
