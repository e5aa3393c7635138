package jsonapi

import (
	"net/http"
	"net/url"

	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// readHead reads what every request about an account's things has: the credentials of its header,
// and its parameters, of which none but those known are taken.
func readHead(r *server.Request, known ...string) (*service.Credentials, url.Values, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return nil, nil, err
	}
	values, err := parameters(r, known...)
	return p, values, err
}

// encodeJSON makes the answer of an operation that was done.
func encodeJSON(h http.Header, r *server.Request, status int, m service.Meta, body []byte) (server.Response, error) {
	wire.SetJSON(h, r.Setting(m.Origin))
	return server.Response{Status: status, Body: body, Meta: m}, nil
}

// noContent makes the answer of an operation of which there is nothing to show.
func noContent(h http.Header, r *server.Request, m service.Meta, err error) (server.Response, error) {
	reply := server.Response{Status: http.StatusNoContent, Meta: m}
	if err != nil {
		return reply, err
	}
	wire.SetJSON(h, r.Setting(m.Origin))
	h.Del("Content-Type")
	return reply, nil
}
