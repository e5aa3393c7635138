package jsonapi

import (
	"context"
	"io"
	"net/http"
	"strconv"

	"ql/internal/fault"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

func (c codec) events(h http.Header, r *server.Request) (server.Reply, error) {
	p, err := basic(r)
	if err != nil {
		return server.Unread(err)
	}
	if _, err := parameters(r); err != nil {
		return server.Unread(err)
	}
	from := int64(0)
	if text := r.Sent("Last-Event-ID"); text != "" {
		if from, err = strconv.ParseInt(text, 10, 64); err != nil || from < 0 {
			return server.Unread(fault.Invalid("Last-Event-ID", "is no id of an event of this job"))
		}
	}
	events, answer, err := c.service.Events(r.Context(), r.Caller, r.ID, p, from)
	if err != nil {
		return server.Reply{Origin: answer.Origin, Rate: answer.Rate}, err
	}
	if r.Method == http.MethodHead {
		events.Stop() // nothing is told
	}
	wire.SetEvents(h, r.Setting(answer.Origin))
	return server.Reply{Status: http.StatusOK, Origin: answer.Origin, Stream: func(ctx context.Context, w io.Writer) { tell(ctx, w, events) }}, nil
}

// tell writes events until the job or its watcher is gone.
func tell(ctx context.Context, w io.Writer, events *service.Events) {
	defer events.Stop()
	for {
		list, more, err := events.Next(ctx, keepAlive)
		if err != nil || !more {
			return // a watcher that wants to go on comes again
		}
		text := []byte(nil)
		for _, e := range list {
			text = wire.AppendEvent(text, e.Position, e.Kind, e.Data)
		}
		if len(list) == 0 {
			text = []byte(wire.KeepAlive)
		}
		if _, err := w.Write(text); err != nil {
			return
		}
	}
}
