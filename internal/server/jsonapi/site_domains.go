package jsonapi

import (
	"net/http"

	"ql/internal/server"
	"ql/internal/wire"
)

// siteDomainRoutes are those of the domains at which an account's site is served.
func (c codec) siteDomainRoutes() []server.Route {
	const all, one = "/v1/sites/main/domains", "/v1/sites/main/domains/{domain}"
	return []server.Route{
		{Method: http.MethodGet, Path: all, Accepts: passwordOrNamed, Pages: true, Serve: c.siteDomains, EncodeError: encodeError},
		{Method: http.MethodPost, Path: all, Accepts: passwordOnly, Serve: c.addSiteDomain, EncodeError: encodeError},
		{Method: http.MethodDelete, Path: one, Accepts: passwordOnly, Serve: c.removeSiteDomain, EncodeError: encodeError},
		{Method: http.MethodPost, Path: one + "/prove", Accepts: passwordOnly, Timeout: proofTime, Serve: c.proveSiteDomain, EncodeError: encodeError},
	}
}

func (c codec) siteDomains(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.SiteDomains(r.Context(), r.Caller, p)
	return shown(h, r, l.Meta, err, func() []byte { return wire.AppendSiteDomains(nil, l.Domains) })
}

func (c codec) addSiteDomain(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	domain, err := decodeBody(c, r, mostAccountBytes, wire.DecodeSiteDomain)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.AddSiteDomain(r.Context(), r.Caller, p, *domain)
	reply, err := shown(h, r, a.Meta, err, func() []byte { return wire.AppendSiteDomain(nil, &a.Domain) })
	reply.Status = http.StatusCreated
	return reply, err
}

func (c codec) removeSiteDomain(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	m, err := c.service.RemoveSiteDomain(r.Context(), r.Caller, p, r.Variable)
	return noContent(h, r, m, err)
}

func (c codec) proveSiteDomain(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.ProveSiteDomain(r.Context(), r.Caller, p, r.Variable)
	return shown(h, r, a.Meta, err, func() []byte { return wire.AppendSiteDomain(nil, &a.Domain) })
}
