package wire

import (
	"strconv"
	"strings"
	"time"
)

// What the headers of every answer of a site say where the page does not: it loads from its own
// site alone, is framed there alone, and shares no process with what it opens.
var (
	siteContent = []string{"default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'"}
	siteReferer = []string{"strict-origin-when-cross-origin"}
	ownCluster  = []string{"?1"}
	noCache     = []string{"no-cache"}
	revalidated = []string{"public, max-age=0, must-revalidate"}
	immutable   = []string{"public, max-age=31536000, immutable"}
	byEncoding  = []string{"Accept-Encoding"}
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

// BeginSitePage is SetSitePage, but returns what is not set yet.
func BeginSitePage(h Header, s HeaderOptions, binary bool) *Head {
	head := pageHeads.begin(h, HeaderOptions{HTTPS: s.HTTPS})
	if binary {
		h["Content-Type"] = bytesType
	}
	return head
}

// SetSitePage sets the headers of a page that a script made: a text is HTML.
func SetSitePage(h Header, s HeaderOptions, binary bool) {
	SetSite(h, s)
	h["Content-Type"] = htmlType
	if binary {
		h["Content-Type"] = bytesType
	}
}

// SiteFile is what the headers of a file of a site say.
type SiteFile struct {
	Type     string
	Size     int64 // how many bytes are sent
	Hashed   bool  // its name has the hash of its content: it never changes
	Packable bool  // it may be sent compressed
}

// SetSiteFile sets the headers of a file of a site.
func SetSiteFile(h Header, s HeaderOptions, f SiteFile) {
	SetSite(h, s)
	h["Cache-Control"] = revalidated
	if f.Hashed {
		h["Cache-Control"] = immutable
	}
	if f.Packable {
		h["Vary"] = byEncoding
	}
	set(h, "Content-Type", f.Type)
	set(h, "Content-Length", strconv.FormatInt(f.Size, 10))
}

// SetPackedContent sets the headers of a content that is sent compressed. Its name is that of the
// content, weakly: the bytes are others.
func SetPackedContent(h Header, tag string, modified time.Time) {
	SetContent(h, tag, modified)
	set(h, "Etag", "W/"+ETag(tag))
	set(h, "Content-Encoding", "gzip")
	delete(h, "Accept-Ranges")
}

// HasETag tells whether a header If-None-Match has a name. What cannot be read has none.
func HasETag(header, etag string) bool {
	tags, all, err := readTags("If-None-Match", header)
	return err == nil && (all || hasTag(tags, strings.Trim(strings.TrimPrefix(etag, "W/"), `"`), true))
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
