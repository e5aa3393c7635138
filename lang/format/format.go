// Package format writes scripts in the one written form: one statement a line,
// words in capitals, two spaces a block. It prints the tree that the parser
// made, in step with the source, so that comments and the author's choices
// (quotes, the order of clauses, lists over several lines) stay where they are.
// It changes how a script looks, never what it means; names and kinds are left
// to the compiler.
package format

import (
	"slices"
	"strings"

	"ql/lang/source"
	"ql/lang/syntax"
)

// Options says what the formatter knows beyond the script. The zero value
// knows nothing.
type Options struct {
	// IsBuiltin tells whether a name, given in capitals, is a built-in function;
	// calls of those are written in capitals. Nil leaves names as they are.
	IsBuiltin func(name string) bool
}

// Script gives the written form of a script that parsed without errors. It
// ends with one line end; a script without statements and comments is "".
func Script(s *syntax.Script) string { return Options{}.Script(s) }

// Source parses and formats a script; name stands for it in errors.
func Source(name, text string) (string, source.Errors) { return Options{}.Source(name, text) }

// Script is the function Script with options.
func (o Options) Script(s *syntax.Script) string {
	p := &printer{
		options: o,
		cursor:  cursor{src: s.File.Text, comments: s.Comments},
		defined: map[string]bool{},
	}
	for _, stmt := range s.Statements {
		switch d := stmt.(type) {
		case *syntax.Define:
			p.defined[strings.ToUpper(d.Name)] = true
		case *syntax.Constant:
			p.defined[strings.ToUpper(d.Name)] = true
		}
	}
	p.out.lineStart = true
	p.statements(s.Statements)
	p.out.newline(0)
	return p.out.buf.String()
}

// Source is the function Source with options. A text that would say something
// else after formatting is refused, so that no script is ever damaged.
func (o Options) Source(name, text string) (string, source.Errors) {
	before, errs := syntax.Parse(source.NewFile(name, text))
	if len(errs) > 0 {
		return "", errs
	}
	out := Script(before)
	written := out
	if o.IsBuiltin != nil { // the case of names is the one thing that may change
		written = o.Script(before)
	}
	after, errs := syntax.Parse(source.NewFile(name, out))
	// The printer writes brackets around a DEFAULT in arithmetic, save in insertions that it
	// leaves as they are.
	syntax.Bracket(before)
	syntax.Bracket(after)
	if len(errs) > 0 || !same(before, after) {
		var refused source.Errors
		refused.Add(before.File, 0, source.NoPos,
			"this script cannot be formatted without changing what it says, which is a fault of the formatter")
		return "", refused
	}
	return written, nil
}

// same tells whether two scripts have the same statements and the same
// comments in the same order, however they are laid out.
func same(a, b *syntax.Script) bool {
	return slices.Equal(comments(a), comments(b)) && syntax.Same(a, b)
}

// printer prints one script.
type printer struct {
	cursor
	options Options
	defined map[string]bool // the functions that the script defines, in capitals
	out     renderer
	indent  int // of the block
	printed int // where the last printed statement or comment ends in the source
}

// comments gives the comments of a script without the blanks around their
// lines, which formatting may change.
func comments(s *syntax.Script) []string {
	list := make([]string, len(s.Comments))
	for i, c := range s.Comments {
		l := strings.Split(c.Text, "\n")
		for j := range l {
			l[j] = strings.TrimSpace(l[j])
		}
		list[i] = strings.Join(l, "\n")
	}
	return list
}
