// Package exchange is an HTTP request as a script finds it, and what all agree on of what a script
// may set on the answer. Both the addresses of published programs and sites hand a script the
// whole of a request and have it make the answer; which headers it may set is for each of them to
// say, since they stand on hosts of their own or not.
package exchange

import (
	"net/http"
	"strings"

	"ql/internal/fault"
	"ql/internal/service"
	"ql/internal/wire"
)

// IsText tells whether a value of a header or cookie is one that all read alike.
func IsText(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
}

// HasBody tells whether an answer of a status has a body.
func HasBody(status int) bool {
	return status != http.StatusNoContent && status != http.StatusResetContent && status != http.StatusNotModified
}

// Budget is how many bytes of headers and cookies an answer may set.
type Budget int

// Fits tells whether one more does, and takes what it takes.
func (b *Budget) Fits(name, value string) bool {
	*b -= Budget(len(name) + len(value))
	return *b >= 0
}

// Cookies are those that a script set, with what decides which of them are sent.
type Cookies struct {
	Set       []wire.Cookie
	Sent      []wire.Pair            // those that came with the request
	Own       func(name string) bool // the service's, which no script sets
	Most      int                    // that a browser is to keep
	Path      string
	CrossSite bool // for a page of another site
}

// Apply sets the cookies that a script may set and that fit, and returns the names of the others.
func (c Cookies) Apply(h http.Header, s wire.HeaderOptions, room *Budget) (omitted []string) {
	have := make(map[string]bool, len(c.Sent))
	for _, sent := range c.Sent {
		have[sent.Name] = true
	}
	for _, set := range c.Set {
		isNew := !set.Removed && !have[set.Name]
		if c.Own(set.Name) || !IsText(set.Value) || strings.ContainsAny(set.Value, `;"\`) || isNew && len(have) >= c.Most || !room.Fits(set.Name, set.Value) {
			omitted = append(omitted, "cookie:"+set.Name)
			continue
		}
		if isNew {
			have[set.Name] = true
		}
		h.Add("Set-Cookie", set.Set(c.Path, s, c.CrossSite))
	}
	return omitted
}

// SetOmitted names what was left out of what a script set.
func SetOmitted(h http.Header, omitted []string) {
	const most = 1 << 10
	if omitted == nil {
		return
	}
	list := strings.Join(omitted, ", ")
	if len(list) > most {
		list = list[:most] + "..."
	}
	wire.SetOmitted(h, list)
}

// FailedStatus is the status of the answer of a script that failed. That is a fault of who wrote
// it, unlike where somebody sends a script: so it is none of who called.
func FailedStatus(a *service.Answer) int {
	switch code := fault.Code(a.Err.Code); {
	case a.Status >= http.StatusInternalServerError, code == fault.SessionBusy:
		return a.Status
	case code == fault.InvalidFields && a.Err.Fields != nil: // a CHECK that nothing catches
		return http.StatusUnprocessableEntity
	case a.Err.Limit != "", code == fault.LimitExceeded, code == fault.QuotaExceeded:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
