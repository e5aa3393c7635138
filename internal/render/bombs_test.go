package render

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// to repeats s up to n bytes.
func to(n int, s string) string { return strings.Repeat(s, n/len(s)) }

// each joins what the pattern gives for 0 to n-1.
func each(n int, pattern string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.NewReplacer("#+1", fmt.Sprint(i+1), "#", fmt.Sprint(i)).Replace(pattern))
	}
	return b.String()
}

const (
	tooMuch   = "! the template /page.html takes too much work to prepare: "
	tooOften  = tooMuch + "use fewer definitions inside each other, or use them less often"
	longLines = tooMuch + "put line breaks into its long lines"
	endlessly = "! definitions in the template use each other more than 100 deep: is there one that never ends?"
)

// TestPreparing gives templates whose escaping, before anything runs, would
// take without end or far too long. It allocates little for each of them.
func TestPreparing(t *testing.T) {
	const half = 120_000
	tests := []struct{ name, text, want string }{
		{"a context for each level of a literal", "<script>`${ {{template \"x\" .}}</script>{{define \"x\"}}{ {{template \"x\" .}}{{end}}", endlessly},
		{"the same with an entity", `<a onclick="&#96;${ {{template "x" .}}">{{define "x"}}{ {{template "x" .}}{{end}}`, endlessly},
		{"the same through a second definition", "<script>`${ {{template \"x\" .}}</script>{{define \"x\"}}{ {{template \"y\" .}}{{end}}{{define \"y\"}}{ {{template \"x\" .}}{{end}}", endlessly},
		{"the same under conditions", "<script>`${ {{template \"x\" .}}</script>{{define \"x\"}}{ " + strings.Repeat("{{if .a}}", 60) + `{{template "x" .}}` + strings.Repeat("{{end}}", 61), "<script>`${ \"{ \"</script>"},
		{"a page that uses itself", "<script>`${ {{template \"/page.html\" .}}</script>", endlessly},
		{"one body in many contexts", `{{define "b"}}` + strings.Repeat("{{.a}}", 3000) + "{{end}}<script>`${ " + strings.Repeat(`{ {{template "b" .}}`, 300) + "</script>", tooOften},
		{"one body in many contexts of an attribute", `{{define "b"}}` + strings.Repeat("{{.a}}", 3000) + `{{end}}<a onclick="&#96;${ ` + strings.Repeat(`{ {{template "b" .}}`, 300) + `">`, tooOften},
		{"a chain after an error", each(40, `{{define "t#"}}{{template "t#+1"}}{{end}}`) + `{{define "t40"}}{{end}}<a '{{template "t0"}}`, tooOften},
		{"very many definitions", each(5000, `{{define "#"}}x{{end}}{{template "#"}}`), "! the template /page.html has 5001 definitions, and 1000 is the most"},
		{"a long chain", each(900, `{{define "t#"}}{{template "t#+1"}}{{end}}`) + `{{define "t900"}}{{end}}{{template "t0"}}`, tooOften},
		{"definitions in two contexts each", each(40, `{{define "t#"}}{{template "t#+1"}}<a title="{{template "t#+1"}}">{{end}}`) + `{{define "t40"}}{{end}}{{template "t0"}}`, tooOften},
		{"many definitions", each(950, `{{define "#"}}x{{end}}{{template "#"}}`), tooOften},
		{"loops among many definitions", each(900, `{{define "#"}}x{{end}}{{template "#"}}`) + to(half, "{{range .}}{{end}}"), tooOften},
		{"loops in definitions in loops", each(30, `{{define "t#"}}{{range .}}{{template "t#+1"}}{{end}}{{end}}`) + `{{define "t30"}}{{end}}{{template "t0" .}}`, tooOften},
		{"branches in many literals", "<script>" + to(half, "`$${ ") + to(half, "{{if .}}{{end}}"), tooMuch},
		{"branches in many literals of an attribute", `<a onclick="` + to(half, "&#96;&#36;{ ") + to(half, "{{if .}}{{end}}"), tooMuch},
		{"uses in many literals", `{{define "b"}}{{end}}<script>` + to(half, "`${ ") + to(1<<14, `{{template "b"}}`), tooMuch},
		{"actions", to(maxText, "{{.}}"), tooOften},
		{"< in text", to(maxText, "< "), longLines},
		{"< in a title", "<title>" + to(half, "<"), longLines},
		{"ends of no tag in a script", "<script>" + to(half, "{</x/"), longLines},
		{"strings in a script", "<script>" + to(maxText-8, `""`), longLines},
		{"attributes of a script", "<script " + to(maxText-8, "a "), longLines},
		{"escapes in a style", `<style>"` + to(half, `\a`), longLines},
		{"escapes in a style attribute", `<a style='"` + to(half, `&#92;a`), longLines},
		{"variables used", "{{$z := 1}}" + to(half, "{{$a:=1}}") + to(half, "{{$z}}"), "! the template /page.html has := more than 200 times"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := fill(t, meter(100_000_000), tt.text, `{}`)
			runtime.ReadMemStats(&after)
			if !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %.200s, want %s", got, tt.want)
			}
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 128 {
				t.Errorf("it allocated %d MiB", used)
			}
		})
	}
}

// TestLargest gives templates of which each is nearly the most that may be
// prepared, and is paid for.
func TestLargest(t *testing.T) {
	tests := []struct{ name, text string }{
		{"actions", to(100_000, "{{.a}}")},
		{"conditions", to(80_000, "{{if .a}}{{end}}")},
		{"deep conditions", strings.Repeat("{{if .a}}", 15_000) + strings.Repeat("{{end}}", 15_000)},
		{"chain after an error", each(10, `{{define "t#"}}{{template "t#+1"}}{{end}}`) + `{{define "t10"}}{{end}}<a '{{template "t0"}}`},
		{"many definitions", each(650, `{{define "#"}}x{{end}}{{template "#"}}`)},
		{"one body in many contexts", `{{define "b"}}` + strings.Repeat("{{.a}}", 150) + "{{end}}<script>`${ " + strings.Repeat(`{ {{template "b" .}}`, 60) + "</script>"},
		{"branches in literals", "<script>" + to(8000, "`${ ") + to(80_000, "{{if .}}{{end}}")},
		{"< in text", to(18_000, "< ")},
		{"ends of no tag in a script", "<script>" + to(5_000, "{</x/")},
		{"attributes of a script", "<script " + to(70_000, "a ") + "></script>"},
		{"escapes in a style", `<style>"` + to(7000, `\a`) + `"</style>`},
		{"empty lines", to(20_000, "\n")},
		{"a page of lines", to(maxText, "<p class=\"a\">Tom &amp; Jerry</p>\n")},
		{"a script of lines", "<script>" + to(200_000, "var a = {b: 'c', d: \"e\"}; // x\n") + "</script>"},
		{"a style of one line", "<style>" + to(60_000, `.a:before{content:"\f101";margin:0 auto;color:rgba(0,0,0,.5);display:inline-block}`) + "</style>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := meter(1 << 40)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := fill(t, m, tt.text, `{}`)
			runtime.ReadMemStats(&after)
			if strings.HasPrefix(got, tooMuch) || strings.HasPrefix(got, "limit") {
				t.Errorf("got %.200s", got)
			}
			used := (after.TotalAlloc - before.TotalAlloc) >> 20
			if used > 256 {
				t.Errorf("it allocated %d MiB", used)
			}
			t.Logf("%d bytes: %d units of fuel, %d MiB", len(tt.text), m.Used(), used)
		})
	}
}

// TestLines: where a long text is divided, the page and its contexts stay.
func TestLines(t *testing.T) {
	for _, tt := range []struct{ before, line, after, want string }{
		{"", "<p class='a'>b &lt; c</p>\n", "{{.}}", "&lt;&#34;"},
		{"<a title=\"", "some words\n", "{{.}}\">", "&lt;&#34;\">"},
		{"<a\n", "data-x=\"1\"\n", "title={{.}}>", "title=&lt;&#34;>"},
		{"<script>\n", "a = {b: 'c', d: /[/]x/}\n", "x = {{.}}</script>", "x = \"\\u003c\\\"\"</script>"},
		{"<script>x = `\n", "${ {a: \"b\"} }\n", "{{.}}`</script>", "\\u003c\\u0022`</script>"},
		{"<style>\n", ".a { content: \"\\f101\" }\n", "{{.}}</style>", "ZgotmplZ</style>"},
		{"<style>\n", ".a { background: url\n", "('{{.}}') }</style>", "('%3c%22') }</style>"},
		{"<textarea>\n", "some words\n", "{{.}}</textarea>", "&lt;&#34;</textarea>"},
	} {
		text := tt.before + strings.Repeat(tt.line, 200)
		if got := fill(t, meter(100_000_000), text+tt.after, `"<\""`); got != text+tt.want {
			t.Errorf("%s: got …%s, want …%s", tt.before+tt.line, got[max(0, len(got)-100):], tt.want)
		}
	}
}
