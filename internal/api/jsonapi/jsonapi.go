// Package jsonapi is the JSON convention: it decodes requests of /v1, and
// encodes what the operations of package api answer. Finding routes and writing
// answers is httpapi's.
package jsonapi

import (
	"net/http"
	"slices"

	"ql/internal/api"
	"ql/internal/api/httpapi"
	"ql/internal/job"
	"ql/internal/wire"
)

// Routes returns the routes of the convention.
func Routes(s *api.Service) []httpapi.Route {
	c := codec{s}
	return slices.Concat(c.fileRoutes(), c.shareRoutes(), []httpapi.Route{
		{
			Method: http.MethodPost, Path: "/v1/query", Access: httpapi.Account, Pages: true,
			Longest: s.LongestCall(), Serve: c.query, Refuse: httpapi.RefuseJSON,
		},
		{
			Method: http.MethodGet, Path: "/v1/job/{id}", Access: httpapi.JobsHolder, Pages: true,
			Longest: longestWait, Serve: c.job, Refuse: refuseJob,
		},
		{
			Method: http.MethodDelete, Path: "/v1/job/{id}", Access: httpapi.JobsHolder, Pages: true,
			Longest: longestWait, Serve: c.cancel, Refuse: refuseJob,
		},
		{
			Method: http.MethodGet, Path: "/v1/job/{id}/events", Access: httpapi.JobsHolder, Pages: true,
			Longest: longestWait, Serve: c.events, Refuse: refuseJob,
		},
		{
			Method: http.MethodPost, Path: "/v1/confirm/{id}", Access: httpapi.JobsHolder, Pages: true,
			Longest: longestWait, Serve: c.confirm, Refuse: refuseJob,
		},
		{
			Method: http.MethodGet, Path: "/v1/jobs", Access: httpapi.Owner, Pages: true,
			Serve: c.jobs, Refuse: refuseJob,
		},
		{
			Method: http.MethodGet, Path: "/v1/limits", Access: httpapi.Owner, Pages: true,
			Serve: c.limits, Refuse: refuseJob,
		},
	})
}

type codec struct{ service *api.Service }

func (c codec) query(h http.Header, r *httpapi.Request) (httpapi.Reply, error) {
	limits := c.service.LargestRequest()
	body, err := r.Body(wire.JSONType, limits.Body)
	if err != nil {
		return httpapi.Unread(err)
	}
	q, err := wire.DecodeQuery(body, r.Counted(body, limits))
	if err != nil {
		return httpapi.Unread(err)
	}
	answer, err := c.service.Query(r.Context(), r.Caller, api.Query{
		Convention: job.JSON, Proof: proof(q.Auth), Script: q.Script, Async: q.Async, Request: q.Request, Within: q.Within,
		Webhook: q.Webhook, Key: r.IdempotencyKey(),
	})
	if err != nil {
		return httpapi.Reply{Origin: answer.Origin, Rate: answer.Rate}, err
	}
	return write(h, r, &answer), nil
}

// proof returns the credentials of a request; a password goes before a token.
func proof(a *wire.Auth) *api.Proof {
	switch {
	case a == nil:
		return nil
	case a.Password != nil:
		return &api.Proof{By: job.ByPassword, Name: a.Username, Secret: *a.Password}
	}
	return &api.Proof{By: job.ByToken, Name: a.Username, Secret: *a.Token}
}

// write encodes an answer about a job.
func write(h http.Header, r *httpapi.Request, a *api.Answer) httpapi.Reply {
	setting := r.Setting(a.Origin)
	a.Job.SetJSON(h, setting)
	r.GiveSession(h, a.Session, setting)
	reply := httpapi.Reply{Status: a.Status, Origin: a.Origin, Rate: a.Rate, RetryAfter: a.RetryAfter}
	if size := a.Job.Size(); size > api.Uncounted {
		reply.Pieces = a.Job.Pieces()
	} else {
		reply.Body = a.Job.AppendJSON(make([]byte, 0, size))
	}
	return reply
}

// refuseJob tells, where credentials are missing or wrong, how to send them.
func refuseJob(h http.Header, s wire.Setting, r *api.Refusal) []byte {
	body := httpapi.RefuseJSON(h, s, r)
	if r.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Basic realm="ql", charset="UTF-8"`)
	}
	return body
}
