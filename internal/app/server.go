package app

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

	"ql/internal/config"
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

// httpServer is an HTTP server on one listener.
type httpServer struct {
	http    *http.Server
	address string
	served  chan struct{} // closed when it serves no more; nil before start
	calls   atomic.Int64  // under way
}

func newServer(s *config.Settings, h http.Handler, t *tls.Config, log *slog.Logger) *httpServer {
	one := &httpServer{}
	counted := func(w http.ResponseWriter, r *http.Request) {
		one.calls.Add(1)
		defer one.calls.Add(-1)
		h.ServeHTTP(w, r)
	}
	one.http = &http.Server{
		Handler:           http.HandlerFunc(counted),
		TLSConfig:         t,
		ReadHeaderTimeout: s.ReadHeaderTimeout,
		ReadTimeout:       s.ReadTimeout,
		IdleTimeout:       s.IdleTimeout,
		// How long an answer may take is a matter of each route, which sets it.
		MaxHeaderBytes: maxHeaderBytes,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: connectionBuffer, MaxReceiveBufferPerStream: streamBuffer,
		},
		// What clients do wrong is no news.
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return one
}

// start serves until stop. The error of a listener that fails goes to failed.
func (s *httpServer) start(g *guard.Guard, l net.Listener, failed chan<- error) {
	s.served = make(chan struct{})
	g.Go("server", func() {
		defer close(s.served)
		err := g.DoErr("server", func() error {
			if s.http.TLSConfig != nil {
				return s.http.ServeTLS(l, "", "")
			}
			return s.http.Serve(l)
		})
		if !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("serving %s: %w", l.Addr(), err)
		}
	})
}

// stop takes no more calls and waits for those under way, at most until then. It
// returns how many it cut off.
func (s *httpServer) stop(ctx context.Context, until time.Time) (cut int64, err error) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	if err = s.http.Shutdown(ctx); err != nil && ctx.Err() != nil {
		cut = s.calls.Load()
		err = s.http.Close()
	}
	<-s.served
	return cut, ignoreClosed(err)
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// reachable is an address by which this machine reaches a listener.
func reachable(address string) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return address
	}
	if at.Addr().IsUnspecified() {
		return net.JoinHostPort("localhost", strconv.Itoa(int(at.Port())))
	}
	return at.String()
}
