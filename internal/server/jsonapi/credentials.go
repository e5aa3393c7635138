package jsonapi

import (
	"ql/internal/fault"
	"ql/internal/principal"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

func headerCredentials(r *server.Request) (*service.Credentials, error) { return r.Credentials() }

// queryCredentials returns the credentials of a query: those of its body, or a named key or a token. HTTP Basic
// is nothing here, and a program that sends it is told so; of a page's call it may be the browser that
// added it on its own.
func queryCredentials(r *server.Request, a *wire.Auth) (*service.Credentials, error) {
	p, err := headerCredentials(r)
	switch {
	case err != nil:
		return nil, err
	case p == nil, isBasic(p) && r.Caller.Origin.Present():
		return bodyCredentials(a), nil
	case a != nil:
		return nil, fault.Invalid("auth", "stands beside the header Authorization: one of the two fits")
	case isBasic(p):
		return nil, fault.Invalid("Authorization", `is HTTP Basic: here Bearer with a named key fits, or "auth" with a username and a password in the body`)
	}
	return p, nil
}

// isBasic tells whether credentials came by HTTP Basic.
func isBasic(p *service.Credentials) bool {
	return p.By == principal.ByKey || p.By == principal.ByPassword
}

// bodyCredentials returns the credentials of a request; a password goes before a token.
func bodyCredentials(a *wire.Auth) *service.Credentials {
	switch {
	case a == nil:
		return nil
	case a.Password != nil:
		return &service.Credentials{By: principal.ByPassword, Name: a.Username, Secret: *a.Password}
	}
	return &service.Credentials{By: principal.ByToken, Name: a.Username, Secret: *a.Token}
}
