package worker

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/execution"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/journal"
	"ql/internal/member"
	"ql/internal/principal"
	"ql/internal/wire"
	"ql/lang/bytecode"
	"ql/lang/vm"
)

// attempt is one try at running a job, from its start or from where an earlier one
// stopped. It steps through phases, each of which makes a part of it that later ones read.
type attempt struct {
	w      *Worker
	phase  phase
	memory admit.Reservation // of what it holds beside the script's own

	claim
	header
	task
	resumePoint
	scriptRun
}

// claim is made when the job is claimed. Before that the lease has the job's id and account
// alone.
type claim struct {
	lease       job.Lease
	from        job.State   // that the job was claimed in
	head        *job.Head   // as it was claimed; nil where it is to be read
	brought     *job.Stored // likewise, what it was accepted with; nil where it is to be loaded
	live        *liveJob
	releaseSlot func()
	probe       bool // it is the one that runs of those in quarantine
}

// header is what is known of a job before it is loaded: of its submission or reply, or made
// when it is prepared.
type header struct {
	job       *job.Summary
	account   account.Account
	limits    account.Limits
	sizes     job.Sizes
	ran       time.Duration // of earlier attempts
	failures  int           // in a row
	crashes   int           // likewise, of attempts that ended with their process
	webhook   bool          // its end or its pauses are delivered to somebody
	keyed     bool          // it has a concurrency key
	leftovers bool          // there are rows to delete in the end
	// historyBytes is how many bytes of its history are stored.
	historyBytes int64
}

// task is what a job was accepted with: of its submission or reply, or made when it is
// loaded. It is loaded where it has a program.
type task struct {
	spec    execution.Spec
	program *bytecode.Program
}

// resumePoint is where the script continues: of an inline run or a reply, or made when it is
// loaded. The zero resumePoint is the script's start.
type resumePoint struct {
	engineState  engine.State
	machine      *vm.Machine // nil at the script's start
	parts        [][]byte    // of the journal, as stored, to be replayed
	replay       int64       // bytes reserved for that
	snapshotSize int
	saved        int64 // how much of the output is stored
}

// scriptRun is what a script runs with: made by an inline run or a reply, or when it runs.
type scriptRun struct {
	// ticket is its leave to compute and to hold the script's memory; nil before it is
	// admitted. It goes when nothing is left to do but to wait for the disk.
	ticket    *admit.Ticket
	x         *execution.Execution
	journal   *attemptJournal
	began     time.Time
	recovered int // bytes of the journal that earlier attempts committed
	receipts  receipts
	fetches   int // calls to other servers, of all attempts
	history   *journal.Collector
	failure   *wire.Error // that its job ended with
}

// receipts are those of a job that are no longer needed: in which databases, and
// up to which step; see engine.Databases.
type receipts struct {
	databases []string
	upTo      int64
}

func (a *attempt) seal(kind string, plain []byte) ([]byte, error) {
	return a.w.o.Sealer.Seal(a.lease.Account, sealName(kind, a.lease.ID), plain)
}

func (a *attempt) open(kind string, sealed []byte) ([]byte, error) {
	return a.w.o.Sealer.Open(a.lease.Account, sealName(kind, a.lease.ID), sealed)
}

// run drives a job until it is finished, suspended or interrupted. It never panics.
func (w *Worker) run(a *attempt, releaseSlot func()) {
	a.enter(phaseClaimed)
	a.releaseSlot = releaseSlot
	ctx, cancel := context.WithCancelCause(w.ctx)
	defer cancel(nil)
	a.register(cancel)
	defer a.close()
	defer a.releaseTicket()
	defer a.unregister()
	err := a.guarded(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause // whatever it looked like where it was interrupted
	}
	if err != nil {
		// After a panic here the job continues when its lease ends.
		_ = w.o.Guard.Do("job", func() { a.resolve(ctx, err) }) // it was logged
	}
	if !a.phase.isOver() {
		a.enter(phaseReleased)
	}
}

// register lets others see the attempt, and interrupt it.
func (a *attempt) register(cancel context.CancelCauseFunc) {
	w, id := a.w, a.lease.ID
	a.live = &liveJob{
		lease: a.lease, cancel: cancel, changed: make(chan struct{}), done: make(chan struct{}), lastPublished: time.Now(),
		notify: func() { w.notify(id) }, memory: w.o.Ledger.Open(admit.AccountHolder(int64(a.lease.Account))),
	}
	w.mu.Lock()
	w.live[id] = a.live
	w.countWatchers(id)
	w.mu.Unlock()
	w.notify(id)
}

// unregister takes the attempt out of sight, and does what nobody waits for.
func (a *attempt) unregister() {
	w := a.w
	close(a.live.done)
	a.live.memory.Release()
	w.mu.Lock()
	if w.live[a.lease.ID] == a.live {
		delete(w.live, a.lease.ID)
	}
	w.mu.Unlock()
	w.notify(a.lease.ID)
	if a.phase != phaseFinished || a.keyed || a.job != nil && a.job.Convention == job.Script {
		w.nudge() // it, or one that waited for it or its key, may be due before anything else
	}
	a.releaseTicket()
	if len(a.receipts.databases) > 0 {
		a.releaseSlot()
		_ = w.o.Guard.Do("job", a.deleteReceiptsAside) // it was logged
	}
}

// guarded is drive; a panic is an error.
func (a *attempt) guarded(ctx context.Context) error {
	return a.w.o.Guard.DoErr("job", func() error { return a.drive(ctx) })
}

// releaseTicket gives back the leave to compute, and the script's memory.
func (a *attempt) releaseTicket() {
	if a.ticket != nil {
		a.ticket.Release()
	}
}

func (a *attempt) close() {
	if a.x != nil {
		a.x.Close()
	}
	if a.machine != nil {
		a.machine.Release()
	}
	if a.journal != nil {
		a.journal.Release()
	}
	a.releaseHistory()
	a.memory.Release()
}

// drive steps through an attempt. The error says that it was interrupted: whether the job
// has another, and when, is resolved by the caller.
func (a *attempt) drive(ctx context.Context) error {
	isLoaded := a.program != nil
	if !isLoaded {
		if err := a.prepare(ctx); err != nil {
			return err
		}
	}
	if err := a.admit(ctx); err != nil {
		return err
	}
	if !isLoaded {
		if err := a.load(ctx); err != nil {
			return err
		}
	}
	if a.w.runsElsewhere(ctx, a.lease.Account, a.program).is { // it was answered here
		return errElsewhere
	}
	return a.start(ctx)
}

// start runs the script, and stores how that came out.
func (a *attempt) start(ctx context.Context) (err error) {
	a.enter(phaseRunning)
	a.began = time.Now()
	ctx, cancel := context.WithTimeout(ctx, max(a.limits.AsyncTime-(a.ran-a.engineState.RanBefore), 0))
	defer cancel()
	if a.x == nil {
		if a.x, err = a.w.o.Host.Open(ctx, a.lease.ID, a.account, a.limits, a.spec, a.ticket); err != nil {
			return err
		}
	}
	a.x.Pace = &pace{Ticket: a.ticket, attempt: a}
	if a.machine == nil {
		a.machine = a.x.Machine(ctx, a.program)
	}
	if a.journal == nil {
		a.journal = newAttemptJournal(a)
	}
	if len(a.parts) > 0 {
		if err := a.journal.recover(engine.WithPace(ctx, a.x.Pace)); err != nil {
			return err
		}
	}
	a.recovered, a.parts = a.journal.Committed(), nil
	run := a.newRun(a.journal)
	if a.from == job.Paused {
		if err := a.expire(ctx, run); err != nil {
			return err
		}
	}
	out, err := run.Continue(ctx)
	a.fetches = run.State().Fetches
	return a.storeOutcome(ctx, run, out, err)
}

// ask is what the attempt needs to compute.
func (a *attempt) ask() admit.Request {
	return admit.Request{Account: int64(a.lease.Account), Max: a.limits.Concurrent, Memory: a.limits.Memory, Visitor: a.isOfVisitor()}
}

// isOfVisitor tells whether somebody started the job who has no credentials of its account.
func (a *attempt) isOfVisitor() bool {
	return a.job.Credential == principal.ByOrigin || a.job.Credential == principal.ByNobody
}

// admit waits for the account's turn, however long it takes.
func (a *attempt) admit(ctx context.Context) error {
	ticket, err := a.awaitTicket(ctx)
	if err != nil {
		return err
	}
	a.ticket = ticket
	a.enter(phaseAdmitted)
	if a.crashes > 0 { // while it waited it did nothing that could have ended the process
		ticket.Yield()
		return a.w.o.Queue.MarkStarted(ctx, a.lease)
	}
	return nil
}

func (a *attempt) awaitTicket(ctx context.Context) (*admit.Ticket, error) {
	for {
		t, err := a.w.o.Gate.Acquire(ctx, a.ask())
		var refused *admit.Refused
		if !errors.As(err, &refused) {
			return t, err
		}
		timer := time.NewTimer(time.Second) // the queue may have been too long to wait in
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// prepare reads the job's row, and reserves the memory to load it. The attempt is counted
// since it was claimed, so that whatever the job does to the process, it does it no more
// than a few times.
func (a *attempt) prepare(ctx context.Context) error {
	h, err := a.readHead(ctx)
	if err != nil {
		return err
	}
	a.job, a.ran, a.failures, a.crashes, a.webhook, a.sizes, a.keyed = &h.Summary, h.Ran, h.Failures, h.Crashes, h.Webhook != "", h.Sizes, h.Keyed
	a.leftovers = a.leftovers || h.Sizes.Journal > 0 || h.Sizes.Snapshot > 0 || h.Sizes.Output > 0
	if a.crashes > 0 {
		a.w.crashes.Add(1)
	}
	switch {
	case h.Stopping:
		return errStopped
	case a.crashes >= maxCrashes:
		return errPoison
	case a.crashes > 0:
		a.w.o.Log.Warn("a job is resumed whose last attempts ended with their process", "job", a.lease.ID, "account", a.lease.Account, "attempt", a.lease.Attempt, "crashes", a.crashes)
	case a.from == job.Running:
		a.w.o.Log.Info("a job is resumed that an attempt was interrupted at", "job", a.lease.ID, "account", a.lease.Account, "attempt", a.lease.Attempt, "failures", a.failures)
	}
	if a.account, err = a.w.o.Accounts.ByID(ctx, h.Account); err != nil {
		return err
	}
	a.limits = a.account.Limits(a.w.o.Limits)
	if err := a.reserveToLoad(ctx); err != nil {
		return err
	}
	a.enter(phasePrepared)
	return nil
}

// readHead returns what is known of the job, as it was claimed or as it is stored.
func (a *attempt) readHead(ctx context.Context) (*job.Head, error) {
	if a.head != nil {
		return a.head, nil
	}
	h, err := a.w.o.Queue.Head(ctx, a.lease.ID)
	switch {
	case errors.Is(err, job.ErrNotFound):
		return nil, job.ErrLeaseLost
	case err != nil:
		return nil, err
	case h.Lease.Attempt != a.lease.Attempt || h.State != job.Running:
		return nil, job.ErrLeaseLost
	}
	return h, nil
}

// load reads what the job was accepted with, and where it continues, for which memory is
// reserved.
func (a *attempt) load(ctx context.Context) error {
	s := a.brought
	if a.brought = nil; s == nil {
		a.ticket.Yield()
		var err error
		if s, err = a.w.o.Queue.Load(ctx, a.lease.Seq); err != nil {
			return err
		}
	}
	if s.Lease.Attempt != a.lease.Attempt {
		return job.ErrLeaseLost
	}
	if err := a.decode(ctx, s, a.ticket, false); err != nil {
		return err
	}
	a.replay = counted(toRecover(a.sizes))
	a.shrinkMemory(toRun(&a.spec, a.program) + a.replay)
	a.enter(phaseLoaded)
	return nil
}

// decode has the attempt continue from what is stored. Where it has no ticket, the script's
// own memory is reserved too.
func (a *attempt) decode(ctx context.Context, s *job.Stored, p engine.Pace, reserve bool) error {
	if err := p.Turn(ctx); err != nil {
		return err
	}
	plain, err := a.open(sealTask, s.Spec)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(plain, &a.spec); err != nil {
		return err
	}
	if a.program, err = a.w.program(ctx, s.Program); err != nil {
		return err
	}
	a.job, a.parts, a.ran, a.failures = &s.Summary, s.Journal, s.Ran, s.Failures
	a.webhook, a.historyBytes = s.Webhook != "", s.HistoryBytes
	a.leftovers = a.leftovers || len(s.Journal) > 0 || s.Snapshot != nil || len(s.Output) > 0
	if s.Snapshot == nil {
		return nil
	}
	if plain, err = a.open(sealSnapshot, s.Snapshot); err != nil {
		return err
	}
	a.snapshotSize = len(plain)
	return a.restore(ctx, p, plain, s.Output, reserve)
}

func (a *attempt) restore(ctx context.Context, p engine.Pace, stored, output []byte, reserve bool) error {
	state, snapshot, err := engine.DecodeState(stored)
	if err != nil {
		return err
	}
	a.engineState = state
	if reserve {
		bytes, err := vm.Weight(snapshot)
		if err != nil {
			return err
		}
		p.Yield() // it may wait
		if err := a.memory.Grow(ctx, counted(bytes)); err != nil {
			return err
		}
	}
	m, err := vm.Restore(ctx, p, a.program, snapshot, output)
	if err != nil {
		return err
	}
	a.machine = m
	a.beginDay()
	a.saved = int64(len(m.Output()))
	return nil
}

// dayOf counts the days since 1970, in UTC.
func dayOf(t time.Time) int64 { return t.Unix() / int64(24*time.Hour/time.Second) }

// beginDay has a job that was suspended on an earlier day begin this one with all of its fuel and time:
// a script that does a little each day may live for years.
func (a *attempt) beginDay() {
	s := &a.engineState
	if s.Day == 0 || dayOf(a.w.o.Clock()) <= s.Day {
		return
	}
	s.FuelBefore += a.machine.Refuel()
	s.RanBefore, s.Refueled = a.ran, true
}

// expire raises in the script that nobody answered in time. That is stored first: a later
// attempt finds the question gone.
func (a *attempt) expire(ctx context.Context, run *engine.Run) error {
	result, err := run.Expire()
	if err != nil {
		return err
	}
	sealed, err := a.SealPart(journal.AppendResult(nil, result))
	if err != nil {
		return err
	}
	a.leftovers = true
	return a.StorePart(ctx, job.JournalEntry{Step: result.Seq, Entries: sealed})
}

// storeOutcome stores how a run came out.
func (a *attempt) storeOutcome(ctx context.Context, run *engine.Run, out engine.Outcome, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errStopped), errors.Is(cause, errLeaseLost), errors.Is(cause, errDrain), errors.Is(cause, errAccountDisabled):
		return cause
	}
	switch out.Status {
	case engine.Interrupted:
		if errors.Is(err, errDrain) {
			_ = a.x.Pace.Turn(ctx) // where its time is over, it is stored all the same
			return errors.Join(err, a.saveSnapshot(context.WithoutCancel(ctx), run))
		}
		return err
	case engine.Paused, engine.Waiting:
		if err != nil {
			return err
		}
		return a.suspend(ctx, run, out)
	}
	state, failure := a.outcome(out, err)
	return a.finish(ctx, state, failure)
}

// outcome returns in which state, and with what failure, a run that is over leaves its
// job.
func (a *attempt) outcome(out engine.Outcome, err error) (job.State, *wire.Error) {
	switch out.Status {
	case engine.Done:
		return job.Complete, nil
	case engine.Declined:
		return job.Declined, nil
	}
	if err != nil {
		a.x.ReportFault(err)
	}
	state := job.Failed
	if isExpiry(out.Err) {
		state = job.Expired
	}
	return state, a.x.ScriptError(out.Err, a.x.AsyncTimeLimit())
}

// isExpiry reports whether a script ended at a question that nobody answered in
// time: the same code raised elsewhere is the script's own.
func isExpiry(e *vm.Error) bool {
	switch e.Step {
	case "CONFIRM", "GATHER", "RUN SCRIPT", "WAIT FOR", "WAIT FOR SIGNAL":
		return e.Code == engine.Expired
	}
	return false
}

// elapsed is how long the job has run, this attempt with it, but for what is counted as others'.
func (a *attempt) elapsed() time.Duration {
	if a.began.IsZero() {
		return a.ran
	}
	own := time.Since(a.began)
	if a.x != nil {
		own -= a.x.InCalls
	}
	return a.ran + max(own, 0)
}

// snapshot returns the state to store, sealed, and what there is to show.
func (a *attempt) snapshot(ctx context.Context, run *engine.Run, suspends bool) ([]byte, job.Progress, error) {
	var pace vm.Pace
	if a.x != nil {
		pace = a.x.Pace
	}
	state, err := run.Machine().Snapshot(context.WithoutCancel(ctx), pace)
	if err != nil {
		return nil, job.Progress{}, err
	}
	held := job.HeldFiles{Refs: run.HeldFiles(), At: a.w.o.Clock()}
	if !a.w.o.Unlimited {
		held.MostBytes = a.limits.StorageBytes
	}
	of := run.State()
	of.Day = 0
	if suspends {
		of.Day = dayOf(a.w.o.Clock())
	}
	plain, err := engine.EncodeState(of, state)
	if err != nil {
		return nil, job.Progress{}, err
	}
	a.snapshotSize = len(plain)
	// It is held three times until it is stored. Whoever waits for that long with a
	// ticket in its hands would keep others waiting: it continues all the same.
	if bytes := counted(3 * int64(len(plain))); !a.memory.TryGrow(bytes) {
		if a.x != nil {
			a.x.Pace.Yield()
		}
		_ = a.memory.Grow(ctx, bytes)
		if a.x != nil {
			_ = a.x.Pace.Turn(ctx) // where ctx has ended, it is stored all the same
		}
	}
	sealed, err := a.seal(sealSnapshot, plain)
	p := execution.Progress(a.spec.Trace, run.Machine(), a.saved)
	p.Ran, p.Format, p.Files = a.elapsed(), vm.SnapshotFormat, held
	if a.journal != nil {
		p.Calls = a.journal.Calls()
	}
	return sealed, p, err
}

// saveSnapshot stores a snapshot in place of the journal.
func (a *attempt) saveSnapshot(ctx context.Context, run *engine.Run) error {
	held := a.memory.Bytes()
	defer func() { a.memory.Shrink(a.memory.Bytes() - held) }()
	sealed, p, err := a.snapshot(ctx, run, false)
	if err != nil {
		return err
	}
	if a.snapshotSize > a.limits.SnapshotBytes {
		// The journal grows instead. To look again whether the state has become
		// smaller costs as much as it is large: so that is done ever less often.
		a.journal.snapshotAt = 2 * a.journal.Len()
		return a.journal.Flush(ctx)
	}
	p.History = a.historyPart()
	a.x.Pace.Yield()
	if err := a.w.o.Queue.SaveSnapshot(ctx, a.lease, sealed, p); err != nil {
		return err
	}
	a.history.Stored()
	a.saved = p.From + int64(len(p.Output))
	a.leftovers, a.failures, a.recovered = true, 0, 0
	done := receipts{a.journal.truncate(), run.Machine().Effect().Seq}
	a.deleteReceipts(engine.WithPace(ctx, a.x.Pace), done)
	return nil
}

// deleteReceipts deletes receipts that are no longer needed. Those that stay for a fault
// are never looked at again, and are deleted by the node's upkeep.
func (a *attempt) deleteReceipts(ctx context.Context, r receipts) {
	for _, name := range r.databases {
		if err := a.x.Databases().DeleteReceipts(ctx, name, a.lease.ID, r.upTo); err != nil {
			a.w.o.Log.Warn("receipts of a job stay in its database", "job", a.lease.ID, "error", err)
		}
	}
}

// deleteTime is how long an attempt that is over takes to delete receipts, and to wait for
// its turns to. What is left then, the node's upkeep deletes.
const deleteTime = 5 * time.Second

// deleteReceiptsAside deletes the receipts of an attempt that is over. It has released its
// ticket, so that it needs another.
func (a *attempt) deleteReceiptsAside() {
	ctx, cancel := context.WithTimeout(a.w.ctx, deleteTime)
	defer cancel()
	ticket := a.w.o.Gate.Auxiliary(int64(a.lease.Account))
	defer ticket.Release()
	a.deleteReceipts(engine.WithPace(ctx, ticket), a.receipts)
}

// suspend stores a job that waits for somebody or for a moment.
func (a *attempt) suspend(ctx context.Context, run *engine.Run, out engine.Outcome) error {
	_ = a.x.Pace.Turn(ctx) // where its time is over, it is stored all the same
	s, err := a.suspension(ctx, run, out)
	if err == nil {
		a.releaseTicket()
		err = a.commit(ctx, func(ctx context.Context) error { return a.w.o.Queue.Suspend(ctx, a.lease, s) })
	}
	if errors.Is(err, job.ErrStopping) {
		return errStopped
	}
	if failure := SuspendRefused(err, a.limits, run.Machine()); failure != nil {
		return a.finish(ctx, job.Failed, failure)
	}
	if err != nil {
		return err
	}
	// Another attempt may have begun by now, whose receipts come after this step.
	a.receipts = receipts{a.journal.truncate(), run.Machine().Effect().Seq}
	a.enter(phaseSuspended)
	if s.Prompt != nil && a.webhook {
		a.w.o.OnDelivery()
	}
	return nil
}

// suspension is what is stored of a run that is suspended. The error may be a *tooLarge.
func (a *attempt) suspension(ctx context.Context, run *engine.Run, out engine.Outcome) (*job.Suspension, error) {
	sealed, p, err := a.snapshot(ctx, run, true)
	if err != nil {
		return nil, err
	}
	if a.snapshotSize > a.limits.SnapshotBytes {
		return nil, &tooLarge{a.snapshotSize}
	}
	p.History = a.historyPart()
	s := &job.Suspension{State: job.Waiting, Until: out.Until, Snapshot: sealed, Progress: p}
	if !a.w.o.Unlimited {
		s.Most, s.MostBytes = a.limits.Suspended, a.limits.SuspendedBytes
	}
	if state := run.State(); out.Status == engine.Waiting && state.Sent == state.Asked+1 {
		token := sha256.Sum256([]byte(a.w.o.Host.FormToken(a.lease.Account, a.lease.ID, state.Asked)))
		s.Announced = &token
	}
	if !out.Awaits.IsZero() {
		s.At, s.AwaitsSignal = a.w.o.Clock().Truncate(time.Microsecond), out.Awaits.Signal
		s.AwaitsJob, _ = job.ParseID(out.Awaits.Job)
	}
	if out.Status == engine.Paused {
		s.State, s.Until, s.At = job.Paused, out.Prompt.Expires, a.w.o.Clock().Truncate(time.Microsecond)
		if s.Prompt, err = a.w.prompt(a.lease, out.Prompt); err != nil {
			return nil, err
		}
		if a.account.ShowEffects {
			if s.Prompt.Follows, err = json.Marshal(run.Machine().Prospect()); err != nil {
				return nil, err
			}
		}
	}
	s.Until = s.Until.Truncate(time.Microsecond) // as it is read again
	return s, nil
}

// newEnd is what is stored of the end of a job.
func (a *attempt) newEnd(state job.State, failure *wire.Error) *job.End {
	e := &job.End{
		Record:    execution.NewRecord(a.spec.Trace, *a.job, state, a.w.o.Clock(), a.elapsed(), a.machine, failure),
		Leftovers: a.leftovers || a.lease.Attempt > 1 || a.journal != nil && a.journal.Committed() > 0,
	}
	e.Cost.Fetches = int64(a.fetches)
	e.Cost.Fuel += a.engineState.FuelBefore
	e.History = a.lastHistory()
	if a.journal != nil {
		e.Calls = a.journal.Calls()
	}
	if a.webhook {
		e.Delivery = job.DeliveryID(a.job.ID)
	}
	a.failure = failure
	return e
}

// notifyEnd tells metrics, webhooks and the log that a job ended.
func (a *attempt) notifyEnd(e *job.End) {
	a.w.o.OnEnded(e.State, e.Ran)
	execution.LogFailure(a.w.ctx, a.w.o.Log, &e.Record, a.failure)
	if a.webhook {
		a.w.o.OnDelivery()
	}
}

// finish stores the end of a job.
func (a *attempt) finish(ctx context.Context, state job.State, failure *wire.Error) error {
	e := a.newEnd(state, failure)
	a.releaseTicket()
	a.releaseSlot() // nothing is left to do but to wait for the disk
	if err := a.commit(ctx, func(ctx context.Context) error { return a.w.o.Queue.Finish(ctx, a.lease, e) }); err != nil {
		return err
	}
	a.enter(phaseFinished)
	a.notifyEnd(e)
	if a.journal != nil && a.x != nil {
		a.receipts = receipts{a.journal.truncate(), -1}
		if a.lease.Attempt > 1 {
			a.receipts.upTo = math.MaxInt64 // the mark still shuts out earlier attempts
		}
	}
	return nil
}

// finishInterrupted ends a job that does not continue. Where it was not loaded, it ends with
// what the store has to show of it: what it brought may be what cannot be read.
func (a *attempt) finishInterrupted(ctx context.Context, state job.State, failure *wire.Error) error {
	if a.machine != nil && a.job != nil {
		return a.finish(ctx, state, failure)
	}
	a.releaseTicket()
	a.releaseSlot()
	// All that is read of it is what it has put out.
	a.memory.Release()
	if err := a.memory.GrowBlocking(ctx, counted(2*(a.sizes.Output+a.sizes.Snapshot))); err != nil && tooLargeForNode(err) == nil {
		return err
	}
	var text []byte
	if failure != nil {
		text = failure.AppendJSON(nil)
	}
	if err := a.commit(ctx, func(ctx context.Context) error {
		return a.w.o.Queue.FinishAsStored(ctx, a.lease, state, a.w.o.Clock(), text, job.DeliveryID(a.lease.ID))
	}); err != nil {
		return err
	}
	a.enter(phaseFinished)
	execution.LogFailure(ctx, a.w.o.Log, &job.Record{Summary: job.Summary{ID: a.lease.ID, Account: a.lease.Account, Mode: job.Async, State: state}, Ran: a.ran}, failure)
	a.w.o.OnEnded(state, a.ran)
	a.w.o.OnDelivery()
	return nil
}

// commitTime is how long the acceptance of a job, or the end of an attempt, may take
// to be stored.
const commitTime = 10 * time.Second

// detached is for what is to be stored whether or not its caller still waits.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), commitTime)
}

// commit stores the end of an attempt, also where its own time is over. A fault
// of the store leaves open whether it was done; a second time then finds the
// job in other hands, which is as good.
func (a *attempt) commit(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := detached(ctx)
	defer cancel()
	err := do(ctx)
	if err == nil || isDecided(err) {
		return err
	}
	a.w.o.Log.Warn("the end of an attempt at a job was not stored at first", "job", a.lease.ID, "error", err)
	return do(ctx)
}

// isDecided reports whether the store has answered: the same again comes to the same.
func isDecided(err error) bool {
	for _, known := range []error{job.ErrLeaseLost, job.ErrStopping, job.ErrSuspendLimit, job.ErrStorageLimit} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// maxFailures is how many attempts in a row may be interrupted by faults of the service
// before the job fails.
const maxFailures = 10

var errGivenUp = errors.New("the job was given up")

// resolve decides what becomes of a job whose attempt was interrupted.
func (a *attempt) resolve(ctx context.Context, err error) {
	w := a.w
	ctx, cancel := detached(ctx)
	defer cancel()
	switch {
	case errors.Is(err, job.ErrLeaseLost), errors.Is(err, engine.ErrSuperseded), errors.Is(err, errLeaseLost):
		return // somebody else has it
	case errors.Is(err, errDrain), errors.Is(err, errElsewhere):
		err = w.o.Queue.Release(ctx, a.lease, w.o.Clock(), a.failures, a.elapsed())
		w.hint(member.HintDue)
	case errors.Is(err, errAccountDisabled):
		err = w.o.Queue.Release(ctx, a.lease, w.o.Clock().Add(disabledRecheck), a.failures, a.elapsed())
	case errors.Is(err, errStopped):
		err = a.finishInterrupted(ctx, job.Cancelled, nil)
	case errors.Is(err, account.ErrNotFound):
		return // its rows go with it
	case errors.Is(err, errPoison):
		w.o.Log.Error("a job was given up since each attempt at it ended with its process", "job", a.lease.ID, "account", a.lease.Account, "crashes", a.crashes)
		err = a.finishInterrupted(ctx, job.Failed, crashed())
	case tooLargeForNode(err) != nil:
		refused := tooLargeForNode(err)
		w.o.Log.Error("a job was given up since it needs more memory than the node has for one", "job", a.lease.ID, "account", a.lease.Account, "error", err)
		err = a.finishInterrupted(ctx, job.Failed, &wire.Error{Code: refused.Code(), Message: "to go on with the job " + refused.Error()})
	default:
		if a.journal != nil && a.journal.Committed() > a.recovered {
			a.failures = 0 // it got on
		}
		a.failures++
		if a.failures >= maxFailures {
			coded := fault.Of(err)
			if a.machine != nil {
				a.machine.ResumeError(errGivenUp) // so that its trace ends with what failed
			}
			w.o.Log.Error("a job was given up after faults of the service", "id", coded.ID, "job", a.lease.ID, "failures", a.failures, "error", err)
			err = a.finishInterrupted(ctx, job.Failed, &wire.Error{Code: string(coded.Code), Message: coded.Message, ID: coded.ID})
			break
		}
		again := w.o.Retry << min(a.failures-1, 6)
		w.o.Log.Error("an attempt at a job was interrupted and will be repeated", "job", a.lease.ID, "failures", a.failures, "after", again, "error", err)
		err = w.o.Queue.Release(ctx, a.lease, w.o.Clock().Add(again), a.failures, a.elapsed())
	}
	if err != nil && !errors.Is(err, job.ErrLeaseLost) {
		w.o.Log.Error("the end of an attempt at a job was not stored: the job is resumed when its lease ends", "job", a.lease.ID, "error", err)
	}
}
