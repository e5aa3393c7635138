package wire

import (
	"encoding/json"
	"strconv"
	"time"
)

// Raw is JSON text, written into an answer as it is.
type Raw []byte

// The states of a job, as answers name them.
const (
	StatusOK        = "ok" // the answer to the call that ran the job; a poll says complete
	StatusAccepted  = "accepted"
	StatusRunning   = "running"
	StatusPaused    = "paused"
	StatusWaiting   = "waiting"
	StatusComplete  = "complete"
	StatusFailed    = "failed"
	StatusDeclined  = "declined"
	StatusCancelled = "cancelled"
	StatusExpired   = "expired"
	statusError     = "error" // of a request that became no job
)

// Job is an answer about a job: to the call that ran or submitted it, to a poll,
// to a confirm, and to a webhook. What is left empty is left out.
type Job struct {
	Status     string
	ID         string
	Truncated  bool // the output was left out for its size
	Output     *Output
	Value      Raw            // of an output that is one value, where Output is left out
	Answer     *AnswerReceipt // to an answer that was accepted
	LastAnswer *JobAnswered   // that the job got, in what its webhook is told
	Prompt     *Prompt
	ConfirmURL string
	FormURL    string
	ResumeAt   time.Time
	PollURL    string
	Error      Raw // as Error.AppendJSON writes it
}

// Output is what a job has given so far. Trace and Response are in their written
// form, since they are stored with the job as they were first shown.
type Output struct {
	Result   []byte // base64 in JSON where it is not UTF-8
	JSON     bool   // Result is one value as JSON: it also stands as that, result_json
	Trace    Raw    // as AppendTrace writes it; nil is an empty one
	Untraced bool   // the trace is left out
	Dropped  int64  // steps that the trace left out
	Response Raw    // as Response.AppendJSON writes it; nil where nothing was set
}

// Prompt is the question at which a job pauses.
type Prompt struct {
	ID        string
	Kind      string // "confirm" or "gather"
	To        string // whom it is for
	Sent      bool   // the script has sent its address to whoever shall answer; not written
	Message   string
	Schema    Raw // of a gather
	ExpiresAt time.Time
}

// AnswerReceipt says that an answer was accepted.
type AnswerReceipt struct {
	PromptID string
	Decision string // "approved", "declined" or "answered"
	At       time.Time
	Receipt  string // a number
}

func (a *AnswerReceipt) append(dst []byte) []byte {
	dst = append(dst, `{"prompt_id":`...)
	dst = appendText(dst, a.PromptID)
	dst = appendTextField(dst, "decision", a.Decision)
	dst = append(dst, `,"at":`...)
	dst = appendTime(dst, a.At)
	dst = appendTextField(dst, "receipt", a.Receipt)
	return append(dst, '}')
}

// HTTPStatus returns the status of the answer to the call that ran or submitted the
// job. A poll of any job that there is answers 200.
func (j *Job) HTTPStatus() int {
	switch j.Status {
	case StatusFailed:
		return 422
	case StatusPaused, StatusWaiting, StatusAccepted, StatusRunning:
		return 202
	}
	return 200
}

// Size is about how many bytes AppendJSON appends where little is escaped.
func (j *Job) Size() int {
	const rest = 256
	size := rest + len(j.Error)
	if o := j.Output; o != nil {
		size += len(o.Result) + len(o.Trace) + len(o.Response)
		if o.JSON {
			size += len(o.Result)
		}
	}
	if q := j.Prompt; q != nil {
		size += len(q.Message) + len(q.Schema)
	}
	return size
}

// AppendJSON appends the answer.
func (j *Job) AppendJSON(dst []byte) []byte {
	p := parts{dst: dst}
	j.add(&p)
	return p.dst
}

func (j *Job) add(p *parts) {
	p.dst = append(p.dst, `{"status":`...)
	p.dst = appendText(p.dst, j.Status)
	p.dst = appendTextField(p.dst, "job_id", j.ID)
	if j.Truncated {
		p.dst = append(p.dst, `,"truncated":true`...)
	}
	if j.Output != nil {
		j.Output.add(p)
	}
	p.optional("result_json", j.Value)
	if j.Prompt != nil {
		p.dst = append(p.dst, `,"prompt":`...)
		j.Prompt.add(p)
	}
	p.dst = appendOptional(p.dst, "confirm_url", j.ConfirmURL)
	p.dst = appendOptional(p.dst, "form_url", j.FormURL)
	if !j.ResumeAt.IsZero() {
		p.dst = append(p.dst, `,"resume_at":`...)
		p.dst = appendTime(p.dst, j.ResumeAt)
	}
	p.dst = appendOptional(p.dst, "poll_url", j.PollURL)
	p.optional("error", j.Error)
	if j.Answer != nil {
		p.dst = append(p.dst, `,"answer":`...)
		p.dst = j.Answer.append(p.dst)
	}
	if j.LastAnswer != nil {
		p.dst = append(p.dst, `,"last_answer":`...)
		p.dst = j.LastAnswer.append(p.dst)
	}
	p.dst = append(p.dst, '}')
}

func (o *Output) add(p *parts) {
	p.dst = append(p.dst, `,"result":`...)
	if isText := p.bytes(o.Result); !isText {
		p.dst = append(p.dst, `,"result_encoding":"base64"`...)
	}
	if o.JSON {
		p.optional("result_json", o.Result)
	}
	if !o.Untraced {
		o.addTrace(p)
	}
	p.optional("response", o.Response)
}

func (o *Output) addTrace(p *parts) {
	p.dst = append(p.dst, `,"trace":`...)
	if o.Trace == nil {
		p.dst = append(p.dst, "[]"...)
	}
	p.raw(o.Trace)
	if o.Dropped > 0 {
		p.dst = append(p.dst, `,"trace_dropped":`...)
		p.dst = strconv.AppendInt(p.dst, o.Dropped, 10)
	}
}

func (q *Prompt) add(p *parts) {
	p.dst = append(p.dst, `{"id":`...)
	p.dst = appendText(p.dst, q.ID)
	p.dst = appendTextField(p.dst, "kind", q.Kind)
	p.dst = appendOptional(p.dst, "to", q.To)
	p.dst = appendName(p.dst, "message")
	p.text(q.Message)
	p.optional("schema", q.Schema)
	if !q.ExpiresAt.IsZero() {
		p.dst = append(p.dst, `,"expires_at":`...)
		p.dst = appendTime(p.dst, q.ExpiresAt)
	}
	p.dst = append(p.dst, '}')
}

// Step is one entry of a trace.
type Step struct {
	Step     string
	Status   string
	Class    string
	Line     int
	Start    time.Duration // since the run began
	Duration time.Duration
	// Order is which step to end it was, 1 for the first; 0 is its position in the
	// trace.
	Order int64
	Open  bool // it is under way; a status Paused says so by itself
	// Repeated says that it was begun before, and cut off by a crash.
	Repeated bool
}

// AppendJSON appends the step by itself, without its order.
func (s *Step) AppendJSON(dst []byte) []byte { return s.append(dst, s.Order) }

// append appends the step at a position of a trace.
func (s *Step) append(dst []byte, place int64) []byte {
	dst = append(dst, `{"step":`...)
	dst = appendText(dst, s.Step)
	dst = appendTextField(dst, "status", s.Status)
	dst = append(dst, `,"duration_ms":`...)
	dst = strconv.AppendInt(dst, s.Duration.Milliseconds(), 10)
	dst = appendTextField(dst, "exec_class", s.Class)
	dst = append(dst, `,"line":`...)
	dst = strconv.AppendInt(dst, int64(s.Line), 10)
	dst = append(dst, `,"start_ms":`...)
	dst = strconv.AppendInt(dst, s.Start.Milliseconds(), 10)
	dst = append(dst, `,"duration_us":`...)
	dst = strconv.AppendInt(dst, s.Duration.Microseconds(), 10)
	if s.Order != 0 && s.Order != place {
		dst = append(dst, `,"order":`...)
		dst = strconv.AppendInt(dst, s.Order, 10)
	}
	if s.Open {
		dst = append(dst, `,"open":true`...)
	}
	if s.Repeated {
		dst = append(dst, `,"repeated":true`...)
	}
	return append(dst, '}')
}

// AppendTrace appends a trace.
func AppendTrace(dst []byte, steps []Step) []byte {
	dst = append(dst, '[')
	for i := range steps {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = steps[i].append(dst, int64(i+1))
	}
	return append(dst, ']')
}

// ReadTrace reads a trace that AppendTrace wrote, with the order of each step;
// nil is an empty one.
func ReadTrace(text Raw) ([]Step, error) {
	if text == nil {
		return nil, nil
	}
	var read []struct {
		Step     string `json:"step"`
		Status   string `json:"status"`
		Class    string `json:"exec_class"`
		Line     int    `json:"line"`
		Start    int64  `json:"start_ms"`
		Duration int64  `json:"duration_us"`
		Order    int64  `json:"order"`
		Open     bool   `json:"open"`
		Repeated bool   `json:"repeated"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, err
	}
	steps := make([]Step, len(read))
	for i, r := range read {
		steps[i] = Step{Step: r.Step, Status: r.Status, Class: r.Class, Line: r.Line, Order: r.Order, Open: r.Open, Repeated: r.Repeated,
			Start: time.Duration(r.Start) * time.Millisecond, Duration: time.Duration(r.Duration) * time.Microsecond}
		if r.Order == 0 {
			steps[i].Order = int64(i + 1)
		}
	}
	return steps, nil
}

// HasEnded tells whether a step is not under way any more.
func (s *Step) HasEnded() bool { return !s.Open && s.Status != StepPaused }

// StepPaused is the status of a step that waits for a person.
const StepPaused = "Paused"

// Response is what a script set on !RESPONSE and !COOKIE, for the caller to
// apply.
type Response struct {
	Status  int // 0 where it was not set
	Headers []Pair
	Cookies []Cookie
}

// Cookie is a cookie that a script set or removed.
type Cookie struct {
	Name, Value string
	Removed     bool
}

// AppendJSON appends what was set.
func (r *Response) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	if r.Status != 0 {
		dst = append(dst, `"status":`...)
		dst = strconv.AppendInt(dst, int64(r.Status), 10)
	}
	if len(r.Headers) > 0 {
		dst = appendComma(dst)
		dst = append(dst, `"headers":`...)
		dst = appendPairs(dst, r.Headers)
	}
	if len(r.Cookies) > 0 {
		dst = appendComma(dst)
		dst = append(dst, `"cookies":{`...)
		for _, c := range r.Cookies {
			dst = appendComma(dst)
			dst = appendText(dst, c.Name)
			dst = append(dst, ':')
			if c.Removed {
				dst = append(dst, "null"...)
			} else {
				dst = appendText(dst, c.Value)
			}
		}
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// ReadResponse reads what AppendJSON wrote, in its order; nil is nothing.
func ReadResponse(text Raw) (r Response, err error) {
	if text == nil {
		return r, nil
	}
	l := Limits{Body: len(text)}.withDefaults()
	if _, refusal := check("response", string(text), &l); refusal != nil {
		return r, refusal
	}
	wrong := invalid("response", "is not what a script set")
	top := root(string(text))
	if top[0] != '{' {
		return r, wrong
	}
	members := top.inside()
	for name, value, ok := members.member(); ok; name, value, ok = members.member() {
		switch {
		case name == "status":
			if r.Status, err = strconv.Atoi(string(value)); err != nil {
				return r, wrong
			}
		case name == "headers" && value[0] == '{':
			headers := value.inside()
			for name, value, ok := headers.member(); ok; name, value, ok = headers.member() {
				if value[0] != '"' {
					return r, wrong
				}
				r.Headers = append(r.Headers, Pair{name, value.text()})
			}
		case name == "cookies" && value[0] == '{':
			cookies := value.inside()
			for name, value, ok := cookies.member(); ok; name, value, ok = cookies.member() {
				c := Cookie{Name: name, Removed: value[0] != '"'}
				if !c.Removed {
					c.Value = value.text()
				}
				r.Cookies = append(r.Cookies, c)
			}
		default:
			return r, wrong
		}
	}
	return r, nil
}
