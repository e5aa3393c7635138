package job

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"ql/internal/account"
)

// RecorderOptions are the bounds of a Recorder. A zero field means its default.
type RecorderOptions struct {
	MaxRecords int // in the buffer; 8192
	MaxBytes   int // in the buffer, about; 64 MiB
	MaxBatch   int // records stored at once; 512
	// Linger is how long a record waits for others to be stored with; 20 ms.
	// Less where the buffer is half full.
	Linger time.Duration
	// Retry is the pause after a failure of the store; 1 second.
	Retry time.Duration
	// Wait is how long a record waits for room at most; RecordWait.
	Wait time.Duration
	// Failed is told of each failure of the store; nil for nobody.
	Failed func(error)
}

func (o RecorderOptions) withDefaults() RecorderOptions {
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
		o.Wait = RecordWait
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	return o
}

// RecordWait is how long a record waits for room where no option says otherwise.
const RecordWait = 10 * time.Second

// ErrFull is the error of a record that found no room in time.
var ErrFull = errors.New("the store has fallen too far behind to record a job")

// ErrClosed is the error of a Recorder that was closed.
var ErrClosed = errors.New("the recorder of jobs is closed")

// Recorder keeps records of synchronous runs in a bounded buffer that is
// written to the store in batches, in the order in which they came. A record
// can be read at once. None is dropped: where the buffer is full, the next
// waits for room. A process that dies loses what is in the buffer.
//
// It may be used by any number of goroutines.
type Recorder struct {
	store   Store
	options RecorderOptions

	mu      sync.Mutex
	pending []*Record      // not stored yet, the oldest first
	byID    map[ID]*Record // the same
	bytes   int            // of them
	taken   uint64         // records that came in so far
	stored  uint64         // of those, how many are stored: the oldest
	flushTo uint64         // records up to this one are asked for now
	closed  bool
	changed chan struct{} // closed, and replaced, when stored grows or the store fails
	failure error         // of the last attempt
	attempt uint64        // attempts so far

	wake    chan struct{}      // the loop has something to look at
	stop    context.CancelFunc // ends the loop's writes
	stopped chan struct{}
}

// NewRecorder starts a recorder. Close ends it.
func NewRecorder(store Store, o RecorderOptions) *Recorder {
	ctx, stop := context.WithCancel(context.Background())
	r := &Recorder{
		store:   store,
		options: o.withDefaults(),
		byID:    map[ID]*Record{},
		changed: make(chan struct{}),
		wake:    make(chan struct{}, 1),
		stop:    stop,
		stopped: make(chan struct{}),
	}
	go r.run(ctx)
	return r
}

// Record takes a record, which must not be changed any more. Where the buffer
// is full it waits for room, at most until ctx ends or its time is over.
func (r *Recorder) Record(ctx context.Context, record Record) error {
	record.Created = stamp(record.Created)
	record.Finished = stamp(record.Finished)
	size := record.size()
	var late <-chan time.Time // from when it waits on
	for {
		r.mu.Lock()
		if r.closed {
			r.mu.Unlock()
			return ErrClosed
		}
		if r.hasRoom(size) {
			r.pending = append(r.pending, &record)
			r.byID[record.ID] = &record
			r.bytes += size
			r.taken++
			wake := len(r.pending) == 1 || r.isPressing()
			r.mu.Unlock()
			if wake {
				r.signal()
			}
			return nil
		}
		changed := r.changed
		r.mu.Unlock()
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

// stamp returns a time as stores keep it.
func stamp(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.Truncate(time.Microsecond).UTC()
}

// hasRoom reports whether a record fits; a single one always does. Called
// under mu.
func (r *Recorder) hasRoom(size int) bool {
	return len(r.pending) == 0 || len(r.pending) < r.options.MaxRecords && r.bytes+size <= r.options.MaxBytes
}

// isPressing reports whether the buffer should be written without lingering.
// Called under mu.
func (r *Recorder) isPressing() bool {
	return r.closed || r.flushTo > r.stored || len(r.pending) >= min(r.options.MaxBatch, (r.options.MaxRecords+1)/2) || r.bytes >= r.options.MaxBytes/2
}

func (r *Recorder) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Pending finds a job in the buffer.
func (r *Recorder) Pending(id ID) (Record, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if record := r.byID[id]; record != nil {
		return *record, true
	}
	return Record{}, false
}

// List returns an account's jobs, those recorded last first. It waits until
// the buffer is written.
func (r *Recorder) List(ctx context.Context, a account.ID, q Query) ([]Summary, error) {
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
	goal, attempt := r.taken, r.attempt
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
	goal := r.taken
	close(r.changed) // those who wait for room learn that there will be none
	r.changed = make(chan struct{})
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
	if len(r.pending) == 0 {
		return nil
	}
	return &Lost{Records: len(r.pending), cause: failure}
}

// Lost is the error of a Recorder that was closed before all was stored.
type Lost struct {
	Records int
	cause   error // of the last attempt, nil where the store did not answer
}

// Error says how many records are lost, and why.
func (e *Lost) Error() string {
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
func (e *Lost) Unwrap() error { return e.cause }

// run writes the buffer to the store until ctx ends.
func (r *Recorder) run(ctx context.Context) {
	defer close(r.stopped)
	for {
		batch := r.next(ctx)
		if batch == nil {
			return
		}
		err := r.write(ctx, batch)
		r.settle(len(batch), err)
		if err != nil {
			r.options.Failed(err)
			if !pause(ctx, r.options.Retry) {
				return
			}
		}
	}
}

// next waits for records to store; nil where ctx has ended.
func (r *Recorder) next(ctx context.Context) []*Record {
	var lingered <-chan time.Time // from when there is a record on
	over := false
	for {
		r.mu.Lock()
		n := len(r.pending)
		due := n > 0 && (over || r.isPressing())
		batch := r.pending[:min(n, r.options.MaxBatch)]
		r.mu.Unlock()
		if due {
			return batch
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

// write stores a batch. A panic of the store is a failure like others.
func (r *Recorder) write(ctx context.Context, batch []*Record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the store panicked: %v", p)
		}
	}()
	records := make([]Record, len(batch))
	for i, record := range batch {
		records[i] = *record
	}
	return r.store.Record(ctx, records)
}

// settle takes the first n records out of the buffer where they were stored,
// and tells those who wait.
func (r *Recorder) settle(n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempt++
	r.failure = err
	if err == nil {
		for _, record := range r.pending[:n] {
			delete(r.byID, record.ID)
			r.bytes -= record.size()
		}
		r.stored += uint64(n)
		clear(r.pending[:n])
		r.pending = r.pending[n:]
		if len(r.pending) == 0 {
			r.pending = nil
		}
	}
	close(r.changed)
	r.changed = make(chan struct{})
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
