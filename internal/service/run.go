package service

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/execution"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/journal"
	"ql/internal/record"
	"ql/internal/wire"
	"ql/lang/bytecode"
	"ql/lang/vm"
)

// syncRun is a script that is run while its caller waits.
type syncRun struct {
	*Service
	*execution.Execution
	who     caller
	query   *Query
	shown   job.Summary // as which it runs
	program *bytecode.Program
	machine *vm.Machine // nil before it compiled
	run     *engine.Run // nil before it ran, and where it has no effects
	ran     bool
	history *journal.Collector // nil where there is nothing to collect
	answer  answerMemory
	changed bool // it did more than read
}

// run compiles a script, runs it here and records it. The caller who hangs up
// does not stop it; the account's limits do.
func (s *Service) run(ctx context.Context, who caller, c Caller, q *Query, l account.Limits, ticket *admit.Ticket, spent *usage.Call, a Answer) (Answer, error) {
	if err := s.checkWebhook(who, q.Webhook); err != nil {
		return a, err
	}
	ctx, cancel := withTimeout(ctx, l.SyncTime)
	defer cancel()
	id := s.o.NewID()
	x, err := s.o.Host.OpenScript(ctx, id, who.Account, l, s.spec(who, c, *q, l.SyncMachine()), ticket, q.Script)
	if err != nil {
		return a, err
	}
	defer x.Close()
	k := &syncRun{Service: s, Execution: x, who: who, query: q, answer: answerMemory{CallMemory: c.Memory}}
	defer k.release()
	program, failure, err := x.Compile(ctx, q.Script)
	if err != nil {
		return a, err
	}
	if failure == nil {
		if err := s.o.Host.CheckDatabases(ctx, who.Account.ID, program); err != nil {
			return a, err
		}
	}
	if failure == nil && !(q.Page != nil && ignoresInput(program)) {
		if err := x.CheckInput(ctx, program); err != nil {
			return a, noteInput(err, q.NoInput)
		}
	}
	if err := s.reserveCall(ctx, c, q); err != nil {
		return a, err
	}
	// Not earlier: a call that was not let in is meant to be sent again, and a
	// script that does not compile to be mended.
	if key := s.idempotencyKey(who, c, *q); key != nil {
		defer s.inFlight.begin(id)()
		ticket.Yield()
		earlier, err := s.reserveKey(ctx, who.Account.ID, *key, id, failure == nil)
		if err != nil {
			return a, submitError(err, l)
		}
		if earlier != (job.ID{}) {
			return s.repeatAnswer(ctx, c, earlier, *q, func() (bool, error) { return s.o.Jobs.RunsElsewhere(ctx, who.Account.ID, *key) }, a)
		}
		_ = ticket.Turn(ctx) // where ctx has ended, the machine tells
	}
	var record result
	if failure != nil {
		record, failure = k.finish(job.Failed, failure)
	} else {
		record, failure = k.execute(ctx, program)
	}
	spent.Count(k.elapsed())
	ticket.Yield() // what is left to do may wait for the disk
	if session := x.SessionID(); session != who.Session {
		a.Session = session
	}
	if record.view != nil {
		if err := k.noRoomError(&a, "stands"); err != nil {
			return a, err
		}
		a.Job, err = s.suspendedAnswer(record.view, a.answers)
		a.Status = a.Job.HTTPStatus()
		if q.Page != nil {
			a.View = s.sealToken(who.Account.ID, pageToken{Job: id, Visitor: q.Page.Visitor})
		}
		return a, err
	}
	if record.question != nil {
		a.Job, a.Status, a.Question = execution.WireJob(&record.Record), 200, record.question
		a.OnSent = s.countServed(ctx, &record.Record, false)
		return a, k.noRoomError(&a, "stands")
	}
	a.Job, a.Err = execution.WireJob(&record.Record), failure
	a.Status, a.RetryAfter = k.status(&a)
	if a.Job.Status == wire.StatusComplete {
		a.Job.Status = wire.StatusOK
	}
	kept := s.keeps(q, &record.Record)
	if kept {
		s.record(ctx, record.Record)
	}
	if q.Page != nil {
		a.OnSent = s.countServed(ctx, &record.Record, kept)
	}
	execution.LogFailure(ctx, s.o.Log, &record.Record, failure)
	s.o.OnRun(record.State, record.Finished.Sub(record.Created))
	return a, k.noRoomError(&a, "has run")
}

// ignoresInput tells whether a program has no use for its input. That of a page is its query or its form, which have
// been read, and which it finds in !GET and !POST besides.
func ignoresInput(p *bytecode.Program) bool {
	return p.Input.IsNull() && !vm.Reads(p, bytecode.GlobalInput)
}

// spec is what a script of a caller is run with.
func (s *Service) spec(who caller, c Caller, q Query, l vm.Limits) execution.Spec {
	if q.Trace == wire.TraceNone {
		l.TraceFirst, l.TraceLast = 0, 0
	}
	owner := who.ActsForOwner() && !q.fewerRights
	if p := q.published; p != nil {
		// Who may call it as everybody may has the rights of everybody.
		owner = owner && who.MayRun(p.Name) || p.Secrets
	}
	if q.Page != nil {
		owner = false // whoever may write a file of the site could read the secrets by it
	}
	spec := execution.Spec{
		Request: q.Request, Input: q.Input, Trace: q.Trace, Session: who.Session, Owner: owner, NoMachines: !who.ActsForOwner(), Client: c.Addr, Started: s.o.Clock(), Limits: l, Uploads: q.uploads,
	}
	if q.Page != nil {
		spec.Files = q.Page.Site.files
	}
	return spec
}

// result is how a call came out: the record of a script that ended, or the job
// that it has become, or the question at which its page stands.
type result struct {
	job.Record
	view     *job.View
	question *PageQuestion // that whoever looks at a page answers, of which nothing is stored
}

func (k *syncRun) release() {
	if k.machine != nil {
		k.machine.Release()
	}
	k.history.Release()
}

func (k *syncRun) execute(ctx context.Context, program *bytecode.Program) (result, *wire.Error) {
	k.program, k.machine = program, k.Machine(ctx, program)
	k.ran = true
	if !program.HasEffects() { // so there is nothing to collect, and nothing to suspend it
		return k.compute(ctx)
	}
	k.collect()
	if k.query.Page != nil {
		k.Observe = k.noteChanges(k.Observe)
	}
	k.shown = k.summary()
	k.Execution.Job = &k.shown
	run := k.Run(k.machine, engine.State{}, nil)
	k.run = run
	out := k.drive(ctx, run)
	switch out.Status {
	case engine.Done:
		return k.finish(job.Complete, nil)
	case engine.Declined:
		return k.finish(job.Declined, nil)
	case engine.Paused, engine.Waiting:
		return k.suspend(ctx, run, out)
	}
	return k.finish(job.Failed, k.ScriptError(out.Err, k.SyncTimeLimit()))
}

// compute runs a script without effects.
func (k *syncRun) compute(ctx context.Context) (result, *wire.Error) {
	out, err := engine.Compute(ctx, k.machine, k.Pace)
	if err != nil {
		k.ReportFault(err)
	}
	if out.Status == engine.Done {
		return k.finish(job.Complete, nil)
	}
	return k.finish(job.Failed, k.ScriptError(out.Err, k.SyncTimeLimit()))
}

// collect begins to collect the results of effects, where the account keeps them.
func (k *syncRun) collect() {
	if most := k.Limits.HistoryBytes; most > 0 {
		k.history = new(journal.Collector)
		k.history.Init(k.o.Ledger.Open(admit.AccountHolder(int64(k.Account.ID))), most, 0)
		k.Observe = k.history.Observe
	}
}

// noteChanges notes whether the script does more than read, beside what else observes it.
func (k *syncRun) noteChanges(observe func(*vm.Machine, *vm.Effect, engine.Result)) func(*vm.Machine, *vm.Effect, engine.Result) {
	return func(m *vm.Machine, e *vm.Effect, t engine.Result) {
		k.changed = k.changed || !e.Kind.OnlyReads(e.Statement)
		if observe != nil {
			observe(m, e, t)
		}
	}
}

// drive runs the script to its end, or until it is suspended. Short waits are
// waited out.
func (k *syncRun) drive(ctx context.Context, run *engine.Run) engine.Outcome {
	for {
		out, err := run.Continue(ctx)
		if err != nil {
			k.ReportFault(err)
		}
		if out.Awaits.Job != "" && k.awaitCalled(ctx, out.Awaits.Job, out.Until) {
			continue
		}
		if out.Status != engine.Waiting || !out.Awaits.IsZero() || !k.waitOut(ctx, out.Until) {
			return out
		}
	}
}

// waitOut waits until a moment, and reports false at once where that is after
// the call's own time.
func (k *syncRun) waitOut(ctx context.Context, until time.Time) bool {
	wait := until.Sub(k.o.Clock())
	if end, ok := ctx.Deadline(); ok && wait >= time.Until(end) {
		return false
	}
	k.Pace.Yield()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done(): // the machine then ends by its time
	}
	return true
}

// elapsed is how long the call has run, but for what is counted as others'.
func (k *syncRun) elapsed() time.Duration {
	return max(k.o.Clock().Sub(k.Spec.Started)-k.InCalls, 0)
}

// summary is what listings show of the call.
func (k *syncRun) summary() job.Summary {
	return job.Summary{
		ID: k.ID, Account: k.Account.ID, Mode: job.Sync, Convention: k.query.Convention, Credential: k.who.By, KeyID: k.who.Key.ID, ProgramName: k.query.programName(), Created: k.Spec.Started,
	}
}

// suspend makes a durable job of a script that waits for a person, or longer than its caller, or hands
// it to who looks at its page.
func (k *syncRun) suspend(ctx context.Context, run *engine.Run, out engine.Outcome) (result, *wire.Error) {
	if k.query.Page != nil {
		question, err := k.carry(ctx, run, out)
		switch {
		case err != nil:
			return k.failUnstored(err)
		case question != nil:
			return k.asked(question), nil
		}
	}
	view, failure, err := k.adopt(ctx, run, out, k.elapsed())
	switch {
	case failure != nil:
		return k.finish(job.Failed, failure)
	case err != nil:
		return k.failUnstored(err)
	}
	return result{view: view}, nil
}

// failUnstored ends a script that should be suspended and could not be stored.
func (k *syncRun) failUnstored(err error) (result, *wire.Error) {
	k.ReportFault(err)
	k.machine.ResumeError(errUnstored) // not err, which the script might catch
	return k.finish(job.Failed, k.ScriptError(k.machine.Err(), k.SyncTimeLimit()))
}

var errUnstored = errors.New("the suspended script could not be stored")

// finish makes the record of a script that has ended.
func (k *syncRun) finish(state job.State, failure *wire.Error) (result, *wire.Error) {
	k.reserveOutput()
	record := execution.NewRecord
	if k.answer.err != nil {
		// What is not sent is stored all the same, and a copy would be counted by nobody: the
		// machine's own is, as its ticket's memory, and then by the recorder.
		record = execution.MoveRecord
	}
	now := k.o.Clock()
	r := result{Record: record(k.Spec.Trace, k.summary(), state, now, k.elapsed(), k.machine, failure)}
	if k.keeps(k.query, &r.Record) {
		r.Call = k.call(k.Execution, k.query)
	}
	if k.ran && (state == job.Failed || k.query.History) {
		if k.history == nil {
			k.collect() // of a script without effects its end alone is told
		}
		var err error
		if r.History, err = k.o.Jobs.SealHistory(k.Account.ID, k.ID, &k.Spec, k.history, k.machine); err != nil {
			k.o.Log.Error("the history of a job is not kept", "job", k.ID, "error", err)
		}
	}
	if k.run != nil {
		r.Cost.Fetches = int64(k.run.State().Fetches)
	}
	k.reserve(recordBytes(&r.Record))
	return r, failure
}

// status returns the status of the answer, and when to try again. A script's own
// codes mean nothing for it.
func (k *syncRun) status(a *Answer) (status int, retryAfter time.Duration) {
	switch f := k.Fault(); {
	case a.Err == nil:
	case f != nil:
		return f.Status(), f.RetryAfter
	case a.Err.Code == string(fault.SessionBusy):
		return fault.New(fault.SessionBusy, "").Status(), 0
	}
	return a.Job.HTTPStatus(), 0
}

// recordTime is how long a call waits at most for room for its record, where
// the store has fallen far behind.
const recordTime = record.DefaultWait

// record queues the record, to be stored in a batch. The time of the run may have
// ended.
func (s *Service) record(ctx context.Context, r job.Record) {
	if err := s.o.Records.Record(context.WithoutCancel(ctx), r); err != nil {
		s.o.Log.Error("a job was run and not recorded", "job", r.ID, "error", err)
	}
}
