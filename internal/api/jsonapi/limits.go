package jsonapi

import (
	"net/http"

	"ql/internal/api/httpapi"
	"ql/internal/wire"
)

func (c codec) limits(h http.Header, r *httpapi.Request) (httpapi.Reply, error) {
	p, err := basic(r)
	if err != nil {
		return httpapi.Unread(err)
	}
	if _, err := parameters(r); err != nil {
		return httpapi.Unread(err)
	}
	allowed, err := c.service.AccountLimits(r.Context(), r.Caller, p)
	if err != nil {
		return httpapi.Reply{Origin: allowed.Origin}, err
	}
	wire.SetJSON(h, r.Setting(allowed.Origin))
	return httpapi.Reply{Status: http.StatusOK, Body: wire.AppendLimits(nil, allowed.Plan, allowed.Limits), Origin: allowed.Origin}, nil
}
