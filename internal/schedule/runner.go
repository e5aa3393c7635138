package schedule

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ql/internal/account"
	"ql/internal/fault"
	"ql/internal/guard"
	"ql/internal/job"
	"ql/internal/member"
)

// ErrDisabled says that the account of a schedule is disabled: its ticks wait, and those that waited
// too long are skipped when it is enabled again.
var ErrDisabled = errors.New("the account of the schedule is disabled")

// Settle stores the job of a tick. It tells whether it was stored: the tick may be skipped instead.
type Settle func(ctx context.Context, t *job.Task, m member.Member) (l job.Lease, stored bool, err error)

// Options are what a Runner is made of. All fields but those that say otherwise are needed.
type Options struct {
	Store Store
	// Start makes the job of a schedule as it would be run now, and has it stored. The error of what
	// cannot be run is coded: the tick is skipped by it. What may pass is tried again.
	Start func(ctx context.Context, s Schedule, settle Settle) error
	Guard *guard.Guard // may be left out
	Log   *slog.Logger
	Clock func() time.Time
	// AtOnce is how many schedules are started at once, 32 where left out, and PerAccount how many
	// of one account; an eighth.
	AtOnce, PerAccount int
	// OnTick is told of ticks that were settled, how many and why they have no job, and how late the
	// last of them was; may be left out.
	OnTick func(reason Reason, count int64, late time.Duration)
}

// Runner settles the ticks of schedules. Several may share a store: each tick is settled once. It is
// safe for concurrent use.
type Runner struct {
	o      Options
	wake   chan struct{}
	ctx    context.Context
	cancel context.CancelFunc
	loop   sync.WaitGroup
	late   atomic.Int64 // how late the tick is that is due longest, in nanoseconds
	done   chan scheduleID

	// Of the loop, or of who calls Round, alone: what is under way.
	busy map[scheduleID]bool
	of   map[account.ID]int
}

type scheduleID struct {
	account account.ID
	name    string
}

const (
	// duePage is how many schedules are read at once.
	duePage = 64
	// mostMissed is how many ticks are skipped in one change.
	mostMissed = 10_000
	// startTime is how long the job of a tick may take to be made.
	startTime = time.Minute
	// seldom is how often it is looked for schedules at least: the clock may jump, and another process
	// may set one.
	seldom = 2 * time.Second
	// retryAfter and disabledRecheck are how long a tick is left alone that could not be settled.
	retryAfter      = 2 * time.Second
	disabledRecheck = time.Minute
)

// NewRunner returns a runner that does nothing but what Round is asked for.
func NewRunner(o Options) *Runner {
	if o.AtOnce <= 0 {
		o.AtOnce = 32
	}
	if o.PerAccount <= 0 {
		o.PerAccount = max(1, o.AtOnce/8)
	}
	if o.OnTick == nil {
		o.OnTick = func(Reason, int64, time.Duration) {}
	}
	r := &Runner{o: o, wake: make(chan struct{}, 1), done: make(chan scheduleID, o.AtOnce), busy: map[scheduleID]bool{}, of: map[account.ID]int{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// Run returns a runner that settles what is due, from now on.
func Run(o Options) *Runner {
	r := NewRunner(o)
	r.start()
	return r
}

func (r *Runner) start() {
	r.loop.Add(1)
	r.o.Guard.Go("schedules", func() {
		defer r.loop.Done()
		r.o.Guard.Loop(r.ctx, "schedules", r.run)
		r.drain()
	})
}

// Stop ends that, and waits for what is under way. A second time it does nothing.
func (r *Runner) Stop(context.Context) error {
	r.cancel()
	r.loop.Wait()
	return nil
}

// Wake has the schedules looked at soon: one was set.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Lag is how late the tick is that was due longest when it was last looked.
func (r *Runner) Lag() time.Duration { return time.Duration(r.late.Load()) }

func (r *Runner) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case one := <-r.done:
			r.ended(one)
		case <-timer.C:
		case <-r.wake:
		case <-ctx.Done():
			return
		}
		timer.Reset(r.fill(ctx))
	}
}

// fill begins what is due and has room, and returns when to look again at the latest.
func (r *Runner) fill(ctx context.Context) time.Duration {
	now := r.o.Clock()
	begun, err := r.begin(ctx, now)
	if err != nil && ctx.Err() == nil {
		r.o.Log.Error("schedules that are due could not be read and will be looked for again", "error", err)
	}
	switch {
	case err != nil:
		return seldom
	case begun > 0:
		return 0
	}
	if next, err := r.o.Store.NextDue(ctx, now); err == nil && !next.IsZero() {
		return min(max(next.Sub(r.o.Clock()), 10*time.Millisecond), seldom)
	}
	return seldom
}

// Round settles one tick of schedules that are due, as many as are looked at at once, and tells
// whether there may be more. It is for who drives a Runner that is not run.
func (r *Runner) Round(ctx context.Context) (more bool, err error) {
	begun, err := r.begin(ctx, r.o.Clock())
	r.drain()
	return begun > 0 && ctx.Err() == nil, err
}

// begin settles ticks of schedules that are due, beside each other, and returns how many it began.
// No account has more than its share of those that are under way, and none waits for another's.
func (r *Runner) begin(ctx context.Context, now time.Time) (begun int, err error) {
	if len(r.busy) >= r.o.AtOnce {
		return 0, nil
	}
	var full []account.ID
	for a, n := range r.of {
		if n >= r.o.PerAccount {
			full = append(full, a)
		}
	}
	list, err := r.o.Store.Due(ctx, now, full, duePage)
	if err != nil {
		return 0, err
	}
	late := time.Duration(0)
	for i := range list {
		one := scheduleID{list[i].Account, list[i].Name}
		late = max(late, now.Sub(list[i].dueOf(list[i].Tick)))
		if r.busy[one] || r.of[one.account] >= r.o.PerAccount || len(r.busy) >= r.o.AtOnce {
			continue
		}
		r.busy[one] = true
		r.of[one.account]++
		begun++
		r.o.Guard.Go("schedules", func() {
			defer func() { r.done <- one }()
			if err := r.o.Guard.DoErr("schedules", func() error { return r.step(ctx, &list[i]) }); err != nil {
				r.postpone(ctx, &list[i], err)
			}
		})
	}
	r.late.Store(int64(late))
	return begun, nil
}

func (r *Runner) ended(one scheduleID) {
	delete(r.busy, one)
	if r.of[one.account]--; r.of[one.account] == 0 {
		delete(r.of, one.account)
	}
}

// drain waits for what is under way.
func (r *Runner) drain() {
	for len(r.busy) > 0 {
		r.ended(<-r.done)
	}
}

// step settles the tick that a schedule is due at, and with it all that nobody was there for in time.
// The error says that it is to be tried again.
func (r *Runner) step(ctx context.Context, s *Schedule) error {
	table, err := s.compile()
	if err != nil { // that was checked when it was set
		return err
	}
	now := r.o.Clock()
	cutoff := now.Add(-max(s.CatchUp, Grace))
	if s.dueOf(s.Tick).Before(cutoff) {
		last, count := s.Tick, int64(1)
		next := table.next(last, s.Anchor)
		for ; count < mostMissed && !next.IsZero() && s.dueOf(next).Before(cutoff); next = table.next(last, s.Anchor) {
			last = next
			count++
		}
		return r.skip(ctx, s, &Settlement{Now: now, Next: next, Last: last, Count: count, Reason: ReasonMissed})
	}
	next := table.next(s.Tick, s.Anchor)
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	settled := false
	err = r.o.Start(ctx, *s, func(ctx context.Context, t *job.Task, m member.Member) (job.Lease, bool, error) {
		one, err := r.o.Store.Settle(ctx, r.settlement(s, &Settlement{Now: now, Next: next, Task: t, Member: m}))
		if err == nil {
			settled = true
			r.o.OnTick(one.Reason, 1, now.Sub(s.dueOf(s.Tick)))
		}
		return one.Lease, err == nil && one.Reason == "", err
	})
	var coded *fault.Error
	switch {
	case err == nil, settled, errors.Is(err, ErrMoved), errors.Is(err, account.ErrNotFound):
		return nil
	case errors.As(err, &coded) && !mayPass(coded.Code):
		return r.skip(ctx, s, &Settlement{
			Now: now, Next: next, Last: s.Tick, Count: 1, Reason: Reason(coded.Code), Message: cut(coded.Message), Failed: coded.Code != fault.QuotaExceeded,
		})
	}
	return err
}

// longestMessage is how many bytes of a message a history holds.
const longestMessage = 500

func cut(text string) string {
	if len(text) <= longestMessage {
		return text
	}
	end := longestMessage
	for end > 0 && text[end]&0xC0 == 0x80 { // not within a character
		end--
	}
	return text[:end] + "…"
}

// mayPass tells whether what stood in the way of a job may be gone in a moment.
func mayPass(code fault.Code) bool {
	return code == fault.Internal || code == fault.Overloaded || code == fault.StorageUnavailable || code == fault.OutcomeUnknown || code == fault.RateLimited
}

// settlement completes what settles the tick of a schedule. One that is behind is looked at again
// after all others that are due.
func (r *Runner) settlement(s *Schedule, one *Settlement) *Settlement {
	one.Schedule, one.NextDue = *s, s.dueOf(one.Next)
	if !one.Next.IsZero() && one.NextDue.Before(one.Now) {
		one.NextDue = one.Now
	}
	return one
}

func (r *Runner) skip(ctx context.Context, s *Schedule, one *Settlement) error {
	settled, err := r.o.Store.Settle(ctx, r.settlement(s, one))
	if errors.Is(err, ErrMoved) {
		return nil
	}
	if err != nil {
		return err
	}
	r.o.OnTick(one.Reason, one.Count, one.Now.Sub(s.dueOf(one.Last)))
	if settled.Paused {
		r.o.Log.Warn("a schedule is paused after failures", "account", s.Account, "schedule", s.Name, "reason", one.Reason)
	}
	return nil
}

// postpone leaves a schedule alone for a while. Where even that cannot be stored, the loop waits.
func (r *Runner) postpone(ctx context.Context, s *Schedule, why error) {
	if ctx.Err() != nil {
		return
	}
	after := retryAfter
	if errors.Is(why, ErrDisabled) {
		after = disabledRecheck
	} else {
		r.o.Log.Error("a schedule could not be started and will be tried again", "account", s.Account, "schedule", s.Name, "error", why)
	}
	err := r.o.Store.Postpone(ctx, *s, r.o.Clock().Add(after))
	if err == nil || errors.Is(err, ErrMoved) {
		return
	}
	timer := time.NewTimer(retryAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
