// Package refeval runs scripts in the most obvious way: it walks their tree,
// and its values are never changed, so that nothing is shared that should not
// be. It knows neither bytecode nor limits nor effects, and it is slow. Tests
// compare the machine with it; its users must keep to values, expressions,
// control flow, functions, TRY and lambdas.
package refeval

import (
	"regexp"
	"strings"

	"ql/lang/source"
	"ql/lang/syntax"
)

// Result is what became of a script.
type Result struct {
	Output string
	Steps  int64
	// Code, Step and Line are those of the error it failed with; Code is ""
	// for a script that ended well.
	Code string
	Step string
	Line int
	// Exhausted says that the script was given up after MaxSteps.
	Exhausted bool
}

// MaxSteps is after how many steps a script is given up.
const MaxSteps = 50_000

// Run runs a script, which must have been checked.
func Run(s *syntax.Script) (r Result) {
	m := &machine{file: s.File, funcs: map[string]*syntax.Define{}}
	var top []syntax.Stmt
	for _, st := range s.Statements {
		if d, ok := st.(*syntax.Define); ok {
			m.funcs[strings.ToLower(d.Name)] = d
			continue
		}
		top = append(top, st)
	}
	defer func() {
		r.Output, r.Steps = m.out.String(), m.steps
		switch e := recover().(type) {
		case nil, stopped:
		case *failure:
			r.Code, r.Step, r.Line = e.code, e.step, e.line
		case exhausted:
			r.Exhausted = true
		default:
			panic(e)
		}
	}()
	m.vars = map[string]val{}
	m.stmts(top)
	return r
}

// failure is an error of a script, raised by a panic.
type failure struct {
	code, message, step string
	line                int
	data                val // the error map raised again, or nil
}

type exhausted struct{}

type machine struct {
	file  *source.File
	funcs map[string]*syntax.Define
	vars  map[string]val
	out   strings.Builder
	json  bool // the output is one value
	steps int64
	step  string // the statement under way
	value val    // what RETURN returns
}

// flow is how a statement ends.
type flow int

const (
	onward flow = iota
	toBreak
	toContinue
	toReturn
	toStop
)

func (m *machine) fail(at source.Pos, code string) {
	panic(&failure{code: code, message: "?", step: m.step, line: m.file.Line(at)})
}

// begin counts a step.
func (m *machine) begin(name string) {
	m.step = name
	if m.steps++; m.steps > MaxSteps {
		panic(exhausted{})
	}
}

func (m *machine) block(b *syntax.Block) flow {
	if b == nil {
		return onward
	}
	return m.stmts(b.Stmts)
}

func (m *machine) stmts(list []syntax.Stmt) flow {
	for _, s := range list {
		if f := m.stmt(s); f != onward {
			return f
		}
	}
	return onward
}

func (m *machine) stmt(s syntax.Stmt) flow {
	switch s := s.(type) {
	case *syntax.Emit:
		m.begin("EMIT")
		// All are evaluated before the first is emitted.
		var vs []val
		for _, a := range s.Args {
			vs = append(vs, m.eval(a))
		}
		if m.json || s.JSON && m.out.Len() > 0 {
			m.fail(s.Pos(), "emit_conflict")
		}
		if s.JSON {
			var b strings.Builder
			json(&b, vs[0])
			m.out.WriteString(b.String())
			m.json = true
			break
		}
		for _, v := range vs {
			m.out.WriteString(written(v))
		}
		if s.Line {
			m.out.WriteByte('\n')
		}
	case *syntax.Set:
		m.begin("SET")
		v := m.eval(s.Value)
		m.assign(s.Target, m.keys(s.Target, nil), v)
	case *syntax.SetKey:
		m.begin("SET")
		v := m.eval(s.Value)
		t := s.Place.(*syntax.Target)
		m.assign(t, m.keys(t, s.Key), v)
	case *syntax.Unset:
		m.begin("UNSET")
		m.unset(s.Target, m.keys(s.Target, nil))
	case *syntax.UnsetKey:
		m.begin("UNSET")
		t := s.Place.(*syntax.Target)
		m.unset(t, m.keys(t, s.Key))
	case *syntax.Append:
		m.begin("APPEND")
		v := m.eval(s.Value)
		name := s.Target.Var.Name
		m.vars[name] = m.appended(s.Pos(), m.vars[name], m.keys(s.Target, nil), v)
	case *syntax.If:
		for _, b := range s.Branches {
			m.begin("IF")
			if truth(m.eval(b.Cond)) {
				return m.block(b.Body)
			}
		}
		return m.block(s.Else)
	case *syntax.ForIn:
		return m.forIn(s)
	case *syntax.ForRange:
		return m.forRange(s)
	case *syntax.While:
		for {
			m.begin("WHILE")
			if !truth(m.eval(s.Cond)) {
				return onward
			}
			if f := m.block(s.Body); f == toBreak {
				return onward
			} else if f > toContinue {
				return f
			}
		}
	case *syntax.Break:
		m.begin("BREAK")
		return toBreak
	case *syntax.Continue:
		m.begin("CONTINUE")
		return toContinue
	case *syntax.Stop:
		m.begin("STOP")
		panic(stopped{})
	case *syntax.Return:
		m.begin("RETURN")
		m.value = nil
		if s.Value != nil {
			m.value = m.eval(s.Value)
		}
		return toReturn
	case *syntax.CallStmt:
		m.begin("CALL")
		m.eval(s.Call)
	case *syntax.Try:
		return m.try(s)
	case *syntax.Fail:
		m.raise(s)
	default:
		panic("a statement that is not pure")
	}
	return onward
}

// stopped unwinds to the end of the script.
type stopped struct{}

func (m *machine) try(s *syntax.Try) flow {
	if s.Finally != nil {
		vars := m.vars
		guarded := *s
		guarded.Finally = nil
		f, e := m.attempt(func() flow { return m.try(&guarded) })
		m.vars = vars
		value := m.value
		m.block(s.Finally)
		if e != nil {
			panic(e)
		}
		m.value = value
		return f
	}
	if s.Catch == nil {
		return m.block(s.Body)
	}
	vars := m.vars
	f, e := m.attempt(func() flow { return m.block(s.Body) })
	if e == nil {
		return f
	}
	m.vars = vars
	if s.Err != nil {
		m.vars[s.Err.Name] = e.caught()
	}
	return m.block(s.Catch)
}

// attempt runs a block and returns what it fails with.
func (m *machine) attempt(block func() flow) (f flow, e *failure) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case *failure:
			e = x
		default:
			panic(x)
		}
	}()
	return block(), nil
}

// caught is the map that CATCH takes.
func (e *failure) caught() val {
	if e.data != nil {
		return e.data
	}
	d := dict{vals: map[string]val{}}
	for _, x := range []struct {
		key string
		v   val
	}{{"code", e.code}, {"message", e.message}, {"line", int64(e.line)}, {"column", int64(0)}, {"step", e.step}, {"file", nil}} {
		d = d.with(x.key, x.v)
	}
	return d
}

func (m *machine) raise(s *syntax.Fail) {
	m.begin("FAIL")
	v := m.eval(s.Value)
	var code val
	if s.Code != nil {
		code = m.eval(s.Code)
	}
	switch x := v.(type) {
	case dict:
		message, ok := x.vals["message"].(string)
		if !ok {
			m.fail(s.Pos(), "wrong_kind")
		}
		e := &failure{code: "script_failed", message: message, step: m.step, line: m.file.Line(s.Pos()), data: x}
		if c, ok := x.vals["code"].(string); ok {
			if !isCode(c) {
				m.fail(s.Pos(), "bad_argument")
			}
			e.code = c
		}
		if l, ok := x.vals["line"].(int64); ok {
			e.line = int(l)
		}
		if step, ok := x.vals["step"].(string); ok {
			e.step = step
		}
		panic(e)
	case nil, list:
		m.fail(s.Pos(), "wrong_kind")
	}
	e := &failure{code: "script_failed", message: written(v), step: m.step, line: m.file.Line(s.Pos())}
	if s.Code != nil {
		c, ok := code.(string)
		if !ok || c == "" {
			m.fail(s.Pos(), "wrong_kind")
		}
		if !isCode(c) {
			m.fail(s.Pos(), "bad_argument")
		}
		e.code = c
	}
	panic(e)
}

var codes = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func isCode(s string) bool { return codes.MatchString(s) }

func (m *machine) forIn(s *syntax.ForIn) flow {
	m.begin("FOR")
	round := func(k, v val) (flow, bool) {
		m.vars[s.Value.Name] = v
		if s.Key != nil {
			m.vars[s.Key.Name] = k
		}
		switch f := m.block(s.Body); f {
		case onward, toContinue:
			return onward, true
		case toBreak:
			return onward, false
		default:
			return f, false
		}
	}
	switch seq := m.eval(s.Seq).(type) {
	case nil:
	case list:
		for i, v := range seq {
			if f, more := round(int64(i), v); !more {
				return f
			}
		}
	case dict:
		for _, k := range seq.keys {
			if f, more := round(k, seq.vals[k]); !more {
				return f
			}
		}
	default:
		m.fail(s.Seq.Pos(), "wrong_kind")
	}
	return onward
}

func (m *machine) forRange(s *syntax.ForRange) flow {
	m.begin("FOR")
	from, to, step := m.eval(s.From), m.eval(s.To), val(int64(1))
	if s.Step != nil {
		step = m.eval(s.Step)
	}
	for _, v := range []val{from, to, step} {
		if !isNumber(v) {
			m.fail(s.Pos(), "wrong_kind")
		}
	}
	if step == val(int64(0)) {
		m.fail(s.Pos(), "bad_argument")
	}
	for _, v := range rounds(from, to, step) {
		m.vars[s.Var.Name] = v
		if f := m.block(s.Body); f == toBreak {
			break
		} else if f > toContinue {
			return f
		}
	}
	return onward
}

// rounds lists the values of a counting loop, of which tests have few.
func rounds(from, to, step val) []val {
	var vs []val
	f, okF := from.(int64)
	t, okT := to.(int64)
	s, okS := step.(int64)
	if okF && okT && okS {
		for i := f; s > 0 && i <= t || s < 0 && i >= t; i += s {
			vs = append(vs, i)
		}
		return vs
	}
	// Not by adding up, which gathers rounding errors; and with some slack.
	n := (float(to)-float(from))/float(step) + 1e-9
	for i := 0; float64(i) <= n; i++ {
		vs = append(vs, whole(float(from)+float64(i)*float(step)))
	}
	return vs
}
