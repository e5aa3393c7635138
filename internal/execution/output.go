package execution

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"ql/internal/job"
	"ql/internal/wire"
	"ql/lang/value"
	"ql/lang/vm"
)

// NewRecord makes the record of a script that ended; without a machine it did not compile.
// Its trace is shown as its caller asked.
func NewRecord(t wire.TraceMode, s job.Summary, state job.State, finished time.Time, ran time.Duration, m *vm.Machine, e *wire.Error) job.Record {
	var output []byte
	if m != nil {
		output = bytes.Clone(m.Output())
	}
	return newRecord(t, s, state, finished, ran, m, output, e)
}

// MoveRecord is NewRecord where there is no room for a copy of the output: it takes the machine's,
// which has none then.
func MoveRecord(t wire.TraceMode, s job.Summary, state job.State, finished time.Time, ran time.Duration, m *vm.Machine, e *wire.Error) job.Record {
	var output []byte
	if m != nil {
		output = m.MoveOutput()
	}
	return newRecord(t, s, state, finished, ran, m, output, e)
}

func newRecord(t wire.TraceMode, s job.Summary, state job.State, finished time.Time, ran time.Duration, m *vm.Machine, output []byte, e *wire.Error) job.Record {
	if t == wire.TraceErrors && (state == job.Failed || state == job.Expired) {
		t = wire.TraceFull
	}
	var p job.Progress
	if m != nil {
		p = progress(t, m, 0, output)
	} else if t != wire.TraceFull {
		p.Trace = job.NoTrace()
	}
	p.Ran = ran
	var failure []byte
	if e != nil {
		failure = e.AppendJSON(nil)
	}
	r := job.NewRecord(s, state, finished, p, failure)
	if m != nil {
		r.Cost = job.Cost{Fuel: m.Fuel(), Memory: m.Memory()}
	}
	return r
}

// Progress is what a machine has to show that is at an effect, or has ended: its output
// from an offset on. It is copied: the machine's own memory is used again.
func Progress(t wire.TraceMode, m *vm.Machine, from int64) job.Progress {
	return progress(t, m, from, bytes.Clone(m.Output()[from:]))
}

func progress(t wire.TraceMode, m *vm.Machine, from int64, output []byte) job.Progress {
	p := job.Progress{From: from, Output: output, JSON: m.OutputIsJSON(), Steps: m.Steps(), Response: Response(m)}
	p.Trace, p.TraceDropped = trace(t, m, func(vm.TraceStep) bool { return true })
	return p
}

// WireJob is a job as a poll shows it: the same bytes each time.
func WireJob(r *job.Record) wire.Job {
	return wire.Job{
		Status: string(r.State),
		ID:     r.ID.String(),
		Output: &wire.Output{
			Result: r.Result, JSON: r.Encoding == job.JSONText, Trace: r.Trace, Untraced: r.Untraced(), Dropped: r.TraceDropped, Response: r.Response,
		},
		Error: r.Error,
	}
}

// TraceSoFar writes the steps of a run that are over: how one that is under way
// ends is not known.
func TraceSoFar(t wire.TraceMode, m *vm.Machine) (written []byte, dropped int64) {
	return trace(t, m, func(s vm.TraceStep) bool { return !s.Open })
}

// trace writes steps of a run. The trace of a caller who wants that of an error alone is
// shown when there is one.
func trace(t wire.TraceMode, m *vm.Machine, shown func(vm.TraceStep) bool) (written []byte, dropped int64) {
	if t != wire.TraceFull {
		return job.NoTrace(), 0
	}
	all, dropped := m.Trace()
	steps := make([]wire.Step, 0, len(all))
	for _, t := range all {
		if !shown(t) {
			continue
		}
		steps = append(steps, wire.Step{Step: t.Step, Status: t.Status, Class: t.Class, Line: t.Line, Start: t.Start, Duration: t.Duration,
			Order: t.Number, Open: t.Open && t.Status != wire.StepPaused, Repeated: t.Repeated})
	}
	const each = 128 // about what a step takes
	return wire.AppendTrace(make([]byte, 0, 2+each*len(steps)), steps), dropped
}

// Response writes what a script set on !RESPONSE and !COOKIE, nil where it set
// nothing. EMIT JSON sets the type of the answer where the script itself does not.
func Response(m *vm.Machine) []byte {
	var r wire.Response
	if set := m.Response(); set.IsMap() {
		for k, v := range set.Map().All {
			const header = "header:"
			name := k.Str()
			switch {
			case name == "status":
				r.Status = int(v.Int64())
			case len(name) > len(header) && strings.EqualFold(name[:len(header)], header):
				r.Headers = append(r.Headers, wire.Pair{Name: name[len(header):], Value: v.Str()})
			}
		}
	}
	if m.OutputIsJSON() && !slices.ContainsFunc(r.Headers, func(p wire.Pair) bool { return strings.EqualFold(p.Name, "Content-Type") }) {
		r.Headers = append(r.Headers, wire.Pair{Name: "Content-Type", Value: wire.JSONType})
	}
	if set := m.Cookies(); set.IsMap() {
		for k, v := range set.Map().All {
			c := wire.Cookie{Name: k.Str(), Removed: v.IsNull()}
			if !c.Removed {
				c.Value = string(value.AppendText(nil, v))
			}
			r.Cookies = append(r.Cookies, c)
		}
	}
	if r.Status == 0 && r.Headers == nil && r.Cookies == nil {
		return nil
	}
	return r.AppendJSON(nil)
}
