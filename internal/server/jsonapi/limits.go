package jsonapi

import (
	"net/http"

	"ql/internal/server"
	"ql/internal/wire"
)

func (c codec) limits(h http.Header, r *server.Request) (server.Response, error) {
	p, _, err := readHead(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	allowed, err := c.service.AccountLimits(r.Context(), r.Caller, p)
	if err != nil {
		return server.Response{Meta: allowed.Meta}, err
	}
	wire.SetJSON(h, r.Setting(allowed.Origin))
	return server.Response{Status: http.StatusOK, Body: wire.AppendLimits(nil, allowed.Plan, allowed.Limits), Meta: allowed.Meta}, nil
}
