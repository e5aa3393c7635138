// Package formapi is the form convention: it decodes the forms sent to /api, and
// answers with a script's output as text. Finding routes and writing answers is
// package server's.
package formapi

import (
	"net/http"

	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// Routes returns the routes of the convention.
func Routes(s *service.Service) []server.Route {
	c := codec{s}
	return []server.Route{{
		Method: http.MethodPost, Path: "/api", Accepts: principal.Set{principal.ByKey}, Pages: true,
		Timeout: s.LongestCall(), Serve: c.query, EncodeError: encodeError,
	}}
}

type codec struct{ service *service.Service }

func (c codec) query(h http.Header, r *server.Request) (server.Response, error) {
	limits := c.service.LargestRequest()
	body, err := r.Body(wire.FormType, limits.Body)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	q, err := wire.DecodeForm(body, r.DecodeLimits(body, limits))
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.Query(r.Context(), r.Caller, service.Query{
		Convention: job.Form, Credentials: &service.Credentials{By: principal.ByKey, Name: q.Identity, Secret: q.Password},
		Script: q.Script, Request: q.Request, Within: q.Within, Key: r.IdempotencyKey(),
	})
	if err != nil {
		return server.Response{Meta: a.Meta}, err
	}
	setting := r.Setting(a.Origin)
	head := a.Job.SetText(h, setting, a.Err)
	r.SetSession(h, a.Session, "/", setting)
	reply := server.Response{Status: a.Status, Meta: a.Meta, RetryAfter: a.RetryAfter, Head: head}
	if output, after := a.Job.Text(a.Err); after == nil && len(output) <= wire.PieceBytes {
		reply.Body = output
	} else {
		reply.Pieces = a.Job.TextPieces(a.Err)
	}
	return reply, nil
}

func encodeError(h http.Header, s wire.HeaderOptions, r *service.Refusal) []byte {
	r.SetText(h, s)
	return r.AppendLines(nil)
}
