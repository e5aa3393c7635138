package jsonapi

import (
	"net/http"

	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// webhookRoutes are those of an account's deliveries.
func (c codec) webhookRoutes() []server.Route {
	route := func(method, path string, serve func(http.Header, *server.Request) (server.Response, error)) server.Route {
		return server.Route{Method: method, Path: path, Accepts: passwordOrNamed, Pages: true, Serve: serve, EncodeError: encodeError}
	}
	return []server.Route{
		route(http.MethodGet, "/v1/webhooks", c.webhooks),
		route(http.MethodGet, "/v1/webhooks/{id}", c.webhook),
		route(http.MethodPost, "/v1/webhooks/{id}/repeat", c.repeatWebhook),
	}
}

func (c codec) webhooks(h http.Header, r *server.Request) (server.Response, error) {
	p, values, err := readHead(r, "state", "limit", "before")
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	limit, err := pageLimit(values, "webhooks", largestPage)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.Webhooks(r.Context(), r.Caller, p, values.Get("state"), values.Get("before"), limit)
	if err != nil {
		return server.Response{Meta: l.Meta}, err
	}
	return encodeJSON(h, r, http.StatusOK, l.Meta, wire.AppendWebhooks(nil, l.Webhooks, l.Next))
}

func (c codec) webhook(h http.Header, r *server.Request) (server.Response, error) {
	p, _, err := readHead(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.Webhook(r.Context(), r.Caller, p, r.Variable)
	return showWebhook(h, r, &a, err)
}

// repeatWebhook takes no body: there is nothing to choose.
func (c codec) repeatWebhook(h http.Header, r *server.Request) (server.Response, error) {
	p, _, err := readHead(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.RepeatWebhook(r.Context(), r.Caller, p, r.Variable)
	return showWebhook(h, r, &a, err)
}

func showWebhook(h http.Header, r *server.Request, a *service.ShownWebhook, err error) (server.Response, error) {
	if err != nil {
		return server.Response{Meta: a.Meta}, err
	}
	return encodeJSON(h, r, http.StatusOK, a.Meta, wire.AppendWebhook(nil, &a.Webhook, a.Log))
}
