package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ql/lang/bytecode"
	"ql/lang/form"
	"ql/lang/value"
	"ql/lang/vm"
)

// Errors of replies. They leave the run as it is.
var (
	ErrNotPaused  = errors.New("nobody was asked anything")
	ErrWrongReply = errors.New("this question wants another kind of reply")
)

// maxMessage bounds what CONFIRM asks, in code points.
const maxMessage = 10_000

// ask returns the question that the machine is at. Asked again, also after
// the run was stored in between, it is the same question.
func (r *Run) ask() (*Prompt, error) {
	if r.prompt != nil {
		return r.prompt, nil
	}
	e := r.machine.Effect()
	to, err := audience(e)
	if err != nil {
		return nil, err
	}
	p := &Prompt{Line: e.Line, To: to, Asked: r.state.Asked, Sent: r.state.Sent == r.state.Asked+1}
	if e.Kind == bytecode.EffectGather {
		f, err := form.Parse(e.Args[0])
		if err != nil {
			return nil, err
		}
		p.Kind, p.Message, p.Form = KindGather, f.Title, f
	} else {
		const most = utf8.UTFMax * maxMessage
		if v := e.Args[0]; (v.IsList() || v.IsMap()) && !value.FitsJSON(v, most) {
			return nil, tooLong()
		}
		text, err := value.ToText(nil, e.Args[0])
		if err != nil {
			return nil, err
		}
		if utf8.RuneCountInString(text.Str()) > maxMessage {
			return nil, tooLong()
		}
		p.Kind, p.Message = KindConfirm, string(text.Raw())
	}
	if r.state.Prompt == "" {
		expires, err := r.expiry(e)
		if err != nil {
			return nil, err
		}
		id, err := NewUUID(r.o.Rand)
		if err != nil {
			return nil, err
		}
		r.state.Prompt, r.state.Expires = id, expires
	}
	p.ID, p.Expires = r.state.Prompt, r.state.Expires
	r.prompt = p
	return p, nil
}

// maxAudience bounds whom a question is for, in code points.
const maxAudience = 200

// audience returns whom a question is for, "" where the script does not say.
func audience(e *vm.Effect) (string, error) {
	const to = 2 // the argument, where there is one
	if len(e.Args) <= to {
		return "", nil
	}
	v := e.Args[to]
	if !v.IsText() {
		return "", value.Errorf(value.WrongKind, "TO takes whom %s is for, such as \"finance\", and not %s", e.Step, value.Describe(v))
	}
	text := v.Str()
	switch {
	case strings.TrimSpace(text) == "":
		return "", value.Errorf(value.BadArgument, "TO takes whom %s is for, such as \"finance\", and not an empty text", e.Step)
	case len(text) > utf8.UTFMax*maxAudience || utf8.RuneCountInString(text) > maxAudience:
		return "", value.Errorf(value.BadArgument, "TO takes at most %d characters", maxAudience)
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }):
		return "", value.Errorf(value.BadArgument, "TO takes one line of text, and this has a line end or another control character")
	}
	return string(v.Raw()), nil
}

func tooLong() error {
	return value.Errorf(value.BadArgument, "CONFIRM asks in at most %d characters", maxMessage)
}

// expiry returns the end of the time that WITHIN gives.
func (r *Run) expiry(e *vm.Effect) (time.Time, error) {
	within := r.o.MaxPause
	if v := e.Args[1]; !v.IsNull() {
		d, err := duration(v, "WITHIN")
		if err != nil {
			return time.Time{}, err
		}
		what, answer := "a question may stay open", "somebody can answer"
		if e.Kind.Info().Class == bytecode.ClassWait {
			what, answer = "a script may wait so", "it can come"
		}
		if d == 0 {
			return time.Time{}, value.Errorf(value.BadArgument, "WITHIN takes a time in which %s, not 0", answer)
		}
		if r.o.MaxPause > 0 && d > r.o.MaxPause {
			return time.Time{}, value.Exceeded("pause", r.o.MaxPause.Milliseconds(), "WITHIN is longer than the %s that %s", words(r.o.MaxPause), what)
		}
		within = d
	}
	if within == 0 {
		return time.Time{}, nil
	}
	return r.o.Clock().Add(within), nil
}

// until returns the moment that WAIT waits for.
func (r *Run) until(e *vm.Effect) (time.Time, error) {
	if !r.state.Until.IsZero() {
		return r.state.Until, nil
	}
	now := r.o.Clock()
	var until time.Time
	if e.Kind == bytecode.EffectWait {
		d, err := duration(e.Args[0], "WAIT")
		if err != nil {
			return now, err
		}
		until = now.Add(d)
	} else {
		v := e.Args[0]
		if !v.IsText() {
			return now, value.Errorf(value.WrongKind, "WAIT UNTIL takes a time as text, not %s", value.Describe(v))
		}
		t, err := time.Parse(time.RFC3339, v.Str())
		if err != nil {
			return now, value.Errorf(value.BadTime, "WAIT UNTIL takes a time such as 2026-12-31T08:00:00Z, not %s: PARSE_TIME(…) reads others", value.Quote(v.Str()))
		}
		until = t
	}
	if r.o.MaxWait > 0 && until.Sub(now) > r.o.MaxWait {
		return now, value.Exceeded("wait", r.o.MaxWait.Milliseconds(), "WAIT is longer than the %s that a script may wait", words(r.o.MaxWait))
	}
	return until, nil
}

// maxSeconds is the longest duration, a hundred years.
const maxSeconds = 100 * 366 * 24 * 3600

// duration takes a number of seconds.
func duration(v value.Value, word string) (time.Duration, error) {
	if !v.IsNumber() {
		return 0, value.Errorf(value.WrongKind, "%s takes a time such as 2 HOURS, not %s", word, value.Describe(v))
	}
	s := v.Float()
	if s < 0 || s > maxSeconds {
		return 0, value.Errorf(value.BadArgument, "%s takes a time from 0 SECONDS to 100 years, not %s seconds", word, value.AppendNumber(nil, v))
	}
	return time.Duration(s * float64(time.Second)), nil
}

// words writes a duration for people: "7 days", "1 hour", "90 seconds".
func words(d time.Duration) string {
	for _, u := range []struct {
		name string
		unit time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}} {
		if d >= u.unit && d%u.unit == 0 {
			return count(int64(d/u.unit), u.name)
		}
	}
	return count(int64(d/time.Second), "second")
}

func count(n int64, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// Prompt returns the question that is open, or nil.
func (r *Run) Prompt() *Prompt {
	if r.machine.Status() != vm.Pending {
		return nil
	}
	if r.machine.Effect().Kind.Info().Class != bytecode.ClassHuman {
		return nil
	}
	p, err := r.ask()
	if err != nil {
		return nil
	}
	return p
}

// Approve answers a CONFIRM. It returns the effect's result.
func (r *Run) Approve(approved bool) (Result, error) {
	p := r.Prompt()
	switch {
	case p == nil:
		return Result{}, ErrNotPaused
	case p.Kind != KindConfirm:
		return Result{}, ErrWrongReply
	}
	decision := DecisionDeclined
	if approved {
		decision = DecisionApproved
	}
	return r.reply(p, value.Bool(approved), decision), nil
}

func (r *Run) reply(p *Prompt, v value.Value, decision string) Result {
	e := r.machine.Effect()
	a := r.answerer
	a.Decision, a.Audience = decision, p.To
	if a.By == "" {
		a.By = "owner"
	}
	if a.At.IsZero() {
		a.At = r.o.Clock()
	}
	t := Result{Seq: e.Seq, Kind: e.Kind, Value: v, Answered: &a}
	r.observe(e, t)
	r.resume(v)
	r.answerer, r.state.Answered = Answered{}, &a
	return t
}

// Answer answers a GATHER with a map of its fields, and returns the effect's
// result. form.FieldErrors say what does not fit, and a *value.Error why
// a file cannot be stored; the question then stays open.
func (r *Run) Answer(ctx context.Context, fields value.Value) (Result, error) {
	p := r.Prompt()
	switch {
	case p == nil:
		return Result{}, ErrNotPaused
	case p.Kind != KindGather:
		return Result{}, ErrWrongReply
	}
	v, err := p.Form.Validate(ctx, fields, uploads{r}, func() error { return Turn(ctx) })
	if err != nil {
		return Result{}, errors.Join(err, r.DiscardUploads(ctx))
	}
	return r.reply(p, v, DecisionAnswered), nil
}

// Expire raises in the script that nobody answered in time, and returns that result.
func (r *Run) Expire() (Result, error) {
	p := r.Prompt()
	if p == nil {
		return Result{}, ErrNotPaused
	}
	e := r.machine.Effect()
	t := Result{Seq: e.Seq, Kind: e.Kind, Err: value.Errorf(Expired, "nobody answered in time")}
	r.observe(e, t)
	r.clearEffect()
	r.machine.ResumeError(t.Err)
	return t, nil
}

// Expired is the code of the error at a question that nobody answered in time.
const Expired = "expired"

// Cancel ends a run that is suspended at a question or a WAIT, for the reason that
// cause gives. Continue then returns how it ended.
func (r *Run) Cancel(cause error) {
	r.clearEffect()
	r.machine.ResumeError(&value.LimitError{Name: "time", Cause: cause})
}
