// Package jsonapi is the JSON convention: it decodes requests of /v1, and
// encodes what the operations of package service answer. Finding routes and writing
// answers is package server's.
package jsonapi

import (
	"net/http"
	"slices"

	"ql/internal/principal"
	"ql/internal/server"
	"ql/internal/service"
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
