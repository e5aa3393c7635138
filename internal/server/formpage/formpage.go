// Package formpage is the page on which a person answers the prompt at which a
// job is paused: plain HTML, without scripts. It turns what was filled in into
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
	"ql/internal/principal"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
	"ql/lang/form"
	"ql/lang/value"
)

// Routes returns the routes of the page.
func Routes(s *service.Service) []server.Route {
	p := pages{s, newRecentAnswers()}
	whoeverHasTheLink := principal.Set{principal.ByNobody}
	return []server.Route{
		{Method: http.MethodGet, Path: "/form/{token}", Accepts: whoeverHasTheLink, Serve: p.show, EncodeError: encodeError},
		{Method: http.MethodPost, Path: "/form/{token}", Accepts: whoeverHasTheLink, Timeout: time.Minute, Serve: p.answer, EncodeError: encodeError},
	}
}

type pages struct {
	service *service.Service
	latest  *recentAnswers
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

// write writes a page of few words.
func write(h http.Header, s wire.HeaderOptions, status int, v view) (server.Response, error) {
	return execute(h, s, status, v, func() error { return nil })
}

func execute(h http.Header, s wire.HeaderOptions, status int, v view, turn func() error) (server.Response, error) {
	v.Nonce = wire.NewNonce()
	b := pageBuffer{turn: turn}
	if err := templates.Execute(&b, v); err != nil {
		return server.Response{}, err
	}
	wire.SetPage(h, s, v.Nonce)
	return server.Response{Status: status, Body: b.Bytes()}, nil
}

// pageBuffer takes turns while a page is made.
type pageBuffer struct {
	bytes.Buffer
	turn  func() error
	since int
}

// Write implements io.Writer.
func (b *pageBuffer) Write(p []byte) (int, error) {
	if b.since += len(p); b.since > wire.PieceBytes {
		b.since = 0
		if err := b.turn(); err != nil {
			return 0, err
		}
	}
	return b.Buffer.Write(p)
}

// viewBytes is about what the view of a prompt takes, and pageBytes its page: a choice
// of a few letters is some hundred of HTML.
func viewBytes(q service.PromptPage) int64 {
	return int64(len(q.Prompt.Message)) + 32*int64(len(q.Prompt.Schema))
}

func pageBytes(q service.PromptPage) int64 {
	return 8*int64(len(q.Prompt.Message)) + 64*int64(len(q.Prompt.Schema))
}

// ask writes the page of a prompt.
func ask(h http.Header, r *server.Request, status int, q service.PromptPage, v view) (reply server.Response, err error) {
	err = r.Compute(pageBytes(q), func(turn func() error) error {
		reply, err = execute(h, r.Setting(""), status, v, turn)
		return err
	})
	return reply, err
}

func (p pages) show(h http.Header, r *server.Request) (server.Response, error) {
	q, err := p.service.Prompt(r.Context(), r.Caller, r.Variable)
	if _, answered := p.latest.find(r.Variable); answered && fault.Is(err, fault.NotFound) {
		return write(h, r.Setting(""), http.StatusGone, view{Title: "Already answered", Words: "This question has been answered. You may close this page."})
	}
	if err != nil {
		return server.Response{}, err
	}
	v, err := promptView(r, q)
	if err != nil {
		return server.Response{}, err
	}
	return ask(h, r, http.StatusOK, q, v)
}

// promptView is what the page of a prompt shows.
func promptView(r *server.Request, q service.PromptPage) (v view, err error) {
	err = r.Compute(viewBytes(q), func(func() error) error {
		v, err = newPromptView(q)
		return err
	})
	return v, err
}

func newPromptView(q service.PromptPage) (view, error) {
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

func (p pages) answer(h http.Header, r *server.Request) (server.Response, error) {
	// A link that opens nothing is not worth reading what was sent to it.
	most, err := p.maxBytes(r)
	if err != nil {
		return server.Response{}, err
	}
	sent, err := p.read(r, most)
	if err != nil {
		return server.Response{}, err
	}
	// The second request of a double click waits for what the first one comes to.
	if err := p.latest.locks.Lock(r.Context(), r.Variable); err != nil {
		return server.Response{}, err
	}
	defer p.latest.locks.Unlock(r.Variable)
	q, err := p.service.Prompt(r.Context(), r.Caller, r.Variable)
	if earlier, answered := p.latest.find(r.Variable); answered && fault.Is(err, fault.NotFound) {
		if earlier.sum == sent.sum() {
			return acceptedPage(h, r, earlier.next)
		}
		return write(h, r.Setting(""), http.StatusGone, view{Title: "Already answered", Words: "This question had already been answered, and the first answer holds. What you sent now was not taken."})
	}
	if err != nil {
		return server.Response{}, err
	}
	v, err := promptView(r, q)
	if err != nil {
		return server.Response{}, err
	}
	reply, err := sent.reply(r, v)
	if err != nil {
		return server.Response{}, err
	}
	// A browser gives up the first request of a double click; its answer counts.
	next, err := p.service.AnswerPrompt(context.WithoutCancel(r.Context()), r.Caller, r.Variable, reply)
	var wrong form.FieldErrors
	switch {
	case errors.As(err, &wrong):
		return ask(h, r, http.StatusUnprocessableEntity, q, withErrors(v, sent, wrong))
	case fault.Is(err, fault.QuotaExceeded), fault.Is(err, fault.TooLarge), fault.Is(err, fault.NotAFolder), fault.Is(err, fault.InvalidPath):
		v, f := withErrors(v, sent, nil), fault.Of(err)
		v.Wrong = "Your answer was not taken: " + f.Message + "."
		return ask(h, r, f.Status(), q, v)
	case err != nil:
		return server.Response{}, err
	}
	p.latest.remember(answered{token: r.Variable, sum: sent.sum(), next: next, maxBytes: most})
	return acceptedPage(h, r, next)
}

// maxBytes is how many bytes an answer may have: no more than what is asked for may need.
// One to a prompt that was just answered is compared with that answer.
func (p pages) maxBytes(r *server.Request) (int, error) {
	q, err := p.service.Prompt(r.Context(), r.Caller, r.Variable)
	if earlier, answered := p.latest.find(r.Variable); answered && fault.Is(err, fault.NotFound) {
		return earlier.maxBytes, nil
	}
	if err != nil {
		return 0, err
	}
	v, err := promptView(r, q)
	return min(v.maxBytes(), q.MaxBytes), err
}

// maxBytes is how many bytes the answers to a form may have as browsers send them, with
// room for those that are too long, which the page then says.
func (v *view) maxBytes() int {
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

// acceptedPage leads a person whose answer was accepted to the next prompt, if there
// is one.
func acceptedPage(h http.Header, r *server.Request, next string) (server.Response, error) {
	if next != "" {
		wire.SetPage(h, r.Setting(""), "")
		h.Set("Location", next)
		return server.Response{Status: http.StatusSeeOther}, nil
	}
	return write(h, r.Setting(""), http.StatusOK, view{Title: "Thank you", Words: "Your answer has arrived. You may close this page."})
}

// encodeError tells a person what is wrong, in a page.
func encodeError(h http.Header, s wire.HeaderOptions, r *service.Refusal) []byte {
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
