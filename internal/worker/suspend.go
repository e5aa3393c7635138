package worker

import (
	"errors"
	"fmt"

	"ql/internal/account"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/wire"
	"ql/lang/vm"
)

// tooLarge is the error of a script that holds too much to be stored.
type tooLarge struct{ bytes int }

func (e *tooLarge) Error() string { return "the state of the script is too large to be stored" }

// SuspendRefused ends a script that may not be suspended by the account's limits, and makes
// its error. Where the error of suspending it is another, or none, it does nothing and
// returns nil.
func SuspendRefused(err error, l account.Limits, m *vm.Machine) *wire.Error {
	e := overSuspendLimit(err, l, m.Effect().Step)
	if e != nil {
		m.ResumeError(err)
		if at := m.Err(); at != nil {
			e.File, e.Line, e.Column = at.File, at.Line, at.Column
		}
	}
	return e
}

// overSuspendLimit makes the error of a script that may not be suspended at a step.
func overSuspendLimit(err error, l account.Limits, step string) *wire.Error {
	var large *tooLarge
	switch {
	case errors.As(err, &large):
		return &wire.Error{
			Code: string(fault.LimitExceeded), Limit: "snapshot", Max: int64(l.SnapshotBytes), Step: step,
			Message: fmt.Sprintf("the script holds %d bytes at %s, and a script that stands still may hold %d", large.bytes, step, l.SnapshotBytes),
		}
	case errors.Is(err, job.ErrSuspendLimit):
		return &wire.Error{
			Code: string(fault.QuotaExceeded), Limit: "standing", Max: int64(l.Suspended), Step: step,
			Message: fmt.Sprintf("the account has %d jobs that wait for an answer or a moment, which is as many as it may have: answer or cancel some", l.Suspended),
		}
	case errors.Is(err, job.ErrStorageLimit):
		return &wire.Error{
			Code: string(fault.QuotaExceeded), Limit: "standing_bytes", Max: l.SuspendedBytes, Step: step,
			Message: fmt.Sprintf("the account's jobs that wait for an answer or a moment may hold %d bytes together, and with this one they would hold more: answer or cancel some", l.SuspendedBytes),
		}
	case errors.Is(err, job.ErrHeldLimit):
		return &wire.Error{
			Code: string(fault.QuotaExceeded), Limit: "storage", Max: l.StorageBytes, Step: step,
			Message: fmt.Sprintf("a script that stands still in a loop through a file keeps what the file has, and what the account's links and jobs keep so may have %d bytes together: take links back, or answer or cancel jobs", l.StorageBytes),
		}
	}
	return nil
}
