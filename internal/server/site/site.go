// Package site serves the sites of accounts, each on a host of its own: files as they are, and
// scripts with the status, headers, cookies and body of their answers. Whose site a host is, how a
// path is read and what a page may set on its answer is decided here; which file answers, by
// package internal/site; who may do how much, and what a page does, by package service.
package site

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ql/internal/fault"
	"ql/internal/hostname"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/server"
	"ql/internal/server/exchange"
	"ql/internal/service"
	"ql/internal/site"
	"ql/internal/wire"
)

// Options are what the routes are made of.
type Options struct {
	Service *service.Service
	Hosts   Hosts
	// Develops says that whoever visits has written the site: they are told why a page failed, and
	// pages of the service's own may load themselves again.
	Develops bool
}

// Routes returns the route of all sites.
func Routes(o Options) []server.Route {
	c := codec{o, new(packed)}
	return []server.Route{{
		Method: server.AnyMethod, Path: "{path}", Accepts: principal.Set{principal.ByNobody},
		Timeout: o.Service.LongestCall(), Serve: c.serve, EncodeError: c.encodeError,
	}}
}

// The methods of scripts, and of files.
var (
	scriptMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
	fileMethods   = []string{"GET", "HEAD", "OPTIONS"}
)

type codec struct {
	Options
	packed *packed
}

// visit is a request to a site on its way.
type visit struct {
	codec
	place
	site   *service.Site
	header http.Header
	r      *server.Request
	path   string // decoded
	// newcomer is the cookie of a visitor that has none yet; "" for others.
	newcomer string
	// isHeld says that the site is closed once its answer is written.
	isHeld bool
}

func (c codec) serve(h http.Header, r *server.Request) (server.Response, error) {
	if !slices.Contains(scriptMethods, r.Method) {
		return server.Response{}, fault.MethodError(r.Method, scriptMethods...)
	}
	if isForged(r) {
		return server.Response{}, fault.New(fault.OriginNotAllowed, "a page of another site sent this")
	}
	v := visit{codec: c, header: h, r: r}
	err := v.locate()
	var to *redirect
	if errors.As(err, &to) {
		return v.redirect(to.location), nil
	}
	if err != nil {
		return server.Response{}, err
	}
	v.site, err = c.Service.OpenSite(r.Context(), r.Caller, v.place.site)
	var mistake *service.SiteFault
	if errors.As(err, &mistake) {
		return v.failed(mistake), nil
	}
	if err != nil {
		return server.Response{Meta: v.site.Meta}, err
	}
	reply, err := v.answer()
	if reply.Stream == nil && !v.isHeld {
		v.site.Close()
	}
	return reply, err
}

// locate finds whose site the request is for, and which path of it.
func (v *visit) locate() (err error) {
	if v.place, err = v.Hosts.find(v.r.Request); err != nil {
		return err
	}
	if v.byPath && v.Hosts.Paths == PathsOfOne {
		several, err := v.Service.SeveralSites(v.r.Context())
		if err != nil {
			return err
		}
		if several {
			return service.ErrNoSite()
		}
	}
	v.path, err = v.decodePath(v.r.URL.RawQuery)
	return err
}

// isOwn tells whether a host is one of the site's.
func (v *visit) isOwn(host hostname.Host) bool {
	at, ok := v.Hosts.siteAt(host)
	return ok && v.site.IsAt(v.r.Context(), at)
}

// redirect answers that the request belongs elsewhere on this site, for good.
func (v *visit) redirect(location string) server.Response {
	wire.SetSite(v.header, v.r.Setting(""))
	v.header.Set("Location", location)
	return server.Response{Status: http.StatusPermanentRedirect}
}

// failed answers that the site has failed, and by what its owner finds why.
func (v *visit) failed(mistake *service.SiteFault) server.Response {
	n := notices[http.StatusInternalServerError]
	n.Reference = mistake.Reference
	if v.Develops {
		n = v.mistake(&mistake.Mistake, mistake.Mistake.File, n.Reference)
	}
	return server.Response{Status: http.StatusInternalServerError, Meta: v.site.Meta, Body: v.write(n)}
}

// write sets the headers of a notice and returns its body.
func (v *visit) write(n notice) []byte { return v.codec.write(v.header, v.r.Setting(""), n) }

// answer answers with the file that is meant, or where the site's own rules lead.
func (v *visit) answer() (server.Response, error) {
	if own, ok := strings.CutPrefix(v.path, ownPath); ok {
		return v.answerOwn(own)
	}
	if to, ok := v.site.Settings.Redirect(v.path); ok {
		return v.redirect(v.withQuery(v.base() + (&url.URL{Path: to}).EscapedPath())), nil
	}
	target, err := v.site.Find(v.r.Context(), v.path)
	if err != nil {
		return server.Response{}, err
	}
	if target.Kind == site.AddSlash {
		if v.r.Method == http.MethodGet || v.r.Method == http.MethodHead {
			return v.redirect(v.withQuery(v.prefix + v.place.path + "/")), nil
		}
		target.Kind = site.KindOf(target.Path)
	}
	status := 0
	if target.Kind == site.Missing && v.site.Settings.Fallback != "" {
		if target, err = site.FileAt(v.r.Context(), v.site, v.site.Settings.Fallback); err != nil {
			return server.Response{}, err
		}
	}
	if target.Kind == site.Missing || target.Kind == site.NotServed {
		if target, err = site.NotFoundPage(v.r.Context(), v.site, v.path); err != nil {
			return server.Response{}, err
		}
		status = http.StatusNotFound
	}
	switch target.Kind {
	case site.Script:
		return v.run(target, status)
	case site.Static:
		return v.send(target, status)
	}
	return server.Response{}, service.ErrNoPage()
}

// withQuery is an address with the query of the request.
func (v *visit) withQuery(location string) string {
	if v.r.URL.RawQuery != "" {
		location += "?" + v.r.URL.RawQuery
	}
	return location
}

// send answers with a file. Status is that of the answer, 0 for that of a file.
func (v *visit) send(target site.Target, status int) (server.Response, error) {
	switch v.r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		return v.allow(fileMethods), nil
	default:
		if status == 0 {
			return server.Response{}, fault.MethodError(v.r.Method, fileMethods...)
		}
		return server.Response{}, service.ErrNoPage()
	}
	if status == 0 && v.takesPlain(target.Path) {
		held, err := v.site.Hold(v.r.Context(), target.Path)
		if err != nil {
			return server.Response{Meta: v.site.Meta}, err
		}
		if held != nil {
			return v.sendHeld(held), nil
		}
	}
	var conditions wire.Conditions
	var err error
	if status == 0 {
		if conditions, err = wire.ParseConditions(v.r.HeaderValue); err != nil {
			return server.Response{}, err
		}
	}
	found, err := v.site.File(v.r.Context(), target.Path)
	if err != nil {
		return server.Response{Meta: v.site.Meta}, err
	}
	closeFile := found.Close
	found.Close = func() {
		closeFile()
		v.site.Close()
	}
	reply := server.Response{Status: http.StatusOK, Meta: v.site.Meta}
	describe := func(size int64) { v.describe(found.Name, size) }
	switch {
	case status != 0: // it stands for something that is not there, of which there are no parts
		reply.Status = status
		v.r.Header.Del("Range")
	case v.packs(&found) && conditions.CheckRead(found.Content.Tag(), found.Content.Modified()) == wire.ReadSend:
		return v.sendPacked(&found, reply)
	}
	return server.SendFile(v.header, v.r, &conditions, &found, reply, describe)
}

// asksMore are the headers of requests that ask for a part of a file, or for it under conditions.
var asksMore = []string{"If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Range"}

// takesPlain tells whether all of a file is asked for, and as it is.
func (v *visit) takesPlain(name string) bool {
	for _, header := range asksMore {
		if len(v.r.Header[header]) > 0 {
			return false
		}
	}
	return len(v.r.Header["Accept-Encoding"]) == 0 || !site.IsCompressible(name) || !v.r.TakesGzip()
}

// sendHeld answers with a file in memory.
func (v *visit) sendHeld(held *service.HeldFile) server.Response {
	headers := &held.Plain
	if v.r.Setting("").HTTPS {
		headers = &held.Encrypted
	}
	head := headers.Load()
	if head == nil {
		answer := v.header
		v.header = http.Header{} // of the file alone
		v.describe(held.Name, int64(len(held.Content)))
		wire.SetContent(v.header, held.Tag, held.Modified)
		head = wire.NewHead(v.header)
		v.header = answer
		headers.Store(head)
	}
	head.Describe(v.header)
	v.isHeld = true
	return server.Response{Status: http.StatusOK, Meta: v.site.Meta, Head: head, Body: held.Content, After: func() {
		v.site.Close()
		if v.r.Method != http.MethodHead {
			v.site.CountSent(v.r.Context(), int64(len(held.Content)))
		}
	}}
}

// describe sets the headers of a file, of which so many bytes are sent.
func (v *visit) describe(name string, size int64) {
	wire.SetSiteFile(v.header, v.r.Setting(""), wire.SiteFile{Type: site.MediaType(name), Size: size, Hashed: site.IsHashed(name), Packable: site.IsCompressible(name)})
	v.setOwn()
}

// setOwn sets the headers that the site's settings have for the path.
func (v *visit) setOwn() {
	for _, h := range v.site.Settings.Headers(v.path) {
		v.header.Set(h.Name, h.Value)
	}
}

// packs tells whether a file is compressed on its way.
func (v *visit) packs(found *service.FoundFile) bool {
	size := found.Content.Size()
	return site.IsCompressible(found.Name) && size >= leastPacked && size <= mostPacked && v.r.HeaderValue("Range") == "" && v.r.TakesGzip()
}

// sendPacked answers with a file, compressed.
func (v *visit) sendPacked(found *service.FoundFile, reply server.Response) (server.Response, error) {
	tag, modified := found.Content.Tag(), found.Content.Modified()
	body, err := v.codec.packed.pack(v.r, found)
	found.Close()
	if err != nil {
		return reply, err
	}
	v.describe(found.Name, int64(len(body)))
	wire.SetPackedContent(v.header, tag, modified)
	reply.Body = body
	if v.r.Method != http.MethodHead {
		reply.After = func() { found.CountSent(int64(len(body))) }
	}
	return reply, nil
}

// allow answers which methods an address has.
func (v *visit) allow(methods []string) server.Response {
	wire.SetSite(v.header, v.r.Setting(""))
	v.header.Set("Allow", strings.Join(methods, ", "))
	return server.Response{Status: http.StatusNoContent}
}

// run answers with what a script makes. Status is that of the answer where the script sets none,
// 0 for 200.
func (v *visit) run(target site.Target, status int) (server.Response, error) {
	q, err := exchange.Read(v.r, exchange.Reading{
		Limits: v.Service.LargestRequest(), Address: v.entries(target), Own: isOwnCookie,
		ShowsAuthorization: !server.IsCredential(v.r.HeaderValue("Authorization")),
	})
	if err != nil {
		return server.Response{}, err
	}
	answer, err := v.Service.Query(v.r.Context(), v.r.Caller, service.Query{
		Convention: job.Site, Request: q.Request, Trace: wire.TraceErrors, Input: q.Input, NoInput: q.NoInput, Within: q.Within, Receive: q.Receive(v.r),
		Page: &service.Page{Site: v.site, Target: target, Visitor: v.meet()},
	})
	var mistake *service.SiteFault
	if errors.As(err, &mistake) {
		return v.failed(mistake), nil
	}
	if err != nil {
		return server.Response{Meta: answer.Meta}, err
	}
	return v.encode(q, &answer, target, status)
}

// entries are what !REQUEST holds of the address.
func (v *visit) entries(target site.Target) []wire.Pair {
	scheme, usual := "http", uint16(80)
	if v.r.Setting("").HTTPS {
		scheme, usual = "https", 443
	}
	origin := scheme + "://" + v.host
	if _, port, err := hostname.ParseHostPort(v.r.Host); err == nil && port != 0 && port != usual {
		origin += ":" + strconv.Itoa(int(port))
	}
	list := []wire.Pair{
		{Name: "path", Value: v.path}, {Name: "method", Value: exchange.Method(v.r.Request)},
		{Name: "base", Value: v.base()}, {Name: "host", Value: v.host}, {Name: "scheme", Value: scheme}, {Name: "origin", Value: origin},
	}
	for _, p := range target.Params {
		list = append(list, wire.Pair{Name: "param:" + p.Name, Value: p.Value})
	}
	return list
}

// encode makes the answer of a page.
func (v *visit) encode(q *exchange.Request, a *service.Answer, target site.Target, status int) (server.Response, error) {
	s := v.r.Setting("")
	reply := server.Response{Status: a.Status, Meta: a.Meta, RetryAfter: a.RetryAfter}
	switch {
	case a.Err != nil:
		reply.Status = exchange.FailedStatus(a)
		reply.Body = v.write(v.failure(q, a, target.Path, reply.Status))
	case a.Question != nil:
		return v.askIn(a)
	case a.Status == http.StatusAccepted: // it is stored: loaded again it is not to be run again
		return v.counted(v.seeRun(a), a), nil
	default:
		return v.encodeOutput(q, a, reply, status)
	}
	v.r.SetSession(v.header, a.Session, v.prefix, s)
	return v.counted(reply, a), nil
}

// counted has what is sent of a page counted.
func (v *visit) counted(reply server.Response, a *service.Answer) server.Response {
	if a.OnSent != nil {
		reply.After = func() {
			var bytes int64
			if v.r.Method != http.MethodHead {
				bytes = int64(len(reply.Body)) + reply.Pieces.Len()
			}
			a.OnSent(bytes)
		}
	}
	return reply
}

// failure is what is shown of a page that failed, whose script is at a path, or "" where that is not
// known any more.
func (v *visit) failure(q *exchange.Request, a *service.Answer, page string, status int) notice {
	n := failure(a, status)
	if v.Develops && status >= http.StatusInternalServerError {
		n = v.mistake(a.Err, page, n.Reference)
		n.Mistake.addRun(q, a)
	}
	return n
}

// failure is what visitors see of a page that failed.
func failure(a *service.Answer, status int) notice {
	if status == http.StatusUnprocessableEntity { // of what was sent: who sent it is to know
		return notice{Title: "This request does not fit", Words: a.Err.Message}
	}
	n, ok := notices[status]
	if !ok {
		n = notices[http.StatusInternalServerError]
	}
	n.Reference = reference(a)
	return n
}

// reference is by what the owner finds a failure: the beginning of its job's id. All of it would
// open the job to whoever reads it.
func reference(a *service.Answer) string {
	if a.Err.ID != "" {
		return a.Err.ID
	}
	return service.JobReference(a.Job.ID)
}

// encodeOutput makes the answer of a page whose script came to its end.
func (v *visit) encodeOutput(q *exchange.Request, a *service.Answer, reply server.Response, status int) (server.Response, error) {
	var output wire.Output
	if a.Job.Output != nil {
		output = *a.Job.Output
	}
	set, err := wire.ReadResponse(output.Response)
	if err != nil {
		return server.Response{}, err
	}
	if set.Status == 0 {
		set.Status = status
	}
	s := v.r.Setting("")
	reply.Head = wire.BeginSitePage(v.header, s, !utf8.Valid(output.Result))
	v.setOwn()
	v.r.SetSession(v.header, a.Session, v.prefix, s)
	reply.Status = apply(v.header, set, setting{HeaderOptions: s, called: v.r.Host, at: v.r.URL.EscapedPath(), place: v.place, sent: q.Cookie, isOwn: v.isOwn})
	switch {
	case !exchange.HasBody(reply.Status):
	case v.isKnown(reply.Status, output.Result):
		reply.Status = http.StatusNotModified
		v.header.Del("Content-Type")
	case len(output.Result) <= wire.PieceBytes:
		reply.Body = output.Result
	default:
		reply.Pieces = a.Job.TextPieces(nil)
	}
	return v.counted(reply, a), nil
}

// mostTagged is how long a page may be that is named for caches by its content.
const mostTagged = 1 << 20

// isKnown names a page by its content, unless its script did, and tells whether the visitor has it
// already.
func (v *visit) isKnown(status int, body []byte) bool {
	if status != http.StatusOK || v.r.Method != http.MethodGet && v.r.Method != http.MethodHead {
		return false
	}
	if v.header.Get("Etag") == "" {
		if len(body) == 0 || len(body) > mostTagged {
			return false
		}
		sum := sha256.Sum256(body)
		v.header.Set("Etag", wire.ETag(hex.EncodeToString(sum[:16])))
	}
	return wire.HasETag(v.r.HeaderValue("If-None-Match"), v.header.Get("Etag"))
}
