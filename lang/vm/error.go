package vm

import (
	"context"
	"errors"
	"fmt"

	"ql/lang/bytecode"
	"ql/lang/value"
)

// Error is why a run failed.
type Error struct {
	Code    string
	Message string
	File    string // "" for the script itself
	Line    int
	Column  int
	Step    string
	Limit   *value.LimitError // that was passed, where it was one
	Fields  []Field           // what is wrong with each, of a map that was checked
	Stack   []StackFrame      // the calls that led there, innermost first
	cause   error
}

// Field is what is wrong with one entry of a map.
type Field struct{ Name, Message string }

// StackFrame is a call that led to an error.
type StackFrame struct {
	Function string
	File     string
	Line     int
}

// Error gives the message with its place.
func (e *Error) Error() string {
	if e.File != "" {
		return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
	}
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message)
}

// Unwrap returns what the host reported, for its log.
func (e *Error) Unwrap() error { return e.cause }

// mark returns the mark of the current instruction.
func (m *Machine) mark() bytecode.Mark { return code(m.fn, m.fast).At(m.pc - 1) }

// errorAt returns an error at the current instruction.
func (m *Machine) errorAt(c, message string) *Error {
	mark := m.mark()
	e := &Error{Code: c, Message: message, File: m.prog.Files[m.fn.File], Line: int(mark.Line), Column: int(mark.Column)}
	if mark.Step >= 0 {
		e.Step = m.prog.Steps[mark.Step].Name
	}
	fn := m.fn
	for i := len(m.frames) - 1; i >= 0 && len(e.Stack) < 20; i-- {
		f := &m.frames[i]
		at := code(f.fn, f.fast).At(int(f.pc) - 1)
		e.Stack = append(e.Stack, StackFrame{Function: fn.Name, File: m.prog.Files[f.fn.File], Line: int(at.Line)})
		fn = f.fn
	}
	return e
}

func (m *Machine) limitError(l *value.LimitError) *Error {
	c, message := value.LimitExceeded, l.Error()
	if l.Name == "time" && errors.Is(l.Cause, context.Canceled) {
		c, message = "cancelled", "the run was cancelled"
	}
	e := m.errorAt(c, message)
	e.Limit = l
	e.cause = l.Cause
	return e
}

// fail ends the run.
func (m *Machine) fail(e *Error) {
	m.trace.failed(m, 0)
	m.countAll()
	m.status, m.err = Failed, e
}

// countPending counts the steps of the current block that have begun.
func (m *Machine) countPending() { m.steps += int64(m.mark().Pending) }

// raiseCost is the fuel that an error costs which is caught, and frameCost what it
// costs for each function that it leaves.
const (
	raiseCost = 200
	frameCost = 4
)

// raise unwinds to the TRY that catches err and reports whether there is one;
// otherwise the run has failed.
func (m *Machine) raise(err *value.Error) bool {
	e := m.errorAt(err.Code, err.Message)
	e.Limit = err.Limit
	if err.Data.IsMap() {
		mergeErrorMap(e, err.Data.Map())
	}
	e.Message = truncated(e.Message)
	depth := len(m.frames)
	fn, pc, base, fast := m.fn, m.pc-1, m.base, m.fast
	handlers := 0 // that were looked at
	for {
		handlers += len(code(fn, fast).Handlers)
		if h := handlerOf(code(fn, fast), pc); h != nil {
			m.trace.failed(m, depth)
			left := len(m.frames) - depth
			m.unwindTo(depth, fn, base, fast)
			m.pc = int(h.Target)
			m.meter.Work(raiseCost + frameCost*left + handlers + len(e.Message)/4)
			m.stack[base+int(h.Reg)] = m.errorMap(e, err)
			return true
		}
		if depth == 0 {
			e.Fields = fieldsOf(err)
			m.trace.failed(m, 0)
			m.countAll()
			m.status, m.err = Failed, e
			return false
		}
		depth--
		f := &m.frames[depth]
		fn, pc, base, fast = f.fn, int(f.pc)-1, int(f.base), f.fast
	}
}

func handlerOf(c *bytecode.Code, pc int) *bytecode.Handler {
	for i := range c.Handlers {
		if h := &c.Handlers[i]; int(h.From) <= pc && pc < int(h.To) {
			return h
		}
	}
	return nil
}

// unwindTo leaves the functions above the frame at depth, counting the steps
// that they had begun.
func (m *Machine) unwindTo(depth int, fn *function, base int, fast bool) {
	m.countPending()
	if len(m.frames) > depth {
		m.restoreDB(m.fn, m.base)
	}
	for i := len(m.frames) - 1; i >= depth; i-- {
		f := &m.frames[i]
		m.steps += int64(code(f.fn, f.fast).At(int(f.pc) - 1).Pending)
		if i > depth {
			m.restoreDB(f.fn, int(f.base))
		}
	}
	m.frames = m.frames[:depth]
	m.fn, m.base, m.fast = fn, base, fast
}

// restoreDB gives a function's caller its database back.
func (m *Machine) restoreDB(fn *function, base int) {
	if fn.DBReg >= 0 {
		m.db = m.stack[base+fn.DBReg]
	}
}

// countAll counts the steps begun in all frames, for a run that ends here.
func (m *Machine) countAll() {
	m.countPending()
	for i := range m.frames {
		f := &m.frames[i]
		m.steps += int64(code(f.fn, f.fast).At(int(f.pc) - 1).Pending)
	}
}

// errorMap makes the value that CATCH takes.
func (m *Machine) errorMap(e *Error, err *value.Error) value.Value {
	if err.Data.IsMap() {
		return err.Data.Share()
	}
	t := value.NewMap(&m.meter, 6)
	text := func(s string) value.Value {
		if s == "" {
			return value.Null
		}
		m.meter.Alloc(value.BlockSize(len(s)))
		return value.Text(s)
	}
	for _, x := range []struct {
		key string
		v   value.Value
	}{
		{"code", text(e.Code)}, {"message", text(e.Message)}, {"line", value.Int(int64(e.Line))},
		{"column", value.Int(int64(e.Column))}, {"step", text(e.Step)}, {"file", text(e.File)},
	} {
		t.Set(&m.meter, text(x.key), x.v)
	}
	if !err.Fields.IsNull() {
		t.Set(&m.meter, text("fields"), err.Fields)
	}
	return t.Value()
}

// fieldsOf returns what an error that nobody catches says of the fields of a map, also one
// that was caught and raised again: as much of it as of a message.
func fieldsOf(err *value.Error) (list []Field) {
	fields := err.Fields
	if err.Data.IsMap() && err.Code == value.InvalidFields {
		fields, _ = err.Data.Map().Get("fields")
	}
	if !fields.IsMap() {
		return nil
	}
	left := maxMessage
	list = []Field{} // where there are none, it is still what was sent that does not fit
	for k, v := range fields.Map().All {
		if !v.IsText() {
			break
		}
		if left -= len(k.Str()) + len(v.Str()); left < 0 {
			break
		}
		list = append(list, Field{k.Str(), v.Str()})
	}
	return list
}

// mergeErrorMap puts what an error map says into an error, for FAIL ?err.
func mergeErrorMap(e *Error, t *value.Map) {
	text := func(key string, to *string) {
		if v, _ := t.Get(key); v.IsText() {
			*to = v.Str()
		}
	}
	whole := func(key string, to *int) {
		if v, _ := t.Get(key); v.IsInt() {
			*to = int(v.Int64())
		}
	}
	text("code", &e.Code)
	text("message", &e.Message)
	text("step", &e.Step)
	if v, ok := t.Get("file"); ok && v.IsNull() {
		e.File = ""
	}
	text("file", &e.File)
	// A map of the script's own may say anything here.
	e.Step, e.File = truncated(e.Step), truncated(e.File)
	whole("line", &e.Line)
	whole("column", &e.Column)
}

// maxMessage is how many characters an error's message has at most: whoever
// stores, masks or shows it need not reckon with more.
const maxMessage = 10_000

// truncated cuts what is longer than a message may be.
func truncated(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	n, cut := 0, 0
	for i := range s {
		switch n {
		case maxMessage - 1:
			cut = i
		case maxMessage:
			return s[:cut] + "…"
		}
		n++
	}
	return s
}

// raisedAgain makes the error that a TRANSACTION or a FINALLY hands on: the map that it was
// given of it, which no script has seen.
func raisedAgain(v value.Value) *value.Error {
	e := &value.Error{Code: "script_failed", Data: v}
	if v.IsMap() {
		if c, _ := v.Map().Get("code"); c.IsText() {
			e.Code = c.Str()
		}
		if msg, _ := v.Map().Get("message"); msg.IsText() {
			e.Message = msg.Str()
		}
	}
	return e
}

// failure makes the error that FAIL raises of its operands.
func failure(v, c value.Value, hasCode bool) *value.Error {
	if v.IsMap() {
		t := v.Map()
		msg, _ := t.Get("message")
		if !msg.IsText() {
			return value.Errorf(value.WrongKind, "FAIL takes a text or a caught error; this map has no message")
		}
		e := &value.Error{Code: "script_failed", Message: msg.Str(), Data: v}
		if c, _ := t.Get("code"); c.IsText() {
			if !isCode(c.Str()) {
				return value.Errorf(value.BadArgument, "the code of an error is %s, not %s", codeWords, value.Describe(c))
			}
			e.Code = c.Str()
		}
		return e
	}
	if v.IsContainer() || v.IsNull() || v.Kind() == value.KindBytes {
		return value.Errorf(value.WrongKind, "FAIL takes a text or a caught error, not %s", value.Describe(v))
	}
	e := &value.Error{Code: "script_failed"}
	if v.IsText() {
		e.Message = truncated(v.Str()) // nobody copies the rest
	} else {
		e.Message = string(value.AppendText(nil, v))
	}
	if hasCode {
		if !c.IsText() || c.Str() == "" {
			return value.Errorf(value.WrongKind, "CODE takes a word such as \"out_of_stock\", not %s", value.Describe(c))
		}
		if !isCode(c.Str()) {
			return value.Errorf(value.BadArgument, "CODE takes %s, not %s", codeWords, value.Describe(c))
		}
		e.Code = c.Str()
	}
	return e
}

const (
	maxCode   = 64
	codeWords = "a word such as \"out_of_stock\", of at most 64 letters from a to z, digits, _ and -"
)

// isCode reports whether s can be the code of an error: callers find it in a
// header, and at the start of a line.
func isCode(s string) bool {
	if s == "" || len(s) > maxCode {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
