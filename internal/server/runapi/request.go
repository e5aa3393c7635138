package runapi

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"ql/internal/fault"
	"ql/internal/server/exchange"
	"ql/internal/service"
	"ql/internal/wire"
)

// root begins the addresses of all programs.
const root = "/run/"

// address is that of a program, and of something below it.
type address struct {
	username string
	program  string // such as todo, or todo@3
	rest     string // what follows, decoded and without the slash before it
}

// prefix is that of all addresses of the account's programs.
func (a address) prefix() string { return root + a.username + "/" }

// base is the address of the program itself.
func (a address) base() string { return a.prefix() + a.program }

// entries are what !REQUEST holds of the address. The service counts on their number.
func (a address) entries(method string) []wire.Pair {
	return []wire.Pair{{Name: "path", Value: "/" + a.rest}, {Name: "method", Value: method}, {Name: "rest", Value: a.rest}, {Name: "base", Value: a.base()}}
}

// parseAddress reads the path of a request, as it was sent. Where it names no program, the
// error is that of one which there is not.
func parseAddress(path string) (a address, err error) {
	rest := strings.TrimPrefix(path, root)
	username, rest, _ := strings.Cut(rest, "/")
	program, rest, _ := strings.Cut(rest, "/")
	if username == "" || program == "" || strings.Contains(username+program, "%") {
		return a, service.ErrNoProgram()
	}
	if !exchange.IsPlainPath(rest) {
		return a, fault.Invalid("path", "has a part behind the program that is empty, . or .., or that holds a slash, a backslash, a percent sign or a control character: such are read in several ways")
	}
	if rest, err = url.PathUnescape(rest); err != nil || !utf8.ValidString(rest) {
		return a, fault.Invalid("path", "is not UTF-8")
	}
	return address{username, program, rest}, nil
}

// isLoadedAsCode tells whether a browser means to run the answer, or to style or extend a page
// with it: a page of this origin that was brought to load it would do so with all its rights.
func isLoadedAsCode(h http.Header) bool {
	if h.Get("Service-Worker") != "" {
		return true
	}
	switch h.Get("Sec-Fetch-Dest") {
	case "", "empty", "document", "iframe", "frame", "image", "audio", "video":
		return false
	}
	return true
}
