package download

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"strings"

	"ql/internal/server"
	"ql/internal/server/asset"
	"ql/internal/wire"
)

// isPrefetch tells whether a browser loads what nobody has asked for yet.
func isPrefetch(h http.Header) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		for _, value := range h.Values(name) {
			value = strings.ToLower(value)
			if strings.Contains(value, "prefetch") || strings.Contains(value, "prerender") || strings.Contains(value, "preview") {
				return true
			}
		}
	}
	return false
}

// previewers are parts of the names by which programs call themselves that look
// at every link that somebody posts or indexes, a line each.
//
//go:embed previewers.txt
var previewers string

// isPreview tells whether a client only looks what a link leads to.
func isPreview(agent string) bool {
	agent = strings.ToLower(agent)
	for name := range strings.Lines(previewers) {
		if strings.Contains(agent, strings.TrimSpace(name)) {
			return true
		}
	}
	return false
}

// wantsPage tells whether somebody reads the answer in a browser.
func wantsPage(h http.Header) bool {
	for _, accepted := range strings.Split(strings.Join(h.Values("Accept"), ","), ",") {
		kind, _, _ := strings.Cut(accepted, ";")
		if strings.EqualFold(strings.TrimSpace(kind), "text/html") {
			return true
		}
	}
	return false
}

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// readerOf returns the words of whoever reads the answer.
func readerOf(r *server.Request) *words { return wordsFor(r.Setting("").Languages) }

// page answers in words.
func page(h http.Header, r *server.Request, status int, w *words, e ending) (server.Response, error) {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, struct{ Language, Title, Words, Stylesheet string }{w.language, e.title, e.words, asset.Stylesheet}); err != nil {
		return server.Response{}, err
	}
	wire.SetPage(h, r.Setting(""), "")
	h.Set("X-Robots-Tag", "noindex")
	return server.Response{Status: status, Body: b.Bytes()}, nil
}
