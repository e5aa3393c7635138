package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"ql/lang/bytecode"
	"ql/lang/form"
	"ql/lang/value"
	"ql/lang/vm"
)

// Run is one machine at work on one account's resources. It is not safe for
// concurrent use.
type Run struct {
	o       Options
	machine *vm.Machine
	state   State
	prompt  *Prompt // of the effect that the machine is at
	// answerer is who gives the next answer.
	answerer Answered

	session    Session // held
	tx         Tx      // open
	txDatabase string  // that it is of
	cause      error   // of an interruption
	repeated   bool    // the effect under way was begun before, by an attempt that was cut off
	// Of the effect under way; reused by the next one.
	given, paced context.Context
	check        func() *value.LimitError
	call         call
	// attached are the files that come beside an answer, and uploaded those that came with it.
	attached map[string]form.Attached
	uploaded []string
	// readers are the files of loops that are open, the one used last at the end.
	readers []*rowReader
}

// New returns a run of a machine, which may be a fresh one or one restored
// from a snapshot; s is the State stored beside that, or the zero State.
func New(m *vm.Machine, o Options, s State) *Run {
	o = o.withDefaults()
	prepare(m, o.Pace)
	r := &Run{o: o, machine: m, state: s}
	if len(o.RequestFiles) > 0 && o.Files != nil {
		r.o.Files = &requestFiles{o.Files, r}
	}
	return r
}

func prepare(m *vm.Machine, p Pace) {
	m.SetRules(Rules())
	if p != nil {
		m.SetPace(p)
	}
}

// Compute runs a machine of a program without effects to its end, as Continue does. Nobody is
// needed who serves any, and a Run is large beside a short script.
func Compute(ctx context.Context, m *vm.Machine, p Pace) (Outcome, error) {
	prepare(m, p)
	switch m.Run(ctx) {
	case vm.Done:
		return Outcome{Status: Done}, nil
	case vm.Failed:
		e := *m.Err()
		if e.Code == "internal" {
			return Outcome{Status: Failed, Err: &e}, e.Unwrap()
		}
		return Outcome{Status: Failed, Err: &e}, nil
	default:
		e := vm.Error{Code: "internal", Message: "the script could not be run to its end"}
		return Outcome{Status: Failed, Err: &e}, errors.New("a machine without effects has stopped at one")
	}
}

// Machine returns the machine, for its output and trace.
func (r *Run) Machine() *vm.Machine { return r.machine }

// State returns what must be stored beside the machine's snapshot.
func (r *Run) State() State { return r.state }

// Continue runs the script until it ends, asks somebody or waits; while the
// answer is not given or the time has not come, it returns at once. Neither a
// session nor a transaction is held when it has returned. The error, where
// there is one, is for the log: the outcome then says "internal" at most.
//
// After a panic, which is the caller's to recover, nothing is held either; the run
// cannot be continued then.
func (r *Run) Continue(ctx context.Context) (Outcome, error) {
	defer r.releaseAll() //nolint:errcheck // where it has not been done by then, a panic tells more
	for {
		switch r.machine.Run(ctx) {
		case vm.Pending:
			if out := r.effect(ctx); out != nil {
				err := r.releaseAll()
				if out.Status == Interrupted {
					err = errors.Join(r.cause, err)
				}
				return *out, err
			}
		case vm.Done:
			return Outcome{Status: Done}, r.releaseAll()
		case vm.Declined:
			return Outcome{Status: Declined}, r.releaseAll()
		case vm.Failed:
			e := *r.machine.Err()
			r.maskError(&e)
			err := r.releaseAll()
			if e.Code == "internal" {
				err = errors.Join(e.Unwrap(), err)
			}
			return Outcome{Status: Failed, Err: &e}, err
		default:
			return Outcome{}, errors.New("the machine is in no known status")
		}
	}
}

// releaseAll gives back what nobody may hold while the script does not run.
func (r *Run) releaseAll() error {
	var errs []error
	r.dropReaders()
	if r.tx != nil {
		errs = append(errs, r.tx.Rollback())
		r.tx = nil
	}
	if r.session != nil {
		errs = append(errs, r.session.Release())
		r.session = nil
	}
	return errors.Join(errs...)
}

// effect does what the machine asks for. It returns an outcome where that has
// to wait for somebody or something else.
func (r *Run) effect(ctx context.Context) *Outcome {
	e := r.machine.Effect()
	if j := r.o.Journal; j != nil {
		if recorded, ok := j.Recorded(e.Seq); ok {
			return r.replay(ctx, e, recorded)
		}
		var known *value.Error
		if err := r.beforeEffect(ctx, e); errors.As(err, &known) {
			return r.deliver(ctx, e, value.Null, known, 0)
		} else if err != nil {
			return r.interrupted(err)
		}
	}
	switch e.Kind.Info().Class {
	case bytecode.ClassHuman:
		p, err := r.ask()
		if err != nil {
			return r.deliver(ctx, e, value.Null, err, 0)
		}
		r.machine.MarkPaused()
		return &Outcome{Status: Paused, Prompt: p}
	case bytecode.ClassWait:
		if e.Kind == bytecode.EffectWaitJob || e.Kind == bytecode.EffectWaitSignal {
			return r.await(ctx, e)
		}
		until, err := r.until(e)
		switch {
		case err == nil && until.After(r.o.Clock()):
			r.state.Until = until
			return &Outcome{Status: Waiting, Until: until}
		default:
			return r.deliver(ctx, e, value.Null, err, 0)
		}
	}
	v, err := r.perform(ctx, e)
	return r.deliver(ctx, e, v, err, r.call.spent())
}

// resume gives the machine a result and forgets what belonged to its effect.
func (r *Run) resume(v value.Value) {
	r.clearEffect()
	r.machine.Resume(v)
}

func (r *Run) clearEffect() {
	asked := r.state.Asked
	if r.state.Prompt != "" {
		asked++
	}
	r.prompt = nil
	s := &r.state
	s.Asked = asked
	if s.Prompt != "" {
		s.Prompt = ""
	}
	s.Expires, s.Until = time.Time{}, time.Time{}
	s.Day, s.Refueled = 0, false // what it used before its day stays
}

// explain turns what a resource says when the context ends into what the
// machine says then.
func (r *Run) explain(ctx context.Context, err error) error {
	var e *value.Error
	var l *value.LimitError
	if ctx.Err() != nil && !errors.As(err, &e) && !errors.As(err, &l) {
		return &value.LimitError{Name: "time", Cause: context.Cause(ctx)}
	}
	return err
}

// perform does one effect under a meter of its own, whose limits come back as
// errors. What it computes is the script's to pay: see call.spent.
func (r *Run) perform(ctx context.Context, e *vm.Effect) (v value.Value, err error) {
	m := r.machine.Meter()
	if ctx != r.given { // the same one for all effects of a Continue
		r.given, r.paced = ctx, WithPace(ctx, r.o.Pace)
	}
	if r.check == nil {
		r.check = r.isOver
	}
	m.Check = r.check
	r.call = call{Run: r, ctx: r.paced, meter: m, effect: e, args: e.Args, before: m.Used()}
	defer func() {
		if p := recover(); p != nil {
			l, ok := p.(*value.LimitError)
			if !ok {
				panic(p)
			}
			v, err = value.Null, l
		}
	}()
	do := effects[e.Kind]
	if do == nil {
		do = awaited[e.Kind]
	}
	if do == nil {
		return value.Null, value.Errorf("not_available", "%s is not available in this version", e.Step)
	}
	v, err = do(&r.call)
	return v, err
}

// isOver is the check of an effect's meter: whether the run's time is over.
func (r *Run) isOver() *value.LimitError {
	if Turn(r.paced) != nil {
		return &value.LimitError{Name: "time", Cause: context.Cause(r.paced)}
	}
	return nil
}

// call is one effect under way.
type call struct {
	*Run
	ctx    context.Context
	meter  *value.Meter
	effect *vm.Effect
	args   []value.Value
	before int64 // fuel used before it
	// cost is the fuel in the result that a change commits with itself, where costFixed
	// says that there is one: a replayed run is charged the same.
	cost      int64
	costFixed bool
}

// spent returns the fuel that the effect has used, for the script to pay.
func (c *call) spent() int64 {
	if c.costFixed {
		return c.cost
	}
	return c.meter.Used() - c.before
}

// fixCost fixes what the effect costs, for the result that is committed with its change.
func (c *call) fixCost() int64 {
	c.cost, c.costFixed = c.meter.Used()-c.before, true
	return c.cost
}

// effects are the effects that are done at once, by their numbers.
var effects = [math.MaxUint8 + 1]func(*call) (value.Value, error){
	bytecode.EffectNow:             now,
	bytecode.EffectRandom:          random,
	bytecode.EffectUUID:            newUUID,
	bytecode.EffectToken:           token,
	bytecode.EffectPasswordHash:    passwordHash,
	bytecode.EffectPasswordMatches: passwordMatches,
	bytecode.EffectSessionGet:      sessionGet,
	bytecode.EffectSessionSet:      sessionSet,
	bytecode.EffectSessionUnset:    sessionUnset,
	bytecode.EffectSessionStart:    sessionStart,
	bytecode.EffectSessionEnd:      sessionEnd,
	bytecode.EffectAccountGet:      accountGet,
	bytecode.EffectQuotaGet:        quotaGet,
	bytecode.EffectSecretGet:       secretGet,
	bytecode.EffectJobGet:          jobGet,
	bytecode.EffectFileRead:        fileRead,
	bytecode.EffectFileWrite:       fileWrite,
	bytecode.EffectFileAppend:      fileAppend,
	bytecode.EffectFileList:        fileList,
	bytecode.EffectFileCopy:        fileCopy,
	bytecode.EffectFileMove:        fileMove,
	bytecode.EffectFileRemove:      fileRemove,
	bytecode.EffectRender:          renderFile,
	bytecode.EffectShare:           share,
	bytecode.EffectUnshare:         unshare,
	bytecode.EffectSQL:             sql,
	bytecode.EffectTxBegin:         txBegin,
	bytecode.EffectTxCommit:        txCommit,
	bytecode.EffectTxRollback:      txRollback,
	bytecode.EffectFetch:           fetch,
	bytecode.EffectFetchAll:        fetchAll,
	bytecode.EffectCallScript:      callScript,
	bytecode.EffectStartScript:     callScript,
	bytecode.EffectSignal:          signal,
	bytecode.EffectRun:             runCommand,
	bytecode.EffectMachineCopy:     machineCopy,
	bytecode.EffectMail:            mail,
	bytecode.EffectMailQuestion:    mailQuestion,
	bytecode.EffectSQLFile:         sqlFile,
	bytecode.EffectImport:          importEffect,
	bytecode.EffectFileOpen:        fileOpen,
	bytecode.EffectFileRows:        fileRows,
}

// text returns argument i, which must be a text; what names it in the error.
func (c *call) text(i int, what string) (string, error) {
	v := c.args[i]
	if !v.IsText() {
		return "", value.Errorf(value.WrongKind, "%s is a text, not %s", what, value.Describe(v))
	}
	return v.Str(), nil
}

// path returns argument i, which must be the path of a file.
func (c *call) path(i int) (string, error) {
	return c.text(i, fmt.Sprintf("the path that %s takes", c.effect.Step))
}

// missing is the error of a statement whose resource is not there.
func missing(what string) error {
	return value.Errorf("not_available", "there are no %s here", what)
}
