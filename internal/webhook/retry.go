package webhook

import (
	"crypto/rand"
	"encoding/binary"
	"strconv"
	"time"
)

// retryDelays are those between attempts. One attempt more than there are delays,
// and it is given up.
var retryDelays = [...]time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// MaxAttempts is after how many attempts a delivery is given up. One that is
// repeated by hand after that is tried once each time.
const MaxAttempts = len(retryDelays) + 1

// maxRetryAfter bounds what a server may ask for by Retry-After.
const maxRetryAfter = 24 * time.Hour

// The statuses that mean something of their own.
const (
	statusGone        = 410
	statusTooMany     = 429
	statusUnavailable = 503
)

// nextState returns what follows from an attempt that ended at a moment: the
// state, and where it is Pending when the next attempt is due.
func nextState(a Attempt, retryAfter string, ended time.Time) (State, time.Time) {
	switch {
	case a.Status >= 200 && a.Status <= 299:
		return Delivered, ended
	case a.Status == statusGone:
		return Stopped, ended
	case a.Number >= MaxAttempts:
		return Exhausted, ended
	}
	due := ended.Add(jitter(retryDelays[a.Number-1]))
	if a.Status == statusTooMany || a.Status == statusUnavailable {
		if asked := ended.Add(parseRetryAfter(retryAfter, ended)); asked.After(due) {
			due = asked
		}
	}
	return Pending, due
}

// jitter makes a pause up to a fifth longer or shorter, so that what failed
// together does not come back together.
func jitter(d time.Duration) time.Duration {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	fifth := uint64(d / 5)
	return d - time.Duration(fifth) + time.Duration(binary.BigEndian.Uint64(random[:])%(2*fifth+1))
}

// dateFormat is that of dates in HTTP.
const dateFormat = "Mon, 02 Jan 2006 15:04:05 GMT"

// parseRetryAfter reads seconds or a date. What it cannot read is no wait.
func parseRetryAfter(text string, now time.Time) time.Duration {
	if at, err := time.Parse(dateFormat, text); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	seconds, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}
