package jsonapi

import (
	"net/http"
	"strconv"

	"ql/internal/fault"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// The number of jobs on a page of a listing.
const (
	usualPage   = 50
	largestPage = 500
)

func (c codec) jobs(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	values, err := parameters(r, "status", "limit", "before")
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	list := service.JobQuery{Status: values.Get("status"), Limit: usualPage, Before: values.Get("before")}
	if values.Has("limit") {
		if list.Limit, err = strconv.Atoi(values.Get("limit")); err != nil || list.Limit < 1 || list.Limit > largestPage {
			return server.RejectBeforeAuth(fault.Invalid("limit", "is no number of jobs: 1 to %d fits", largestPage))
		}
	}
	listing, err := c.service.Jobs(r.Context(), r.Caller, p, list)
	if err != nil {
		return server.Response{Meta: listing.Meta}, err
	}
	wire.SetJSON(h, r.Setting(listing.Origin))
	return server.Response{Status: http.StatusOK, Body: wire.AppendJobs(nil, listing.Jobs, listing.Next), Meta: listing.Meta}, nil
}
