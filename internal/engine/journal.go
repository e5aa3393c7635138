package engine

import (
	"context"
	"errors"
	"fmt"

	"ql/lang/bytecode"
	"ql/lang/value"
	"ql/lang/vm"
)

// Journal records the results of effects, so that an interrupted run can be replayed
// up to where it was: the machine then does the same again, since all that it does not
// compute comes from its host.
//
// A change of the account's data is committed together with its result; what was merely
// read is committed with the next change at the latest.
type Journal interface {
	// BeforeEffect is called before each effect outside a TRANSACTION, and BeforeEffectInTx
	// before each inside one, but its end. Their error interrupts the run there; a
	// *value.Error is delivered to the script instead of doing the effect.
	BeforeEffect(ctx context.Context, r *Run) error
	BeforeEffectInTx(ctx context.Context) error
	// Recorded returns the result that an effect had in an earlier attempt, if any.
	Recorded(seq int64) (Result, bool)
	// Append takes the result of an effect, unless Checkpoint or Receipt committed it.
	Append(r Result)
	// Checkpoint returns a context under which the change of an effect commits, with
	// itself, r and all results before it.
	Checkpoint(ctx context.Context, r Result) context.Context
	// BeforeCall commits all results so far, before a call to another server that may have
	// to be made again. It returns an idempotency key, which is the same then.
	BeforeCall(ctx context.Context, seq int64) (key string, err error)
	// BeforeCommand is BeforeCall before a command on a machine. It also notes that the command
	// is begun, and tells whether it was before: by an attempt that was cut off in it.
	BeforeCommand(ctx context.Context, seq int64) (key string, repeated bool, err error)
	// MailKey returns the id of the mail of an effect, which is the same in every attempt.
	MailKey(seq int64) string
	// RecordedPart returns the result that part i of an effect had in an earlier attempt, if any.
	RecordedPart(seq int64, i int) (Result, bool)
	// AppendPart takes the result of a part of the effect under way. It is committed with what
	// is appended next, at the latest; with flush it may be sooner, which nobody waits for.
	AppendPart(ctx context.Context, i int, r Result, flush bool)
	// EndParts says that no more parts come. The error interrupts the run.
	EndParts(ctx context.Context) error
	// Receipt returns what the change of a database is to leave in it; r is what is
	// committed, with the result in it that the change gives and the fuel used by then.
	Receipt(ctx context.Context, database string, r Result, fuel func() int64) *Receipt
}

// Result is what an effect gave the machine. Err is a *value.Error, or nil.
type Result struct {
	Seq   int64
	Kind  bytecode.Effect
	Value value.Value
	Err   *value.Error
	Fuel  int64 // that the script pays for it, the same when it is replayed
	// Answered is how a question was answered; nil for other effects, and in journals of earlier
	// versions.
	Answered *Answered
	// Repeated says that the effect was begun before, by an attempt that was cut off in it.
	Repeated bool
	// Refueled says that the machine got all of its fuel again before it. It is for who observes a run, and in no journal:
	// an attempt refuels by the day that it is.
	Refueled bool
}

// ErrDiverged says that a replayed run came to another effect than the journal has.
// That is a fault of the service.
var ErrDiverged = errors.New("the run diverged from its journal")

// replay delivers a recorded result.
func (r *Run) replay(ctx context.Context, e *vm.Effect, t Result) *Outcome {
	if t.Kind != e.Kind {
		return r.interrupted(fmt.Errorf("%w: effect %d is %v, and was %v", ErrDiverged, e.Seq, e.Kind, t.Kind))
	}
	if t.Kind == bytecode.EffectFetch {
		r.state.Fetches++
	}
	if t.Kind == bytecode.EffectFetchAll && t.Err == nil {
		if err := r.assemble(&t); err != nil {
			return r.interrupted(err)
		}
	}
	if t.Kind == bytecode.EffectFileRows && t.Err == nil && !t.Value.IsMap() {
		if out, ended := r.readAgain(ctx, e, &t); ended {
			return out
		}
	}
	if t.Repeated {
		r.machine.MarkRepeated()
	}
	if t.Refueled {
		r.machine.Refuel()
		r.state.Refueled = true
	}
	r.machine.ChargeEffect(t.Fuel)
	r.observe(e, t)
	if t.Err != nil {
		r.clearEffect()
		r.machine.ResumeError(t.Err)
		return nil
	}
	switch e.Kind {
	case bytecode.EffectSessionStart:
		r.state.Session = true
	case bytecode.EffectSessionEnd:
		r.state.Session = false
	case bytecode.EffectJobGet:
		r.noteJobRead(e.Args)
	case bytecode.EffectMailQuestion:
		r.noteJobRead(nil)
	case bytecode.EffectFileOpen:
		if ref, ok := refOf(t.Value); ok {
			r.noteHeld(ref)
		}
	case bytecode.EffectFileMove, bytecode.EffectFileRemove:
		if e.Args[0].IsText() {
			r.take(e.Args[0].Str())
		}
	}
	if e.Kind.Info().Secret && t.Value.IsText() {
		r.addSecret(t.Value.Str())
	}
	r.resume(t.Value)
	if t.Answered != nil {
		r.state.Answered = t.Answered
	}
	return nil
}

// beforeEffect has the journal get ready for an effect.
func (r *Run) beforeEffect(ctx context.Context, e *vm.Effect) error {
	switch {
	case r.tx == nil:
		return r.o.Journal.BeforeEffect(ctx, r)
	case e.Kind.Info().EndsTransaction:
		return nil
	}
	return r.o.Journal.BeforeEffectInTx(ctx)
}

// interrupted ends Continue without an error for the script.
func (r *Run) interrupted(err error) *Outcome {
	r.cause = err
	return &Outcome{Status: Interrupted}
}

// deliver gives the machine the result of an effect that was performed, and what it
// cost.
func (r *Run) deliver(ctx context.Context, e *vm.Effect, v value.Value, err error, fuel int64) *Outcome {
	defer func() { r.repeated = false }()
	r.machine.ChargeEffect(fuel)
	if err == nil {
		r.record(Result{Seq: e.Seq, Kind: e.Kind, Value: v, Fuel: fuel, Repeated: r.repeated})
		r.resume(v)
		return nil
	}
	var known *value.Error // on the heap: only for those that need it
	switch {
	case errors.As(err, &known):
		r.record(Result{Seq: e.Seq, Kind: e.Kind, Err: known, Fuel: fuel, Repeated: r.repeated})
	case r.o.Journal != nil && !isLimit(r.explain(ctx, err)):
		// Whether it was done is not known: another attempt finds out.
		return r.interrupted(err)
	}
	r.machine.ResumeError(r.explain(ctx, err))
	return nil
}

func (r *Run) observe(e *vm.Effect, t Result) {
	if r.o.Observe != nil {
		t.Refueled = r.state.Refueled
		r.o.Observe(e, t)
	}
}

func (r *Run) record(t Result) {
	r.observe(r.machine.Effect(), t)
	if r.o.Journal != nil {
		r.o.Journal.Append(t.forJournal())
	}
}

func isLimit(err error) bool {
	var l *value.LimitError
	return errors.As(err, &l)
}

// checkpoint returns the context for a change that gives null.
func (c *call) checkpoint() context.Context { return c.checkpointResult(value.Null) }

// checkpointResult returns the context for a change whose result is known before.
func (c *call) checkpointResult(v value.Value) context.Context {
	if c.o.Journal == nil {
		return c.ctx
	}
	return c.o.Journal.Checkpoint(c.ctx, Result{Seq: c.effect.Seq, Kind: c.effect.Kind, Value: v, Fuel: c.fixCost(), Repeated: c.repeated})
}

// receipt returns what a change of a database leaves in it.
func (c *call) receipt(database string) *Receipt {
	if c.o.Journal == nil {
		return nil
	}
	return c.o.Journal.Receipt(c.ctx, database, Result{Seq: c.effect.Seq, Kind: c.effect.Kind}, c.fixCost)
}
