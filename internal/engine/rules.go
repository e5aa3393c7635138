package engine

import (
	"strings"

	"ql/lang/bytecode"
	"ql/lang/value"
	"ql/lang/vm"
)

// What an answer carries is bounded by browsers and proxies, and a value that is set
// many times is in memory once.
const (
	maxCookie  = 4096 // bytes
	maxHeader  = 8192 // bytes
	maxEntries = 100  // headers, and cookies
)

// longestDatabaseName is chosen so that a name with its ending fits any file
// system.
const longestDatabaseName = 63

// Rules returns what every run holds its script to: names of databases, and the
// status, headers and cookies that an answer can carry. Script errors name what
// does not fit.
func Rules() vm.Rules { return rules{} }

type rules struct{}

// Database implements vm.Rules.
func (rules) Database(name string) *value.Error {
	_, err := DatabaseName(name)
	return err
}

// DatabaseName checks the name of a database and folds it to lower case.
func DatabaseName(name string) (string, *value.Error) {
	folded := []byte(name)
	ok := name != "" && len(folded) <= longestDatabaseName
	for i := 0; ok && i < len(folded); i++ {
		c := folded[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
			folded[i] = c
		}
		ok = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || i > 0 && (c == '_' || c == '-')
	}
	if !ok {
		return "", value.Errorf("invalid_database", "%s is no name of a database: it takes letters a-z, digits, _ and -, starts with a letter or digit, and has at most %d characters", value.Quote(name), longestDatabaseName)
	}
	return string(folded), nil
}

// SetEntry implements vm.Rules.
func (rules) SetEntry(m *value.Meter, global int32, set value.Value, name string, v value.Value) (value.Value, *value.Error) {
	if global == bytecode.GlobalResponse {
		if err := checkResponse(name, v); err != nil {
			return v, err
		}
		return v, checkEntries(set, name, "headers")
	}
	text, err := cookieText(m, name, v)
	if err != nil {
		return v, err
	}
	return text, checkEntries(set, name, "cookies")
}

// UnsetEntry implements vm.Rules: the answer tells of a removed cookie too.
func (rules) UnsetEntry(global int32, set value.Value, name string) *value.Error {
	if global == bytecode.GlobalCookie {
		return checkEntries(set, name, "cookies")
	}
	return nil
}

// IgnoresCase implements vm.Rules: names of headers do.
func (rules) IgnoresCase(name string) bool { return isHeader(name) }

const headerPrefix = "header:"

// isHeader tells whether an entry of !REQUEST or !RESPONSE is a header.
func isHeader(name string) bool {
	return len(name) > len(headerPrefix) && strings.EqualFold(name[:len(headerPrefix)], headerPrefix)
}

// checkEntries refuses an entry more than an answer may have.
func checkEntries(set value.Value, name, what string) *value.Error {
	if !set.IsMap() || set.Map().Len() < maxEntries || set.Map().Has(name) {
		return nil
	}
	return value.Errorf(value.BadArgument, "an answer sets at most %d %s", maxEntries, what)
}

func checkResponse(name string, v value.Value) *value.Error {
	if name == "status" {
		if !v.IsInt() || v.Int64() < 100 || v.Int64() > 599 {
			return value.Errorf(value.BadArgument, "the status of an answer is a number from 100 to 599, not %s", value.Describe(v))
		}
		return nil
	}
	if !isHeader(name) || !isToken(name[len(headerPrefix):]) {
		return value.Errorf(value.BadArgument, "!RESPONSE has \"status\" and \"header:<name>\", not %s", value.Quote(name))
	}
	if !v.IsText() || strings.ContainsAny(v.Str(), "\r\n\x00") {
		return value.Errorf(value.BadArgument, "a header is a text on one line, not %s", value.Describe(v))
	}
	if n := len(v.Str()); n > maxHeader {
		return value.Errorf(value.BadArgument, "a header has at most %d bytes, and this has %d", maxHeader, n)
	}
	return nil
}

// cookieText returns what a cookie holds as text.
func cookieText(m *value.Meter, name string, v value.Value) (value.Value, *value.Error) {
	if !isToken(name) {
		return v, value.Errorf(value.BadArgument, "%s is no name for a cookie: letters, digits and -_.! are", value.Quote(name))
	}
	if !v.IsText() && !v.IsNumeric() && !v.IsBool() || v.IsText() && strings.ContainsFunc(v.Str(), endsCookie) {
		return v, value.Errorf(value.BadArgument, "a cookie holds a text without ; and line ends, not %s", value.Describe(v))
	}
	text, err := value.ToText(m, v)
	if err != nil {
		return v, err
	}
	if n := len(text.Str()); n > maxCookie {
		return v, value.Errorf(value.BadArgument, "a cookie holds at most %d bytes, as browsers have it, and this has %d", maxCookie, n)
	}
	return text, nil
}

// endsCookie tells whether a cookie would end at a character.
func endsCookie(r rune) bool { return r < 0x20 || r == 0x7f || r == ';' }

// isToken reports whether s can be the name of a header or cookie.
func isToken(s string) bool {
	if s == "" || len(s) > 256 {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return true
}
