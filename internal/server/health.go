package server

import (
	"net/http"

	"ql/internal/fault"
	"ql/internal/wire"
)

// healthRoutes are the routes that every service has: its health, and its description.
func (h *Handler) healthRoutes() []Route {
	plain := func(path string, serve func(http.Header, *Request) (Response, error)) Route {
		return Route{Method: http.MethodGet, Path: path, Public: true, Serve: serve, EncodeError: EncodeErrorJSON}
	}
	return []Route{
		plain("/healthz", alive),
		plain("/readyz", h.ready),
		plain("/openapi.json", h.describe),
	}
}

// alive answers as long as the process does.
func alive(header http.Header, r *Request) (Response, error) {
	wire.SetJSON(header, r.Setting(""))
	return Response{Status: http.StatusOK, Body: []byte(`{"status":"ok"}`)}, nil
}

func (h *Handler) ready(header http.Header, r *Request) (Response, error) {
	if h.o.Ready != nil {
		if err := h.o.Ready(r.Context()); err != nil {
			return Response{}, fault.New(fault.StorageUnavailable, "the service cannot work at the moment").WithCause(err)
		}
	}
	return alive(header, r)
}

func (h *Handler) describe(header http.Header, r *Request) (Response, error) {
	wire.SetJSON(header, r.Setting(""))
	return Response{Status: http.StatusOK, Body: h.o.OpenAPI}, nil
}
