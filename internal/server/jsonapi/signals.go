package jsonapi

import (
	"net/http"

	"ql/internal/engine"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// signalOverhead is what the body of a signal has besides its data.
const signalOverhead = 4 << 10

func (c codec) signal(h http.Header, r *server.Request) (server.Response, error) {
	s, err := decodeBody(c, r, engine.MaxSignalBytes+signalOverhead, wire.DecodeSignal)
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
