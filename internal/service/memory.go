package service

import (
	"context"
	"errors"
	"time"

	"ql/internal/admit"
	"ql/internal/fault"
	"ql/internal/job"
)

// UnreservedBytes is how many bytes a call may hold of something without reserving them.
const UnreservedBytes = 16 << 10

// entryBytes is about what an entry of a listing takes, with its written form.
const entryBytes = 1 << 10

// reservePage reserves what a page of a listing takes, of so many entries.
func (h *CallMemory) reservePage(ctx context.Context, entries int) error {
	if bytes := entryBytes * int64(entries); bytes > UnreservedBytes {
		return h.Grow(ctx, bytes)
	}
	return nil
}

// CallMemory is the memory that a call holds until its answer is written: its body, what
// was made of that, what it answers with. Methods may be called on nil, which counts
// nothing. One goroutine at a time may use it.
type CallMemory struct {
	admit.Reservation
	onRelease []func()
}

// Grow is that of the reservation.
func (h *CallMemory) Grow(ctx context.Context, bytes int64) error {
	if h == nil {
		return nil
	}
	return h.Reservation.Grow(ctx, bytes)
}

// TryGrow is that of the reservation.
func (h *CallMemory) TryGrow(bytes int64) bool { return h == nil || h.Reservation.TryGrow(bytes) }

// Shrink is that of the reservation.
func (h *CallMemory) Shrink(bytes int64) {
	if h != nil {
		h.Reservation.Shrink(bytes)
	}
}

// Assign charges all of it to an account from now on. The error is a
// *admit.Refused.
func (h *CallMemory) Assign(account int64) error {
	if h == nil {
		return nil
	}
	return h.Reservation.Assign(admit.AccountHolder(account))
}

// OnRelease has something released with it that is held elsewhere for the answer.
func (h *CallMemory) OnRelease(release func()) {
	if h == nil {
		release()
		return
	}
	h.onRelease = append(h.onRelease, release)
}

// Release gives back all of it, after the answer was written.
func (h *CallMemory) Release() {
	h.Reservation.Release()
	for _, release := range h.onRelease {
		release()
	}
	h.onRelease = nil
}

// answerMemory is what the answer of a call holds of its script: until it is written, that
// is counted as the caller's.
type answerMemory struct {
	*CallMemory
	bytes int64
	err   error // why there was no room for it
}

// stepBytes is about what a step takes in a trace.
const stepBytes = 160

// reserveOutput reserves what is about to be copied of a script's output and trace.
func (k *syncRun) reserveOutput() {
	if k.machine == nil {
		return
	}
	l := &k.Spec.Limits
	k.reserve(int64(len(k.machine.Output())) + stepBytes*min(k.machine.Steps(), int64(l.TraceFirst+l.TraceLast)))
}

// reserve reserves so many bytes, all together. The script has run, so it waits as long
// as for its record.
func (k *syncRun) reserve(bytes int64) {
	more := bytes - k.answer.bytes
	if bytes < UnreservedBytes || more <= 0 || k.answer.err != nil {
		return
	}
	if !k.answer.TryGrow(more) {
		k.Pace.Yield() // who computes need not wait for who reads
		if k.answer.err = k.answer.growPatiently(more); k.answer.err != nil {
			return
		}
	}
	k.answer.bytes = bytes
}

// growPatiently reserves bytes, for which it waits long.
func (a *answerMemory) growPatiently(bytes int64) error {
	for end := time.Now().Add(recordTime); ; {
		err := a.Grow(context.Background(), bytes)
		var refused *admit.Refused
		if !errors.As(err, &refused) || refused.Reason == admit.TooLarge || time.Now().After(end) {
			return err
		}
	}
}

// noRoomError is the error of a call whose script ran, and whose result there is no room
// to send: nil where there is. It does not say to try again: that would run it twice.
func (k *syncRun) noRoomError(a *Answer, became string) error {
	if k.answer.err == nil {
		return nil
	}
	code := fault.Overloaded
	var refused *admit.Refused
	if errors.As(k.answer.err, &refused) {
		code = fault.Code(refused.Code())
	}
	if !a.ShowsJob() {
		return fault.New(code, "the script %s, and there is no room to send its result at the moment", became)
	}
	return fault.New(code, "the script %s, and there is no room to send its result at the moment: it is kept as the job %s, which can be polled", became, k.ID)
}

// recordBytes is what a record holds that is large.
func recordBytes(r *job.Record) int64 {
	return int64(len(r.Result)+len(r.Trace)+len(r.Response)+len(r.Error)+len(r.Call.Request)) + r.History.Bytes()
}
