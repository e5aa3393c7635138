package jsonapi

import (
	"net/http"

	"ql/internal/fault"
	"ql/internal/principal"
	"ql/internal/redacted"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// signedIn is what the routes of who is signed in take: the cookie, and nothing else.
var signedIn = principal.Set{principal.BySignIn}

// sessionRoutes are those by which people sign in to the dashboard. They alone take a cookie, so
// that they alone can be forged: no page of another origin calls them.
func (c codec) sessionRoutes() []server.Route {
	const itself = "/v1/session"
	route := func(method, path string, accepts principal.Set, serve func(http.Header, *server.Request) (server.Response, error)) server.Route {
		return server.Route{Method: method, Path: path, Accepts: accepts, EncodeError: server.EncodeErrorJSON, Serve: func(h http.Header, r *server.Request) (server.Response, error) {
			if err := r.CheckForged(); err != nil {
				return server.RejectBeforeAuth(err)
			}
			if _, err := parameters(r); err != nil {
				return server.RejectBeforeAuth(err)
			}
			return serve(h, r)
		}}
	}
	return []server.Route{
		route(http.MethodPost, itself, principal.Set{principal.ByPassword}, c.signIn),
		route(http.MethodGet, itself, signedIn, c.session),
		route(http.MethodDelete, itself, signedIn, c.signOut),
		route(http.MethodPost, itself+"/dev", principal.Set{principal.ByNobody}, c.signInDeveloper),
		route(http.MethodPost, itself+"/token", signedIn, c.sessionToken),
		route(http.MethodPost, itself+"/confirm", signedIn, c.confirmSession),
	}
}

// mostSessionBytes is how long a request with a password may be.
const mostSessionBytes = 16 << 10

func (c codec) signIn(h http.Header, r *server.Request) (server.Response, error) {
	if err := r.CheckSignIn(); err != nil {
		return server.RejectBeforeAuth(err)
	}
	n, err := decodeBody(c, r, mostSessionBytes, wire.DecodeSignIn)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.SignIn(r.Context(), r.Caller, *n, r.SignIn())
	return encodeSession(h, r, &a, err)
}

// encodeSession makes the answer about who is signed in, with the cookie where there is a new one.
func encodeSession(h http.Header, r *server.Request, a *service.SignInAnswer, err error) (server.Response, error) {
	reply, err := shown(h, r, a.Meta, err, func() []byte { return wire.AppendSession(nil, &a.Session) })
	if err == nil && a.Secret != "" {
		r.SetSignIn(h, a.Secret)
	}
	return reply, err
}

// signInDeveloper signs in whoever develops on this machine, or, where others reach the service too, whoever
// has the link that was printed at its start. Elsewhere there is no such address.
func (c codec) signInDeveloper(h http.Header, r *server.Request) (server.Response, error) {
	if c.service.SignsInByLink() {
		n, err := decodeBody(c, r, mostSessionBytes, wire.DecodeLinkToken)
		if err != nil {
			return server.RejectBeforeAuth(err)
		}
		a, err := c.service.SignInByLink(r.Context(), r.Caller, *n, r.SignIn())
		return encodeSession(h, r, &a, err)
	}
	switch {
	case !c.service.SignsInDevelopers():
		return server.RejectBeforeAuth(fault.New(fault.NotFound, "only a service in development (--dev), on this machine alone, signs in without a password"))
	case !r.IsLocal():
		return server.RejectBeforeAuth(fault.New(fault.OriginNotAllowed, "only a browser on the machine of the service signs in without a password, by the address localhost"))
	}
	a, err := c.service.SignInDeveloper(r.Context(), r.Caller, r.SignIn())
	return encodeSession(h, r, &a, err)
}

func (c codec) session(h http.Header, r *server.Request) (server.Response, error) {
	a, err := c.service.ShowSignIn(r.Context(), r.Caller, r.SignIn())
	return encodeSession(h, r, &a, err)
}

func (c codec) signOut(h http.Header, r *server.Request) (server.Response, error) {
	err := c.service.SignOut(r.Context(), r.SignIn())
	reply, err := noContent(h, r, service.Meta{}, err)
	if err == nil {
		r.SetSignIn(h, redacted.Text(""))
	}
	return reply, err
}

func (c codec) sessionToken(h http.Header, r *server.Request) (server.Response, error) {
	a, err := c.service.SignInToken(r.Context(), r.Caller, r.SignIn())
	return shown(h, r, a.Meta, err, func() []byte { return wire.AppendSessionToken(nil, &a.Token) })
}

func (c codec) confirmSession(h http.Header, r *server.Request) (server.Response, error) {
	n, err := decodeBody(c, r, mostSessionBytes, wire.DecodePasswordAgain)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	m, err := c.service.ConfirmSignIn(r.Context(), r.Caller, r.SignIn(), n.Password)
	return noContent(h, r, m, err)
}
