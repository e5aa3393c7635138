package jsonapi

import (
	"net/http"

	"ql/internal/fault"
	"ql/internal/server"
	"ql/internal/wire"
)

func (c codec) usage(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	values, err := parameters(r, "by")
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	const byDay = "day"
	if values.Has("by") && values.Get("by") != byDay {
		return server.RejectBeforeAuth(fault.Invalid("by", "is nothing that usage is counted by: day fits"))
	}
	l, err := c.service.UsageByDay(r.Context(), r.Caller, p)
	reply := server.Response{Status: http.StatusOK, Meta: l.Meta}
	if err != nil {
		return reply, err
	}
	wire.SetJSON(h, r.Setting(l.Origin))
	reply.Body = wire.AppendUsage(nil, byDay, l.Resets, l.Days)
	return reply, nil
}
