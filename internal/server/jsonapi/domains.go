package jsonapi

import (
	"net/http"
	"time"

	"ql/internal/server"
	"ql/internal/wire"
)

// proofTime is how long it may take to find out whether a domain is proved.
const proofTime = 15 * time.Second

// domainRoutes are those of the domains whose pages may call as an account.
func (c codec) domainRoutes() []server.Route {
	const all, one = "/v1/domains", "/v1/domains/{id}"
	return []server.Route{
		{Method: http.MethodGet, Path: all, Accepts: passwordOrNamed, Pages: true, Serve: c.domains, EncodeError: encodeError},
		{Method: http.MethodPost, Path: all, Accepts: passwordOnly, Serve: c.addDomain, EncodeError: encodeError},
		{Method: http.MethodDelete, Path: one, Accepts: passwordOnly, Serve: c.removeDomain, EncodeError: encodeError},
		{Method: http.MethodPost, Path: one + "/prove", Accepts: passwordOnly, Timeout: proofTime, Serve: c.proveDomain, EncodeError: encodeError},
	}
}

func (c codec) domains(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.Domains(r.Context(), r.Caller, p)
	return shown(h, r, l.Meta, err, func() []byte { return wire.AppendDomains(nil, l.Domains) })
}

func (c codec) addDomain(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	n, err := decodeBody(c, r, mostAccountBytes, wire.DecodeNewDomain)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.AddDomain(r.Context(), r.Caller, p, *n)
	reply, err := shown(h, r, a.Meta, err, func() []byte { return wire.AppendDomain(nil, &a.Domain) })
	reply.Status = http.StatusCreated
	return reply, err
}

func (c codec) removeDomain(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	m, err := c.service.RemoveDomain(r.Context(), r.Caller, p, r.Variable)
	return noContent(h, r, m, err)
}

func (c codec) proveDomain(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.ProveDomain(r.Context(), r.Caller, p, r.Variable)
	return shown(h, r, a.Meta, err, func() []byte { return wire.AppendDomain(nil, &a.Domain) })
}
