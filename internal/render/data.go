package render

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"ql/lang/value"
)

// plain makes of a script's value the Go values that templates work with: no
// types of ours and so no methods. A key whose value is null is left out, so
// that .a.b is nothing where .a is null, as in scripts.
func plain(m *value.Meter, v value.Value) any {
	m.Work(4)
	switch v.Kind() {
	case value.KindNull:
		return nil
	case value.KindBool:
		return v.IsTrue()
	case value.KindInt:
		return v.Int64()
	case value.KindFloat:
		return v.Float64()
	case value.KindText:
		return v.Str()
	case value.KindDecimal:
		m.Alloc(value.TextSize(m, v))
		return string(value.AppendDecimal(nil, v))
	case value.KindBytes:
		if utf8.Valid(v.Raw()) {
			return v.Str()
		}
		m.Alloc(base64.StdEncoding.EncodedLen(len(v.Raw())))
		return base64.StdEncoding.EncodeToString(v.Raw())
	case value.KindList:
		l := v.List()
		m.Alloc(24 + 32*l.Len())
		out := make([]any, l.Len())
		for i := range out {
			out[i] = plain(m, l.At(i))
		}
		return out
	}
	t := v.Map()
	m.Alloc(64 + 64*t.Len())
	out := make(map[string]any, t.Len())
	for k, e := range t.All {
		if !e.IsNull() {
			out[k.Str()] = plain(m, e)
		}
	}
	return out
}

// shown is a number, list or map on its way to the page. It is made when no
// template can reach its methods any more.
type shown struct{ v any }

// String writes it as EMIT would; the escaper of every HTML context asks for
// this.
func (s shown) String() string {
	b, err := s.MarshalJSON()
	if err != nil {
		return ""
	}
	return string(b)
}

// MarshalJSON writes it as the escaper of scripts wants it.
func (s shown) MarshalJSON() ([]byte, error) {
	if f, ok := s.v.(float64); ok {
		n, _ := value.Number(f)
		return value.AppendNumber(nil, n), nil
	}
	return json.Marshal(s.v)
}

// weight is roughly what it takes to write v, in bytes.
func weight(m *value.Meter, v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		m.Work(10 * len(v))
		n := 2
		for _, e := range v {
			n += weight(m, e) + 1
		}
		return n
	case map[string]any:
		m.Work(60 * len(v)) // its keys are sorted
		n := 2
		for k, e := range v {
			n += len(k) + weight(m, e) + 4
		}
		return n
	}
	return 8
}
