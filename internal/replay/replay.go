// Package replay runs a job again from its history, and checks on the way that it does what it
// did: that each effect asks for the same, and finds the machine in the same state. It performs
// nothing.
//
// Where histories are stored is its caller's business, and what they are made of package journal's.
package replay

import (
	"context"
	"errors"

	"ql/internal/engine"
	"ql/internal/journal"
	"ql/lang/vm"
)

// Report is what came of a replay.
type Report struct {
	Effects int // that were as they were
	// Left is where the run left the path that it took before; nil where it did not.
	Left *Difference
	// Ended says that the machine came to its end, and EndKnown that the state was recorded in
	// which the run ended: it is the same then.
	Ended, EndKnown bool
	// Cut says that the history does not go on to the end of the run.
	Cut bool
}

// Difference is an effect at which a run is not what it was.
type Difference struct {
	Effect int64 // its number, from 1 on; 0 for the end of the run
	Step   string
	Line   int
	Reason string
}

// errOver says that the history has no result for an effect.
var errOver = errors.New("the history of the job ends here")

// Check runs a machine, which is at its start, with the results of a history.
func Check(ctx context.Context, m *vm.Machine, c *journal.Collected) (Report, error) {
	r := Report{Cut: c.IsCut}
	results := c.Len()
	j := &source{Collected: c}
	run := engine.New(m, engine.Options{Journal: j, Observe: func(e *vm.Effect, _ engine.Result) {
		asks, same := c.Matches(m, e)
		switch {
		case r.Left != nil:
		case !asks:
			r.Left = differenceAt(e, "it asks for something else than it did")
		case !same:
			r.Left = differenceAt(e, "it asks for the same in another state")
		default:
			r.Effects++
		}
	}}, engine.State{})
	out, err := run.Continue(ctx)
	switch {
	case out.Status == engine.Interrupted && errors.Is(err, errOver):
		if r.Left == nil && r.Effects < results {
			r.Left = differenceAt(m.Effect(), "it comes to an effect that the history has no result for")
		}
		return r, nil
	case out.Status == engine.Interrupted && ctx.Err() == nil && errors.Is(err, engine.ErrDiverged):
		if r.Left == nil {
			r.Left = differenceAt(m.Effect(), "it is another effect than it was")
		}
		return r, nil
	case ctx.Err() != nil:
		return r, context.Cause(ctx)
	case out.Status == engine.Interrupted:
		return r, err
	}
	r.Ended = true
	same, known := c.EndsSame(m)
	r.EndKnown = known
	switch {
	case r.Left != nil:
	case r.Effects < results:
		r.Left = &Difference{Reason: "it ends before it has come to all effects that it had"}
	case known && !same:
		r.Left = &Difference{Reason: "it ends in another state"}
	}
	return r, nil
}

func differenceAt(e *vm.Effect, reason string) *Difference {
	return &Difference{Effect: e.Seq, Step: e.Step, Line: e.Line, Reason: reason}
}

// source is a journal that has results, and takes none.
type source struct {
	*journal.Collected
	engine.Journal // nobody comes to call the rest of it
}

// Recorded implements engine.Journal.
func (s *source) Recorded(seq int64) (engine.Result, bool) { return s.Collected.Recorded(seq) }

// BeforeEffect implements engine.Journal.
func (s *source) BeforeEffect(context.Context, *engine.Run) error { return errOver }

// BeforeEffectInTx implements engine.Journal.
func (s *source) BeforeEffectInTx(context.Context) error { return errOver }
