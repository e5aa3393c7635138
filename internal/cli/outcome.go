package cli

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"ql/internal/engine"
	"ql/lang/source"
	"ql/lang/value"
	"ql/lang/vm"
)

// outcomeJSON is how a run ended, as the service answers it.
type outcomeJSON struct {
	Status         string          `json:"status"`
	JobID          string          `json:"job_id"`
	Result         string          `json:"result"`
	ResultEncoding string          `json:"result_encoding,omitempty"`
	ResultJSON     json.RawMessage `json:"result_json,omitempty"`
	Trace          []stepJSON      `json:"trace"`
	TraceDropped   int64           `json:"trace_dropped,omitempty"`
	Response       json.RawMessage `json:"response,omitempty"`
	Error          *errorJSON      `json:"error,omitempty"`
}

// stepJSON is one step of the trace.
type stepJSON struct {
	Step       string `json:"step"`
	Status     string `json:"status"`
	DurationMS int64  `json:"duration_ms"`
	ExecClass  string `json:"exec_class"`
	Line       int    `json:"line"`
	StartMS    int64  `json:"start_ms"`
	DurationUS int64  `json:"duration_us"`
}

// errorJSON is why something failed.
type errorJSON struct {
	Code    string        `json:"code"`
	Message string        `json:"message"`
	File    string        `json:"file,omitempty"`
	Line    int           `json:"line,omitempty"`
	Column  int           `json:"column,omitempty"`
	Step    string        `json:"step,omitempty"`
	Limit   string        `json:"limit,omitempty"`
	Value   int64         `json:"value,omitempty"`
	Details []problemJSON `json:"details,omitempty"`
	// Fields says what is wrong with each field of an input, or of a map that was
	// checked.
	Fields map[string]string `json:"fields,omitempty"`
}

func (e *errorJSON) addField(name, message string) {
	if e.Fields == nil {
		e.Fields = map[string]string{}
	}
	e.Fields[name] = message
}

// statuses are the service's words for how a run ended.
var statuses = map[engine.Status]string{engine.Done: "ok", engine.Declined: "declined", engine.Failed: "failed"}

func (s *session) printOutcome(out engine.Outcome) {
	m := s.run.Machine()
	o := outcomeJSON{Status: statuses[out.Status], JobID: s.job, Result: string(m.Output()), Trace: []stepJSON{}, Response: response(m)}
	if !utf8.Valid(m.Output()) {
		o.Result, o.ResultEncoding = base64.StdEncoding.EncodeToString(m.Output()), "base64"
	}
	if m.OutputIsJSON() {
		o.ResultJSON = m.Output()
	}
	steps, dropped := m.Trace()
	for _, t := range steps {
		o.Trace = append(o.Trace, stepJSON{
			Step: t.Step, Status: t.Status, DurationMS: t.Duration.Milliseconds(), ExecClass: t.Class,
			Line: t.Line, StartMS: t.Start.Milliseconds(), DurationUS: t.Duration.Microseconds(),
		})
	}
	o.TraceDropped = dropped
	if e := out.Err; e != nil {
		o.Error = &errorJSON{Code: e.Code, Message: e.Message, File: e.File, Line: e.Line, Column: e.Column, Step: e.Step}
		for _, f := range e.Fields {
			o.Error.addField(f.Name, f.Message)
		}
		if e.Limit != nil {
			o.Error.Limit, o.Error.Value = e.Limit.Name, e.Limit.Max
		}
	}
	s.print(o)
}

// response returns what the script set OF !RESPONSE and !COOKIE: {status,
// headers, cookies}, or nothing. EMIT JSON sets the type where the script does not.
func response(m *vm.Machine) json.RawMessage {
	answer := value.NewMap(nil, 3)
	headers := value.NewMap(nil, 0)
	typed := !m.OutputIsJSON()
	if r := m.Response(); r.IsMap() {
		for k, v := range r.Map().All {
			const header = "header:"
			if name := k.Str(); len(name) > len(header) && strings.EqualFold(name[:len(header)], header) {
				headers.SetText(name[len(header):], v.Share())
				typed = typed || strings.EqualFold(name[len(header):], "Content-Type")
			} else {
				answer.Set(nil, k, v.Share())
			}
		}
	}
	if !typed {
		headers.SetText("Content-Type", value.Text("application/json"))
	}
	if headers.Len() > 0 {
		answer.SetText("headers", headers.Value())
	}
	if c := m.Cookies(); c.IsMap() && c.Map().Len() > 0 {
		answer.SetText("cookies", c.Share())
	}
	if answer.Len() == 0 {
		return nil
	}
	return value.AppendJSON(nil, answer.Value())
}

// refused shows the errors of a script that does not compile.
func (s *session) refused(errs source.Errors) {
	name := s.command.Script
	if !s.json {
		for _, e := range errs {
			fmt.Fprint(s.err, e.Caret(shownName(name)))
		}
		return
	}
	first := errs[0]
	e := &errorJSON{Code: "syntax_error", Message: first.Message, File: first.File, Line: first.Line, Column: first.Column}
	for _, p := range errs {
		e.Details = append(e.Details, newProblem(name, p))
	}
	s.print(outcomeJSON{Status: statuses[engine.Failed], JobID: s.job, Trace: []stepJSON{}, Error: e})
}

// explain writes why the run failed, with the line and the calls that led
// there.
func (s *session) explain(e *vm.Error) string {
	file := source.NewFile(e.File, s.texts[e.File])
	shown := source.Error{
		File: e.File, Line: e.Line, Column: e.Column, Width: 1,
		Message: e.Code + ": " + printable(e.Message), Source: file.LineText(e.Line),
	}
	var b strings.Builder
	b.WriteString(shown.Caret(shownName(s.command.Script)))
	for _, p := range e.Stack {
		where := p.File
		if where == "" {
			where = shownName(s.command.Script)
		}
		fmt.Fprintf(&b, "    in %s, called from %s:%d\n", p.Function, where, p.Line)
	}
	return b.String()
}

// printTrace shows the steps in a table.
func (s *session) printTrace() {
	steps, dropped := s.run.Machine().Trace()
	w := tabwriter.NewWriter(s.err, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "STEP\tLINE\tSTATUS\tCLASS\tDURATION")
	for _, t := range steps {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", t.Step, t.Line, t.Status, t.Class, rounded(t.Duration))
	}
	_ = w.Flush()
	if dropped > 0 {
		fmt.Fprintf(s.err, "(%d more steps)\n", dropped)
	}
}

// rounded leaves three digits of a duration.
func rounded(d time.Duration) time.Duration {
	unit := time.Nanosecond
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}
