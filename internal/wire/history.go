package wire

import (
	"encoding/base64"
	"slices"
	"strconv"
	"time"
)

// Repeat is a request of POST /v1/jobs/{ref}/repeat: what is another than it was. What is left out
// is as it was.
type Repeat struct {
	Request *Request   // nil where it was left out
	Input   *string    // likewise; an object as it was sent, checked
	Async   *bool      // likewise
	Trace   *TraceMode // likewise
	Shape   Shape
}

var repeatFields = []string{"request", "input", "mode", "trace"}

// DecodeRepeat reads the body of POST /v1/jobs/{ref}/repeat, which may be empty. The error is a
// *Refusal.
func DecodeRepeat(body []byte, l Limits) (*Repeat, error) {
	l = l.withDefaults()
	q := new(Repeat)
	if len(body) == 0 {
		return q, nil
	}
	top, r := document(body, &l, &q.Shape)
	if r == nil {
		r = q.decode(top)
	}
	if r == nil && q.Request != nil {
		r = q.Request.within("request.", &l)
	}
	if r != nil {
		return nil, r.withoutPlanLimit()
	}
	return q, nil
}

func (q *Repeat) decode(top node) *Refusal {
	members := top.inside()
	for name, value, ok := members.member(); ok; name, value, ok = members.member() {
		var r *Refusal
		switch name {
		case "request":
			q.Request = new(Request)
			r = q.Request.decode(value)
		case "input":
			var input string
			input, r = decodeInput(value)
			q.Input = &input
		case "mode":
			var async bool
			async, r = decodeMode(value)
			q.Async = &async
		case "trace":
			var trace TraceMode
			trace, r = decodeTrace(value)
			q.Trace = &trace
		default:
			r = unknown(bodyField, name, repeatFields)
		}
		if r != nil {
			return r
		}
	}
	return nil
}

// Within checks what was sent against limits narrower than those it was decoded under.
func (q *Repeat) Within(l Limits) error {
	l = l.withDefaults()
	if r := q.Shape.within(bodyField, &l); r != nil {
		return r
	}
	if q.Request != nil {
		if r := q.Request.within("request.", &l); r != nil {
			return r
		}
	}
	return nil
}

// SourceText is the text of a script with what it includes.
type SourceText struct {
	Text  string
	Files []Pair // paths with texts
}

func (s *SourceText) size() int {
	n := len(s.Text)
	for _, f := range s.Files {
		n += len(f.Name) + len(f.Value) + 32
	}
	return n
}

// append appends the fields of a source.
func (s *SourceText) append(dst []byte) []byte {
	dst = append(dst, `"text":`...)
	dst = appendText(dst, s.Text)
	dst = append(appendName(dst, "files"), '[')
	for _, f := range s.Files {
		dst = append(appendComma(dst), `{"path":`...)
		dst = appendText(dst, f.Name)
		dst = appendTextField(dst, "text", f.Value)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// AppendSource appends the answer of GET /v1/jobs/{ref}/source.
func AppendSource(dst []byte, ref int64, s *SourceText) []byte {
	dst = append(dst, `{"status":"ok","ref":`...)
	dst = strconv.AppendInt(dst, ref, 10)
	dst = append(dst, ',')
	return append(s.append(dst), '}')
}

// JobCost is what a job has used.
type JobCost struct{ Fuel, Memory, Output, Fetches int64 }

// JobAnswered is an answer to a question of a job.
type JobAnswered struct {
	PromptID string
	Title    string // the start of the question
	To       string // whom it was for, "" where the script did not say
	By       string
	At       time.Time
	Decision string // "" where it is not known
	Note     string // "" for none
	Receipt  string
}

func (a *JobAnswered) append(dst []byte) []byte {
	dst = append(dst, `{"prompt_id":`...)
	dst = appendText(dst, a.PromptID)
	dst = appendTextField(dst, "title", a.Title)
	dst = appendTextOrNull(dst, "to", a.To)
	dst = appendTextField(dst, "by", a.By)
	dst = appendTime(appendName(dst, "at"), a.At)
	dst = appendTextOrNull(dst, "decision", a.Decision)
	dst = appendTextOrNull(dst, "note", a.Note)
	return append(appendTextField(dst, "receipt", a.Receipt), '}')
}

// AppendAnswers appends the answer of GET /v1/jobs/{ref}/answers. Next is where the following page
// begins, "" at the end.
func AppendAnswers(dst []byte, ref int64, list []JobAnswered, next string) []byte {
	dst = append(dst, `{"status":"ok"`...)
	dst = append(appendNumber(dst, "ref", ref), `,"answers":[`...)
	for i := range list {
		dst = list[i].append(appendComma(dst))
	}
	return appendNext(dst, next)
}

// JobHistory is a job with all that its owner may see of it.
type JobHistory struct {
	Job
	Entry   JobEntry
	Origin  int64       // 0 for none
	Source  *SourceText // nil where it is not kept
	Request *Request    // nil where nothing was sent
	Input   Raw         // nil where none was sent
	Omitted int64       // bytes of the request that are not kept
	Cost    *JobCost    // nil where it is not known
	Answers []JobAnswered
	// Parent is the job that has started it, nil for none, and Children are those that it has
	// started; MoreChildren says that there are more.
	Parent       *JobParent
	Children     []JobChild
	MoreChildren bool
}

// JobParent is a job that has started another one.
type JobParent struct {
	Ref    int64
	Status string
	Name   string // "" for none
}

// JobChild is a job that another one has started.
type JobChild struct {
	Ref     int64
	Status  string
	Program string
}

// Size is about how many bytes AppendJSON appends where little is escaped.
func (j *JobHistory) Size() int {
	n := j.Job.Size() + 1024 + len(j.Input) + 2560*len(j.Answers) + 256*len(j.Children)
	if j.Source != nil {
		n += j.Source.size()
	}
	if j.Request != nil {
		n += int(j.Request.Bytes())
	}
	return n
}

// AppendJSON appends the answer of GET /v1/jobs/{ref}: that of a poll, with more fields.
func (j *JobHistory) AppendJSON(dst []byte) []byte {
	dst = j.Job.AppendJSON(dst)
	dst = dst[:len(dst)-1]
	dst = appendNumber(dst, "ref", j.Entry.Ref)
	dst = appendTextOrNull(dst, "name", j.Entry.Name)
	dst = appendTextField(dst, "mode", j.Entry.Mode)
	dst = appendTextField(dst, "convention", j.Entry.Convention)
	dst = appendTextField(dst, "by", j.Entry.By)
	dst = appendTextOrNull(dst, "key", j.Entry.Key)
	dst = appendTextOrNull(dst, "program", j.Entry.Program)
	dst = appendTextOrNull(dst, "schedule", j.Entry.Schedule)
	dst = appendTime(appendName(dst, "created_at"), j.Entry.CreatedAt)
	dst = appendEnd(dst, &j.Entry)
	dst = appendNumber(dst, "steps", j.Entry.Steps)
	dst = appendName(dst, "origin")
	if j.Origin == 0 {
		dst = append(dst, "null"...)
	} else {
		dst = strconv.AppendInt(dst, j.Origin, 10)
	}
	dst = appendName(dst, "source")
	if j.Source == nil {
		dst = append(dst, "null"...)
	} else {
		dst = append(j.Source.append(append(dst, '{')), '}')
	}
	dst = appendName(dst, "request")
	if j.Request == nil {
		dst = append(dst, "null"...)
	} else {
		dst = j.Request.AppendJSON(dst)
	}
	dst = appendName(dst, "input")
	if j.Input == nil {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, j.Input...)
	}
	if j.Omitted > 0 {
		dst = appendNumber(dst, "request_omitted_bytes", j.Omitted)
	}
	dst = appendName(dst, "cost")
	if c := j.Cost; c == nil {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, `{"fuel":`...)
		dst = strconv.AppendInt(dst, c.Fuel, 10)
		dst = appendNumber(dst, "memory", c.Memory)
		dst = appendNumber(dst, "output", c.Output)
		dst = append(appendNumber(dst, "fetches", c.Fetches), '}')
	}
	if p := j.Parent; p != nil {
		dst = strconv.AppendInt(append(appendName(dst, "parent"), `{"ref":`...), p.Ref, 10)
		dst = appendTextField(dst, "status", p.Status)
		dst = append(appendTextOrNull(dst, "name", p.Name), '}')
	}
	if len(j.Children) > 0 {
		dst = append(appendName(dst, "children"), '[')
		for i := range j.Children {
			one := &j.Children[i]
			dst = strconv.AppendInt(append(appendComma(dst), `{"ref":`...), one.Ref, 10)
			dst = appendTextField(dst, "status", one.Status)
			dst = append(appendTextField(dst, "program", one.Program), '}')
		}
		dst = strconv.AppendBool(appendName(append(dst, ']'), "more_children"), j.MoreChildren)
	}
	dst = append(appendName(dst, "answers"), '[')
	for i := range j.Answers {
		dst = j.Answers[i].append(appendComma(dst))
	}
	return append(dst, "]}"...)
}

// JobFrame is a function that a job's script stands in.
type JobFrame struct {
	Function, File string // "" for the top level, and for the script itself
	Line           int64
	Variables      []JobVariable
}

// JobVariable is a variable of a frame, with what is shown of its value.
type JobVariable struct{ Name, Kind, Value string }

// AppendStack appends the answer of GET /v1/jobs/{ref}/stack.
func AppendStack(dst []byte, ref int64, frames []JobFrame, more bool) []byte {
	dst = append(dst, `{"status":"ok"`...)
	dst = append(appendNumber(dst, "ref", ref), `,"frames":[`...)
	for i := range frames {
		f := &frames[i]
		dst = append(appendComma(dst), `{"function":`...)
		if f.Function == "" {
			dst = append(dst, "null"...)
		} else {
			dst = appendText(dst, f.Function)
		}
		dst = appendTextOrNull(dst, "file", f.File)
		dst = append(appendNumber(dst, "line", f.Line), `,"variables":[`...)
		for _, v := range f.Variables {
			dst = append(appendComma(dst), `{"name":`...)
			dst = appendText(dst, v.Name)
			dst = appendTextField(dst, "kind", v.Kind)
			dst = append(appendTextField(dst, "value", v.Value), '}')
		}
		dst = append(dst, "]}"...)
	}
	return append(appendBool(append(dst, ']'), "more", more), '}')
}

func appendNumber(dst []byte, name string, n int64) []byte {
	return strconv.AppendInt(appendName(dst, name), n, 10)
}

// AppendJSON appends a request as the field of that name in POST /v1/query. A body of bytes, which
// that cannot send, is body_base64.
func (q *Request) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	for _, p := range q.Entries {
		if p.Name == bodyEntry && q.Body.Kind != NoBody {
			continue // the same, as it was sent
		}
		dst = appendText(appendComma(dst), p.Name)
		dst = appendText(append(dst, ':'), p.Value)
	}
	for _, part := range []struct {
		name   string
		fields []Field
	}{{"get", q.Get}, {"post", q.Post}} {
		if part.fields == nil {
			continue
		}
		dst = appendText(appendComma(dst), part.name)
		dst = append(dst, ":{"...)
		for i := range part.fields {
			f := &part.fields[i]
			dst = append(appendText(appendComma(dst), f.Name), ':')
			if f.JSON {
				dst = append(dst, f.Value...)
			} else {
				dst = appendText(dst, f.Value)
			}
		}
		dst = append(dst, '}')
	}
	switch q.Body.Kind {
	case JSONBody:
		dst = append(appendComma(dst), `"body":`...)
		dst = append(dst, q.Body.Text...)
	case TextBody:
		dst = append(appendComma(dst), `"body":`...)
		dst = appendText(dst, q.Body.Text)
	case BytesBody:
		dst = append(appendComma(dst), `"body_base64":"`...)
		dst = slices.Grow(dst, base64.StdEncoding.EncodedLen(len(q.Body.Bytes))+2)
		dst = append(base64.StdEncoding.AppendEncode(dst, q.Body.Bytes), '"')
	}
	return append(dst, '}')
}
