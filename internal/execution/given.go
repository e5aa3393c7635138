package execution

import (
	"context"
	"errors"

	"ql/internal/fault"
	"ql/lang/bytecode"
	"ql/lang/form"
	"ql/lang/value"
	"ql/lang/vm"
)

// What checking an input takes, for each byte of its JSON: ordinarily, which is
// reserved, and at most, which lists of empty lists come to. There are no more checks at
// once than there are slots. Small inputs are not worth being counted.
const (
	inputWeight   = 8
	heaviestInput = 64
	smallInput    = 64 << 10
)

// CheckInput checks Spec.Input by the INPUT FIELDS of the program, before its first step,
// in turns of the execution's pace, and puts what they make of it in its place. What does
// not fit is form.FieldErrors, and a *fault.Error says that checking passed a limit.
// The error of a node that has no room for it now is that of the ledger.
func (x *Execution) CheckInput(ctx context.Context, p *bytecode.Program) error {
	if len(x.Spec.Input) == 0 && p.Input.IsNull() {
		return nil
	}
	limits := x.Spec.Limits
	limits.Memory = min(limits.Memory, heaviestInput*int64(len(x.Spec.Input))+smallInput)
	if bytes := inputWeight * int64(len(x.Spec.Input)); bytes > smallInput {
		if err := x.reserve(ctx, bytes); err != nil {
			return err
		}
		defer x.memory.Shrink(bytes)
	}
	checked, err := x.checkInput(ctx, p, limits)
	var limit *value.LimitError
	switch {
	case errors.As(err, &limit):
		f := fault.New(fault.LimitExceeded, "the input cannot be checked: %s", limit.Error())
		f.Limit, f.Value = limit.Name, limit.Max
		return f
	case err != nil:
		return err
	}
	x.Spec.Input = nil
	if !checked.IsNull() {
		x.Spec.Input = value.AppendJSON(nil, checked)
	}
	return nil
}

func (x *Execution) checkInput(ctx context.Context, p *bytecode.Program, l vm.Limits) (value.Value, error) {
	given := value.Null
	if len(x.Spec.Input) > 0 {
		var in vm.Input
		x.Spec.given(&in, l, func() { _ = x.Pace.Turn(ctx) }) // where ctx has ended, the check tells
		if in.Err != nil {
			return value.Null, in.Err
		}
		given = in.Input
	}
	return vm.CheckInput(ctx, x.Pace, p, l, given)
}

// given puts what the caller gave into the input of a machine, made under the limits of
// the script and out of its fuel. Turn is called now and then on the way.
func (s *Spec) given(in *vm.Input, l vm.Limits, turn func()) {
	if len(s.Input) == 0 {
		return
	}
	m := inputMeter(&l, turn)
	defer func() {
		in.Fuel += m.Used()
		switch e := recover().(type) {
		case nil:
		case *value.LimitError:
			in.Err = e
		default:
			panic(e)
		}
	}()
	v, err := value.ParseJSON(m, string(s.Input))
	if err != nil {
		in.Err = form.FieldErrors{{Field: "input", Message: err.Message}}
		return
	}
	in.Input = v
}
