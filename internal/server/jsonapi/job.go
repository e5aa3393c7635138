package jsonapi

import (
	"net/http"

	"ql/internal/server"
)

func (c codec) job(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	wait, err := wait(r, 0)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	answer, err := c.service.Job(r.Context(), r.Caller, r.Variable, p, wait)
	if err != nil {
		return server.Response{Meta: answer.Meta}, err
	}
	return encodeAnswer(h, r, &answer), nil
}

func (c codec) cancel(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	if _, err := parameters(r); err != nil {
		return server.RejectBeforeAuth(err)
	}
	answer, err := c.service.Cancel(r.Context(), r.Caller, r.Variable, p)
	if err != nil {
		return server.Response{Meta: answer.Meta}, err
	}
	return encodeAnswer(h, r, &answer), nil
}
