package api

import (
	"cmp"
	"context"
	"slices"
	"time"

	"ql/internal/job"
	"ql/internal/wire"
)

// Event is something that happened to a job.
type Event struct {
	Kind string // state, step or output
	Data []byte // JSON
	// Position is where in the job's steps and output the event stands: whoever
	// has seen it goes on behind it.
	Position int64
}

// The kinds of events.
const (
	EventState  = "state"
	EventStep   = "step"
	EventOutput = "output"
)

// A position counts the steps above, and the bytes of output below.
const outputBits = 32

// Events are what happens to a job from a position on; 0 for the start. Next
// returns what is new, when there is something, and nothing after the job's
// end.
type Events struct {
	s       *Service
	view    *job.View
	changed <-chan struct{}
	state   string // that was told last
	steps   int64
	output  int64
	ended   bool
	Stop    func()
}

// Events opens the events of a job.
func (s *Service) Events(ctx context.Context, c Caller, text string, p *Proof, from int64) (*Events, Answer, error) {
	o, a, err := s.open(ctx, c, text, p)
	if err != nil {
		return nil, a, err
	}
	e := &Events{s: s, view: o.View, steps: from >> outputBits, output: from & (1<<outputBits - 1)}
	e.changed, e.Stop = s.o.Jobs.Watch(o.ID)
	return e, a, nil
}

// eventsEvery is how often a running job is looked at.
const eventsEvery = 250 * time.Millisecond

// Next waits for something new, at most so long: then it returns nothing and
// true. It returns false when there will be no more.
func (e *Events) Next(ctx context.Context, wait time.Duration) (list []Event, more bool, err error) {
	if e.ended {
		return nil, false, nil
	}
	over := time.NewTimer(wait)
	defer over.Stop()
	look := time.NewTicker(eventsEvery)
	defer look.Stop()
	for {
		if e.view, err = e.s.view(ctx, e.view.ID); err != nil {
			return nil, false, err
		}
		if list, err = e.news(); err != nil || len(list) > 0 {
			return list, true, err
		}
		select {
		case <-e.changed:
		case <-look.C:
		case <-over.C:
			return nil, true, nil
		case <-ctx.Done():
			return nil, false, nil
		}
	}
}

// news returns what was not told yet.
func (e *Events) news() ([]Event, error) {
	var list []Event
	v := e.view
	steps, err := wire.ReadTrace(v.Trace)
	if err != nil {
		return nil, err
	}
	for _, s := range e.over(steps) {
		e.steps = s.Order
		s.Open = false
		list = append(list, Event{Kind: EventStep, Data: s.AppendJSON(nil), Position: e.position()})
	}
	if n := int64(len(v.Result)); n > e.output {
		data := wire.AppendOutput(nil, v.Result[e.output:])
		e.output = n
		list = append(list, Event{Kind: EventOutput, Data: data, Position: e.position()})
	}
	state := string(v.State)
	if v.Prompt != nil {
		state += " " + v.Prompt.ID // another question is another state
	}
	if state == e.state {
		return list, nil
	}
	e.state = state
	e.ended = v.State.Finished()
	j, err := e.s.shown(v)
	if err != nil {
		return nil, err
	}
	j.Output = nil // it was told piece by piece
	return append(list, Event{Kind: EventState, Data: j.AppendJSON(nil), Position: e.position()}), nil
}

// over returns the steps that have ended and were not told yet, in the order in
// which they ended: so they keep their numbers while those that called them are
// under way, and where a long trace leaves some out.
func (e *Events) over(steps []wire.Step) []wire.Step {
	list := steps[:0]
	for _, s := range steps {
		if s.Order > e.steps && (s.IsOver() || e.view.State.Finished()) {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b wire.Step) int { return cmp.Compare(a.Order, b.Order) })
	return list
}

// mostSteps is as far as positions count steps. Whoever comes back later than
// that is told some again.
const mostSteps = 1<<30 - 1

func (e *Events) position() int64 { return min(e.steps, mostSteps)<<outputBits | e.output }
