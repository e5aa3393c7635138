package service

import (
	"context"
	"errors"
	"time"

	"ql/internal/admit"
	"ql/internal/fault"
	"ql/internal/wire"
	"ql/lang/form"
)

// Refusal is why an operation was not done, as an answer shows it.
type Refusal struct {
	wire.Error
	Status     int
	RetryAfter time.Duration // 0 says nothing about trying again
	Allow      []string      // of a method that is not allowed
	// Cause is what is logged of an error that is ours, nil for all others.
	Cause error
}

// Refused makes an answer of an error. What is not coded is internal: the
// answer has its id alone.
func Refused(err error) *Refusal {
	var failed *scriptFailure
	if errors.As(err, &failed) {
		return &Refusal{Error: *failed.failure, Status: fault.New(fault.Code(failed.failure.Code), "").Status()}
	}
	var statement *statementFailure
	if errors.As(err, &statement) {
		return &Refusal{Error: *statement.failure, Status: fault.New(fault.SQLError, "").Status()}
	}
	e := coded(err)
	var fields form.FieldErrors
	r := &Refusal{
		Error: wire.Error{
			Code: string(e.Code), Message: e.Message, Field: e.Field, Limit: e.Limit, Max: e.Value, ID: e.ID,
		},
		Status: e.Status(), RetryAfter: e.RetryAfter, Allow: e.Allow,
	}
	if errors.As(err, &fields) {
		for _, f := range fields {
			r.Fields = append(r.Fields, wire.Pair{Name: f.Field, Value: f.Message})
		}
	}
	if e.Field != "" {
		r.Message = e.Field + ": " + e.Message
	}
	switch e.Code {
	case fault.Internal, fault.StorageUnavailable, fault.OutcomeUnknown:
		r.Cause = err
	}
	return r
}

// Fault gives a code to the error of an operation, for who shows more than that.
func Fault(err error) *fault.Error { return coded(err) }

// coded gives a code to the errors of those packages that know no codes.
func coded(err error) *fault.Error {
	var refusal *wire.Refusal
	var refused *admit.Refused
	var fields form.FieldErrors
	switch {
	case errors.As(err, &fields):
		text := fields.Error()
		if note := (*inputNote)(nil); errors.As(err, &note) {
			text += ": " + note.text
		}
		return fault.New(fault.InvalidFields, "%s", text)
	case errors.As(err, &refusal):
		e := fault.New(fault.Code(refusal.Code), "%s", refusal.Message)
		e.Field, e.Limit, e.Value = refusal.Field, refusal.Limit, refusal.Max
		return e
	case errors.As(err, &refused):
		e := fault.Retryable(fault.Code(refused.Code()), refused.RetryAfter, "%s", refused.Error())
		if e.Limit = limitOf(refused); e.Limit != "" {
			e.Value = int64(refused.Limit)
		}
		return e
	case errors.Is(err, context.Canceled):
		// Nobody reads the answer: whoever asked has hung up.
		return fault.Retryable(fault.Overloaded, time.Second, "the call was given up").WithCause(err)
	}
	return fault.Of(err)
}

// inputNote is what is wrong with the fields of a call that brought none, with what it brought.
type inputNote struct {
	error
	text string
}

func (n *inputNote) Unwrap() error { return n.error }

// noteInput adds to the error of an input what was sent instead of one, where something was.
func noteInput(err error, text string) error {
	if err == nil || text == "" {
		return err
	}
	return &inputNote{err, text}
}

// limitOf names the limit of the account's that turned a call away; "" where it
// was none of its own.
func limitOf(r *admit.Refused) string {
	switch {
	case r.Rate == rateCalls:
		return limitRate
	case r.Rate == ratePages:
		return limitOriginRate
	case r.Rate == rateViews:
		return limitSiteRate
	case r.Reason == admit.TooManyListeners && r.Limit > 0:
		return limitListeners
	case r.Rate == "" && r.Limit > 0:
		return limitConcurrent
	}
	return ""
}
