package runapi

import (
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"ql/internal/server/exchange"
	"ql/internal/wire"
)

// What a script may set on its answer is a list: a browser gives new powers over an origin to
// new headers every year, and this origin is the dashboard's too.
var allowedHeaders = map[string]bool{
	"accept-patch": true, "accept-post": true, "allow": true, "cache-control": true, "content-digest": true, "content-disposition": true,
	"content-language": true, "content-type": true, "deprecation": true, "etag": true, "expires": true, "last-modified": true,
	"link": true, "location": true, "preference-applied": true, "repr-digest": true, "retry-after": true, "server-timing": true,
	"sunset": true, "vary": true,
}

// refusedExtensions begin the names of headers that begin with x- and that browsers, or the
// servers in front of this one, act on.
var refusedExtensions = []string{
	"x-accel-", "x-content-security-policy", "x-content-type-options", "x-dns-prefetch-control", "x-forwarded-", "x-frame-options",
	"x-lighttpd-", "x-litespeed-", "x-original-", "x-permitted-cross-domain-policies", "x-real-ip", "x-reproxy-", "x-rewrite-",
	"x-sendfile", "x-sourcemap", "x-ua-compatible", "x-webkit-csp", "x-xss-protection",
}

// mayHeader tells whether a script may set a header, by its name in lower case.
func mayHeader(name string) bool {
	if strings.HasPrefix(name, "x-") {
		return !slices.ContainsFunc(refusedExtensions, func(p string) bool { return strings.HasPrefix(name, p) })
	}
	return allowedHeaders[name]
}

// refusedTypes are the media types whose content brings headers, or an origin, of its own.
var refusedTypes = []string{
	"multipart/", "message/", "application/http", "application/signed-exchange", "application/webbundle", "text/cache-manifest",
}

func mayType(value string) bool {
	base, _, err := mime.ParseMediaType(value)
	return err == nil && !slices.ContainsFunc(refusedTypes, func(p string) bool { return strings.HasPrefix(base, p) })
}

// plainLink is a Link of relations that people follow; browsers load others by themselves.
var plainLink = func() *regexp.Regexp {
	const one = `<[!#-;=?-~]*> *; *rel="?(?i:alternate|author|canonical|collection|current|describedby|edit|first|help|index|item|last|latest-version|license|next|next-archive|prev|previous|prev-archive|related|search|self|service-desc|service-doc|status|terms-of-service|up)"?`
	return regexp.MustCompile(`^` + one + `( *, *` + one + `)*$`)
}()

// isOwnCookie tells whether a cookie is of a name that belongs to the service, or whose prefix
// means something to browsers: programs neither find nor set it. Browsers compare prefixes in
// any case.
func isOwnCookie(name string) bool {
	lower := strings.ToLower(name)
	return strings.HasPrefix(lower, "ql") || strings.HasPrefix(lower, "__")
}

// What an answer sets is bounded, and so is what a browser keeps for one account: it keeps few
// cookies for a host and drops others for more, such as that of the dashboard.
const (
	mostBytes   = 8 << 10
	mostCookies = 20
)

// setting is what the headers of an answer depend on besides the script.
type setting struct {
	wire.HeaderOptions
	prefix    string      // of all addresses of the account's programs: /run/ada/
	at        string      // the path of the request, as it was sent
	sent      []wire.Pair // the cookies that came with the request
	crossSite bool        // cookies are for a page of another site
	cacheable bool        // anybody may have the answer
}

// apply sets the status, headers and cookies of a script's answer. The others are set already.
// It returns the status; what does not fit is left out, and named in QL-Response-Omitted.
func apply(h http.Header, r wire.Response, s setting) (status int) {
	var omitted []string
	room := exchange.Budget(mostBytes)
	status = r.Status
	if status < 200 { // those below are no answers, and end none
		if status = http.StatusOK; r.Status != 0 {
			omitted = append(omitted, "status")
		}
	}
	for _, header := range r.Headers {
		name := strings.ToLower(header.Name)
		if !mayHeader(name) || !exchange.IsText(header.Value) || !room.Fits(name, header.Value) || !setHeader(h, name, header.Value, s) {
			omitted = append(omitted, name)
			continue
		}
		wire.Expose(h, name)
	}
	if r.Cookies != nil {
		cookies := exchange.Cookies{Set: r.Cookies, Sent: s.sent, Own: isOwnCookie, Most: mostCookies, Path: s.prefix, CrossSite: s.crossSite}
		omitted = append(omitted, cookies.Apply(h, s.HeaderOptions, &room)...)
	}
	if h["Set-Cookie"] != nil {
		h.Set("Cache-Control", "no-store") // a cache would hand it to others
		h.Del("Expires")
	}
	exchange.SetOmitted(h, omitted)
	return status
}

// setHeader sets a header that the script may set; false where its value does not fit.
func setHeader(h http.Header, name, value string, s setting) bool {
	switch name {
	case "location":
		own, ok := exchange.OwnLocation(value, s.at, s.prefix)
		if !ok {
			return false
		}
		value = own
	case "content-type":
		if !mayType(value) {
			return false
		}
	case "link":
		if !plainLink.MatchString(value) {
			return false
		}
	case "cache-control", "expires":
		if !s.cacheable {
			return false
		}
		// Which page may read the answer depends on the page, and what it has on who calls.
		for _, on := range []string{"Origin", "Authorization"} {
			if !slices.Contains(h["Vary"], on) {
				h.Add("Vary", on)
			}
		}
	case "vary":
		h.Add("Vary", value)
		return true
	}
	h.Set(name, value)
	return true
}
