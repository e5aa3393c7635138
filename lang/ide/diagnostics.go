package ide

import (
	"fmt"
	"slices"

	"ql/lang"
	"ql/lang/format"
	"ql/lang/lib"
	"ql/lang/resolve"
	"ql/lang/source"
	"ql/lang/syntax"
)

// Diagnostics returns what is wrong with a text, in the order of the text. Without an
// account, functions that the text includes are taken to be there.
func Diagnostics(text string, account Account) []Diagnostic {
	d := open(text)
	script, errs := d.parse()
	includes := slices.ContainsFunc(script.Statements, isInclude)
	switch {
	case len(errs) > 0:
		_, more := resolve.Partial(script, nil, includes, source.NewYield(nil))
		errs = d.join(errs, more)
	case includes && account == nil:
		_, errs = resolve.Partial(script, nil, true, source.NewYield(nil))
	default:
		o := lang.Options{}
		if account != nil {
			o.Include = account.Include
		}
		errs = lang.Check(text, o)
	}
	out := make([]Diagnostic, 0, len(errs))
	for _, e := range errs {
		out = append(out, d.diagnostic(script, e))
	}
	if len(errs) == 0 {
		for _, e := range syntax.Warnings(script) {
			warning := d.diagnostic(script, e)
			warning.Severity = Warning
			out = append(out, warning)
		}
	}
	return out
}

func isInclude(s syntax.Stmt) bool {
	_, ok := s.(*syntax.Include)
	return ok
}

// join adds errors in names to those of the parser, but for lines that have one of
// those: what follows on a line is mostly its consequence.
func (d *document) join(errs, more source.Errors) source.Errors {
	broken := map[int]bool{}
	for _, e := range errs {
		broken[e.Line] = true
	}
	for _, e := range more {
		if !broken[e.Line] {
			errs = append(errs, e)
		}
	}
	errs.Sort()
	return errs
}

// diagnostic makes a Diagnostic of an error. One in an included file is told at the
// INCLUDE.
func (d *document) diagnostic(script *syntax.Script, e *source.Error) Diagnostic {
	out := Diagnostic{Code: string(e.Code), Message: e.Message, Severity: Error}
	if e.File != "" {
		out.Code = string(source.BadInclude)
		out.Message = fmt.Sprintf("%s has a mistake on line %d: %s", e.File, e.Line, e.Message)
		for _, s := range script.Statements {
			if i, ok := s.(*syntax.Include); ok {
				out.Start, out.End = d.raws(i.Span)
				if i.Path != nil && i.Path.Plain() == e.File {
					break
				}
			}
		}
		return out
	}
	out.Start, out.End = d.raws(syntax.Span{Start: e.Start, Stop: e.End})
	for _, f := range e.Fixes {
		fix := Fix{Title: f.Title}
		for _, edit := range f.Edits {
			fix.Edits = append(fix.Edits, d.edit(syntax.Span{Start: edit.Start, Stop: edit.End}, edit.Text))
		}
		out.Fixes = append(out.Fixes, fix)
	}
	return out
}

// Actions returns the fixes of the mistakes that touch [start, end].
func Actions(text string, start, end int, account Account) []Action {
	var out []Action
	for _, d := range Diagnostics(text, account) {
		if d.Start > end || d.End < start {
			continue
		}
		for _, f := range d.Fixes {
			out = append(out, Action{Title: f.Title, Edits: f.Edits, Diagnostic: d})
		}
	}
	return out
}

// FormatSize bounds what it takes to format a text: see format.Measure.
func FormatSize(text string) (nodes, bytes int) {
	script, _ := open(text).parse()
	return format.Measure(script)
}

// Format returns the written form of a text, or what is wrong with it.
func Format(text string) (string, []Diagnostic) {
	o := format.Options{IsBuiltin: func(name string) bool {
		_, ok := lib.Lookup(name)
		return ok
	}}
	out, errs := o.Source("", text)
	if len(errs) == 0 {
		return out, nil
	}
	d := open(text)
	var diagnostics []Diagnostic
	for _, e := range errs {
		diagnostics = append(diagnostics, d.diagnostic(&syntax.Script{File: d.file}, e))
	}
	return "", diagnostics
}
