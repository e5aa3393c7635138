package service

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/admit"
	"ql/internal/execution"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/member"
	"ql/internal/principal"
	"ql/internal/schedule"
	"ql/internal/wire"
	"ql/internal/worker"
	"ql/lang/bytecode"
	"ql/lang/form"
)

// ScheduleInputs seals what the jobs of schedules are given.
type ScheduleInputs interface {
	Seal(a account.ID, name string, plain []byte) ([]byte, error)
	Open(a account.ID, name string, sealed []byte) ([]byte, error)
}

func sealedScheduleInput(name string) string { return "input of schedule " + name }

// manageSchedules is what lets see, pause and remove schedules. Who sets one has its script run with
// the rights of the owner, so a named key must have those anyway.
var (
	manageSchedules = access{"schedules", passwordOrName, scope.Manage}
	setSchedules    = access{"schedules", passwordOrName, scope.Run | scope.Manage}
)

// shownTicks is how many of the next ticks of a schedule are shown.
const shownTicks = 5

// scheduleEntries is how many entries of a listing a schedule takes.
const scheduleEntries = 3

// ScheduleAnswer is a schedule of an account.
type ScheduleAnswer struct {
	Meta
	Schedule wire.Schedule
	Created  bool // the account had none of this name
}

// ScheduleListing is a page of an account's schedules, by name.
type ScheduleListing struct {
	Meta
	Schedules []wire.Schedule
	Next      string // "" for the last page
}

// TickListing is a page of the history of a schedule, the newest first.
type TickListing struct {
	Meta
	Ticks []wire.ScheduleTick
	Next  string // "" for the last page
}

// shortestEvery is how often a schedule may come at most.
func shortestEvery(l account.Limits, lifted bool) time.Duration {
	if lifted {
		return schedule.ShortestEvery
	}
	return max(l.ScheduleEvery, schedule.ShortestEvery)
}

// SetSchedule sets a schedule, whose script must compile and take the input as it would when it is
// started.
func (s *Service) SetSchedule(ctx context.Context, c Caller, p *Credentials, name string, n wire.NewSchedule) (ScheduleAnswer, error) {
	ctx, owner, meta, err := s.openAccount(ctx, c, p, setSchedules)
	a := ScheduleAnswer{Meta: meta}
	if err != nil {
		return a, err
	}
	one, err := s.newSchedule(ctx, owner.Account, name, n)
	if err != nil {
		return a, err
	}
	limits := owner.Account.Limits(s.o.Limits)
	if limits.Schedules == 0 && !s.o.Unlimited {
		return a, tooManySchedules(0)
	}
	most := limits.Schedules
	if s.o.Unlimited {
		most = 0
	}
	one, a.Created, err = s.o.Schedules.Put(ctx, one, most)
	if errors.Is(err, schedule.ErrTooMany) {
		err = tooManySchedules(most)
	}
	if err != nil {
		return a, err
	}
	s.o.OnSchedule()
	a.Schedule, err = s.showSchedule(ctx, &one)
	return a, err
}

func tooManySchedules(most int) error {
	f := fault.New(fault.LimitExceeded, "the account has %d schedules, which is as many as its plan allows: remove one first", most)
	if most == 0 {
		f = fault.New(fault.LimitExceeded, "the account's plan has no schedules")
	}
	f.Limit, f.Value = "schedules", int64(most)
	return f
}

// PreviewSchedule shows what a schedule would be, and sets none.
func (s *Service) PreviewSchedule(ctx context.Context, c Caller, p *Credentials, name string, n wire.NewSchedule) (ScheduleAnswer, error) {
	ctx, owner, meta, err := s.openAccount(ctx, c, p, setSchedules)
	a := ScheduleAnswer{Meta: meta}
	if err != nil {
		return a, err
	}
	one, err := s.newSchedule(ctx, owner.Account, name, n)
	if err != nil {
		return a, err
	}
	a.Schedule, err = s.showSchedule(ctx, &one)
	a.Schedule.Last = nil
	return a, err
}

// newSchedule makes a schedule of what was sent, and checks it.
func (s *Service) newSchedule(ctx context.Context, a account.Account, name string, n wire.NewSchedule) (one schedule.Schedule, err error) {
	now := s.o.Clock()
	one = schedule.Schedule{
		Account: a.ID, Name: name, Script: n.Script, Timing: schedule.Timing{Cron: n.Cron, Zone: n.Zone}, Overlap: schedule.Overlap(n.Overlap),
		CatchUp: schedule.DefaultCatchUp, PauseAfter: n.PauseAfter, Concurrency: job.Concurrency(n.Concurrency), Set: now.UTC().Truncate(time.Microsecond),
	}
	if one.Concurrency.Key == "" {
		one.Concurrency = job.Concurrency{}
	}
	for _, d := range []struct {
		field, text string
		to          *time.Duration
	}{{"every", n.Every, &one.Every}, {"jitter", n.Jitter, &one.Jitter}, {"catch_up", n.CatchUp, &one.CatchUp}} {
		if d.text == "" {
			continue
		}
		if *d.to, err = schedule.ParseDuration(d.field, d.text); err != nil {
			return one, err
		}
		if *d.to == 0 && d.field == "every" {
			return one, fault.Invalid("every", "is no time at all: an amount such as 25h fits")
		}
	}
	limits := a.Limits(s.o.Limits)
	if err := one.Check(now, shortestEvery(limits, s.o.Unlimited)); err != nil {
		return one, err
	}
	if n.Input != "" {
		if one.Input, err = s.o.ScheduleInputs.Seal(a.ID, sealedScheduleInput(name), []byte(n.Input)); err != nil {
			return one, err
		}
	}
	if err := s.checkScheduled(ctx, a, limits, n.Script, json.RawMessage(n.Input)); err != nil {
		return one, err
	}
	return one, one.Begin(now)
}

// checkScheduled checks that a script can be started as a schedule would.
func (s *Service) checkScheduled(ctx context.Context, a account.Account, l account.Limits, script string, input json.RawMessage) error {
	if len(input) == 0 {
		input = nil
	}
	x, _, _, err := s.openScheduled(ctx, a, l, script, input)
	if err == nil {
		x.Close()
	}
	return err
}

// openScheduled opens what the job of a schedule runs, with its input checked. It is to be closed.
func (s *Service) openScheduled(ctx context.Context, a account.Account, l account.Limits, script string, input json.RawMessage) (x *execution.Execution, program *bytecode.Program, q Query, err error) {
	who := caller{Principal: principal.Principal{Account: a, By: principal.BySchedule, Scopes: scope.All()}}
	q = Query{Convention: job.Scheduled, Async: true, Program: &Program{Name: script}, Input: input}
	if err := s.openCalled(ctx, &who, &q, l); err != nil {
		return nil, nil, q, err
	}
	ticket := s.o.Gate.Auxiliary(int64(a.ID))
	defer ticket.Release()
	if x, err = s.o.Host.Open(ctx, s.o.NewID(), a, l, s.spec(who, Caller{}, q, l.AsyncMachine()), ticket); err != nil {
		return nil, nil, q, err
	}
	program, failure, err := x.Compile(ctx, q.Script)
	switch {
	case err != nil:
	case failure != nil && x.Fault() != nil:
		err = x.Fault()
	case failure != nil:
		err = &scriptFailure{failure}
	default:
		err = x.CheckInput(ctx, program)
	}
	if err != nil {
		x.Close()
		return nil, nil, q, err
	}
	return x, program, q, nil
}

// StartScheduled makes the job of a schedule, and has it stored. The errors of what cannot be run are
// coded.
func (s *Service) StartScheduled(ctx context.Context, one schedule.Schedule, settle schedule.Settle) error {
	a, err := s.o.Accounts.ByID(ctx, one.Account)
	switch {
	case err != nil:
		return err
	case a.Disabled:
		return schedule.ErrDisabled
	}
	_, err = s.startScheduled(ctx, a, &one, settle)
	return scheduledError(err)
}

// scheduledError gives a code to the errors of a script that cannot be started.
func scheduledError(err error) error {
	var failed *scriptFailure
	var fields form.FieldErrors
	var refused *admit.Refused
	switch {
	case errors.As(err, &failed):
		return fault.New(fault.Code(failed.failure.Code), "%s", failed.failure.Message)
	case errors.As(err, &fields):
		return fault.New(fault.InvalidFields, "the input no longer fits: %s", fields.Error())
	case errors.As(err, &refused):
		return coded(err)
	}
	return err
}

func (s *Service) startScheduled(ctx context.Context, a account.Account, one *schedule.Schedule, settle schedule.Settle) (job.ID, error) {
	limits := a.Limits(s.o.Limits)
	var input json.RawMessage
	if one.Input != nil {
		plain, err := s.o.ScheduleInputs.Open(a.ID, sealedScheduleInput(one.Name), one.Input)
		if err != nil {
			return job.ID{}, err
		}
		input = plain
	}
	spent, err := s.o.Usage.Begin(ctx, a.ID, limits)
	if err != nil {
		return job.ID{}, s.quotaError(err)
	}
	defer spent.Done()
	x, program, q, err := s.openScheduled(ctx, a, limits, one.Script, input)
	if err != nil {
		return job.ID{}, err
	}
	call := s.call(x, &q)
	call.Schedule = one.Name
	err = s.o.Jobs.SubmitStored(ctx, worker.Submission{
		Summary: job.Summary{
			ID: x.ID, Account: a.ID, Mode: job.Async, Convention: q.Convention, Credential: principal.BySchedule, ProgramName: q.programName(), Created: x.Spec.Started,
		},
		Account: a, Limits: limits, Spec: x.Spec, Program: program, Opened: x, Call: call, Concurrency: one.Key(q.concurrency()),
	}, func(ctx context.Context, t *job.Task, m member.Member) (job.Lease, bool, error) {
		l, stored, err := settle(ctx, t, m)
		if stored {
			spent.Count(0) // how long it runs is counted with its end
		}
		return l, stored, err
	})
	return x.ID, submitError(err, limits)
}

// Schedules lists the schedules of an account.
func (s *Service) Schedules(ctx context.Context, c Caller, p *Credentials, after string, limit int) (ScheduleListing, error) {
	ctx, owner, meta, err := s.openAccount(ctx, c, p, manageSchedules)
	l := ScheduleListing{Meta: meta}
	if err != nil {
		return l, err
	}
	if err := c.Memory.reservePage(ctx, scheduleEntries*limit); err != nil {
		return l, err
	}
	list, err := s.o.Schedules.Schedules(ctx, owner.Account.ID, after, limit+1)
	if err != nil {
		return l, err
	}
	list, l.Next = cutPage(list, limit, func(one *schedule.Schedule) string { return one.Name })
	for i := range list {
		list[i].Input = nil
		shown, err := s.showSchedule(ctx, &list[i])
		if err != nil {
			return l, err
		}
		l.Schedules = append(l.Schedules, shown)
	}
	return l, nil
}

// showSchedule is a schedule as its owner sees it, with its last tick and its next ones.
func (s *Service) showSchedule(ctx context.Context, one *schedule.Schedule) (shown wire.Schedule, err error) {
	shown = wire.Schedule{
		Name: one.Name, Script: one.Script, Cron: one.Cron, Zone: one.Zone, Jitter: schedule.FormatDuration(one.Jitter), Overlap: string(one.Overlap),
		CatchUp: schedule.FormatDuration(one.CatchUp), PauseAfter: one.PauseAfter, Concurrency: wire.Concurrency(one.Concurrency),
		SetAt: one.Set, PausedAt: one.Paused, PausedBy: string(one.PausedBy), Failures: one.Failures,
	}
	if one.Cron == "" {
		shown.Every = schedule.FormatDuration(one.Every)
	}
	if one.Input != nil {
		if shown.Input, err = s.o.ScheduleInputs.Open(one.Account, sealedScheduleInput(one.Name), one.Input); err != nil {
			return shown, err
		}
	}
	if shown.Next, err = one.Upcoming(shownTicks); err != nil {
		return shown, err
	}
	last, err := s.o.Schedules.History(ctx, one.Account, one.Name, 0, 1)
	if err == nil && len(last) > 0 {
		tick := tickEntry(&last[0])
		shown.Last = &tick
	}
	return shown, err
}

func tickEntry(t *schedule.Tick) wire.ScheduleTick {
	return wire.ScheduleTick{
		Number: t.Number, First: t.First, Last: t.Last, Count: t.Count, At: t.At, Reason: string(t.Reason), Message: t.Message, Manual: t.Manual,
		Ref: t.Job, State: string(t.JobState), Error: t.ErrorCode,
	}
}

// openSchedule opens a schedule of the account that the credentials prove.
func (s *Service) openSchedule(ctx context.Context, c Caller, p *Credentials, a access, name string) (context.Context, caller, schedule.Schedule, Meta, error) {
	ctx, owner, meta, err := s.openAccount(ctx, c, p, a)
	if err != nil {
		return ctx, owner, schedule.Schedule{}, meta, err
	}
	one, err := s.o.Schedules.Schedule(ctx, owner.Account.ID, name)
	return ctx, owner, one, meta, noSchedule(err, name)
}

// noSchedule gives a code to the error of a schedule that is not there.
func noSchedule(err error, name string) error {
	if errors.Is(err, account.ErrNotFound) {
		return fault.New(fault.NotFound, "the account has no schedule %.80q", name)
	}
	return err
}

// ShowSchedule shows a schedule, with its input.
func (s *Service) ShowSchedule(ctx context.Context, c Caller, p *Credentials, name string) (ScheduleAnswer, error) {
	ctx, _, one, meta, err := s.openSchedule(ctx, c, p, manageSchedules, name)
	return s.scheduleAnswer(ctx, &one, meta, err)
}

func (s *Service) scheduleAnswer(ctx context.Context, one *schedule.Schedule, meta Meta, err error) (ScheduleAnswer, error) {
	a := ScheduleAnswer{Meta: meta}
	if err == nil {
		a.Schedule, err = s.showSchedule(ctx, one)
	}
	return a, err
}

// PauseSchedule has a schedule start nothing until it is resumed.
func (s *Service) PauseSchedule(ctx context.Context, c Caller, p *Credentials, name string) (ScheduleAnswer, error) {
	ctx, _, one, meta, err := s.openSchedule(ctx, c, p, manageSchedules, name)
	if err == nil {
		if err = s.o.Schedules.Pause(ctx, one.Account, name, s.o.Clock()); err == nil {
			one, err = s.o.Schedules.Schedule(ctx, one.Account, name)
		}
		err = noSchedule(err, name)
	}
	return s.scheduleAnswer(ctx, &one, meta, err)
}

// ResumeSchedule has a paused schedule go on with its next tick. What it would have started meanwhile,
// it does not.
func (s *Service) ResumeSchedule(ctx context.Context, c Caller, p *Credentials, name string) (ScheduleAnswer, error) {
	ctx, _, one, meta, err := s.openSchedule(ctx, c, p, setSchedules, name)
	for err == nil {
		if err = one.Resume(s.o.Clock()); err != nil {
			break
		}
		err = s.o.Schedules.Resume(ctx, one)
		moved := errors.Is(err, schedule.ErrMoved)
		if err == nil || moved {
			one, err = s.o.Schedules.Schedule(ctx, one.Account, name)
		}
		if !moved {
			break
		}
	}
	s.o.OnSchedule()
	return s.scheduleAnswer(ctx, &one, meta, noSchedule(err, name))
}

// RemoveSchedule removes a schedule. Its jobs stay.
func (s *Service) RemoveSchedule(ctx context.Context, c Caller, p *Credentials, name string) (Meta, error) {
	ctx, owner, meta, err := s.openAccount(ctx, c, p, manageSchedules)
	if err != nil {
		return meta, err
	}
	return meta, noSchedule(s.o.Schedules.Remove(ctx, owner.Account.ID, name), name)
}

// RunSchedule starts a job of a schedule now, out of turn.
func (s *Service) RunSchedule(ctx context.Context, c Caller, p *Credentials, name string) (Answer, error) {
	ctx, owner, one, meta, err := s.openSchedule(ctx, c, p, setSchedules, name)
	a := Answer{Meta: meta}
	if err != nil {
		return a, err
	}
	now := s.o.Clock()
	id, err := s.startScheduled(ctx, owner.Account, &one, func(ctx context.Context, t *job.Task, m member.Member) (job.Lease, bool, error) {
		settled, err := s.o.Schedules.Settle(ctx, &schedule.Settlement{Schedule: one, Now: now, Manual: true, Task: t, Member: m})
		return settled.Lease, err == nil, err
	})
	switch {
	case errors.Is(err, schedule.ErrBusy):
		err = fault.New(fault.ScheduleBusy, "a job of the schedule %q is not finished, and its overlap is %s: wait for it, or cancel it", name, one.Overlap)
	case errors.Is(err, schedule.ErrMoved):
		err = fault.Retryable(fault.Overloaded, time.Second, "the schedule was changed meanwhile: try again")
	}
	if err != nil {
		return a, noSchedule(err, name)
	}
	a.By, a.Trusted = owner.By, true
	a.Job, a.Status = s.acceptedAnswer(id), 202
	return a, nil
}

// ScheduleTicks lists the history of a schedule.
func (s *Service) ScheduleTicks(ctx context.Context, c Caller, p *Credentials, name, before string, limit int) (TickListing, error) {
	ctx, _, one, meta, err := s.openSchedule(ctx, c, p, manageSchedules, name)
	l := TickListing{Meta: meta}
	if err != nil {
		return l, err
	}
	from, err := beforeNumber(before, "a tick")
	if err != nil {
		return l, err
	}
	if err := c.Memory.reservePage(ctx, limit); err != nil {
		return l, err
	}
	list, err := s.o.Schedules.History(ctx, one.Account, name, from, limit+1)
	if err != nil {
		return l, err
	}
	list, l.Next = cutPage(list, limit, func(t *schedule.Tick) string { return strconv.FormatInt(t.Number, 10) })
	for i := range list {
		l.Ticks = append(l.Ticks, tickEntry(&list[i]))
	}
	return l, nil
}
