package ide

import (
	"sort"
	"strings"
	"unicode/utf8"

	"ql/lang/source"
)

const mark = "\uFEFF"

// dropped returns how long the byte order mark in front of a text is, and where its CRs
// stand that the language does not see: those before a LF.
func dropped(text string) (bom int, crs []int) {
	if strings.HasPrefix(text, mark) {
		bom = len(mark)
	}
	for i := bom; ; {
		n := strings.Index(text[i:], "\r\n")
		if n < 0 {
			return bom, crs
		}
		i += n
		crs = append(crs, i)
		i += 2
	}
}

// toRaw returns the offset in the raw text of a place in the file.
func (d *document) toRaw(p source.Pos) int {
	at := int(p) + d.bom
	// The CR number k stands before place crs[k] - bom - k of the file.
	return at + sort.Search(len(d.crs), func(k int) bool { return d.crs[k]-k >= at })
}

// fromRaw returns the place in the file of an offset in the raw text, the nearest one
// where there is none. It never stands inside a character.
func (d *document) fromRaw(offset int) source.Pos {
	offset = max(d.bom, min(offset, len(d.raw)))
	at := offset - d.bom - sort.SearchInts(d.crs, offset)
	text := d.file.Text
	at = max(0, min(at, len(text)))
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return source.Pos(at)
}

// Offsets maps the offsets of a text to lines and columns and back: in code points from
// 1, as messages count, and in UTF-16 from 0, as editors do. Making it is linear in the
// text, and asking it takes no longer on a long line than on a short one.
type Offsets struct {
	text  string
	lines []int // where each line starts
	// points[i] and units[i] are how many code points and UTF-16 units start before
	// byte i × stride.
	points, units []int32
}

const stride = 1 << 9

// NewOffsets makes the map of a text.
func NewOffsets(text string) *Offsets {
	o := &Offsets{text: text, lines: make([]int, 1, 1+strings.Count(text, "\n"))}
	if strings.HasPrefix(text, mark) {
		o.lines[0] = len(mark)
	}
	var points, units int32
	for i := range len(text) {
		if i%stride == 0 {
			o.points, o.units = append(o.points, points), append(o.units, units)
		}
		c := text[i]
		points, units = points+pointsOf(c), units+unitsOf(c)
		if c == '\n' || c == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			o.lines = append(o.lines, i+1)
		}
	}
	o.points, o.units = append(o.points, points), append(o.units, units)
	return o
}

// pointsOf is how many code points start with the byte.
func pointsOf(c byte) int32 {
	if utf8.RuneStart(c) {
		return 1
	}
	return 0
}

// unitsOf is how many UTF-16 units start with the byte.
func unitsOf(c byte) int32 {
	const beyond = 0xF0 // the first byte of a character that takes a pair
	if c >= beyond {
		return 2
	}
	return pointsOf(c)
}

// Lines returns how many lines there are.
func (o *Offsets) Lines() int { return len(o.lines) }

// Position returns the line and column of an offset, both from 1, in code points.
func (o *Offsets) Position(offset int) (line, column int) {
	line, n := o.column(offset, o.points, pointsOf)
	return line + 1, n + 1
}

// UTF16 returns the line and column of an offset, both from 0, in UTF-16 units.
func (o *Offsets) UTF16(offset int) (line, column int) { return o.column(offset, o.units, unitsOf) }

// UTF8 returns the line and column of an offset, both from 0, in bytes.
func (o *Offsets) UTF8(offset int) (line, column int) {
	offset = max(o.lines[0], min(offset, len(o.text)))
	line = sort.SearchInts(o.lines, offset+1) - 1
	return line, offset - o.lines[line]
}

// Offset returns the offset of a line and column, both from 1, in code points. A column
// behind the end of its line is that end.
func (o *Offsets) Offset(line, column int) int { return o.offset(line-1, column-1, o.points, pointsOf) }

// FromUTF16 returns the offset of a line and column, both from 0, in UTF-16 units.
func (o *Offsets) FromUTF16(line, column int) int { return o.offset(line, column, o.units, unitsOf) }

// FromUTF8 returns the offset of a line and column, both from 0, in bytes.
func (o *Offsets) FromUTF8(line, column int) int {
	start, end, ok := o.line(line)
	if !ok {
		return end
	}
	return min(start+max(0, column), end)
}

func (o *Offsets) column(offset int, before []int32, count func(byte) int32) (line, column int) {
	line, _ = o.UTF8(offset)
	offset = max(o.lines[line], min(offset, len(o.text)))
	return line, int(o.count(offset, before, count) - o.count(o.lines[line], before, count))
}

// count returns how many points or units start before the offset.
func (o *Offsets) count(offset int, before []int32, count func(byte) int32) int32 {
	i := offset / stride
	n := before[i]
	for j := i * stride; j < offset; j++ {
		n += count(o.text[j])
	}
	return n
}

// line returns the range of a line from 0 without its end; beyond the last one it is
// the end of the text.
func (o *Offsets) line(line int) (start, end int, ok bool) {
	if line < 0 {
		return o.lines[0], o.lines[0], false
	}
	if line >= len(o.lines) {
		return len(o.text), len(o.text), false
	}
	start, end = o.lines[line], len(o.text)
	if line+1 < len(o.lines) {
		end = o.lines[line+1] - 1
		if end > start && o.text[end] == '\n' && o.text[end-1] == '\r' {
			end--
		}
	}
	return start, end, true
}

func (o *Offsets) offset(line, column int, before []int32, count func(byte) int32) int {
	start, end, ok := o.line(line)
	if !ok || column <= 0 {
		return start
	}
	want := o.count(start, before, count) + int32(min(column, 2*len(o.text))) // a byte starts two units at most
	// The last mark at or before the place, and from there byte by byte.
	i := sort.Search(len(before), func(i int) bool { return before[i] > want }) - 1
	at, n := i*stride, before[i]
	if at < start {
		at, n = start, o.count(start, before, count)
	}
	for at < end && n < want {
		n += count(o.text[at])
		at++
	}
	if n > want { // the place is inside a pair
		at--
	}
	for at < end && !utf8.RuneStart(o.text[at]) {
		at++
	}
	return min(at, end)
}
