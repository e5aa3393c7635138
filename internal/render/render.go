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
//
// Before it runs, html/template escapes it, all at once, and works through a
// definition again for each context it is used in: the number of contexts has
// no bound, nor has the work. So that work is estimated from above, bounded and
// charged before it begins. A definition that uses itself is no part of it: its
// uses become calls of a function that fills it like a page of its own.
package render

import (
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
	// maxText bounds a template's text: parsing it cannot be interrupted.
	maxText = 256 << 10
	// maxVariables bounds the variables of a template: for each use of one, all
	// are searched.
	maxVariables = 200
	// maxDefinitions bounds the definitions of a template.
	maxDefinitions = 1000
	// maxLoops is how deep loops may stand inside each other: html/template
	// looks at each level twice as often as at the one around it.
	maxLoops = 6
	// maxCalls is how deep definitions may use each other.
	maxCalls = 100
	// prepareFuel is what it costs to prepare a template whatever is in it.
	prepareFuel = 2000
)

// HTML fills the template text, called name in errors, with data. Other files that it uses are loaded;
// without load there are none. Errors are those of load, and *value.Error with the code bad_template;
// limits end in the meter's panic.
func HTML(m *value.Meter, name, text string, data value.Value, load Load) (value.Value, error) {
	t, err := prepare(m, name, text, load)
	if err != nil {
		return value.Null, err
	}
	run := &execution{piece: piece{meter: m}, name: name, page: t}
	t.Funcs(run.functions())
	// Escaping happens at the first execution: its errors come from there too.
	if err := t.Execute(run, plain(m, data)); err != nil {
		if limit := limitOf(err); limit != nil {
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
func prepare(m *value.Meter, name, text string, load Load) (*template.Template, error) {
	l := loader{meter: m, load: load, trees: map[string]*parse.Tree{}, uses: map[string][]string{}}
	if err := l.add(name, text); err != nil {
		return nil, err
	}
	if err := l.checkCycles(name); err != nil {
		return nil, err
	}
	trees := l.trees
	w := rewriter{template: name, recursive: recursive(trees, name), calls: map[string][]parse.Node{}}
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
	if err := charge(m, name, trees, w.recursive); err != nil {
		return nil, err
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
	s = strings.ReplaceAll(strings.ReplaceAll(s, " | "+fnShow, ""), fnUse, "template")
	if !strings.HasPrefix(s, name) {
		s = name + ": " + s
	}
	return value.Errorf(BadTemplate, "the template %s", s)
}

// limitOf returns the limit that err stands for, or nil.
func limitOf(err error) *value.LimitError {
	var limit *value.LimitError
	errors.As(err, &limit)
	return limit
}

// execution is one filling of a template. As a piece, it takes the page.
type execution struct {
	piece
	name  string
	page  *template.Template
	depth int
}
