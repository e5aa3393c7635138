package value

import (
	"fmt"
	"strconv"
)

// Error is an error that a script may catch: a code to decide by and a message
// to read.
type Error struct {
	Code    string
	Message string
	// Data, where not null, is the whole error map that FAIL raises again.
	Data Value
	// Fields, where not null, is a map of what is wrong with each of several
	// things that were checked together, which the script finds as fields.
	Fields Value
	// Limit says which limit was passed, where it was one.
	Limit *LimitError
}

// Errorf returns an Error.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Exceeded returns the error of a limit that bounds one statement, and not the
// run as a LimitError by itself does: a script may catch it.
func Exceeded(limit string, most int64, format string, args ...any) *Error {
	return Errorf(LimitExceeded, format, args...).AtLimit(limit, most)
}

// AtLimit says which limit was passed.
func (e *Error) AtLimit(limit string, most int64) *Error {
	e.Limit = &LimitError{Name: limit, Max: most}
	return e
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// The codes that values themselves raise.
const (
	WrongKind      = "wrong_kind"
	NumberRange    = "number_range"
	DivisionByZero = "division_by_zero"
	NotANumber     = "not_a_number"
	BadIndex       = "bad_index"
	BadArgument    = "bad_argument"
	BadJSON        = "bad_json"
	BadCSV         = "bad_csv"
	BadXML         = "bad_xml"
	BadYAML        = "bad_yaml"
	BadZIP         = "bad_zip"
	BadGZIP        = "bad_gzip"
	BadTime        = "bad_time"
	BadPattern     = "bad_pattern"
	InvalidFields  = "invalid_fields"
	LimitExceeded  = "limit_exceeded"
)

// Describe names v for an error message: its kind with an article, and for
// short scalars the value itself.
func Describe(v Value) string {
	switch v.Kind() {
	case KindNull:
		return "null"
	case KindBool, KindInt, KindFloat, KindDecimal:
		return "the " + v.Kind().String() + " " + string(AppendText(nil, v))
	case KindText:
		return "the text " + Quote(v.Str())
	case KindBytes:
		return "bytes"
	case KindList:
		return fmt.Sprintf("a list of %d", v.List().Len())
	}
	return fmt.Sprintf("a map of %d", v.Map().Len())
}

// Quote quotes s for an error message, shortened and with control characters
// escaped.
func Quote(s string) string {
	const most = 40
	n := 0
	for i := range s {
		if n == most {
			return strconv.Quote(s[:i] + "…")
		}
		n++
	}
	return strconv.Quote(s)
}
