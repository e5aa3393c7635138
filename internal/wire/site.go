package wire

import "strconv"

// What the headers of every answer of a site say where the page does not: it loads from its own
// site alone, is framed there alone, and shares no process with what it opens.
var (
	siteContent = []string{"default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'"}
	siteReferer = []string{"strict-origin-when-cross-origin"}
	ownCluster  = []string{"?1"}
	noCache     = []string{"no-cache"}
	revalidated = []string{"public, max-age=0, must-revalidate"}
	htmlType    = []string{"text/html; charset=utf-8"}
)

// SetSite sets what every answer of a site has.
func SetSite(h Header, s HeaderOptions) {
	h["X-Content-Type-Options"] = nosniff
	h["Referrer-Policy"] = siteReferer
	h["Content-Security-Policy"] = siteContent
	h["Cross-Origin-Opener-Policy"] = sameOrigin
	h["Cross-Origin-Resource-Policy"] = sameOrigin
	h["Origin-Agent-Cluster"] = ownCluster
	h["Cache-Control"] = noCache
	if s.HTTPS {
		h["Strict-Transport-Security"] = onlyEncrypted
	}
}

// SetSitePage sets the headers of a page that a script made: a text is HTML.
func SetSitePage(h Header, s HeaderOptions, binary bool) {
	SetSite(h, s)
	h["Content-Type"] = htmlType
	if binary {
		set(h, "Content-Type", "application/octet-stream")
	}
}

// SetSiteFile sets the headers of a file of a site, of which so many bytes are sent.
func SetSiteFile(h Header, s HeaderOptions, mediaType string, size int64) {
	SetSite(h, s)
	h["Cache-Control"] = revalidated
	set(h, "Content-Type", mediaType)
	set(h, "Content-Length", strconv.FormatInt(size, 10))
}

// SetSiteNotice sets the headers of a page of the service's own on a site. Nonce lets its style
// element through.
func SetSiteNotice(h Header, s HeaderOptions, nonce string) {
	SetSite(h, s)
	h["Content-Type"] = htmlType
	h["Cache-Control"] = noStore
	set(h, "Content-Security-Policy", "default-src 'none'; style-src 'nonce-"+nonce+"'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'")
}

// VisitorForm is where whoever looks at a page answers what its script asks; "" where it asks for
// no form, or somebody else.
func (j *Job) VisitorForm() string {
	if p := j.Prompt; p != nil && p.Kind == "gather" && p.To == "" && !p.Sent {
		return j.FormURL
	}
	return ""
}
