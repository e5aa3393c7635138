package worker

import (
	"errors"
	"fmt"

	"ql/internal/account"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/wire"
)

// tooLarge is the error of a script that holds too much to be stored.
type tooLarge struct{ bytes int }

func (e *tooLarge) Error() string { return "the state of the script is too large to be stored" }

// MayNotStand makes the error of a script that was to stand at a step and may not
// by the account's limits; nil where the error is another, or none.
func MayNotStand(err error, l account.Limits, step string) *wire.Error {
	var large *tooLarge
	switch {
	case errors.As(err, &large):
		return &wire.Error{
			Code: string(fault.LimitExceeded), Limit: "snapshot", Max: int64(l.SnapshotBytes), Step: step,
			Message: fmt.Sprintf("the script holds %d bytes at %s, and a script that stands still may hold %d", large.bytes, step, l.SnapshotBytes),
		}
	case errors.Is(err, job.ErrTooMany):
		return &wire.Error{
			Code: string(fault.QuotaExceeded), Limit: "standing", Max: int64(l.Standing), Step: step,
			Message: fmt.Sprintf("the account has %d jobs that wait for an answer or a moment, which is as many as it may have: answer or cancel some", l.Standing),
		}
	case errors.Is(err, job.ErrTooMuch):
		return &wire.Error{
			Code: string(fault.QuotaExceeded), Limit: "standing_bytes", Max: l.StandingBytes, Step: step,
			Message: fmt.Sprintf("the account's jobs that wait for an answer or a moment may hold %d bytes together, and with this one they would hold more: answer or cancel some", l.StandingBytes),
		}
	}
	return nil
}
