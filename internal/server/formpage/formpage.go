// Package formpage is the page on which a person answers the question at which
// a job stands: plain HTML, without scripts. It turns what was filled in into
// the fields of a reply; whether they fit is decided by the operations of
// package service, and how a request comes and goes is package server's.
package formpage

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"html/template"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ql/internal/fault"
	"ql/internal/form"
	"ql/internal/principal"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
	"ql/lang/value"
)

// Routes returns the routes of the page.
func Routes(s *service.Service) []server.Route {
	p := pages{s, newLatest()}
	whoeverHasTheLink := principal.Set{principal.ByNobody}
	return []server.Route{
		{Method: http.MethodGet, Path: "/form/{token}", Accepts: whoeverHasTheLink, Serve: p.show, Refuse: refuse},
		{Method: http.MethodPost, Path: "/form/{token}", Accepts: whoeverHasTheLink, Longest: time.Minute, Serve: p.answer, Refuse: refuse},
	}
}

type pages struct {
	service *service.Service
	latest  *latest
}

//go:embed page.html
var page string

var templates = template.Must(template.New("page").Parse(page))

// view is what the page shows.
type view struct {
	Title   string
	Account string // who asks; "" on a page that asks nothing
	Message string
	Words   string // instead of a form
	Confirm bool
	Files   bool // some field takes a file
	Starred bool // some field must be answered
	Fields  []field
	Wrong   string
	Expires string
	Nonce   string
}

func write(h http.Header, s wire.Setting, status int, v view) (server.Reply, error) {
	v.Nonce = wire.NewNonce()
	var b bytes.Buffer
	if err := templates.Execute(&b, v); err != nil {
		return server.Reply{}, err
	}
	wire.SetPage(h, s, v.Nonce)
	return server.Reply{Status: status, Body: b.Bytes()}, nil
}

func (p pages) show(h http.Header, r *server.Request) (server.Reply, error) {
	q, err := p.service.Prompt(r.Context(), r.Caller, r.ID)
	if _, answered := p.latest.find(r.ID); answered && fault.Is(err, fault.NotFound) {
		return write(h, r.Setting(""), http.StatusGone, view{Title: "Already answered", Words: "This question has been answered. You may close this page."})
	}
	if err != nil {
		return server.Reply{}, err
	}
	v, err := asking(q)
	if err != nil {
		return server.Reply{}, err
	}
	return write(h, r.Setting(""), http.StatusOK, v)
}

// asking is the page of a question.
func asking(q service.PromptPage) (view, error) {
	v := view{Title: "A question from " + q.Account, Account: q.Account, Message: q.Prompt.Message, Confirm: q.Prompt.Schema == nil}
	if !q.Prompt.Expires.IsZero() {
		v.Expires = q.Prompt.Expires.UTC().Format("2 January 2006, 15:04 UTC")
	}
	if v.Confirm {
		return v, nil
	}
	schema, bad := value.ParseJSON(nil, string(q.Prompt.Schema))
	if bad != nil {
		return v, bad
	}
	v.Fields = fields(schema)
	for _, f := range v.Fields {
		v.Files = v.Files || f.Input == "file"
		v.Starred = v.Starred || f.Required
	}
	return v, nil
}

func (p pages) answer(h http.Header, r *server.Request) (server.Reply, error) {
	// A link that opens nothing is not worth reading what was sent to it.
	most, err := p.most(r)
	if err != nil {
		return server.Reply{}, err
	}
	sent, err := p.read(r, most)
	if err != nil {
		return server.Reply{}, err
	}
	// The second request of a double click waits for what the first one comes to.
	done, err := p.latest.turn(r.Context(), r.ID)
	if err != nil {
		return server.Reply{}, err
	}
	defer done()
	q, err := p.service.Prompt(r.Context(), r.Caller, r.ID)
	if earlier, answered := p.latest.find(r.ID); answered && fault.Is(err, fault.NotFound) {
		if earlier.sum == sent.sum() {
			return taken(h, r, earlier.next)
		}
		return write(h, r.Setting(""), http.StatusGone, view{Title: "Already answered", Words: "This question had already been answered, and the first answer holds. What you sent now was not taken."})
	}
	if err != nil {
		return server.Reply{}, err
	}
	v, err := asking(q)
	if err != nil {
		return server.Reply{}, err
	}
	reply, err := sent.reply(r, v)
	if err != nil {
		return server.Reply{}, err
	}
	// A browser gives up the first request of a double click; its answer counts.
	next, err := p.service.AnswerPrompt(context.WithoutCancel(r.Context()), r.Caller, r.ID, reply)
	var wrong form.FieldErrors
	switch {
	case errors.As(err, &wrong):
		return write(h, r.Setting(""), http.StatusUnprocessableEntity, mark(v, sent, wrong))
	case fault.Is(err, fault.QuotaExceeded), fault.Is(err, fault.TooLarge), fault.Is(err, fault.NotAFolder), fault.Is(err, fault.InvalidPath):
		v, f := mark(v, sent, nil), fault.Of(err)
		v.Wrong = "Your answer was not taken: " + f.Message + "."
		return write(h, r.Setting(""), f.Status(), v)
	case err != nil:
		return server.Reply{}, err
	}
	p.latest.keep(answered{token: r.ID, sum: sent.sum(), next: next, most: most})
	return taken(h, r, next)
}

// most is how many bytes an answer may have: no more than what is asked for may need.
// One to a question that was just answered is compared with that answer.
func (p pages) most(r *server.Request) (int, error) {
	q, err := p.service.Prompt(r.Context(), r.Caller, r.ID)
	if earlier, answered := p.latest.find(r.ID); answered && fault.Is(err, fault.NotFound) {
		return earlier.most, nil
	}
	if err != nil {
		return 0, err
	}
	v, err := asking(q)
	return min(v.most(), q.MaxBytes), err
}

// most is how many bytes the answers to a form may have as browsers send them, with
// room for those that are too long, and told so.
func (v *view) most() int {
	const (
		rest = 256 << 10
		file = 9 << 20 // more than a form takes
		each = 12      // for a character of four bytes, each of them encoded
	)
	most := rest
	for _, f := range v.Fields {
		most += each * (f.length + len(f.Name))
		for _, c := range f.Choices {
			most += each * (len(c.Value) + len(f.Name))
		}
		if f.Input == "file" {
			most += file
		}
	}
	return most
}

// taken leads a person whose answer was taken to the next question, if there
// is one.
func taken(h http.Header, r *server.Request, next string) (server.Reply, error) {
	if next != "" {
		wire.SetPage(h, r.Setting(""), "")
		h.Set("Location", next)
		return server.Reply{Status: http.StatusSeeOther}, nil
	}
	return write(h, r.Setting(""), http.StatusOK, view{Title: "Thank you", Words: "Your answer has arrived. You may close this page."})
}

// refuse tells a person what is wrong, in a page.
func refuse(h http.Header, s wire.Setting, r *service.Refusal) []byte {
	v := view{Title: "This did not work", Words: r.Message}
	if r.Status == http.StatusNotFound {
		v.Title = "Nothing to answer"
	}
	if r.Field == "" {
		v.Words = sentence(r.Message)
	}
	reply, err := write(h, s, r.Status, v)
	if err != nil {
		return []byte(r.Message)
	}
	return reply.Body
}

// sentence makes a sentence of a message.
func sentence(message string) string {
	first, n := utf8.DecodeRuneInString(message)
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(message[n:], ".") + "."
}
