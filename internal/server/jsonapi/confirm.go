package jsonapi

import (
	"net/http"

	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

func (c codec) confirm(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	wait, err := wait(r, confirmWait)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	reply, err := decodeBody(c, r, 0, wire.DecodeReply)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	answer, err := c.service.Confirm(r.Context(), r.Caller, r.Variable, p, service.Reply{
		Approved: reply.Approved, Fields: reply.Fields, Nodes: reply.Shape.Nodes, Prompt: reply.PromptID, Note: reply.Note, Within: reply.Within,
	}, wait)
	if err != nil {
		return server.Response{Meta: answer.Meta}, err
	}
	return encodeAnswer(h, r, &answer), nil
}
