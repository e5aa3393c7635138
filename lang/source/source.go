// Package source holds what every phase of the language says about a script's
// text: files, positions and the errors found in them. It knows no grammar.
package source

import (
	"sort"
	"strings"
	"sync"
	"unicode/utf8"
)

// Pos is a byte offset into a File's text.
type Pos int32

// NoPos marks a node without a position in a text.
const NoPos Pos = -1

// File is one script text with its line table. Text is normalised: CR LF and
// CR have become LF, a leading BOM is gone.
type File struct {
	Name  string // "" for the script itself, the absolute path of an INCLUDE otherwise
	Text  string
	lines []Pos // offset of each line's first byte

	// starts[i] is how many code points start before byte i × stride. It is
	// made for the first place that is far into a line: counting from the
	// line's start each time would make a script of one long line slow.
	once   sync.Once
	starts []int32
}

const stride = 1 << 10

// Normalise returns script text as it is compiled: without a byte order mark,
// and with each line ended by LF.
func Normalise(text string) string {
	text = strings.TrimPrefix(text, "\uFEFF")
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(text, "\r\n", "\n")
		text = strings.ReplaceAll(text, "\r", "\n")
	}
	return text
}

// NewFile makes a File of raw script text, which it normalises.
func NewFile(name, text string) *File {
	text = Normalise(text)
	n := 1 + strings.Count(text, "\n")
	f := &File{Name: name, Text: text, lines: make([]Pos, 1, n)}
	for i := 0; ; {
		k := strings.IndexByte(text[i:], '\n')
		if k < 0 {
			return f
		}
		i += k + 1
		f.lines = append(f.lines, Pos(i))
	}
}

// Before returns the part of the file that stands before p.
func (f *File) Before(p Pos) *File {
	return &File{Name: f.Name, Text: f.Text[:p], lines: f.lines[:f.Line(p)]}
}

// Line returns the 1-based line of p.
func (f *File) Line(p Pos) int {
	if p < 0 {
		return 0
	}
	return sort.Search(len(f.lines), func(i int) bool { return f.lines[i] > p })
}

// Position returns the 1-based line and column of p; columns count code points.
func (f *File) Position(p Pos) (line, column int) { return f.PositionNear(p, 0) }

// PositionNear is Position for a position that is likely to be in that line or
// the one after it.
func (f *File) PositionNear(p Pos, near int) (line, column int) {
	if p < 0 {
		return 0, 0
	}
	switch {
	case f.holds(near, p):
		line = near
	case f.holds(near+1, p):
		line = near + 1
	default:
		line = f.Line(p)
	}
	start := f.lines[line-1]
	end := Pos(min(int(p), len(f.Text)))
	if end-start < 2*stride {
		return line, 1 + utf8.RuneCountInString(f.Text[start:end])
	}
	return line, 1 + f.startsBefore(end) - f.startsBefore(start)
}

// holds reports whether p is in the 1-based line.
func (f *File) holds(line int, p Pos) bool {
	return line >= 1 && line <= len(f.lines) && f.lines[line-1] <= p && (line == len(f.lines) || p < f.lines[line])
}

// startsBefore returns how many code points start before byte p.
func (f *File) startsBefore(p Pos) int {
	f.once.Do(func() {
		n := 0
		for i := 0; i < len(f.Text); i++ {
			if i%stride == 0 {
				f.starts = append(f.starts, int32(n))
			}
			if utf8.RuneStart(f.Text[i]) {
				n++
			}
		}
		f.starts = append(f.starts, int32(n))
	})
	i := int(p) / stride
	n := int(f.starts[i])
	for _, c := range []byte(f.Text[i*stride : p]) {
		if utf8.RuneStart(c) {
			n++
		}
	}
	return n
}

// LineText returns the text of the 1-based line without its line end.
func (f *File) LineText(line int) string {
	if line < 1 || line > len(f.lines) {
		return ""
	}
	s := f.Text[f.lines[line-1]:]
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i]
	}
	return s
}
