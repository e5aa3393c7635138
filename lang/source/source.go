// Package source holds what every phase of the language says about a script's
// text: files, positions and the errors found in them. It knows no grammar.
package source

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// Pos is a byte offset into a File's text.
type Pos int32

// NoPos marks a node that stands nowhere in a text.
const NoPos Pos = -1

// File is one script text with its line table. Text is normalised: CR LF and
// CR have become LF, a leading BOM is gone.
type File struct {
	Name  string // "" for the script itself, the absolute path of an INCLUDE otherwise
	Text  string
	lines []Pos // offset of each line's first byte
}

// NewFile makes a File of raw script text, normalising its line ends.
func NewFile(name, text string) *File {
	text = strings.TrimPrefix(text, "\uFEFF")
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(text, "\r\n", "\n")
		text = strings.ReplaceAll(text, "\r", "\n")
	}
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

// Line returns the 1-based line of p.
func (f *File) Line(p Pos) int {
	if p < 0 {
		return 0
	}
	return sort.Search(len(f.lines), func(i int) bool { return f.lines[i] > p })
}

// Position returns the 1-based line and column of p; columns count code points.
func (f *File) Position(p Pos) (line, column int) {
	if p < 0 {
		return 0, 0
	}
	line = f.Line(p)
	start := f.lines[line-1]
	end := min(int(p), len(f.Text))
	return line, 1 + utf8.RuneCountInString(f.Text[start:end])
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
