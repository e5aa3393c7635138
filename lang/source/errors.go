package source

import (
	"fmt"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is one thing wrong with a script, found before it runs.
type Error struct {
	File    string // "" for the script itself
	Line    int
	Column  int
	Width   int // code points that the caret underlines, at least 1
	Message string
	Source  string // the text of the line, for the caret

	// Code is the kind of mistake, the same in every release, and [Start, End) the
	// bytes of the normalised text that it is about.
	Code       Code
	Start, End Pos
	// Fixes are the ways out that can be written down, the likeliest first.
	Fixes []Fix
}

// Code is a kind of mistake, as tools tell them apart.
type Code string

// The codes. What has none of its own is Syntax where the parser found it, and
// Meaning where a later phase did.
const (
	Syntax          Code = "syntax"
	Meaning         Code = "meaning"
	UnknownWord     Code = "unknown_word"
	UnknownVariable Code = "unknown_variable"
	UnknownFunction Code = "unknown_function"
	UnknownGlobal   Code = "unknown_global"
	UnknownName     Code = "unknown_name"
	ForeignWord     Code = "foreign_word"
	WrongArguments  Code = "wrong_arguments"
	DefinedTwice    Code = "defined_twice"
	MissingEnd      Code = "missing_end"
	BadInclude      Code = "bad_include"
	MixedDefault    Code = "mixed_default"
)

// Fix is a change of the text that would mend a mistake.
type Fix struct {
	Title string
	Edits []Edit
}

// Edit puts a text in the place of the bytes [Start, End).
type Edit struct {
	Start, End Pos
	Text       string
}

// Added is an error that was just added to a list, for what is to be told of it beyond
// its message. It is no error itself, and need not be looked at.
type Added struct{ to *Error }

// As gives the error a code.
func (a Added) As(code Code) Added {
	a.to.Code = code
	return a
}

// Offer adds a fix that puts text in the place of [start, end).
func (a Added) Offer(start, end Pos, text string) {
	a.to.Fixes = append(a.to.Fixes, Fix{Title: "Write " + strings.TrimSpace(text), Edits: []Edit{{start, end, text}}})
}

// Error gives "line:column: message", with the file in front for an INCLUDE.
func (e *Error) Error() string {
	if e.File != "" {
		return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
	}
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message)
}

// Caret renders the error with its source line and a caret below it:
//
//	3:6: ?nmae is never set; ?name is
//	    EMIT ?nmae
//	         ^~~~~
//
// name, when not empty, stands for the script itself.
func (e *Error) Caret(name string) string {
	var b strings.Builder
	switch {
	case e.File != "":
		b.WriteString(e.File + ":")
	case name != "":
		b.WriteString(name + ":")
	}
	fmt.Fprintf(&b, "%d:%d: %s\n", e.Line, e.Column, e.Message)
	if e.Source == "" {
		return b.String()
	}
	line, column := excerpt(e.Source, e.Column)
	b.WriteString("    " + printable(string(line)) + "\n    ")
	for _, r := range line[:column-1] {
		if r == '\t' {
			b.WriteByte('\t')
		} else {
			b.WriteByte(' ')
		}
	}
	b.WriteByte('^')
	b.WriteString(strings.Repeat("~", max(0, min(e.Width-1, len(line)-column))))
	b.WriteByte('\n')
	return b.String()
}

// maxLine is how much of a long line is shown.
const maxLine = 120

// excerpt returns what is shown of a line, and where its column stands in
// that: a line too long for a screen is cut on both sides.
func excerpt(text string, column int) ([]rune, int) {
	line := []rune(text)
	column = max(1, min(column, len(line)+1))
	if len(line) <= maxLine {
		return line, column
	}
	from := max(0, column-1-maxLine/2)
	to := min(len(line), from+maxLine)
	cut := append([]rune(nil), line[from:to]...)
	if to < len(line) {
		cut = append(cut, '…')
	}
	if from > 0 {
		cut = append([]rune{'…'}, cut...)
		from--
	}
	return cut, column - from
}

// printable keeps a terminal safe from control characters in a script.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && (unicode.IsControl(r) || r == utf8.RuneError) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// Errors is a list of errors that is itself an error.
type Errors []*Error

// Add appends an error at pos that spans to end (NoPos: one character), and returns
// it, so that its code and fixes can be told.
func (l *Errors) Add(f *File, pos, end Pos, format string, args ...any) Added {
	line, col := f.Position(pos)
	text := f.LineText(line)
	width := 1
	if end > pos && int(end) <= len(f.Text) {
		span := f.Text[pos:end]
		if i := strings.IndexByte(span, '\n'); i >= 0 {
			span = span[:i]
		}
		width = max(1, utf8.RuneCountInString(span))
	}
	size := Pos(len(f.Text))
	start := min(max(pos, 0), size)
	e := &Error{File: f.Name, Line: line, Column: col, Width: width,
		Message: fmt.Sprintf(format, args...), Source: text,
		Code: Meaning, Start: start, End: min(max(start, end), size)}
	*l = append(*l, e)
	return Added{e}
}

// Sort orders the errors by file and position, keeping one error a position.
func (l *Errors) Sort() {
	s := *l
	sort.SliceStable(s, func(i, j int) bool {
		a, b := s[i], s[j]
		if a.File != b.File {
			return a.File < b.File
		}
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Column < b.Column
	})
	out := s[:0]
	for _, e := range s {
		if n := len(out); n > 0 && out[n-1].File == e.File && out[n-1].Line == e.Line && out[n-1].Column == e.Column {
			continue
		}
		out = append(out, e)
	}
	*l = out
}

// Err returns the list as an error, or nil when it is empty.
func (l Errors) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l
}

// Error gives the first error and how many follow.
func (l Errors) Error() string {
	switch len(l) {
	case 0:
		return "no errors"
	case 1:
		return l[0].Error()
	}
	return fmt.Sprintf("%s (and %d more)", l[0].Error(), len(l)-1)
}
