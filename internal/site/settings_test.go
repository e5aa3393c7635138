package site_test

import (
	"strings"
	"testing"

	"ql/internal/site"
)

func TestSettings(t *testing.T) {
	s, err := site.ParseSettings([]byte(`
fallback = "/app.html"
records = "all"
[redirects]
"/old" = "/new"
"/blog/*" = "/posts/*"
"/blog/2019/*" = "/archive"
"/blog/about" = "/about"
[headers]
"/*" = { X-One = "1", X-Two = "2" }
"/assets/*" = { X-Two = "3" }
"/assets/a.css" = { X-Two = "4" }
`))
	if err != nil || s.Fallback != "/site/app.html" || s.Records != site.RecordAll {
		t.Fatalf("%+v, %v", s, err)
	}
	for path, want := range map[string]string{
		"/old": "/new", "/old/": "", "/old/x": "", "/blog/x": "/posts/x", "/blog/": "/posts/", "/blog": "", "/blog/2019/x": "/archive", "/blog/about": "/about", "/x": "",
	} {
		if got, ok := s.Redirect(path); got != want || ok != (want != "") {
			t.Errorf("%s leads to %q, want %q", path, got, want)
		}
	}
	for path, want := range map[string]string{"/": "X-One=1 X-Two=2", "/assets/x": "X-One=1 X-Two=2 X-Two=3", "/assets/a.css": "X-One=1 X-Two=2 X-Two=3 X-Two=4"} {
		var got []string
		for _, h := range s.Headers(path) {
			got = append(got, h.Name+"="+h.Value)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has %v, want %s", path, got, want)
		}
	}
	if s, err := site.ParseSettings(nil); err != nil || s.Records != site.RecordErrors || s.Fallback != "" {
		t.Errorf("nothing says %+v, %v", s, err)
	}
}

func TestWrongSettings(t *testing.T) {
	for text, want := range map[string]string{
		`fallbak = "/x"`:                        "fallbak: there is no such setting; there is fallback",
		`zzz = 1`:                               "zzz: there is no such setting; there are fallback, headers",
		`fallback = "x"`:                        "fallback: it takes the path",
		`fallback = "//evil.example"`:           "fallback: it takes the path",
		`secrets = true`:                        "secrets: there is no such setting",
		`records = "some"`:                      `records: it takes "errors"`,
		`records = 1`:                           `records: it takes "errors"`,
		`redirects = 1`:                         "redirects: it takes a table",
		`redirects = {"old" = "/new"}`:          `redirects: "old" is no path`,
		`redirects = {"/old" = 1}`:              `redirects: "/old" leads to no path`,
		`redirects = {"/o" = "//evil"}`:         `leads to no path of the site`,
		`redirects = {"/o" = "/\\evil"}`:        `leads to no path of the site`,
		`redirects = {"/o" = "https:x"}`:        `leads to no path of the site`,
		`redirects = {"/o" = "/n/*"}`:           `leads to no path of the site`,
		`headers = {"/" = 1}`:                   `headers: "/" is no path`,
		`headers = {"/" = {Set-Cookie = "x"}}`:  `do not set the header "Set-Cookie"`,
		`headers = {"/" = {Location = "/x"}}`:   `do not set the header "Location"`,
		`headers = {"/" = {"X:" = "1"}}`:        `do not set the header "X:"`,
		`headers = {"/" = {X = "1\n2"}}`:        `do not set the header "X"`,
		`headers = {"/" = {X = 1}}`:             `do not set the header "X"`,
		`a = `:                                  "line 1, column",
		strings.Repeat("#", site.MaxSettings+1): "bytes: 32768 fit",
	} {
		if _, err := site.ParseSettings([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", text, err, want)
		}
	}
	_, err := site.ParseSettings([]byte("a = 1\nb = 2"))
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("not all is told: %v", err)
	}
}

// FuzzSettings: whatever is written, it is refused or leads to the site alone.
func FuzzSettings(f *testing.F) {
	f.Add("fallback = \"/x\"\n[redirects]\n\"/a*\" = \"/b*\"\n[headers]\n\"/*\" = {X = \"1\"}", "/ab")
	f.Add("redirects = {\"/a*\" = \"/*\"}", "/a/evil.example")
	f.Fuzz(func(t *testing.T, text, path string) {
		s, err := site.ParseSettings([]byte(text))
		if err != nil {
			return
		}
		if to, ok := s.Redirect(path); ok && (!strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//")) {
			t.Fatalf("%q leads to %q", path, to)
		}
		s.Headers(path)
		if s.Fallback != "" && !strings.HasPrefix(s.Fallback, site.Root+"/") {
			t.Fatalf("the fallback is %q", s.Fallback)
		}
	})
}
