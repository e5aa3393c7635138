package vm

import (
	"strings"

	"ql/lang/bytecode"
	"ql/lang/value"
)

// mayBeNull tells whether a global stays null where nothing was given, and is read as a
// variable would be. The others are maps.
func mayBeNull(global int32) bool {
	return global == bytecode.GlobalBody || global == bytecode.GlobalInput
}

// global returns one of the request's globals.
func (m *Machine) global(i int32) value.Value {
	if m.globals[i].IsNull() && !mayBeNull(i) {
		m.globals[i] = value.NewMap(&m.meter, 0).Value()
	}
	return m.globals[i].Share()
}

// globalEntry returns one entry of a global.
func (m *Machine) globalEntry(i int32, key value.Value) (value.Value, *value.Error) {
	g := m.globals[i]
	if mayBeNull(i) {
		v, err := value.Index(&m.meter, g, key)
		return v.Share(), err
	}
	if err := checkEntryName(key); err != nil {
		return value.Null, err
	}
	if g.IsNull() {
		return value.Null, nil
	}
	name := key.Str()
	v, ok := g.Map().Get(name)
	if !ok && i >= bytecode.GlobalRequest && m.rules != nil && m.rules.IgnoresCase(name) {
		m.meter.Work(g.Map().Len())
		for k, e := range g.Map().All {
			if strings.EqualFold(k.Str(), name) {
				return e.Share(), nil
			}
		}
	}
	return v.Share(), nil
}

func checkEntryName(key value.Value) *value.Error {
	if !key.IsText() {
		return value.Errorf(value.WrongKind, "the name of an entry is a text, not %s", value.Describe(key))
	}
	return nil
}

// setGlobal sets an entry of !RESPONSE or !COOKIE. What the host could not take
// is refused here, where the script can see it.
func (m *Machine) setGlobal(i int32, key, v value.Value) *value.Error {
	if err := checkEntryName(key); err != nil {
		return err
	}
	set := setOf(i)
	if m.rules != nil {
		var err *value.Error
		if v, err = m.rules.SetEntry(&m.meter, i, m.globals[set], key.Str(), v); err != nil {
			return err
		}
	}
	if err := value.SetIndex(&m.meter, &m.globals[i], key, v.Share()); err != nil || set == i {
		return err
	}
	return value.SetIndex(&m.meter, &m.globals[set], key, v)
}

// setOf returns the global that holds what a script has set of another, for the
// host: !COOKIE has what came with the request too.
func setOf(global int32) int32 {
	if global == bytecode.GlobalCookie {
		return bytecode.GlobalCookiesSet
	}
	return global
}

// unsetGlobal removes an entry; a removed cookie is null for the host.
func (m *Machine) unsetGlobal(i int32, key value.Value) *value.Error {
	set := setOf(i)
	if m.rules != nil && key.IsText() {
		if err := m.rules.UnsetEntry(i, m.globals[set], key.Str()); err != nil {
			return err
		}
	}
	if err := value.RemovePath(&m.meter, &m.globals[i], []value.Value{key}); err != nil || set == i {
		return err
	}
	return value.SetIndex(&m.meter, &m.globals[set], key, value.Null)
}
