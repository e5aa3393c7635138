package jsonapi

import (
	"net/http"

	"ql/internal/server"
	"ql/internal/wire"
)

// mailRoutes are those of what an account's scripts send by mail.
func (c codec) mailRoutes() []server.Route {
	route := func(path string, serve func(http.Header, *server.Request) (server.Response, error)) server.Route {
		return server.Route{Method: http.MethodGet, Path: path, Accepts: passwordOrNamed, Pages: true, Serve: serve, EncodeError: encodeError}
	}
	return []server.Route{route("/v1/mails", c.mails), route("/v1/mails/{id}", c.mail)}
}

func (c codec) mails(h http.Header, r *server.Request) (server.Response, error) {
	p, values, err := readHead(r, "state", "limit", "before")
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	limit, err := pageLimit(values, "mails", largestPage)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.Mails(r.Context(), r.Caller, p, values.Get("state"), values.Get("before"), limit)
	if err != nil {
		return server.Response{Meta: l.Meta}, err
	}
	return encodeJSON(h, r, http.StatusOK, l.Meta, wire.AppendMails(nil, l.Mails, l.Next))
}

func (c codec) mail(h http.Header, r *server.Request) (server.Response, error) {
	p, _, err := readHead(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.Mail(r.Context(), r.Caller, p, r.Variable)
	if err != nil {
		return server.Response{Meta: a.Meta}, err
	}
	return encodeJSON(h, r, http.StatusOK, a.Meta, wire.AppendMail(nil, &a.Mail))
}
