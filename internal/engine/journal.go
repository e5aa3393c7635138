package engine

import (
	"context"
	"errors"
	"fmt"

	"ql/lang/bytecode"
	"ql/lang/value"
	"ql/lang/vm"
)

// Journal keeps what the host told a machine, so that a run that was cut off
// can be repeated up to where it was: the machine then does the same again,
// since all that it does not compute comes from its host.
//
// A change of the account's data is one with keeping that it was made; what
// was merely read is kept with the next change at the latest.
type Journal interface {
	// Before is called before each effect outside a TRANSACTION, and Inside before
	// each inside one, but its end. Their error interrupts the run there; a
	// *value.Error is told to the script instead of doing the effect.
	Before(ctx context.Context, r *Run) error
	Inside(ctx context.Context) error
	// Told returns what an earlier attempt was told at an effect, if anything.
	Told(seq int64) (Told, bool)
	// Tell takes what the machine is told, unless Change or Receipt kept it.
	Tell(t Told)
	// Change returns a context under which the change of an effect keeps, with
	// itself, t and all that was told before.
	Change(ctx context.Context, t Told) context.Context
	// Keep keeps all that was told so far, before something is done elsewhere
	// that may have to be done again. It returns a name for the effect, which is
	// the same then.
	Keep(ctx context.Context, seq int64) (key string, err error)
	// Receipt returns what the change of a database is to leave in it; t is what
	// is kept, with the result in it that the change gives and the fuel used by
	// then.
	Receipt(ctx context.Context, database string, t Told, fuel func() int64) *Receipt
}

// Told is the result of an effect. Err is a *value.Error, or nil.
type Told struct {
	Seq   int64
	Kind  bytecode.Effect
	Value value.Value
	Err   *value.Error
	Fuel  int64 // that the script pays for it, the same when it is told again
}

// errOtherWay says that a repeated run came to another effect than it did
// before. That is a fault of the service.
var errOtherWay = errors.New("the run did not repeat what its journal tells")

// repeat tells the machine what it was told before.
func (r *Run) repeat(e *vm.Effect, t Told) *Outcome {
	if t.Kind != e.Kind {
		return r.interrupted(fmt.Errorf("%w: effect %d is %v, and was %v", errOtherWay, e.Seq, e.Kind, t.Kind))
	}
	if t.Kind == bytecode.EffectFetch {
		r.state.Fetches++
	}
	r.machine.Spend(t.Fuel)
	if t.Err != nil {
		r.forget()
		r.machine.ResumeError(t.Err)
		return nil
	}
	switch e.Kind {
	case bytecode.EffectSessionStart:
		r.state.Session = true
	case bytecode.EffectSessionEnd:
		r.state.Session = false
	}
	if e.Kind.Info().Secret && t.Value.IsText() {
		r.remember(t.Value.Str())
	}
	r.resume(t.Value)
	return nil
}

// prepare has the journal get ready for an effect.
func (r *Run) prepare(ctx context.Context, e *vm.Effect) error {
	switch {
	case r.tx == nil:
		return r.o.Journal.Before(ctx, r)
	case e.Kind.Info().EndsTransaction:
		return nil
	}
	return r.o.Journal.Inside(ctx)
}

// interrupted ends Continue without a word to the script.
func (r *Run) interrupted(err error) *Outcome {
	r.cause = err
	return &Outcome{Status: Interrupted}
}

// tell gives the machine the result of an effect that was performed, and what it
// cost.
func (r *Run) tell(ctx context.Context, e *vm.Effect, v value.Value, err error, fuel int64) *Outcome {
	var known *value.Error
	r.machine.Spend(fuel)
	switch {
	case err == nil:
		r.note(Told{Seq: e.Seq, Kind: e.Kind, Value: v, Fuel: fuel})
		r.resume(v)
		return nil
	case errors.As(err, &known):
		r.note(Told{Seq: e.Seq, Kind: e.Kind, Err: known, Fuel: fuel})
	case r.o.Journal != nil && !isLimit(r.explain(ctx, err)):
		// Whether it was done is not known: another attempt finds out.
		return r.interrupted(err)
	}
	r.machine.ResumeError(r.explain(ctx, err))
	return nil
}

func (r *Run) note(t Told) {
	if r.o.Journal != nil {
		r.o.Journal.Tell(t)
	}
}

func isLimit(err error) bool {
	var l *value.LimitError
	return errors.As(err, &l)
}

// changing returns the context for a change that gives null.
func (c *call) changing() context.Context { return c.changingTo(value.Null) }

// changingTo returns the context for a change whose result is known before.
func (c *call) changingTo(v value.Value) context.Context {
	if c.o.Journal == nil {
		return c.ctx
	}
	return c.o.Journal.Change(c.ctx, Told{Seq: c.effect.Seq, Kind: c.effect.Kind, Value: v, Fuel: c.keep()})
}

// receipt returns what a change of a database leaves in it.
func (c *call) receipt(database string) *Receipt {
	if c.o.Journal == nil {
		return nil
	}
	return c.o.Journal.Receipt(c.ctx, database, Told{Seq: c.effect.Seq, Kind: c.effect.Kind}, c.keep)
}
