package webhook

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ql/internal/job"
	"ql/internal/network"
)

const (
	// maxAnswer is how many bytes of an answer are stored.
	maxAnswer = 256
	// maxError bounds what is stored of an error.
	maxError = 256
	// storeTime is how long the store may take to note an attempt.
	storeTime = 10 * time.Second
)

// deliver makes one attempt and notes what became of it. Where it cannot, since
// the process dies or the store fails, the claim ends by itself and the next
// attempt follows. It returns how long the call took.
func (s *Sender) deliver(d Delivery) (took time.Duration) {
	defer func() {
		if p := recover(); p != nil {
			s.postpone(d, s.o.Guard.Report("webhook", p))
		}
	}()
	request, err := s.request(d)
	if err != nil && s.calls.Err() != nil {
		s.release(d, s.o.Clock())
		return 0
	}
	if errors.Is(err, job.ErrNotFound) {
		now := s.o.Clock()
		s.recordAttempt(d, Attempt{Number: d.Attempts + 1, At: now, Error: "the job is kept no more"}, Stopped, now)
		return 0
	}
	if errors.Is(err, ErrOver) {
		now := s.o.Clock()
		s.recordAttempt(d, Attempt{Number: d.Attempts + 1, At: now, Error: "the question is over"}, Stopped, now)
		return 0
	}
	if err != nil {
		s.postpone(d, err)
		return 0
	}
	at := s.o.Clock()
	answer, err := s.o.Client.Do(s.calls, request)
	ended := s.o.Clock()
	if err != nil && s.calls.Err() != nil {
		s.release(d, ended) // broken off by our own stop
		return 0
	}
	took = ended.Sub(at)
	a := Attempt{
		Number: d.Attempts + 1, At: at, Took: took.Truncate(time.Microsecond),
		Status: answer.Status, Answer: printable(answer.Body, maxAnswer),
	}
	switch {
	case err != nil:
		a.Error = errorText(err)
	case a.Status >= 300 && a.Status <= 399:
		a.Error = "redirects are not followed"
	}
	state, next := nextState(a, retryAfter(answer), ended)
	s.recordAttempt(d, a, state, next)
	return took
}

// request makes what is sent, anew for each attempt: its time, and the secrets
// that are valid then.
func (s *Sender) request(d Delivery) (network.Request, error) {
	body, err := s.o.Body(s.calls, d)
	if err != nil {
		return network.Request{}, err
	}
	secrets, err := s.o.Secrets(s.calls, d.Account)
	if err != nil {
		return network.Request{}, err
	}
	if len(secrets) == 0 {
		return network.Request{}, errors.New("the account has no webhook secret")
	}
	header, err := sign(d.ID, s.o.Clock(), body, secrets)
	if err != nil {
		return network.Request{}, err
	}
	header["Content-Type"] = []string{"application/json"}
	return network.Request{Method: "POST", URL: d.URL, Header: header, Body: body}, nil
}

func (s *Sender) recordAttempt(d Delivery, a Attempt, state State, at time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.calls), storeTime)
	defer cancel()
	if err := s.o.Outbox.Settle(ctx, d, a, state, at); err != nil {
		s.logNotStored(d, err)
		return
	}
	s.logFailed(d, a, state, at)
	s.o.OnAttempt(a, state)
}

// logFailed says that a server did not take a delivery. Where that goes, and what the server
// said, is its account's alone.
func (s *Sender) logFailed(d Delivery, a Attempt, state State, at time.Time) {
	switch about := []any{"delivery", d.ID, "job", d.Job, "account", d.Account, "attempt", a.Number, "status", a.Status}; state {
	case Pending:
		s.o.Log.Info("a webhook was not delivered and will be tried again", append(about, "after_seconds", int64(at.Sub(s.o.Clock()).Seconds()))...)
	case Stopped, Exhausted:
		s.o.Log.Info("a webhook was given up", append(about, "state", string(state))...)
	case Delivered:
	}
}

// postpone ends a claim after a failure of the service itself: the server has
// heard nothing, so it is no attempt.
func (s *Sender) postpone(d Delivery, err error) {
	s.o.Log.Error("a webhook could not be made and will be tried again", "delivery", d.ID, "job", d.Job, "error", err)
	s.release(d, s.o.Clock().Add(retry))
}

func (s *Sender) release(d Delivery, due time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.calls), storeTime)
	defer cancel()
	if err := s.o.Outbox.Release(ctx, d, due); err != nil {
		s.logNotStored(d, err)
	}
}

// logNotStored says that a claim was not ended, which then ends by itself.
func (s *Sender) logNotStored(d Delivery, err error) {
	if !errors.Is(err, ErrClaimLost) { // repeated by hand meanwhile
		s.o.Log.Error("an attempt of a webhook could not be noted and may be made again", "delivery", d.ID, "job", d.Job, "error", err)
	}
}

func retryAfter(a network.Answer) string {
	if values := a.Header["Retry-After"]; len(values) > 0 {
		return strings.TrimSpace(values[0])
	}
	return ""
}

// errorText says why there was no answer.
func errorText(err error) string {
	var e *network.Error
	if errors.As(err, &e) {
		return printable([]byte(e.Message), maxError)
	}
	return "the call failed"
}

// printable returns the start of a text, at most some bytes of it, without what
// could confuse a terminal or a page.
func printable(text []byte, most int) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if !unicode.IsPrint(r) {
			r = ' '
		}
		if b.Len()+utf8.RuneLen(r) > most {
			break
		}
		b.WriteRune(r)
		text = text[size:]
	}
	return b.String()
}
