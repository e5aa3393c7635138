package jsonapi

import (
	"net/http"

	"ql/internal/server"
	"ql/internal/wire"
)

// scriptRoutes are those of an account's published scripts.
func (c codec) scriptRoutes() []server.Route {
	route := func(method, path string, serve func(http.Header, *server.Request) (server.Response, error)) server.Route {
		return server.Route{Method: method, Path: path, Accepts: passwordOrNamed, Pages: true, Timeout: c.service.LongestCall(), Serve: serve, EncodeError: encodeError}
	}
	const one = "/v1/scripts/{name}"
	return []server.Route{
		route(http.MethodGet, "/v1/scripts", c.scripts),
		route(http.MethodGet, one, c.script),
		route(http.MethodPut, one, c.publishScript),
		route(http.MethodDelete, one, c.removeScript),
	}
}

func (c codec) scripts(h http.Header, r *server.Request) (server.Response, error) {
	p, values, err := readHead(r, "limit", "after")
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	limit, err := pageLimit(values, "scripts", largestPage)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.Scripts(r.Context(), r.Caller, p, values.Get("after"), limit)
	if err != nil {
		return server.Response{Meta: l.Meta}, err
	}
	return encodeJSON(h, r, http.StatusOK, l.Meta, wire.AppendScripts(nil, l.Scripts, l.Next))
}

func (c codec) script(h http.Header, r *server.Request) (server.Response, error) {
	p, _, err := readHead(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.Script(r.Context(), r.Caller, p, r.Variable)
	if err != nil {
		return server.Response{Meta: a.Meta}, err
	}
	return encodeJSON(h, r, http.StatusOK, a.Meta, a.Script.AppendJSON(make([]byte, 0, a.Script.Size())))
}

func (c codec) publishScript(h http.Header, r *server.Request) (server.Response, error) {
	p, _, err := readHead(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	n, err := decodeBody(c, r, 0, wire.DecodeNewScript)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.PublishScript(r.Context(), r.Caller, p, r.Variable, *n)
	reply := server.Response{Status: http.StatusOK, Meta: a.Meta}
	if err != nil {
		return reply, err
	}
	if a.Created {
		reply.Status = http.StatusCreated
	}
	wire.SetJSON(h, r.Setting(a.Origin))
	reply.Body = wire.AppendPublished(nil, &a.Script)
	return reply, nil
}

func (c codec) removeScript(h http.Header, r *server.Request) (server.Response, error) {
	p, _, err := readHead(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	meta, err := c.service.RemoveScript(r.Context(), r.Caller, p, r.Variable)
	return noContent(h, r, meta, err)
}
