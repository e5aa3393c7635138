package site

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"

	"ql/internal/service"
	"ql/internal/wire"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// notice is a page of the service's own, where a site has none to show.
type notice struct {
	Title, Words string
	Reference    string // by which the owner finds what went wrong, or ""
	Nonce        string
	Mistake      *mistake // what a developer is told; nil for visitors
}

// write sets the headers of a notice and returns its body.
func (c codec) write(h http.Header, s wire.HeaderOptions, n notice) []byte {
	n.Nonce = wire.NewNonce()
	var b bytes.Buffer
	_ = pageTemplate.Execute(&b, n) // of texts, into memory
	wire.SetSiteNotice(h, s, n.Nonce)
	if c.Develops {
		h.Set("Content-Security-Policy", h.Get("Content-Security-Policy")+"; script-src 'self'; connect-src 'self'")
	}
	return b.Bytes()
}

// notices are what is said of an answer with a status. Visitors did not write the site, and are told
// no more than they can act on.
var notices = map[int]notice{
	http.StatusForbidden:             {Title: "This was not sent from this site", Words: "A page of another site sent this request. Open the page here and try again."},
	http.StatusNotFound:              {Title: "There is no such page", Words: "Look whether the address is complete, or begin at the site's first page."},
	http.StatusMethodNotAllowed:      {Title: "This cannot be done here", Words: "The address is that of a file, which can be loaded and nothing else."},
	http.StatusRequestEntityTooLarge: {Title: "This is too large", Words: "More was sent than the site takes."},
	http.StatusMisdirectedRequest:    {Title: "There is no site of this name here", Words: "Look whether the address is right."},
	http.StatusTooManyRequests:       {Title: "Too many requests", Words: "Wait a moment, then try again."},
	http.StatusInternalServerError:   {Title: "This page has failed", Words: "The fault is not yours. Try again later; if it stays, tell the site's owner the reference below."},
	http.StatusServiceUnavailable:    {Title: "This page is not available at the moment", Words: "Wait a moment, then try again."},
}

// noticeOf is the notice of a refusal. What is wrong with a request its sender is told.
func noticeOf(r *service.Refusal) notice {
	n, ok := notices[r.Status]
	switch {
	case r.Status == http.StatusRequestEntityTooLarge:
		n.Words += " " + r.Message + "."
	case ok:
	case r.Status >= http.StatusInternalServerError:
		n = notices[http.StatusInternalServerError]
	default:
		n = notice{Title: "This request does not fit", Words: r.Message}
	}
	n.Reference = r.ID
	return n
}

// encodeError writes a refusal.
func (c codec) encodeError(h http.Header, s wire.HeaderOptions, r *service.Refusal) []byte {
	return c.write(h, s, noticeOf(r))
}
