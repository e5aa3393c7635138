package execution

import (
	"bytes"
	"strings"

	"ql/internal/job"
	"ql/internal/wire"
	"ql/lang/value"
	"ql/lang/vm"
)

// Record fills in a record what a machine has done; without a machine the script
// did not compile.
func Record(r *job.Record, m *vm.Machine, e *wire.Error) {
	r.Trace = []byte("[]")
	if e != nil {
		r.Error = e.AppendJSON(nil)
	}
	if m != nil {
		r.Result = bytes.Clone(m.Output()) // the machine's own memory is used again
		r.Steps = m.Steps()
		r.Trace, r.TraceDropped = Trace(m)
		r.Response = Response(m)
	}
	r.Encoding = job.EncodingOf(r.Result)
}

// Shown is a job as a poll shows it: the same bytes each time.
func Shown(r *job.Record) wire.Job {
	return wire.Job{
		Status: string(r.State),
		ID:     r.ID.String(),
		Output: &wire.Output{Result: r.Result, Trace: r.Trace, Dropped: r.TraceDropped, Response: r.Response},
		Error:  r.Error,
	}
}

// Trace writes the steps of a run.
func Trace(m *vm.Machine) (written []byte, dropped int64) {
	steps, dropped := m.Trace()
	const each = 128 // about what a step takes
	written = append(make([]byte, 0, 2+each*len(steps)), '[')
	for i, t := range steps {
		if i > 0 {
			written = append(written, ',')
		}
		step := wire.Step{Step: t.Step, Status: t.Status, Class: t.Class, Line: t.Line, Start: t.Start, Duration: t.Duration}
		written = step.AppendJSON(written)
	}
	return append(written, ']'), dropped
}

// Response writes what a script set on !RESPONSE and !COOKIE, nil where it set
// nothing.
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
