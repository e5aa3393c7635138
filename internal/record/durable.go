package record

import (
	"context"
	"errors"
	"fmt"

	"ql/internal/job"
)

// keeping is a record on its way into the log.
type keeping struct {
	record *job.Record
	err    error
}

// Keep takes a record as Record does, and returns when it is on the disk. After an
// error it was not taken; with ErrNoRoom the buffer or the log had no room for it, or
// there is no log. That is not waited for: who has a record to store, and no time to
// lose, stores it in another way. With ErrMayBeKept the next process may take it all
// the same, unless that is done.
func (r *Recorder) Keep(ctx context.Context, record job.Record) error {
	if r.options.Log == nil || r.unlogged.Load() {
		return ErrNoRoom
	}
	stampRecord(&record)
	if _, err := r.hold(sizeOf(&record)); err != nil {
		return err
	}
	k := &keeping{record: &record}
	err := r.keeps.Do(ctx, k)
	if err == nil {
		err = k.err
	}
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.giveBack(sizeOf(&record))
	}
	return err
}

// keep writes records to the log, and takes them.
func (r *Recorder) keep(list []*keeping) {
	records := make([]*job.Record, len(list))
	for i, k := range list {
		records[i] = k.record
	}
	to, err := r.append(records)
	if errors.Is(err, ErrNoRoom) && len(list) > 1 { // together they may be too large, or one of them
		half := len(list) / 2
		r.keep(list[:half])
		r.keep(list[half:])
		return
	}
	told := err
	if err != nil && to != 0 {
		told = fmt.Errorf("%w: %w", ErrMayBeKept, err)
	}
	for _, k := range list {
		k.err = told
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		if to != 0 { // should they stand there, they are not the log's to store
			r.pending = append(r.pending, pending{nil, to})
			r.taken++
		}
		r.flushTo = max(r.flushTo, r.taken) // which makes room
		r.signal()
		return
	}
	for _, record := range records {
		r.put(pending{record, to})
	}
}

// append writes records to the log. Where it fails, or panics, nothing is written
// to it any more.
func (r *Recorder) append(records []*job.Record) (to Place, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = r.options.Guard.Report("intake", p)
		}
		if err != nil && !errors.Is(err, ErrNoRoom) && r.unlogged.CompareAndSwap(false, true) {
			r.options.LogFailed(err)
		}
	}()
	return r.options.Log.Append(records)
}
