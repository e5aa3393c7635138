// Package ide answers what editors ask about a script while it is written: mistakes and
// their fixes, completion, hover, signatures, names and where they stand, the outline,
// colours, the written form, and what the script can do. All are functions of the text
// and of what an Account knows; nothing runs, and nothing is kept between calls. Speaking
// to editors is left to others.
//
// Places are offsets in bytes into the text as it was given; Offsets makes lines and
// columns of them.
package ide

import (
	"slices"
	"strings"

	"ql/lang/source"
	"ql/lang/syntax"
)

// Account is what an editor knows of the account that a script is for. A nil Account
// knows nothing.
type Account interface {
	// Databases lists the names of the databases, as USE DATABASE takes them.
	Databases() []string
	// Tables lists the tables and views of a database.
	Tables(database string) []Table
	// Files lists at most so many paths of files that start with the prefix.
	Files(prefix string, most int) []string
	// Programs lists the published programs.
	Programs() []Program
	// Include returns the text of a file for INCLUDE.
	Include(path string) (string, error)
}

// Table is a table or view.
type Table struct {
	Name    string
	Columns []Column
}

// Column is a column of a table, with its type as it was declared.
type Column struct {
	Name string
	Type string
}

// Program is a published program with the fields of its INPUT.
type Program struct {
	Name   string
	Inputs []Input
}

// Input is a field of a program's INPUT.
type Input struct {
	Name     string
	Kind     string
	Required bool
}

// Severity is how bad a Diagnostic is.
type Severity string

// The severities: a script with an Error does not run.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Diagnostic is one thing wrong with a text.
type Diagnostic struct {
	Start, End int
	Code       string
	Message    string
	Severity   Severity
	Fixes      []Fix
}

// Fix is a change that would mend a Diagnostic.
type Fix struct {
	Title string
	Edits []Edit
}

// Edit puts Text in the place of the bytes [Start, End).
type Edit struct {
	Start, End int
	Text       string
}

// Kind is what a Completion, a Symbol or a Token is.
type Kind string

// The kinds.
const (
	Keyword  Kind = "keyword"
	Function Kind = "function"
	Constant Kind = "constant"
	Variable Kind = "variable"
	Global   Kind = "global"
	Field    Kind = "field"
	TableOf  Kind = "table"
	ColumnOf Kind = "column"
	Database Kind = "database"
	File     Kind = "file"
	Script   Kind = "program"
	Number   Kind = "number"
	Text     Kind = "text"
	Comment  Kind = "comment"
	Operator Kind = "operator"
)

// Completion is one thing that fits at a place: Insert goes in the place of [Start, End).
type Completion struct {
	Label      string
	Kind       Kind
	Detail     string
	Doc        string
	Insert     string
	Start, End int
}

// HoverText is what is said about the bytes [Start, End), in Markdown.
type HoverText struct {
	Start, End int
	Markdown   string
}

// SignatureHelp is the call that a place stands in. Active is the parameter there, from 0.
type SignatureHelp struct {
	Label      string
	Doc        string
	Parameters []string
	Active     int
}

// Location is a range of a text: of the script where File is "", or else of an
// included file, whose offsets are in the text that Include returned.
type Location struct {
	File       string
	Start, End int
}

// Fold is a range of whole lines that an editor may hide.
type Fold struct {
	Start, End int
	Kind       Kind // Keyword, Comment or Text
}

// Symbol is something that a script defines.
type Symbol struct {
	Name               string
	Detail             string
	Kind               Kind // Function, Constant, Variable or Field
	Start, End         int
	NameStart, NameEnd int
}

// Token is a piece of the text and how it is to be coloured.
type Token struct {
	Start, End int
	Kind       Kind
}

// Action is a change that an editor offers at a place, and the mistake that it mends.
type Action struct {
	Title      string
	Edits      []Edit
	Diagnostic Diagnostic
}

// document is a text with its parts as the language sees them.
type document struct {
	raw  string
	file *source.File
	bom  int   // bytes of a byte order mark in front
	crs  []int // where raw has a CR that the file has not, in order
}

func open(text string) *document {
	d := &document{raw: text, file: source.NewFile("", text)}
	d.bom, d.crs = dropped(text)
	return d
}

func (d *document) parse() (*syntax.Script, source.Errors) { return syntax.Parse(d.file) }

// raws returns the range of a span in the raw text.
func (d *document) raws(s syntax.Span) (start, end int) { return d.toRaw(s.Start), d.toRaw(s.Stop) }

func (d *document) edit(s syntax.Span, text string) Edit {
	start, end := d.raws(s)
	return Edit{start, end, text}
}

// Apply makes the changes of a text. The edits do not overlap.
func Apply(text string, edits []Edit) string {
	sorted := slices.Clone(edits)
	slices.SortStableFunc(sorted, func(a, b Edit) int { return a.Start - b.Start })
	var b strings.Builder
	at := 0
	for _, e := range sorted {
		if e.Start < at || e.End < e.Start || e.End > len(text) {
			continue
		}
		b.WriteString(text[at:e.Start])
		b.WriteString(e.Text)
		at = e.End
	}
	b.WriteString(text[at:])
	return b.String()
}
