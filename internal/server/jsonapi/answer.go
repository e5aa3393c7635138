package jsonapi

import (
	"net/http"

	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// write encodes an answer about a job.
func write(h http.Header, r *server.Request, a *service.Answer) server.Reply {
	setting := r.Setting(a.Origin)
	a.Job.SetJSON(h, setting)
	r.GiveSession(h, a.Session, setting)
	reply := server.Reply{Status: a.Status, Origin: a.Origin, Rate: a.Rate, RetryAfter: a.RetryAfter}
	if size := a.Job.Size(); size > service.UnreservedBytes {
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
