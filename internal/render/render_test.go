package render

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ql/lang/value"
)

// meter returns a meter with that much fuel and a megabyte for each text.
func meter(fuel int64) *value.Meter {
	return &value.Meter{
		Bounds:    value.Bounds{Text: 1 << 20, Elements: 100_000, Nesting: 100},
		Fuel:      fuel,
		BytesLeft: 64 << 20,
		Memory:    64 << 20,
		TotalFuel: fuel,
		Measure:   func() int64 { return 0 },
	}
}

// fill renders text with JSON data and returns the page, or "! " and the
// error, or "limit " and its name.
func fill(t testing.TB, m *value.Meter, text, data string) (page string) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			l, ok := r.(*value.LimitError)
			if !ok {
				panic(r)
			}
			page = "limit " + l.Name
		}
	}()
	v, bad := value.ParseJSON(nil, data)
	if bad != nil {
		t.Fatalf("%s: %v", data, bad)
	}
	out, err := HTML(m, "/page.html", text, v, nil)
	if err != nil {
		var e *value.Error
		if !errors.As(err, &e) || e.Code != BadTemplate {
			t.Fatalf("%s: got %v, want an error with the code %s", text, err, BadTemplate)
		}
		return "! " + e.Message
	}
	return out.Str()
}

func TestHTML(t *testing.T) {
	tests := []struct{ text, data, want string }{
		{`Hello {{.name}}!`, `{"name":"Ada"}`, `Hello Ada!`},
		{`<p>{{.name}}</p>`, `{"name":"<b>&"}`, `<p>&lt;b&gt;&amp;</p>`},
		{`<a href="{{.url}}">x</a>`, `{"url":"javascript:alert(1)"}`, `<a href="#ZgotmplZ">x</a>`},
		{`<a href="/?q={{.q}}">x</a>`, `{"q":"a b&c"}`, `<a href="/?q=a%20b%26c">x</a>`},
		{`<a title='{{.t}}'>`, `{"t":"it's"}`, `<a title='it&#39;s'>`},
		{`<script>var x = {{.}};</script>`, `{"a":[1,2.5,"</script>"]}`, `<script>var x = {"a":[1,2.5,"\u003c/script\u003e"]};</script>`},
		{`<script>var x = {{.n}};</script>`, `{"n":2.5}`, `<script>var x =  2.5 ;</script>`},
		{`{{.n}} {{.f}} {{.big}} {{.yes}}`, `{"n":3,"f":12345678.9,"big":1e300,"yes":true}`, `3 12345678.9 1e&#43;300 true`},
		{`{{.list}} {{.map}}`, `{"list":[1,"a"],"map":{"k":null}}`, `[1,&#34;a&#34;] {}`},
		{`[{{.missing}}{{.a.b.c}}{{.null}}{{.null.x}}]`, `{"null":null}`, `[]`},
		{`{{if .a}}yes{{else}}no{{end}}`, `{"a":[]}`, `no`},
		{`{{range .rows}}<li>{{.name}}</li>{{else}}none{{end}}`, `{"rows":[{"name":"a"},{"name":"b"}]}`, `<li>a</li><li>b</li>`},
		{`{{range .rows}}x{{else}}none{{end}}`, `{"rows":[]}`, `none`},
		{`{{range $k, $v := .}}{{$k}}={{$v}};{{end}}`, `{"b":1,"a":2}`, `a=2;b=1;`},
		{`{{range $i, $e := .}}{{if eq $i 2}}{{break}}{{end}}{{if eq $e "a"}}{{continue}}{{end}}{{$e}}{{end}}`, `["a","b","c"]`, `b`},
		{`{{with .a}}{{.b}}{{end}}`, `{"a":{"b":1}}`, `1`},
		{`{{define "row"}}<li>{{.}}</li>{{end}}{{range .}}{{template "row" .}}{{end}}`, `[1,2]`, `<li>1</li><li>2</li>`},
		{`{{define "tree"}}({{.n}}{{range .kids}}{{template "tree" .}}{{end}}){{end}}{{template "tree" .}}`, `{"n":1,"kids":[{"n":2,"kids":[]},{"n":3,"kids":[{"n":4}]}]}`, `(1(2)(3(4)))`},
		{`{{define "list"}}<ul>{{range .}}{{template "node" .}}{{end}}</ul>{{end}}{{define "node"}}<li title="{{.n}}">{{.n}}{{with .kids}}{{template "list" .}}{{end}}</li>{{end}}{{template "list" .}}`,
			`[{"n":"<1>","kids":[{"n":"\""}]}]`, `<ul><li title="&lt;1&gt;">&lt;1&gt;<ul><li title="&#34;">&#34;</li></ul></li></ul>`},
		{`{{define "n"}}{{.v}}{{with .next}}, {{template "n" .}}{{end}}{{end}}<a title="{{template "n" .}}">{{template "n" .}}</a><script>x = {{template "n" .}}</script>`,
			`{"v":"<a>","next":{"v":"\"b"}}`, `<a title="&lt;a&gt;, &#34;b">&lt;a&gt;, &#34;b</a><script>x = "\u0026lt;a\u0026gt;, \u0026#34;b"</script>`},
		{`{{define "n"}}{{if .}}({{template "n"}}){{end}}{{end}}{{template "n" .}}`, `[1]`, `()`},
		{`{{define "n"}}{{range .}}{{template "n" .x.y}}{{end}}{{end}}{{template "n" .}}`, `[{"x":1}]`, `! the template /page.html:1:`},
		{"{{define \"page\"}}<title>{{block \"title\" .}}None{{end}}</title><script>let s = `${ {a: {{.}}} }`</script>{{template \"body\" .}}{{end}}{{define \"body\"}}<p>{{.}}</p>{{end}}{{template \"page\" .}}",
			`5`, "<title>None</title><script>let s = `${ {a:  5 } }`</script><p>5</p>"},
		{`{{define "only"}}x{{end}}`, `{}`, ``},
		{``, `{}`, ``},
		{`{{/* nothing */}}`, `{}`, ``},
		{`{{block "b" .}}{{.}}{{end}}`, `5`, `5`},
		{`{{index .list 1}} {{index .map "a b"}}`, `{"list":[1,2],"map":{"a b":3}}`, `2 3`},
		{`{{.name | default "stranger"}} {{.given | default "x"}}`, `{"given":"Ada"}`, `stranger Ada`},
		{`{{len .t}} {{len .l}} {{len .m}} {{len .none}}`, `{"t":"é€","l":[1],"m":{"a":1,"b":2}}`, `2 1 2 0`},
		{`{{eq .a 1}} {{eq .a 1.0}} {{eq .a "1"}} {{ne .a 2}} {{eq .s "x" "y"}} {{eq .none .null}} {{eq .a true}} {{eq .l .l}}`, `{"a":1,"s":"y","null":null,"l":[1]}`,
			`true true false true true true false false`},
		{`{{lt 1 .a}} {{le .a 1}} {{gt "b" "a"}} {{ge 1.5 2}} {{lt "a" "a"}} {{le "a" "a"}}`, `{"a":1.5}`, `true false true false false true`},
		{`{{and .a .b}} {{or .b .a}} {{not .b}}`, `{"a":1,"b":0}`, `0 1 true`},
		{`<style>p { color: {{.c}} }</style>`, `{"c":"red; x: expression(1)"}`, `<style>p { color: ZgotmplZ }</style>`},
		{"<!-- c -->a", `{}`, `a`},

		{`{{.name`, `{}`, `! the template /page.html:1: unclosed action`},
		{"a\n{{shout .name}}", `{}`, `! the template /page.html:2: function "shout" not defined`},
		{`{{printf "%1000000000d" 1}}`, `{}`, `! the template /page.html:1: function "printf" not defined`},
		{`{{call .f}}`, `{}`, `! the template /page.html:1: function "call" not defined`},
		{`{{ql_tick 1}}`, `{}`, `! the template /page.html:1: function "ql_tick" not defined`},
		{`{{html .a}}`, `{}`, `! the template /page.html:1: function "html" not defined`},
		{`{{template "nowhere"}}`, `{}`, `! the template /page.html:1:11: no such template "nowhere"`},
		{`{{lt 1 "a"}}`, `{}`, `! the template /page.html:1:2: at <lt 1 "a">: error calling lt: lt takes two numbers or two texts`},
		{`{{eq 1}}`, `{}`, `! the template /page.html:1:2: at <eq 1>: error calling eq: eq takes at least two values`},
		{`{{index .l 5}}`, `{"l":[]}`, `! the template /page.html:1:2: at <index .l 5>: error calling index: index out of range: 5`},
		{`{{.a.b}}`, `{"a":"text"}`, `! the template /page.html:1:4: at <.a.b>: can't evaluate field b in type interface {}`},
		{`<a href="{{if .x}}"{{end}}>`, `{}`, `! the template /page.html:1:14: {{if}} branches end in different contexts`},
		{strings.Repeat("{{range .}}", 7) + strings.Repeat("{{end}}", 7), `[]`, `! the template /page.html: loops stand more than 6 deep inside each other in line 1`},
		{strings.Repeat("a", maxText+1), `{}`, `! the template /page.html has more than 256 KiB`},
		{`{{define "a"}}{{template "a"}}{{end}}{{template "a"}}`, `{}`,
			`! definitions in the template use each other more than 100 deep: is there one that never ends?`},
	}
	for _, tt := range tests {
		got := fill(t, meter(100_000_000), tt.text, tt.data)
		if strings.HasPrefix(tt.want, "!") && strings.HasPrefix(got, tt.want) {
			continue
		}
		if got != tt.want {
			t.Errorf("%.100s with %s:\n got %s\nwant %s", tt.text, tt.data, got, tt.want)
		}
	}
}

// TestLimits gives templates that would run or grow without end.
func TestLimits(t *testing.T) {
	thousand := "[" + strings.TrimSuffix(strings.Repeat("1,", 1000), ",") + "]"
	long := `{"big":"` + strings.Repeat("x", 500_000) + `!","l":` + thousand + `}`
	tests := []struct{ name, text, data, want string }{
		{"empty loop", `{{range 1000000000}}{{end}}`, `{}`, "limit fuel"},
		{"loop without output", `{{range 1000000000}}{{$x := .}}{{end}}`, `{}`, "limit fuel"},
		{"loop in a branch", `{{if true}}{{range 1000000000}}{{end}}{{end}}`, `{}`, "limit fuel"},
		{"loop in an else", `{{range 0}}{{else}}{{range 1000000000}}{{end}}{{end}}`, `{}`, "limit fuel"},
		{"loop in an attribute", `<a title="{{range 1000000000}}{{end}}">`, `{}`, "limit fuel"},
		{"loop in a script", `<script>{{range 1000000000}}{{end}}</script>`, `{}`, "limit fuel"},
		{"loops in loops", strings.Repeat("{{range $}}", 6) + strings.Repeat("{{end}}", 6), thousand, "limit fuel"},
		{"doubling definitions", `{{range 1000000}}{{template "t0"}}{{end}}` + doubling(4), `{}`, "limit fuel"},
		{"output", `{{range .l}}{{$.big}}{{end}}`, long, "limit value_size"},
		{"text of the template", `{{range 100000000}}` + strings.Repeat("y", 10_000) + `{{end}}`, `{}`, "limit value_size"},
		{"values that are shown as little", `{{range .l}}{{range $.l}}<a {{$.big}}="1">{{end}}{{end}}`, long, "limit fuel"},
		{"texts compared", `{{range .l}}{{range $.l}}{{if eq $.big $.big}}{{end}}{{end}}{{end}}`, long, "limit fuel"},
		{"texts measured", `{{range .l}}{{range $.l}}{{if len $.big}}{{end}}{{end}}{{end}}`, long, "limit fuel"},
		{"data as a script's value", `{{range .l}}<script>x = {{$}}</script>{{end}}`, long, "limit value_size"},
		{"maps sorted", `{{range 100000}}{{range $}}{{break}}{{end}}{{end}}`, bigMap(10_000), "limit fuel"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := fill(t, meter(5_000_000), tt.text, tt.data); got != tt.want {
				t.Errorf("got %.200s, want %s", got, tt.want)
			}
		})
	}
}

// doubling returns definitions of which each uses the next one twice.
func doubling(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{{define "t%d"}}{{template "t%d"}}{{template "t%d"}}{{end}}`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `{{define "t%d"}}{{end}}{{template "t0"}}`, n)
	return b.String()
}

func bigMap(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(`"k%d":1`, i)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// TestClock: a template ends when the run must, at the next look at the clock.
func TestClock(t *testing.T) {
	m := meter(1 << 40)
	m.Fuel = value.Slice
	m.Reserve = 1 << 40
	looks := 0
	m.Check = func() *value.LimitError {
		if looks++; looks == 3 {
			return &value.LimitError{Name: "time"}
		}
		return nil
	}
	if got := fill(t, m, `{{range 1000000000}}{{end}}`, `{}`); got != "limit time" {
		t.Errorf("got %s, want the limit time", got)
	}
}

func TestBytes(t *testing.T) {
	got, err := HTML(nil, "p", "{{.a}} {{.b}}", func() value.Value {
		m := value.NewMap(nil, 2)
		m.SetText("a", value.Bytes([]byte("<é>")))
		m.SetText("b", value.Bytes([]byte{0xFF}))
		return m.Value()
	}(), nil)
	if err != nil || got.Str() != "&lt;é&gt; /w==" {
		t.Errorf("got %s, %v", got.Str(), err)
	}
	if _, err := HTML(nil, "p", "\xff", value.Null, nil); err == nil {
		t.Error("a template that is not UTF-8 was shown")
	}
}

func TestDecimals(t *testing.T) {
	price, _ := value.ParseDecimal(nil, "12.30")
	m := value.NewMap(nil, 1)
	m.SetText("price", price)
	got, err := HTML(nil, "p", "<p>{{.price}}</p><script>x = {{.price}}</script>", m.Value(), nil)
	if err != nil || got.Str() != `<p>12.30</p><script>x = "12.30"</script>` {
		t.Errorf("got %s, %v", got.Str(), err)
	}
}

// FuzzHTML: no template does harm, and none that shows a text in the open
// lets markup through.
func FuzzHTML(f *testing.F) {
	for _, s := range []string{`{{.a}}`, `{{range .l}}<b>{{.}}</b>{{end}}`, `<script>{{.}}</script>`, `<a href="{{.a}}" style="{{.a}}">`,
		`{{define "a"}}{{template "a"}}{{end}}{{template "a"}}`, `{{with $x := .l}}{{index $x 0}}{{else with .a}}{{end}}`, "{{- `x` | len -}}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fill(t, meter(1_000_000), text, `{"a":"<x>\"'","l":[1,2,{"b":null}]}`)
	})
}
