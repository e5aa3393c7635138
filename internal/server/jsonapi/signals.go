package jsonapi

import (
	"net/http"

	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

func (c codec) signal(h http.Header, r *server.Request) (server.Response, error) {
	s, err := decodeBody(c, r, service.MaxSignalBytes, wire.DecodeSignal)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	repeated, err := c.service.Signal(r.Context(), r.Caller, r.Variable, service.Signal{Name: s.Name, Data: s.Data, ID: s.ID, Key: r.Header.Get("Idempotency-Key")})
	if err != nil {
		return server.Response{}, err
	}
	wire.SetJSON(h, r.Setting(""))
	body := `{"status":"ok"}`
	if repeated {
		body = `{"status":"ok","repeated":true}`
	}
	return server.Response{Status: http.StatusAccepted, Body: []byte(body)}, nil
}
