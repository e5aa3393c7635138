// Package render fills HTML templates with a script's data. The templates are
// those of html/template, with its contextual escaping: whatever the data
// holds, it cannot break out of the place where it is shown. The package holds
// them to a script's limits, which html/template itself knows nothing of; where
// templates come from and who may use them is its caller's business.
//
// # How a template is held to its limits
//
// Only the functions listed here exist, and the data has no methods, so a
// template can do nothing but choose, repeat and show. What it does is charged
// to the meter by calls that are put into its tree before it runs: at the start
// of every loop body and every definition (for the nodes in it), around every
// use of a definition (for the depth of recursion), and behind every value that
// is shown or looped over (for its size). None of them prints anything.
package render

import (
	"bytes"
	"errors"
	"html/template"
	"regexp"
	"strings"
	"text/template/parse"
	"unicode/utf8"

	"ql/lang/value"
)

// BadTemplate is the code of an error in a template, or of a template and data
// that do not fit each other.
const BadTemplate = "bad_template"

const (
	// maxText bounds a template's text: preparing it cannot be interrupted.
	maxText = 256 << 10
	// maxLoops is how deep loops may stand inside each other: html/template
	// looks at each level twice as often as at the one around it.
	maxLoops = 6
	// maxCalls is how deep definitions may use each other.
	maxCalls = 100
)

// HTML fills the template text, called name in errors, with data. Errors are
// *value.Error with the code bad_template; limits end in the meter's panic.
func HTML(m *value.Meter, name, text string, data value.Value) (value.Value, error) {
	t, err := prepare(m, name, text)
	if err != nil {
		return value.Null, err
	}
	run := &execution{meter: m}
	t.Funcs(run.functions())
	// Escaping happens at the first execution: its errors come from there too.
	if err := t.Execute(run, plain(m, data)); err != nil {
		var limit *value.Limit
		if errors.As(err, &limit) {
			panic(limit)
		}
		return value.Null, failure(name, err)
	}
	if !utf8.Valid(run.out.Bytes()) {
		return value.Null, value.Errorf(BadTemplate, "the template %s is not UTF-8 text", name)
	}
	return value.TextOf(run.out.Bytes()), nil
}

// prepare parses the template and puts the charging calls into it.
func prepare(m *value.Meter, name, text string) (*template.Template, error) {
	if len(text) > maxText {
		return nil, value.Errorf(BadTemplate, "the template %s has more than %d KiB", name, maxText>>10)
	}
	m.Work(len(text))
	m.Alloc(len(text) * 8)
	trees, err := parse.Parse(name, text, "", "", offered)
	if err != nil {
		return nil, failure(name, err)
	}
	w := rewriter{}
	t := template.New(name).Funcs((&execution{}).functions())
	for part, tree := range trees {
		if tree.Root == nil {
			continue
		}
		tree.Root = w.body(tree.Root, 0)
		if w.err != nil {
			return nil, value.Errorf(BadTemplate, "the template %s: %s", name, w.err)
		}
		if _, err := t.AddParseTree(part, tree); err != nil {
			return nil, failure(name, err)
		}
	}
	if t.Lookup(name) == nil || t.Lookup(name).Tree == nil {
		// Nothing but definitions, or nothing at all: there is nothing to show.
		empty, _ := parse.Parse(name, " ", "", "")
		return template.Must(t.AddParseTree(name, empty[name])), nil
	}
	return t.Lookup(name), nil
}

var (
	goPrefix  = regexp.MustCompile(`^(html/)?template: ?`)
	executing = regexp.MustCompile(`executing "[^"]*" `)
	contexts  = regexp.MustCompile(`(branches end in different contexts): \{.*`)
)

// failure makes a script's error of one of the template packages.
func failure(name string, err error) *value.Error {
	var own *value.Error
	if errors.As(err, &own) {
		return own
	}
	s := goPrefix.ReplaceAllString(err.Error(), "")
	s = executing.ReplaceAllString(s, "")
	s = contexts.ReplaceAllString(s, "$1")
	if !strings.HasPrefix(s, name) {
		s = name + ": " + s
	}
	return value.Errorf(BadTemplate, "the template %s", s)
}

// execution is one filling of a template.
type execution struct {
	meter *value.Meter
	out   bytes.Buffer
	depth int
}

// Write takes the output, within the limits of one text.
func (e *execution) Write(p []byte) (int, error) {
	e.meter.Size(e.out.Len() + len(p))
	e.meter.Alloc(2 * len(p)) // the buffer, and the text that is made of it
	e.meter.WorkBytes(2 * len(p))
	return e.out.Write(p)
}
