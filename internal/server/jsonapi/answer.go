package jsonapi

import (
	"net/http"

	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// encodeAnswer encodes an answer about a job.
func encodeAnswer(h http.Header, r *server.Request, a *service.Answer) server.Response {
	setting := r.Setting(a.Origin)
	head := a.Job.SetJSON(h, setting)
	r.SetSession(h, a.Session, "/", setting)
	reply := server.Response{Status: a.Status, Meta: a.Meta, RetryAfter: a.RetryAfter, Head: head}
	if size := a.Job.Size(); size > service.UnreservedBytes {
		reply.Pieces = a.Job.Pieces()
	} else {
		reply.Body = a.Job.AppendJSON(make([]byte, 0, size))
	}
	return reply
}

// encodeError tells, where credentials are missing or wrong, how to send them.
func encodeError(h http.Header, s wire.HeaderOptions, r *service.Refusal) []byte {
	body := server.EncodeErrorJSON(h, s, r)
	if r.Status == http.StatusUnauthorized {
		h["Www-Authenticate"] = []string{`Basic realm="ql", charset="UTF-8"`, `Bearer realm="ql"`}
		if s.SameOrigin { // a browser would ask people for the former, over the page that knows better
			h["Www-Authenticate"] = []string{`Bearer realm="ql"`}
		}
	}
	return body
}
