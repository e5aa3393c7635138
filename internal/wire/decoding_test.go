package wire

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// object is a JSON object of so many names, each with a value.
func object(names int, name, value string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range names {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%s%d":%s`, name, i, value)
	}
	b.WriteByte('}')
	return b.String()
}

// TestDecodingIsReserved decodes bodies that are made to take much more memory than
// they have bytes: nothing is allocated that was not reserved before, but for names that
// are read twice and garbage in between.
func TestDecodingIsReserved(t *testing.T) {
	most := Limits{Body: 16 << 20, Script: 1 << 20, Depth: 64, Nodes: 1_000_000, Keys: 10_000, Fields: 1 << 20, FieldKeys: 10_000}
	query := func(b []byte, l Limits) error { _, err := DecodeQuery(b, l); return err }
	reply := func(b []byte, l Limits) error { _, err := DecodeReply(b, l); return err }
	form := func(b []byte, l Limits) error { _, err := DecodeForm(b, l); return err }
	body := func(kind string) func([]byte, Limits) error {
		return func(b []byte, l Limits) error { _, _, err := DecodeBody(kind, b, l); return err }
	}
	nested := `0`
	for range 30 {
		nested = `{"a":` + object(300, "", "0") + `,"b":` + nested + `}`
	}
	for name, test := range map[string]struct {
		body   string
		decode func([]byte, Limits) error
	}{
		"many values":            {`{"fields":{"a":[` + strings.Repeat(`{"":0},`, 100_000) + `0]}}`, reply},
		"many names":             {`{"fields":` + object(10_000, "", "0") + `}`, reply},
		"names that are escaped": {`{"fields":` + object(10_000, `\u0061`, "0") + `}`, reply},
		"objects of some names":  {`{"fields":{"a":[` + strings.Repeat(object(20, "", "0")+",", 5_000) + `0]}}`, reply},
		"names inside names":     {`{"fields":` + nested + `}`, reply},
		"a long text":            {`{"query":"` + strings.Repeat(`\u0001`, 150_000) + `"}`, query},
		"long names":             {`{"query":"","request":` + object(100, strings.Repeat(`\n`, 2_000), `"\n"`) + `}`, query},
		"pairs":                  {`{"query":"","request":{"get":` + object(9_000, "", `""`) + `,"post":` + object(9_000, "", `""`) + `,"cookie":` + object(9_000, "", `""`) + `}}`, query},
		"entries":                {`{"query":"","request":` + object(9_000, "", `""`) + `}`, query},
		"values":                 {`{"query":"","request":{"get":` + object(9_000, "", `[1]`) + `,"body":[` + strings.Repeat(`{"":0},`, 100_000) + `0]}}`, query},
		"a body of values":       {`[` + strings.Repeat(`{"":0},`, 100_000) + `0]`, body(JSONType)},
		"a form of names":        {strings.Repeat("a=1&", 9_000), body(FormType)},
		"a form of many names":   {strings.TrimSuffix(strings.NewReplacer("{", "", "}", "", `"`, "", ",", "&", ":", "=").Replace(object(9_000, "", "0")), "&"), body(FormType)},
		"a form of escapes":      {"a=" + strings.Repeat("\x01", 300_000), body(FormType)},
		"a text":                 {strings.Repeat("x", 300_000), body("text/plain")},
		"bytes":                  {strings.Repeat("\xff", 300_000), body("image/png")},
		"no form":                {strings.Repeat("a=%41&", 99) + "q=" + strings.Repeat("%0A", 100_000), form},
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte(test.body)
			reserved := DecodeBytes(body)
			held := int64(0)
			l := most
			l.Reserve = func(n int64) error {
				if held += n; n > 0 {
					reserved += n
				}
				return nil
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := test.decode(body, l)
			runtime.ReadMemStats(&after)
			if took := int64(after.TotalAlloc - before.TotalAlloc); took > reserved+int64(len(body))*int64(strings.Count(name, "names"))+64<<10 {
				t.Errorf("%d bytes of body took %d, and %d were reserved (%v)", len(body), took, reserved, err)
			}
			if held < 0 {
				t.Errorf("%d bytes more were given back than reserved", -held)
			}
		})
	}
}

// TestDecodingWithoutRoom: who has no room for what a body becomes is told by the one
// who grants it.
func TestDecodingWithoutRoom(t *testing.T) {
	full := errors.New("no room")
	l := Limits{Body: 1 << 20, Keys: 10_000, Reserve: func(int64) error { return full }}
	_, err := DecodeReply([]byte(`{"fields":`+object(1000, "", "0")+`}`), l)
	if !errors.Is(err, full) {
		t.Errorf("the error is %v", err)
	}
	if _, err := DecodeReply([]byte(`{"fields":`+object(10, "", "0")+`}`), l); err != nil {
		t.Errorf("what takes little: %v", err)
	}
}

func TestQuotesAreShort(t *testing.T) {
	long := strings.Repeat("ä", 1<<20)
	if got, want := quote(long), `"`+strings.Repeat("ä", longestQuote)+`…"`; got != want {
		t.Errorf("%q", got)
	}
	if got := quote(long[:2*longestQuote]); got != `"`+long[:2*longestQuote]+`"` {
		t.Errorf("%q", got)
	}
	n := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			_ = quote(long)
		}
	}).AllocedBytesPerOp()
	if n > 4096 {
		t.Errorf("it takes %d bytes", n)
	}
}
