package network

import (
	"net/http"
	"slices"
	"strings"
)

// own are the headers that describe the connection or the message: they are
// the client's to set.
var own = []string{
	"Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", userAgent,
}

// header returns the headers of a call: those asked for, without those that are
// not the caller's business.
func (c *Client) header(asked map[string][]string) (http.Header, error) {
	if len(asked) == 0 {
		return c.plain, nil
	}
	h := make(http.Header, len(asked)+2)
	for name, values := range asked {
		if !isToken(name) {
			return nil, refuse(InvalidRequest, "%s is no name of a header", shown(name))
		}
		name = http.CanonicalHeaderKey(name)
		if slices.Contains(own, name) || strings.HasPrefix(name, "Proxy-") {
			continue
		}
		for _, v := range values {
			if !isHeaderValue(v) {
				return nil, refuse(InvalidRequest, "the header %s has control characters in it", name)
			}
			h.Add(name, v)
		}
	}
	h[userAgent] = c.agent
	return h, nil
}

func isToken(s string) bool {
	const marks = "!#$%&'*+-.^_`|~"
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(marks, c) >= 0) {
			return false
		}
	}
	return s != ""
}

func isHeaderValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
