package format

import (
	"strings"
	"unicode/utf8"
)

// A doc describes printed text with its possible line breaks. The renderer
// prints a group on one line where that fits and breaks it otherwise.
type doc any

type (
	// text is printed as it is; it holds no line end.
	text string
	// raw is printed as it is, line ends included and never indented.
	raw string
	// space is one space between two tokens.
	space struct{}
	// tab is as many spaces in a broken group, elsewhere one.
	tab struct{ spaces int }
	// line is a line break in a broken group; elsewhere one space (line{true})
	// or nothing (line{false}).
	line struct{ spaced bool }
	// hard is a line break always.
	hard struct{}
	// concat is its members in turn.
	concat []doc
	// nest indents the lines that begin inside it.
	nest struct {
		by  int
		doc doc
	}
	// group is broken as a whole or not at all.
	group struct {
		doc    doc
		broken bool // it holds something that cannot stand on one line
	}
	// hug is a call whose last argument may break while the rest stays on the
	// first line, as in MAP(?list, ?x -> {…}). Where that does not fit either,
	// it is expanded: one argument a line.
	hug struct {
		before, last, after doc
		expanded            doc
		broken              bool
		lastOnly            bool // nothing but last holds something that must break
	}
	// remark is a comment.
	remark struct {
		text string
		own  bool // it begins a line
		ends bool // the line ends with it: always so for a -- comment
	}
	// lines is a text over several lines. Lines after the first are indented
	// one step deeper than the line that the text begins on.
	lines []textLine
)

// textLine is one line of a text.
type textLine struct {
	text  string
	fixed bool // its indentation is part of the content
}

var (
	lineOrSpace   = line{spaced: true}
	lineOrNothing = line{spaced: false}
)

// indent is the width of one step.
const indent = 2

// indented is d one step deeper.
func indented(d ...doc) doc { return nest{indent, concat(d)} }

// grouped is d as a group.
func grouped(d ...doc) doc { return group{concat(d), mustBreak(concat(d))} }

// mustBreak tells whether d holds something that cannot stand on one line. A
// text over several lines can: its first and last lines go on with the line.
func mustBreak(d doc) bool {
	switch d := d.(type) {
	case hard:
		return true
	case remark:
		return d.own || d.ends || strings.Contains(d.text, "\n")
	case concat:
		for _, part := range d {
			if mustBreak(part) {
				return true
			}
		}
	case nest:
		return mustBreak(d.doc)
	case group:
		return d.broken
	case hug:
		return d.broken
	}
	return false
}

// forced is d with the group that ends it broken.
func forced(d doc) doc {
	switch d := d.(type) {
	case concat:
		out := append(concat(nil), d...)
		for i := len(out) - 1; i >= 0; i-- {
			if out[i] != nil {
				out[i] = forced(out[i])
				break
			}
		}
		return out
	case nest:
		d.doc = forced(d.doc)
		return d
	case group:
		d.broken = true
		return d
	case hug:
		d.broken = true
		return d
	}
	return d
}

// width counts columns: code points.
func width(s string) int { return utf8.RuneCountInString(s) }
