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
	look := func(path string, needs wire.EditorNeeds, do func(context.Context, service.Caller, *service.Credentials, *wire.EditorQuery) (service.EditorAnswer, error)) server.Route {
		return server.Route{
			Method: http.MethodPost, Path: path, Accepts: passwordOrNamed, Pages: true, Timeout: c.service.LongestCall(), EncodeError: encodeError,
			Serve: func(h http.Header, r *server.Request) (server.Response, error) {
				p, _, err := readHead(r)
				if err != nil {
					return server.RejectBeforeAuth(err)
				}
				q, err := decodeBody(c, r, 0, func(body []byte, l wire.Limits) (*wire.EditorQuery, error) {
					return wire.DecodeEditorQuery(body, l, needs)
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
		look("/v1/check", wire.NeedsText, c.service.Check),
		look("/v1/complete", wire.NeedsPlace, c.service.Complete),
		look("/v1/hover", wire.NeedsPlace, c.service.Hover),
		look("/v1/definition", wire.NeedsPlace, c.service.Definition),
		look("/v1/rename", wire.NeedsName, c.service.Rename),
		look("/v1/format", wire.NeedsText, c.service.Format),
	}
}
