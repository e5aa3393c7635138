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
	"ql/internal/job"
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
	Receipt string // the number of an answer that was accepted
	Confirm bool
	Files   bool // some field takes a file
	Starred bool // some field must be answered
	Fields  []field
	Wrong   string
	Note    string // beside a decision, as it was sent
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
	if err != nil {
		return server.Response{}, err
	}
	if q.State != job.QuestionOpen {
		return notOpen(h, r, q, "")
	}
	v, err := promptView(r, q)
	if err != nil {
		return server.Response{}, err
	}
	return ask(h, r, http.StatusOK, q, v)
}

// notOpen is the page of a question that is not asked yet, or over. It tells whoever has the link
// when and how that ended, and nothing of what was answered.
func notOpen(h http.Header, r *server.Request, q service.PromptPage, after string) (server.Response, error) {
	v, status := view{Account: q.Account}, http.StatusGone
	at := q.Ended.UTC().Format(moment)
	switch q.State {
	case job.QuestionAnnounced:
		v.Title, v.Words, status = "Not asked yet", "This question has not been asked yet. Please open this page again later.", http.StatusOK
	case job.QuestionAnswered:
		v.Title, v.Words = "Already answered", "This question was answered on "+at+" by "+q.Answerer+". You may close this page."
	case job.QuestionExpired:
		v.Title, v.Words = "The time to answer is over", "This question could be answered until "+at+". Nobody did, and it is asked no longer."
	default:
		v.Title, v.Words = "No longer asked", "This question was withdrawn on "+at+": what asked it has ended without an answer."
	}
	if after != "" {
		v.Words += " " + after
	}
	return write(h, r.Setting(""), status, v)
}

// moment is how the page writes a time.
const moment = "2 January 2006, 15:04 UTC"

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
		v.Expires = q.Prompt.Expires.UTC().Format(moment)
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
	most, q, err := p.maxBytes(r)
	if err != nil {
		return server.Response{}, err
	}
	const notTaken = "What you sent now was not taken."
	if most < 0 {
		return notOpen(h, r, q, notTaken)
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
	if q, err = p.service.Prompt(r.Context(), r.Caller, r.Variable); err != nil {
		return server.Response{}, err
	}
	if q.State != job.QuestionOpen {
		if earlier, answered := p.latest.find(r.Variable); answered && earlier.sum == sent.sum() {
			return acceptedPage(h, r, earlier.next, earlier.receipt)
		}
		return notOpen(h, r, q, notTaken)
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
	next, receipt, err := p.service.AnswerPrompt(context.WithoutCancel(r.Context()), r.Caller, r.Variable, reply)
	var wrong form.FieldErrors
	switch {
	case errors.As(err, &wrong):
		return ask(h, r, http.StatusUnprocessableEntity, q, withErrors(v, sent, wrong))
	case fault.Is(err, fault.QuotaExceeded), fault.Is(err, fault.TooLarge), fault.Is(err, fault.NotAFolder), fault.Is(err, fault.InvalidPath):
		v, f := withErrors(v, sent, nil), fault.Of(err)
		v.Wrong = "Your answer was not taken: " + f.Message + "."
		return ask(h, r, f.Status(), q, v)
	case errors.Is(err, service.ErrQuestionOver): // another was faster
		if q, err = p.service.Prompt(r.Context(), r.Caller, r.Variable); err == nil {
			return notOpen(h, r, q, notTaken)
		}
		return server.Response{}, err
	case err != nil:
		return server.Response{}, err
	}
	p.latest.remember(answered{token: r.Variable, sum: sent.sum(), next: next, receipt: receipt, maxBytes: most})
	return acceptedPage(h, r, next, receipt)
}

// maxBytes is how many bytes an answer may have: no more than what is asked for may need.
// One to a prompt that was just answered is compared with that answer; to others that are not open
// none is worth reading, which is -1.
func (p pages) maxBytes(r *server.Request) (int, service.PromptPage, error) {
	q, err := p.service.Prompt(r.Context(), r.Caller, r.Variable)
	if err != nil {
		return 0, q, err
	}
	if q.State != job.QuestionOpen {
		earlier, answered := p.latest.find(r.Variable)
		if !answered { // the first request of a double click may be waiting for the next question
			if err := p.latest.locks.Lock(r.Context(), r.Variable); err != nil {
				return 0, q, err
			}
			earlier, answered = p.latest.find(r.Variable)
			p.latest.locks.Unlock(r.Variable)
		}
		if answered {
			return earlier.maxBytes, q, nil
		}
		return -1, q, nil
	}
	v, err := promptView(r, q)
	return min(v.maxBytes(), q.MaxBytes), q, err
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
// is one, and tells others what they answered.
func acceptedPage(h http.Header, r *server.Request, next string, a wire.AnswerReceipt) (server.Response, error) {
	if next != "" {
		wire.SetPage(h, r.Setting(""), "")
		h.Set("Location", next)
		return server.Response{Status: http.StatusSeeOther}, nil
	}
	return write(h, r.Setting(""), http.StatusOK, view{
		Title: "Thank you", Words: accepted[a.Decision] + " on " + a.At.UTC().Format(moment) + ". You may close this page.", Receipt: a.Receipt,
	})
}

// accepted says what was answered, by the decision.
var accepted = map[string]string{
	"approved": "Your answer has arrived: you approved",
	"declined": "Your answer has arrived: you declined",
	"answered": "Your answer has arrived",
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
