package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"ql/internal/guard"
)

const (
	maxHeaderBytes = 32 << 10
	maxStreams     = 100 // of one HTTP/2 connection

	// What of HTTP/2 has come and is not read yet: of all streams of a connection, and
	// of one. The senders wait meanwhile.
	connectionBuffer = 256 << 10
	streamBuffer     = 128 << 10
)

// Server is an HTTP server on one listener.
type Server struct {
	http     *http.Server
	listener net.Listener
	drain    func(context.Context)
	served   chan struct{} // closed when it serves no more; nil before Start
	inFlight atomic.Int64  // calls
	stopping atomic.Bool
}

// Options are what a server is made of.
type Options struct {
	Handler http.Handler
	TLS     *tls.Config // nil for plain HTTP
	Log     *slog.Logger

	ReadHeaderTimeout, ReadTimeout, IdleTimeout time.Duration

	// ConnContext and ConnState are as in net/http.
	ConnContext func(context.Context, net.Conn) context.Context
	ConnState   func(net.Conn, http.ConnState)
	// Drain ends the connections when no more are to come, until the context ends. Where it is nil those that nobody uses are closed.
	Drain func(context.Context)
}

// NewServer returns a server that does not serve yet.
func NewServer(l net.Listener, o Options) *Server {
	s := &Server{listener: l, drain: o.Drain}
	if o.ConnContext == nil {
		o.ConnContext = withConn
	}
	counted := func(w http.ResponseWriter, r *http.Request) {
		s.inFlight.Add(1)
		defer s.inFlight.Add(-1)
		o.Handler.ServeHTTP(w, r)
	}
	s.http = &http.Server{
		Handler:           http.HandlerFunc(counted),
		TLSConfig:         o.TLS.Clone(), // which net/http changes, and several servers may be given one
		ReadHeaderTimeout: o.ReadHeaderTimeout,
		ReadTimeout:       o.ReadTimeout,
		IdleTimeout:       o.IdleTimeout,
		// How long an answer may take is a matter of each route, which sets it.
		MaxHeaderBytes: maxHeaderBytes,
		BaseContext:    func(net.Listener) context.Context { return awaited{context.Background()} },
		ConnContext:    o.ConnContext,
		ConnState:      o.ConnState,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: connectionBuffer, MaxReceiveBufferPerStream: streamBuffer,
		},
		// What clients do wrong is no news.
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	return s
}

// Address is where the server listens, with the port that it was given.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Start serves until Shutdown. The error of a listener that fails goes to failed.
func (s *Server) Start(g *guard.Guard, failed chan<- error) {
	s.served = make(chan struct{})
	g.Go("server", func() {
		defer close(s.served)
		err := g.DoErr("server", func() error {
			if s.http.TLSConfig != nil {
				return s.http.ServeTLS(s.listener, "", "")
			}
			return s.http.Serve(s.listener)
		})
		if !errors.Is(err, http.ErrServerClosed) && !s.stopping.Load() {
			failed <- fmt.Errorf("serving %s: %w", s.Address(), err)
		}
	})
}

// Shutdown takes no more calls and waits for those in flight, at most until the deadline.
// It returns how many it aborted.
func (s *Server) Shutdown(ctx context.Context, deadline time.Time) (aborted int64, err error) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	if s.drain != nil {
		s.stopping.Store(true)
		_ = s.listener.Close() // it is closed once more below
		s.drain(ctx)
	}
	if err = s.http.Shutdown(ctx); err != nil && ctx.Err() != nil {
		aborted = s.inFlight.Load()
		err = s.http.Close()
	}
	<-s.served
	return aborted, ignoreClosed(err)
}

// ShutdownAll is Shutdown of several servers at once.
func ShutdownAll(ctx context.Context, g *guard.Guard, deadline time.Time, servers []*Server) (aborted int64, err error) {
	type ended struct {
		aborted int64
		err     error
	}
	ends := make(chan ended, len(servers))
	for _, s := range servers {
		g.Go("server", func() {
			n, err := s.Shutdown(ctx, deadline)
			ends <- ended{n, err}
		})
	}
	for range servers {
		e := <-ends
		aborted, err = aborted+e.aborted, errors.Join(err, e.err)
	}
	return aborted, err
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// LocalAddress is an address by which this machine reaches a listener at another.
func LocalAddress(address string) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return address
	}
	if at.Addr().IsUnspecified() {
		return net.JoinHostPort("localhost", strconv.Itoa(int(at.Port())))
	}
	return at.String()
}
