package jsonapi

import (
	"net/http"

	"ql/internal/server"
	"ql/internal/wire"
)

func (c codec) limits(h http.Header, r *server.Request) (server.Reply, error) {
	p, err := basic(r)
	if err != nil {
		return server.Unread(err)
	}
	if _, err := parameters(r); err != nil {
		return server.Unread(err)
	}
	allowed, err := c.service.AccountLimits(r.Context(), r.Caller, p)
	if err != nil {
		return server.Reply{Origin: allowed.Origin}, err
	}
	wire.SetJSON(h, r.Setting(allowed.Origin))
	return server.Reply{Status: http.StatusOK, Body: wire.AppendLimits(nil, allowed.Plan, allowed.Limits), Origin: allowed.Origin}, nil
}
