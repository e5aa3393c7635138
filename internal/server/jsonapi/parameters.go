package jsonapi

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ql/internal/fault"
	"ql/internal/server"
)

// parameters reads the parameters of an address, each at most once and none but
// those known.
func parameters(r *server.Request, known ...string) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fault.Invalid("address", "has parameters that are not encoded as they should be")
	}
	for name, all := range values {
		switch {
		case !slices.Contains(known, name):
			return nil, fault.Invalid(name, "is no parameter of this address: %s", fitting(known))
		case len(all) > 1:
			return nil, fault.Invalid(name, "stands there more than once")
		}
	}
	return values, nil
}

func fitting(known []string) string {
	switch last := len(known) - 1; last {
	case -1:
		return "it has none"
	case 0:
		return known[0] + " fits"
	default:
		return strings.Join(known[:last], ", ") + " and " + known[last] + " fit"
	}
}

// How many entries a page of a listing has, where the address does not say, and at most.
const (
	usualPage   = 50
	largestPage = 500
)

// pageLimit reads how many of something a page of a listing has.
func pageLimit(values url.Values, what string, most int) (int, error) {
	if !values.Has("limit") {
		return usualPage, nil
	}
	n, err := strconv.Atoi(values.Get("limit"))
	if err != nil || n < 1 || n > most {
		return 0, fault.Invalid("limit", "is no number of %s: 1 to %d fits", what, most)
	}
	return n, nil
}

const (
	// longestWait is how long a caller may wait for a job at once.
	longestWait = 60 * time.Second
	// confirmWait is how long an answer waits for what comes of it, unless the
	// caller says otherwise.
	confirmWait = 30 * time.Second
	// keepAlive is how often a stream of events says that it is alive.
	keepAlive = 15 * time.Second
)

// seconds reads a whole number of seconds, of which more than longestWait is
// that, however many digits it has.
func seconds(text string) (wait time.Duration, ok bool) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return min(time.Duration(n)*time.Second, longestWait), true
}

// wait returns how long a caller wants to wait: by the parameter, or by the
// header Prefer, which asks and does not insist.
func wait(r *server.Request, unless time.Duration) (time.Duration, error) {
	values, err := parameters(r, "wait")
	if err != nil {
		return 0, err
	}
	if text := values.Get("wait"); values.Has("wait") {
		wait, ok := seconds(text)
		if !ok {
			return 0, fault.Invalid("wait", "is no whole number of seconds: 30 fits, and more than %d is %[1]d", int(longestWait.Seconds()))
		}
		return wait, nil
	}
	for _, preference := range strings.Split(strings.Join(r.Header.Values("Prefer"), ","), ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(preference), "=")
		if wait, ok := seconds(text); ok && strings.EqualFold(name, "wait") {
			return wait, nil
		}
	}
	return unless, nil
}
