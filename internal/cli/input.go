package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"ql/internal/engine"
	"ql/lang/form"
	"ql/lang/value"
)

// readInput makes the map of --input, in the order of the arguments: what is given later
// replaces what a file says. It is null where nothing is given.
func (c *console) readInput(args []string) (value.Value, error) {
	if len(args) == 0 {
		return value.Null, nil
	}
	m := value.NewMap(nil, len(args))
	lists := map[string]*value.List{} // of the fields that were given as arguments
	for _, arg := range args {
		name, text, isField := strings.Cut(arg, "=")
		if !isField {
			v, err := c.readInputFile(arg)
			if err != nil {
				return value.Null, err
			}
			if !v.IsMap() {
				return value.Null, usage("%s: an input is a JSON map of fields and values", arg)
			}
			for k, v := range v.Map().All {
				m.Set(nil, k, v)
			}
			continue
		}
		switch {
		case name == "" || name[0] == '{': // the latter is JSON itself
			return value.Null, usage("%s, not %q", inputForms, arg)
		case !utf8.ValidString(arg):
			return value.Null, usage("--input: %q is not UTF-8", arg)
		}
		v := value.Text(text)
		if lists[name] == nil {
			lists[name] = value.NewList(nil, 1)
			lists[name].Append(nil, v)
			m.SetText(name, v)
			continue
		}
		lists[name].Append(nil, v)
		m.SetText(name, lists[name].Clone(nil).Value())
	}
	return m.Value(), nil
}

// mostInput bounds what is read of standard input.
const mostInput = 64 << 20

// inputForms says what --input takes.
const inputForms = "--input takes NAME=VALUE, or FILE with a JSON map, - for standard input"

// readInputFile reads the file of an --input, or standard input.
func (c *console) readInputFile(name string) (value.Value, error) {
	if name == stdinName {
		text, err := c.readText(name, "an input", mostInput)
		if err != nil {
			return value.Null, err
		}
		return parseJSON(shownName(name), text)
	}
	if _, err := os.Stat(name); err != nil {
		return value.Null, usage("%s (%s)", plainError(err), inputForms)
	}
	return readJSON(name)
}

// inputRefused shows what is wrong with an input.
func (s *session) inputRefused(err error) error {
	var wrong form.FieldErrors
	if !errors.As(err, &wrong) {
		return err
	}
	if s.json {
		e := &errorJSON{Code: value.InvalidFields, Message: wrong.Error()}
		for _, w := range wrong {
			e.addField(w.Field, w.Message)
		}
		s.print(outcomeJSON{Status: statuses[engine.Failed], JobID: s.job, Trace: []stepJSON{}, Error: e})
		return &failure{code: exitUsage}
	}
	var b strings.Builder
	b.WriteString("the input does not fit the script (--input FILE or --input NAME=VALUE gives it)")
	for _, w := range wrong {
		fmt.Fprintf(&b, "\n  %s %s", printable(w.Field), printable(w.Message))
	}
	return &failure{exitUsage, b.String()}
}
