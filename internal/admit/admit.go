// Package admit decides which calls a node takes: how often somebody may call (Limiter),
// how many scripts run at once and in how much memory, with the waiting shared fairly
// between accounts (Gate), how many transfers are under way (TransferLimiter), and how many
// bytes the service holds for its callers besides (Ledger). It has no limits of its own:
// callers bring those of an account's plan. Who is calling, and what an answer looks like,
// it leaves to them.
package admit

import (
	"fmt"
	"time"
)

// Reason is why a call is turned away.
type Reason uint8

const (
	// RateExceeded is a caller who calls too often: 429.
	RateExceeded Reason = iota + 1
	// AccountBusy is an account with too much under way already: 429.
	AccountBusy
	// Overloaded is a node with too much under way already: 503.
	Overloaded
	// TooManyTransfers is an account that sends and fetches too many files at
	// once: 429.
	TooManyTransfers
	// AccountMemory is an account for which the node holds too many bytes already,
	// and NetworkMemory a network of callers who have not shown an account: 429.
	AccountMemory
	NetworkMemory
	// TooManyListeners is somebody with too many waiting for changes of jobs: 429.
	TooManyListeners
	// TooLarge is a call that needs more memory at once than the node has for one:
	// 413.
	TooLarge
)

// Refused is the error of a call that was turned away.
type Refused struct {
	Reason     Reason
	RetryAfter time.Duration
	Rate       string // the name of the rate exceeded, "" for another reason
	// Limit is the bound of the caller's that was met, 0 where it was one of the
	// node's own.
	Limit  int
	inside int   // what the account has under way, 0 where too many of it wait
	bytes  int64 // of memory that were asked for, or that one holder may have
}

func (r *Refused) Error() string {
	switch {
	case r.Reason == RateExceeded:
		return fmt.Sprintf("too many requests: the next one is taken in %s", inSeconds(r.RetryAfter))
	case r.Reason == AccountBusy && r.inside == 0:
		return "the account has too many calls waiting already: try again when some have ended"
	case r.Reason == AccountBusy && r.Limit == 0:
		return fmt.Sprintf("the account has %s running already, as many as this node runs of one account: try again when one has ended", count(int64(r.inside), "script"))
	case r.Reason == AccountBusy:
		return fmt.Sprintf("the account has %s running already, which is its limit: try again when one has ended", count(int64(r.inside), "script"))
	case r.Reason == AccountMemory:
		return fmt.Sprintf("the account has requests and answers under way already that take %d MiB, as much as this node holds for one account: try again when some have ended", r.bytes>>20)
	case r.Reason == NetworkMemory:
		return fmt.Sprintf("requests from your network that are under way take %d MiB already, as much as this node holds for one network: try again when some have ended", r.bytes>>20)
	case r.Reason == TooLarge:
		return fmt.Sprintf("this takes %d bytes at once, which is more than this node has for one call", r.bytes)
	case r.Reason == TooManyListeners:
		return fmt.Sprintf("%d calls wait for changes of the account's jobs, or come from your network and do so, already: try again when one has ended, or ask without waiting", r.inside)
	case r.Reason == TooManyTransfers:
		return fmt.Sprintf("the account has %s on the way already, which is its limit: try again when one has come", count(int64(r.inside), "file"))
	}
	return "the service is busy: try again in a moment"
}

// Code returns the code of the answer.
func (r *Refused) Code() string {
	switch r.Reason {
	case Overloaded:
		return "overloaded"
	case TooLarge:
		return "too_large"
	}
	return "rate_limited"
}

// seconds rounds up to whole ones, at least one, so that nobody comes back too
// early.
func seconds(d time.Duration) int64 {
	return max(1, int64((d+time.Second-1)/time.Second))
}

func inSeconds(d time.Duration) string { return count(seconds(d), "second") }

// count writes a number with its noun.
func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
