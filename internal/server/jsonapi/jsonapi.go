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
	return slices.Concat(c.fileRoutes(), c.shareRoutes(), c.keyRoutes(), c.accountRoutes(), c.machineRoutes(), c.scheduleRoutes(), c.domainRoutes(), c.siteDomainRoutes(), c.siteRoutes(), c.scriptRoutes(), c.questionRoutes(), c.databaseRoutes(), c.webhookRoutes(), c.mailRoutes(), c.historyRoutes(), c.editorRoutes(), c.sessionRoutes(), c.signUpRoutes(), c.adminRoutes(), []server.Route{
		{
			Method: http.MethodPost, Path: "/v1/query", Accepts: principal.Set{principal.ByPassword, principal.ByToken, principal.ByOrigin, principal.ByNamedKey}, Pages: true,
			Timeout: s.LongestCall(), Serve: c.query, EncodeError: server.EncodeErrorJSON,
		},
		{
			Method: http.MethodGet, Path: "/v1/job/{id}", Accepts: jobHolder, Pages: true,
			Timeout: longestWait, Serve: c.job, EncodeError: encodeError,
		},
		{
			Method: http.MethodDelete, Path: "/v1/job/{id}", Accepts: jobHolder, Pages: true,
			Timeout: longestWait, Serve: c.cancel, EncodeError: encodeError,
		},
		{
			Method: http.MethodGet, Path: "/v1/job/{id}/events", Accepts: jobHolder, Pages: true,
			Timeout: longestWait, Serve: c.events, EncodeError: encodeError,
		},
		{
			Method: http.MethodPost, Path: "/v1/confirm/{id}", Accepts: jobHolder, Pages: true,
			Timeout: longestWait, Serve: c.confirm, EncodeError: encodeError,
		},
		{
			Method: http.MethodPost, Path: "/v1/signals/{token}", Accepts: principal.Set{principal.ByNobody},
			Serve: c.signal, EncodeError: encodeError,
		},
		{
			Method: http.MethodGet, Path: "/v1/jobs", Accepts: owner, Pages: true,
			Serve: c.jobs, EncodeError: encodeError,
		},
		{
			Method: http.MethodGet, Path: "/v1/jobs/events", Accepts: owner, Pages: true,
			Timeout: longestWait, Serve: c.jobFeed, EncodeError: encodeError,
		},
		{
			Method: http.MethodGet, Path: "/v1/limits", Accepts: owner, Pages: true,
			Serve: c.limits, EncodeError: encodeError,
		},
		{
			Method: http.MethodGet, Path: "/v1/usage", Accepts: owner, Pages: true,
			Serve: c.usage, EncodeError: encodeError,
		},
	})
}

// The credentials that routes take.
var (
	jobHolder       = principal.Set{principal.ByNobody, principal.ByOrigin, principal.ByKey, principal.ByNamedKey, principal.ByPassword, principal.ByToken} // whoever knows a job's id, as its account allows
	owner           = principal.Set{principal.ByKey, principal.ByNamedKey, principal.ByPassword, principal.ByToken}
	passwordOrNamed = principal.Set{principal.ByNamedKey, principal.ByPassword, principal.ByToken}
	passwordOnly    = principal.Set{principal.ByPassword, principal.ByToken} // what no key does, and no page but the dashboard's, with the password again
)

type codec struct{ service *service.Service }
