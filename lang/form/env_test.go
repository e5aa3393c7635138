package form

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ql/lang/value"
)

// limited is an env whose meter ends at so much fuel and memory.
func limited(fuel, memory int64) Env {
	m := &value.Meter{
		Bounds:    value.Bounds{Text: 1 << 20, Elements: 1 << 20, Nesting: 100, Pattern: 2048, PatternCost: 1e9},
		TotalFuel: fuel, Reserve: fuel, Memory: memory, BytesLeft: memory, Measure: func() int64 { return 0 },
	}
	m.Begin()
	return Env{Meter: m}
}

// limitOf returns the name of the limit that f passes, "" for none.
func limitOf(f func()) (name string) {
	defer func() {
		if e := recover(); e != nil {
			name = e.(*value.LimitError).Name
		}
	}()
	f()
	return ""
}

// sameCheck compares what a map is to CheckMap with what it is to Validate.
func sameCheck(t *testing.T, definition, reply value.Value) {
	t.Helper()
	f, err := Parse(definition)
	if err != nil {
		t.Fatal(err)
	}
	want, err := f.Validate(context.Background(), reply, nil, always)
	var wantWrong FieldErrors
	if err != nil && !errors.As(err, &wantWrong) {
		t.Fatal(err)
	}
	env := limited(1e9, 1<<30)
	g, err := ParseUnder(definition, env)
	if err != nil {
		t.Fatalf("%s is refused under a meter: %v", toJSON(definition), err)
	}
	got, wrong := g.CheckMap(reply, env)
	for i := range wantWrong {
		wantWrong[i].Message = strings.ReplaceAll(wantWrong[i].Message, "is no field of this form", "is not one of the fields")
	}
	if diff := cmp.Diff(wantWrong, wrong); diff != "" {
		t.Errorf("%s: %s", toJSON(reply), diff)
	}
	if toJSON(got) != toJSON(want) {
		t.Errorf("%s is %s, and as a reply %s", toJSON(reply), toJSON(got), toJSON(want))
	}
}

// withoutFile is the form of shipping without its file.
func withoutFile(t testing.TB) value.Value {
	return parseJSON(t, strings.Replace(shipping, `,
	{"name":"photo","kind":"file"}`, "", 1))
}

func TestCheckMapIsValidate(t *testing.T) {
	definition := withoutFile(t)
	for _, reply := range []string{
		`{}`, `[]`, `"x"`, `{"name":"A"}`, `{"name":" A ","email":" a@b.cc ","tags":"a","news":"yes"}`,
		`{"name":"A","email":"a@b.cc","tags":["a","a","b"],"news":true,"extra":[],"size":"M","qty":"3","pin":"1234","weight":"0.5","when":"2026-02-03","at":"09:30","phone":"+1 202 555 0143","site":"https://a.b/c","note":"a\nb"}`,
		`{"name":"A","email":"a@b","tags":["c"],"news":"perhaps","extra":1,"size":"XL","qty":11,"pin":"x","weight":0,"when":"soon","at":"9","phone":"x","site":"x","note":5,"other":1}`,
	} {
		sameCheck(t, definition, parseJSON(t, reply))
	}
	f, err := Parse(definition)
	if err != nil {
		t.Fatal(err)
	}
	if _, wrong := f.CheckMap(value.Null, Env{}); len(wrong) != 4 {
		t.Errorf("null is not taken for a map without entries: %v", wrong)
	}
}

// TestCheckMapTakesNoFile: a map that says of itself that it is a file is none.
func TestCheckMapTakesNoFile(t *testing.T) {
	f := oneField(t, `"kind":"file"`)
	for _, reply := range []string{`{"x":{"name":"a","type":"b","base64":"YQ=="}}`, `{"x":{"name":"a","type":"b","size":1,"path":"/secret"}}`} {
		if _, wrong := f.CheckMap(parseJSON(t, reply), limited(1e6, 1<<20)); len(wrong) != 1 {
			t.Errorf("%s is taken for a file", reply)
		}
	}
}

// TestCheckMapPays: whatever a script can make large costs it, and nothing that is
// counted is held on to for nothing.
func TestCheckMapPays(t *testing.T) {
	long := value.Text(strings.Repeat("a", 1<<20))
	spaces := value.Text(strings.Repeat(" ", 1<<20))
	texts := value.NewList(nil, 0)
	for range 100_000 {
		texts.Append(nil, value.Text("c99"))
	}
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("%q", fmt.Sprint("c", i)))
	}
	choices := `"choices":[` + strings.Join(names, ",") + "]"
	for name, test := range map[string]struct {
		field string
		v     value.Value
	}{
		"a long text":             {`"kind":"long_text"`, long},
		"a long text of spaces":   {`"kind":"number"`, spaces},
		"a long number":           {`"kind":"number"`, value.Text(strings.Repeat("1", 1<<20))},
		"a long list":             {`"kind":"choices",` + choices, texts.Value()},
		"what is only looked at":  {`"kind":"boolean"`, long},
		"an address without end":  {`"kind":"email"`, long},
		"a text with its own end": {`"kind":"date"`, spaces},
	} {
		reply := value.NewMap(nil, 1)
		reply.SetText("x", test.v)
		const fuel = 20_000
		if got := limitOf(func() { _, _ = oneField(t, test.field).CheckMap(reply.Value(), limited(fuel, 1<<30)) }); got != "fuel" {
			t.Errorf("%s: it ends at %q", name, got)
		}
	}
	unknown := value.NewMap(nil, 1)
	unknown.SetText(strings.Repeat("k", 1<<20), value.Null)
	f := oneField(t, `"kind":"text"`)
	if got := limitOf(func() { _, _ = f.CheckMap(unknown.Value(), limited(1e9, 1<<19)) }); got != "memory" {
		t.Errorf("a long name: it ends at %q", got)
	}
	large := parseJSON(t, `{"fields":[{"name":"x","kind":"choice",`+choices+`}]}`)
	if got := limitOf(func() { _, _ = ParseUnder(large, limited(1e9, 4<<10)) }); got != "memory" {
		t.Errorf("many choices: it ends at %q", got)
	}
}

// counting compiles patterns and counts them.
type counting struct {
	re *regexp.Regexp
	n  *int
}

func (c counting) Instructions() int   { return 100 }
func (c counting) Match(s string) bool { *c.n++; return c.re.MatchString(s) }

// TestPatternsOfAnEnv: patterns are compiled and matched by the env alone.
func TestPatternsOfAnEnv(t *testing.T) {
	compiled, matched := 0, 0
	env := limited(1e9, 1<<30)
	env.Compile = func(pattern string) (Matcher, *value.Error) {
		compiled++
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, value.Errorf(value.BadPattern, "PATTERN is wrong")
		}
		return counting{re, &matched}, nil
	}
	definition := parseJSON(t, `{"fields":[{"name":"x","kind":"text","pattern":"a|b"}]}`)
	f, err := ParseUnder(definition, env)
	if err != nil {
		t.Fatal(err)
	}
	for reply, good := range map[string]bool{`{"x":"a"}`: true, `{"x":"ab"}`: false, `{"x":"xb"}`: false} {
		if _, wrong := f.CheckMap(parseJSON(t, reply), env); (len(wrong) == 0) != good {
			t.Errorf("%s: %v", reply, wrong)
		}
	}
	if compiled != 2 || matched != 3 {
		t.Errorf("%d were compiled and %d matched", compiled, matched)
	}
	for _, pattern := range []string{"(", "a)|(b"} {
		bad := parseJSON(t, `{"fields":[{"name":"x","kind":"text","pattern":"`+pattern+`"}]}`)
		if _, err := ParseUnder(bad, env); err == nil || err.Error() != `the field "x": PATTERN is wrong` {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

// FuzzCheckMap: a script's map is what a reply would be, and what it is made of is good
// again.
func FuzzCheckMap(f *testing.F) {
	for _, seed := range []string{`{}`, `{"name":"A","email":"a@b.cc","tags":"a","news":"yes"}`, `[]`, `{"tags":["a"],"qty":1e400}`} {
		f.Add(seed)
	}
	definition := withoutFile(f)
	f.Fuzz(func(t *testing.T, text string) {
		reply, bad := value.ParseJSON(nil, text)
		if bad != nil {
			return
		}
		sameCheck(t, definition, reply)
	})
}

func TestSchemaText(t *testing.T) {
	got, err := SchemaText(parseJSON(t, `{"title":null,"fields":[{"name":"name","kind":"text","required":true,"max":80,"label":"Your name"},
		{"name":"code","kind":"text","pattern":"[a-z]+","default":"x"}]}`))
	const want = `{"type":"object","properties":{"name":{"type":"string","title":"Your name","minLength":1,"maxLength":80},` +
		`"code":{"type":"string","maxLength":10000,"pattern":"^(?:[a-z]+)$","default":"x"}},"required":["name"],"additionalProperties":false}`
	if err != nil || got != want {
		t.Errorf("%s: %v", got, err)
	}
	if got, err := SchemaText(value.Null); err != nil || got != "" {
		t.Errorf("%s: %v", got, err)
	}
}
