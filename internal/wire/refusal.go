package wire

import (
	"strconv"
	"strings"
)

// The codes of refusals.
const (
	InvalidRequest       = "invalid_request"
	TooLarge             = "too_large"
	UnsupportedMediaType = "unsupported_media_type"
)

// Refusal says why a request is not accepted, in words for its sender. Every error
// of a decoder is one.
type Refusal struct {
	Code    string // one of the above
	Field   string // at fault, such as "request.get.page"; "body" for all of it
	Message string // what is wrong with the field, and what would fit
	Limit   string // the name of the limit exceeded, "" where it is another fault
	Max     int64  // and its value

	cause error // of Limits.Reserve, returned instead of the refusal
}

func (r *Refusal) Error() string { return r.Field + ": " + r.Message }

// Answer returns the refusal as the error of an answer, whose message names the
// field.
func (r *Refusal) Answer() *Error {
	return &Error{Code: r.Code, Message: r.Error(), Field: r.Field, Limit: r.Limit, Max: r.Max}
}

func invalid(field, message string) *Refusal {
	return &Refusal{Code: InvalidRequest, Field: field, Message: message}
}

// tooLarge refuses what a limit on bytes does not allow.
func tooLarge(field, limit string, most int) *Refusal {
	return &Refusal{
		Code:    TooLarge,
		Field:   field,
		Message: "is too large: " + strconv.Itoa(most) + " bytes at most",
		Limit:   limit,
		Max:     int64(most),
	}
}

// withoutPlanLimit is the refusal of a request that was held to the largest plan's
// limits, since it is not known yet whose it is. It names no limit: its sender's
// own may be lower. That on the fields of a form is everybody's.
func (r *Refusal) withoutPlanLimit() error {
	if r.cause != nil {
		return r.cause
	}
	if r.Limit == "" || r.Limit == formFieldsLimit {
		return r
	}
	r.Message += WhateverThePlan
	r.Limit, r.Max = "", 0
	return r
}

// WhateverThePlan ends a message about the largest plan's limit.
const WhateverThePlan = ", whatever the plan"

// longestQuote is how many characters of what a sender wrote a message repeats.
const longestQuote = 64

// quote shows a piece of a request on one line, whatever it holds.
func quote(s string) string {
	n := 0
	for at := range s {
		if n == longestQuote {
			s = s[:at] + "…"
			break
		}
		n++
	}
	return strconv.Quote(s)
}

// named shows a name as a part of a field's path: as it stands where it is
// plain, and quoted where not.
func named(name string) string {
	plain := name != "" && len(name) <= longestQuote && !strings.ContainsFunc(name, func(r rune) bool {
		return r < '!' || r > '~' || strings.ContainsRune(`".[]\`, r)
	})
	if plain {
		return name
	}
	return quote(name)
}

// below returns the path of a field of an object.
func below(field, name string) string {
	if field == bodyField {
		return named(name)
	}
	return field + "." + named(name)
}

// unknown refuses a name that an object does not have, and offers the nearest
// of those that it has.
func unknown(object, name string, known []string) *Refusal {
	best, distance := "", len(name)/2+1
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return invalid(below(object, name), "is no known field: names are case-sensitive, "+quote(k)+" would fit")
		}
		if d := editDistance(name, k, distance); d < distance {
			best, distance = k, d
		}
	}
	if best != "" {
		return invalid(below(object, name), "is no known field: did you mean "+quote(best)+"?")
	}
	return invalid(below(object, name), "is no known field: "+choice(known)+" would fit")
}

// choice lists what fits: "a, b or c".
func choice(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// editDistance counts the letters to add, drop or change to get from a to b. Any
// result of at least most only says that there are so many.
func editDistance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
