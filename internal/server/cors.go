package server

import (
	"net/http"

	"ql/internal/wire"
)

// isPreflight tells whether a browser asks for a page whether it may call.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

func (h *Handler) preflight(header http.Header, r *Request) (Response, error) {
	if err := h.o.Preflight(r.Context(), r.Caller.Origin); err != nil {
		return Response{}, err
	}
	wire.SetPreflight(header, r.Setting(r.Caller.Page))
	return Response{Status: http.StatusNoContent}, nil
}
