package site

import (
	"slices"
	"strings"
)

// refusedHeaders are those that no site sets: what the connection and its length are told by,
// cookies, which have a way of their own, and what binds a browser beyond this answer. A site has
// an origin of its own, so what else it sets is its own affair.
var refusedHeaders = []string{
	"alt-svc", "connection", "content-encoding", "content-length", "date", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
	"public-key-pins", "server", "set-cookie", "set-cookie2", "strict-transport-security", "te", "trailer", "transfer-encoding", "upgrade",
}

// refusedPrefixes begin the names of headers that servers in front of this one act on, and of the
// service's own.
var refusedPrefixes = []string{"ql-", "x-accel-", "x-lighttpd-", "x-litespeed-", "x-reproxy-", "x-sendfile"}

// MayHeader tells whether a site may set a header of its answers.
func MayHeader(name string) bool {
	name = strings.ToLower(name)
	return !slices.Contains(refusedHeaders, name) && !slices.ContainsFunc(refusedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// isHeaderName tells whether a text is a name of a header.
func isHeaderName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// isText tells whether a value of a header is one that all read alike.
func isText(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
}
