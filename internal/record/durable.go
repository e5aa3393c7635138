package record

import (
	"errors"
	"fmt"
	"time"

	"ql/internal/job"
)

// durableRecord is a record on its way into the log.
type durableRecord struct {
	record *job.Record
	err    error
}

// RecordDurably takes a record as Record does, and returns when it is on the disk. After
// an error it was not taken; with ErrNoRoom the buffer or the log had no room for it, or
// there is no log. It does not wait for room: a caller that cannot wait stores the record
// in another way; and for the log, where others write to it, so long at most. With
// ErrOutcomeUnknown the next process may find it in the log, unless
// that is done.
func (r *Recorder) RecordDurably(record job.Record, wait time.Duration) error {
	if r.options.Log == nil || r.logFailed.Load() {
		return ErrNoRoom
	}
	truncateTimes(&record)
	if _, err := r.tryReserve(sizeOf(&record)); err != nil {
		return err
	}
	d := &durableRecord{record: &record}
	err := r.appends.DoWithin(wait, d)
	if err == nil {
		err = d.err
	}
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.unreserve(sizeOf(&record))
	}
	return err
}

// appendBatch writes records to the log, and then to the buffer.
func (r *Recorder) appendBatch(list []*durableRecord) {
	records := make([]*job.Record, len(list))
	for i, d := range list {
		records[i] = d.record
	}
	end, err := r.appendToLog(records)
	if errors.Is(err, ErrNoRoom) && len(list) > 1 { // together they may be too large, or one of them
		half := len(list) / 2
		r.appendBatch(list[:half])
		r.appendBatch(list[half:])
		return
	}
	outcome := err
	if err != nil && end != 0 {
		outcome = fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	for _, d := range list {
		d.err = outcome
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		if end != 0 { // whatever the log holds of them is not to be stored
			r.pending = append(r.pending, pending{nil, end})
			r.accepted++
		}
		r.flushTo = max(r.flushTo, r.accepted) // which makes room
		r.signal()
		return
	}
	for _, record := range records {
		r.enqueue(pending{record, end})
	}
}

// appendToLog writes records to the log. Where it fails, or panics, nothing is written
// to it any more.
func (r *Recorder) appendToLog(records []*job.Record) (end Position, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = r.options.Guard.Report("intake", p)
		}
		if err != nil && !errors.Is(err, ErrNoRoom) && r.logFailed.CompareAndSwap(false, true) {
			r.options.LogFailed(err)
		}
	}()
	return r.options.Log.Append(records)
}
