package wire

import (
	"strconv"
	"strings"
)

// Header takes the headers of an answer.
type Header interface {
	Set(name, value string)
}

// Setting is what the headers of an answer depend on besides its kind.
type Setting struct {
	HTTPS  bool
	Origin string // of the page that called, where its account lists it, else ""
}

const hsts = "max-age=31536000"

// set sets what every answer has.
func (s Setting) set(h Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	if s.HTTPS {
		h.Set("Strict-Transport-Security", hsts)
	}
	if s.Origin == "" {
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		return
	}
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Access-Control-Allow-Origin", s.Origin)
	h.Set("Access-Control-Allow-Credentials", "true")
	h.Set("Access-Control-Expose-Headers", "Location, Link, Retry-After, QL-Job-Id, QL-Status, QL-Error")
	h.Set("Vary", "Origin")
}

// setText sets the headers of an answer of the form convention, which browsers
// must never take for a page.
func setText(h Header, s Setting, binary bool) {
	s.set(h)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	if binary {
		h.Set("Content-Type", "application/octet-stream")
	} else {
		h.Set("Content-Type", "text/plain; charset=utf-8")
	}
}

// SetJSON sets the headers of a JSON answer that is about no job.
func SetJSON(h Header, s Setting) {
	s.set(h)
	h.Set("Content-Type", "application/json")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
}

// SetPreflight sets the headers of the answer to a browser that asks whether a
// page of a listed origin may call.
func SetPreflight(h Header, s Setting) {
	s.set(h)
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", "Content-Type, Idempotency-Key, Prefer, Last-Event-ID")
	h.Set("Access-Control-Max-Age", "600")
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
func SetDownload(h Header, s Setting, f File) {
	s.set(h)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("X-Robots-Tag", "noindex")
	h.Set("Content-Disposition", disposition(f.Name))
	h.Set("Content-Length", strconv.FormatInt(f.Size, 10))
	if f.SingleUse {
		h.Set("Accept-Ranges", "none")
	}
	base, _, _ := strings.Cut(f.Type, ";")
	base = strings.ToLower(strings.TrimSpace(base))
	switch {
	case !safeTypes[base]:
		base = "application/octet-stream"
	case strings.HasPrefix(base, "text/"):
		base += "; charset=utf-8"
	}
	h.Set("Content-Type", base)
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

// SetPage sets the headers of a page of the dashboard. Nonce lets a style
// element of the page through, "" where it has none.
func SetPage(h Header, s Setting, nonce string) {
	s.set(h)
	styles := "'self'"
	if nonce != "" {
		styles += " 'nonce-" + nonce + "'"
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src "+styles+
		"; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'"+
		"; object-src 'none'; frame-src 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()")
}

// SessionName is the cookie that names a session.
const SessionName = "QLSESSID"

// SessionCookie returns the Set-Cookie value that hands a session to its caller:
// one of the same site, or a listed page of another one, from which browsers
// send cookies back only in this form. The latter needs https.
func SessionCookie(id string, s Setting, crossSite bool) string {
	cookie := SessionName + "=" + id + "; Path=/; HttpOnly"
	switch {
	case crossSite:
		return cookie + "; Secure; SameSite=None; Partitioned"
	case s.HTTPS:
		return cookie + "; Secure; SameSite=Lax"
	}
	return cookie + "; SameSite=Lax"
}
