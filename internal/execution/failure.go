package execution

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ql/internal/fault"
	"ql/internal/wire"
	"ql/lang/source"
	"ql/lang/vm"
)

// ReportFault logs what went wrong on our side, under the id that the caller is told.
func (x *Execution) ReportFault(err error) {
	x.fault = fault.Of(err)
	x.Log.Error("a script met a fault of the service", "id", x.fault.ID, "job", x.ID, "account", x.Account.ID, "error", err)
}

// compileError makes the error of a script that does not compile.
func (x *Execution) compileError(err error) *wire.Error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		t := x.SyncTimeLimit()
		return &wire.Error{
			Code: string(fault.LimitExceeded), Limit: t.Limit, Max: t.Max.Milliseconds(),
			Message: fmt.Sprintf("to read the script and what it includes took longer than the %g seconds that a call may take", t.Max.Seconds()),
		}
	}
	var found source.Errors
	if (!errors.As(err, &found) || len(found) == 0) && x.fault == nil {
		x.ReportFault(err)
	}
	if x.fault != nil {
		return x.faultError(&wire.Error{})
	}
	first := found[0]
	e := &wire.Error{Code: string(fault.SyntaxError), Message: first.Message, File: first.File, Line: first.Line, Column: first.Column}
	for _, f := range found[:min(len(found), maxDetails)] {
		e.Details = append(e.Details, wire.Detail{Code: e.Code, Message: f.Message, File: f.File, Line: f.Line, Column: f.Column})
	}
	return e
}

// maxDetails is how many errors of a script are shown.
const maxDetails = 100

// faultError makes an error that of the fault that the script met.
func (x *Execution) faultError(e *wire.Error) *wire.Error {
	e.Code, e.Message, e.ID = string(x.fault.Code), x.fault.Message, x.fault.ID
	return e
}

// TimeLimit says how long a script may take, in the words of its limit.
type TimeLimit struct {
	Limit  string // sync_time or async_time
	Max    time.Duration
	Advice string
}

// ScriptError makes the error of a script that failed while it ran.
func (x *Execution) ScriptError(err *vm.Error, t TimeLimit) *wire.Error {
	e := &wire.Error{Code: err.Code, Message: err.Message, File: err.File, Line: err.Line, Column: err.Column, Step: err.Step}
	if err.Fields != nil {
		e.Fields = make([]wire.Pair, 0, len(err.Fields))
	}
	for _, f := range err.Fields {
		e.Fields = append(e.Fields, wire.Pair{Name: f.Name, Value: f.Message})
	}
	if x.fault != nil && err.Code == string(fault.Internal) {
		return x.faultError(e)
	}
	x.fault = nil // the script came past it
	switch l := err.Limit; {
	case l == nil:
	case l.Name != "time":
		e.Limit, e.Max = l.Name, l.Max
	case err.Code == string(fault.LimitExceeded): // and not a run that was cancelled
		e.Limit, e.Max = t.Limit, t.Max.Milliseconds()
		e.Message = fmt.Sprintf("the script ran longer than the %g seconds that %s", t.Max.Seconds(), t.Advice)
	}
	return e
}

// SyncTimeLimit is that of a call that waits for its script.
func (x *Execution) SyncTimeLimit() TimeLimit {
	return TimeLimit{"sync_time", x.Limits.SyncTime, "a synchronous call may take: what it did stays done; for longer scripts there is mode: async of /v1/query"}
}

// AsyncTimeLimit is that of a job.
func (x *Execution) AsyncTimeLimit() TimeLimit {
	return TimeLimit{"async_time", x.Limits.AsyncTime, "a job may run: what it did stays done"}
}
