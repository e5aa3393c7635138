// Package formapi is the form convention: it decodes the forms sent to /api, and
// answers with a script's output as text. Finding routes and writing answers is
// httpapi's.
package formapi

import (
	"net/http"

	"ql/internal/api"
	"ql/internal/api/httpapi"
	"ql/internal/job"
	"ql/internal/wire"
)

// Routes returns the routes of the convention.
func Routes(s *api.Service) []httpapi.Route {
	c := codec{s}
	return []httpapi.Route{{
		Method: http.MethodPost, Path: "/api", Access: httpapi.Account, Pages: true,
		Longest: s.LongestCall(), Serve: c.query, Refuse: refuse,
	}}
}

type codec struct{ service *api.Service }

func (c codec) query(h http.Header, r *httpapi.Request) (httpapi.Reply, error) {
	limits := c.service.LargestRequest()
	body, err := r.Body(wire.FormType, limits.Body)
	if err != nil {
		return httpapi.Unread(err)
	}
	q, err := wire.DecodeForm(body, r.Counted(body, limits))
	if err != nil {
		return httpapi.Unread(err)
	}
	a, err := c.service.Query(r.Context(), r.Caller, api.Query{
		Convention: job.Form, Proof: &api.Proof{By: job.ByKey, Name: q.Identity, Secret: q.Password},
		Script: q.Script, Request: q.Request, Within: q.Within, Key: r.IdempotencyKey(),
	})
	if err != nil {
		return httpapi.Reply{Origin: a.Origin, Rate: a.Rate}, err
	}
	setting := r.Setting(a.Origin)
	a.Job.SetText(h, setting, a.Err)
	r.GiveSession(h, a.Session, setting)
	reply := httpapi.Reply{Status: a.Status, Origin: a.Origin, Rate: a.Rate, RetryAfter: a.RetryAfter}
	if output, after := a.Job.Text(a.Err); after == nil && len(output) <= wire.PieceBytes {
		reply.Body = output
	} else {
		reply.Pieces = a.Job.TextPieces(a.Err)
	}
	return reply, nil
}

func refuse(h http.Header, s wire.Setting, r *api.Refusal) []byte {
	r.SetText(h, s)
	return r.AppendLine(nil)
}
