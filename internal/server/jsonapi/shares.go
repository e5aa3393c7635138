package jsonapi

import (
	"net/http"

	"ql/internal/server"
	"ql/internal/wire"
)

// shareRoutes are those of an account's links.
func (c codec) shareRoutes() []server.Route {
	return []server.Route{
		{Method: http.MethodGet, Path: "/v1/shares", Accepts: passwordOrNamed, Pages: true, Serve: c.shares, EncodeError: encodeError},
		{Method: http.MethodPost, Path: "/v1/shares", Accepts: passwordOrNamed, Pages: true, Serve: c.createShare, EncodeError: encodeError},
		{Method: http.MethodPost, Path: "/v1/previews", Accepts: passwordOrNamed, Pages: true, Serve: c.createPreview, EncodeError: encodeError},
		{Method: http.MethodDelete, Path: "/v1/shares/{id}", Accepts: passwordOrNamed, Pages: true, Serve: c.revokeShare, EncodeError: encodeError},
	}
}

func (c codec) shares(h http.Header, r *server.Request) (server.Response, error) {
	p, values, err := readHead(r, "limit", "before")
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	limit, err := pageLimit(values, "links", largestPage)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.Shares(r.Context(), r.Caller, p, values.Get("before"), limit)
	if err != nil {
		return server.Response{Meta: l.Meta}, err
	}
	return encodeJSON(h, r, http.StatusOK, l.Meta, wire.AppendShares(nil, l.Shares, l.Next))
}

func (c codec) revokeShare(h http.Header, r *server.Request) (server.Response, error) {
	p, _, err := readHead(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.RevokeShare(r.Context(), r.Caller, p, r.Variable)
	if err != nil {
		return server.Response{Meta: l.Meta}, err
	}
	return encodeJSON(h, r, http.StatusOK, l.Meta, wire.AppendRevoked(nil, r.Variable))
}

func (c codec) createPreview(h http.Header, r *server.Request) (server.Response, error) {
	p, _, err := readHead(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	n, err := decodeBody(c, r, mostChangeBytes, wire.DecodeNewPreview)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.CreatePreview(r.Context(), r.Caller, p, *n)
	if err != nil {
		return server.Response{Meta: a.Meta}, err
	}
	return encodeJSON(h, r, http.StatusCreated, a.Meta, wire.AppendPreview(nil, a.URL))
}

func (c codec) createShare(h http.Header, r *server.Request) (server.Response, error) {
	p, _, err := readHead(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	body, limits, err := smallBody(r, c.service.LargestRequest(), mostChangeBytes)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	n, err := wire.DecodeNewShare(body, limits)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.CreateShare(r.Context(), r.Caller, p, *n)
	if err != nil {
		return server.Response{Meta: a.Meta}, err
	}
	return encodeJSON(h, r, http.StatusCreated, a.Meta, wire.AppendCreatedShare(nil, &a.Share, a.URL))
}
