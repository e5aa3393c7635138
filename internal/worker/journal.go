package worker

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/job"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// journal is what one attempt at a job was told, see engine.Journal. Results
// wait in pending until something commits them: a change of the account's
// files or sessions in the store, a change of a database as its receipt there,
// or the journal by itself where they have become many.
type journal struct {
	attempt *attempt
	ahead   bool            // the job is not accepted yet
	told    map[int64]entry // to earlier attempts

	pending []byte // written entries
	first   int64  // the step of the first of them
	outside bool   // one came from elsewhere: to ask for it again may do something there
	kept    int    // bytes committed since the last snapshot

	// change is what the effect under way commits with; it holds pending and the
	// effect's own entry.
	change *commit
	// touched are the databases that may hold receipts, by the order of their
	// first change.
	touched map[string]bool
	failed  error             // of writing an entry
	busy    bool              // an effect is under way
	waiting admit.Reservation // of pending
	full    bool              // there is no room for more of it

	// Of a TRANSACTION that is open: the step that began it, where its entries begin
	// in pending, and whether some of them were kept apart; see keepApart.
	tx     int64
	txAt   int
	apart  bool
	aparts int // parts that were
	saveAt int // how long the journal is before a snapshot is tried again
}

// transaction names one that an attempt was in.
type transaction struct{ begin, attempt int64 }

// commit is a part of the journal on its way to the disk.
type commit struct {
	step       int64
	bytes      int
	checkpoint *job.Checkpoint // where the store keeps it
	receipt    bool            // it was written into a database
}

const (
	// mostPending is how many bytes of results wait for a change to be kept with.
	mostPending = 256 << 10
	// leastJournal is how long a journal may be whatever the state's size.
	leastJournal = 1 << 20
	// mostJournal is how long it may become where no snapshot can take its place:
	// inside a transaction, and where the state is too large for one.
	mostJournal = 64 << 20
)

// The kinds of entries.
const (
	entryValue byte = iota
	entryError
	entryDatabase // a database that may hold receipts of the job
	entryLimit    // an error that names a limit
	entryFuel     // what the effect of the next entry cost the script
	entryInside   // at the start of a part: all of it was told inside a transaction
	entryEnded    // a transaction has ended, and what was told inside it counts
)

func appendTold(dst []byte, t engine.Result) []byte {
	if t.Fuel > 0 {
		e := value.NewEncoder(dst)
		e.Byte(entryFuel)
		e.Int(t.Fuel)
		dst = e.Bytes()
	}
	e := value.NewEncoder(dst)
	if t.Err != nil {
		kind := entryError
		if t.Err.Limit != nil {
			kind = entryLimit
		}
		e.Byte(kind)
		e.Int(t.Seq)
		e.Text(t.Kind.String())
		e.Text(t.Err.Code)
		e.Text(t.Err.Message)
		e.Value(t.Err.Data)
		if l := t.Err.Limit; l != nil {
			e.Text(l.Name)
			e.Int(l.Max)
		}
		return e.Bytes()
	}
	e.Byte(entryValue)
	e.Int(t.Seq)
	e.Text(t.Kind.String())
	e.Value(t.Value)
	return e.Bytes()
}

func appendTransaction(dst []byte, kind byte, t transaction) []byte {
	e := value.NewEncoder(dst)
	e.Byte(kind)
	e.Int(t.begin)
	e.Int(t.attempt)
	return e.Bytes()
}

func readTransaction(d *value.Decoder) transaction {
	d.Byte()
	return transaction{d.Int(), d.Int()}
}

func appendDatabase(dst []byte, name string) []byte {
	e := value.NewEncoder(dst)
	e.Byte(entryDatabase)
	e.Text(name)
	return e.Bytes()
}

// entry is what an earlier attempt was told at one effect, as it was written. It
// is read when the run comes there: the values of a whole journal may be many
// times what a script may hold.
type entry struct {
	fuel  int64
	bytes []byte
}

// turnBytes is how many bytes of entries are read between two turns.
const turnBytes = 64 << 10

// entryMemory is what the value of one entry may weigh: as much as a script may
// hold, by its plan of now or of then.
func (a *attempt) entryMemory() int64 {
	return max(a.limits.Memory, account.Unlimited.Limits().Memory)
}

// errJournal says that a stored journal cannot be read.
var errJournal = errors.New("the journal of a job is damaged")

// readEntries reads a part of a journal, in which no value weighs more than
// memory, and checks it. Entries are written one encoder each, so each is read by
// a decoder of its own. turn is called every so often.
func readEntries(b []byte, memory int64, turn func() error, told map[int64]entry, databases map[string]bool, ended map[transaction]bool) error {
	fuel, sinceTurn := int64(0), 0
	for len(b) > 0 {
		d := value.NewDecoder(b, memory)
		d.SetYield(turn)
		switch b[0] {
		case entryFuel:
			d.Byte()
			fuel = d.Int()
		case entryDatabase:
			d.Byte()
			databases[d.Text()] = true
		case entryEnded:
			ended[readTransaction(d)] = true
		default:
			t := readTold(d)
			told[t.Seq] = entry{fuel, b[:len(b)-d.Rest()]}
			fuel = 0
		}
		if err := d.Err(); errors.Is(err, value.ErrCorrupt) {
			return fmt.Errorf("%w: %w", errJournal, err)
		} else if err != nil {
			return err
		}
		n := len(b) - d.Rest()
		b = b[n:]
		if sinceTurn += n; sinceTurn >= turnBytes {
			sinceTurn = 0
			if err := turn(); err != nil {
				return err
			}
		}
	}
	return nil
}

// readTold reads the entry of what an attempt was told.
func readTold(d *value.Decoder) engine.Result {
	kind := d.Byte()
	t := engine.Result{Seq: d.Int()}
	// By its name: numbers change between versions.
	if t.Kind = bytecode.EffectNamed(d.Text()); t.Kind == bytecode.EffectNone {
		d.Fail()
		return t
	}
	switch kind {
	case entryValue:
		t.Value = d.Value()
		return t
	case entryError, entryLimit:
		t.Err = &value.Error{Code: d.Text(), Message: d.Text()}
		t.Err.Data = d.Value()
	default:
		d.Fail()
	}
	if kind == entryLimit {
		t.Err.Limit = &value.LimitError{Name: d.Text(), Max: d.Int()}
	}
	return t
}

func newJournal(a *attempt) *journal {
	j := &journal{attempt: a, told: map[int64]entry{}, touched: map[string]bool{}}
	if a.w != nil {
		j.waiting = a.w.holder(a.lease)
	}
	return j
}

// recover reads what earlier attempts kept: in the store, and as receipts in
// the databases that those name. What was told inside a transaction, and kept
// apart, counts only where that has ended.
func (j *journal) recover(ctx context.Context, parts [][]byte, databases engine.Databases) error {
	a := j.attempt
	turn := func() error { return engine.Turn(ctx) }
	ended := map[transaction]bool{}
	read := func(b []byte, databases map[string]bool) error {
		j.kept += len(b)
		return readEntries(b, a.entryMemory(), turn, j.told, databases, ended)
	}
	type inside struct {
		transaction
		entries []byte
	}
	var apart []inside
	for _, sealed := range parts {
		b, err := a.open(sealJournal, sealed)
		if err != nil {
			return err
		}
		if len(b) > 0 && b[0] == entryInside {
			d := value.NewDecoder(b, a.entryMemory())
			t := readTransaction(d)
			if d.Err() != nil {
				return fmt.Errorf("%w: %w", errJournal, d.Err())
			}
			apart = append(apart, inside{t, b[len(b)-d.Rest():]})
			continue
		}
		if err := read(b, j.touched); err != nil {
			return err
		}
	}
	for name := range j.touched {
		kept, err := databases.Receipts(ctx, name, a.lease.ID, a.lease.Attempt)
		if err != nil {
			return err
		}
		for _, k := range kept {
			b, err := a.open(sealJournal, k.Bytes)
			if err != nil {
				return err
			}
			if err := read(b, map[string]bool{}); err != nil {
				return err
			}
		}
	}
	for _, p := range apart {
		if !ended[p.transaction] {
			continue // it was rolled back with its attempt
		}
		if err := read(p.entries, map[string]bool{}); err != nil {
			return err
		}
	}
	return nil
}

// Recorded implements engine.Journal.
func (j *journal) Recorded(seq int64) (engine.Result, bool) {
	e, ok := j.told[seq]
	if !ok {
		return engine.Result{}, false
	}
	delete(j.told, seq)
	d := value.NewDecoder(e.bytes, j.attempt.entryMemory())
	t := readTold(d)
	if t.Fuel = e.fuel; d.Err() != nil {
		t.Kind = bytecode.EffectNone // it was read before: the run cannot go on like this
	}
	return t, true
}

// Append implements engine.Journal.
func (j *journal) Append(t engine.Result) {
	j.busy = false
	defer j.follow(t)
	if c := j.change; c != nil {
		j.change = nil
		if t.Err == nil && c.step == t.Seq && (c.receipt || c.checkpoint != nil && c.checkpoint.Kept) {
			j.drop()
			j.kept += c.bytes
			return
		}
	}
	if t.Kind == bytecode.EffectTxBegin && t.Err == nil {
		j.tx, j.txAt, j.apart = t.Seq, len(j.pending), false
	}
	if t.Kind == bytecode.EffectTxRollback && j.apart {
		j.pending = appendTransaction(j.pending, entryEnded, j.transaction())
	}
	if j.first == 0 {
		j.first = t.Seq
	}
	j.outside = j.outside || t.Kind.Info().Outside
	j.pending = appendTold(j.pending, t)
	// It is held twice while it is written. Where there is no room for it, it is
	// written before the next effect.
	more := counted(2*int64(len(j.pending))) - j.waiting.Bytes()
	j.full = !j.waiting.TryGrow(more)
}

// follow notes the end of a transaction.
func (j *journal) follow(t engine.Result) {
	if t.Kind == bytecode.EffectTxRollback || t.Kind == bytecode.EffectTxCommit && t.Err == nil {
		j.tx, j.txAt, j.apart = 0, 0, false
	}
}

func (j *journal) transaction() transaction { return transaction{j.tx, j.attempt.lease.Attempt} }

// drop forgets the entries that wait: they are kept.
func (j *journal) drop() {
	if cap(j.pending) > mostPending {
		j.pending = nil
	}
	j.pending, j.first, j.outside, j.full, j.txAt = j.pending[:0], 0, false, false, 0
	j.waiting.Release()
}

// batch returns the entries that wait, with one more, sealed, and the step of
// the first.
func (j *journal) batch(t engine.Result) (entry job.JournalEntry, bytes int, err error) {
	entry.Step = j.first
	if entry.Step == 0 {
		entry.Step = t.Seq
	}
	b := j.pending[:len(j.pending):len(j.pending)]
	if t.Kind == bytecode.EffectTxCommit && j.apart {
		b = appendTransaction(b, entryEnded, j.transaction())
	}
	b = appendTold(b, t)
	entry.Entries, err = j.attempt.seal(sealJournal, b)
	return entry, len(b), err
}

// Checkpoint implements engine.Journal.
func (j *journal) Checkpoint(ctx context.Context, t engine.Result) context.Context {
	entry, bytes, err := j.batch(t)
	if err != nil {
		j.failed = err
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(err)
		return ctx
	}
	c := &job.Checkpoint{Lease: j.attempt.lease, Entry: entry}
	j.change = &commit{step: t.Seq, bytes: bytes, checkpoint: c}
	return job.WithCheckpoint(ctx, c)
}

// Receipt implements engine.Journal.
func (j *journal) Receipt(ctx context.Context, database string, t engine.Result, fuel func() int64) *engine.Receipt {
	l := j.attempt.lease
	return &engine.Receipt{Job: l.ID, Attempt: l.Attempt, Step: t.Seq, Write: func(result value.Value) ([]byte, error) {
		// Before the first receipt in a database the store learns of it: that is
		// where the next attempt looks.
		if !j.touched[database] {
			if err := j.touch(ctx, database); err != nil {
				return nil, err
			}
		}
		t.Value, t.Fuel = result, fuel()
		entry, bytes, err := j.batch(t)
		if err != nil {
			return nil, err
		}
		j.change = &commit{step: t.Seq, bytes: bytes, receipt: true}
		return entry.Entries, nil
	}}
}

func (j *journal) touch(ctx context.Context, database string) error {
	sealed, err := j.attempt.seal(sealJournal, appendDatabase(nil, database))
	if err != nil {
		return err
	}
	// Steps count from 1 on, so that the names of databases come first.
	if err := j.attempt.w.o.Queue.AppendJournal(ctx, j.attempt.lease, job.JournalEntry{Step: int64(-1 - len(j.touched)), Entries: sealed}); err != nil {
		return err
	}
	j.touched[database] = true
	return nil
}

// BeforeEffect implements engine.Journal: it is where a run is stopped for the node's
// sake, where the journal becomes a snapshot, and where what the run has to
// show is looked at.
func (j *journal) BeforeEffect(ctx context.Context, r *engine.Run) error {
	a := j.attempt
	switch {
	case j.ahead && r.Machine().Effect().Kind.Info().Instant:
		return nil
	case j.ahead:
		return errGoesOn
	case j.failed != nil:
		return j.failed
	case a.w.draining.Load():
		return errDrain
	}
	if a.replay > 0 { // all that earlier attempts were told has been told again
		a.memory.Shrink(a.replay)
		a.replay = 0
	}
	if a.crashes > 0 && j.kept > a.recovered {
		if err := a.gotOn(ctx); err != nil {
			return err
		}
	}
	long := j.kept + len(j.pending)
	switch {
	case long > max(leastJournal, a.snapshotSize, j.saveAt):
		if err := a.save(ctx, r); err != nil {
			return err
		}
	case len(j.pending) > mostPending, j.outside, j.full, len(j.pending) > 0 && (a.live.isWanted() || r.Machine().Effect().Kind.Info().Outside):
		if err := j.flush(ctx); err != nil {
			return err
		}
	}
	if err := j.bound(); err != nil {
		return err
	}
	if len(j.pending) == 0 {
		a.live.show(r.Machine(), true)
	}
	j.busy = true
	return nil
}

// BeforeEffectInTx implements engine.Journal.
func (j *journal) BeforeEffectInTx(ctx context.Context) error {
	if j.failed != nil {
		return j.failed
	}
	if len(j.pending) > mostPending || j.full {
		if err := j.keepApart(ctx); err != nil {
			return err
		}
	}
	j.busy = true
	return j.bound()
}

// bound is the error of an effect for whose result the journal has no room.
func (j *journal) bound() error {
	most := max(mostJournal, 2*j.attempt.limits.SnapshotBytes)
	if j.kept+len(j.pending) <= most {
		return nil
	}
	j.busy = false
	if j.tx != 0 {
		return value.Exceeded("journal", int64(most), "what a job reads inside a TRANSACTION is kept until that ends, and may have %d bytes: read less in one, or read before it", most)
	}
	return value.Exceeded("journal", int64(most), "the script holds too much for its state to be stored, and what it has read since it began to may have %d bytes: hold less, or read less", most)
}

// keepApart keeps the entries that wait inside a transaction. Nobody knows yet whether
// that will have been: until it has ended, another attempt begins it again and must not
// be told what was read in it. So they are marked, and a receipt of its commit, or the
// entry of its rollback, says that they count. Steps of such parts are below those of
// all others, and differ between attempts.
func (j *journal) keepApart(ctx context.Context) error {
	a := j.attempt
	all, at := j.pending, j.txAt
	if at > 0 { // what came before it counts in any case
		if err := j.keep(ctx, job.JournalEntry{Step: j.first}, all[:at]); err != nil {
			return err
		}
	}
	marked := append(appendTransaction(nil, entryInside, j.transaction()), all[at:]...)
	j.aparts++
	step := int64(-1<<40) - a.lease.Attempt<<20 - int64(j.aparts)
	if err := j.keep(ctx, job.JournalEntry{Step: step}, marked); err != nil {
		return err
	}
	j.apart = true
	j.drop()
	return nil
}

// keep stores a part of the journal by itself.
func (j *journal) keep(ctx context.Context, e job.JournalEntry, entries []byte) (err error) {
	a := j.attempt
	a.x.Pace.Rest()
	if e.Entries, err = a.seal(sealJournal, entries); err != nil {
		return err
	}
	if err := a.w.o.Queue.AppendJournal(ctx, a.lease, e); err != nil {
		return err
	}
	j.kept += len(entries)
	return nil
}

// flush keeps the entries that wait, by themselves. None of them is of a transaction
// that is open.
func (j *journal) flush(ctx context.Context) error {
	if err := j.keep(ctx, job.JournalEntry{Step: j.first}, j.pending); err != nil {
		return err
	}
	j.drop()
	return nil
}

// show lets others see what the job has done, where they want to and all of it is
// kept: another attempt must not come to show something else.
func (j *journal) show(ctx context.Context) {
	a := j.attempt
	if !a.live.isWanted() || j.ahead {
		return
	}
	if len(j.pending) > 0 {
		if j.busy || j.tx != 0 || j.failed != nil {
			return // it is shown at the next effect
		}
		if j.failed = j.flush(ctx); j.failed != nil {
			return
		}
	}
	a.live.show(a.machine, false)
}

// BeforeCall implements engine.Journal. The key tells nothing of the job's id, which
// is a secret: whoever has it may see the job and answer its questions.
func (j *journal) BeforeCall(ctx context.Context, seq int64) (string, error) {
	if len(j.pending) > 0 {
		if err := j.flush(ctx); err != nil {
			return "", err
		}
	}
	id := j.attempt.lease.ID
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(append([]byte("fetch:"), id[:]...), uint64(seq)))
	return hex.EncodeToString(sum[:16]), nil
}

// reset forgets what a snapshot holds now, and returns the databases whose
// receipts are no longer needed.
func (j *journal) reset() []string {
	var names []string
	for name := range j.touched {
		names = append(names, name)
	}
	clear(j.touched)
	j.drop()
	j.kept, j.saveAt = 0, 0
	return names
}

// The kinds of what is sealed, bound to the job.
const (
	sealTask     = "task"
	sealSnapshot = "snapshot"
	sealJournal  = "journal"
	sealForm     = "form"
)

func sealName(kind string, id job.ID) string { return kind + ":" + id.String() }
