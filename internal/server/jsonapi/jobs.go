package jsonapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ql/internal/fault"
	"ql/internal/principal"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

const (
	// longestWait is how long a caller may wait for a job at once.
	longestWait = 60 * time.Second
	// confirmWait is how long an answer waits for what comes of it, unless the
	// caller says otherwise.
	confirmWait = 30 * time.Second
	// keepAlive is how often a stream of events says that it is alive.
	keepAlive = 15 * time.Second
)

// basic returns the credentials of HTTP Basic, nil where there are none.
func basic(r *server.Request) (*service.Proof, error) {
	name, secret, ok := r.BasicAuth()
	switch {
	case ok && service.IsKey(secret):
		return &service.Proof{By: principal.ByKey, Name: name, Secret: wire.Secret(secret)}, nil
	case ok:
		return &service.Proof{By: principal.ByPassword, Name: name, Secret: wire.Secret(secret)}, nil
	case r.Sent("Authorization") != "":
		return nil, fault.Invalid("Authorization", "is no HTTP Basic with a username and a password")
	}
	return nil, nil
}

// parameters reads the parameters of an address, each at most once and none but
// those known.
func parameters(r *server.Request, known ...string) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fault.Invalid("address", "has parameters that are not encoded as they should be")
	}
	for name, all := range values {
		switch {
		case !slices.Contains(known, name):
			return nil, fault.Invalid(name, "is no parameter of this address: %s", fitting(known))
		case len(all) > 1:
			return nil, fault.Invalid(name, "stands there more than once")
		}
	}
	return values, nil
}

func fitting(known []string) string {
	switch last := len(known) - 1; last {
	case -1:
		return "it has none"
	case 0:
		return known[0] + " fits"
	default:
		return strings.Join(known[:last], ", ") + " and " + known[last] + " fit"
	}
}

// seconds reads a whole number of seconds, of which more than longestWait is
// that, however many digits it has.
func seconds(text string) (wait time.Duration, ok bool) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return min(time.Duration(n)*time.Second, longestWait), true
}

// wait returns how long a caller wants to wait: by the parameter, or by the
// header Prefer, which asks and does not insist.
func wait(r *server.Request, unless time.Duration) (time.Duration, error) {
	values, err := parameters(r, "wait")
	if err != nil {
		return 0, err
	}
	if text := values.Get("wait"); values.Has("wait") {
		wait, ok := seconds(text)
		if !ok {
			return 0, fault.Invalid("wait", "is no whole number of seconds: 30 fits, and more than %d is %[1]d", int(longestWait.Seconds()))
		}
		return wait, nil
	}
	for _, preference := range strings.Split(strings.Join(r.Header.Values("Prefer"), ","), ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(preference), "=")
		if wait, ok := seconds(text); ok && strings.EqualFold(name, "wait") {
			return wait, nil
		}
	}
	return unless, nil
}

func (c codec) job(h http.Header, r *server.Request) (server.Reply, error) {
	p, err := basic(r)
	if err != nil {
		return server.Unread(err)
	}
	wait, err := wait(r, 0)
	if err != nil {
		return server.Unread(err)
	}
	answer, err := c.service.Job(r.Context(), r.Caller, r.ID, p, wait)
	if err != nil {
		return server.Reply{Origin: answer.Origin, Rate: answer.Rate}, err
	}
	return write(h, r, &answer), nil
}

func (c codec) cancel(h http.Header, r *server.Request) (server.Reply, error) {
	p, err := basic(r)
	if err != nil {
		return server.Unread(err)
	}
	if _, err := parameters(r); err != nil {
		return server.Unread(err)
	}
	answer, err := c.service.Cancel(r.Context(), r.Caller, r.ID, p)
	if err != nil {
		return server.Reply{Origin: answer.Origin, Rate: answer.Rate}, err
	}
	return write(h, r, &answer), nil
}

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

// The number of jobs on a page of a listing.
const (
	usualPage   = 50
	largestPage = 500
)

func (c codec) jobs(h http.Header, r *server.Request) (server.Reply, error) {
	p, err := basic(r)
	if err != nil {
		return server.Unread(err)
	}
	values, err := parameters(r, "status", "limit", "before")
	if err != nil {
		return server.Unread(err)
	}
	list := service.List{Status: values.Get("status"), Limit: usualPage, Before: values.Get("before")}
	if values.Has("limit") {
		if list.Limit, err = strconv.Atoi(values.Get("limit")); err != nil || list.Limit < 1 || list.Limit > largestPage {
			return server.Unread(fault.Invalid("limit", "is no number of jobs: 1 to %d fits", largestPage))
		}
	}
	listing, err := c.service.Jobs(r.Context(), r.Caller, p, list)
	if err != nil {
		return server.Reply{Origin: listing.Origin}, err
	}
	wire.SetJSON(h, r.Setting(listing.Origin))
	return server.Reply{Status: http.StatusOK, Body: wire.AppendJobs(nil, listing.Jobs, listing.Next), Origin: listing.Origin}, nil
}

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
