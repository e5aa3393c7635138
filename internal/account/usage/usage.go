// Package usage counts what accounts use by the calendar month: calls, the time
// that their scripts run and their commands on machines, and the bytes that leave for them. It says when a
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

// Day is a day in UTC: so many after the first of 1970.
type Day int64

const secondsOfDay = 24 * 60 * 60

// DayOf returns the day of a moment.
func DayOf(t time.Time) Day {
	s := t.Unix()
	if s < 0 {
		s -= secondsOfDay - 1
	}
	return Day(s / secondsOfDay)
}

// start is when the day begins.
func (d Day) start() time.Time { return time.Unix(int64(d)*secondsOfDay, 0).UTC() }

// Month returns the month that the day is in.
func (d Day) Month() Month { return MonthOf(d.start()) }

// String returns the day as in 2026-11-16.
func (d Day) String() string { return d.start().Format(time.DateOnly) }

// UsedDay is what an account has used on a day.
type UsedDay struct {
	Day Day
	Used
}

// RetentionDays is how many days are told apart; months are kept for longer.
const RetentionDays = 92

// Used is what an account has used in a month.
type Used struct {
	Calls   int64
	Running time.Duration // to the microsecond
	Egress  int64         // bytes
	Machine time.Duration // that commands ran on machines, to the microsecond
}

// Store keeps what accounts use. Calls and running time are counted in it with
// the end of each job, in the same change: see job.Store and job.Queue. Methods
// are safe for concurrent use.
type Store interface {
	// Used returns what an account has used in a month; nothing of an account
	// that is not there.
	Used(ctx context.Context, a account.ID, m Month) (Used, error)
	// Days returns what an account has used on days from one on, in their order: those on which it
	// used something, of the last RetentionDays at least. Those of a month come to what Used returns.
	Days(ctx context.Context, a account.ID, from Day) ([]UsedDay, error)
	// Count adds to what was used on a day by what is no job. An account that is not there is
	// account.ErrNotFound.
	Count(ctx context.Context, a account.ID, d Day, used Used) error
	// Reserve adds to the bytes that leave on a day, unless those of its month would come to
	// more than most; 0 is no bound. It reports whether it did. An amount below
	// 0 gives back what was reserved and has not left. An account that is not
	// there is account.ErrNotFound.
	Reserve(ctx context.Context, a account.ID, d Day, bytes, most int64) (bool, error)
}

// What there is a month's worth of.
const (
	Calls   = "calls"
	Running = "running_time"
	Egress  = "egress"
	Machine = "machine_time"
)

// Exceeded is the error of a month that is used up.
type Exceeded struct {
	What  string // Calls, Running, Egress or Machine
	Most  int64  // calls, milliseconds or bytes
	Until time.Time
}

// Error names what is used up, and until when.
func (e *Exceeded) Error() string {
	amount := fmt.Sprintf("its %d calls", e.Most)
	switch e.What {
	case Running:
		amount = fmt.Sprintf("the %s that its scripts may run", time.Duration(e.Most)*time.Millisecond)
	case Machine:
		amount = fmt.Sprintf("the %s that its commands may run on machines", time.Duration(e.Most)*time.Millisecond)
	case Egress:
		amount = fmt.Sprintf("the %d bytes that may leave for it", e.Most)
	}
	return fmt.Sprintf("the account has used up %s in a month: more from %s on", amount, e.Until.Format("2 January 2006"))
}
