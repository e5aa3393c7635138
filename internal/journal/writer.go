package journal

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"

	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/job"
	"ql/lang/bytecode"
	"ql/lang/value"
)

const (
	// MaxPending is how many bytes of results wait for a change to be committed with.
	MaxPending = 256 << 10
	// MaxCalls is how many ended calls wait so.
	MaxCalls = 32
	// uncounted is how many bytes may wait without being reserved.
	uncounted = 16 << 10
)

// Host is what a Writer needs of the attempt for which it writes.
type Host interface {
	Lease() job.Lease
	// SealPart encrypts a part.
	SealPart(plain []byte) ([]byte, error)
	// StorePart commits a part by itself.
	StorePart(ctx context.Context, e job.JournalEntry) error
	// Aside runs something beside the attempt, which ends before it does.
	Aside(do func())
	// CallsStored says that calls are committed that were given to AppendCall.
	CallsStored(list []job.EndedCall)
	// Yield gives up the leave to compute, before something waits for the disk.
	Yield()
}

// Writer is the journal of one attempt at a job: but for BeforeEffect, which is its
// host's, it is an engine.Journal. Results wait until something commits them: a change of
// the account's files or sessions in the store, a change of a database as its receipt
// there, or a part of the journal by itself where they have become many.
type Writer struct {
	host     Host
	history  History
	maxBytes int

	pending    []byte            // encoded results
	first      int64             // the step of the first of them
	external   bool              // one came from another server: to ask for it again may do something there
	committed  int               // bytes since the last snapshot
	pieces     int               // of files that were read since it
	calls      []job.EndedCall   // that pending tells of, or the effect under way
	callBytes  int64             // that they hold
	memory     admit.Reservation // of pending
	overBudget bool              // there is no memory for more of it

	parts parts // of the effect under way

	change    *commit         // of the effect under way
	databases map[string]bool // that may hold receipts
	begun     map[int64]bool  // the commands of which it is stored that they were begun
	failed    error           // of committing a result
	busy      bool            // an effect is under way

	// Of a TRANSACTION that is open: the step that began it, where its results begin in
	// pending, and whether some of them were stored; see storeProvisional.
	tx           int64
	txStart      int
	provisional  bool
	provisionals int // parts that were stored so
}

// commit is a part of the journal on its way to the disk: pending, and the result of the
// effect under way.
type commit struct {
	step       int64
	bytes      int
	checkpoint *job.Checkpoint // where the store commits it
	receipt    bool            // it was written into a database
}

// Init makes w the journal of an attempt at a job. Memory is for what waits, and maxBytes
// is how long the journal may become without a snapshot. It must not be copied then.
func (w *Writer) Init(h Host, memory admit.Reservation, maxBytes int) {
	w.host, w.memory, w.maxBytes = h, memory, maxBytes
}

// Recover reads what earlier attempts committed.
func (w *Writer) Recover(ctx context.Context, s Source) (err error) {
	w.history, err = Recover(ctx, s)
	w.committed, w.databases, w.begun = w.history.bytes, w.history.databases, maps.Clone(w.history.begun)
	return err
}

// Recorded implements engine.Journal.
func (w *Writer) Recorded(seq int64) (engine.Result, bool) { return w.history.Recorded(seq) }

// Append implements engine.Journal.
func (w *Writer) Append(r engine.Result) {
	w.busy = false
	defer w.endTransaction(r)
	if c := w.change; c != nil {
		w.change = nil
		if r.Err == nil && c.step == r.Seq && (c.receipt || c.checkpoint != nil && c.checkpoint.Committed) {
			w.dropPending()
			w.committed += c.bytes
			return
		}
	}
	if r.Kind == bytecode.EffectTxBegin && r.Err == nil {
		w.tx, w.txStart, w.provisional = r.Seq, len(w.pending), false
	}
	if r.Kind == bytecode.EffectTxRollback && w.provisional {
		w.pending = appendTransaction(w.pending, entryTxEnded, w.transaction())
	}
	if w.first == 0 {
		w.first = r.Seq
	}
	w.external = w.external || r.Kind.Info().Outside
	if r.Kind == bytecode.EffectFileRows {
		w.pieces++
	}
	w.pending = AppendResult(w.pending, r)
	// It is held twice while it is written. Where there is no memory for it, it is
	// written before the next effect.
	bytes := 2*int64(len(w.pending)) + w.callBytes
	if bytes <= uncounted {
		bytes = 0
	}
	w.overBudget = !w.memory.TryGrow(bytes - w.memory.Bytes())
}

// endTransaction notes the end of a transaction.
func (w *Writer) endTransaction(r engine.Result) {
	if r.Kind == bytecode.EffectTxRollback || r.Kind == bytecode.EffectTxCommit && r.Err == nil {
		w.tx, w.txStart, w.provisional = 0, 0, false
	}
}

func (w *Writer) transaction() transaction { return transaction{w.tx, w.host.Lease().Attempt} }

// dropPending drops the results that wait: they are committed.
func (w *Writer) dropPending() {
	if cap(w.pending) > MaxPending {
		w.pending = nil
	}
	w.pending, w.first, w.external, w.overBudget, w.txStart = w.pending[:0], 0, false, false, 0
	if len(w.calls) > 0 {
		w.host.CallsStored(w.calls)
		w.calls, w.callBytes = nil, 0
	}
	w.memory.Release()
}

// AppendCall takes a job that the effect under way has run, and that is over. It is committed with the result of that
// effect.
func (w *Writer) AppendCall(c job.EndedCall) {
	w.calls = append(w.calls, c)
	w.callBytes += c.End.Bytes()
}

// Calls are the jobs that wait to be committed with the results that wait: what commits these by itself, as a snapshot does, is
// to commit those too.
func (w *Writer) Calls() []job.EndedCall { return w.calls }

// part returns the results that wait, with one more, sealed, and the step of the first.
func (w *Writer) part(r engine.Result) (e job.JournalEntry, bytes int, err error) {
	e.Step, e.Calls = w.first, w.calls
	if e.Step == 0 {
		e.Step = r.Seq
	}
	b := w.pending[:len(w.pending):len(w.pending)]
	if r.Kind == bytecode.EffectTxCommit && w.provisional {
		b = appendTransaction(b, entryTxEnded, w.transaction())
	}
	b = AppendResult(b, r)
	e.Entries, err = w.host.SealPart(b)
	return e, len(b), err
}

// Checkpoint implements engine.Journal.
func (w *Writer) Checkpoint(ctx context.Context, r engine.Result) context.Context {
	e, bytes, err := w.part(r)
	if err != nil {
		w.failed = err
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(err)
		return ctx
	}
	c := &job.Checkpoint{Lease: w.host.Lease(), Entry: e}
	w.change = &commit{step: r.Seq, bytes: bytes, checkpoint: c}
	return job.WithCheckpoint(ctx, c)
}

// Receipt implements engine.Journal.
func (w *Writer) Receipt(ctx context.Context, database string, r engine.Result, fuel func() int64) *engine.Receipt {
	l := w.host.Lease()
	return &engine.Receipt{Job: l.ID, Attempt: l.Attempt, Step: r.Seq, Write: func(result value.Value) ([]byte, error) {
		// Before the first receipt in a database the store learns of it: that is where the
		// next attempt looks.
		if !w.databases[database] {
			if err := w.storeDatabase(ctx, database); err != nil {
				return nil, err
			}
		}
		r.Value, r.Fuel = result, fuel()
		e, bytes, err := w.part(r)
		if err != nil {
			return nil, err
		}
		w.change = &commit{step: r.Seq, bytes: bytes, receipt: true}
		return e.Entries, nil
	}}
}

// storeDatabase commits the name of a database that will hold receipts.
func (w *Writer) storeDatabase(ctx context.Context, name string) error {
	// Steps count from 1 on, so that the names of databases come first.
	step := int64(-1 - len(w.databases))
	sealed, err := w.host.SealPart(appendDatabase(nil, name))
	if err != nil {
		return err
	}
	if err := w.host.StorePart(ctx, job.JournalEntry{Step: step, Entries: sealed}); err != nil {
		return err
	}
	if w.databases == nil {
		w.databases = map[string]bool{}
	}
	w.databases[name] = true
	return nil
}

// BeforeEffectInTx implements engine.Journal.
func (w *Writer) BeforeEffectInTx(ctx context.Context) error {
	if w.failed != nil {
		return w.failed
	}
	if len(w.pending) > MaxPending || w.overBudget {
		if err := w.storeProvisional(ctx); err != nil {
			return err
		}
	}
	return w.BeginEffect()
}

// BeginEffect notes that an effect is under way. The error is that of an effect for whose
// result the journal has no room.
func (w *Writer) BeginEffect() error {
	if w.Len() <= w.maxBytes {
		w.busy = true
		return nil
	}
	w.busy = false
	if w.tx != 0 {
		return value.Exceeded("journal", int64(w.maxBytes), "what a job reads inside a TRANSACTION is kept until that ends, and may have %d bytes: read less in one, or read before it", w.maxBytes)
	}
	return value.Exceeded("journal", int64(w.maxBytes), "the script holds too much for its state to be stored, and what it has read since it began to may have %d bytes: hold less, or read less", w.maxBytes)
}

// storeProvisional commits the results that wait inside a transaction. Nobody knows yet
// whether that will have been: until it has ended, another attempt begins it again and must
// not be given what was read in it. So they are marked, and a receipt of its commit, or the
// entry of its rollback, says that they count. Steps of such parts are below those of all
// others, and differ between attempts.
func (w *Writer) storeProvisional(ctx context.Context) error {
	all, start := w.pending, w.txStart
	if start > 0 { // what came before it counts in any case
		if err := w.store(ctx, w.first, all[:start], w.calls); err != nil {
			return err
		}
	}
	marked := append(appendTransaction(nil, entryProvisional, w.transaction()), all[start:]...)
	w.provisionals++
	step := int64(-1<<40) - w.host.Lease().Attempt<<20 - int64(w.provisionals)
	if err := w.store(ctx, step, marked, nil); err != nil {
		return err
	}
	w.provisional = true
	w.dropPending()
	return nil
}

// store commits a part by itself, with the calls that it tells of.
func (w *Writer) store(ctx context.Context, step int64, entries []byte, calls []job.EndedCall) error {
	w.host.Yield()
	sealed, err := w.host.SealPart(entries)
	if err != nil {
		return err
	}
	if err := w.host.StorePart(ctx, job.JournalEntry{Step: step, Entries: sealed, Calls: calls}); err != nil {
		return err
	}
	w.committed += len(entries)
	return nil
}

// Flush commits the results that wait, by themselves. None of them is of a transaction
// that is open.
func (w *Writer) Flush(ctx context.Context) error {
	if len(w.pending) == 0 {
		return nil
	}
	if err := w.store(ctx, w.first, w.pending, w.calls); err != nil {
		return err
	}
	w.dropPending()
	return nil
}

// TryFlush is Flush where that can be done now; false where results wait that the next
// effect commits.
func (w *Writer) TryFlush(ctx context.Context) bool {
	if len(w.pending) == 0 {
		return true
	}
	if w.busy || w.tx != 0 || w.failed != nil {
		return false
	}
	w.failed = w.Flush(ctx)
	return w.failed == nil
}

// BeforeCall implements engine.Journal. The key tells nothing of the job's id, which is a
// secret: whoever has it may see the job and answer its questions.
func (w *Writer) BeforeCall(ctx context.Context, seq int64) (string, error) {
	if err := w.Flush(ctx); err != nil {
		return "", err
	}
	return w.stepKey("fetch:", seq), nil
}

// stepKey makes the key of a step.
func (w *Writer) stepKey(prefix string, seq int64) string {
	id := w.host.Lease().ID
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(append([]byte(prefix), id[:]...), uint64(seq)))
	return hex.EncodeToString(sum[:16])
}

// MailKey implements engine.Journal.
func (w *Writer) MailKey(seq int64) string { return w.stepKey("mail:", seq) }

// begunStep is where the note stands that the command of a step was begun: below all other parts, so
// that it does not count as something that the job has done.
const begunStep = -1 << 50

// BeforeCommand implements engine.Journal.
func (w *Writer) BeforeCommand(ctx context.Context, seq int64) (key string, repeated bool, err error) {
	if err := w.Flush(ctx); err != nil {
		return "", false, err
	}
	if !w.begun[seq] {
		if err := w.store(ctx, begunStep-seq, appendBegun(nil, seq), nil); err != nil {
			return "", false, err
		}
		if w.begun == nil {
			w.begun = map[int64]bool{}
		}
		w.begun[seq] = true
	}
	return w.stepKey("run:", seq), w.history.begun[seq], nil
}

// parts are the results of parts of an effect, until they are committed.
type parts struct {
	seq     int64
	first   int // the index of the first that waits
	waiting []byte
	flush   chan error // of those on their way to the disk; nil where none are
}

// partStep is where parts stand in the journal, by the effect and the first of them: below all other
// entries.
const (
	partStep    = -1 << 60
	maxPartBits = 20 // of an index
)

// RecordedPart implements engine.Journal.
func (w *Writer) RecordedPart(seq int64, i int) (engine.Result, bool) {
	return w.history.RecordedPart(seq, i)
}

// AppendPart implements engine.Journal.
func (w *Writer) AppendPart(ctx context.Context, i int, r engine.Result, flush bool) {
	p := &w.parts
	if len(p.waiting) == 0 {
		p.seq, p.first = r.Seq, i
	}
	p.waiting = AppendPart(p.waiting, i, r)
	if !flush && len(p.waiting) <= MaxPending {
		return
	}
	if p.flush != nil {
		select {
		case err := <-p.flush:
			w.endFlush(err)
		default:
			if len(p.waiting) <= MaxPending {
				return // it is still busy with those before
			}
			w.endFlush(<-p.flush)
		}
	}
	if w.failed != nil {
		return
	}
	sealed, err := w.host.SealPart(p.waiting)
	if err != nil {
		w.failed = err
		return
	}
	e := job.JournalEntry{Step: partStep - p.seq<<maxPartBits - int64(p.first), Entries: sealed}
	w.committed += len(p.waiting)
	p.waiting = p.waiting[:0]
	done := make(chan error, 1)
	p.flush = done
	w.host.Aside(func() { done <- w.host.StorePart(ctx, e) })
}

func (w *Writer) endFlush(err error) {
	w.parts.flush = nil
	if err != nil && w.failed == nil {
		w.failed = err
	}
}

// EndParts implements engine.Journal. What waits is committed with the result of the effect.
func (w *Writer) EndParts(context.Context) error {
	w.awaitParts()
	p := &w.parts
	if len(p.waiting) > 0 {
		if w.first == 0 {
			w.first = p.seq
		}
		w.pending = append(w.pending, p.waiting...)
		if cap(p.waiting) > MaxPending {
			p.waiting = nil
		}
		p.waiting = p.waiting[:0]
	}
	return w.failed
}

// awaitParts waits for parts on their way to the disk.
func (w *Writer) awaitParts() {
	if w.parts.flush != nil {
		w.endFlush(<-w.parts.flush)
	}
}

// Err is why nothing can be recorded any more, or nil.
func (w *Writer) Err() error { return w.failed }

// Len is how many bytes the journal has since the last snapshot.
func (w *Writer) Len() int { return w.committed + len(w.pending) }

// Pieces is how many pieces of files were read since the last snapshot, or since ResetPieces:
// the journal keeps but their places, and another attempt would read them again.
func (w *Writer) Pieces() int { return w.pieces }

// ResetPieces counts them from here on.
func (w *Writer) ResetPieces() { w.pieces = 0 }

// Committed is how many of them are committed.
func (w *Writer) Committed() int { return w.committed }

// IsFlushed reports whether nothing waits.
func (w *Writer) IsFlushed() bool { return len(w.pending) == 0 }

// ShouldFlush reports whether what waits is to be committed before another effect.
func (w *Writer) ShouldFlush() bool {
	return len(w.pending) > MaxPending || w.external || w.overBudget || len(w.calls) >= MaxCalls || w.callBytes > MaxPending
}

// Truncate drops all of it: a snapshot takes its place. It returns the databases whose
// receipts are no longer needed.
func (w *Writer) Truncate() []string {
	var names []string
	for name := range w.databases {
		names = append(names, name)
	}
	clear(w.databases)
	clear(w.begun)
	w.dropPending()
	w.committed, w.pieces = 0, 0
	return names
}

// Release gives back the memory of what waits.
func (w *Writer) Release() {
	w.awaitParts()
	w.memory.Release()
}
