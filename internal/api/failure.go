package api

import (
	"errors"
	"fmt"
	"math"
	"time"

	"ql/internal/fault"
	"ql/internal/wire"
	"ql/lang/source"
	"ql/lang/vm"
)

// status returns the status of the answer, and when to try again. A script's own
// codes mean nothing for it.
func (x *execution) status(a *Answer) (status int, retryAfter time.Duration) {
	switch {
	case a.Err == nil:
	case x.fault != nil:
		return x.fault.Status(), x.fault.RetryAfter
	case a.Err.Code == string(fault.SessionBusy):
		return fault.New(fault.SessionBusy, "").Status(), 0
	}
	return a.Job.HTTP(), 0
}

// blame logs what went wrong on our side, under the id that the caller is told.
func (x *execution) blame(err error) {
	x.fault = fault.Of(err)
	x.o.Log.Error("a script met a fault of the service", "id", x.fault.ID, "job", x.id, "account", x.who.Account.ID, "error", err)
}

// uncompiled makes the error of a script that does not compile.
func (x *execution) uncompiled(err error) *wire.Error {
	var found source.Errors
	if (!errors.As(err, &found) || len(found) == 0) && x.fault == nil {
		x.blame(err)
	}
	if x.fault != nil {
		return &Refused(x.fault).Error
	}
	first := found[0]
	e := &wire.Error{Code: string(fault.SyntaxError), Message: first.Message, File: first.File, Line: first.Line, Column: first.Column}
	for _, f := range found[:min(len(found), mostDetails)] {
		e.Details = append(e.Details, wire.Detail{Code: e.Code, Message: f.Message, File: f.File, Line: f.Line, Column: f.Column})
	}
	return e
}

// mostDetails is how many errors of a script are shown.
const mostDetails = 100

// failed makes the error of a script that failed while it ran.
func (x *execution) failed(err *vm.Error) *wire.Error {
	e := &wire.Error{Code: err.Code, Message: err.Message, File: err.File, Line: err.Line, Column: err.Column, Step: err.Step}
	if x.fault != nil && err.Code == string(fault.Internal) {
		e.Code, e.Message, e.ID = string(x.fault.Code), x.fault.Message, x.fault.ID
		return e
	}
	x.fault = nil // the script came past it
	if l := err.Limit; l != nil && err.Code == string(fault.LimitExceeded) {
		e.Limit, e.Max = l.Name, l.Max
		if l.Name == "time" {
			x.overTime(e)
		}
	}
	return e
}

// overTime says what to do about a script that took longer than a caller waits.
func (x *execution) overTime(e *wire.Error) {
	seconds := x.limits.SyncTime.Seconds()
	e.Limit, e.Max = "sync_time", int64(math.Ceil(seconds))
	e.Message = fmt.Sprintf("the script ran longer than the %g seconds that a synchronous call may take: what it did stays done; for longer scripts there is mode: async of /v1/query", seconds)
}
