package service

import (
	"context"
	"errors"
	"time"

	"ql/internal/admit"
	"ql/internal/fault"
	"ql/internal/job"
)

// Uncounted is how many bytes a call may hold of something without reserving them.
const Uncounted = 16 << 10

// entryBytes is about what an entry of a listing takes, with its written form.
const entryBytes = 1 << 10

// holdPage reserves what a page of a listing takes, of so many entries.
func (h *Held) holdPage(ctx context.Context, entries int) error {
	if bytes := entryBytes * int64(entries); bytes > Uncounted {
		return h.Grow(ctx, bytes)
	}
	return nil
}

// Held is the memory that a call holds until its answer is written: its body, what
// was made of that, what it answers with. Methods may be called on nil, which counts
// nothing. One goroutine at a time may use it.
type Held struct {
	admit.Reservation
	then []func()
}

// Grow is that of the reservation.
func (h *Held) Grow(ctx context.Context, bytes int64) error {
	if h == nil {
		return nil
	}
	return h.Reservation.Grow(ctx, bytes)
}

// TryGrow is that of the reservation.
func (h *Held) TryGrow(bytes int64) bool { return h == nil || h.Reservation.TryGrow(bytes) }

// Shrink is that of the reservation.
func (h *Held) Shrink(bytes int64) {
	if h != nil {
		h.Reservation.Shrink(bytes)
	}
}

// Assign charges all of it to an account from now on. The error is a
// *admit.Refused.
func (h *Held) Assign(account int64) error {
	if h == nil {
		return nil
	}
	return h.Reservation.Assign(admit.AccountHolder(account))
}

// Until has something let go of that is held elsewhere for the answer.
func (h *Held) Until(release func()) {
	if h == nil {
		release()
		return
	}
	h.then = append(h.then, release)
}

// Release gives back all of it, after the answer was written.
func (h *Held) Release() {
	h.Reservation.Release()
	for _, release := range h.then {
		release()
	}
	h.then = nil
}

// answering is what the answer of a call holds of its script: until it is written, that
// is counted as the caller's.
type answering struct {
	*Held
	bytes int64
	err   error // why there was no room for it
}

// stepBytes is about what a step takes in a trace.
const stepBytes = 160

// holdOutput reserves what is about to be copied of a script's output and trace.
func (k *call) holdOutput() {
	if k.machine == nil {
		return
	}
	l := &k.Spec.Limits
	k.hold(int64(len(k.machine.Output())) + stepBytes*min(k.machine.Steps(), int64(l.TraceFirst+l.TraceLast)))
}

// hold reserves so many bytes, all together. The script has run, so it waits as long
// as for its record.
func (k *call) hold(bytes int64) {
	more := bytes - k.answer.bytes
	if bytes < Uncounted || more <= 0 || k.answer.err != nil {
		return
	}
	if !k.answer.TryGrow(more) {
		k.Pace.Rest() // who computes need not wait for who reads
		if k.answer.err = k.answer.await(more); k.answer.err != nil {
			return
		}
	}
	k.answer.bytes = bytes
}

// await reserves bytes, for which it waits long.
func (a *answering) await(bytes int64) error {
	for end := time.Now().Add(recordTime); ; {
		err := a.Grow(context.Background(), bytes)
		var refused *admit.Refused
		if !errors.As(err, &refused) || refused.Reason == admit.TooLarge || time.Now().After(end) {
			return err
		}
	}
}

// unanswered is the error of a call whose script ran, and whose result there is no room
// to send: nil where there is. It does not say to try again: that would run it twice.
func (k *call) unanswered(became string) error {
	if k.answer.err == nil {
		return nil
	}
	code := fault.Overloaded
	var refused *admit.Refused
	if errors.As(k.answer.err, &refused) {
		code = fault.Code(refused.Code())
	}
	return fault.New(code, "the script %s, and there is no room to send its result at the moment: it is kept as the job %s, which can be polled", became, k.ID)
}

// recordBytes is what a record holds that is large.
func recordBytes(r *job.Record) int64 {
	return int64(len(r.Result) + len(r.Trace) + len(r.Response) + len(r.Error))
}
