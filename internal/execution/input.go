package execution

import (
	"ql/internal/wire"
	"ql/lang/bytecode"
	"ql/lang/value"
	"ql/lang/vm"
)

// input is what a program finds of the caller's request. What !REQUEST holds, which is much
// where a program is called at an address of its own, is written only for one that reads it,
// and so is the body. Turn is called now and then on the way.
func (s *Spec) input(p *bytecode.Program, turn func()) (in vm.Input) {
	r := &s.Request
	k := inputMaker{spec: s, turn: turn}
	defer func() {
		if k.meter != nil {
			in.Fuel = k.meter.Used()
		}
		in.Err = k.err
		if e := recover(); e != nil {
			limit, ok := e.(*value.LimitError)
			if !ok {
				panic(e)
			}
			in = vm.Input{Fuel: in.Fuel, Err: limit}
		}
	}()
	in = vm.Input{Get: k.fieldMap(r.Get), Post: k.fieldMap(r.Post), Cookie: textMap(r.Cookie)}
	if vm.Reads(p, bytecode.GlobalBody) {
		in.Body = k.body()
	}
	if vm.Reads(p, bytecode.GlobalFiles) {
		in.Files = k.files(r.Files)
	}
	if !vm.Reads(p, bytecode.GlobalRequest) {
		return in
	}
	in.Request = textMap(r.Entries)
	if r.Body.Kind == wire.TextBody || r.Body.Kind == wire.BytesBody {
		body := in.Body
		if body.IsNull() {
			body = k.body()
		}
		in.Request = withEntry(in.Request, "body", body.Share())
	}
	if s.Client.IsValid() {
		in.Request = withEntry(in.Request, "ip", value.Text(s.Client.WithZone("").String()))
	}
	return in
}

// withEntry returns a map with an entry; null is an empty one.
func withEntry(m value.Value, name string, v value.Value) value.Value {
	to := value.NewMap(nil, 1)
	if !m.IsNull() {
		to = m.Map()
	}
	to.SetText(name, v)
	return to.Value()
}

// inputMaker makes values of what was sent, under the limits of the script and out of its
// fuel, as if it had read the JSON itself. Texts cost nothing: that is how requests were
// before they could hold anything else.
type inputMaker struct {
	spec  *Spec
	turn  func()
	meter *value.Meter // nil before it is needed
	err   error        // of JSON that cannot be read, which was checked when it came
}

// metered returns the meter of what is made.
func (k *inputMaker) metered() *value.Meter {
	if k.meter == nil {
		k.meter = inputMeter(&k.spec.Limits, k.turn)
	}
	return k.meter
}

// inputMeter returns the meter under which an input is made before there is a machine. Turn
// is called now and then.
func inputMeter(l *vm.Limits, turn func()) *value.Meter {
	m := &value.Meter{
		Bounds: l.Bounds, Reserve: l.Fuel, TotalFuel: l.Fuel, Memory: l.Memory, BytesLeft: l.Memory,
		Measure: func() int64 { return 0 }, // all that there is counts as under way
		Check: func() *value.LimitError {
			turn()
			return nil
		},
	}
	m.Begin()
	return m
}

// json makes the value of checked JSON.
func (k *inputMaker) json(text string) value.Value {
	v, err := value.ParseJSON(k.metered(), text)
	if err != nil && k.err == nil {
		k.err = err
	}
	return v
}

func (k *inputMaker) body() value.Value {
	switch b := &k.spec.Request.Body; b.Kind {
	case wire.JSONBody:
		return k.json(b.Text)
	case wire.TextBody:
		return k.text(b.Text)
	case wire.BytesBody:
		m := k.metered()
		m.CheckSize(len(b.Bytes))
		m.Alloc(value.BlockSize(len(b.Bytes)))
		return value.Bytes(b.Bytes)
	}
	if text, ok := k.spec.Request.BodyEntry(); ok {
		return k.text(text)
	}
	return value.Null
}

func (k *inputMaker) text(s string) value.Value {
	m := k.metered()
	m.CheckSize(len(s))
	m.Alloc(value.BlockSize(len(s)))
	return value.Text(s)
}

func (k *inputMaker) fieldMap(list []wire.Field) value.Value {
	if len(list) == 0 {
		return value.Null
	}
	to := value.NewMap(nil, len(list))
	for i := range list {
		f := &list[i]
		if !f.JSON {
			to.SetText(f.Name, value.Text(f.Value))
			continue
		}
		to.Set(k.metered(), value.Text(f.Name), k.json(f.Value))
	}
	return to.Value()
}

// files makes the lists of !FILES, by the names of their fields.
func (k *inputMaker) files(list []wire.RequestFile) value.Value {
	if len(list) == 0 {
		return value.Null
	}
	to := value.NewMap(nil, len(list))
	for i := range list {
		f := &list[i]
		var files value.Value
		if had, ok := to.Get(f.Field); ok {
			files = had
		} else {
			files = value.NewList(nil, 1).Value()
		}
		if f.Name != "" {
			m := value.NewMap(nil, 4)
			m.SetText("name", value.Text(f.Name))
			m.SetText("type", value.Text(f.Type))
			m.SetText("size", value.Int(f.Size))
			m.SetText("path", value.Text(f.Path))
			files.List().Append(k.metered(), m.Value())
		}
		to.SetText(f.Field, files)
	}
	return to.Value()
}

func textMap(pairs []wire.Pair) value.Value {
	if len(pairs) == 0 {
		return value.Null
	}
	m := value.NewMap(nil, len(pairs))
	for _, p := range pairs {
		m.SetText(p.Name, value.Text(p.Value))
	}
	return m.Value()
}
