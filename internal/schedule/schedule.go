// Package schedule starts published scripts by the clock: at an interval, or by the timetable of a
// zone. It says what a schedule is and when it is due, declares the store of schedules, and runs
// them: each tick is one job, or one recorded skip.
//
// What a job is and how it runs is left to internal/job and internal/worker, and how the job of a
// tick is made to internal/service.
package schedule

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"ql/internal/account"
	"ql/internal/account/names"
	"ql/internal/fault"
	"ql/internal/job"
)

// Overlap says what becomes of a tick while a job of an earlier one is not finished.
type Overlap string

// The overlaps.
const (
	OverlapSkip  Overlap = "skip"  // it is skipped
	OverlapQueue Overlap = "queue" // its job waits for the other one to finish; a second one is skipped
	OverlapAll   Overlap = "all"   // its job is started beside the other
)

// Reason is why a tick has no job; "" of one that has.
type Reason string

// The reasons. Besides, the code of the fault by which a job could not be started.
const (
	ReasonOverlap Reason = "overlap" // a job of an earlier tick is not finished
	ReasonMissed  Reason = "missed"  // nobody was there within the catch-up window
)

// PausedBy says who paused a schedule.
type PausedBy string

// Who pauses schedules.
const (
	PausedByOwner    PausedBy = "owner"
	PausedByFailures PausedBy = "failures" // the service, after as many failures in a row as it allows
)

// Schedule is a schedule of an account.
type Schedule struct {
	Account account.ID
	Name    string
	Script  string // the published script, such as cart, or cart@3 for a version of it
	Input   []byte // that its jobs are given, sealed; nil for nothing
	Timing
	Overlap Overlap
	// CatchUp is how late a tick may be. Those that nobody was there for in time are skipped.
	CatchUp time.Duration
	// PauseAfter is after how many failures in a row it is paused; 0 for never.
	PauseAfter  int
	Concurrency job.Concurrency // of its jobs; the zero one for none
	Set         time.Time       // when it was last set
	// Anchor is what intervals are counted from.
	Anchor time.Time

	// What the store counts.
	Revision int64     // grows whenever it is set
	Tick     time.Time // the next, by its timing; zero while it is paused
	Due      time.Time // when that is looked at: later by its jitter, or when it was postponed
	Paused   time.Time // since when it is paused; zero where it is not
	PausedBy PausedBy
	Failures int   // in a row
	Ticks    int64 // the number of the last entry of its history
}

// Tick is an entry of a schedule's history: a tick that has a job, or one or more in a row that were
// skipped for the same reason.
type Tick struct {
	Number      int64
	First, Last time.Time // the same for a single one
	Count       int64
	At          time.Time // when the last of them was settled
	Reason      Reason
	Message     string // what was wrong, of skips by a fault
	Manual      bool   // somebody started it out of turn
	Job         int64  // the number of its job; 0 for none
	// JobState and ErrorCode are of that job now; "" where it is gone, or has no error.
	JobState  job.State
	ErrorCode string
}

// Bounds of fields.
const (
	mostPauseAfter = 1000
	longestKey     = 200
	// HistoryEntries is how many entries of the history of a schedule are stored.
	HistoryEntries = 1000
)

// Check says what is wrong with a schedule that is to be set, for an account whose shortest interval
// is so long, and fills in what was left out.
func (s *Schedule) Check(now time.Time, shortest time.Duration) error {
	if !names.IsName(s.Name) {
		return fault.Invalid("name", "%v", names.ErrName)
	}
	if s.Cron != "" {
		s.Zone = cmp.Or(s.Zone, "UTC")
	}
	s.Overlap = cmp.Or(s.Overlap, OverlapSkip)
	if err := s.check(now, shortest); err != nil {
		return err
	}
	switch s.Overlap {
	case OverlapSkip, OverlapQueue, OverlapAll:
	default:
		return fault.Invalid("overlap", "is %.40q: skip, queue or all fits", s.Overlap)
	}
	switch {
	case s.CatchUp < 0 || s.CatchUp > longestCatch:
		return fault.Invalid("catch_up", "is %s: 0s to %s fits", FormatDuration(s.CatchUp), FormatDuration(longestCatch))
	case s.PauseAfter < 0 || s.PauseAfter > mostPauseAfter:
		return fault.Invalid("pause_after", "is %d: 0 for never, or 1 to %d fits", s.PauseAfter, mostPauseAfter)
	}
	if s.Overlap == OverlapQueue && s.Concurrency.Most > 1 {
		return fault.Invalid("concurrency", "lets %d jobs run at once, and overlap queue one: most 1 fits, or another overlap", s.Concurrency.Most)
	}
	return nil
}

// Key is the concurrency of the schedule's jobs, whose script is published with one: that, where the
// schedule has none. Where they wait for each other and there is none at all, it is a key of the
// schedule's own, which no caller can name.
func (s *Schedule) Key(published job.Concurrency) job.Concurrency {
	c := s.Concurrency
	if c.Key == "" {
		c = published
	}
	switch {
	case s.Overlap != OverlapQueue:
		return c
	case c.Key == "":
		c.Key = "\x1fschedule " + s.Name
	}
	c.Most = 1
	return c
}

// Begin has the schedule count from a moment on.
func (s *Schedule) Begin(now time.Time) error {
	s.Anchor = now.UTC().Truncate(time.Second)
	return s.Resume(now)
}

// Resume has the schedule be due next after a moment.
func (s *Schedule) Resume(now time.Time) error {
	table, err := s.compile()
	if err != nil {
		return err
	}
	s.Tick = table.next(now, s.Anchor)
	s.Due = s.dueOf(s.Tick)
	return nil
}

// Upcoming returns the next n ticks, from the one that is due: none while it is paused.
func (s *Schedule) Upcoming(n int) ([]time.Time, error) {
	table, err := s.compile()
	if err != nil {
		return nil, err
	}
	list := make([]time.Time, 0, n)
	for at := s.Tick; !at.IsZero() && len(list) < n; at = table.next(at, s.Anchor) {
		list = append(list, at)
	}
	return list, nil
}

// dueOf is when a tick is due: later than its time by what its jitter comes to. That is computed, so
// that whoever asks, and whenever, gets the same.
func (s *Schedule) dueOf(tick time.Time) time.Time {
	if s.Jitter <= 0 || tick.IsZero() {
		return tick
	}
	seed := binary.BigEndian.AppendUint64(nil, uint64(s.Account))
	seed = binary.BigEndian.AppendUint64(append(seed, s.Name...), uint64(tick.UnixMicro()))
	sum := sha256.Sum256(seed)
	late := binary.BigEndian.Uint64(sum[:8]) % uint64(s.Jitter)
	return tick.Add(time.Duration(late).Truncate(time.Microsecond))
}
