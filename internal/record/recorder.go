// Package record stores the records of ended jobs: a Recorder that writes them in
// batches, and the Log that holds those on the disk meanwhile which must survive. It
// declares what it needs of both.
//
// What a record is belongs to internal/job, and who makes one to internal/execution.
package record

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"ql/internal/account"
	"ql/internal/batch"
	"ql/internal/guard"
	"ql/internal/job"
)

// Options are the bounds of a Recorder. A zero field means its default.
type Options struct {
	MaxRecords int // in the buffer; 8192
	MaxBytes   int // in the buffer, about; 64 MiB
	MaxBatch   int // records stored at once; 512
	// Linger is how long a record waits for others to be stored with; 20 ms.
	// Less where the buffer is half full.
	Linger time.Duration
	// Retry is the pause after a failure of the store; 1 second.
	Retry time.Duration
	// Wait is how long a record waits for room at most; DefaultWait.
	Wait time.Duration
	// Log is where RecordDurably appends records; nil for nowhere.
	Log Log
	// Guard recovers panics, and reports them; may be nil.
	Guard *guard.Guard
	// Failed is called at each failure of the store, which is tried again, and LogFailed
	// at the log's, which is used no more; may be nil.
	Failed, LogFailed func(error)
}

func (o Options) withDefaults() Options {
	if o.MaxRecords <= 0 {
		o.MaxRecords = 8192
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 64 << 20
	}
	if o.MaxBatch <= 0 {
		o.MaxBatch = 512
	}
	if o.Linger <= 0 {
		o.Linger = 20 * time.Millisecond
	}
	if o.Retry <= 0 {
		o.Retry = time.Second
	}
	if o.Wait <= 0 {
		o.Wait = DefaultWait
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	if o.LogFailed == nil {
		o.LogFailed = func(error) {}
	}
	return o
}

// DefaultWait is how long a record waits for room where no option says otherwise.
const DefaultWait = 10 * time.Second

// ErrFull is the error of a record that found no room in time.
var ErrFull = errors.New("the store has fallen too far behind to record a job")

// ErrClosed is the error of a Recorder that was closed.
var ErrClosed = errors.New("the recorder of jobs is closed")

// Store is what a Recorder writes to and reads from; see job.Store. It keeps no records that it is
// given: they are overwritten by the next.
type Store interface {
	Record(ctx context.Context, records []job.Record) error
	List(ctx context.Context, a account.ID, q job.Query) ([]job.Listed, error)
}

// Recorder holds records of finished jobs in a bounded buffer that is written to the
// store in batches, in the order in which they came. A record can be read at once.
// None is dropped: where the buffer is full, the next waits for room. A process that
// dies loses what is in the buffer, but for what was also appended to a log.
//
// It may be used by any number of goroutines.
type Recorder struct {
	store   Store
	options Options

	appends   *batch.Group[*durableRecord] // to the log
	logFailed atomic.Bool                  // it is used no more

	mu       sync.Mutex
	pending  []pending              // not stored yet, the oldest first
	byID     map[job.ID]*job.Record // the same
	reserved int                    // records that have room and are not in it yet
	bytes    int                    // of all these
	accepted uint64                 // records that came in so far
	stored   uint64                 // of those, how many are stored: the oldest
	flushTo  uint64                 // records up to this one are asked for now
	closed   bool
	changed  chan struct{} // closed, and replaced, when stored grows or the store fails
	failure  error         // of the last attempt
	attempt  uint64        // attempts so far

	batch []job.Record // the loop's own: records as they are handed to the store, which keeps none

	wake    chan struct{}      // the loop has something to look at
	stop    context.CancelFunc // ends the loop's writes
	stopped chan struct{}
}

// pending is a record that is not stored yet. Where it was appended to the log, end is
// where that continues after it; 0 where it was not. Without a record it is a part of
// the log that is not to be stored.
type pending struct {
	*job.Record
	end Position
}

// NewRecorder starts a recorder. Close ends it.
func NewRecorder(store Store, o Options) *Recorder {
	ctx, stop := context.WithCancel(context.Background())
	r := &Recorder{
		store:   store,
		options: o.withDefaults(),
		byID:    map[job.ID]*job.Record{},
		changed: make(chan struct{}),
		wake:    make(chan struct{}, 1),
		stop:    stop,
		stopped: make(chan struct{}),
	}
	r.appends = batch.New(r.options.MaxBatch, r.appendBatch)
	g := r.options.Guard
	g.Go("recorder", func() {
		defer close(r.stopped)
		g.Loop(ctx, "recorder", r.run)
	})
	return r
}

// Record takes a record, which must not be changed any more. Where the buffer
// is full it waits for room, at most until ctx ends or its time is over.
func (r *Recorder) Record(ctx context.Context, record job.Record) error {
	truncateTimes(&record)
	if err := r.reserve(ctx, sizeOf(&record)); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		r.unreserve(sizeOf(&record))
		return ErrClosed
	}
	r.enqueue(pending{&record, 0})
	return nil
}

// tryReserve reserves room in the buffer for a record of so many bytes. Where there is none,
// it returns ErrNoRoom, and what is closed when that may be another.
func (r *Recorder) tryReserve(size int) (changed <-chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return nil, ErrClosed
	case !r.hasRoom(size):
		return r.changed, ErrNoRoom
	}
	r.reserved++
	r.bytes += size
	return nil, nil
}

// reserve is tryReserve, and waits for room.
func (r *Recorder) reserve(ctx context.Context, size int) error {
	var late <-chan time.Time // from when it waits on
	for {
		changed, err := r.tryReserve(size)
		if !errors.Is(err, ErrNoRoom) {
			return err
		}
		if late == nil {
			timer := time.NewTimer(r.options.Wait)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-changed:
		case <-late:
			return ErrFull
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// unreserve gives room back that was held for nothing. Called under mu.
func (r *Recorder) unreserve(size int) {
	r.reserved--
	r.bytes -= size
	r.broadcast()
}

// enqueue takes a record for which room is held. Called under mu.
func (r *Recorder) enqueue(p pending) {
	r.reserved--
	r.pending = append(r.pending, p)
	r.byID[p.ID] = p.Record
	r.accepted++
	if len(r.pending) == 1 || r.isUrgent() {
		r.signal()
	}
}

// broadcast wakes those who wait for room, or for what is stored. Called under mu.
func (r *Recorder) broadcast() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// truncateTimes sets a record's times to the precision of stores.
func truncateTimes(r *job.Record) {
	r.Created, r.Finished = truncate(r.Created), truncate(r.Finished)
	r.Ran = r.Ran.Truncate(time.Microsecond)
}

// truncate returns a time in the precision of stores.
func truncate(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.Truncate(time.Microsecond).UTC()
}

// sizeOf is about how much memory a record holds.
func sizeOf(r *job.Record) int {
	const overhead = 512
	return overhead + len(r.Result) + len(r.Trace) + len(r.Error) + len(r.Response) + int(r.Call.Held()+r.History.Bytes())
}

// hasRoom reports whether a record fits; a single one always does. Called
// under mu.
func (r *Recorder) hasRoom(size int) bool {
	n := len(r.pending) + r.reserved
	return n == 0 || n < r.options.MaxRecords && r.bytes+size <= r.options.MaxBytes
}

// isUrgent reports whether the buffer should be written without lingering.
// Called under mu.
func (r *Recorder) isUrgent() bool {
	return r.closed || r.flushTo > r.stored || len(r.pending) >= min(r.options.MaxBatch, (r.options.MaxRecords+1)/2) || r.bytes >= r.options.MaxBytes/2
}

func (r *Recorder) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Pending finds a job in the buffer.
func (r *Recorder) Pending(id job.ID) (job.Record, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if record := r.byID[id]; record != nil {
		return *record, true
	}
	return job.Record{}, false
}

// Stats is how it stands with a recorder.
type Stats struct {
	Pending   int  // records that are not stored yet
	LogFailed bool // the log is used no more
}

// Stats returns how it stands now.
func (r *Recorder) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Stats{Pending: len(r.pending), LogFailed: r.logFailed.Load()}
}

// List returns an account's jobs, those recorded last first. It waits until
// the buffer is written.
func (r *Recorder) List(ctx context.Context, a account.ID, q job.Query) ([]job.Listed, error) {
	if err := r.Flush(ctx); err != nil && !errors.Is(err, ErrClosed) {
		return nil, err
	}
	return r.store.List(ctx, a, q)
}

// Flush waits until all records taken so far are stored. It returns the
// store's error where it fails meanwhile: the records stay in the buffer, and
// are tried again.
func (r *Recorder) Flush(ctx context.Context) error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return ErrClosed
	}
	goal, attempt := r.accepted, r.attempt
	r.flushTo = max(r.flushTo, goal)
	r.mu.Unlock()
	r.signal()
	return r.await(ctx, goal, func() error {
		// An attempt under way may have begun before the call and fail for it.
		if r.attempt > attempt {
			return r.failure
		}
		return nil
	})
}

// await waits until the first records, goal in number, are stored, or until
// failed, called under mu, says to give up.
func (r *Recorder) await(ctx context.Context, goal uint64, failed func() error) error {
	for {
		r.mu.Lock()
		stored, changed, err := r.stored, r.changed, failed()
		r.mu.Unlock()
		switch {
		case stored >= goal:
			return nil
		case err != nil:
			return err
		}
		select {
		case <-changed:
		case <-r.stopped:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close takes no more records and waits until those taken are stored, at most
// until ctx ends: then the rest is lost, and the error says how many. A second
// time it does nothing.
func (r *Recorder) Close(ctx context.Context) error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		<-r.stopped
		return nil
	}
	r.closed = true
	goal := r.accepted
	r.broadcast() // those who wait for room learn that there will be none
	r.mu.Unlock()
	r.signal()
	if r.await(ctx, goal, func() error { return nil }) == nil {
		r.stop()
		<-r.stopped
		return nil
	}
	r.mu.Lock()
	failure := r.failure // before that of a write which is broken off
	r.mu.Unlock()
	r.stop()
	<-r.stopped
	r.mu.Lock()
	defer r.mu.Unlock()
	lost := 0
	for _, p := range r.pending {
		if p.end == 0 { // the others are in the log
			lost++
		}
	}
	if lost == 0 {
		return nil
	}
	return &LostError{Records: lost, cause: failure}
}

// LostError is the error of a Recorder that was closed before all was stored.
type LostError struct {
	Records int
	cause   error // of the last attempt, nil where the store did not answer
}

// Error says how many records are lost, and why.
func (e *LostError) Error() string {
	text := "the records of %d jobs are lost: they could not be stored in time"
	if e.Records == 1 {
		text = "the record of %d job is lost: it could not be stored in time"
	}
	if e.cause != nil {
		return fmt.Sprintf(text+": %s", e.Records, e.cause)
	}
	return fmt.Sprintf(text, e.Records)
}

// Unwrap returns the store's error.
func (e *LostError) Unwrap() error { return e.cause }

// run writes the buffer to the store until ctx ends.
func (r *Recorder) run(ctx context.Context) {
	for {
		list := r.next(ctx)
		if list == nil {
			return
		}
		err := r.write(ctx, list)
		r.complete(len(list), err)
		if err != nil {
			r.options.Failed(err)
			if !pause(ctx, r.options.Retry) {
				return
			}
		}
	}
}

// next waits for records to store; nil where ctx has ended.
func (r *Recorder) next(ctx context.Context) []pending {
	var lingered <-chan time.Time // from when there is a record on
	over := false
	for {
		r.mu.Lock()
		n := len(r.pending)
		due := n > 0 && (over || r.isUrgent())
		list := r.pending[:r.wholeFrames(min(n, r.options.MaxBatch))]
		r.mu.Unlock()
		if due {
			return list
		}
		if n > 0 && lingered == nil {
			timer := time.NewTimer(r.options.Linger)
			defer timer.Stop()
			lingered = timer.C
		}
		select {
		case <-r.wake:
		case <-lingered:
			over = true
		case <-ctx.Done():
			return nil
		}
	}
}

// wholeFrames is how many of the first records are stored together, about n: those that
// were appended to the log together are. Called under mu.
func (r *Recorder) wholeFrames(n int) int {
	for n > 0 && n < len(r.pending) && r.pending[n].end != 0 && r.pending[n].end == r.pending[n-1].end {
		n++
	}
	return n
}

// write stores records. A panic of the store is a failure like others.
func (r *Recorder) write(ctx context.Context, list []pending) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = r.options.Guard.Report("recorder", p)
		}
	}()
	records := r.batch[:0]
	defer func() {
		clear(records) // what they hold may be large
		r.batch = records
	}()
	end := Position(0)
	for _, p := range list {
		if p.Record != nil {
			records = append(records, *p.Record)
		}
		end = max(end, p.end)
	}
	if end > 0 {
		return r.options.Log.Store(ctx, records, end)
	}
	return r.store.Record(ctx, records)
}

// complete takes the first n records out of the buffer where they were stored,
// and wakes those who wait.
func (r *Recorder) complete(n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempt++
	r.failure = err
	if err == nil {
		for _, p := range r.pending[:n] {
			if p.Record != nil {
				delete(r.byID, p.ID)
				r.bytes -= sizeOf(p.Record)
			}
		}
		r.stored += uint64(n)
		clear(r.pending[:n])
		r.pending = r.pending[n:]
		if len(r.pending) == 0 {
			r.pending = nil
		}
	}
	r.broadcast()
}

// pause waits, and reports false where ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
