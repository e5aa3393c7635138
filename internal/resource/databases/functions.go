package databases

import (
	"bytes"
	"math"
	"unicode/utf8"

	"ql/internal/sqlite"

	lib "modernc.org/sqlite/lib"
)

// functions replace those of SQLite that take time in the square of their
// arguments, or that collect rows in memory which nothing counts: with values of
// a megabyte they run for a minute, or take all memory, and nothing ends them.
// What they collect comes out of the connection's budget.
func functions(b *budget) []sqlite.Function {
	list := func() sqlite.Aggregate { return &jsonGroup{open: '[', close: ']', members: buffer{budget: b}} }
	object := func() sqlite.Aggregate { return &jsonGroup{open: '{', close: '}', members: buffer{budget: b}} }
	text := func() sqlite.Aggregate { return &textGroup{text: buffer{budget: b}, lengths: buffer{budget: b}} }
	separated := func() sqlite.Aggregate {
		return &textGroup{separated: true, text: buffer{budget: b}, lengths: buffer{budget: b}}
	}
	return append(scalars(),
		sqlite.Function{Name: "json_group_array", Args: 1, Aggregate: list},
		sqlite.Function{Name: "json_group_object", Args: 2, Aggregate: object},
		sqlite.Function{Name: "group_concat", Args: 1, Aggregate: text},
		sqlite.Function{Name: "group_concat", Args: 2, Aggregate: separated},
		sqlite.Function{Name: "string_agg", Args: 2, Aggregate: separated},
	)
}

func scalars() []sqlite.Function {
	return []sqlite.Function{
		{Name: "instr", Args: 2, Scalar: instr},
		{Name: "replace", Args: 3, Scalar: replace},
		{Name: "trim", Args: 2, Scalar: func(c *sqlite.Call) { trim(c, true, true) }},
		{Name: "ltrim", Args: 2, Scalar: func(c *sqlite.Call) { trim(c, true, false) }},
		{Name: "rtrim", Args: 2, Scalar: func(c *sqlite.Call) { trim(c, false, true) }},
		{Name: "unhex", Args: 2, Scalar: unhex},
		{Name: "last_insert_rowid", Args: 0, Scalar: lastInsertRowID, Volatile: true},
	}
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
	if at > 0 && isContinuation(part[0]) {
		at = -1 // SQLite looks where a character starts, and at the first byte
	}
	if at < 0 {
		c.ReturnInt(0)
		return
	}
	place := int64(1)
	for i := 1; i <= at; i++ {
		if !isContinuation(whole[i]) {
			place++
		}
	}
	c.ReturnInt(place)
}

// isContinuation reports whether a byte of UTF-8 goes on with a character.
func isContinuation(b byte) bool { return b&0xC0 == 0x80 }

// noRowInserted is the number of the last inserted row before a statement has inserted one.
const noRowInserted = math.MinInt64

// lastInsertRowID gives what SQLite does where the statement under way, or a trigger of it, has
// inserted a row. Before that SQLite would tell of whatever ran last on the connection, which may be
// another script.
func lastInsertRowID(c *sqlite.Call) {
	id := c.LastInsertID()
	if id == noRowInserted {
		c.Fail(noLastRow)
		return
	}
	c.ReturnInt(id)
}

const noLastRow = "last_insert_rowid() has no value here: it tells of a row that the same statement or its triggers inserted before; in a trigger, NEW and OLD have the row itself"

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
	if n := bytes.Count(whole, from); len(whole)+n*(len(to)-len(from)) > c.MaxBytes() {
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
