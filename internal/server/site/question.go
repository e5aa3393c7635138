package site

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strings"

	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/server"
	"ql/internal/server/exchange"
	"ql/internal/server/formpage"
	"ql/internal/service"
	"ql/internal/wire"
)

// The addresses of the service's own on every site: where what a page asks is answered, and where its
// visitor follows it. No file of a site has one of them.
const (
	ownPath    = "/_ql/"
	answerPath = "_ql/answer/"
	runPath    = "_ql/run/"
)

// visitorCookie knows a visitor again to whom a page belongs.
const visitorCookie = "QLVISITOR"

// cookieName is the name of the visitor's cookie. Where browsers take a prefix for it, no other host
// can set it.
func (v *visit) cookieName() string {
	if v.prefix == "/" && v.r.Setting("").HTTPS {
		return "__Host-" + visitorCookie
	}
	return visitorCookie
}

// visitor is who sent the request: nobody's where it has no cookie.
func (v *visit) visitor() service.Visitor {
	if c, err := v.r.Cookie(v.cookieName()); err == nil && c.Value != "" {
		return service.NewVisitor(c.Value)
	}
	return service.Visitor{}
}

// meet is visitor of one who may be asked something: a newcomer is given a cookie then.
func (v *visit) meet() service.Visitor {
	if known := v.visitor(); known != (service.Visitor{}) {
		return known
	}
	if v.newcomer == "" {
		v.newcomer = rand.Text()
	}
	return service.NewVisitor(v.newcomer)
}

// greet hands a newcomer the cookie by which it is known again.
func (v *visit) greet() {
	if v.newcomer != "" {
		v.header.Add("Set-Cookie", wire.Cookie{Name: v.cookieName(), Value: v.newcomer}.Set(v.prefix, v.r.Setting(""), false))
	}
}

// answerOwn answers at an address of the service's own.
func (v *visit) answerOwn(path string) (server.Response, error) {
	kind, token, _ := strings.Cut(path, "/")
	switch {
	case kind == "answer" && v.r.Method == http.MethodPost:
		return v.answerQuestion(token)
	case kind == "answer":
		return server.Response{}, fault.MethodError(v.r.Method, http.MethodPost)
	case kind == "run" && (v.r.Method == http.MethodGet || v.r.Method == http.MethodHead):
		return v.showRun(token)
	case kind == "run":
		return server.Response{}, fault.MethodError(v.r.Method, http.MethodGet, http.MethodHead)
	}
	return server.Response{}, service.ErrNoPage()
}

// seeOther leads to an address of this site, which is loaded by GET.
func (v *visit) seeOther(location string) server.Response {
	wire.SetSite(v.header, v.r.Setting(""))
	v.header.Set("Location", location)
	return server.Response{Status: http.StatusSeeOther, Meta: v.site.Meta}
}

// seeRun leads to the run of a page that is stored.
func (v *visit) seeRun(a *service.Answer) server.Response {
	reply := v.seeOther(v.prefix + runPath + a.View)
	reply.Meta = a.Meta
	v.greet()
	v.r.SetSession(v.header, a.Session, v.prefix, v.r.Setting(""))
	return reply
}

// askIn answers with a page that asks its visitor something.
func (v *visit) askIn(a *service.Answer) (server.Response, error) {
	f, err := formpage.NewInside(v.r, a.Question.PromptPage, v.prefix+answerPath+a.Question.Token, a.Question.Carried)
	if err != nil {
		return server.Response{Meta: a.Meta}, err
	}
	return v.ask(a, f, http.StatusOK)
}

// placeholder is where the form stands that a page asks for; without one it stands at the end.
var placeholder, placeholderEnd = []byte("<ql-form>"), []byte("</ql-form>")

// placeForm puts a form into what a page has put out.
func placeForm(output, form []byte) []byte {
	before, after := output, []byte(nil)
	if at := bytes.LastIndex(output, placeholder); at >= 0 {
		before, after = output[:at], bytes.TrimPrefix(output[at+len(placeholder):], placeholderEnd)
	}
	return slices.Concat(before, form, after)
}

// ask answers with what a page has put out so far, and its form.
func (v *visit) ask(a *service.Answer, f *formpage.Inside, status int) (server.Response, error) {
	reply := server.Response{Status: status, Meta: a.Meta}
	form, err := v.formHTML(f)
	var mistake *service.SiteFault
	if errors.As(err, &mistake) {
		return v.failed(mistake), nil
	}
	if err != nil {
		return reply, err
	}
	var output wire.Output
	if a.Job.Output != nil {
		output = *a.Job.Output
	}
	if bytes := int64(len(output.Result) + len(form)); bytes > service.UnreservedBytes {
		if err := v.r.Reserve(bytes); err != nil {
			return reply, err
		}
	}
	set, err := wire.ReadResponse(output.Response)
	if err != nil {
		return reply, err
	}
	// What it answers in the end is not known before.
	set.Status, set.Headers = status, slices.DeleteFunc(set.Headers, func(h wire.Pair) bool {
		return strings.EqualFold(h.Name, "Location") || strings.EqualFold(h.Name, "Content-Type")
	})
	s := v.r.Setting("")
	wire.SetSitePage(v.header, s, false)
	v.setOwn()
	apply(v.header, set, setting{HeaderOptions: s, called: v.r.Host, at: v.r.URL.EscapedPath(), place: v.place, isOwn: v.isOwn})
	v.header.Set("Cache-Control", "private, no-cache") // it is for one visitor alone
	v.greet()
	v.r.SetSession(v.header, a.Session, v.prefix, s)
	reply.Body = placeForm(output.Result, form)
	return v.counted(reply, a), nil
}

// formHTML is a form, in what the site has around it.
func (v *visit) formHTML(f *formpage.Inside) ([]byte, error) {
	form, err := f.HTML(v.r)
	if err != nil {
		return nil, err
	}
	around, err := v.site.AroundForm(v.r.Context(), f.Asked())
	if err != nil || around == nil {
		return form, err
	}
	return placeForm(around, form), nil
}

// answerQuestion takes the answer to what a page asks. Whatever is sent again leads to where the page
// has come since.
func (v *visit) answerQuestion(token string) (server.Response, error) {
	p, err := v.site.Question(v.r.Context(), v.visitor(), token)
	if err != nil {
		return server.Response{Meta: v.site.Meta}, err
	}
	if p.IsCarried {
		return v.resume(p, token)
	}
	run := v.prefix + runPath + p.View
	if p.Asked == nil {
		return v.seeOther(run), nil
	}
	f, err := formpage.NewInside(v.r, *p.Asked, v.prefix+answerPath+token, "")
	if err != nil {
		return server.Response{}, err
	}
	sent, err := f.Read(v.r, v.Service)
	defer func() { sent.Close() }() // also of what was refused
	if err == nil {
		var reply service.Reply
		if reply, err = f.Reply(v.r, sent); err == nil {
			// A browser gives up the first request of a double click; its answer counts.
			err = p.Reply(context.WithoutCancel(v.r.Context()), reply)
		}
	}
	if err == nil || errors.Is(err, service.ErrQuestionOver) {
		return v.seeOther(run), nil
	}
	return v.askAgain(p, nil, f, sent, err)
}

// resume takes the answer to a page that its visitor carries.
func (v *visit) resume(p *service.AskedPage, token string) (server.Response, error) {
	values, files := p.MaxBytes()
	f, sent, err := formpage.ReadCarried(v.r, v.Service, values, files, func(carried string) (*formpage.Inside, error) {
		asked, err := p.Open(carried)
		if err != nil {
			return nil, err
		}
		return formpage.NewInside(v.r, asked, v.prefix+answerPath+token, carried)
	})
	defer sent.Close()
	a := service.Answer{Meta: v.site.Meta}
	if err == nil {
		var reply service.Reply
		if reply, err = f.Reply(v.r, sent); err == nil {
			a, err = p.Resume(context.WithoutCancel(v.r.Context()), reply)
		}
	}
	var stale *service.StalePage
	switch {
	case err == nil || errors.Is(err, service.ErrQuestionOver):
		a.View = p.View
		return v.seeRun(&a), nil
	case errors.As(err, &stale):
		return v.beginAnew(stale, sent)
	}
	return v.askAgain(p, &a, f, sent, err)
}

// askAgain shows a page again whose answer was not taken, with that. Page is what it has put out; nil
// where that is to be looked for.
func (v *visit) askAgain(p *service.AskedPage, page *service.Answer, f *formpage.Inside, sent *formpage.Sent, cause error) (server.Response, error) {
	meta := v.site.Meta
	if page != nil {
		meta = page.Meta
	}
	if f == nil {
		return server.Response{Meta: meta}, cause
	}
	status, retryAfter, ok := f.ShowAgain(sent, cause)
	if !ok {
		return server.Response{Meta: meta}, cause
	}
	if page == nil || page.Question == nil {
		shown, err := p.Show(v.r.Context())
		if err != nil {
			return server.Response{Meta: meta}, cause
		}
		page = &shown
	}
	reply, err := v.ask(page, f, status)
	if err != nil { // there is no room for the page either
		return server.Response{Meta: meta}, cause
	}
	reply.RetryAfter = retryAfter
	return reply, nil
}

// changed is shown where a page cannot go on, and is not begun again by itself.
var changed = notice{Title: "This page has changed", Words: "It was changed since you opened it, or that is too long ago, and what you sent was not taken. Open it again, and send it once more."}

// beginAnew runs a page again that cannot go on, and shows what was filled in.
func (v *visit) beginAnew(stale *service.StalePage, sent *formpage.Sent) (server.Response, error) {
	if !stale.IsSafe {
		return server.Response{Status: http.StatusConflict, Meta: v.site.Meta, Body: v.write(changed)}, nil
	}
	a, err := v.Service.Query(v.r.Context(), v.r.Caller, stale.Query)
	if err != nil {
		return server.Response{Meta: a.Meta}, err
	}
	if a.Question == nil {
		return v.encode(&exchange.Request{}, &a, stale.Query.Page.Target, 0)
	}
	f, err := formpage.NewInside(v.r, a.Question.PromptPage, v.prefix+answerPath+a.Question.Token, a.Question.Carried)
	if err != nil {
		return server.Response{Meta: a.Meta}, err
	}
	f.BeginAnew(sent)
	return v.ask(&a, f, http.StatusConflict)
}

// What is shown of a page that goes on, or that came to no end of its own.
var (
	working   = notice{Title: "Working…", Words: "What you sent has arrived. This page goes on by itself."}
	waiting   = notice{Title: "This takes a while", Words: "What you sent was taken, and goes on when somebody has answered, or when its time has come. You need not wait here: this page shows it when you open it again."}
	expired   = notice{Title: "The time to answer is over", Words: "Nobody answered in time what this page asked. Begin at the site's first page."}
	withdrawn = notice{Title: "This page was ended", Words: "The site's owner has ended what this page was part of. Begin at the site's first page."}
)

// How often a browser looks again, in seconds: while a page is at work, and while it waits.
const (
	workingRefresh = "2"
	waitingRefresh = "15"
)

// waitingPage is the file of a site that is shown while a page waits.
const waitingPage = "_waiting.html"

// showRun answers with where a page has come that its visitor was led away from.
func (v *visit) showRun(token string) (server.Response, error) {
	p, err := v.site.Run(v.r.Context(), v.visitor(), token)
	reply := server.Response{Status: http.StatusOK, Meta: p.Meta}
	if err != nil {
		return reply, err
	}
	switch {
	case p.Working:
		reply.Body = v.write(working)
		v.header.Set("Refresh", workingRefresh)
	case p.Question != nil:
		return v.askIn(&p.Answer)
	case p.State == job.Paused || p.State == job.Waiting:
		if err := v.wait(&reply); err != nil {
			return reply, err
		}
	case p.State == job.Failed:
		reply.Status = exchange.FailedStatus(&p.Answer)
		reply.Body = v.write(v.failure(&exchange.Request{}, &p.Answer, "", reply.Status))
	case p.State == job.Expired:
		reply.Status, reply.Body = http.StatusGone, v.write(expired)
	case p.State == job.Cancelled:
		reply.Status, reply.Body = http.StatusGone, v.write(withdrawn)
	default:
		return v.encodeOutput(&exchange.Request{}, &p.Answer, reply, 0)
	}
	return v.counted(reply, &p.Answer), nil
}

// wait answers that a page waits for somebody else, or for a moment.
func (v *visit) wait(reply *server.Response) error {
	own, err := v.site.Own(v.r.Context(), waitingPage)
	if err != nil {
		return err
	}
	if own == nil {
		reply.Body = v.write(waiting)
	} else {
		wire.SetSitePage(v.header, v.r.Setting(""), false)
		reply.Body = own
	}
	v.header.Set("Refresh", waitingRefresh)
	return nil
}
