package jsonapi

import (
	"net/http"
	"strconv"

	"ql/internal/fault"
	"ql/internal/server"
	"ql/internal/wire"
)

// accountRoutes are those of an account itself.
func (c codec) accountRoutes() []server.Route {
	return []server.Route{
		{Method: http.MethodGet, Path: "/v1/account/log", Accepts: passwordOrNamed, Pages: true, Serve: c.log, EncodeError: encodeError},
	}
}

func (c codec) log(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	values, err := parameters(r, "limit", "before")
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	limit := usualPage
	if values.Has("limit") {
		if limit, err = strconv.Atoi(values.Get("limit")); err != nil || limit < 1 || limit > largestPage {
			return server.RejectBeforeAuth(fault.Invalid("limit", "is no number of entries: 1 to %d fits", largestPage))
		}
	}
	l, err := c.service.Log(r.Context(), r.Caller, p, values.Get("before"), limit)
	if err != nil {
		return server.Response{Meta: l.Meta}, err
	}
	wire.SetJSON(h, r.Setting(l.Origin))
	return server.Response{Status: http.StatusOK, Body: wire.AppendLog(nil, l.Entries, l.Next), Meta: l.Meta}, nil
}
