package exchange

import (
	"net/url"
	"strings"
)

// OwnLocation returns where a Location leads that is an address of the account's own, below prefix, which ends with a slash; at is the path of the request, as it was sent. What
// it returns is put together anew and begins with the prefix: no browser, proxy or cache can
// read another host or path from it. ok is false for all that leads elsewhere, or that some of
// them might read so.
func OwnLocation(location, at, prefix string) (own string, ok bool) {
	if location == "" || strings.HasPrefix(location, "//") || strings.ContainsFunc(location, isUnsafe) {
		return "", false
	}
	to, err := url.Parse(location)
	if err != nil || to.IsAbs() || to.Host != "" || to.User != nil || to.Opaque != "" {
		return "", false
	}
	from, err := url.Parse(at)
	if err != nil {
		return "", false
	}
	to = from.ResolveReference(to)
	path := to.EscapedPath()
	below, ok := strings.CutPrefix(path, prefix)
	if !ok || to.Host != "" || !IsPlainPath(below) {
		return "", false
	}
	own = path
	if to.RawQuery != "" {
		own += "?" + to.RawQuery
	}
	if to.Fragment != "" {
		own += "#" + to.EscapedFragment()
	}
	return own, true
}

// isUnsafe tells whether a character has no place in an address: some take a backslash for a
// slash, and drop tabs and line ends.
func isUnsafe(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"<>\\^`{|}", r) }

// IsPlainPath tells whether all read a path, as it is sent, alike: no part is empty, "." or
// "..", however it is written, and none hides what parts paths.
func IsPlainPath(path string) bool {
	parts := strings.Split(path, "/")
	for i, escaped := range parts {
		part, err := url.PathUnescape(escaped)
		if err != nil || part == "." || part == ".." || part == "" && i < len(parts)-1 {
			return false
		}
		// A percent sign may be the start of another round of this.
		if strings.ContainsAny(part, "/\\%") || strings.ContainsFunc(part, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return false
		}
	}
	return true
}
