package wire

import (
	"fmt"
	"maps"
	"mime"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestHeaders compares the headers of every kind of answer, and the bodies of
// the form convention's, with the golden file.
func TestHeaders(t *testing.T) {
	plain, page := HeaderOptions{}, HeaderOptions{HTTPS: true, Origin: "https://shop.example.com"}
	job := jobs()
	refused := invalid("get", "is empty").Answer()
	var got strings.Builder
	write := func(name string, set func(h Header), body ...[]byte) {
		h := Header{}
		set(h)
		got.WriteString("# " + name + "\n")
		for _, k := range slices.Sorted(maps.Keys(h)) {
			got.WriteString(k + ": " + strings.Join(h[k], " and ") + "\n")
		}
		for i, b := range body {
			fmt.Fprintf(&got, "%s%q", map[bool]string{true: "\n", false: " + "}[i == 0], b)
		}
		got.WriteString("\n\n")
	}
	text := func(name string, s HeaderOptions, e *Error) {
		j := job[name]
		output, after := j.Text(e)
		write("text "+name, func(h Header) { j.SetText(h, s, e).Set(h) }, output, after)
	}
	text("ok", plain, nil)
	text("ok-binary", plain, nil)
	text("ok-json", plain, nil)
	text("ok-json", plain, &failure)
	text("ok", page, nil)
	text("paused-confirm", plain, nil)
	text("waiting", plain, nil)
	text("failed", plain, &failure)
	text("failed-syntax", plain, &syntaxError)
	text("failed-in-a-file", plain, &Error{Code: "wrong_kind", Message: "no\r\nway", File: "lib/a.ql", Line: 2, Column: 1})
	write("text refused", func(h Header) { refused.SetText(h, plain) }, refused.AppendLines(nil))
	write("json ok", func(h Header) { job["ok"].SetJSON(h, plain).Set(h) })
	write("json ok, listed page", func(h Header) { job["ok"].SetJSON(h, page).Set(h) })
	write("json accepted", func(h Header) { job["accepted"].SetJSON(h, plain).Set(h) })
	write("json refused", func(h Header) { SetJSON(h, HeaderOptions{HTTPS: true}) })
	write("preflight", func(h Header) { SetPreflight(h, page) })
	write("download", func(h Header) {
		SetDownload(h, HeaderOptions{HTTPS: true}, File{Name: "Übersicht 2026.csv", Type: "Text/CSV; header=present", Size: 12, SingleUse: true})
	})
	write("download of a page", func(h Header) { SetDownload(h, plain, File{Name: "a.html", Type: "text/html"}) })
	write("download of a picture", func(h Header) { SetDownload(h, plain, File{Name: "a.png", Type: "image/png", Size: 9}) })
	write("page", func(h Header) { SetPage(h, HeaderOptions{HTTPS: true}, "bm9uY2U") })
	write("dashboard", func(h Header) {
		SetDashboard(h, HeaderOptions{HTTPS: true}, "bm9uY2U", "'self' https://files.example.com")
	})
	compareGolden(t, filepath.Join("testdata", "headers.txt"), got.String())
}

func TestSessionCookie(t *testing.T) {
	tests := []struct {
		https, crossSite bool
		want             string
	}{
		{false, false, "QLSESSID=id; Path=/; HttpOnly; SameSite=Lax"},
		{true, false, "QLSESSID=id; Path=/; HttpOnly; Secure; SameSite=Lax"},
		{true, true, "QLSESSID=id; Path=/; HttpOnly; Secure; SameSite=None; Partitioned"},
	}
	for _, test := range tests {
		got := SessionCookie(SessionName, "id", "/", HeaderOptions{HTTPS: test.https}, test.crossSite)
		if got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
		c, err := http.ParseSetCookie(got)
		if err != nil || c.Name != SessionName || c.Value != "id" || !c.HttpOnly || c.Secure != test.https || c.Partitioned != test.crossSite {
			t.Errorf("%s reads back as %+v, %v", got, c, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "1", time.Nanosecond: "1", time.Second: "1", time.Second + 1: "2", time.Hour: "3600"} {
		if got := RetryAfter(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// FuzzDisposition checks that the name of a file reads back from the header, and
// that nothing else gets into it.
func FuzzDisposition(f *testing.F) {
	for _, seed := range []string{"a.txt", "Ü.txt", `a"b\c`, "a\r\nX: y", "", "a%41", "/etc/passwd", "\xff", "日本語.pdf", "a;b", "a'b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		value := disposition(name)
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("not on one line of ASCII: %q", value)
		}
		kind, params, err := mime.ParseMediaType(value)
		if err != nil || kind != "attachment" {
			t.Fatalf("%q: %s, %v", value, kind, err)
		}
		want := strings.ToValidUTF8(name, "\ufffd")
		if want == "" {
			want = "file"
		}
		if got := params["filename"]; got != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	})
}
