package jsonapi

import (
	"context"
	"net/http"

	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// scheduleRoutes are those of an account's schedules.
func (c codec) scheduleRoutes() []server.Route {
	route := func(method, path string, serve func(http.Header, *server.Request) (server.Response, error)) server.Route {
		return server.Route{Method: method, Path: path, Accepts: passwordOrNamed, Pages: true, Timeout: c.service.LongestCall(), Serve: serve, EncodeError: encodeError}
	}
	const one = "/v1/schedules/{name}"
	return []server.Route{
		route(http.MethodGet, "/v1/schedules", c.schedules),
		route(http.MethodGet, one, c.schedule(c.service.ShowSchedule)),
		route(http.MethodPut, one, c.setSchedule),
		route(http.MethodDelete, one, c.removeSchedule),
		route(http.MethodGet, one+"/ticks", c.ticks),
		route(http.MethodPost, one+"/preview", c.previewSchedule),
		route(http.MethodPost, one+"/run", c.runSchedule),
		route(http.MethodPost, one+"/pause", c.schedule(c.service.PauseSchedule)),
		route(http.MethodPost, one+"/resume", c.schedule(c.service.ResumeSchedule)),
	}
}

func (c codec) schedules(h http.Header, r *server.Request) (server.Response, error) {
	p, values, err := readHead(r, "limit", "after")
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	limit, err := pageLimit(values, "schedules", largestPage)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.Schedules(r.Context(), r.Caller, p, values.Get("after"), limit)
	return shown(h, r, l.Meta, err, func() []byte { return wire.AppendSchedules(nil, l.Schedules, l.Next) })
}

// schedule serves what answers with a schedule and takes nothing but its name.
func (c codec) schedule(do func(context.Context, service.Caller, *service.Credentials, string) (service.ScheduleAnswer, error)) func(http.Header, *server.Request) (server.Response, error) {
	return func(h http.Header, r *server.Request) (server.Response, error) {
		p, err := plainCredentials(r)
		if err != nil {
			return server.RejectBeforeAuth(err)
		}
		a, err := do(r.Context(), r.Caller, p, r.Variable)
		return shown(h, r, a.Meta, err, func() []byte { return wire.AppendSchedule(nil, &a.Schedule) })
	}
}

func (c codec) setSchedule(h http.Header, r *server.Request) (server.Response, error) {
	return c.newSchedule(h, r, c.service.SetSchedule)
}

func (c codec) previewSchedule(h http.Header, r *server.Request) (server.Response, error) {
	return c.newSchedule(h, r, c.service.PreviewSchedule)
}

func (c codec) newSchedule(h http.Header, r *server.Request, do func(context.Context, service.Caller, *service.Credentials, string, wire.NewSchedule) (service.ScheduleAnswer, error)) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	n, err := decodeBody(c, r, 0, wire.DecodeNewSchedule)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := do(r.Context(), r.Caller, p, r.Variable, *n)
	reply, err := shown(h, r, a.Meta, err, func() []byte { return wire.AppendSchedule(nil, &a.Schedule) })
	if a.Created && err == nil {
		reply.Status = http.StatusCreated
	}
	return reply, err
}

func (c codec) removeSchedule(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	m, err := c.service.RemoveSchedule(r.Context(), r.Caller, p, r.Variable)
	return noContent(h, r, m, err)
}

func (c codec) runSchedule(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	answer, err := c.service.RunSchedule(r.Context(), r.Caller, p, r.Variable)
	if err != nil {
		return server.Response{Meta: answer.Meta}, err
	}
	return encodeAnswer(h, r, &answer), nil
}

func (c codec) ticks(h http.Header, r *server.Request) (server.Response, error) {
	p, values, err := readHead(r, "limit", "before")
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	limit, err := pageLimit(values, "ticks", largestPage)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.ScheduleTicks(r.Context(), r.Caller, p, r.Variable, values.Get("before"), limit)
	return shown(h, r, l.Meta, err, func() []byte { return wire.AppendTicks(nil, r.Variable, l.Ticks, l.Next) })
}
