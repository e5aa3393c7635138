package wire

import (
	"crypto/rand"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Header takes the headers of an answer, by their names as they are to be sent:
// those of our own are spelled QL-…, which is not how Go spells a header.
type Header = map[string][]string

// set sets a header.
func set(h Header, name, value string) { h[name] = []string{value} }

// The values that nearly every answer has. They are shared, and nobody changes
// the values of a header in place.
var (
	nosniff       = []string{"nosniff"}
	noReferrer    = []string{"no-referrer"}
	noStore       = []string{"no-store"}
	sameOrigin    = []string{"same-origin"}
	jsonType      = []string{JSONType}
	textType      = []string{"text/plain; charset=utf-8"}
	bytesType     = []string{"application/octet-stream"}
	noContent     = []string{"default-src 'none'; frame-ancestors 'none'"}
	sandboxed     = []string{"sandbox; default-src 'none'"}
	onlyEncrypted = []string{"max-age=31536000"}
)

// exposed are the headers of answers that a page's scripts read. Browsers keep
// all others from them, but for a few such as Content-Type and Last-Modified.
const exposed = "Allow, Location, Link, Retry-After, RateLimit, RateLimit-Policy, " +
	"ETag, Accept-Ranges, Content-Range, Content-Disposition, " +
	"QL-Job-Id, QL-Status, QL-Error, QL-Response, QL-Response-Omitted"

// HeaderOptions is what the headers of an answer depend on besides its kind.
type HeaderOptions struct {
	HTTPS  bool
	Origin string // of the page that called, where its account lists it, else ""
	// Languages are those that whoever reads the answer prefers, as Accept-Language has them.
	Languages string
	// SameOrigin says that a page of the service's own called.
	SameOrigin bool
}

// set sets what every answer has.
func (s HeaderOptions) set(h Header) {
	h["X-Content-Type-Options"] = nosniff
	h["Referrer-Policy"] = noReferrer
	h["Cache-Control"] = noStore
	if s.HTTPS {
		h["Strict-Transport-Security"] = onlyEncrypted
	}
	if s.Origin == "" {
		h["Cross-Origin-Resource-Policy"] = sameOrigin
		return
	}
	set(h, "Cross-Origin-Resource-Policy", "cross-origin")
	set(h, "Access-Control-Allow-Origin", s.Origin)
	set(h, "Access-Control-Allow-Credentials", "true")
	set(h, "Access-Control-Expose-Headers", exposed)
	set(h, "Vary", "Origin")
}

// setText sets the headers of an answer of the form convention, which browsers
// must never take for a page.
func setText(h Header, s HeaderOptions, binary bool) {
	s.set(h)
	h["Content-Security-Policy"] = sandboxed
	if binary {
		h["Content-Type"] = bytesType
	} else {
		h["Content-Type"] = textType
	}
}

// SetOutput sets the headers of an answer that is the output of a script, which it may make
// its own of but for those that keep browsers from taking it for a page of the service. The
// type is that of a text, or of bytes.
func SetOutput(h Header, s HeaderOptions, binary bool) {
	setText(h, s, binary)
}

// SetJSON sets the headers of a JSON answer that is about no job.
func SetJSON(h Header, s HeaderOptions) {
	s.set(h)
	h["Content-Type"] = jsonType
	h["Content-Security-Policy"] = noContent
}

// SetPreflight sets the headers of the answer to a browser that asks whether a
// page of a listed origin may call.
func SetPreflight(h Header, s HeaderOptions) {
	s.set(h)
	set(h, "Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
	set(h, "Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, Prefer, Last-Event-ID")
	set(h, "Access-Control-Max-Age", "600")
}

// File is what a download's headers say about a file.
type File struct {
	Name      string
	Type      string // its media type
	Size      int64
	SingleUse bool
}

// safeTypes are the media types under which files are handed out: those that no
// browser runs.
var safeTypes = map[string]bool{
	"application/gzip": true, "application/json": true, "application/pdf": true, "application/zip": true,
	"audio/mpeg": true, "audio/ogg": true, "audio/wav": true,
	"image/avif": true, "image/gif": true, "image/jpeg": true, "image/png": true, "image/webp": true,
	"text/csv": true, "text/markdown": true, "text/plain": true,
	"video/mp4": true, "video/webm": true,
}

// SetDownload sets the headers of a file that is handed out to whoever holds its
// link.
func SetDownload(h Header, s HeaderOptions, f File) {
	s.set(h)
	h["Content-Security-Policy"] = sandboxed
	set(h, "X-Robots-Tag", "noindex")
	set(h, "Content-Disposition", disposition(f.Name))
	set(h, "Content-Length", strconv.FormatInt(f.Size, 10))
	if f.SingleUse {
		set(h, "Accept-Ranges", "none")
	}
	base, _, _ := strings.Cut(f.Type, ";")
	base = strings.ToLower(strings.TrimSpace(base))
	switch {
	case !safeTypes[base]:
		base = "application/octet-stream"
	case strings.HasPrefix(base, "text/"):
		base += "; charset=utf-8"
	}
	set(h, "Content-Type", base)
}

// previewTypes are the media types by endings that are previewed besides the safe ones: inside a
// sandbox they do no harm. What people write is shown as the text that it is.
var previewTypes = map[string]string{
	".htm": "text/html; charset=utf-8", ".html": "text/html; charset=utf-8", ".svg": "image/svg+xml",
	".css": "text/plain; charset=utf-8", ".js": "text/plain; charset=utf-8", ".ql": "text/plain; charset=utf-8", ".sql": "text/plain; charset=utf-8",
	".toml": "text/plain; charset=utf-8", ".xml": "text/plain; charset=utf-8", ".yaml": "text/plain; charset=utf-8", ".yml": "text/plain; charset=utf-8",
}

const pdfType = "application/pdf"

// SetPreview sets the headers of a file that a page of an origin shows: it is what it is, and under
// the rules of a sandbox nothing in it runs, and nothing else is loaded. Other pages do not show it.
func SetPreview(h Header, s HeaderOptions, f File, page string) {
	SetDownload(h, s, f)
	if kind, ok := previewTypes[strings.ToLower(path.Ext(f.Name))]; ok {
		set(h, "Content-Type", kind)
	}
	set(h, "Content-Disposition", "inline"+strings.TrimPrefix(disposition(f.Name), "attachment"))
	set(h, "Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors "+page)
	if h["Content-Type"][0] == pdfType {
		// Browsers show PDF by a viewer of their own, which is kept apart from pages, and never in a sandbox.
		set(h, "Content-Security-Policy", "frame-ancestors "+page)
	}
	set(h, "Cross-Origin-Resource-Policy", "cross-origin") // a page shows pictures as such
}

// disposition names a file in ASCII for old clients, and as it is for others
// (RFC 6266, RFC 8187).
func disposition(name string) string {
	ascii, encoded := []byte{}, []byte{}
	exact := name != ""
	for _, r := range name {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\%/`, r) {
			r, exact = '_', false
		}
		ascii = append(ascii, byte(r))
	}
	if exact {
		return `attachment; filename="` + name + `"`
	}
	if len(ascii) == 0 {
		ascii = []byte("file")
	}
	for _, b := range []byte(strings.ToValidUTF8(name, "\ufffd")) {
		switch {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', isDigit(b), strings.IndexByte("!#$&+-.^_`|~", b) >= 0:
			encoded = append(encoded, b)
		default:
			encoded = append(encoded, '%', upperHex[b>>4], upperHex[b&0xf])
		}
	}
	if len(encoded) == 0 {
		return `attachment; filename="file"`
	}
	return `attachment; filename="` + string(ascii) + `"; filename*=UTF-8''` + string(encoded)
}

const upperHex = "0123456789ABCDEF"

// SetOutputPage sets the headers of the document that shows the output of a script to a page of the same origin. A
// nonce lets its own script through, which puts the output in; nothing else runs, nothing is loaded, and it has no origin.
func SetOutputPage(h Header, s HeaderOptions, nonce string) {
	s.set(h)
	set(h, "Content-Type", "text/html; charset=utf-8")
	set(h, "Content-Security-Policy", "sandbox allow-scripts; default-src 'none'; script-src 'nonce-"+nonce+"'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'")
}

// NewNonce returns a text that lets one element of one page through.
func NewNonce() string { return rand.Text() }

// SetPage sets the headers of a page for people. Nonce lets a style
// element of the page through, "" where it has none.
func SetPage(h Header, s HeaderOptions, nonce string) {
	s.setPage(h, nonce, "img-src 'self' data:", "frame-src 'none'", "")
}

// SetDashboard sets the headers of the shell of the dashboard, which shows inside itself what is of the
// origins of frames. Its library makes elements by a policy of its own, and nothing else does by any.
func SetDashboard(h Header, s HeaderOptions, nonce, frames string) {
	s.setPage(h, nonce, "img-src 'self' data: blob:", "frame-src "+frames, "; trusted-types svelte-trusted-html")
}

func (s HeaderOptions) setPage(h Header, nonce, images, frames, more string) {
	s.set(h)
	styles := "'self'"
	if nonce != "" {
		styles += " 'nonce-" + nonce + "'"
	}
	set(h, "Content-Type", "text/html; charset=utf-8")
	set(h, "Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src "+styles+
		"; "+images+"; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'"+
		"; object-src 'none'; "+frames+"; frame-ancestors 'none'; require-trusted-types-for 'script'"+more)
	set(h, "Cross-Origin-Opener-Policy", "same-origin")
	set(h, "Permissions-Policy", "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()")
}

// SetPicture sets the headers of a picture that stands on a page of its account's.
func SetPicture(h Header, s HeaderOptions, mediaType string) {
	s.set(h)
	set(h, "Cache-Control", "private, max-age=600")
	set(h, "Content-Type", mediaType)
	h["Content-Security-Policy"] = sandboxed
}

// SetAsset sets the headers of a part of pages whose address names its content.
func SetAsset(h Header, s HeaderOptions, mediaType string) {
	s.set(h)
	set(h, "Cache-Control", "public, max-age=31536000, immutable")
	set(h, "Vary", "Accept-Encoding")
	set(h, "Content-Type", mediaType)
	h["Content-Security-Policy"] = noContent
}

// The cookies of the service's own.
const (
	SessionName     = "QLSESSID"        // names a session
	HostSessionName = "__Host-QLSESSID" // likewise; browsers take it from its host alone, by https
	DownloadPrefix  = "QLD_"            // begins the name of one by which a download is started again
)

// withoutOwn takes the service's own cookies out of those that a script finds:
// they are its visitors' secrets, and none of its business.
func withoutOwn(cookies []Pair) []Pair {
	return slices.DeleteFunc(cookies, func(c Pair) bool {
		return c.Name == SessionName || c.Name == HostSessionName || c.Name == SignInName || c.Name == PlainSignInName || strings.HasPrefix(c.Name, DownloadPrefix)
	})
}

// SessionCookie returns the Set-Cookie value that hands a session to its caller by a name, for the
// addresses below a path; see cookieTail.
func SessionCookie(name, id, path string, s HeaderOptions, crossSite bool) string {
	return name + "=" + id + cookieTail(path, s, crossSite)
}

// Set returns the Set-Cookie value of a cookie that a script set or removed, for the
// addresses below a path; see cookieTail. Name and value must fit into one.
func (c Cookie) Set(path string, s HeaderOptions, crossSite bool) string {
	if c.Removed {
		return c.Name + "=; Max-Age=0" + cookieTail(path, s, crossSite)
	}
	return c.Name + "=" + c.Value + cookieTail(path, s, crossSite)
}

// cookieTail is what stands behind the value of a cookie: for a caller of the same site, or
// for a listed page of another one, from which browsers send cookies back only in this form.
// The latter needs https.
func cookieTail(path string, s HeaderOptions, crossSite bool) string {
	tail := "; Path=" + path + "; HttpOnly"
	switch {
	case crossSite:
		return tail + "; Secure; SameSite=None; Partitioned"
	case s.HTTPS:
		return tail + "; Secure; SameSite=Lax"
	}
	return tail + "; SameSite=Lax"
}
