package worker

import (
	"context"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/job"
	"ql/internal/journal"
	"ql/lang/bytecode"
)

// attemptJournal is the journal of an attempt, and what is decided before its effects:
// whether it stops there for the node's sake, whether a snapshot takes the journal's
// place, and what others can see of the job.
type attemptJournal struct {
	journal.Writer
	attempt    *attempt
	snapshotAt int // how long it is before a snapshot is tried again
}

const (
	// minSnapshotAt is how long a journal may be whatever the state's size.
	minSnapshotAt = 1 << 20
	// maxJournal is how long it may become where no snapshot can take its place: inside a
	// transaction, and where the state is too large for one.
	maxJournal = 64 << 20
	// maxPieces is how many pieces of files are read again at most by an attempt that follows
	// a crash: as many as 16 MiB have.
	maxPieces = 256
)

func newAttemptJournal(a *attempt) *attemptJournal {
	j := &attemptJournal{attempt: a}
	j.Init(a, a.w.holder(a.lease), max(maxJournal, 2*a.limits.SnapshotBytes))
	return j
}

// recover reads what earlier attempts committed.
func (j *attemptJournal) recover(ctx context.Context) error {
	a := j.attempt
	return j.Recover(ctx, journal.Source{
		Job: a.lease.ID, Attempt: a.lease.Attempt, Parts: a.parts, Databases: a.x.Databases(),
		Open: func(sealed []byte) ([]byte, error) { return a.open(sealJournal, sealed) },
		// As much as a script may hold, by its plan of now or of then.
		MaxValue: max(a.limits.Memory, account.Unlimited.Limits().Memory),
	})
}

// BeforeEffect implements engine.Journal.
func (j *attemptJournal) BeforeEffect(ctx context.Context, r *engine.Run) error {
	a := j.attempt
	effect := r.Machine().Effect().Kind.Info()
	switch {
	case a.phase == phaseInline && effect.Instant:
		return nil
	case a.phase == phaseInline:
		return errNotAccepted
	case j.Err() != nil:
		return j.Err()
	case a.w.draining.Load():
		return errDrain
	}
	if a.replay > 0 { // all that earlier attempts recorded has been replayed
		a.memory.Shrink(a.replay)
		a.replay = 0
	}
	if a.crashes > 0 && j.Committed() > a.recovered {
		if err := a.resetCrashes(ctx); err != nil {
			return err
		}
	}
	switch {
	case j.Len() > max(minSnapshotAt, a.snapshotSize, j.snapshotAt), j.Pieces() >= maxPieces:
		j.ResetPieces()
		if err := a.saveSnapshot(ctx, r); err != nil {
			return err
		}
	case j.ShouldFlush(), a.live.isRequested(), effect.Outside, len(j.Calls()) > 0 && !effect.Instant && !isCall(r.Machine().Effect().Kind):
		if err := j.Flush(ctx); err != nil {
			return err
		}
	}
	if err := j.BeginEffect(); err != nil {
		return err
	}
	if j.IsFlushed() {
		a.live.publish(a.spec.Trace, r.Machine(), true)
	}
	return nil
}

// isCall tells whether an effect is a part of RUN SCRIPT. Jobs that are over wait to be stored until another one comes
// that is not: a database that keeps a part of the journal as its receipt does not keep those.
func isCall(e bytecode.Effect) bool {
	return e == bytecode.EffectCallScript || e == bytecode.EffectWaitJob
}

// publish lets others see what the job has done, where they want to and all of it is
// committed: another attempt must not come to show something else.
func (j *attemptJournal) publish(ctx context.Context) {
	a := j.attempt
	if a.live.isRequested() && j.TryFlush(ctx) {
		a.live.publish(a.spec.Trace, a.machine, false)
	}
}

// truncate drops the journal, whose place a snapshot or the job's end takes. It returns
// the databases whose receipts are no longer needed.
func (j *attemptJournal) truncate() []string {
	j.snapshotAt = 0
	return j.Truncate()
}

// Lease implements journal.Host.
func (a *attempt) Lease() job.Lease { return a.lease }

// SealPart implements journal.Host.
func (a *attempt) SealPart(plain []byte) ([]byte, error) { return a.seal(sealJournal, plain) }

// StorePart implements journal.Host.
func (a *attempt) StorePart(ctx context.Context, e job.JournalEntry) error {
	return a.w.o.Queue.AppendJournal(ctx, a.lease, e)
}

// CallsStored implements journal.Host.
func (a *attempt) CallsStored(list []job.EndedCall) {
	for i := range list {
		a.w.o.OnEnded(list[i].End.State, list[i].End.Ran)
	}
}

// Aside implements journal.Host.
func (a *attempt) Aside(do func()) { a.w.o.Guard.Go("job", do) }

// Yield implements journal.Host.
func (a *attempt) Yield() { a.x.Pace.Yield() }

// The kinds of what is sealed, bound to the job.
const (
	sealTask     = "task"
	sealSnapshot = "snapshot"
	sealJournal  = "journal"
	sealForm     = "form"
	sealRequest  = "request"
	sealHistory  = "history"
	sealSignal   = "signal"
)

func sealName(kind string, id job.ID) string { return kind + ":" + id.String() }
