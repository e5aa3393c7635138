package api

import (
	"bytes"
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/wire"
	"ql/lang"
	"ql/lang/value"
	"ql/lang/vm"
)

// execution is one script on its way through the service.
type execution struct {
	*Service
	who     identity
	query   Query
	limits  account.Limits
	reach   Resources
	id      job.ID
	started time.Time
	fault   *fault.Error // of the service, that the script met
}

// run compiles a script, runs it here and records it. The caller who hangs up
// does not stop it; the account's limits do.
func (s *Service) run(ctx context.Context, who identity, c Caller, q Query, l account.Limits, a Answer) (Answer, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.SyncTime)
	defer cancel()
	reach, err := s.o.Resources(ctx, who.Account, l, c.Session)
	if err != nil {
		return a, err
	}
	if reach.Release != nil {
		defer reach.Release()
	}
	x := &execution{Service: s, who: who, query: q, limits: l, reach: reach, id: s.o.NewID(), started: s.o.Clock()}
	record := x.execute(ctx)
	a.Job = shown(&record.Record)
	a.Err = record.err
	a.Status, a.RetryAfter = x.status(&a)
	if a.Job.Status == wire.StatusComplete {
		a.Job.Status = wire.StatusOK
	}
	if reach.Session != nil {
		if id := reach.Session.ID(); id != c.Session {
			a.Session = id
		}
	}
	s.record(ctx, record.Record)
	s.o.Ran(record.State, record.Finished.Sub(record.Created))
	return a, nil
}

// result is how an execution ended: what is kept of it, and its error, which
// the record holds written.
type result struct {
	job.Record
	err *wire.Error
}

func (x *execution) execute(ctx context.Context) result {
	program, err := x.o.Programs.Compile(x.query.Script, lang.Options{Include: x.include(ctx)})
	if err != nil {
		return x.finish(nil, job.Failed, x.uncompiled(err))
	}
	machine := vm.New(program, x.limits.SyncMachine(), input(&x.query.Request))
	defer machine.Release()
	out := x.drive(ctx, engine.New(machine, x.options(), engine.State{}))
	switch out.Status {
	case engine.Done:
		return x.finish(machine, job.Complete, nil)
	case engine.Declined:
		return x.finish(machine, job.Declined, nil)
	}
	return x.finish(machine, job.Failed, x.failed(out.Err))
}

// drive runs the script to its end. Short waits are waited out.
func (x *execution) drive(ctx context.Context, run *engine.Run) engine.Outcome {
	for {
		out, err := run.Continue(ctx)
		if err != nil {
			x.blame(err)
		}
		switch {
		case out.Status == engine.Waiting && x.waitOut(ctx, out.Until):
		case out.Status == engine.Waiting, out.Status == engine.Paused:
			return x.stand(ctx, run)
		default:
			return out
		}
	}
}

// waitOut waits until a moment, and reports false at once where that is after
// the call's own time.
func (x *execution) waitOut(ctx context.Context, until time.Time) bool {
	wait := until.Sub(x.o.Clock())
	if end, ok := ctx.Deadline(); ok && wait >= time.Until(end) {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done(): // the machine then ends by its time
	}
	return true
}

// stand is where a script that waits for a person, or longer than its call, is
// to be stored. Until jobs are durable it fails.
func (x *execution) stand(ctx context.Context, run *engine.Run) engine.Outcome {
	run.Cancel(errors.New("nothing can be stored yet"))
	out, err := run.Continue(ctx)
	if err != nil {
		x.blame(err)
	}
	out.Err.Code, out.Err.Limit = "not_available", nil
	out.Err.Message = out.Err.Step + " would make the call stand still: pausing over HTTP comes with durable jobs"
	return out
}

// options are what the script may reach.
func (x *execution) options() engine.Options {
	o := engine.Options{
		Files: x.reach.Files, Databases: x.reach.Databases, Secrets: x.reach.Secrets,
		Account:   entries(entry{"username", x.who.Account.Username}, entry{"plan", string(x.who.Account.Plan)}),
		Job:       entries(entry{"id", x.id.String()}, entry{"started", x.started.UTC().Format(time.RFC3339)}),
		Quota:     x.reach.Quota,
		Clock:     x.o.Clock,
		Passwords: x.o.Passwords,
		MaxPause:  x.limits.Pause,
		Work:      x.limits.SyncMachine().Fuel,
	}
	if x.reach.Session != nil {
		o.Sessions = x.reach.Session
	}
	if !x.who.IsOwner() {
		o.Secrets = noSecrets{}
	}
	return o
}

// noSecrets is what pages find: anybody can write their Origin header.
type noSecrets struct{}

func (noSecrets) Secret(context.Context, string) (string, bool, error) {
	return "", false, value.Errorf("not_available", "secrets are not read for web pages, only for calls with credentials")
}

type entry struct{ key, text string }

// entries returns the reader of a global that holds texts.
func entries(list ...entry) func(context.Context) (value.Value, error) {
	return func(context.Context) (value.Value, error) {
		m := value.NewMap(nil, len(list))
		for _, e := range list {
			m.SetText(e.key, value.Text(e.text))
		}
		return m.Value(), nil
	}
}

// include reads the files that the script includes.
func (x *execution) include(ctx context.Context) func(string) (string, error) {
	if x.reach.Files == nil {
		return nil
	}
	return func(path string) (string, error) {
		text, err := x.reach.Files.Read(ctx, path, x.limits.ScriptBytes)
		var known *value.Error
		// A file that cannot be read may be asked for twice.
		if err != nil && !errors.As(err, &known) && x.fault == nil {
			x.blame(err)
		}
		return string(text), err
	}
}

// input is what the script finds of the caller's request.
func input(r *wire.Request) vm.Input {
	return vm.Input{Get: texts(r.Get), Post: texts(r.Post), Cookie: texts(r.Cookie), Request: texts(r.Entries)}
}

func texts(pairs []wire.Pair) value.Value {
	if len(pairs) == 0 {
		return value.Null
	}
	m := value.NewMap(nil, len(pairs))
	for _, p := range pairs {
		m.SetText(p.Name, value.Text(p.Value))
	}
	return m.Value()
}

// finish makes the record of what a machine has done; without a machine the
// script did not compile.
func (x *execution) finish(m *vm.Machine, state job.State, e *wire.Error) result {
	r := result{err: e, Record: job.Record{
		Summary: job.Summary{
			ID: x.id, Account: x.who.Account.ID, State: state, Mode: job.Sync,
			Convention: x.query.Convention, Credential: x.who.by, Created: x.started, Finished: x.o.Clock(),
		},
		Trace: []byte("[]"),
	}}
	if e != nil {
		r.Error = e.AppendJSON(nil)
	}
	if m != nil {
		r.Result = bytes.Clone(m.Output()) // the machine's own memory is used again
		r.Steps = m.Steps()
		r.Trace, r.TraceDropped = trace(m)
		r.Response = response(m)
	}
	if !isText(r.Result) {
		r.Encoding = job.Base64
	}
	return r
}

// recordTime is how long a call waits at most for its record to be taken, where
// the store has fallen far behind.
const recordTime = 10 * time.Second

// record hands the record over, to be written when there is time for it.
func (s *Service) record(ctx context.Context, r job.Record) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	if err := s.o.Jobs.Record(ctx, r); err != nil {
		s.o.Log.Error("a job was run and not recorded", "job", r.ID, "error", err)
	}
}
