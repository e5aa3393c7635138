// Package download hands out the file behind a link, to people in browsers and
// to programs: what it says of a file, what does not count as a use, and what
// somebody reads whose link has ended. Whether a link leads to a file, and how
// often, is decided by package shares; how a request comes and goes is
// package server's.
package download

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"ql/internal/account"
	"ql/internal/fault"
	"ql/internal/principal"
	"ql/internal/resource/shares"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// Options are what the routes are made of.
type Options struct {
	Shares *shares.Shares
	// Enter admits a download of an account's file; nil admits all.
	Enter func(ctx context.Context, account int64) (leave func(), err error)
	// OnFailed is called where a download broke off by a fault of ours, with the
	// link's id.
	OnFailed func(id string, err error)
	// Page is the origin of the pages that show previews; where there are several, with spaces between.
	Page string
	// CountSent counts how much was sent for an account; may be left out.
	CountSent func(a account.ID, bytes int64)
}

// Routes returns the routes of downloads.
func Routes(o Options) []server.Route {
	if o.Enter == nil {
		o.Enter = func(context.Context, int64) (func(), error) { return func() {}, nil }
	}
	d := downloads{o}
	return []server.Route{
		{Method: http.MethodGet, Path: "/files/{token}", Accepts: principal.Set{principal.ByNobody}, Timeout: service.LongestTransfer, Serve: d.serve, EncodeError: server.EncodeErrorJSON},
	}
}

type downloads struct{ Options }

func (d downloads) serve(h http.Header, r *server.Request) (server.Response, error) {
	token, ok := shares.ParseToken(r.Variable)
	if !ok {
		return missing(h, r)
	}
	share, content, err := d.Shares.Find(r.Context(), token)
	if errors.Is(err, shares.ErrNotFound) {
		return missing(h, r)
	}
	if err != nil {
		return server.Response{}, err
	}
	client := shares.Client{Address: r.Caller.Addr.String(), Agent: r.Header.Get("User-Agent")}
	if c, err := r.Cookie(cookieName(share)); err == nil {
		client.Cookie = c.Value
	}
	state := share.StateAt(d.Shares.Now())
	mayRestart := client.Cookie != "" && state != shares.Revoked && r.Method != http.MethodHead
	switch {
	case state != shares.Open && !mayRestart:
		return gone(h, r, state)
	case isPrefetch(r.Header):
		return refusePrefetch(h, r)
	case r.Method == http.MethodHead:
		return d.head(h, r, share, content), nil
	case isPreview(client.Agent):
		w := readerOf(r)
		return page(h, r, http.StatusOK, w, w.shared)
	}
	part := wire.ByteRange{To: content.Size}
	if !share.Limited() {
		var reply *server.Response
		if part, reply, err = d.choose(h, r, share, content); err != nil || reply != nil {
			return *reply, err
		}
	}
	leave, err := d.Enter(r.Context(), int64(share.Account)) // first: who is turned away has used nothing up
	if err != nil {
		return server.Response{}, err
	}
	delivery, cookie, err := d.Shares.StartDownload(r.Context(), token, client)
	if err != nil {
		leave()
	}
	switch {
	case errors.Is(err, shares.ErrNotFound):
		return missing(h, r)
	case errors.Is(err, shares.ErrEnded):
		return d.endedMeanwhile(h, r, token)
	case err != nil:
		return server.Response{}, err
	}
	return d.deliver(h, r, delivery, part, cookie, leave), nil
}

// choose returns the part of a file that a request asks for, or the answer to one
// that needs none.
func (d downloads) choose(h http.Header, r *server.Request, s shares.Share, c shares.Content) (wire.ByteRange, *server.Response, error) {
	part := wire.ByteRange{To: c.Size}
	conditions, err := wire.ParseConditions(r.HeaderValue)
	if err != nil {
		return part, &server.Response{}, err
	}
	switch conditions.CheckRead(tagOf(c), s.Made) {
	case wire.ReadPreconditionFailed:
		return part, &server.Response{}, fault.New(fault.PreconditionFailed, "the file is another than the one asked for")
	case wire.ReadNotModified:
		d.setHeaders(h, r, s, c)
		h.Del("Content-Length")
		return part, &server.Response{Status: http.StatusNotModified}, nil
	}
	asked := r.HeaderValue("Range")
	if asked == "" || !conditions.AllowsRange(tagOf(c)) {
		return part, nil, nil
	}
	part, partly, err := wire.ParseRange(asked, c.Size)
	if err != nil {
		body := server.EncodeErrorJSON(h, r.Setting(""), service.Refused(err))
		h.Set("Content-Range", "bytes */"+strconv.FormatInt(c.Size, 10))
		return part, &server.Response{Status: http.StatusRequestedRangeNotSatisfiable, Body: body}, nil
	}
	if partly {
		h.Set("Content-Range", part.ContentRange(c.Size))
	}
	return part, nil, nil
}

// endedMeanwhile answers who came too late: another took the last use meanwhile.
func (d downloads) endedMeanwhile(h http.Header, r *server.Request, token shares.Hash) (server.Response, error) {
	clear(h)
	share, _, err := d.Shares.Find(r.Context(), token)
	if errors.Is(err, shares.ErrNotFound) {
		return missing(h, r)
	}
	if err != nil {
		return server.Response{}, err
	}
	return gone(h, r, share.StateAt(d.Shares.Now()))
}

// deliver sends a part of the file. The header Content-Range is there already
// where it is one.
func (d downloads) deliver(h http.Header, r *server.Request, delivery shares.Delivery, p wire.ByteRange, cookie string, leave func()) server.Response {
	share := delivery.Share
	d.setHeaders(h, r, share, delivery.Content)
	h.Set("Content-Length", strconv.FormatInt(p.To-p.From, 10))
	status := http.StatusOK
	if h.Get("Content-Range") != "" {
		status = http.StatusPartialContent
	}
	if share.Limited() {
		h.Add("Set-Cookie", newCookie(share, cookie, r.Setting("")))
	}
	return server.Response{Status: status, Stream: func(ctx context.Context, w io.Writer) {
		defer leave()
		client := &clientWriter{Writer: w}
		if err := d.Shares.Send(ctx, client, delivery, p.From, p.To); err != nil && client.err == nil && ctx.Err() == nil && d.OnFailed != nil {
			d.OnFailed(share.ID(), err)
		}
		if d.CountSent != nil {
			d.CountSent(share.Account, client.bytes)
		}
	}}
}

// clientWriter records how much was sent, and whether it was the client that broke off.
type clientWriter struct {
	io.Writer
	bytes int64
	err   error
}

func (w *clientWriter) Write(b []byte) (n int, err error) {
	n, w.err = w.Writer.Write(b)
	w.bytes += int64(n)
	return n, w.err
}

// setHeaders says what the file is.
func (d downloads) setHeaders(h http.Header, r *server.Request, s shares.Share, c shares.Content) {
	file := wire.File{Name: s.Name, Type: wire.MediaTypeOf(s.Name), Size: s.Size, SingleUse: s.Limited()}
	if s.Purpose == shares.Preview {
		wire.SetPreview(h, r.Setting(""), file, d.Page)
	} else {
		wire.SetDownload(h, r.Setting(""), file)
	}
	if !s.Limited() {
		wire.SetContent(h, tagOf(c), s.Made)
	}
}

// head answers what a file is, without a use. How large it is, is told only
// where every use is like the other.
func (d downloads) head(h http.Header, r *server.Request, s shares.Share, c shares.Content) server.Response {
	d.setHeaders(h, r, s, c)
	if s.Limited() {
		h.Del("Content-Length")
	}
	return server.Response{Status: http.StatusOK, Stream: nothing}
}

// nothing is the body of an answer that tells no length.
func nothing(context.Context, io.Writer) {}

// tagOf names content for caches.
func tagOf(c shares.Content) string { return hex.EncodeToString(c.Digest[:16]) }

// cookieName is the cookie by which a client may restart a download of a link.
func cookieName(s shares.Share) string { return wire.DownloadPrefix + s.ID() }

func newCookie(s shares.Share, value string, setting wire.HeaderOptions) string {
	cookie := cookieName(s) + "=" + value + "; Path=/; Max-Age=" + strconv.Itoa(int(shares.RestartWithin.Seconds())) + "; HttpOnly; SameSite=Lax"
	if setting.HTTPS {
		cookie += "; Secure"
	}
	return cookie
}

func missing(h http.Header, r *server.Request) (server.Response, error) {
	if w := readerOf(r); wantsPage(r.Header) {
		return page(h, r, http.StatusNotFound, w, w.missing)
	}
	return server.Response{}, fault.New(fault.NotFound, "there is no such link")
}

func gone(h http.Header, r *server.Request, state shares.State) (server.Response, error) {
	if w := readerOf(r); wantsPage(r.Header) {
		return page(h, r, http.StatusGone, w, w.ended(state))
	}
	title := english.ended(state).title
	return server.Response{}, fault.New(fault.FileGone, "%s", strings.ToLower(title[:1])+title[1:])
}

// refusePrefetch keeps a browser that loads ahead from using up the link of
// somebody who has not asked yet. It loads again when they do.
func refusePrefetch(h http.Header, r *server.Request) (server.Response, error) {
	w := readerOf(r)
	return page(h, r, http.StatusForbidden, w, w.tooSoon)
}
