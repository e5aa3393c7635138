package jsonapi

import (
	"encoding/json"
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
	input, err := inputOf(r, q)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	call := service.Query{
		Convention: job.JSON, Credentials: credentials, Script: q.Script, Input: input, Async: q.Async, Request: q.Request, Trace: q.Trace, History: q.History, Within: q.Within,
		Webhook: q.Webhook, WebhookTrace: q.WebhookTrace, WebhookEvents: webhookEvents(q.WebhookEvents), Key: r.IdempotencyKey(), Concurrency: job.Concurrency(q.Concurrency),
	}
	if q.Program != "" {
		call.Program = &service.Program{Name: q.Program}
	}
	answer, err := c.service.Query(r.Context(), r.Caller, call)
	if err != nil {
		return server.Response{Meta: answer.Meta}, err
	}
	return encodeAnswer(h, r, &answer), nil
}

// inputOf returns what a script is given, apart from the body; nil for nothing.
func inputOf(r *server.Request, q *wire.Query) (json.RawMessage, error) {
	if q.Input == "" {
		return nil, nil
	}
	if len(q.Input) > service.UnreservedBytes {
		if err := r.Reserve(int64(len(q.Input))); err != nil {
			return nil, err
		}
	}
	return json.RawMessage(q.Input), nil
}

// webhookEvents is the set of events that were named.
func webhookEvents(names []string) (set job.WebhookEvents) {
	for _, name := range names {
		set |= job.EventNamed(name)
	}
	return set
}
