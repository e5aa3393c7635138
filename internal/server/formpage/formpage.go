// Package formpage is the page on which a person answers the prompt at which a
// job is paused: plain HTML, that a script of package asset makes more convenient
// and that works without it. It turns what was filled in into the fields of a reply; whether they fit is decided by the operations of
// package service, and how a request comes and goes is package server's.
package formpage

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"html/template"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ql/internal/colour"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/server"
	"ql/internal/server/asset"
	"ql/internal/service"
	"ql/internal/wire"
	"ql/lang/form"
	"ql/lang/value"
)

// Routes returns the routes of the page.
func Routes(s *service.Service) []server.Route {
	p := pages{s}
	encodeError := p.encodeError
	whoeverHasTheLink := principal.Set{principal.ByNobody}
	return []server.Route{
		{Method: http.MethodGet, Path: "/form/{token}", Accepts: whoeverHasTheLink, Timeout: longestWait, Serve: p.show, EncodeError: encodeError},
		{Method: http.MethodGet, Path: "/form/{token}/logo", Accepts: whoeverHasTheLink, Serve: p.logo, EncodeError: encodeError},
		{Method: http.MethodPost, Path: "/form/{token}", Accepts: whoeverHasTheLink, Timeout: time.Minute, Serve: p.answer, EncodeError: encodeError},
	}
}

type pages struct {
	service *service.Service
}

//go:embed page.html
var page string

var templates = template.Must(template.New("page").Parse(page))

// view is what the page shows.
type view struct {
	W       *words
	Title   string
	Account string // whose question it is; "" where nobody knows
	Host    string // where the page is
	Name    string // that the account goes by, "" for its username alone
	Logo    string // the address of its logo, "" for none
	Accent  *accent

	// Of a page without a form:
	Icon    string // what became of the question: "ok", "failed", "waits", "runs" or "over"
	Words   said
	More    []said
	Detail  string // said by the service, in English
	Receipt string // the number of an answer that was accepted
	Working bool   // the job is at work, and may ask more

	// Of a form:
	Action           string // where it is sent
	Carried          string // what is sent back with it, "" for nothing
	Again            string // why a form inside another page is shown again
	Heading, Message string // what is asked, the first line of it apart
	Asked            string // instead of a heading
	Confirm          bool
	Files            bool // some field takes a file
	Starred          bool // some field must be answered
	Fields           []field
	Wrong            string
	Note             string // beside a decision, as it was sent
	NoteWrong        string // why it was not taken
	Before           *said  // until when it may be answered
	Follows          []effect

	Stylesheet, Script, Nonce string
}

// accent is the colour of buttons that an account has chosen, by day and by night.
type accent struct{ Day, Night string }

// WrongFields returns the fields whose answers are wrong.
func (v view) WrongFields() (list []field) {
	for _, f := range v.Fields {
		if f.Wrong != "" {
			list = append(list, f)
		}
	}
	return list
}

// newView is a page in the words of whoever reads it.
func (p pages) newView(s wire.HeaderOptions) view {
	return view{W: wordsFor(s.Languages), Host: p.service.PageHost()}
}

// accountView is a page of an account's.
func (p pages) accountView(r *server.Request, account string, look service.PageLook) view {
	v := p.newView(r.Setting(""))
	v.Account, v.Name = account, look.DisplayName
	if look.HasLogo {
		v.Logo = "/form/" + r.Variable + "/logo"
	}
	if c, err := colour.Parse(look.Accent); err == nil {
		v.Accent = &accent{c.String(), c.On(colour.Night).String()}
	}
	return v
}

// end is a page without a form.
func (v view) end(icon string, e ending, at time.Time, pairs ...string) view {
	v.Icon, v.Title, v.Words = icon, e.title, v.W.say(e.words, at, pairs...)
	return v
}

// add adds another sentence to it.
func (v view) add(text string, at time.Time) view {
	v.More = append(v.More, v.W.say(text, at))
	return v
}

// write writes a page of few words.
func write(h http.Header, s wire.HeaderOptions, status int, v view) (server.Response, error) {
	return execute(h, s, status, v, func() error { return nil })
}

func execute(h http.Header, s wire.HeaderOptions, status int, v view, turn func() error) (server.Response, error) {
	v.Action = "?once=" + rand.Text() // which names this page among those of the question
	v.Stylesheet, v.Script = asset.Stylesheet, asset.FormScript
	if v.Accent != nil {
		v.Nonce = wire.NewNonce()
	}
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

func pageBytes(q service.PromptPage, list []field) int64 {
	const escaped = 5 // bytes of HTML for one, as those of a quotation mark
	bytes := 8*int64(len(q.Prompt.Message)) + 64*int64(len(q.Prompt.Schema)) + 16*int64(len(q.Prompt.Follows))
	for i := range list { // each choice has the name of its field
		bytes += escaped * int64(len(list[i].Name)) * int64(len(list[i].Choices))
	}
	return bytes
}

// ask writes the page of a prompt.
func ask(h http.Header, r *server.Request, status int, q service.PromptPage, v view) (reply server.Response, err error) {
	err = r.Compute(pageBytes(q, v.Fields), func(turn func() error) error {
		reply, err = execute(h, r.Setting(""), status, v, turn)
		return err
	})
	return reply, err
}

func (p pages) show(h http.Header, r *server.Request) (server.Response, error) {
	switch query := r.URL.Query(); {
	case query.Has("state"):
		return p.state(h, r, query)
	case query.Has("receipt"):
		f, ok, err := p.service.FollowPrompt(r.Context(), r.Caller, r.Variable, query.Get("receipt"), 0)
		switch {
		case err != nil:
			return server.Response{}, err
		case ok && f.Working:
			return p.workingPage(h, r, f)
		case ok:
			return p.acceptedPage(h, r, f)
		}
	}
	q, err := p.service.Prompt(r.Context(), r.Caller, r.Variable)
	if err != nil {
		return server.Response{}, err
	}
	if q.State != job.QuestionOpen {
		return p.notOpen(h, r, q, false)
	}
	v, err := p.promptView(r, q)
	if err != nil {
		return server.Response{}, err
	}
	return ask(h, r, http.StatusOK, q, v)
}

// notOpen is the page of a question that is not asked yet, or over. It tells whoever has the link
// when and how that ended, and nothing of what was answered.
func (p pages) notOpen(h http.Header, r *server.Request, q service.PromptPage, sent bool) (server.Response, error) {
	v, status := p.accountView(r, q.Account, q.Look), http.StatusGone
	switch q.State {
	case job.QuestionAnnounced:
		v, status = v.end("waits", v.W.notAsked, q.Ended), http.StatusOK
	case job.QuestionAnswered:
		v = v.end("over", v.W.answered, q.Ended, "{by}", v.W.answerer(q.By)).add(v.W.mayClose, time.Time{})
	case job.QuestionExpired:
		v = v.end("over", v.W.expired, q.Ended)
	default:
		v = v.end("over", v.W.withdrawn, q.Ended)
	}
	if sent {
		v = v.add(v.W.notTaken, time.Time{})
	}
	return write(h, r.Setting(""), status, v)
}

// promptView is what the page of a prompt shows.
func (p pages) promptView(r *server.Request, q service.PromptPage) (v view, err error) {
	err = r.Compute(viewBytes(q), func(func() error) error {
		v, err = newPromptView(p.accountView(r, q.Account, q.Look), q)
		if q.Follows != nil {
			v.Follows = v.W.follows(q.Follows)
		}
		return err
	})
	return v, err
}

func newPromptView(v view, q service.PromptPage) (view, error) {
	v.Title, v.Confirm = strings.ReplaceAll(v.W.question, "{account}", q.Account), q.Prompt.Schema == nil
	v.Asked = v.Title
	v.Heading, v.Message = heading(q.Prompt.Message)
	if !q.Prompt.Expires.IsZero() {
		s := v.W.say(v.W.before, q.Prompt.Expires)
		v.Before = &s
	}
	if v.Confirm {
		return v, nil
	}
	schema, bad := value.ParseJSON(nil, string(q.Prompt.Schema))
	if bad != nil {
		return v, bad
	}
	v.Fields = fields(schema, v.W)
	for _, f := range v.Fields {
		v.Files = v.Files || f.Input == "file"
		v.Starred = v.Starred || f.Required
	}
	return v, nil
}

// longestHeading is how many bytes stand in a heading at most: more is no longer one.
const longestHeading = 240

// heading is the first line of a message, where that is short, and what follows it.
func heading(message string) (first, rest string) {
	first, rest, _ = strings.Cut(strings.TrimSpace(message), "\n")
	if len(first) > longestHeading {
		return "", message
	}
	return strings.TrimSpace(first), strings.TrimSpace(rest)
}

// logo sends the logo of whoever asks.
func (p pages) logo(h http.Header, r *server.Request) (server.Response, error) {
	logo, err := p.service.Logo(r.Context(), r.Caller, r.Variable)
	if err != nil {
		return server.Response{}, err
	}
	wire.SetPicture(h, r.Setting(""), logo.MediaType)
	h.Set("Content-Length", strconv.Itoa(len(logo.Content)))
	return server.Response{Status: http.StatusOK, Stream: func(_ context.Context, w io.Writer) {
		n, _ := w.Write(logo.Content) // who goes away needs none
		logo.CountSent(int64(n))
	}}, nil
}

func (p pages) answer(h http.Header, r *server.Request) (server.Response, error) {
	// A link that opens nothing is not worth reading what was sent to it.
	q, err := p.service.Prompt(r.Context(), r.Caller, r.Variable)
	if err != nil {
		return server.Response{}, err
	}
	switch q.State {
	case job.QuestionOpen:
	case job.QuestionAnswered:
		return p.repeat(h, r, q)
	default:
		return p.notOpen(h, r, q, true)
	}
	v, err := p.promptView(r, q)
	if err != nil {
		return server.Response{}, err
	}
	files := p.service.AnswerFiles(r.Caller, q)
	defer files.Close()
	sent, err := read(r, v.formLimits(q), v.taker(r.Context(), files))
	if err = cmp.Or(sent.refused, err); err != nil {
		return p.askAgain(h, r, q, v, sent, err)
	}
	if wrong := v.checkNote(sent); wrong != "" {
		v = withErrors(v, sent, nil)
		v.NoteWrong = wrong
		return ask(h, r, http.StatusUnprocessableEntity, q, v)
	}
	reply, err := sent.reply(r, v)
	if err != nil {
		return server.Response{}, err
	}
	reply.Sum = sent.sum()
	// A browser gives up the first request of a double click; its answer counts.
	f, err := p.service.AnswerPrompt(context.WithoutCancel(r.Context()), r.Caller, r.Variable, reply)
	switch {
	case errors.Is(err, service.ErrQuestionOver): // another was faster
		return p.late(h, r, sent)
	case err != nil:
		return p.askAgain(h, r, q, v, sent, err)
	}
	return p.acceptedPage(h, r, f)
}

// askAgain shows a form again whose answers were not taken, with those, where they can be sent again.
func (p pages) askAgain(h http.Header, r *server.Request, q service.PromptPage, v view, sent submission, err error) (server.Response, error) {
	var wrong form.FieldErrors
	if errors.As(err, &wrong) {
		return ask(h, r, http.StatusUnprocessableEntity, q, withErrors(v, sent, wrong))
	}
	f := service.Fault(err)
	if !keepsFields(f) {
		return server.Response{}, err
	}
	reply, failed := ask(h, r, f.Status(), q, withFault(withErrors(v, sent, nil), f))
	if failed != nil { // there is no room for the page either
		return server.Response{}, err
	}
	reply.RetryAfter = f.RetryAfter
	return reply, nil
}

// repeat answers what is sent to a question that was answered.
func (p pages) repeat(h http.Header, r *server.Request, q service.PromptPage) (server.Response, error) {
	sent, err := read(r, repeatLimits, func(string) func(*server.Part) (form.Received, error) { return nil })
	if fault.Is(err, fault.TooLarge) {
		return p.notOpen(h, r, q, true)
	}
	if err != nil {
		return server.Response{}, err
	}
	return p.late(h, r, sent)
}

// late answers who sends something to a question that is over: where it is the answer that counted, sent
// again, as that was answered, and else what became of the question.
func (p pages) late(h http.Header, r *server.Request, sent submission) (server.Response, error) {
	f, ok, err := p.service.RepeatsAnswer(r.Context(), r.Caller, r.Variable, sent.sum())
	if err != nil {
		return server.Response{}, err
	}
	if ok {
		return p.acceptedPage(h, r, f)
	}
	q, err := p.service.Prompt(r.Context(), r.Caller, r.Variable)
	if err != nil {
		return server.Response{}, err
	}
	return p.notOpen(h, r, q, true)
}

// keepsFields tells whether whoever sent answers may send them again, so that they are shown with the
// form.
func keepsFields(err error) bool {
	for _, code := range []fault.Code{
		fault.QuotaExceeded, fault.TooLarge, fault.NotAFolder, fault.InvalidPath, fault.LimitExceeded,
		fault.RateLimited, fault.Overloaded, fault.StorageUnavailable,
	} {
		if fault.Is(err, code) {
			return true
		}
	}
	return false
}

// maxBytes is how many bytes the answers to a form may have as browsers send them, without files, with
// room for those that are too long, which the page then says.
func (v *view) maxBytes() int {
	const (
		rest = 256 << 10
		each = 12 // for a character of four bytes, each of them encoded
	)
	most := rest
	for _, f := range v.Fields {
		most += each * len(f.Name)
		if f.Input != "file" {
			most += each * f.length
		}
		for _, c := range f.Choices {
			most += each * (len(c.Value) + len(f.Name))
		}
	}
	return most
}

// acceptedPage leads a person whose answer was accepted to the next question, if there is one, to where
// the job can be followed while it is at work, and tells others what they answered.
func (p pages) acceptedPage(h http.Header, r *server.Request, f service.Following) (server.Response, error) {
	next := f.Next
	if f.Working {
		next = "?receipt=" + f.Answer.Receipt
	}
	if next != "" {
		wire.SetPage(h, r.Setting(""), "")
		h.Set("Location", next)
		return server.Response{Status: http.StatusSeeOther}, nil
	}
	v := p.arrived(r, "ok", f)
	v = v.add(v.W.mayClose, time.Time{})
	if !f.Resumes.IsZero() {
		v = v.add(v.W.resumes, f.Resumes)
	}
	return write(h, r.Setting(""), http.StatusOK, v)
}

// workingPage says that an answer has arrived, and that there may be more to ask. Its script waits for
// that, see state; a browser without scripts loads it again and again.
func (p pages) workingPage(h http.Header, r *server.Request, f service.Following) (server.Response, error) {
	v := p.arrived(r, "runs", f)
	v.Title, v.Working = v.W.working, true
	return write(h, r.Setting(""), http.StatusOK, v.add(v.W.goesOn, time.Time{}))
}

// arrived says that an answer was accepted.
func (p pages) arrived(r *server.Request, icon string, f service.Following) view {
	v := p.accountView(r, f.Account, f.Look)
	e := v.W.accepted
	switch f.Answer.Decision {
	case "approved":
		e = v.W.approved
	case "declined":
		e = v.W.declined
	}
	v = v.end(icon, e, f.Answer.At)
	v.Receipt = f.Answer.Receipt
	return v
}

// encodeError tells a person what is wrong, in a page.
func (p pages) encodeError(h http.Header, s wire.HeaderOptions, r *service.Refusal) []byte {
	v := p.newView(s)
	switch text, known := v.W.faults[fault.Code(r.Code)]; {
	case r.Status == http.StatusNotFound:
		v = v.end("over", v.W.nothing, time.Time{})
	case known:
		v = v.end("failed", ending{v.W.failed.title, text}, time.Time{})
		v.Detail = r.Message
	case v.W.failed.words != "":
		v = v.end("failed", v.W.failed, time.Time{})
		v.Detail = r.Message
	default:
		v = v.end("failed", ending{v.W.failed.title, r.Message}, time.Time{})
		if r.Field == "" {
			v.Words.Before = sentence(r.Message)
		}
	}
	reply, err := write(h, s, r.Status, v)
	if err != nil {
		return []byte(r.Message)
	}
	return reply.Body
}
