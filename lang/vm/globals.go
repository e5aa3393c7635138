package vm

import (
	"strings"

	"ql/lang/bytecode"
	"ql/lang/value"
)

// global returns one of the request's globals, a map.
func (m *Machine) global(i int32) value.Value {
	if m.globals[i].IsNull() {
		m.globals[i] = value.NewMap(&m.meter, 0).Value()
	}
	return m.globals[i].Share()
}

// globalEntry returns one entry of a global. Header names ignore case.
func (m *Machine) globalEntry(i int32, key value.Value) (value.Value, *value.Error) {
	if !key.IsText() {
		return value.Null, value.Errorf(value.WrongKind, "the name of an entry is a text, not %s", value.Describe(key))
	}
	g := m.globals[i]
	if g.IsNull() {
		return value.Null, nil
	}
	name := key.Str()
	v, ok := g.Map().Get(name)
	if !ok && i >= bytecode.GlobalRequest && isHeader(name) {
		m.meter.Work(g.Map().Len())
		for k, e := range g.Map().All {
			if strings.EqualFold(k.Str(), name) {
				return e.Share(), nil
			}
		}
	}
	return v.Share(), nil
}

const headerPrefix = "header:"

func isHeader(name string) bool {
	return len(name) > len(headerPrefix) && strings.EqualFold(name[:len(headerPrefix)], headerPrefix)
}

// setGlobal sets an entry of !RESPONSE or !COOKIE. What the answer could not
// carry is refused here, where the script can see it.
func (m *Machine) setGlobal(i int32, key, v value.Value) *value.Error {
	if !key.IsText() {
		return value.Errorf(value.WrongKind, "the name of an entry is a text, not %s", value.Describe(key))
	}
	name := key.Str()
	if i == bytecode.GlobalResponse {
		if err := checkResponse(name, v); err != nil {
			return err
		}
		if err := m.roomIn(i, key, "headers"); err != nil {
			return err
		}
		return value.SetIndex(&m.meter, &m.globals[i], key, v.Share())
	}
	if !isToken(name) {
		return value.Errorf(value.BadArgument, "%s is no name for a cookie: letters, digits and -_.! are", value.Quote(name))
	}
	if !v.IsText() && !v.IsNumber() && !v.IsBool() || v.IsText() && strings.ContainsFunc(v.Str(), func(r rune) bool { return r < 0x20 || r == 0x7f || r == ';' }) {
		return value.Errorf(value.BadArgument, "a cookie holds a text without ; and line ends, not %s", value.Describe(v))
	}
	text, err := value.ToText(&m.meter, v)
	if err != nil {
		return err
	}
	if n := len(text.Str()); n > maxCookie {
		return value.Errorf(value.BadArgument, "a cookie holds at most %d bytes, as browsers have it, and this has %d", maxCookie, n)
	}
	if err := m.roomIn(bytecode.GlobalCookiesSet, key, "cookies"); err != nil {
		return err
	}
	for _, g := range []int32{i, bytecode.GlobalCookiesSet} {
		if err := value.SetIndex(&m.meter, &m.globals[g], key, text); err != nil {
			return err
		}
	}
	return nil
}

// What an answer carries is bounded by browsers and proxies, and a value that is set
// many times is in memory once.
const (
	maxCookie  = 4096 // bytes
	maxHeader  = 8192 // bytes
	maxEntries = 100  // headers, and cookies
)

// roomIn refuses an entry more than an answer may have.
func (m *Machine) roomIn(i int32, key value.Value, what string) *value.Error {
	set := m.globals[i]
	if !set.IsMap() || set.Map().Len() < maxEntries {
		return nil
	}
	if _, found := set.Map().Get(key.Str()); found {
		return nil
	}
	return value.Errorf(value.BadArgument, "an answer sets at most %d %s", maxEntries, what)
}

// unsetGlobal removes an entry; a removed cookie is null in the answer.
func (m *Machine) unsetGlobal(i int32, key value.Value) *value.Error {
	if i == bytecode.GlobalCookie && key.IsText() {
		if err := m.roomIn(bytecode.GlobalCookiesSet, key, "cookies"); err != nil {
			return err
		}
	}
	if err := value.RemovePath(&m.meter, &m.globals[i], []value.Value{key}); err != nil {
		return err
	}
	if i == bytecode.GlobalCookie {
		return value.SetIndex(&m.meter, &m.globals[bytecode.GlobalCookiesSet], key, value.Null)
	}
	return nil
}

func checkResponse(name string, v value.Value) *value.Error {
	if name == "status" {
		if !v.IsInt() || v.Int64() < 100 || v.Int64() > 599 {
			return value.Errorf(value.BadArgument, "the status of an answer is a number from 100 to 599, not %s", value.Describe(v))
		}
		return nil
	}
	if !isHeader(name) || !isToken(name[len(headerPrefix):]) {
		return value.Errorf(value.BadArgument, "!RESPONSE has \"status\" and \"header:<name>\", not %s", value.Quote(name))
	}
	if !v.IsText() || strings.ContainsAny(v.Str(), "\r\n\x00") {
		return value.Errorf(value.BadArgument, "a header is a text on one line, not %s", value.Describe(v))
	}
	if n := len(v.Str()); n > maxHeader {
		return value.Errorf(value.BadArgument, "a header has at most %d bytes, and this has %d", maxHeader, n)
	}
	return nil
}

// isToken reports whether s can be the name of a header or cookie.
func isToken(s string) bool {
	if s == "" || len(s) > 256 {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return true
}
