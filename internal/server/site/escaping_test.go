package site_test

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"
	"testing"

	"ql/internal/server/pagetest"
)

// hostilePage puts a text into every place of a page that templates have, without the policy that would keep it from running.
var hostilePage = map[string]string{
	"page.ql": `SET "header:Content-Security-Policy" AS "default-src * 'unsafe-inline'" OF !RESPONSE
		SET ?x AS !GET('x') RENDER "/site/_page.html" USING {x: ?x, list: [?x, ?x], map: {a: ?x}} EMIT HTML "<p title='{?x}' class=\"{?x}\">{?x}</p>"`,
	"_page.html": `<!doctype html><html lang="en"><title>{{.x}}</title><style>p { color: {{.x}} }</style><body><p title="{{.x}}" data-x='{{.x}}' class={{.x}}>{{.x}}</p>` +
		`<a href="{{.x}}">{{.x}}</a><a href="/find?q={{.x}}">x</a><img src="{{.x}}" alt="{{.x}}"><textarea>{{.x}}</textarea><select><option value="{{.x}}">{{.x}}</option></select>` +
		`<ul>{{range .list}}<li>{{.}}</li>{{end}}</ul><button onclick="show({{.map}})">x</button><script>var x = {{.x}}, y = "{{.x}}", z = {{.map}};</script><!-- {{.x}} -->`,
	"ask.ql":     `SET ?x AS !GET('x') GATHER "{?x}\n{?x}" FIELDS a TEXT LABEL ?x HELP ?x DEFAULT ?x, b CHOICE [?x, "b"], c FILE SET ?f EMIT HTML "<p title=\"{?f['c']['name']}\">{?f['c']['name']}</p>"`,
	"_form.html": `<h1>{{.title}}</h1><p title="{{.title}}">{{.message}}</p><ql-form></ql-form>`,
	"404.ql":     `EMIT HTML "<!doctype html><title>{=!REQUEST('path')}</title><p>{=!REQUEST('path')} of {=!REQUEST('host')}</p>"`,
	"share.ql":   `WRITE "x" TO "/x.txt" SHARE "/x.txt" NAMED !GET('x') SET ?u EMIT ?u`,
}

// TestTextsMakeNoElements: whatever visitors send stands on a page as a text, wherever the page puts it.
func TestTextsMakeNoElements(t *testing.T) {
	w := boot(t, lift)
	w.puts(hostilePage)
	skeleton := func(a answer) string {
		t.Helper()
		made, err := pagetest.Skeleton(a.body)
		if err != nil {
			t.Fatal(err)
		}
		if leads, err := pagetest.Leads(a.body); err != nil || len(leads) > 0 {
			t.Errorf("the page leads to %q, %v", leads, err)
		}
		return made
	}
	show := map[string]func(text string) answer{
		"template": func(text string) answer { return w.get("/page?x=" + url.QueryEscape(text)) },
		"question": func(text string) answer { return w.get("/ask?x=" + url.QueryEscape(text)) },
		"nothing": func(text string) answer {
			return w.get("/no/" + url.PathEscape(strings.NewReplacer("/", "_", `\`, "_").Replace(text)))
		},
	}
	made := map[string]string{}
	for name, ask := range show {
		a := ask(pagetest.Harmless)
		if made[name] = skeleton(a); strings.Count(a.body, pagetest.Harmless) < 2 {
			t.Fatalf("%s: %d %s", name, a.status, a.body)
		}
	}
	for _, text := range pagetest.Hostile() {
		for name, ask := range show {
			if a := ask(text); skeleton(a) != made[name] {
				t.Errorf("%s: %q makes it\n%s", name, text, a.body)
			}
		}
	}
}

// upload sends a form with a file of a name.
func (v *visitor) upload(f filled, field, name string) answer {
	v.t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	write := func(err error) {
		if err != nil {
			v.t.Fatal(err)
		}
	}
	write(m.WriteField(" ql-page", f.values.Get(" ql-page"))) // first, as in the form
	part, err := m.CreateFormFile(field, name)
	write(err)
	_, err = io.WriteString(part, "x")
	write(err)
	write(m.Close())
	return v.call("POST", v.SiteURL("ada")+f.action, b.String(), "Cookie", "QLVISITOR="+v.cookies["QLVISITOR"], "Content-Type", m.FormDataContentType())
}

// TestNamesOfFiles: a file that a visitor sends has the name that it was sent with, and that is a text, in a page and
// as the name of a download.
func TestNamesOfFiles(t *testing.T) {
	w := boot(t, lift)
	w.puts(hostilePage)
	shared := 0
	for i, text := range pagetest.Hostile() {
		if i%9 != 0 {
			continue
		}
		v := w.visitor()
		f := v.form(v.send("GET", "/ask?x="+pagetest.Harmless, ""))
		led := v.upload(f, "c", text)
		end := v.follow(led)
		made, err := pagetest.Skeleton(end.body)
		if err != nil || strings.Count(made, "\n") != 4 || !strings.HasSuffix(made, "p title\n") {
			t.Errorf("%q: %d %s %v", text, end.status, end.body, err)
		}
		link := w.get("/share?x=" + url.QueryEscape(text))
		if link.status != 200 { // a name that no file may have
			continue
		}
		shared++
		a := w.call("GET", strings.TrimSpace(link.body), "")
		kind, names, err := mime.ParseMediaType(a.header.Get("Content-Disposition"))
		if err != nil || kind != "attachment" || names["filename"] == "" || len(names) > 2 || len(a.header.Values("Content-Disposition")) != 1 {
			t.Errorf("%q: %d %q %v", text, a.status, a.header["Content-Disposition"], err)
		}
	}
	if shared == 0 {
		t.Error("no text is the name of a download")
	}
}
