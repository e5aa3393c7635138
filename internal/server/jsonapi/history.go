package jsonapi

import (
	"net/http"

	"ql/internal/server"
	"ql/internal/wire"
)

// historyRoutes are those of jobs by their numbers, for their owners.
func (c codec) historyRoutes() []server.Route {
	route := func(method, path string, serve func(http.Header, *server.Request) (server.Response, error)) server.Route {
		return server.Route{Method: method, Path: path, Accepts: owner, Pages: true, Timeout: c.service.LongestCall(), Serve: serve, EncodeError: encodeError}
	}
	const one = "/v1/jobs/{ref}"
	return []server.Route{
		route(http.MethodGet, one, c.jobHistory),
		route(http.MethodGet, one+"/source", c.jobSource),
		route(http.MethodPost, one+"/repeat", c.repeat),
		{Method: http.MethodGet, Path: one + "/stack", Accepts: passwordOnly, Timeout: c.service.LongestCall(), Serve: c.jobStack, EncodeError: encodeError},
	}
}

func (c codec) jobHistory(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	if _, err := parameters(r); err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.JobHistory(r.Context(), r.Caller, p, r.Variable)
	reply := server.Response{Status: http.StatusOK, Meta: a.Meta}
	if err != nil {
		return reply, err
	}
	wire.SetJSON(h, r.Setting(a.Origin))
	reply.Body = a.Job.AppendJSON(make([]byte, 0, a.Job.Size()))
	return reply, nil
}

func (c codec) jobSource(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	if _, err := parameters(r); err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.JobSource(r.Context(), r.Caller, p, r.Variable)
	reply := server.Response{Status: http.StatusOK, Meta: a.Meta}
	if err != nil {
		return reply, err
	}
	wire.SetJSON(h, r.Setting(a.Origin))
	reply.Body = wire.AppendSource(nil, a.Ref, &a.Source)
	return reply, nil
}

func (c codec) jobStack(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.JobStack(r.Context(), r.Caller, p, r.Variable)
	return shown(h, r, a.Meta, err, func() []byte {
		frames := make([]wire.JobFrame, len(a.Frames))
		for i, f := range a.Frames {
			frames[i] = wire.JobFrame{Function: f.Function, File: f.File, Line: int64(f.Line)}
			for _, v := range f.Variables {
				frames[i].Variables = append(frames[i].Variables, wire.JobVariable{Name: v.Name, Kind: v.Kind, Value: v.Text})
			}
		}
		return wire.AppendStack(nil, a.Ref, frames, a.More)
	})
}

func (c codec) repeat(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	if _, err := parameters(r); err != nil {
		return server.RejectBeforeAuth(err)
	}
	var body []byte
	limits := c.service.LargestRequest()
	if r.ContentLength != 0 {
		if body, err = r.Body(wire.JSONType, limits.Body); err != nil {
			return server.RejectBeforeAuth(err)
		}
	}
	edited, err := wire.DecodeRepeat(body, r.DecodeLimits(body, limits))
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	answer, err := c.service.Repeat(r.Context(), r.Caller, p, r.Variable, edited, r.IdempotencyKey())
	if err != nil {
		return server.Response{Meta: answer.Meta}, err
	}
	return encodeAnswer(h, r, &answer), nil
}
