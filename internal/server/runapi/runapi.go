// Package runapi serves published programs as HTTP endpoints of their own, below
// /run/{username}: a program has the status, the headers, the cookies and the body of its answer.
// It shares its host with the API and the dashboard, so what a program may set is bounded here,
// such that browsers give its answers nothing of that origin. Who may run which program, and what
// it does, is decided by package service.
package runapi

import (
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	"ql/internal/account"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/server"
	"ql/internal/server/exchange"
	"ql/internal/service"
	"ql/internal/wire"
)

// Routes returns the routes of programs.
func Routes(s *service.Service) []server.Route {
	c := codec{s}
	return []server.Route{{
		Method: server.AnyMethod, Path: root + "{path}", Pages: true,
		Accepts: principal.Set{principal.ByNobody, principal.ByOrigin, principal.ByKey, principal.ByNamedKey, principal.ByPassword},
		Timeout: s.LongestCall(), Serve: c.run, Preflight: c.preflight, EncodeError: encodeError,
	}}
}

// allMethods are those of the addresses of programs.
var allMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

type codec struct{ service *service.Service }

func (c codec) run(h http.Header, r *server.Request) (server.Response, error) {
	if isLoadedAsCode(r.Header) {
		return server.RejectBeforeAuth(fault.New(fault.OriginNotAllowed, "answers of programs are no scripts, styles, workers or plugins of pages"))
	}
	if r.Method == http.MethodTrace || r.Method == http.MethodConnect {
		return server.RejectBeforeAuth(fault.MethodError(r.Method, allMethods...))
	}
	if r.Method == http.MethodOptions { // of no browser that asks for a page; whatever the program, if there is one
		wire.SetProgramJSON(h, r.Setting(""))
		h.Set("Allow", strings.Join(allMethods, ", "))
		return server.Response{Status: http.StatusNoContent}, nil
	}
	at, err := parseAddress(r.URL.EscapedPath())
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	credentials, theirs, err := credentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	method := exchange.Method(r.Request)
	q, err := exchange.Read(r, exchange.Reading{
		Limits: c.service.LargestRequest(), Address: at.entries(method), Own: isOwnCookie, ShowsAuthorization: theirs,
	})
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	answer, err := c.service.Query(r.Context(), r.Caller, service.Query{
		Convention: job.Run, Credentials: credentials, Request: q.Request, Trace: wire.TraceErrors, Input: q.Input, NoInput: q.NoInput, Within: q.Within, Receive: q.Receive(r), Key: r.IdempotencyKey(),
		Program: &service.Program{Owner: at.username, Name: at.program, Method: method},
	})
	if err != nil {
		return server.Response{Meta: answer.Meta}, err
	}
	return encode(h, r, at, q, &answer)
}

// credentials returns those of the header Authorization. What is no credential of this service
// is the program's own affair, as where its users have tokens: theirs says so.
func credentials(r *server.Request) (c *service.Credentials, theirs bool, err error) {
	if !server.IsCredential(r.HeaderValue("Authorization")) {
		return nil, true, nil
	}
	c, err = r.Credentials()
	if c != nil {
		// A browser may have added them on its own, and programs change things by any method.
		c.Ambient = c.By == principal.ByKey || c.By == principal.ByPassword
	}
	return c, false, err
}

// encode makes the answer of a program.
func encode(h http.Header, r *server.Request, at address, q *exchange.Request, a *service.Answer) (server.Response, error) {
	s := r.Setting(a.Origin)
	reply := server.Response{Status: a.Status, Meta: a.Meta, RetryAfter: a.RetryAfter}
	switch {
	case a.Err != nil:
		wire.SetProgramJSON(h, s)
		reply.Status = exchange.FailedStatus(a)
		reply.Body = a.Job.AppendFailed(nil, a.Err, a.Trusted)
	case a.Status == http.StatusAccepted && !a.ShowsJob():
		wire.SetProgramJSON(h, s)
		reply.Body = a.Job.AppendSuspended(nil)
	case a.Status == http.StatusAccepted:
		wire.SetProgramJSON(h, s)
		reply.Pieces = a.Job.Pieces()
	default:
		return encodeOutput(h, r, at, q, a)
	}
	if a.Trusted {
		a.Job.SetJob(h)
	}
	r.SetSession(h, a.Session, at.prefix(), s)
	return reply, nil
}

// encodeOutput makes the answer of a program that came to its end.
func encodeOutput(h http.Header, r *server.Request, at address, q *exchange.Request, a *service.Answer) (server.Response, error) {
	var output wire.Output
	if a.Job.Output != nil {
		output = *a.Job.Output
	}
	set, err := wire.ReadResponse(output.Response)
	if err != nil {
		return server.Response{}, err
	}
	s := r.Setting(a.Origin)
	wire.SetOutput(h, s, !utf8.Valid(output.Result))
	if a.Trusted {
		a.Job.SetJob(h)
	}
	r.SetSession(h, a.Session, at.prefix(), s)
	status := apply(h, set, setting{
		HeaderOptions: s, prefix: at.prefix(), at: r.URL.EscapedPath(), sent: q.Cookie, crossSite: r.IsListedCrossSite(s),
		cacheable: a.Callers == account.CallersAnyone && !a.Trusted, // what the owner gets is not what anybody gets
	})
	reply := server.Response{Status: status, Meta: a.Meta, RetryAfter: a.RetryAfter}
	switch {
	case !exchange.HasBody(status):
	case len(output.Result) <= wire.PieceBytes:
		reply.Body = output.Result
	default:
		reply.Pieces = a.Job.TextPieces(nil)
	}
	return reply, nil
}

// preflight answers a browser that asks whether a page may call: one of a domain on the list
// of the program's account.
func (c codec) preflight(h http.Header, r *server.Request) (server.Response, error) {
	at, err := parseAddress(r.URL.EscapedPath())
	if err != nil {
		return server.Response{}, err
	}
	if meta, err := c.service.ProgramPreflight(r.Context(), r.Caller, at.username); err != nil {
		return server.Response{Meta: meta}, err
	}
	headers := r.HeaderValue("Access-Control-Request-Headers")
	if len(headers) > longestNames || !names.MatchString(headers) {
		return server.Response{}, fault.Invalid("Access-Control-Request-Headers", "is no list of at most %d bytes with names of headers", longestNames)
	}
	wire.SetProgramPreflight(h, r.Setting(r.Caller.Page), headers)
	return server.Response{Status: http.StatusNoContent}, nil
}

// names is a list of names of headers, or nothing.
var names = regexp.MustCompile(`^([0-9A-Za-z_-]+( *, *[0-9A-Za-z_-]+)*)?$`)

const longestNames = 1 << 10

// encodeError writes a refusal.
func encodeError(h http.Header, s wire.HeaderOptions, r *service.Refusal) []byte {
	wire.SetProgramJSON(h, s)
	if r.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="ql"`) // not Basic, for which browsers ask people
	}
	return r.AppendAnswer(nil)
}
