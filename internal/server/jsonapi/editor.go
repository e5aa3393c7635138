package jsonapi

import (
	"context"
	"net/http"

	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// editorRoutes are those that say something of a script while somebody writes it. They run nothing.
func (c codec) editorRoutes() []server.Route {
	look := func(path string, placed bool, do func(context.Context, service.Caller, *service.Credentials, *wire.EditorQuery) (service.EditorAnswer, error)) server.Route {
		return server.Route{
			Method: http.MethodPost, Path: path, Accepts: passwordOrNamed, Pages: true, Timeout: c.service.LongestCall(), EncodeError: encodeError,
			Serve: func(h http.Header, r *server.Request) (server.Response, error) {
				p, _, err := readHead(r)
				if err != nil {
					return server.RejectBeforeAuth(err)
				}
				q, err := decodeBody(c, r, 0, func(body []byte, l wire.Limits) (*wire.EditorQuery, error) {
					return wire.DecodeEditorQuery(body, l, placed)
				})
				if err != nil {
					return server.RejectBeforeAuth(err)
				}
				a, err := do(r.Context(), r.Caller, p, q)
				if err != nil {
					return server.Response{Status: http.StatusOK, Meta: a.Meta}, err
				}
				return encodeJSON(h, r, http.StatusOK, a.Meta, a.Body)
			},
		}
	}
	return []server.Route{
		look("/v1/check", false, c.service.Check),
		look("/v1/complete", true, c.service.Complete),
		look("/v1/hover", true, c.service.Hover),
		look("/v1/format", false, c.service.Format),
	}
}
