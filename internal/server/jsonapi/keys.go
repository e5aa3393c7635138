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
		{Method: http.MethodPost, Path: "/v1/keys", Accepts: passwordOnly, Pages: true, Serve: c.createKey, EncodeError: encodeError},
		{Method: http.MethodGet, Path: "/v1/account/key", Accepts: passwordOnly, Pages: true, Serve: c.showKey, EncodeError: encodeError},
		{Method: http.MethodDelete, Path: "/v1/keys/{name}", Accepts: passwordOnly, Pages: true, Serve: c.revokeKey, EncodeError: encodeError},
	}
}

func (c codec) keys(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	if _, err := parameters(r); err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.Keys(r.Context(), r.Caller, p)
	reply := server.Response{Status: http.StatusOK, Meta: l.Meta}
	if err != nil {
		return reply, err
	}
	wire.SetJSON(h, r.Setting(l.Origin))
	reply.Body = wire.AppendKeys(nil, l.Keys)
	return reply, nil
}

// mostKeyBytes is how long the description of a new key may be.
const mostKeyBytes = 16 << 10

func (c codec) createKey(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	if _, err := parameters(r); err != nil {
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
	reply := server.Response{Status: http.StatusCreated, Meta: created.Meta}
	if err != nil {
		return reply, err
	}
	wire.SetJSON(h, r.Setting(created.Origin))
	reply.Body = wire.AppendCreatedKey(nil, created.Entry, created.Key)
	return reply, nil
}

func (c codec) revokeKey(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	if _, err := parameters(r); err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.RevokeKey(r.Context(), r.Caller, p, r.Variable)
	reply := server.Response{Status: http.StatusNoContent, Meta: l.Meta}
	if err != nil {
		return reply, err
	}
	wire.SetJSON(h, r.Setting(l.Origin))
	h.Del("Content-Type")
	return reply, nil
}

func (c codec) showKey(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	if _, err := parameters(r); err != nil {
		return server.RejectBeforeAuth(err)
	}
	shown, err := c.service.ShowKey(r.Context(), r.Caller, p)
	reply := server.Response{Status: http.StatusOK, Meta: shown.Meta}
	if err != nil {
		return reply, err
	}
	wire.SetJSON(h, r.Setting(shown.Origin))
	reply.Body = wire.AppendShownKey(nil, shown.Username, shown.Key)
	return reply, nil
}
