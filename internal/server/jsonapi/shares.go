package jsonapi

import (
	"net/http"
	"strconv"

	"ql/internal/fault"
	"ql/internal/server"
	"ql/internal/wire"
)

// shareRoutes are those of an account's links.
func (c codec) shareRoutes() []server.Route {
	return []server.Route{
		{Method: http.MethodGet, Path: "/v1/shares", Accepts: passwordOnly, Pages: true, Serve: c.shares, Refuse: refuseJob},
		{Method: http.MethodDelete, Path: "/v1/shares/{id}", Accepts: passwordOnly, Pages: true, Serve: c.revokeShare, Refuse: refuseJob},
	}
}

func (c codec) shares(h http.Header, r *server.Request) (server.Reply, error) {
	p, err := basic(r)
	if err != nil {
		return server.Unread(err)
	}
	values, err := parameters(r, "limit", "before")
	if err != nil {
		return server.Unread(err)
	}
	limit := usualPage
	if values.Has("limit") {
		if limit, err = strconv.Atoi(values.Get("limit")); err != nil || limit < 1 || limit > largestPage {
			return server.Unread(fault.Invalid("limit", "is no number of links: 1 to %d fits", largestPage))
		}
	}
	l, err := c.service.Shares(r.Context(), r.Caller, p, values.Get("before"), limit)
	reply := server.Reply{Status: http.StatusOK, Origin: l.Origin, Rate: l.Rate}
	if err != nil {
		return reply, err
	}
	wire.SetJSON(h, r.Setting(l.Origin))
	reply.Body = wire.AppendShares(nil, l.Shares, l.Next)
	return reply, nil
}

func (c codec) revokeShare(h http.Header, r *server.Request) (server.Reply, error) {
	p, err := basic(r)
	if err != nil {
		return server.Unread(err)
	}
	if _, err := parameters(r); err != nil {
		return server.Unread(err)
	}
	l, err := c.service.RevokeShare(r.Context(), r.Caller, p, r.ID)
	reply := server.Reply{Status: http.StatusOK, Origin: l.Origin, Rate: l.Rate}
	if err != nil {
		return reply, err
	}
	wire.SetJSON(h, r.Setting(l.Origin))
	reply.Body = wire.AppendRevoked(nil, r.ID)
	return reply, nil
}
