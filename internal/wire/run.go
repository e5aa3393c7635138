package wire

import "mime"

// Within checks a request against limits. The error is a *Refusal.
func (q *Request) Within(l Limits) error {
	l = l.withDefaults()
	if r := q.within("", &l); r != nil {
		return r
	}
	return nil
}

// IsObject tells whether the body is a JSON object, as that of a form is.
func (b *Body) IsObject() bool { return b.Kind == JSONBody && root(b.Text)[0] == '{' }

// Describe says in a word what the body is that came with a type of content.
func (b *Body) Describe(contentType string) string {
	if b.Kind == JSONBody {
		return root(b.Text).kind()
	}
	if kind, _, err := mime.ParseMediaType(contentType); err == nil {
		return quote(kind)
	}
	return "a text"
}

// SetProgramJSON sets the headers of an answer in JSON at the address of a program: about its
// run, or a refusal.
func SetProgramJSON(h Header, s HeaderOptions) {
	SetJSON(h, s)
	h["Content-Security-Policy"] = sandboxed
}

// SetProgramPreflight sets the headers of the answer to a browser that asks whether a page of a
// listed origin may call a program, with headers that it names. Those are the program's to read.
func SetProgramPreflight(h Header, s HeaderOptions, headers string) {
	s.set(h)
	h["Content-Security-Policy"] = sandboxed
	set(h, "Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
	if headers != "" {
		set(h, "Access-Control-Allow-Headers", headers)
	}
	set(h, "Access-Control-Max-Age", "600")
}

// SetJob sets the headers that tell of a job.
func (j *Job) SetJob(h Header) {
	set(h, "QL-Job-Id", j.ID)
	set(h, "QL-Status", j.Status)
}

// Expose lets pages of a listed origin read a header of the answer.
func Expose(h Header, name string) {
	if list := h["Access-Control-Expose-Headers"]; list != nil {
		set(h, "Access-Control-Expose-Headers", list[0]+", "+name)
	}
}

// AppendFailed appends the answer of a program that failed. Where it is for somebody who is
// not to know the program from the inside, it has the code alone.
func (j *Job) AppendFailed(dst []byte, e *Error, whole bool) []byte {
	dst = append(dst, `{"status":"`+StatusFailed+`"`...)
	shown := *e
	if whole {
		dst = appendTextField(dst, "job_id", j.ID)
	} else {
		shown = Error{Code: e.Code, Message: "the program failed", ID: e.ID}
		switch {
		case e.Fields != nil: // of what was sent: who sent it is to know
			shown.Message, shown.Fields = e.Message, e.Fields
		case e.Limit != "":
			shown.Message = "the program came to a limit"
		}
	}
	dst = append(dst, `,"error":`...)
	dst = shown.AppendJSON(dst)
	return append(dst, '}')
}

// AppendSuspended appends the answer of a program that waits for a person or a moment, to
// somebody who gets neither its id nor its output: where to answer, if it asks for a form.
func (j *Job) AppendSuspended(dst []byte) []byte {
	dst = append(dst, `{"status":`...)
	dst = appendText(dst, j.Status)
	dst = appendOptional(dst, "form_url", j.VisitorForm())
	if !j.ResumeAt.IsZero() {
		dst = append(dst, `,"resume_at":`...)
		dst = appendTime(dst, j.ResumeAt)
	}
	return append(dst, '}')
}
