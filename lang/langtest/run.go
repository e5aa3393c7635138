package langtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ql/lang"
	"ql/lang/bytecode"
	"ql/lang/form"
	"ql/lang/source"
	"ql/lang/value"
	"ql/lang/vm"
)

// Way is a way to run a case.
type Way string

// Straight is the plain way; the others must come to the same.
const (
	Straight  Way = "straight through"
	stored    Way = "stored and restored at every effect"
	untraced  Way = "without a trace"
	allTraced Way = "with every step traced"
	decoded   Way = "from the stored program"
)

var otherWays = []Way{stored, untraced, allTraced, decoded}

// Result is what a case did.
type Result struct {
	Compile  source.Errors
	Refused  form.FieldErrors // the input, before the script has begun
	Status   vm.Status
	Output   string
	Err      *vm.Error
	Effects  []string
	Trace    []vm.TraceStep
	Dropped  int64
	Steps    int64
	Fuel     int64
	Response string // JSON
	Cookies  string // JSON
	// states are hashes over the machine's state at each effect.
	states [][32]byte
	// Wrong says why the case could not be run as it is written.
	Wrong error
}

// Compile compiles the script of a case with the files it includes.
func (c *Case) Compile() (*bytecode.Program, error) {
	return lang.Compile(c.Script, lang.Options{Include: func(path string) (string, error) {
		for _, s := range c.sections {
			if s.name == "include" && s.arg == path {
				return s.body, nil
			}
		}
		return "", errors.New("there is no such file")
	}})
}

// Run runs the case in one of the ways.
func (c *Case) Run(w Way) *Result {
	p, err := c.Compile()
	if err != nil {
		r := &Result{}
		if !errors.As(err, &r.Compile) {
			r.Wrong = err
		}
		return r
	}
	if w == decoded {
		if p, err = bytecode.Decode(bytecode.Encode(p)); err != nil {
			return &Result{Wrong: err}
		}
	}
	limits, in, err := c.setting()
	if err != nil {
		return &Result{Wrong: err}
	}
	switch w {
	case untraced:
		limits.TraceFirst, limits.TraceLast = 0, 0
	case allTraced:
		limits.TraceFirst = 1 << 30
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := &Result{}
	if in.Input, err = vm.CheckInput(ctx, nil, p, limits, in.Input); err != nil {
		if !errors.As(err, &r.Refused) {
			r.Wrong = err
		}
		return r
	}
	start := vm.New(p, limits, in)
	start.SetRules(c.Rules)
	m, err := r.drive(ctx, start, c.host(cancel), func(m *vm.Machine) (*vm.Machine, error) {
		if w != stored {
			return m, nil
		}
		// As a job does that goes on elsewhere, with its stored program.
		q, err := bytecode.Decode(bytecode.Encode(p))
		if err != nil {
			return m, err
		}
		n, err := restored(q, m)
		n.SetRules(c.Rules)
		return n, err
	})
	r.Wrong = err
	r.take(m)
	m.Release()
	return r
}

// drive runs a machine to its end and returns the one that got there. At every
// effect, swap may put another in its place.
func (r *Result) drive(ctx context.Context, m *vm.Machine, h *host, swap func(*vm.Machine) (*vm.Machine, error)) (*vm.Machine, error) {
	for m.Run(ctx) == vm.Pending {
		r.Effects = append(r.Effects, describe(m.Effect()))
		r.states = append(r.states, m.StateHash())
		var err error
		if m, err = swap(m); err != nil {
			return m, err
		}
		goesOn, err := h.answer(m)
		if err != nil {
			return m, err
		}
		if !goesOn {
			break
		}
	}
	// A run that fails before its end leaves answers behind.
	if m.Status() != vm.Done {
		return m, nil
	}
	return m, h.left()
}

// restored stores a machine and returns the one made of that.
func restored(p *bytecode.Program, m *vm.Machine) (*vm.Machine, error) {
	snapshot, err := m.Snapshot(context.Background(), nil)
	if err != nil {
		return m, err
	}
	effect := describe(m.Effect())
	n, err := vm.Restore(context.Background(), nil, p, snapshot, bytes.Clone(m.Output()))
	if err != nil {
		return m, err
	}
	m.Release()
	if got := describe(n.Effect()); got != effect {
		return n, fmt.Errorf("the restored machine asks for %s instead of %s", got, effect)
	}
	again, err := n.Snapshot(context.Background(), nil)
	if err == nil && !bytes.Equal(again, snapshot) {
		err = errors.New("the restored machine's snapshot is another one")
	}
	return n, err
}

// take notes what a machine has done.
func (r *Result) take(m *vm.Machine) {
	r.Status = m.Status()
	r.Output = string(m.Output())
	r.Err = m.Err()
	r.Trace, r.Dropped = m.Trace()
	r.Steps = m.Steps()
	r.Fuel = m.Fuel()
	r.Response = string(value.AppendJSON(nil, m.Response()))
	r.Cookies = string(value.AppendJSON(nil, m.Cookies()))
}

// setting returns the limits and the request data that a case is given.
func (c *Case) setting() (l vm.Limits, in vm.Input, err error) {
	l = Limits()
	for _, s := range c.sections {
		to := map[string]*value.Value{"get": &in.Get, "post": &in.Post, "cookie": &in.Cookie, "request": &in.Request, "input": &in.Input, "files": &in.Files}[s.name]
		switch {
		case to != nil:
			v, bad := value.ParseJSON(nil, s.arg)
			if bad != nil || !v.IsMap() {
				return l, in, fmt.Errorf("line %d: %s takes a JSON object", s.line, s.name)
			}
			*to = v
		case s.name == "body":
			v, bad := value.ParseJSON(nil, s.arg)
			if bad != nil {
				return l, in, fmt.Errorf("line %d: body takes JSON", s.line)
			}
			in.Body = v
		case s.name == "limits":
			for _, word := range strings.Fields(s.arg) {
				if err := setLimit(&l, word); err != nil {
					return l, in, fmt.Errorf("line %d: %w", s.line, err)
				}
			}
		}
	}
	return l, in, nil
}

func setLimit(l *vm.Limits, word string) error {
	name, text, _ := strings.Cut(word, "=")
	n, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("a limit is written name=number, not %q", word)
	}
	small := map[string]*int{
		"text": &l.Text, "elements": &l.Elements, "nesting": &l.Nesting, "pattern": &l.Pattern,
		"call_depth": &l.CallDepth, "output": &l.Output, "trace_first": &l.TraceFirst, "trace_last": &l.TraceLast,
	}
	large := map[string]*int64{"pattern_cost": &l.PatternCost, "fuel": &l.Fuel, "memory": &l.Memory}
	switch {
	case small[name] != nil:
		*small[name] = n
	case large[name] != nil:
		*large[name] = int64(n)
	default:
		return fmt.Errorf("there is no limit %q", name)
	}
	return nil
}
