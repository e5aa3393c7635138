// Package usage counts what accounts use by the calendar month: calls, the time
// that their scripts run, and the bytes that leave for them. It says when a
// month is used up. How much a month may have is the plan's, and what is kept in
// files and databases is counted where that is kept.
package usage

import (
	"context"
	"fmt"
	"time"

	"ql/internal/account"
)

// Month is a calendar month in UTC.
type Month int64

const monthsOfYear = 12

// MonthOf returns the month of a moment.
func MonthOf(t time.Time) Month {
	t = t.UTC()
	return Month(t.Year()*monthsOfYear + int(t.Month()) - 1)
}

// End returns when the month is over.
func (m Month) End() time.Time {
	return time.Date(int(m/monthsOfYear), time.Month(m%monthsOfYear)+2, 1, 0, 0, 0, 0, time.UTC)
}

// String returns the month as in 2026-11.
func (m Month) String() string {
	return fmt.Sprintf("%04d-%02d", m/monthsOfYear, m%monthsOfYear+1)
}

// Used is what an account has used in a month.
type Used struct {
	Calls   int64
	Running time.Duration // to the microsecond
	Egress  int64         // bytes
}

// Store keeps what accounts use. Calls and running time are counted in it with
// the end of each job, in the same change: see job.Store and job.Queue. Methods
// are safe for concurrent use.
type Store interface {
	// Used returns what an account has used in a month; nothing of an account
	// that is not there.
	Used(ctx context.Context, a account.ID, m Month) (Used, error)
	// Reserve adds to the bytes that leave in a month, unless they would come to
	// more than most; 0 is no bound. It reports whether it did. An amount below
	// 0 gives back what was reserved and has not left. An account that is not
	// there is account.ErrNotFound.
	Reserve(ctx context.Context, a account.ID, m Month, bytes, most int64) (bool, error)
}

// What there is a month's worth of.
const (
	Calls   = "calls"
	Running = "running_time"
	Egress  = "egress"
)

// Exceeded is the error of a month that is used up.
type Exceeded struct {
	What  string // Calls, Running or Egress
	Most  int64  // calls, milliseconds or bytes
	Until time.Time
}

// Error names what is used up, and until when.
func (e *Exceeded) Error() string {
	amount := fmt.Sprintf("its %d calls", e.Most)
	switch e.What {
	case Running:
		amount = fmt.Sprintf("the %s that its scripts may run", time.Duration(e.Most)*time.Millisecond)
	case Egress:
		amount = fmt.Sprintf("the %d bytes that may leave for it", e.Most)
	}
	return fmt.Sprintf("the account has used up %s in a month: more from %s on", amount, e.Until.Format("2 January 2006"))
}
