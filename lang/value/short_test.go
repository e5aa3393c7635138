package value_test

import (
	"strings"
	"testing"

	"ql/lang/value"
)

// TestAppendShort: what is shown of a value is as long as it may be, whatever the value's size.
func TestAppendShort(t *testing.T) {
	long := value.NewList(nil, 0)
	for i := range 1000 {
		long.Append(nil, value.Int(int64(i)))
	}
	m := value.NewMap(nil, 0)
	m.SetText("a", value.Text("x\"y"))
	m.SetText("b", long.Value())
	m.SetText("c", value.Null)
	for _, c := range []struct {
		v    value.Value
		most int
		want string
	}{
		{value.Null, 10, "null"},
		{value.Int(-7), 1, "-7"},
		{value.Text("hello"), 5, `"hello"`},
		{value.Text("hello"), 4, `"hell…"`},
		{value.Text("äöü"), 3, `"ä…"`},
		{value.Bytes([]byte("secret")), 10, "6 bytes"},
		{long.Value(), 9, "[0, 1, 2, …]"},
		{m.Value(), 1000, ""},
		{m.Value(), 23, `{"a": "x\"y", "b": [0, …], …}`},
	} {
		got := string(value.AppendShort(nil, c.v, c.most))
		if c.want != "" && got != c.want || len(got) > c.most+200 {
			t.Errorf("%d: got %s, want %s", c.most, got, c.want)
		}
		if behind := string(value.AppendShort([]byte("before "), c.v, c.most)); behind != "before "+got {
			t.Errorf("behind others: %s", behind)
		}
	}
	if got := value.AppendShort(nil, value.Text(strings.Repeat("x", 1<<20)), 100); len(got) > 110 {
		t.Errorf("%d bytes of 100", len(got))
	}
}
