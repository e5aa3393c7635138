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

func (c codec) jobFeed(h http.Header, r *server.Request) (server.Response, error) {
	p, _, err := readHead(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	after := int64(0)
	if text := r.HeaderValue("Last-Event-ID"); text != "" {
		if after, err = strconv.ParseInt(text, 10, 64); err != nil || after < 0 {
			return server.RejectBeforeAuth(fault.Invalid("Last-Event-ID", "is no id of an event of this feed"))
		}
	}
	feed, meta, err := c.service.JobFeed(r.Context(), r.Caller, p, after)
	if err != nil {
		return server.Response{Meta: meta}, err
	}
	if r.Method == http.MethodHead {
		feed.Stop() // HEAD has no body
	}
	wire.SetEvents(h, r.Setting(meta.Origin))
	return server.Response{Status: http.StatusOK, Meta: meta, Stream: func(ctx context.Context, w io.Writer) { streamFeed(ctx, w, feed) }}, nil
}

// streamFeed writes events until its time is over, or who follows it is gone.
func streamFeed(ctx context.Context, w io.Writer, feed *service.JobFeed) {
	defer feed.Stop()
	for {
		list, more, err := feed.Next(ctx, keepAlive)
		if err != nil || !more {
			return // who wants to go on comes again
		}
		text := []byte(nil)
		for _, e := range list {
			text = wire.AppendEvent(text, e.ID, e.Kind, wire.AppendFeedJob(nil, e.Job))
		}
		if len(list) == 0 {
			text = []byte(wire.KeepAlive)
		}
		if _, err := w.Write(text); err != nil {
			return
		}
	}
}
