package wire

import (
	"encoding/json"
	"strconv"
)

// Error is the error of an answer: of a request that was refused, or of a
// script that failed. Only Code and Message are always there.
type Error struct {
	Code    string
	Message string
	Field   string // of the request
	Limit   string // that was exceeded
	Max     int64  // its value, written where Limit is
	File    string // of the script's place; "" for the script itself
	Line    int
	Column  int
	Step    string
	Fields  []Pair   // what is wrong with each field of a reply, an input or a map that was checked; empty, not nil, where it is no map
	Details []Detail // all errors of a script that does not compile
	ID      string   // under which the log has an internal error
}

// Detail is one of several errors in a script.
type Detail struct {
	Code    string
	Message string
	File    string
	Line    int
	Column  int
}

// AppendJSON appends the error alone, as it stands in an answer.
func (e *Error) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"code":`...)
	dst = appendText(dst, e.Code)
	dst = appendTextField(dst, "message", e.Message)
	dst = appendOptional(dst, "field", e.Field)
	if e.Limit != "" {
		dst = appendTextField(dst, "limit", e.Limit)
		dst = append(dst, `,"value":`...)
		dst = strconv.AppendInt(dst, e.Max, 10)
	}
	dst = appendPlace(dst, e.File, e.Line, e.Column)
	dst = appendOptional(dst, "step", e.Step)
	if e.Fields != nil {
		dst = append(dst, `,"fields":`...)
		dst = appendPairs(dst, e.Fields)
	}
	if len(e.Details) > 0 {
		dst = append(dst, `,"details":[`...)
		for _, d := range e.Details {
			dst = appendComma(dst)
			dst = append(dst, `{"code":`...)
			dst = appendText(dst, d.Code)
			dst = appendTextField(dst, "message", d.Message)
			dst = appendPlace(dst, d.File, d.Line, d.Column)
			dst = append(dst, '}')
		}
		dst = append(dst, ']')
	}
	dst = appendOptional(dst, "id", e.ID)
	return append(dst, '}')
}

// ReadError reads an error that AppendJSON wrote.
func ReadError(stored Raw) (*Error, error) {
	var e struct {
		Error
		Value  int64
		Fields json.RawMessage
	}
	if err := json.Unmarshal(stored, &e); err != nil {
		return nil, err
	}
	e.Max = e.Value
	if len(e.Fields) > 0 && e.Fields[0] == '{' {
		e.Error.Fields = []Pair{}
		members := node(e.Fields).inside()
		for name, value, ok := members.member(); ok; name, value, ok = members.member() {
			if message, r := text("fields", value); r == nil {
				e.Error.Fields = append(e.Error.Fields, Pair{name, message})
			}
		}
	}
	return &e.Error, nil
}

func appendPlace(dst []byte, file string, line, column int) []byte {
	dst = appendOptional(dst, "file", file)
	if line > 0 {
		dst = append(dst, `,"line":`...)
		dst = strconv.AppendInt(dst, int64(line), 10)
		dst = append(dst, `,"column":`...)
		dst = strconv.AppendInt(dst, int64(column), 10)
	}
	return dst
}

// AppendAnswer appends the answer to a request that became no job.
func (e *Error) AppendAnswer(dst []byte) []byte {
	dst = append(dst, `{"status":"`+statusError+`","error":`...)
	dst = e.AppendJSON(dst)
	return append(dst, '}')
}

// maxLines is how many errors of one script the form convention writes. The
// JSON convention shows them all.
const maxLines = 20

// AppendLines appends the error as the form convention writes it: on one line,
// or on one for each of the errors of a script that does not compile.
func (e *Error) AppendLines(dst []byte) []byte {
	if len(e.Details) == 0 {
		return appendLine(dst, Detail{e.Code, e.Message, e.File, e.Line, e.Column}, 0)
	}
	shown := e.Details[:min(len(e.Details), maxLines)]
	for i, d := range shown {
		more := 0
		if i == len(shown)-1 {
			more = len(e.Details) - len(shown)
		}
		dst = appendLine(dst, d, more)
	}
	return dst
}

// appendLine appends one error on one line, and that there are more.
func appendLine(dst []byte, d Detail, more int) []byte {
	start := len(dst)
	dst = append(dst, "error: "...)
	dst = append(dst, d.Code...)
	dst = append(dst, ": "...)
	dst = append(dst, d.Message...)
	if d.Line > 0 {
		dst = append(dst, " ("...)
		if d.File != "" {
			dst = append(dst, d.File...)
			dst = append(dst, ", "...)
		}
		dst = append(dst, "line "...)
		dst = strconv.AppendInt(dst, int64(d.Line), 10)
		dst = append(dst, ", column "...)
		dst = strconv.AppendInt(dst, int64(d.Column), 10)
		if more > 0 {
			dst = append(dst, ", and "...)
			dst = strconv.AppendInt(dst, int64(more), 10)
			dst = append(dst, " more"...)
		}
		dst = append(dst, ')')
	}
	for i := start; i < len(dst); i++ {
		if dst[i] == '\n' || dst[i] == '\r' {
			dst[i] = ' '
		}
	}
	return append(dst, '\n')
}
