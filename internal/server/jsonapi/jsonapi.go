// Package jsonapi is the JSON convention: it decodes requests of /v1, and
// encodes what the operations of package service answer. Finding routes and writing
// answers is package server's.
package jsonapi

import (
	"net/http"
	"slices"

	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// Routes returns the routes of the convention.
func Routes(s *service.Service) []server.Route {
	c := codec{s}
	return slices.Concat(c.fileRoutes(), c.shareRoutes(), []server.Route{
		{
			Method: http.MethodPost, Path: "/v1/query", Accepts: principal.Set{principal.ByPassword, principal.ByToken, principal.ByOrigin}, Pages: true,
			Longest: s.LongestCall(), Serve: c.query, Refuse: server.RefuseJSON,
		},
		{
			Method: http.MethodGet, Path: "/v1/job/{id}", Accepts: jobHolder, Pages: true,
			Longest: longestWait, Serve: c.job, Refuse: refuseJob,
		},
		{
			Method: http.MethodDelete, Path: "/v1/job/{id}", Accepts: jobHolder, Pages: true,
			Longest: longestWait, Serve: c.cancel, Refuse: refuseJob,
		},
		{
			Method: http.MethodGet, Path: "/v1/job/{id}/events", Accepts: jobHolder, Pages: true,
			Longest: longestWait, Serve: c.events, Refuse: refuseJob,
		},
		{
			Method: http.MethodPost, Path: "/v1/confirm/{id}", Accepts: jobHolder, Pages: true,
			Longest: longestWait, Serve: c.confirm, Refuse: refuseJob,
		},
		{
			Method: http.MethodGet, Path: "/v1/jobs", Accepts: owner, Pages: true,
			Serve: c.jobs, Refuse: refuseJob,
		},
		{
			Method: http.MethodGet, Path: "/v1/limits", Accepts: owner, Pages: true,
			Serve: c.limits, Refuse: refuseJob,
		},
	})
}

// The credentials that routes take.
var (
	jobHolder    = principal.Set{principal.ByNobody, principal.ByOrigin, principal.ByKey, principal.ByPassword} // whoever knows a job's id, as its account allows
	owner        = principal.Set{principal.ByKey, principal.ByPassword}
	passwordOnly = principal.Set{principal.ByPassword}
)

type codec struct{ service *service.Service }

func (c codec) query(h http.Header, r *server.Request) (server.Reply, error) {
	limits := c.service.LargestRequest()
	body, err := r.Body(wire.JSONType, limits.Body)
	if err != nil {
		return server.Unread(err)
	}
	q, err := wire.DecodeQuery(body, r.Counted(body, limits))
	if err != nil {
		return server.Unread(err)
	}
	answer, err := c.service.Query(r.Context(), r.Caller, service.Query{
		Convention: job.JSON, Proof: proof(q.Auth), Script: q.Script, Async: q.Async, Request: q.Request, Within: q.Within,
		Webhook: q.Webhook, Key: r.IdempotencyKey(),
	})
	if err != nil {
		return server.Reply{Origin: answer.Origin, Rate: answer.Rate}, err
	}
	return write(h, r, &answer), nil
}

// proof returns the credentials of a request; a password goes before a token.
func proof(a *wire.Auth) *service.Proof {
	switch {
	case a == nil:
		return nil
	case a.Password != nil:
		return &service.Proof{By: principal.ByPassword, Name: a.Username, Secret: *a.Password}
	}
	return &service.Proof{By: principal.ByToken, Name: a.Username, Secret: *a.Token}
}

// write encodes an answer about a job.
func write(h http.Header, r *server.Request, a *service.Answer) server.Reply {
	setting := r.Setting(a.Origin)
	a.Job.SetJSON(h, setting)
	r.GiveSession(h, a.Session, setting)
	reply := server.Reply{Status: a.Status, Origin: a.Origin, Rate: a.Rate, RetryAfter: a.RetryAfter}
	if size := a.Job.Size(); size > service.Uncounted {
		reply.Pieces = a.Job.Pieces()
	} else {
		reply.Body = a.Job.AppendJSON(make([]byte, 0, size))
	}
	return reply
}

// refuseJob tells, where credentials are missing or wrong, how to send them.
func refuseJob(h http.Header, s wire.Setting, r *service.Refusal) []byte {
	body := server.RefuseJSON(h, s, r)
	if r.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Basic realm="ql", charset="UTF-8"`)
	}
	return body
}
