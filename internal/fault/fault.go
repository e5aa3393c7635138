// Package fault gives errors a code, a message for users, and through the code
// an HTTP status. An error without a code is an internal one: its text stays
// in the log, under an id that the user sees. Writing errors to a caller is
// the business of the codecs; logging them, that of the edge.
package fault

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Error is an error that a caller may see: nothing in its fields but the cause
// is hidden from them.
type Error struct {
	Code    Code
	Message string

	Field string // of the request, where one is at fault

	// Of a limit that was exceeded: its name and value.
	Limit string
	Value int64

	RetryAfter time.Duration // 0 says nothing about trying again
	Allow      []string      // of method_not_allowed
	ID         string        // of an internal error, 8 hex digits, as in the log

	cause error
}

// New returns an error with a code and a message for users.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid is a request whose field is missing, mistyped or out of bounds.
func Invalid(field, format string, args ...any) *Error {
	e := New(InvalidRequest, format, args...)
	e.Field = field
	return e
}

// Retryable is a refusal that holds for a while: a rate, a quota, an overload.
func Retryable(code Code, retryAfter time.Duration, format string, args ...any) *Error {
	e := New(code, format, args...)
	e.RetryAfter = retryAfter
	return e
}

// MethodError is a method that an address does not have, with those it has.
func MethodError(method string, allow ...string) *Error {
	e := New(MethodNotAllowed, "%s is not allowed here: use %s", method, strings.Join(allow, " or "))
	e.Allow = allow
	return e
}

// WithCause returns a copy of e that unwraps to cause, which only the log shows.
func (e *Error) WithCause(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// Error is what the log shows: code, message and cause.
func (e *Error) Error() string {
	text := string(e.Code) + ": " + e.Message
	if e.Field != "" {
		text = string(e.Code) + ": " + e.Field + ": " + e.Message
	}
	if e.ID != "" {
		text += " (" + e.ID + ")"
	}
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Status returns the HTTP status of the answer.
func (e *Error) Status() int {
	if status, ok := statuses[e.Code]; ok {
		return status
	}
	return internalError
}

// Of returns the coded error in err's chain. Where there is none it makes an
// internal one with a new id: its message tells nothing else, and err is its
// cause. Of nil is nil.
func Of(err error) *Error {
	if err == nil {
		return nil
	}
	var coded *Error
	if errors.As(err, &coded) {
		return coded
	}
	var id [4]byte
	rand.Read(id[:]) // never fails
	e := New(Internal, "something went wrong on our side; the log has it under the id %x", id)
	e.ID = hex.EncodeToString(id[:])
	e.cause = err
	return e
}

// Is reports whether err carries a code.
func Is(err error, code Code) bool {
	if err == nil { // as it mostly is
		return false
	}
	var coded *Error
	return errors.As(err, &coded) && coded.Code == code
}
