package databases

import (
	"encoding/binary"
	"strings"

	"ql/internal/sqlite"
	"ql/lang/value"

	lib "modernc.org/sqlite/lib"
)

// jsonGroup collects rows into a JSON list, of one argument, or object, of
// two.
type jsonGroup struct {
	open, close byte
	members     buffer // each after a comma; with capacity for one byte more
}

// skips reports whether a row gives no member: a key is null.
func (g *jsonGroup) skips(c *sqlite.Call) bool { return g.open == '{' && c.Kind(0) == lib.SQLITE_NULL }

func (g *jsonGroup) Step(c *sqlite.Call) {
	if g.skips(c) {
		return
	}
	b := g.members.budget
	member := append(b.member[:0], ',')
	argument := 0
	if g.open == '{' {
		member = append(appendText(member, c.Text(0)), ':')
		argument = 1
	}
	member, ok := appendMember(member, c, argument)
	if cap(member) <= maxReused {
		b.member = member
	}
	if len(g.members.bytes())+len(member) > c.MaxBytes() {
		c.FailTooBig()
		return
	}
	if ok && g.members.reserve(c, len(member)+1) {
		g.members.all = append(g.members.all, member...)
	}
}

// maxReused is how large a member may be whose memory is used again.
const maxReused = 64 << 10

func (g *jsonGroup) Inverse(c *sqlite.Call) {
	if members := g.members.bytes(); !g.skips(c) && len(members) > 0 {
		g.members.drop(1 + memberLength(members[1:]))
	}
}

// memberLength returns how long the first of some members is.
func memberLength(members []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(members); i++ {
		switch c := members[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == ',' && depth == 0:
			return i
		}
	}
	return len(members)
}

func (g *jsonGroup) Value(c *sqlite.Call) {
	if all := g.members.bytes(); len(all) == 0 {
		c.ReturnJSON([]byte{g.open, g.close})
	} else {
		all[0] = g.open
		c.ReturnJSON(append(all, g.close))
		all[0] = ','
	}
	g.members.release()
}

// appendMember appends argument i of c as JSON. Where it reports false, there is
// no such JSON, and the statement has ended.
func appendMember(dst []byte, c *sqlite.Call, i int) ([]byte, bool) {
	switch c.Kind(i) {
	case lib.SQLITE_NULL:
		return append(dst, "null"...), true
	case lib.SQLITE_INTEGER:
		return append(dst, c.Text(i)...), true
	case lib.SQLITE_FLOAT:
		switch s := c.Text(i); string(s) {
		case "Inf": // as SQLite's JSON writes what JSON cannot
			return append(dst, "9.0e+999"...), true
		case "-Inf":
			return append(dst, "-9.0e+999"...), true
		default:
			return append(dst, s...), true
		}
	case lib.SQLITE_TEXT:
		if c.JSON(i) {
			return append(dst, c.Text(i)...), true
		}
		return appendText(dst, c.Text(i)), true
	}
	c.Fail("JSON cannot hold BLOB values")
	return dst, false
}

func appendText(dst, s []byte) []byte {
	return value.AppendQuoted(dst, strings.ToValidUTF8(string(s), "\uFFFD"))
}

// textGroup joins the texts of rows: group_concat and string_agg. Each row brings
// the separator that stands before its text, unless it is the first. It goes by
// lengths as SQLite does, so that it gives the same in a window whose separators
// differ.
type textGroup struct {
	separated bool // the rows have a separator; it is a comma else
	text      buffer
	count     int  // of the rows that are there
	started   bool // the next row is not the first
	// first is the length of all separators, as long as they do not differ.
	first   int
	differ  bool
	lengths buffer // of the separators that are there, where they differ
}

const lengthBytes = 4 // of one length

func (g *textGroup) Step(c *sqlite.Call) {
	if c.Null(0) {
		return
	}
	separator := []byte{','}
	if g.separated {
		separator = c.Text(1)
	}
	if !g.started {
		g.first, separator = len(separator), nil
	} else if !g.note(c, len(separator)) {
		return
	}
	text := c.Text(0)
	if len(g.text.bytes())+len(separator)+len(text) > c.MaxBytes() {
		c.FailTooBig()
		return
	}
	if g.text.reserve(c, len(separator)+len(text)) {
		g.text.all = append(append(g.text.all, separator...), text...)
		g.started = true
		g.count++
	}
}

// note records the length of a separator, from the first on that differs. Where it
// reports false, the statement has ended.
func (g *textGroup) note(c *sqlite.Call, length int) bool {
	missing := 1
	if !g.differ {
		if length == g.first {
			return true
		}
		g.differ, missing = true, g.count
	}
	if !g.lengths.reserve(c, missing*lengthBytes) {
		return false
	}
	for range missing - 1 {
		g.lengths.all = binary.NativeEndian.AppendUint32(g.lengths.all, uint32(g.first))
	}
	g.lengths.all = binary.NativeEndian.AppendUint32(g.lengths.all, uint32(length))
	return true
}

func (g *textGroup) Inverse(c *sqlite.Call) {
	if c.Null(0) {
		return
	}
	g.count--
	gone := len(c.Text(0))
	if !g.differ {
		gone += g.first
	} else if lengths := g.lengths.bytes(); len(lengths) > 0 {
		gone += int(binary.NativeEndian.Uint32(lengths))
		g.lengths.drop(lengthBytes)
	}
	g.text.drop(gone)
	if len(g.text.bytes()) == 0 {
		g.started, g.differ = false, false
		g.lengths.drop(len(g.lengths.bytes()))
	}
}

func (g *textGroup) Value(c *sqlite.Call) {
	if g.count > 0 {
		c.ReturnText(g.text.bytes())
	} else {
		c.ReturnNull()
	}
	g.text.release()
	g.lengths.release()
}
