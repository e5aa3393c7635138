package service

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/execution"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/worker"
	"ql/lang/form"
	"ql/lang/value"
)

const (
	// maxCallDepth is how deep scripts run each other.
	maxCallDepth = 8
	// minCalls is how many jobs scripts of an account may have started that have not ended, whatever its
	// plan; more where more may be in line.
	minCalls, maxCalls = 1_000, 10_000
	// Signals that wait: of a job, and bytes of all of an account.
	maxSignals     = 100
	maxSignalBytes = 4 << 20
	// calledWait is how long a synchronous call waits for a script that it runs, before it becomes a job.
	calledWait = 5 * time.Second
	// smallResult is how many bytes of a result are read before they are counted, and kept of a job that has
	// ended when it was started.
	smallResult = worker.CalledResult
)

// calls are the other jobs as one run reaches them.
type calls struct {
	*Service
	x *execution.Execution
	// last is the job that was started last, and how it came out: of one that has ended since then, nil of
	// others.
	last    job.ID
	lastEnd *job.ChildEnd
}

// Calls returns the other jobs as a run reaches them.
func (s *Service) Calls(x *execution.Execution) engine.Calls { return &calls{Service: s, x: x} }

// mostCalls is how many jobs of an account may be there that scripts have started.
func (k *calls) mostCalls() int {
	if k.o.Unlimited {
		return maxCalls
	}
	return min(max(k.x.Limits.Queued, minCalls), maxCalls)
}

// NewJob implements engine.Calls.
func (k *calls) NewJob() string { return k.o.NewID().String() }

// Start implements engine.Calls.
func (k *calls) Start(ctx context.Context, id string, c engine.ScriptCall, checkpoint func() context.Context) error {
	child, _ := job.ParseID(id)
	parent := k.x
	if parent.Spec.Depth >= maxCallDepth {
		return value.Exceeded("call_depth", maxCallDepth, "the script %s is not run: scripts may run each other %d deep, and here that many run already", value.Quote(c.Name), maxCallDepth)
	}
	script, err := k.calledScript(ctx, c.Name)
	if err != nil {
		return err
	}
	spec := execution.Spec{
		Input: c.Input, Trace: parent.Spec.Trace, Owner: parent.Spec.Owner || script.Secrets, NoMachines: parent.Spec.NoMachines, Client: parent.Spec.Client,
		Started: k.o.Clock(), Limits: parent.Limits.AsyncMachine(), Depth: parent.Spec.Depth + 1, Keys: parent.Spec.Keys,
	}
	// Who is run by a job with its key is a part of that: they would wait for each other.
	concurrency := script.Concurrency
	if slices.Contains(spec.Keys, concurrency.Key) {
		concurrency = job.Concurrency{}
	}
	x, err := k.o.Host.Open(ctx, child, parent.Account, parent.Limits, spec, parent.Pace)
	if err != nil {
		return err
	}
	defer func() {
		if x != nil {
			x.Close()
		}
	}()
	program, failure, err := x.Compile(ctx, script.Text)
	if err != nil {
		return err
	}
	if failure != nil {
		return value.Errorf(failure.Code, "the script %q does not compile: %s", script.Name, failure.Message)
	}
	if err := x.CheckInput(ctx, program); err != nil {
		return inputError(err)
	}
	if program.UsesSession {
		if err := x.EnsureSession(ctx); err != nil {
			return err
		}
	}
	parent.Pace.Yield()
	submission := worker.Submission{
		Summary: job.Summary{
			ID: child, Account: parent.Account.ID, Mode: job.Async, Convention: job.Script, Credential: parent.Job.Credential, KeyID: parent.Job.KeyID, ProgramName: script.Name, Created: spec.Started,
		},
		Account: parent.Account, Limits: parent.Limits, Spec: x.Spec, Program: program,
		Call: k.call(x, &Query{Script: script.Text, Input: c.Input, published: &script}), Called: &job.Called{Parent: parent.ID, Most: k.mostCalls()}, Concurrency: concurrency, Opened: x,
	}
	x = nil // it is the worker's now
	end, err := k.o.Jobs.SubmitCalled(worker.Called{Submission: submission, Awaited: c.Wait, Checkpoint: checkpoint, Ended: parent.EndedCall})
	switch {
	case err == nil:
		k.noteEnd(child, end)
	case errors.Is(err, job.ErrCallLimit):
		return value.Exceeded("calls", int64(k.mostCalls()), "scripts of the account have started %d jobs that have not ended, which is as many as they may have: wait for some first", k.mostCalls())
	case errors.Is(err, job.ErrBlockedLimit):
		return value.Exceeded("queued", int64(parent.Limits.Queued), "as many jobs of the account wait for those with their concurrency key as may: wait for some first")
	case errors.Is(err, job.ErrStorageLimit):
		return value.Errorf("quota_exceeded", "the programs of the account's jobs that are not finished may have no more bytes: let some finish first")
	}
	return err
}

// noteEnd keeps how a job came out that has ended already, for who asks for that next; nil where it has not.
func (k *calls) noteEnd(child job.ID, end *job.End) {
	k.lastEnd = nil
	if end == nil {
		return
	}
	k.x.InCalls += end.Ran
	if len(end.Result) <= smallResult && len(end.Error) <= job.AlwaysShownBytes {
		k.last, k.lastEnd = child, &job.ChildEnd{State: end.State, Error: end.Error, Encoding: end.Encoding, Output: int64(len(end.Result)), Result: end.Result}
	}
}

// calledScript finds the published script that a run calls. One that was sent by somebody without
// credentials runs what everybody may.
func (k *calls) calledScript(ctx context.Context, name string) (account.Published, error) {
	found, err := k.o.Scripts.CalledScript(ctx, k.x.Account.ID, name)
	switch {
	case errors.Is(err, account.ErrNotFound):
		return found, value.Errorf(engine.ScriptNotFound, "%s", fault.Of(account.NoScript(name)).Message)
	case err != nil:
		return found, err
	case !k.x.Spec.Owner && k.x.Job.ProgramName == "" && found.Callers != account.CallersAnyone:
		return found, value.Errorf(engine.ScriptNotFound, "there is no script of this name that this call may run")
	case found.Text == "":
		return found, value.Errorf(engine.ScriptNotFound, "of the script %s there is only the hash: publish it again to run it by its name", value.Quote(found.Name))
	}
	return found, nil
}

// inputError is what a script sees where its map does not fit the fields of the one that it runs.
func inputError(err error) error {
	var fields form.FieldErrors
	var known *fault.Error
	switch {
	case errors.As(err, &fields):
		m := value.NewMap(nil, len(fields))
		for _, f := range fields {
			m.SetText(f.Field, value.Text(f.Message))
		}
		return &value.Error{Code: "invalid_fields", Message: fields.Error(), Fields: m.Value()}
	case errors.As(err, &known) && known.Code == fault.LimitExceeded:
		return value.Errorf(value.LimitExceeded, "%s", known.Message)
	}
	return err
}

// child returns the id of a job that the run has started.
func (k *calls) child(ctx context.Context, text string) (job.ID, error) {
	id, ok := job.ParseID(text)
	if ok {
		var err error
		if ok, err = k.o.Jobs.IsChild(ctx, k.x.Account.ID, k.x.ID, id); err != nil {
			return id, err
		}
	}
	if !ok {
		return id, noChild()
	}
	return id, nil
}

// Ended implements engine.Calls.
func (k *calls) Ended(ctx context.Context, text string, m *value.Meter) (value.Value, bool, error) {
	end, err := k.childEnd(ctx, text, smallResult)
	if err != nil || !end.State.Finished() {
		return value.Null, false, err
	}
	switch end.State {
	case job.Complete:
	case job.Declined:
		return value.Null, true, value.Errorf(engine.JobDeclined, "the job ended since somebody declined")
	case job.Cancelled:
		return value.Null, true, value.Errorf(engine.JobCancelled, "the job was cancelled")
	default:
		return value.Null, true, childError(end.Error)
	}
	if end.Output > int64(m.Text) {
		return value.Null, true, value.Exceeded("value_size", int64(m.Text), "the result of the job has %d bytes, and a text has %d at most", end.Output, m.Text)
	}
	m.Alloc(int(end.Output))
	if end.Output > smallResult {
		if end, err = k.childEnd(ctx, text, end.Output); err != nil {
			return value.Null, false, err
		}
	}
	m.WorkBytes(len(end.Result))
	switch {
	case end.Encoding == job.JSONText:
		result, broken := value.ParseJSON(m, string(end.Result))
		if broken != nil {
			return value.Null, true, broken
		}
		return result, true, nil
	case utf8.Valid(end.Result):
		return value.Text(string(end.Result)), true, nil
	}
	return value.Bytes(end.Result), true, nil
}

// childEnd returns how a job stands that the run has started, with a result of up to so many bytes.
func (k *calls) childEnd(ctx context.Context, text string, most int64) (*job.ChildEnd, error) {
	id, ok := job.ParseID(text)
	if !ok {
		return nil, noChild()
	}
	if k.lastEnd != nil && k.last == id {
		return k.lastEnd, nil
	}
	end, err := k.o.Jobs.ChildEnd(ctx, k.x.Account.ID, k.x.ID, id, most)
	if errors.Is(err, job.ErrNotFound) {
		return nil, noChild()
	}
	return end, err
}

func noChild() error {
	return value.Errorf(engine.JobNotFound, "WAIT FOR takes a job that this script has started, and whose record is still there")
}

// childError is the error of a job as who has started it sees it.
func childError(text []byte) error {
	var e struct{ Code, Message string }
	if err := json.Unmarshal(text, &e); err != nil || e.Code == "" {
		return value.Errorf(engine.JobFailed, "the job failed")
	}
	return value.Errorf(e.Code, "%s", e.Message)
}

// Cancel implements engine.Calls.
func (k *calls) Cancel(ctx context.Context, text string) error {
	id, err := k.child(ctx, text)
	if err != nil {
		return err
	}
	_, err = k.o.Jobs.Cancel(ctx, id)
	return err
}

// Signal implements engine.Calls.
func (k *calls) Signal(ctx context.Context, text string, s engine.Signal) error {
	id, ok := job.ParseID(text)
	if !ok {
		return value.Errorf(engine.JobNotFound, "SIGNAL takes the job that START SCRIPT gave, or what another job has in !JOB('id')")
	}
	_, err := k.o.Jobs.Signal(ctx, k.x.Account.ID, id, job.Signal{Name: s.Name, Data: s.Data, Most: maxSignals, MostBytes: maxSignalBytes})
	switch {
	case errors.Is(err, job.ErrNotFound):
		return value.Errorf(engine.JobNotFound, "the account has no such job: a synchronous call is one once it waits for something; with \"mode\": \"async\" it is one from the start")
	case errors.Is(err, job.ErrEnded):
		return value.Errorf(engine.JobEnded, "the job has ended, and takes no signals")
	case errors.Is(err, job.ErrSignalLimit):
		return value.Exceeded("signals", maxSignals, "as many signals wait as may: %d of a job, and %d bytes of all jobs of an account", maxSignals, maxSignalBytes)
	}
	return err
}

// NextSignal implements engine.Calls.
func (k *calls) NextSignal(ctx context.Context, name string) (*engine.Signal, error) {
	s, err := k.o.Jobs.NextSignal(ctx, k.x.Account.ID, k.x.ID, name)
	if err != nil || s == nil {
		return nil, err
	}
	return &engine.Signal{Number: s.Number, Name: s.Name, Data: s.Data}, nil
}

// ConsumeSignal implements engine.Calls.
func (k *calls) ConsumeSignal(ctx context.Context, s *engine.Signal) error {
	return k.o.Jobs.ConsumeSignal(ctx, k.x.Account.ID, k.x.ID, s.Number)
}

// awaitCalled waits for a job that a synchronous call waits for until a moment, and reports whether it is worth to look
// again. Whoever waits longer becomes a job, which holds nothing meanwhile.
func (k *syncRun) awaitCalled(ctx context.Context, text string, until time.Time) bool {
	id, ok := job.ParseID(text)
	if !ok {
		return false
	}
	k.Pace.Yield()
	most, isDue := min(calledWait, k.Limits.SyncTime/2), false
	if wait := until.Sub(k.o.Clock()); !until.IsZero() && wait <= most {
		most, isDue = wait, true
	}
	within, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	changed, stop := k.o.Jobs.Watch(id)
	defer stop()
	for {
		v, err := k.o.Jobs.ViewWithin(within, id, 0)
		switch {
		case within.Err() != nil:
			return isDue && ctx.Err() == nil
		case err != nil:
			return false
		case v.State.Finished():
			return true
		}
		select {
		case <-changed:
		case <-within.Done():
			return isDue && ctx.Err() == nil
		}
	}
}
