package render

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ql/lang/value"
)

// fillFiles renders /page.html of some files.
func fillFiles(t *testing.T, files map[string]string, data string) string {
	t.Helper()
	v, bad := value.ParseJSON(nil, data)
	if bad != nil {
		t.Fatal(bad)
	}
	loads := 0
	out, err := HTML(meter(1<<30), "/page.html", files["/page.html"], v, func(path string) (string, error) {
		if loads++; loads > maxFiles {
			t.Fatal("files are loaded again and again")
		}
		text, ok := files[path]
		if !ok {
			return "", value.Errorf("file_not_found", "there is no file %s", path)
		}
		return text, nil
	})
	var known *value.Error
	switch {
	case errors.As(err, &known):
		return "! " + known.Message
	case err != nil:
		t.Fatal(err)
	}
	return out.Str()
}

// TestFiles: a template uses other files by their paths, which are escaped for the place where they
// stand, and a page fills the blocks of its layout.
func TestFiles(t *testing.T) {
	long := map[string]string{"/page.html": `{{template "/a.html" .}}`, "/a.html": strings.Repeat("x", maxText)}
	many := map[string]string{}
	for i := range maxFiles + 1 {
		many[fmt.Sprintf("/%d.html", i)] = fmt.Sprintf(`{{template "/%d.html" .}}`, i+1)
	}
	many["/page.html"] = `{{template "/0.html" .}}`
	for _, test := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"a layout", map[string]string{
			"/page.html":         `{{define "main"}}<p>{{.a}}</p>{{end}}{{template "/site/_layout.html" .}}`,
			"/site/_layout.html": `<title>{{.a}}</title>{{block "main" .}}nothing{{end}}{{block "foot" .}}foot{{end}}{{template "/site/_nav.html" .}}`,
			"/site/_nav.html":    `<a href="{{.u}}" onclick="f({{.a}})">`,
		}, `<title>&lt;b&gt;</title><p>&lt;b&gt;</p>foot<a href="#ZgotmplZ" onclick="f(&#34;\u003cb\u003e&#34;)">`},
		{"in an attribute", map[string]string{"/page.html": `<a title="{{template "/a.html" .}}">{{template "/a.html" .}}</a>`, "/a.html": `{{.q}}`}, `<a title="&#34;x">&#34;x</a>`},
		{"in a script", map[string]string{"/page.html": `<script>x = {{template "/a.html" .}}</script>`, "/a.html": `{{.a}}`}, `<script>x = "\u003cb\u003e"</script>`},
		{"definitions alone", map[string]string{"/page.html": `{{template "/lib.html"}}{{template "one" .a}}`, "/lib.html": `{{define "one"}}<i>{{.}}</i>{{end}}`}, `<i>&lt;b&gt;</i>`},
		{"twice", map[string]string{"/page.html": `{{template "/a.html"}}{{template "/a.html"}}`, "/a.html": `x`}, `xx`},
		{"a definition of that name", map[string]string{"/page.html": `{{define "/a.html"}}mine{{end}}{{template "/a.html"}}`}, `mine`},
		{"missing", map[string]string{"/page.html": `{{template "/no.html"}}`}, `! there is no file /no.html`},
		{"no path", map[string]string{"/page.html": `{{template "no.html"}}`}, `! the template /page.html:1:11: no such template "no.html"`},
		{"itself", map[string]string{"/page.html": `x{{with .in}}{{template "/page.html" .}}{{end}}`}, `xx`},
		{"itself by another", map[string]string{"/page.html": `{{template "/a.html"}}`, "/a.html": `{{template "/page.html"}}`}, `! the template /page.html uses itself: /page.html uses /a.html uses /page.html`},
		{"in a circle", map[string]string{"/page.html": `{{template "/a.html"}}`, "/a.html": `{{if .}}{{template "/b.html"}}{{end}}`, "/b.html": `{{define "x"}}{{template "/a.html"}}{{end}}`}, `! the template /a.html uses itself: /a.html uses /b.html uses /a.html`},
		{"too long", long, `! the template /a.html has more than 256 KiB with the files that use it`},
		{"too many", many, fmt.Sprintf("! the template /%d.html is one file too many: %d can be used together", maxFiles-1, maxFiles)},
		{"a mistake", map[string]string{"/page.html": `{{template "/a.html"}}`, "/a.html": "\n{{if}}"}, `! the template /a.html:2: missing value for if`},
	} {
		if got := fillFiles(t, test.files, `{"a":"<b>","in":{"b":1},"q":"\"x","u":"javascript:alert(1)"}`); got != test.want {
			t.Errorf("%s: %s", test.name, got)
		}
	}
}

// TestFilesEndTheContext: a file that ends inside of a tag is refused where what follows would be read
// otherwise.
func TestFilesEndTheContext(t *testing.T) {
	got := fillFiles(t, map[string]string{"/page.html": `{{if .a}}{{template "/a.html"}}{{end}}{{.a}}`, "/a.html": `<a href="`}, `{"a":"x"}`)
	if !strings.HasPrefix(got, "! ") {
		t.Errorf("%s", got)
	}
}
