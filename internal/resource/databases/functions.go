package databases

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"ql/internal/sqlite"
	"ql/lang/value"

	lib "modernc.org/sqlite/lib"
)

// functions replace those of SQLite that take time in the square of their
// arguments, or that collect more than a value may hold: with values of a
// megabyte they run for a minute, or take all memory, and nothing ends them.
var functions = []sqlite.Function{
	{Name: "instr", Args: 2, Scalar: instr},
	{Name: "replace", Args: 3, Scalar: replace},
	{Name: "trim", Args: 2, Scalar: func(c *sqlite.Call) { trim(c, true, true) }},
	{Name: "ltrim", Args: 2, Scalar: func(c *sqlite.Call) { trim(c, true, false) }},
	{Name: "rtrim", Args: 2, Scalar: func(c *sqlite.Call) { trim(c, false, true) }},
	{Name: "unhex", Args: 2, Scalar: unhex},
	{Name: "json_group_array", Args: 1, Aggregate: func() sqlite.Aggregate { return &jsonGroup{open: '[', close: ']'} }},
	{Name: "json_group_object", Args: 2, Aggregate: func() sqlite.Aggregate { return &jsonGroup{open: '{', close: '}'} }},
}

// instr gives the place of a part, from 1, in characters or, of two blobs, in
// bytes; 0 where it is missing.
func instr(c *sqlite.Call) {
	if c.Null(0, 1) {
		c.ReturnNull()
		return
	}
	if c.Kind(0) == lib.SQLITE_BLOB && c.Kind(1) == lib.SQLITE_BLOB {
		c.ReturnInt(int64(bytes.Index(c.Blob(0), c.Blob(1)) + 1))
		return
	}
	whole, part := c.Text(0), c.Text(1)
	at := bytes.Index(whole, part)
	if at < 0 {
		c.ReturnInt(0)
		return
	}
	c.ReturnInt(int64(utf8.RuneCount(whole[:at]) + 1))
}

func replace(c *sqlite.Call) {
	if c.Null(0, 1) {
		c.ReturnNull()
		return
	}
	whole, from := c.Text(0), c.Text(1)
	if len(from) == 0 {
		c.ReturnText(whole)
		return
	}
	if c.Null(2) {
		c.ReturnNull()
		return
	}
	to := c.Text(2)
	if n := bytes.Count(whole, from); len(whole)+n*(len(to)-len(from)) > c.Most() {
		c.FailTooBig()
		return
	}
	c.ReturnText(bytes.ReplaceAll(whole, from, to))
}

func trim(c *sqlite.Call, left, right bool) {
	if c.Null(0, 1) {
		c.ReturnNull()
		return
	}
	s := c.Text(0)
	unwanted := map[rune]bool{}
	for _, r := range string(c.Text(1)) {
		unwanted[r] = true
	}
	is := func(r rune) bool { return unwanted[r] }
	if left {
		s = bytes.TrimLeftFunc(s, is)
	}
	if right {
		s = bytes.TrimRightFunc(s, is)
	}
	c.ReturnText(s)
}

// unhex reads hexadecimal digits, passing over the characters of the second
// argument between bytes; null where anything else is found.
func unhex(c *sqlite.Call) {
	if c.Null(0, 1) {
		c.ReturnNull()
		return
	}
	s := c.Text(0)
	passed := map[rune]bool{}
	for _, r := range string(c.Text(1)) {
		passed[r] = true
	}
	out := make([]byte, 0, len(s)/2)
	for len(s) > 0 {
		high, ok := digit(s[0])
		if !ok {
			r, n := utf8.DecodeRune(s)
			if !passed[r] {
				c.ReturnNull()
				return
			}
			s = s[n:]
			continue
		}
		if len(s) < 2 {
			c.ReturnNull()
			return
		}
		low, ok := digit(s[1])
		if !ok {
			c.ReturnNull()
			return
		}
		out = append(out, high<<4|low)
		s = s[2:]
	}
	c.ReturnBlob(out)
}

func digit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// jsonGroup collects rows into a JSON list, of one argument, or object, of
// two.
type jsonGroup struct {
	open, close byte
	members     [][]byte
	size        int // of all members with a comma each
}

// skips reports whether a row gives no member: a key is null.
func (g *jsonGroup) skips(c *sqlite.Call) bool { return g.open == '{' && c.Kind(0) == lib.SQLITE_NULL }

func (g *jsonGroup) Step(c *sqlite.Call) {
	if g.skips(c) {
		return
	}
	var member []byte
	if g.open == '{' {
		member = append(appendText(nil, c.Text(0)), ':')
		member = appendMember(member, c, 1)
	} else {
		member = appendMember(nil, c, 0)
	}
	if g.size += len(member) + 1; g.size > c.Most() {
		c.FailTooBig()
		return
	}
	g.members = append(g.members, member)
}

func (g *jsonGroup) Inverse(c *sqlite.Call) {
	if g.skips(c) || len(g.members) == 0 {
		return
	}
	g.size -= len(g.members[0]) + 1
	g.members[0] = nil
	g.members = g.members[1:]
}

func (g *jsonGroup) Value(c *sqlite.Call) {
	out := make([]byte, 0, g.size+2)
	out = append(out, g.open)
	for i, member := range g.members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, member...)
	}
	c.ReturnJSON(append(out, g.close))
}

// appendMember appends argument i of c as JSON.
func appendMember(dst []byte, c *sqlite.Call, i int) []byte {
	switch c.Kind(i) {
	case lib.SQLITE_NULL:
		return append(dst, "null"...)
	case lib.SQLITE_INTEGER:
		return append(dst, c.Text(i)...)
	case lib.SQLITE_FLOAT:
		switch s := c.Text(i); string(s) {
		case "Inf": // as SQLite's JSON writes what JSON cannot
			return append(dst, "9.0e+999"...)
		case "-Inf":
			return append(dst, "-9.0e+999"...)
		default:
			return append(dst, s...)
		}
	case lib.SQLITE_TEXT:
		if c.JSON(i) {
			return append(dst, c.Text(i)...)
		}
		return appendText(dst, c.Text(i))
	}
	c.Fail("JSON cannot hold BLOB values")
	return dst
}

func appendText(dst, s []byte) []byte {
	return value.AppendQuoted(dst, strings.ToValidUTF8(string(s), "\uFFFD"))
}
