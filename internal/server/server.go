// Package server is everything that speaks HTTP: here what all endpoints share, which is finding
// the route of a request, telling where it comes from, reading its body within bounds, and writing
// what a route gives, errors and panics included. What a request means and what its answer looks
// like is decided in the packages below, one for each kind of client; what is done, by package
// service; listening and TLS are internal/app's.
package server

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"ql/internal/admit"
	"ql/internal/auth"
	"ql/internal/fault"
	"ql/internal/forward"
	"ql/internal/guard"
)

// Options are what a Handler is made of.
type Options struct {
	Routes []Route
	// RoutesAlone leaves out the routes that every service has, where all addresses are somebody's.
	RoutesAlone bool
	// Preflight returns why pages of an origin may not call, nil where some
	// account lists it.
	Preflight func(context.Context, auth.Origin) error
	// CheckRequest returns why a request is not served, whatever it asks for, and nil
	// where it is; may be left out.
	CheckRequest func(*http.Request) error
	// Ready returns why the service cannot work at the moment, or nil.
	Ready func(context.Context) error
	// OpenAPI is the description of the interface, in JSON.
	OpenAPI []byte
	// Proxies are the networks whose X-Forwarded-For and X-Forwarded-Proto
	// headers are believed.
	Proxies []netip.Prefix
	// Gate gives turns to write large answers in; nil gives them to everybody.
	Gate *admit.Gate
	// Ledger counts the memory that requests hold; nil counts nothing.
	Ledger *admit.Ledger
	// BodyTime is how long a caller may take to send a body that is held in memory;
	// 15 seconds where left out.
	BodyTime time.Duration
	// HostCookies says that hosts beside the one that is called are others', so that by https the
	// cookies of sessions have a name that keeps those from setting it.
	HostCookies bool
	// PlainCookies has the cookie of who is signed in sent by http too, as in development.
	PlainCookies bool
	// HTTPS says that callers reach the service by https, whatever reaches this
	// process.
	HTTPS bool
	// Nodes are those that a call can be sent on to; nil where there are none.
	Nodes *forward.Nodes
	Log   *slog.Logger // slog.Default() where left out
	// Guard reports panics; nil reports none.
	Guard *guard.Guard
	// OnServed is called with every answer: the route's path ("" for none), its status
	// and how long it took; may be left out.
	OnServed func(path string, status int, took time.Duration)
}

// Handler serves the routes.
type Handler struct {
	o      Options
	router *router
	// drains has a slot for each unread body that is being discarded.
	drains chan struct{}
	// forwards are the calls that other nodes answer.
	forwards *admit.TransferLimiter
}

// New returns a handler of the routes given and, where they are not alone, of those that every
// service has: its health and its description.
func New(o Options) *Handler {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.OnServed == nil {
		o.OnServed = func(string, int, time.Duration) {}
	}
	if o.BodyTime <= 0 {
		o.BodyTime = 15 * time.Second
	}
	h := &Handler{o: o, drains: make(chan struct{}, mostDrains), forwards: admit.NewTransferLimiter(admit.TransferOptions{Max: mostForwards, Wait: forwardWait, Reason: admit.AccountBusy})}
	routes := o.Routes
	if !o.RoutesAlone {
		routes = slices.Concat(h.healthRoutes(), routes)
	}
	h.router = newRouter(routes)
	return h
}

// longestURL is the longest address that is accepted.
const longestURL = 8 << 10

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	req := h.newRequest(w, r, began)
	defer req.memory.Release()
	e, variable := h.router.find(r.URL.Path)
	req.Variable = variable
	route := h.choose(e, r)
	err := h.checkRequest(r, route)
	if err == nil {
		err = req.reserveHeaders()
	}
	if err != nil {
		route.Serve = rejecting(err) // in the words of the address, whichever that is
	}
	status := h.serve(w, req, route)
	took := time.Since(began)
	h.o.OnServed(route.Path, status, took)
	h.logRequest(req, route, status, took)
	if req.isBroken {
		panic(http.ErrAbortHandler) // net/http cuts the connection
	}
	if req.hasUnreadBody() {
		h.drain(req)
	}
}

// singleHeaders are the headers that routes act on and of which only one can be
// meant. Those that hold lists may be sent in parts; a Content-Type of two is a
// type that no route accepts.
var singleHeaders = []string{
	"Authorization", "Content-Range", "Idempotency-Key", "If-Modified-Since", "If-Range", "If-Unmodified-Since",
	"Last-Event-Id", "Origin", "Range", "Sec-Fetch-Site",
}

// checkRequest says why a request is not served, whatever it asks for; nil where it
// is.
func (h *Handler) checkRequest(r *http.Request, route Route) error {
	if len(r.RequestURI) > longestURL {
		return fault.New(fault.TooLarge, "the address is too long: %d bytes at most", longestURL)
	}
	if h.o.CheckRequest != nil {
		if err := h.o.CheckRequest(r); err != nil {
			return err
		}
	}
	if route.Accepts == nil {
		return nil
	}
	for _, name := range singleHeaders {
		if n := len(r.Header[name]); n > 1 {
			return fault.Invalid(name, "occurs %d times: once fits", n)
		}
	}
	return nil
}
