package site

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"ql/internal/hostname"
	"ql/internal/server/exchange"
	"ql/internal/site"
	"ql/internal/wire"
)

// isPlainPart tells whether all read a part of a path alike, decoded once.
func isPlainPart(part string) bool {
	return part != "." && part != ".." && utf8.ValidString(part) && !strings.ContainsAny(part, "/\\") &&
		!strings.ContainsFunc(part, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// isOwnCookie tells whether a cookie is the service's: pages neither find nor set it.
func isOwnCookie(name string) bool {
	lower := strings.ToLower(name)
	for _, prefix := range []string{"__host-", "__secure-"} {
		lower = strings.TrimPrefix(lower, prefix)
	}
	return strings.HasPrefix(lower, "ql")
}

// What an answer sets is bounded, and so is what a browser keeps for it.
const (
	mostBytes   = 16 << 10
	mostCookies = 50
)

// setting is what the headers of a page depend on besides its script.
type setting struct {
	wire.HeaderOptions
	called string // the host of the request, as it was sent
	at     string // its path, as it was sent
	place
	sent  []wire.Pair              // the cookies that came with it
	isOwn func(hostname.Host) bool // whether a host is one of the site's
}

// apply sets the status, headers and cookies of a page, over those that are set already. It returns
// the status; what does not fit is left out, and named in QL-Response-Omitted.
func apply(h http.Header, r wire.Response, s setting) (status int) {
	var omitted []string
	room := exchange.Budget(mostBytes)
	if status = r.Status; status < http.StatusOK { // those below are no answers, and end none
		if status = http.StatusOK; r.Status != 0 {
			omitted = append(omitted, "status")
		}
	}
	for _, header := range r.Headers {
		name, value := strings.ToLower(header.Name), header.Value
		ok := site.MayHeader(name) && exchange.IsText(value) && room.Fits(name, value)
		if ok && name == "location" {
			value, ok = s.ownLocation(value)
		}
		if !ok {
			omitted = append(omitted, name)
			continue
		}
		h.Set(name, value)
	}
	if r.Cookies != nil {
		cookies := exchange.Cookies{Set: r.Cookies, Sent: s.sent, Own: isOwnCookie, Most: mostCookies, Path: s.prefix}
		omitted = append(omitted, cookies.Apply(h, s.HeaderOptions, &room)...)
	}
	exchange.SetOmitted(h, omitted)
	return status
}

// ownLocation returns where a Location leads that is an address of this site: a path, or one with
// the host that was called, or with another that the site has for itself.
func (s *setting) ownLocation(location string) (string, bool) {
	to, err := url.Parse(location)
	if err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" {
		return exchange.OwnLocation(location, s.at, s.prefix)
	}
	host, port, err := hostname.ParseHostPort(to.Host)
	own, ownPort, ownErr := hostname.ParseHostPort(s.called)
	_, rest, found := strings.Cut(location, "//"+to.Host)
	if err != nil || ownErr != nil || port != ownPort || to.User != nil || !found {
		return "", false
	}
	if !strings.HasPrefix(rest, "/") {
		rest = "/" + rest
	}
	if host == own {
		return exchange.OwnLocation(rest, s.at, s.prefix)
	}
	path, ok := exchange.OwnLocation(rest, "/", "/")
	if !ok || !s.isOwn(host) {
		return "", false
	}
	authority := host.String()
	if port != 0 {
		authority += ":" + strconv.Itoa(int(port))
	}
	return to.Scheme + "://" + authority + path, true
}
