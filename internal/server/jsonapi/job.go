package jsonapi

import (
	"net/http"

	"ql/internal/server"
)

func (c codec) job(h http.Header, r *server.Request) (server.Reply, error) {
	p, err := basic(r)
	if err != nil {
		return server.Unread(err)
	}
	wait, err := wait(r, 0)
	if err != nil {
		return server.Unread(err)
	}
	answer, err := c.service.Job(r.Context(), r.Caller, r.ID, p, wait)
	if err != nil {
		return server.Reply{Origin: answer.Origin, Rate: answer.Rate}, err
	}
	return write(h, r, &answer), nil
}

func (c codec) cancel(h http.Header, r *server.Request) (server.Reply, error) {
	p, err := basic(r)
	if err != nil {
		return server.Unread(err)
	}
	if _, err := parameters(r); err != nil {
		return server.Unread(err)
	}
	answer, err := c.service.Cancel(r.Context(), r.Caller, r.ID, p)
	if err != nil {
		return server.Reply{Origin: answer.Origin, Rate: answer.Rate}, err
	}
	return write(h, r, &answer), nil
}
