package service

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/wire"
)

// Event is something that happened to a job.
type Event struct {
	Kind string // state, step, output or machine
	Data []byte // JSON
	// Position is where in the job's steps and output the event is: a listener that
	// comes back resumes after it.
	Position int64
}

// The kinds of events.
const (
	EventState  = "state"
	EventStep   = "step"
	EventOutput = "output"
	// EventMachine is what a command on a machine puts out, for those with the account's credentials
	// only: the script need not show it. It has no position of its own, and is told once.
	EventMachine = "machine"
)

// EventKinds are a choice of kinds of events; nil is all of them.
type EventKinds map[string]bool

// ParseEventKinds reads kinds with commas between.
func ParseEventKinds(text string) (EventKinds, error) {
	kinds := EventKinds{}
	for kind := range strings.SplitSeq(text, ",") {
		switch kind {
		case EventState, EventStep, EventOutput, EventMachine:
			kinds[kind] = true
		case "":
			return nil, fault.Invalid("only", "names no kind of events: %s", fittingKinds)
		default:
			return nil, fault.Invalid("only", "names %q, which is no kind of events: %s", shortened(kind), fittingKinds)
		}
	}
	return kinds, nil
}

const fittingKinds = EventState + ", " + EventStep + ", " + EventOutput + " and " + EventMachine + " fit, with commas between"

// shortened is a text of a caller's as a message shows it.
func shortened(text string) string {
	const most = 40
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

func (k EventKinds) has(kind string) bool { return k == nil || k[kind] }

// A position counts the steps above, and the bytes of output below.
const outputBits = 32

// Events are what happens to a job from a position on; 0 for the start. Next
// returns what is new, when there is something, and nothing after the job's
// end. As long as nothing is new it holds nothing of the job.
type Events struct {
	s       *Service
	id      job.ID
	account account.ID
	who     *principal.Principal // nil where no credentials were brought
	itsPage bool                 // and none were needed
	changed <-chan struct{}
	unwatch func()
	leave   func()
	memory  CallMemory // for view, and for what is sent of it
	only    EventKinds
	answers bool // that who listens may answer the job's questions

	machines *machinePieces // nil where they are not told

	view  *job.View // that is being sent; nil where all was
	state string    // that was sent last
	// How long the trace was that was sent last, and of how many steps.
	traced, counted int64
	steps           int64
	output          int64
	ended           bool
}

// Events opens the events of a job, those of some kinds only. Kinds that are left out are
// not passed by a position: who comes back for them is sent them.
func (s *Service) Events(ctx context.Context, c Caller, text string, p *Credentials, from int64, only EventKinds) (*Events, Answer, error) {
	o, a, err := s.findJob(ctx, c, text, p, 0)
	if err != nil {
		return nil, a, err
	}
	leave, err := s.enterListeners(ctx, c, o.owner)
	if err != nil {
		return nil, a, err
	}
	e := &Events{s: s, id: o.ID, account: o.owner.ID, who: o.who, itsPage: o.itsPage, leave: leave, only: only, answers: o.answers, steps: from >> outputBits, output: from & (1<<outputBits - 1)}
	e.memory.Reservation = s.o.Ledger.Open(admit.AccountHolder(int64(o.owner.ID)))
	e.changed, e.unwatch = s.o.Jobs.Watch(o.ID)
	s.traces.watch(e.id)
	if e.who != nil && only.has(EventMachine) {
		e.machines = s.listenMachines(e.id, e.account)
	}
	return e, a, nil
}

// Stop ends the events.
func (e *Events) Stop() {
	e.unwatch()
	e.leave()
	e.s.traces.unwatch(e.id)
	e.machines.stop()
	e.memory.Release()
}

// Next waits for something new, at most so long: then it returns nothing and
// true. It returns false when there will be no more. What it returned before is not
// used any more.
func (e *Events) Next(ctx context.Context, wait time.Duration) (list []Event, more bool, err error) {
	over := time.NewTimer(wait)
	defer over.Stop()
	look := time.NewTicker(recheckInterval)
	defer look.Stop()
	for {
		if list, err = e.nextEvents(ctx); err != nil || len(list) > 0 {
			return list, true, err
		}
		if e.ended {
			return nil, false, nil
		}
		select {
		case <-e.changed:
		case <-e.machines.due():
		case <-look.C:
		case <-over.C:
			return nil, true, nil
		case <-ctx.Done():
			return nil, false, nil
		}
	}
}

// nextEvents returns what was not sent yet, or some of it.
func (e *Events) nextEvents(ctx context.Context) (list []Event, err error) {
	if e.view == nil {
		if err := e.loadView(ctx); err != nil {
			return nil, err
		}
		// After the job, so that nothing is missed of one that has ended.
		list = e.machines.next(e.position())
		if e.view == nil {
			return list, nil
		}
		steps, err := e.newSteps()
		if err != nil {
			return nil, err
		}
		list = append(list, steps...)
	}
	if output := e.newOutput(); output != nil {
		data := wire.AppendOutput(nil, output)
		return append(list, Event{Kind: EventOutput, Data: data, Position: e.position()}), nil
	}
	state, err := e.newState()
	if state != nil {
		list = append(list, *state)
	}
	e.releaseView()
	return list, err
}

// loadView reads the job where there is something new of it.
func (e *Events) loadView(ctx context.Context) (err error) {
	if e.ended {
		return nil
	}
	if err := e.checkStanding(ctx); err != nil {
		return err
	}
	v, err := e.s.jobHead(ctx, e.id)
	if err != nil || !e.isNew(v) {
		return err
	}
	view, err := e.s.jobView(ctx, &e.memory, e.id)
	if err != nil {
		return err
	}
	// And besides what is sent at a time, in its written form. Not before the job, which many
	// listeners share: with a little each they would take the room that it needs.
	if err := e.memory.Grow(ctx, 6*outputPiece+v.TraceBytes); err != nil {
		e.releaseView()
		return err
	}
	e.view = view
	return nil
}

// checkStanding says why who listens would not be let in any more: a job may take days.
func (e *Events) checkStanding(ctx context.Context) error {
	now := e.s.o.Clock()
	if e.who == nil { // who knows the id, whatever became of credentials
		owner, err := e.s.o.Accounts.ByID(ctx, e.account)
		if errors.Is(err, account.ErrNotFound) || err == nil && owner.RequireAuthOnJobs && !e.itsPage {
			err = errLetOut
		}
		return err
	}
	owner, err := e.s.standing(ctx, e.account, e.who.By == principal.ByNamedKey, now)
	if err == nil && !owner.admits(e.who, now) {
		err = errLetOut
	}
	return err
}

// isNew tells whether there is something of a job that was not sent. Its end is new in any
// case.
func (e *Events) isNew(v *job.View) bool {
	return stateOf(v) != e.state ||
		e.only.has(EventOutput) && v.Output > e.output ||
		e.only.has(EventStep) && (v.TraceBytes != e.traced || v.Steps != e.counted)
}

// releaseView releases what was sent.
func (e *Events) releaseView() {
	e.view = nil
	e.memory.Release()
}

// stateOf names the state of a job; another prompt is another state.
func stateOf(v *job.View) string {
	if v.Prompt != nil {
		return string(v.State) + " " + v.Prompt.ID
	}
	return string(v.State)
}

// newSteps returns the steps that have ended and were not sent yet.
func (e *Events) newSteps() (list []Event, err error) {
	v := e.view
	e.traced, e.counted = v.TraceBytes, v.Steps
	if len(v.Trace) == 0 || !e.only.has(EventStep) {
		return nil, nil
	}
	steps, err := e.s.traces.read(e.id, v.Trace)
	if err != nil {
		return nil, err
	}
	for _, s := range e.endedSteps(steps) {
		e.steps = s.Order
		s.Open = false
		list = append(list, Event{Kind: EventStep, Data: s.AppendJSON(nil), Position: e.position()})
	}
	return list, nil
}

// outputPiece is how much output is sent at once.
const outputPiece = 64 << 10

// newOutput returns output that was not sent yet, some of it where it is long. A
// character is not split.
func (e *Events) newOutput() []byte {
	rest := e.view.Result
	if int64(len(rest)) <= e.output || !e.only.has(EventOutput) {
		return nil
	}
	if rest = rest[e.output:]; len(rest) > outputPiece {
		end := outputPiece
		for end > outputPiece-utf8.UTFMax && !utf8.RuneStart(rest[end]) {
			end--
		}
		rest = rest[:end]
	}
	e.output += int64(len(rest))
	return rest
}

// newState returns the state of the job where it is another.
func (e *Events) newState() (*Event, error) {
	v := e.view
	state := stateOf(v)
	if state == e.state {
		return nil, nil
	}
	e.state = state
	e.ended = v.State.Finished()
	if !e.only.has(EventState) {
		return nil, nil
	}
	j, err := e.s.jobAnswer(v, e.answers)
	if err != nil {
		return nil, err
	}
	// The output was sent piece by piece. A value of no more than a piece is sent as one too,
	// in the room that was reserved for that.
	if o := j.Output; e.ended && o != nil && o.JSON && len(o.Result) <= outputPiece {
		j.Value = o.Result
	}
	j.Output = nil
	return &Event{Kind: EventState, Data: j.AppendJSON(nil), Position: e.position()}, nil
}

// endedSteps returns the steps that have ended and were not sent yet, in the order in
// which they ended: so they keep their numbers while those that called them are
// under way, and where a long trace leaves some out.
func (e *Events) endedSteps(steps []wire.Step) []wire.Step {
	var list []wire.Step
	for _, s := range steps {
		if s.Order > e.steps && (s.HasEnded() || e.view.State.Finished()) {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b wire.Step) int { return cmp.Compare(a.Order, b.Order) })
	return list
}

// mostSteps is as far as positions count steps. Whoever comes back later than
// that is sent some again.
const mostSteps = 1<<30 - 1

func (e *Events) position() int64 { return min(e.steps, mostSteps)<<outputBits | e.output }

// traces are those of jobs that somebody watches, read: all who watch one share it.
type traces struct {
	mu sync.Mutex
	of map[job.ID]*trace
}

type trace struct {
	watchers int
	text     []byte // as it was read last
	steps    []wire.Step
}

func (t *traces) watch(id job.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[job.ID]*trace{}
	}
	if t.of[id] == nil {
		t.of[id] = &trace{}
	}
	t.of[id].watchers++
}

func (t *traces) unwatch(id job.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of[id].watchers--; t.of[id].watchers == 0 {
		delete(t.of, id)
	}
}

// read reads the trace of a job that is watched. What it returns is not to be changed.
func (t *traces) read(id job.ID, text []byte) ([]wire.Step, error) {
	t.mu.Lock()
	one := t.of[id]
	known, steps := bytes.Equal(one.text, text), one.steps
	t.mu.Unlock()
	if known {
		return steps, nil
	}
	steps, err := wire.ReadTrace(text)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	one.text, one.steps = text, steps
	return steps, nil
}
