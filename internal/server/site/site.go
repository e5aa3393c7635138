// Package site serves the sites of accounts, each on a host of its own: files as they are, and
// scripts with the status, headers, cookies and body of their answers. Whose site a host is, how a
// path is read and what a page may set on its answer is decided here; which file answers, by
// package internal/site; who may do how much, and what a page does, by package service.
package site

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"ql/internal/fault"
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
}

// Routes returns the route of all sites.
func Routes(o Options) []server.Route {
	c := codec{o}
	return []server.Route{{
		Method: server.AnyMethod, Path: "{path}", Accepts: principal.Set{principal.ByNobody},
		Timeout: o.Service.LongestCall(), Serve: c.serve, EncodeError: encodeError,
	}}
}

// The methods of scripts, and of files.
var (
	scriptMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
	fileMethods   = []string{"GET", "HEAD", "OPTIONS"}
)

type codec struct{ Options }

// visit is a request to a site on its way.
type visit struct {
	codec
	place
	site   *service.Site
	header http.Header
	r      *server.Request
	path   string // decoded
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
	v.site, err = c.Service.OpenSite(r.Context(), r.Caller, v.username)
	if err != nil {
		return server.Response{Meta: v.site.Meta}, err
	}
	reply, err := v.answer()
	if reply.Stream == nil {
		v.site.Close()
	}
	return reply, err
}

// locate finds whose site the request is for, and which path of it.
func (v *visit) locate() (err error) {
	if v.place, err = v.Hosts.find(v.r.Request); err == nil {
		v.path, err = v.decodePath(v.r.URL.RawQuery)
	}
	return err
}

// redirect answers that the request belongs elsewhere on this site, for good.
func (v *visit) redirect(location string) server.Response {
	wire.SetSite(v.header, v.r.Setting(""))
	v.header.Set("Location", location)
	return server.Response{Status: http.StatusPermanentRedirect}
}

// answer answers with the file that is meant.
func (v *visit) answer() (server.Response, error) {
	target, err := site.Find(v.r.Context(), v.site, v.path)
	if err != nil {
		return server.Response{}, err
	}
	if target.Kind == site.AddSlash {
		if v.r.Method == http.MethodGet || v.r.Method == http.MethodHead {
			return v.redirect(v.folderAddress()), nil
		}
		target.Kind = site.KindOf(target.Path)
	}
	status := 0
	if target.Kind == site.Missing || target.Kind == site.NotServed {
		if target, err = site.Fallback(v.r.Context(), v.site, v.path); err != nil {
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

// folderAddress is the address of the request with a slash at its end.
func (v *visit) folderAddress() string {
	location := v.prefix + v.place.path + "/"
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
	if status != 0 { // it stands for something that is not there, of which there are no parts
		reply.Status = status
		v.r.Header.Del("Range")
	}
	return server.SendFile(v.header, v.r, &conditions, &found, reply, func(size int64) {
		wire.SetSiteFile(v.header, v.r.Setting(""), site.MediaType(found.Name), size)
	})
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
		Convention: job.Site, Request: q.Request, Trace: wire.TraceErrors, Input: q.Input, NoInput: q.NoInput, Within: q.Within,
		Page: &service.Page{Site: v.site, Target: target},
	})
	if err != nil {
		return server.Response{Meta: answer.Meta}, err
	}
	return v.encode(q, &answer, status)
}

// entries are what !REQUEST holds of the address.
func (v *visit) entries(target site.Target) []wire.Pair {
	list := []wire.Pair{{Name: "path", Value: v.path}, {Name: "method", Value: exchange.Method(v.r.Request)}, {Name: "base", Value: v.base()}}
	for _, p := range target.Params {
		list = append(list, wire.Pair{Name: "param:" + p.Name, Value: p.Value})
	}
	return list
}

// encode makes the answer of a page.
func (v *visit) encode(q *exchange.Request, a *service.Answer, status int) (server.Response, error) {
	s := v.r.Setting("")
	reply := server.Response{Status: a.Status, Meta: a.Meta, RetryAfter: a.RetryAfter}
	switch {
	case a.Err != nil:
		reply.Status = exchange.FailedStatus(a)
		reply.Body = failure(a, reply.Status).write(v.header, s)
	case a.Status == http.StatusAccepted:
		if form := a.Job.VisitorForm(); form != "" {
			wire.SetSite(v.header, s)
			v.header.Set("Location", form)
			reply.Status = http.StatusSeeOther
			break
		}
		reply.Body = waiting.write(v.header, s)
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

// waiting is shown where a page waits for somebody else, or for a moment.
var waiting = notice{Title: "This takes a while", Words: "What you sent was taken, and goes on when somebody has answered, or when its time has come. You need not wait here."}

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
	const shown = 8
	if a.Err.ID != "" {
		return a.Err.ID
	}
	return a.Job.ID[:min(shown, len(a.Job.ID))]
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
	wire.SetSitePage(v.header, s, !utf8.Valid(output.Result))
	v.r.SetSession(v.header, a.Session, v.prefix, s)
	reply.Status = apply(v.header, set, setting{HeaderOptions: s, host: v.r.Host, at: v.r.URL.EscapedPath(), place: v.place, sent: q.Cookie})
	switch {
	case !exchange.HasBody(reply.Status):
	case len(output.Result) <= wire.PieceBytes:
		reply.Body = output.Result
	default:
		reply.Pieces = a.Job.TextPieces(nil)
	}
	return v.counted(reply, a), nil
}
