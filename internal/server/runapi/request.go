package runapi

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"ql/internal/fault"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// root begins the addresses of all programs.
const root = "/run/"

// address is that of a program, and of something below it.
type address struct {
	username string
	program  string // such as todo, or todo@3
	rest     string // what follows, decoded and without the slash before it
}

// prefix is that of all addresses of the account's programs.
func (a address) prefix() string { return root + a.username + "/" }

// base is the address of the program itself.
func (a address) base() string { return a.prefix() + a.program }

// parseAddress reads the path of a request, as it was sent. Where it names no program, the
// error is that of one which there is not.
func parseAddress(path string) (a address, err error) {
	rest := strings.TrimPrefix(path, root)
	username, rest, _ := strings.Cut(rest, "/")
	program, rest, _ := strings.Cut(rest, "/")
	if username == "" || program == "" || strings.Contains(username+program, "%") {
		return a, service.ErrNoProgram()
	}
	if !isPlainPath(rest) {
		return a, fault.Invalid("path", "has a part behind the program that is empty, . or .., or that holds a slash, a backslash, a percent sign or a control character: such are read in several ways")
	}
	if rest, err = url.PathUnescape(rest); err != nil || !utf8.ValidString(rest) {
		return a, fault.Invalid("path", "is not UTF-8")
	}
	return address{username, program, rest}, nil
}

// method is what the script is told: HEAD is GET without the body.
func method(r *http.Request) string {
	if r.Method == http.MethodHead {
		return http.MethodGet
	}
	return r.Method
}

// request is what a program finds of a request, with what it measures.
type request struct {
	wire.Request
	input []byte // JSON of a map, nil for nothing
	// noInput says what the body is, where fields cannot be read of it.
	noInput string
	query   wire.Shape
	body    wire.Shape
}

// within holds the request to the limits of the account.
func (q *request) within(l wire.Limits) error {
	if err := q.query.Within(l); err != nil {
		return inQuery(err)
	}
	if err := q.body.Within(l); err != nil {
		return err
	}
	return q.Request.Within(l)
}

// readRequest reads a request. Its body is counted for its network.
func readRequest(r *server.Request, at address, l wire.Limits, showsAuthorization bool) (*request, error) {
	if err := wire.CheckEncoding(r.HeaderValue("Content-Encoding")); err != nil {
		return nil, err
	}
	var body []byte
	var err error
	if r.ContentLength != 0 {
		body, err = r.RawBody(l.Body)
	}
	if err != nil {
		return nil, err
	}
	if len(body) > service.UnreservedBytes {
		// Beside the body there are its text, the input, and what is decoded of them.
		if err := r.Reserve(2*int64(len(body)) + wire.DecodeBytes(body)); err != nil {
			return nil, err
		}
	}
	q := new(request)
	var query wire.Body
	if r.URL.RawQuery != "" {
		if query, q.query, err = wire.DecodeBody(wire.FormType, []byte(r.URL.RawQuery), l); err != nil {
			return nil, inQuery(err)
		}
		q.Get = query.Fields()
	}
	kind := r.HeaderValue("Content-Type")
	if q.Body, q.body, err = wire.DecodeBody(kind, body, r.DecodeLimits(body, l)); err != nil {
		return nil, err
	}
	isForm := strings.HasPrefix(strings.ToLower(kind), wire.FormType) || strings.HasPrefix(strings.ToLower(kind), wire.MultipartType)
	if isForm {
		q.Post = q.Body.Fields()
	}
	switch {
	case q.Body.IsObject():
		q.input = []byte(q.Body.Text)
	case q.Body.Kind == wire.NoBody && query.IsObject():
		q.input = []byte(query.Text)
	case q.Body.Kind != wire.NoBody:
		q.noInput = "the body is " + q.Body.Describe(kind) + ", of which no fields are read; an object with Content-Type: " +
			wire.JSONType + " fits, or a form with " + wire.FormType
	}
	q.Cookie = cookies(r.Request)
	q.Entries = entries(r.Request, at, showsAuthorization)
	if q.Body.Kind == wire.JSONBody {
		// As it was sent: signatures are of that.
		raw := q.Body.Text
		if isForm {
			raw = string(body)
		}
		q.Entries = append(q.Entries, wire.Pair{Name: "body", Value: raw})
	}
	return q, nil
}

// inQuery is the error of a decoder that read the query of the address.
func inQuery(err error) error {
	var refusal *wire.Refusal
	if errors.As(err, &refusal) && refusal.Field == "body" {
		refusal.Field = "query"
	}
	return err
}

// entries are what !REQUEST holds.
func entries(r *http.Request, at address, showsAuthorization bool) []wire.Pair {
	list := make([]wire.Pair, 0, 4+len(r.Header))
	list = append(list, wire.Pair{Name: "path", Value: "/" + at.rest}, wire.Pair{Name: "method", Value: method(r)},
		wire.Pair{Name: "rest", Value: at.rest}, wire.Pair{Name: "base", Value: at.base()})
	for name, values := range r.Header {
		if name == "Cookie" || name == "Authorization" && !showsAuthorization {
			continue
		}
		list = append(list, wire.Pair{Name: "header:" + strings.ToLower(name), Value: strings.ToValidUTF8(strings.Join(values, ", "), "\ufffd")})
	}
	slices.SortFunc(list[4:], func(a, b wire.Pair) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// cookies are those that a program finds: none of the service's own, and of several with
// one name the first, which browsers put before those of wider paths.
func cookies(r *http.Request) []wire.Pair {
	if r.Header["Cookie"] == nil {
		return nil
	}
	var list []wire.Pair
	for _, c := range r.Cookies() {
		if isOwnCookie(c.Name) || slices.ContainsFunc(list, func(p wire.Pair) bool { return p.Name == c.Name }) {
			continue
		}
		list = append(list, wire.Pair{Name: c.Name, Value: strings.ToValidUTF8(c.Value, "\ufffd")})
	}
	return list
}

// isLoadedAsCode tells whether a browser means to run the answer, or to style or extend a page
// with it: a page of this origin that was brought to load it would do so with all its rights.
func isLoadedAsCode(h http.Header) bool {
	if h.Get("Service-Worker") != "" {
		return true
	}
	switch h.Get("Sec-Fetch-Dest") {
	case "", "empty", "document", "iframe", "frame", "image", "audio", "video":
		return false
	}
	return true
}
