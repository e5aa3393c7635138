// Package server is everything that speaks HTTP: here what all endpoints share, which is finding
// the route of a request, telling where it comes from, reading its body within bounds, and writing
// what a route gives, errors and panics included. What a request means and what its answer looks
// like is decided in the packages below, one for each kind of client; what is done, by package
// service; listening and TLS are internal/app's.
package server

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"ql/internal/admit"
	"ql/internal/auth"
	"ql/internal/fault"
	"ql/internal/guard"
	"ql/internal/principal"
	"ql/internal/service"
	"ql/internal/wire"
)

// Route is one method of one address.
type Route struct {
	Method string
	Path   string // "{id}" stands for one part, as does "{token}"; "{path}" for all that follows
	// Accepts are the credentials that open the route; ByNobody where its address is
	// enough, as that of a job or a link. A public route has none, every other some.
	Accepts principal.Set
	Public  bool // nothing of an account is shown, and nobody is asked who calls
	Pages   bool // pages of listed origins may call it, so browsers may ask first
	// Longest is how long an answer may take; 0 for a moment.
	Longest time.Duration
	// Serve does what is asked for. It sets the headers of its answer.
	Serve func(http.Header, *Request) (Reply, error)
	// Refuse sets the headers of an error and returns its body.
	Refuse func(http.Header, wire.Setting, *service.Refusal) []byte
}

// Reply is what a route answers. Origin, Unread and Rate count beside an error
// too.
type Reply struct {
	Status int
	Body   []byte
	Pieces wire.Pieces // in the place of Body where that would be large
	// Stream, where there is one, writes what follows Body, as long as it likes.
	Stream func(ctx context.Context, w io.Writer)
	Origin string         // the page's, where it may read the answer
	Rate   *admit.Verdict // nil where no call was counted
	// RetryAfter says when to try again; 0 says nothing.
	RetryAfter time.Duration
	// Unread says that the request was refused before it told of an account: a
	// page that some account lists may read why, where the route is for pages.
	Unread bool
}

// Unread is the reply to a request that was refused before it told of an
// account.
func Unread(err error) (Reply, error) { return Reply{Unread: true}, err }

// Options are what a Handler is made of.
type Options struct {
	Routes []Route
	// Preflight returns why pages of an origin may not call, nil where some
	// account lists it.
	Preflight func(context.Context, auth.Origin) error
	// Refusal returns why a request is not served, whatever it asks for, and nil
	// where it is; may be left out.
	Refusal func(*http.Request) error
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
	// HTTPS says that callers reach the service by https, whatever reaches this
	// process.
	HTTPS bool
	Log   *slog.Logger // slog.Default() where left out
	// Guard is told of panics; nil for nobody.
	Guard *guard.Guard
	// Served is told of every answer: the route's path ("" for none), its status
	// and how long it took; may be left out.
	Served func(path string, status int, took time.Duration)
}

// Handler serves the routes.
type Handler struct {
	o     Options
	paths []path
	// drains has a place for each body whose rest is being thrown away.
	drains chan struct{}
}

// path is one address with its methods.
type path struct {
	pattern string
	routes  []Route
}

// New returns a handler of the routes given and of those that every service
// has: its health and its description.
func New(o Options) *Handler {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Served == nil {
		o.Served = func(string, int, time.Duration) {}
	}
	if o.BodyTime <= 0 {
		o.BodyTime = 15 * time.Second
	}
	h := &Handler{o: o, drains: make(chan struct{}, mostDrains)}
	for _, r := range append(h.own(), o.Routes...) {
		h.add(r)
	}
	return h
}

func (h *Handler) add(r Route) {
	if i := slices.IndexFunc(h.paths, func(p path) bool { return p.pattern == r.Path }); i >= 0 {
		h.paths[i].routes = append(h.paths[i].routes, r)
		return
	}
	h.paths = append(h.paths, path{pattern: r.Path, routes: []Route{r}})
}

// Routes returns all routes, for those who check them.
func (h *Handler) Routes() []Route {
	var all []Route
	for _, p := range h.paths {
		all = append(all, p.routes...)
	}
	return all
}

// find returns the address of a request, and what stands for its "{id}".
func (h *Handler) find(asked string) (p *path, id string) {
	for i := range h.paths {
		p := &h.paths[i]
		if p.pattern == asked {
			return p, ""
		}
		if id, ok := p.match(asked); ok {
			return p, id
		}
	}
	return nil, ""
}

// Pattern returns the path of the routes that an address falls under, "" for
// none: the address itself may hold a secret.
func (h *Handler) Pattern(asked string) string {
	if p, _ := h.find(asked); p != nil {
		return p.pattern
	}
	return ""
}

func (p *path) match(asked string) (id string, ok bool) {
	if prefix, ok := strings.CutSuffix(p.pattern, "{path}"); ok {
		return strings.CutPrefix(asked, prefix)
	}
	prefix, suffix, variable := strings.Cut(p.pattern, "{id}")
	if !variable {
		prefix, suffix, variable = strings.Cut(p.pattern, "{token}")
	}
	if !variable {
		return "", false
	}
	id, ok = strings.CutPrefix(asked, prefix)
	if !ok {
		return "", false
	}
	id, ok = strings.CutSuffix(id, suffix)
	return id, ok && id != "" && !strings.Contains(id, "/")
}

// methods returns what the address takes.
func (p *path) methods() []string {
	var all []string
	for _, r := range p.routes {
		all = append(all, r.Method)
		if r.Method == http.MethodGet {
			all = append(all, http.MethodHead)
		}
	}
	return all
}

// route returns the route of a method.
func (p *path) route(method string) (Route, bool) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, r := range p.routes {
		if r.Method == method {
			return r, true
		}
	}
	return Route{}, false
}

// longestURL is the longest address taken.
const longestURL = 8 << 10

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	req := h.request(w, r, began)
	defer req.memory.Release()
	p, id := h.find(r.URL.Path)
	req.ID = id
	route := h.choose(p, r)
	err := h.refusal(r, route)
	if err == nil {
		err = req.reserveHead()
	}
	if err != nil {
		route.Serve = refusing(err) // in the words of the address, whichever that is
	}
	status := h.serve(w, req, route)
	h.o.Served(route.Path, status, time.Since(began))
	if req.hasRest() {
		h.drain(req)
	}
}

// onceOnly are the headers that routes act on and of which only one can be
// meant. Those that hold lists may be sent in parts; a Content-Type of two is a
// type that no route takes.
var onceOnly = []string{
	"Authorization", "Content-Range", "Idempotency-Key", "If-Modified-Since", "If-Range", "If-Unmodified-Since",
	"Last-Event-Id", "Origin", "Range", "Sec-Fetch-Site",
}

// refusal says why a request is not served, whatever it asks for; nil where it
// is.
func (h *Handler) refusal(r *http.Request, route Route) error {
	if len(r.RequestURI) > longestURL {
		return fault.New(fault.TooLarge, "the address is too long: %d bytes at most", longestURL)
	}
	if h.o.Refusal != nil {
		if err := h.o.Refusal(r); err != nil {
			return err
		}
	}
	if route.Accepts == nil {
		return nil
	}
	for _, name := range onceOnly {
		if n := len(r.Header[name]); n > 1 {
			return fault.Invalid(name, "occurs %d times: once fits", n)
		}
	}
	return nil
}

// choose returns the route of an address that a request is for, or one that
// refuses it. Of no address p is nil.
func (h *Handler) choose(p *path, r *http.Request) Route {
	if p == nil {
		return Route{Refuse: RefuseJSON, Serve: refusing(fault.New(fault.NotFound,
			"there is nothing at this address: POST /v1/query and POST /api run scripts, and GET /openapi.json tells of the rest"))}
	}
	if route, ok := p.route(r.Method); ok {
		return route
	}
	route := p.routes[0]
	if i := slices.IndexFunc(p.routes, func(r Route) bool { return r.Pages }); i >= 0 && isPreflight(r) {
		route = p.routes[i]
		route.Serve = h.preflight
		return route
	}
	route.Serve = refusing(fault.NotAllowed(r.Method, p.methods()...))
	return route
}

func refusing(err error) func(http.Header, *Request) (Reply, error) {
	return func(http.Header, *Request) (Reply, error) { return Unread(err) }
}

// isPreflight tells whether a browser asks for a page whether it may call.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

func (h *Handler) preflight(header http.Header, r *Request) (Reply, error) {
	if err := h.o.Preflight(r.Context(), r.Caller.Origin); err != nil {
		return Reply{}, err
	}
	wire.SetPreflight(header, r.Setting(r.Caller.Page))
	return Reply{Status: http.StatusNoContent}, nil
}
