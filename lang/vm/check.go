package vm

import (
	"context"
	"errors"

	"ql/lang/bytecode"
	"ql/lang/form"
	"ql/lang/lib"
	"ql/lang/value"
)

// checkFields returns what the map v is by the fields that a form has.
func (m *Machine) checkFields(definition, v value.Value) (value.Value, *value.Error) {
	m.meter.Begin()
	defer m.meter.End()
	if !v.IsNull() && !v.IsMap() {
		e := value.Errorf(value.InvalidFields, "CHECK takes a map from field to value, not %s", value.Describe(v))
		e.Fields = value.NewMap(&m.meter, 0).Value() // it is none of them that does not fit
		return value.Null, e
	}
	checked, wrong, err := checkMap(&m.call, definition, v)
	switch {
	case err != nil:
		return value.Null, err
	case len(wrong) > 0:
		return value.Null, fieldsError(&m.meter, wrong)
	}
	return checked, nil
}

// checkMap checks a map by the definition of a form, on the account of c.
func checkMap(c *lib.Call, definition, v value.Value) (value.Value, form.FieldErrors, *value.Error) {
	env := form.Env{Meter: c.Meter, Compile: func(pattern string) (form.Matcher, *value.Error) { return c.Compile(pattern) }}
	f, err := form.ParseUnder(definition, env)
	if err != nil {
		var bad *value.Error
		if !errors.As(err, &bad) {
			bad = value.Errorf("internal", "something went wrong inside the service")
		}
		return value.Null, nil, bad
	}
	checked, wrong := f.CheckMap(v, env)
	return checked, wrong, nil
}

// fieldsError is the error of a map that does not fit its fields.
func fieldsError(m *value.Meter, wrong form.FieldErrors) *value.Error {
	for _, w := range wrong {
		m.Alloc(len(w.Field) + len(w.Message))
	}
	e := value.Errorf(value.InvalidFields, "the fields do not fit: %s", wrong.Error())
	e.Fields = wrong.Value(m)
	return e
}

// CheckInput checks what a caller gives a program by its INPUT FIELDS, and returns what
// the program finds as !INPUT: of a program without any, the map that was given, or
// null. form.FieldErrors say what does not fit. A *value.LimitError says that checking
// passed one of the limits, which are those of the run, or that ctx has ended; pace may
// be nil.
func CheckInput(ctx context.Context, pace Pace, p *bytecode.Program, l Limits, given value.Value) (checked value.Value, err error) {
	if !given.IsNull() && !given.IsMap() {
		return value.Null, form.FieldErrors{{Field: "input", Message: "must be a map, not " + value.Describe(given)}}
	}
	if p.Input.IsNull() {
		return given, nil
	}
	m := &Machine{ctx: ctx, pace: pace}
	m.meter = value.Meter{
		Bounds: l.Bounds, TotalFuel: l.Fuel, Reserve: l.Fuel, Memory: l.Memory, BytesLeft: l.Memory,
		Measure: func() int64 { return 0 }, Check: m.check,
	}
	m.meter.Begin()
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *value.LimitError:
			err = e
		default:
			panic(e)
		}
	}()
	checked, wrong, bad := checkMap(&lib.Call{Meter: &m.meter, Patterns: patterns}, p.Input, given)
	switch {
	case bad != nil:
		return value.Null, bad
	case len(wrong) > 0:
		return value.Null, wrong
	}
	return checked, nil
}
