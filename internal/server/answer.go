package server

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ql/internal/auth"
	"ql/internal/forward"
	"ql/internal/listen"
	"ql/internal/service"
	"ql/internal/wire"
)

// Response is what a route answers. Meta and BeforeAuth count beside an error
// too.
type Response struct {
	service.Meta
	Status int
	Body   []byte
	// Head, where there is one, are the headers of Body besides those that the route sets; all that tell of
	// its type and its length are set.
	Head   *wire.Head
	Pieces wire.Pieces // instead of Body where that would be large
	// Stream, where there is one, writes what follows Body, as long as it likes.
	Stream func(ctx context.Context, w io.Writer)
	// StreamWhole is Stream of what is of no use in part: where it fails, the connection is cut, so
	// that nobody takes what was sent for all of it.
	StreamWhole func(ctx context.Context, w io.Writer) error
	// After, where there is one, is called once the answer was written, and may wait for the store.
	After func()
	// RetryAfter says when to try again; 0 says nothing.
	RetryAfter time.Duration
	// BeforeAuth says that the request was refused before its account was known: a
	// page that some account lists may read why, where the route is for pages.
	BeforeAuth bool
}

// RejectBeforeAuth is the response to a request that is refused before its account is
// known.
func RejectBeforeAuth(err error) (Response, error) { return Response{BeforeAuth: true}, err }

// writeTime is how long a client may take to read an answer.
const writeTime = 15 * time.Second

// serve runs a route and writes what it gives. It returns the status.
func (h *Handler) serve(w http.ResponseWriter, r *Request, route Route) int {
	// What cannot set a deadline, as in tests without a connection, has none. A caller that asks for it
	// is told to go on with its body; to others nothing is written before the answer.
	if r.ContentLength != 0 && len(r.Header["Expect"]) > 0 {
		_ = r.control.SetWriteDeadline(time.Now().Add(route.Timeout + writeTime))
	}
	if route.Timeout > 0 && r.ContentLength == 0 {
		// The time to send a request is over, and the server would take its end
		// for that of the caller.
		_ = r.control.SetReadDeadline(time.Time{})
	}
	header := w.Header()
	r.encodeError = route.EncodeError
	reply, err := h.runAnywhere(header, r, route)
	if err != nil {
		clear(header)
		refusal := service.Refused(err)
		h.log(r, route, refusal)
		if reply.BeforeAuth && route.Pages && r.Caller.Page != "" && h.o.Preflight(r.Context(), r.Caller.Origin) == nil {
			reply.Origin = r.Caller.Page
		}
		reply.Status = refusal.Status
		reply.Body, reply.Pieces = route.EncodeError(header, r.Setting(reply.Origin), refusal), nil
		reply.Head = nil
		reply.RetryAfter = refusal.RetryAfter
		if refusal.Allow != nil {
			header.Set("Allow", strings.Join(refusal.Allow, ", "))
		}
	}
	if r.isForwarded {
		_, moved := isElsewhere(err)
		if moved {
			reply.Status = http.StatusMisdirectedRequest
		}
		forward.SetMoved(header, moved)
	}
	if reply.RetryAfter > 0 {
		header.Set("Retry-After", wire.RetryAfter(reply.RetryAfter))
	}
	// A rate that is lifted counts nothing, and is nobody's business.
	if v := reply.Rate; v != nil && (v.Reset > 0 || !v.OK) {
		header.Set("RateLimit-Policy", v.Policy())
		header.Set("RateLimit", v.Limit())
	}
	if reply.After != nil {
		defer reply.After()
	}
	turns := h.turns(r, &reply)
	defer turns.Release()
	if !(reply.Head != nil && len(header["Content-Length"]) > 0) && reply.Stream == nil && reply.StreamWhole == nil && reply.Status != http.StatusNoContent && reply.Status != http.StatusNotModified {
		// After an error nobody is left to read the answer.
		length, _ := reply.Pieces.LenInTurns(func() error { return turns.Turn(r.Context()) })
		header["Content-Length"] = []string{strconv.FormatInt(int64(len(reply.Body))+length, 10)}
	}
	if r.ProtoMajor == 1 && len(r.TransferEncoding) > 0 {
		// Where a request has a Content-Length too, net/http takes that away
		// unseen. A proxy in front may have gone by it, and what it takes for the
		// rest of the body would be a request of somebody else's here.
		header.Set("Connection", "close")
	}
	if r.hasUnreadBody() {
		r.announceClose(header)
	}
	// However long the request took, there is time for its answer, and no more than that.
	_ = r.control.SetWriteDeadline(time.Now().Add(writeTime + time.Duration(len(reply.Body))*time.Second/minAnswerRate))
	setHead(w, r, reply.Head)
	w.WriteHeader(reply.Status)
	r.write(w, &reply, turns)
	return reply.Status
}

// setHead sets what the headers of an answer are made of besides what its route has set. Who stands between sees all of them.
func setHead(w http.ResponseWriter, r *Request, head *wire.Head) {
	if head == nil {
		return
	}
	_, isWrapped := w.(interface{ Unwrap() http.ResponseWriter })
	if isWrapped || head.Lines() == nil || !listen.SetHead(r.Context(), w.Header(), head.Lines()) {
		head.Set(w.Header())
	}
}

// turns is what large answers are written in: to escape a result takes as long as to
// make it, so whoever reads them computes in the turns of their account.
type turns interface {
	Yield()
	Turn(ctx context.Context) error
	Release()
}

func (h *Handler) turns(r *Request, reply *Response) turns {
	if reply.Pieces == nil {
		return noTurns{}
	}
	return r.turns()
}

func (r *Request) turns() turns {
	if r.gate == nil {
		return noTurns{}
	}
	return r.gate.Auxiliary(r.memory.Account())
}

// Compute does work that takes up to so many bytes until the answer is written, and a
// while: in the turns of the account that the call was assigned to. The work asks for
// its next turn now and then, and ends where it gets none.
func (r *Request) Compute(bytes int64, work func(turn func() error) error) error {
	if bytes <= service.UnreservedBytes {
		return work(func() error { return nil })
	}
	if err := r.Reserve(bytes); err != nil {
		return err
	}
	t := r.turns()
	defer t.Release()
	turn := func() error { return t.Turn(r.Context()) }
	if err := turn(); err != nil {
		return err
	}
	return work(turn)
}

// noTurns is for answers that take no time.
type noTurns struct{}

func (noTurns) Yield()                         {}
func (noTurns) Turn(ctx context.Context) error { return ctx.Err() }
func (noTurns) Release()                       {}

// write writes an answer. Where a caller has hung up, nobody is left to report to.
func (r *Request) write(w http.ResponseWriter, reply *Response, in turns) {
	switch {
	case r.Method == http.MethodHead:
		return
	case len(reply.Body) > wire.PieceBytes:
		for rest, p := reply.Body, (pacedWriter{w, r, noTurns{}}); len(rest) > 0; {
			n := min(len(rest), wire.PieceBytes)
			if _, err := p.Write(rest[:n]); err != nil {
				return
			}
			rest = rest[n:]
		}
	default:
		_, _ = w.Write(reply.Body)
	}
	if reply.Pieces != nil {
		r.writePieces(w, reply.Pieces, in)
	}
	if reply.Stream != nil {
		reply.Stream(r.Context(), flushingWriter{w, r.control})
	}
	if reply.StreamWhole != nil {
		r.isBroken = reply.StreamWhole(r.Context(), flushingWriter{w, r.control}) != nil
	}
}

// buffers are those of answers that are written in pieces.
var buffers = sync.Pool{New: func() any { return new([wire.PieceBytes]byte) }}

// writePieces writes an answer piece by piece. Where there is no room for the buffer of
// one more, it has to do with a small one.
func (r *Request) writePieces(w http.ResponseWriter, pieces wire.Pieces, in turns) {
	buffer := make([]byte, 0, 4<<10)
	if r.memory.TryGrow(wire.PieceBytes) {
		pooled, _ := buffers.Get().(*[wire.PieceBytes]byte)
		defer buffers.Put(pooled)
		buffer = pooled[:0]
	}
	if in.Turn(r.Context()) == nil {
		_ = pieces.Write(pacedWriter{w, r, in}, buffer)
	}
}

// minAnswerRate is how many bytes a second a client must take of an answer that is held in
// memory for it.
const minAnswerRate = 8 << 10

// pacedWriter writes pieces to a client that has a while for each. The next is made in its
// turn.
type pacedWriter struct {
	http.ResponseWriter
	r  *Request
	in turns
}

func (p pacedWriter) Write(b []byte) (int, error) {
	p.in.Yield()
	_ = p.r.control.SetWriteDeadline(time.Now().Add(writeTime + time.Duration(len(b))*time.Second/minAnswerRate))
	n, err := p.ResponseWriter.Write(b)
	if err == nil {
		err = p.in.Turn(p.r.Context())
	}
	return n, err
}

// minBytesPerSecond is how many bytes a second a client must send or take.
const minBytesPerSecond = 1 << 10

// flushingWriter sends what is written at once, to a client that has a while for it
// each time, and longer for more.
type flushingWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (f flushingWriter) Write(b []byte) (int, error) {
	_ = f.control.SetWriteDeadline(time.Now().Add(writeTime + time.Duration(len(b))*time.Second/minBytesPerSecond))
	n, err := f.ResponseWriter.Write(b)
	if err == nil {
		err = f.control.Flush()
	}
	return n, err
}

// run runs a route; a panic in it becomes an error.
func (h *Handler) run(header http.Header, r *Request, route Route) (reply Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			reply, err = Response{}, h.o.Guard.Report("http", p)
		}
	}()
	return route.Serve(header, r)
}

// log logs errors that are ours. Addresses of jobs are secrets: the route is logged
// instead.
func (h *Handler) log(r *Request, route Route, refusal *service.Refusal) {
	if refusal.Cause == nil {
		return
	}
	h.o.Log.LogAttrs(r.Context(), slog.LevelError, "a request met a fault of the service",
		slog.String("id", refusal.ID), slog.String("code", refusal.Code), slog.String("method", r.Method),
		slog.String("route", route.Path), slog.Any("error", refusal.Cause))
}

// knownMethods are those that a log shows: whoever calls may make up others.
var knownMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// logRequest logs a request that was answered: its route and not its address, and of its caller
// the network.
func (h *Handler) logRequest(r *Request, route Route, status int, took time.Duration) {
	if !h.o.Log.Enabled(r.Context(), slog.LevelDebug) {
		return
	}
	method := r.Method
	if !slices.Contains(knownMethods, method) {
		method = "other"
	}
	h.o.Log.LogAttrs(r.Context(), slog.LevelDebug, "a request was answered",
		slog.String("method", method), slog.String("route", cmp.Or(route.Path, "none")), slog.Int("status", status),
		slog.Int64("took_us", took.Microseconds()), slog.String("network", auth.Network(r.Caller.Addr).String()))
}

// EncodeErrorJSON writes an error as JSON does.
func EncodeErrorJSON(h http.Header, s wire.HeaderOptions, r *service.Refusal) []byte {
	wire.SetJSON(h, s)
	return r.AppendAnswer(nil)
}
