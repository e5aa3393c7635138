package jsonapi

import (
	"net/http"

	"ql/internal/job"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

func (c codec) query(h http.Header, r *server.Request) (server.Response, error) {
	limits := c.service.LargestRequest()
	body, err := r.Body(wire.JSONType, limits.Body)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	q, err := wire.DecodeQuery(body, r.DecodeLimits(body, limits))
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	credentials, err := queryCredentials(r, q.Auth)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	answer, err := c.service.Query(r.Context(), r.Caller, service.Query{
		Convention: job.JSON, Credentials: credentials, Script: q.Script, Async: q.Async, Request: q.Request, Within: q.Within,
		Webhook: q.Webhook, Key: r.IdempotencyKey(),
	})
	if err != nil {
		return server.Response{Meta: answer.Meta}, err
	}
	return encodeAnswer(h, r, &answer), nil
}
