package wire

import (
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns the body of the form convention's answer about a job: the
// output, and what comes after it where the script failed with e. They are
// apart so that a large output need not be copied.
func (j *Job) Text(e *Error) (output, after []byte) {
	if j.Output != nil {
		output = j.Output.Result
	}
	if e == nil {
		return output, nil
	}
	if len(output) > 0 && output[len(output)-1] != '\n' {
		after = append(after, '\n')
	}
	return output, e.AppendLines(after)
}

// SetText sets the headers of the form convention's answer about a job; e is
// why it failed, or nil. It returns what is not set yet.
func (j *Job) SetText(h Header, s HeaderOptions, e *Error) *Head {
	head := textHeads.begin(h, s)
	if j.Output != nil && !utf8.Valid(j.Output.Result) {
		h["Content-Type"] = bytesType
	}
	if e == nil && j.Output != nil && j.Output.JSON { // else a line about the error follows
		h["Content-Type"] = jsonType
	}
	set(h, "QL-Job-Id", j.ID)
	set(h, "QL-Status", j.Status)
	if j.ConfirmURL != "" {
		set(h, "Link", "<"+j.ConfirmURL+`>; rel="resume"`)
	}
	if j.PollURL != "" {
		set(h, "Location", j.PollURL)
	}
	if j.Output != nil && j.Output.Response != nil {
		setResponse(h, j.Output.Response)
	}
	if e != nil {
		set(h, "QL-Error", e.Code)
	}
	return head
}

// maxResponse is how long QL-Response may be. Many clients and proxies refuse an
// answer with longer headers, and its text would be lost with them.
const maxResponse = 8 << 10

// setResponse sets the header that says what the script set on !RESPONSE and
// !COOKIE, or the one that says that it is too long for a header.
func setResponse(h Header, response Raw) {
	if len(response) <= maxResponse {
		if text := asciiJSON(response); len(text) <= maxResponse {
			set(h, "QL-Response", string(text))
			return
		}
	}
	SetOmitted(h, "too large")
}

// SetOmitted sets the header that says what was left out of what the script set, or why.
func SetOmitted(h Header, what string) { set(h, "QL-Response-Omitted", what) }

// SetJSON sets the headers of the JSON convention's answer to the call that ran
// or submitted the job. It returns what is not set yet.
func (j *Job) SetJSON(h Header, s HeaderOptions) *Head {
	head := jsonHeads.begin(h, s)
	if j.Status == StatusAccepted {
		set(h, "Location", j.PollURL)
	}
	return head
}

// SetText sets the headers of the form convention's answer to a request that
// became no job.
func (e *Error) SetText(h Header, s HeaderOptions) {
	setText(h, s, false)
	set(h, "QL-Error", e.Code)
}

// asciiJSON writes JSON text in ASCII, as a header takes it.
func asciiJSON(text Raw) []byte {
	dst := make([]byte, 0, len(text)+16)
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if c == 0x7f {
				dst = append(dst, `\u007f`...)
			} else {
				dst = append(dst, c)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		i += size
		if r > 0xffff {
			high, low := utf16.EncodeRune(r)
			dst = appendEscape(dst, high)
			r = low
		}
		dst = appendEscape(dst, r)
	}
	return dst
}

func appendEscape(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&0xf], hexDigits[r>>8&0xf], hexDigits[r>>4&0xf], hexDigits[r&0xf])
}

// RetryAfter returns the value of a Retry-After header: whole seconds, so that
// nobody comes back too early.
func RetryAfter(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10)
}
