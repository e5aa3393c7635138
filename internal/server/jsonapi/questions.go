package jsonapi

import (
	"net/http"

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
		{
			Method: http.MethodGet, Path: "/v1/jobs/{ref}/answers", Accepts: owner, Pages: true,
			Serve: c.answers, EncodeError: encodeError,
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
	q := service.QuestionQuery{To: values.Get("to"), State: values.Get("state"), Before: values.Get("before")}
	if q.Limit, err = pageLimit(values, "questions", largestQuestions); err != nil {
		return server.RejectBeforeAuth(err)
	}
	listing, err := c.service.Questions(r.Context(), r.Caller, p, q)
	if err != nil {
		return server.Response{Meta: listing.Meta}, err
	}
	wire.SetJSON(h, r.Setting(listing.Origin))
	return server.Response{Status: http.StatusOK, Body: wire.AppendQuestions(nil, listing.Questions, listing.Next), Meta: listing.Meta}, nil
}

func (c codec) answers(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	values, err := parameters(r, "limit", "before")
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	limit, err := pageLimit(values, "questions", largestQuestions)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.JobAnswers(r.Context(), r.Caller, p, r.Variable, limit, values.Get("before"))
	if err != nil {
		return server.Response{Meta: a.Meta}, err
	}
	wire.SetJSON(h, r.Setting(a.Origin))
	return server.Response{Status: http.StatusOK, Body: wire.AppendAnswers(nil, a.Ref, a.Answers, a.Next), Meta: a.Meta}, nil
}
