package jsonapi

import (
	"net/http"

	"ql/internal/server"
	"ql/internal/wire"
)

// keyRoutes are those of an account's keys.
func (c codec) keyRoutes() []server.Route {
	return []server.Route{
		{Method: http.MethodGet, Path: "/v1/keys", Accepts: passwordOrNamed, Pages: true, Serve: c.keys, EncodeError: encodeError},
		{Method: http.MethodPost, Path: "/v1/keys", Accepts: passwordOnly, Serve: c.createKey, EncodeError: encodeError},
		{Method: http.MethodGet, Path: "/v1/account/key", Accepts: passwordOnly, Serve: c.showKey, EncodeError: encodeError},
		{Method: http.MethodDelete, Path: "/v1/keys/{name}", Accepts: passwordOnly, Serve: c.revokeKey, EncodeError: encodeError},
	}
}

func (c codec) keys(h http.Header, r *server.Request) (server.Response, error) {
	p, _, err := readHead(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.Keys(r.Context(), r.Caller, p)
	if err != nil {
		return server.Response{Meta: l.Meta}, err
	}
	return encodeJSON(h, r, http.StatusOK, l.Meta, wire.AppendKeys(nil, l.Keys))
}

// mostKeyBytes is how long the description of a new key may be.
const mostKeyBytes = 16 << 10

func (c codec) createKey(h http.Header, r *server.Request) (server.Response, error) {
	p, _, err := readHead(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	limits := c.service.LargestRequest()
	limits.Body = min(limits.Body, mostKeyBytes)
	body, err := r.Body(wire.JSONType, limits.Body)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	n, err := wire.DecodeNewKey(body, r.DecodeLimits(body, limits))
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	created, err := c.service.CreateKey(r.Context(), r.Caller, p, *n)
	if err != nil {
		return server.Response{Meta: created.Meta}, err
	}
	return encodeJSON(h, r, http.StatusCreated, created.Meta, wire.AppendCreatedKey(nil, created.Entry, created.Key))
}

func (c codec) revokeKey(h http.Header, r *server.Request) (server.Response, error) {
	p, _, err := readHead(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.RevokeKey(r.Context(), r.Caller, p, r.Variable)
	return noContent(h, r, l.Meta, err)
}

func (c codec) showKey(h http.Header, r *server.Request) (server.Response, error) {
	p, _, err := readHead(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	shown, err := c.service.ShowKey(r.Context(), r.Caller, p)
	if err != nil {
		return server.Response{Meta: shown.Meta}, err
	}
	return encodeJSON(h, r, http.StatusOK, shown.Meta, wire.AppendShownKey(nil, shown.Username, shown.Key))
}
