package server

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"ql/internal/fault"
	"ql/internal/principal"
	"ql/internal/service"
	"ql/internal/wire"
)

// Route is one method of one address.
type Route struct {
	Method string // AnyMethod where the route decides by itself
	Path   string // "{id}", "{name}" and "{token}" match one part, "{path}" all that follows
	// Accepts are the credentials that open the route; ByNobody where its address is
	// enough, as that of a job or a link. A public route has none, every other some.
	Accepts principal.Set
	Public  bool // nothing of an account is shown, and nobody is asked who calls
	Pages   bool // pages of listed origins may call it, so browsers may ask first
	// Preflight answers browsers that ask whether a page may call; left out, every page of
	// an origin that some account lists may.
	Preflight func(http.Header, *Request) (Response, error)
	// Timeout is how long an answer may take before it is written; 0 for a moment.
	Timeout time.Duration
	// Serve does what is asked for. It sets the headers of its answer.
	Serve func(http.Header, *Request) (Response, error)
	// EncodeError sets the headers of an error and returns its body.
	EncodeError func(http.Header, wire.HeaderOptions, *service.Refusal) []byte
}

// AnyMethod is the method of a route that takes all of them.
const AnyMethod = "*"

// router finds the route of a request: by its path as it is decoded, to the letter. It redirects
// nobody, as http.ServeMux does; docs/decisions/0035 compares the two.
type router struct {
	endpoints []*endpoint // in the order in which they were added
	literal   map[string]*endpoint
	variable  []*endpoint
}

// endpoint is one path with its methods.
type endpoint struct {
	pattern        string
	prefix, suffix string // around what is variable, where something is
	isTail         bool   // all that follows the prefix is variable
	routes         []Route
}

func newRouter(routes []Route) *router {
	t := &router{literal: map[string]*endpoint{}}
	for _, r := range routes {
		t.add(r)
	}
	return t
}

func (t *router) add(r Route) {
	if i := slices.IndexFunc(t.endpoints, func(e *endpoint) bool { return e.pattern == r.Path }); i >= 0 {
		t.endpoints[i].routes = append(t.endpoints[i].routes, r)
		return
	}
	e := &endpoint{pattern: r.Path, routes: []Route{r}}
	t.endpoints = append(t.endpoints, e)
	for _, name := range []string{"{path}", "{id}", "{name}", "{domain}", "{ref}", "{token}"} {
		var isVariable bool
		if e.prefix, e.suffix, isVariable = strings.Cut(r.Path, name); isVariable {
			e.isTail = name == "{path}"
			t.variable = append(t.variable, e)
			return
		}
	}
	t.literal[r.Path] = e
}

// find returns the endpoint of a path, nil for none, and its variable part.
func (t *router) find(path string) (e *endpoint, variable string) {
	if e := t.literal[path]; e != nil {
		return e, ""
	}
	for _, e := range t.variable {
		if variable, ok := e.match(path); ok {
			return e, variable
		}
	}
	return nil, ""
}

func (e *endpoint) match(path string) (variable string, ok bool) {
	variable, ok = strings.CutPrefix(path, e.prefix)
	if !ok || e.isTail {
		return variable, ok
	}
	variable, ok = strings.CutSuffix(variable, e.suffix)
	return variable, ok && variable != "" && !strings.Contains(variable, "/")
}

// methods returns the methods of the endpoint.
func (e *endpoint) methods() []string {
	var all []string
	for _, r := range e.routes {
		all = append(all, r.Method)
		if r.Method == http.MethodGet {
			all = append(all, http.MethodHead)
		}
	}
	return all
}

// route returns the route of a method.
func (e *endpoint) route(method string) (Route, bool) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, r := range e.routes {
		if r.Method == method || r.Method == AnyMethod {
			return r, true
		}
	}
	return Route{}, false
}

// Routes returns all routes, for those who check them.
func (h *Handler) Routes() []Route {
	var all []Route
	for _, e := range h.router.endpoints {
		all = append(all, e.routes...)
	}
	return all
}

// Pattern returns the path of the routes that an address falls under, "" for
// none: the address itself may hold a secret.
func (h *Handler) Pattern(path string) string {
	if e, _ := h.router.find(path); e != nil {
		return e.pattern
	}
	return ""
}

// choose returns the route of an endpoint that a request is for, or one that
// refuses it. Where there is no endpoint, e is nil.
func (h *Handler) choose(e *endpoint, r *http.Request) Route {
	if e == nil {
		return Route{EncodeError: EncodeErrorJSON, Serve: rejecting(fault.New(fault.NotFound,
			"there is nothing at this address: POST /v1/query and POST /api run scripts, and GET /openapi.json tells of the rest"))}
	}
	if i := slices.IndexFunc(e.routes, func(r Route) bool { return r.Pages }); i >= 0 && isPreflight(r) {
		route := e.routes[i]
		if route.Serve = route.Preflight; route.Serve == nil {
			route.Serve = h.preflight
		}
		return route
	}
	if route, ok := e.route(r.Method); ok {
		return route
	}
	route := e.routes[0]
	route.Serve = rejecting(fault.MethodError(r.Method, e.methods()...))
	return route
}

func rejecting(err error) func(http.Header, *Request) (Response, error) {
	return func(http.Header, *Request) (Response, error) { return RejectBeforeAuth(err) }
}
