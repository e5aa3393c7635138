package jsonapi

import (
	"cmp"
	"net/http"
	"net/url"
	"time"

	"ql/internal/fault"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

func (c codec) jobs(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	values, err := parameters(r, "status", "state", "q", "error", "convention", "schedule", "since", "until", "limit", "before")
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	list := service.JobQuery{
		Status: cmp.Or(values.Get("state"), values.Get("status")), Text: values.Get("q"), Error: values.Get("error"), Convention: values.Get("convention"), Schedule: values.Get("schedule"),
		Before: values.Get("before"),
	}
	if values.Has("state") && values.Has("status") {
		return server.RejectBeforeAuth(fault.Invalid("status", "stands beside state, which is the same: one of the two fits"))
	}
	if list.Since, err = moment(values, "since"); err == nil {
		list.Until, err = moment(values, "until")
	}
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	if list.Limit, err = pageLimit(values, "jobs", largestPage); err != nil {
		return server.RejectBeforeAuth(err)
	}
	listing, err := c.service.Jobs(r.Context(), r.Caller, p, list)
	if err != nil {
		return server.Response{Meta: listing.Meta}, err
	}
	wire.SetJSON(h, r.Setting(listing.Origin))
	return server.Response{Status: http.StatusOK, Body: wire.AppendJobs(nil, listing.Jobs, listing.Next), Meta: listing.Meta}, nil
}

// moment reads a moment of an address: a time, or a day, which begins at midnight in UTC. The zero
// time is none.
func moment(values url.Values, name string) (time.Time, error) {
	if !values.Has(name) {
		return time.Time{}, nil
	}
	text := values.Get(name)
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil && t.Year() > 0 {
			return t, nil
		}
	}
	return time.Time{}, fault.Invalid(name, "is no moment: 2026-11-16 and 2026-11-16T08:30:00Z fit")
}
