package jsonapi

import (
	"net/http"
	"strconv"

	"ql/internal/fault"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// largestQuestions is the most questions on a page of a listing: each may have a form.
const largestQuestions = 100

func (c codec) questionRoutes() []server.Route {
	return []server.Route{
		{
			Method: http.MethodGet, Path: "/v1/questions", Accepts: owner, Pages: true,
			Serve: c.questions, EncodeError: encodeError,
		},
	}
}

func (c codec) questions(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	values, err := parameters(r, "to", "state", "limit", "before")
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	q := service.QuestionQuery{To: values.Get("to"), State: values.Get("state"), Limit: usualPage, Before: values.Get("before")}
	if values.Has("limit") {
		if q.Limit, err = strconv.Atoi(values.Get("limit")); err != nil || q.Limit < 1 || q.Limit > largestQuestions {
			return server.RejectBeforeAuth(fault.Invalid("limit", "is no number of questions: 1 to %d fits", largestQuestions))
		}
	}
	listing, err := c.service.Questions(r.Context(), r.Caller, p, q)
	if err != nil {
		return server.Response{Meta: listing.Meta}, err
	}
	wire.SetJSON(h, r.Setting(listing.Origin))
	return server.Response{Status: http.StatusOK, Body: wire.AppendQuestions(nil, listing.Questions, listing.Next), Meta: listing.Meta}, nil
}
