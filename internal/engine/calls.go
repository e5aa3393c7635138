package engine

import (
	"context"
	"errors"
	"unicode"
	"unicode/utf8"

	"ql/lang/bytecode"
	"ql/lang/value"
	"ql/lang/vm"
)

const (
	// MaxCallInput is how many bytes of JSON a script may be run with by another.
	MaxCallInput = 64 << 10
	// MaxSignalBytes is how many bytes of JSON a signal carries.
	MaxSignalBytes = 64 << 10
	// maxSignalName is how many characters the name of a signal has.
	maxSignalName = 100
)

// Codes of errors that Calls gives.
const (
	ScriptNotFound = "script_not_found"
	JobNotFound    = "job_not_found"
	JobEnded       = "job_ended"
	JobFailed      = "job_failed" // where nothing more is known
	JobCancelled   = "job_cancelled"
	JobDeclined    = "declined"
)

// callScript starts a job. Its id is made up before it is stored, so that a run that is repeated
// gives the same.
func callScript(c *call) (value.Value, error) {
	if c.o.Calls == nil {
		return value.Null, missingCalls(c)
	}
	name, err := c.text(0, "the name that "+c.effect.Step+" takes")
	if err != nil {
		return value.Null, err
	}
	s := ScriptCall{Name: name, Wait: c.effect.Kind == bytecode.EffectCallScript}
	if v := c.args[1]; !v.IsNull() {
		if !v.IsMap() {
			return value.Null, value.Errorf(value.WrongKind, "USING takes a map such as {name: \"text\"}, not %s", value.Describe(v))
		}
		if s.Input, err = c.json(v, MaxCallInput, "what a script is run with"); err != nil {
			return value.Null, err
		}
	}
	id := c.o.Calls.NewJob()
	c.meter.Alloc(value.BlockSize(len(id)))
	result := value.Text(id)
	Yield(c.ctx)
	return result, c.o.Calls.Start(c.ctx, id, s, func() context.Context { return c.checkpointResult(result) })
}

// missingCalls is the error where no service has scripts and jobs.
func missingCalls(c *call) error {
	return value.Errorf("not_available", "%s works in the service, which has published scripts and stores jobs: here a script runs alone", c.effect.Step)
}

// json writes a value that may have so many bytes.
func (c *call) json(v value.Value, most int, what string) ([]byte, error) {
	if !value.FitsJSON(v, most) {
		return nil, value.Errorf(value.BadArgument, "%s may have %d bytes as JSON: write the rest to a file, and give its path", what, most)
	}
	text := asJSON(c.meter, v)
	if len(text) > most {
		return nil, value.Errorf(value.BadArgument, "%s may have %d bytes as JSON: write the rest to a file, and give its path", what, most)
	}
	c.meter.WorkBytes(len(text))
	return text, nil
}

// signal leaves a signal for another job.
func signal(c *call) (value.Value, error) {
	if c.o.Calls == nil {
		return value.Null, missingCalls(c)
	}
	s := Signal{}
	var err error
	if s.Name, err = c.text(0, "the name that SIGNAL takes"); err != nil {
		return value.Null, err
	}
	if !IsSignalName(s.Name) {
		return value.Null, badSignalName()
	}
	id, err := c.text(1, "the job that SIGNAL … TO takes")
	if err != nil {
		return value.Null, err
	}
	if s.Data, err = c.json(c.args[2], MaxSignalBytes, "what a signal carries"); err != nil {
		return value.Null, err
	}
	Yield(c.ctx)
	return value.Null, c.o.Calls.Signal(c.checkpoint(), id, s)
}

// IsSignalName tells whether a text can be the name of a signal.
func IsSignalName(name string) bool {
	if name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxSignalName {
		return false
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

func badSignalName() error {
	return value.Errorf(value.BadArgument, "the name of a signal has 1 to %d characters on one line", maxSignalName)
}

// errNotYet says that what an effect waits for has not come.
var errNotYet = errors.New("it has not come yet")

// awaited are the effects that wait for more than a moment.
var awaited = map[bytecode.Effect]func(*call) (value.Value, error){
	bytecode.EffectWaitJob:    waitJob,
	bytecode.EffectWaitSignal: waitSignal,
}

// await delivers what the effect waits for, or has the run wait.
func (r *Run) await(ctx context.Context, e *vm.Effect) *Outcome {
	v, err := r.perform(ctx, e)
	if errors.Is(err, errNotYet) {
		out := &Outcome{Status: Waiting, Until: r.state.Until}
		if e.Kind == bytecode.EffectWaitJob {
			out.Awaits.Job = e.Args[0].Str()
		} else {
			out.Awaits.Signal = e.Args[0].Str()
		}
		return out
	}
	return r.deliver(ctx, e, v, err, r.call.spent())
}

// deadline sets until when the effect waits, when it begins to, and tells whether that is over.
func (c *call) deadline() (over bool, err error) {
	if c.state.Until.IsZero() {
		if c.state.Until, err = c.expiry(c.effect); err != nil {
			return false, err
		}
	}
	return !c.state.Until.IsZero() && !c.state.Until.After(c.o.Clock()), nil
}

// waitJob returns what a job came to that the run has started.
func waitJob(c *call) (value.Value, error) {
	if c.o.Calls == nil {
		return value.Null, missingCalls(c)
	}
	id, err := c.text(0, "the job that WAIT FOR takes")
	if err != nil {
		return value.Null, err
	}
	Yield(c.ctx)
	v, ended, err := c.o.Calls.Ended(c.ctx, id, c.meter)
	if err != nil || ended {
		return v, err
	}
	over, err := c.deadline()
	switch {
	case err != nil:
		return value.Null, err
	case !over:
		return value.Null, errNotYet
	case c.args[2].Truthy(): // nobody else knows of it
		if err := c.o.Calls.Cancel(c.ctx, id); err != nil {
			return value.Null, err
		}
	}
	return value.Null, value.Errorf(Expired, "the job did not end in time")
}

// waitSignal returns the data of a signal.
func waitSignal(c *call) (value.Value, error) {
	if c.o.Calls == nil {
		return value.Null, missingCalls(c)
	}
	name, err := c.text(0, "the name that WAIT FOR SIGNAL takes")
	if err != nil {
		return value.Null, err
	}
	if !IsSignalName(name) {
		return value.Null, badSignalName()
	}
	Yield(c.ctx)
	s, err := c.o.Calls.NextSignal(c.ctx, name)
	if err != nil {
		return value.Null, err
	}
	if s != nil {
		c.meter.WorkBytes(len(s.Data))
		v, broken := value.ParseJSON(c.meter, string(s.Data))
		if broken != nil {
			return value.Null, broken
		}
		return v, c.o.Calls.ConsumeSignal(c.checkpointResult(v), s)
	}
	over, err := c.deadline()
	switch {
	case err != nil:
		return value.Null, err
	case !over:
		return value.Null, errNotYet
	}
	return value.Null, value.Errorf(Expired, "the signal %s did not come in time", value.Quote(name))
}
