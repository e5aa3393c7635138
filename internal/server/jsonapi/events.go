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

func (c codec) events(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	values, err := parameters(r, "only")
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	var only service.EventKinds
	if values.Has("only") {
		if only, err = service.ParseEventKinds(values.Get("only")); err != nil {
			return server.RejectBeforeAuth(err)
		}
	}
	from := int64(0)
	if text := r.HeaderValue("Last-Event-ID"); text != "" {
		if from, err = strconv.ParseInt(text, 10, 64); err != nil || from < 0 {
			return server.RejectBeforeAuth(fault.Invalid("Last-Event-ID", "is no id of an event of this job"))
		}
	}
	events, answer, err := c.service.Events(r.Context(), r.Caller, r.Variable, p, from, only)
	if err != nil {
		return server.Response{Meta: answer.Meta}, err
	}
	if r.Method == http.MethodHead {
		events.Stop() // HEAD has no body
	}
	wire.SetEvents(h, r.Setting(answer.Origin))
	return server.Response{Status: http.StatusOK, Meta: answer.Meta, Stream: func(ctx context.Context, w io.Writer) { streamEvents(ctx, w, events) }}, nil
}

// streamEvents writes events until the job or its watcher is gone.
func streamEvents(ctx context.Context, w io.Writer, events *service.Events) {
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
