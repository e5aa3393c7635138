package site_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"ql/internal/site"
)

// tree is a tree of files below /site, by their paths there.
type tree struct {
	files   []string
	lookups int
}

func (t *tree) Kinds(_ context.Context, paths []string) ([]site.Kind, error) {
	t.lookups++
	kinds := make([]site.Kind, len(paths))
	for i, path := range paths {
		for _, f := range t.files {
			switch f = site.Root + "/" + f; {
			case f == path:
				kinds[i] = site.File
			case strings.HasPrefix(f, path+"/"):
				kinds[i] = site.Folder
			}
		}
	}
	return kinds, nil
}

func (t *tree) Patterns(_ context.Context, folder string, most int) ([]string, error) {
	t.lookups++
	var names []string
	for _, f := range t.files {
		if rest, ok := strings.CutPrefix(site.Root+"/"+f, folder+"/"); ok {
			if name, _, _ := strings.Cut(rest, "/"); strings.HasPrefix(name, "[") && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names[:min(len(names), most)], nil
}

// TestFind is the table of routing. The files of a row are separated by spaces; what is found is
// written as its kind, its path and the parameters.
func TestFind(t *testing.T) {
	const shop = "index.ql about.ql about.html logo.svg docs/index.html docs/setup.html blog/[slug].ql blog/new.ql blog/[slug]/edit.ql " +
		"files/[...path].ql files/readme.txt u/[name]/index.ql u/[name]/posts/[id].ql _layout.html .env .well-known/security.txt 404.html a/b.ql a/b/c.ql"
	for _, test := range []struct{ files, path, want string }{
		// A file, a script, a page.
		{shop, "/logo.svg", "file logo.svg"},
		{shop, "/docs/setup.html", "file docs/setup.html"},
		{shop, "/docs/setup", "file docs/setup.html"},
		{shop, "/about", "run about.ql"},
		{shop, "/about.html", "file about.html"},
		{shop, "/a/b", "run a/b.ql"},
		{shop, "/a/b/c", "run a/b/c.ql"},
		{"x x.ql x.html", "/x", "file x"},
		{"x.html x.ql", "/x", "run x.ql"},
		{"x.html", "/x", "file x.html"},
		{"x.html x/index.ql", "/x", "file x.html"},
		{"x.ql x/index.ql", "/x/", "run x/index.ql"},
		{"x.ql", "/x/", "none"},
		{"x.ql", "/X", "none"},
		{"über uns.html", "/über uns", "file über uns.html"},
		{"100%.txt", "/100%.txt", "file 100%.txt"},
		{"a.b.c.ql", "/a.b.c", "run a.b.c.ql"},
		{"x.txt.ql", "/x.txt", "run x.txt.ql"},
		{"x.ql.html", "/x.ql", "file x.ql.html"},

		// Folders.
		{shop, "/", "run index.ql"},
		{"index.html", "/", "file index.html"},
		{"index.html index.ql", "/", "run index.ql"},
		{"about.html", "/", "none"},
		{shop, "/docs/", "file docs/index.html"},
		{shop, "/docs", "slash docs/index.html"},
		{shop, "/a/b/", "none"},
		{"empty/x/y.html", "/empty", "none"},
		{"empty/x/y.html", "/empty/", "none"},
		{shop, "/index", "run index.ql"},
		{shop, "/docs/index.html", "file docs/index.html"},

		// Patterns of a part.
		{shop, "/blog/hello", "run blog/[slug].ql slug=hello"},
		{shop, "/blog/new", "run blog/new.ql"},
		{shop, "/blog/hello/edit", "run blog/[slug]/edit.ql slug=hello"},
		{shop, "/blog/new/edit", "run blog/[slug]/edit.ql slug=new"},
		{shop, "/blog/hello/", "none"},
		{shop, "/blog/", "none"},
		{shop, "/blog", "none"},
		{shop, "/blog/a:b", "run blog/[slug].ql slug=a:b"},
		{shop, "/blog/a b", "run blog/[slug].ql slug=a b"},
		{shop, "/blog/new.ql", "run blog/[slug].ql slug=new.ql"},
		{shop, "/u/ada", "slash u/[name]/index.ql name=ada"},
		{shop, "/u/ada/", "run u/[name]/index.ql name=ada"},
		{shop, "/u/ada/posts/3", "run u/[name]/posts/[id].ql name=ada id=3"},
		{shop, "/u/ada/posts", "none"},
		{shop, "/u/", "none"},
		{"[a].html [a].ql", "/x", "run [a].ql a=x"},
		{"[a].html", "/x", "file [a].html a=x"},
		{"[a]/index.ql [a].html", "/x", "file [a].html a=x"},
		{"[b].ql [a].ql", "/x", "run [a].ql a=x"},
		{"[a]/x.ql b/y.ql", "/b/x", "run [a]/x.ql a=b"},
		{"[a]/x.ql b/x.ql", "/b/x", "run b/x.ql"},
		{"[a]/[b].ql x/[c].ql", "/x/y", "run x/[c].ql c=y"},
		{"[a]/z.ql x/[c].ql", "/x/z", "run x/[c].ql c=z"},

		// Patterns of all that follows.
		{shop, "/files/a/b/c", "run files/[...path].ql path=a/b/c"},
		{shop, "/files/a", "run files/[...path].ql path=a"},
		{shop, "/files/readme.txt", "file files/readme.txt"},
		{shop, "/files/a/", "run files/[...path].ql path=a/"},
		{shop, "/files/", "run files/[...path].ql path="},
		{shop, "/files", "none"},
		{"[...all].ql", "/", "run [...all].ql all="},
		{"[...all].ql x.ql", "/x", "run x.ql"},
		{"[...all].ql x/y.ql", "/x/z", "run [...all].ql all=x/z"},
		{"[...all].html", "/x/z", "file [...all].html all=x/z"},
		{"[...all].ql [a].ql", "/x", "run [a].ql a=x"},
		{"[...all].ql [a].ql", "/x/y", "run [...all].ql all=x/y"},
		{"[...all].ql [a]/y.ql", "/x/y", "run [a]/y.ql a=x"},
		{"[...all].ql x/[...rest].ql", "/x/y/z", "run x/[...rest].ql rest=y/z"},
		{"[...all].ql [a]/[...rest].ql", "/x/y", "run [a]/[...rest].ql a=x rest=y"},
		{"[...all]/x.ql", "/a/x", "none"},

		// What is no pattern.
		{"[].ql", "/x", "none"},
		{"[a b].ql", "/x", "none"},
		{"[a]b.ql", "/x", "none"},
		{"[a].txt", "/x", "none"},
		{"x[a].ql", "/xy", "none"},
		{"[a.ql", "/x", "none"},

		// Never served.
		{shop, "/index.ql", "none"},
		{shop, "/a/b.ql", "none"},
		{shop, "/_layout.html", "refused"},
		{shop, "/_layout", "refused"},
		{shop, "/.env", "refused"},
		{shop, "/.well-known/security.txt", "file .well-known/security.txt"},
		{".well-known/.x", "/.well-known/.x", "refused"},
		{".git/config", "/.git/config", "refused"},
		{"_x/y.html", "/_x/y", "refused"},
		{shop, "/blog/[slug]", "refused"},
		{"[...all].ql", "/_x", "refused"},
		{"[...all].ql", "/a/.x", "refused"},
	} {
		f := &tree{files: split(test.files)}
		got, err := site.Find(t.Context(), f, test.path)
		if err != nil || write(got) != test.want {
			t.Errorf("%s of %s is %q, want %q (%v)", test.path, test.files, write(got), test.want, err)
		}
	}
}

// split separates names; those with a space are written in one piece.
func split(files string) []string {
	if strings.Contains(files, "über uns") || strings.Contains(files, "[a b]") {
		return []string{files}
	}
	return strings.Fields(files)
}

func write(t site.Target) string {
	kind := map[site.TargetKind]string{site.Missing: "none", site.Static: "file", site.Script: "run", site.AddSlash: "slash", site.NotServed: "refused"}[t.Kind]
	if t.Path != "" {
		kind += " " + strings.TrimPrefix(t.Path, site.Root+"/")
	}
	for _, p := range t.Params {
		kind += " " + p.Name + "=" + p.Value
	}
	return kind
}

// TestNotFoundPage: the page for what is not there is the nearest one.
func TestNotFoundPage(t *testing.T) {
	for _, test := range []struct{ files, path, want string }{
		{"404.html", "/x", "file 404.html"},
		{"404.html", "/a/b/c/", "file 404.html"},
		{"404.html 404.ql", "/x", "run 404.ql"},
		{"404.ql a/404.html", "/a/x", "file a/404.html"},
		{"404.ql a/404.html", "/a/b/x", "file a/404.html"},
		{"404.ql a/404.html", "/b/x", "run 404.ql"},
		{"404.ql a/404.html", "/a", "run 404.ql"},
		{"index.ql", "/x", "none"},
		{"_x/404.html 404.html", "/_x/y", "file 404.html"},
	} {
		got, err := site.NotFoundPage(t.Context(), &tree{files: split(test.files)}, test.path)
		if err != nil || write(got) != test.want {
			t.Errorf("%s of %s is %q, want %q (%v)", test.path, test.files, write(got), test.want, err)
		}
	}
}

// TestLookupsAreBounded: a tree in which every part stands twice is not walked through.
func TestLookupsAreBounded(t *testing.T) {
	var files []string
	for n := range 1 << 8 {
		path := ""
		for bit := range 8 {
			path += map[bool]string{true: "x/", false: "[a]/"}[n>>bit&1 == 0]
		}
		files = append(files, path+"y.ql")
	}
	f := &tree{files: files}
	got, err := site.Find(t.Context(), f, "/"+strings.Repeat("x/", 8)+"z")
	if err != nil || got.Kind != site.Missing || f.lookups > 400 {
		t.Errorf("%v, %v after %d lookups", got, err, f.lookups)
	}
	long := &tree{files: []string{"index.ql", "404.html"}}
	if got, err := site.Find(t.Context(), long, strings.Repeat("/x", 4000)); err != nil || got.Kind != site.Missing || long.lookups > 10 {
		t.Errorf("%v, %v after %d lookups", got, err, long.lookups)
	}
	if _, err := site.NotFoundPage(t.Context(), long, strings.Repeat("/x", 4000)); err != nil || long.lookups > 12 {
		t.Errorf("%v after %d lookups", err, long.lookups)
	}
}

func TestMediaTypes(t *testing.T) {
	for name, want := range map[string]string{
		"index.html": "text/html; charset=utf-8", "App.JS": "text/javascript; charset=utf-8", "logo.svg": "image/svg+xml", "x.woff2": "font/woff2",
		"data.json": "application/json", "x": "application/octet-stream", "x.exe": "application/octet-stream",
	} {
		if got := site.MediaType(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestHashedNames(t *testing.T) {
	for name, want := range map[string]bool{
		"app-3f2a1b9c.js": true, "main.3f2a1b9c.css": true, "x-0123456789abcdef.woff2": true,
		"app.js": false, "3f2a1b9c.js": false, "report-20261117.pdf": false, "my-deadbeef.js": false, "my-stylesheet.css": false, "app-3F2A1B9C.js": false, "app-3f2a1b9.js": false,
	} {
		if got := site.IsHashed(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
