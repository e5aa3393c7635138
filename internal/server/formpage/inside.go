package formpage

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"ql/internal/server"
	"ql/internal/service"
	"ql/lang/form"
)

// CarriedName is the name of what is sent back with a form inside a page, beside its fields. No field
// is called so: their names neither begin nor end with a space.
const CarriedName = " ql-page"

// CarriedName is that of the package, for the template.
func (v view) CarriedName() string { return CarriedName }

// Inside is the form of a question inside a page of an account's own: of the same fields as a page of
// its own has, without what stands around them.
type Inside struct {
	view  view
	asked service.PromptPage
}

// NewInside returns the form of a question, in the words of whoever sent the request. It is sent to
// an address, with what is carried along; "" for nothing.
func NewInside(r *server.Request, q service.PromptPage, action, carried string) (*Inside, error) {
	f := &Inside{asked: q}
	err := r.Compute(viewBytes(q), func(func() error) (err error) {
		f.view, err = newPromptView(view{W: wordsFor(r.Setting("").Languages)}, q)
		return err
	})
	f.view.Action, f.view.Carried = action, carried
	return f, err
}

// Asked is the question.
func (f *Inside) Asked() *service.PromptPage { return &f.asked }

// HTML writes the form.
func (f *Inside) HTML(r *server.Request) (text []byte, err error) {
	err = r.Compute(pageBytes(f.asked, f.view.Fields)+int64(len(f.view.Carried)), func(turn func() error) error {
		b := pageBuffer{turn: turn}
		err := templates.ExecuteTemplate(&b, "inside", f.view)
		text = b.Bytes()
		return err
	})
	return text, err
}

// Sent is what a visitor has filled in. It is closed once it was taken or not.
type Sent struct {
	submission
	files *service.AnswerFiles
}

// Close discards the files that no answer has that was taken.
func (s *Sent) Close() {
	if s.files != nil {
		s.files.Close()
	}
}

// carriedBytes is how much is carried along at most, as browsers send it.
const carriedBytes = 64 << 10

// Read reads what was filled in. What was read before an error is in what it returns too.
func (f *Inside) Read(r *server.Request, s *service.Service) (*Sent, error) {
	sent := &Sent{files: s.AnswerFiles(r.Caller, f.asked)}
	l := f.view.formLimits(f.asked)
	l.values += carriedBytes // which it may have been, when it was shown
	err := sent.read(r, l, f.view.taker(r.Context(), sent.files))
	return sent, cmp.Or(sent.refused, err)
}

// ReadCarried reads what was filled into a form that is known from what it carries along, which open
// opens: of so many bytes besides files, and so many of those. An error of open is returned.
func ReadCarried(r *server.Request, s *service.Service, values int, files int64, open func(carried string) (*Inside, error)) (*Inside, *Sent, error) {
	sent := &Sent{}
	var f *Inside
	var opened bool
	var failed error
	openOnce := func() error {
		if !opened {
			opened = true
			if f, failed = open(sent.Values.Get(CarriedName)); failed == nil {
				sent.files = s.AnswerFiles(r.Caller, f.asked)
			}
		}
		return failed
	}
	l := limits{values: values + carriedBytes, files: files, time: time.Minute}
	if files > 0 {
		l.time = service.LongestTransfer
	}
	err := sent.read(r, l, func(part string) func(*server.Part) (form.Received, error) {
		if openOnce() != nil {
			return nil // it is passed over, and the answers behind it are read
		}
		return f.view.taker(r.Context(), sent.files)(part)
	})
	if err == nil {
		err = openOnce()
	}
	return f, sent, cmp.Or(failed, sent.refused, err)
}

// Reply makes a reply of what was filled in.
func (f *Inside) Reply(r *server.Request, s *Sent) (service.Reply, error) {
	reply, err := s.reply(r, f.view)
	reply.Sum = s.sum()
	return reply, err
}

// ShowAgain has the form show what was filled in, and what is wrong with it. It returns the status of
// that and when to try again, and false for an error that no other answers help.
func (f *Inside) ShowAgain(s *Sent, err error) (status int, retryAfter time.Duration, ok bool) {
	var wrong form.FieldErrors
	if errors.As(err, &wrong) {
		f.view = withErrors(f.view, s.submission, wrong)
		return http.StatusUnprocessableEntity, 0, true
	}
	coded := service.Fault(err)
	if !keepsFields(coded) {
		return 0, 0, false
	}
	f.view = withFault(withErrors(f.view, s.submission, nil), coded)
	return coded.Status(), coded.RetryAfter, true
}

// BeginAnew has the form show what was filled into another version of it.
func (f *Inside) BeginAnew(s *Sent) {
	for i := range f.view.Fields {
		s.fill(&f.view.Fields[i], f.view.W)
	}
	f.view.Again = f.view.W.begunAnew
}
