package jsonapi

import (
	"net/http"

	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

func (c codec) confirm(h http.Header, r *server.Request) (server.Reply, error) {
	p, err := basic(r)
	if err != nil {
		return server.Unread(err)
	}
	wait, err := wait(r, confirmWait)
	if err != nil {
		return server.Unread(err)
	}
	limits := c.service.LargestRequest()
	body, err := r.Body(wire.JSONType, limits.Body)
	if err != nil {
		return server.Unread(err)
	}
	reply, err := wire.DecodeReply(body, r.Counted(body, limits))
	if err != nil {
		return server.Unread(err)
	}
	answer, err := c.service.Confirm(r.Context(), r.Caller, r.ID, p, service.Reply{
		Approved: reply.Approved, Fields: reply.Fields, Nodes: reply.Shape.Nodes, Prompt: reply.PromptID, Within: reply.Within,
	}, wait)
	if err != nil {
		return server.Reply{Origin: answer.Origin, Rate: answer.Rate}, err
	}
	return write(h, r, &answer), nil
}
