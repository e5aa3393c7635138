package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ql/internal/engine"
	"ql/internal/wire"
	"ql/lang/form"
	"ql/lang/value"
)

// answers gives the replies to a script's questions.
type answers interface {
	// reply answers the question of a run that stands at one.
	reply(ctx context.Context, r *engine.Run, p *engine.Prompt) error
}

// person answers at the terminal. Questions go to standard error, so that the
// script's output stays by itself.
type person struct{ *console }

func (a person) reply(ctx context.Context, r *engine.Run, p *engine.Prompt) error {
	expires := func() {}
	if !p.Expires.IsZero() {
		ctx, expires = context.WithDeadline(ctx, p.Expires)
	}
	defer expires()
	err := a.ask(ctx, r, p)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		fmt.Fprintln(a.err, "\nthe time to answer is over")
		_, err := r.Expire()
		return err
	case errors.Is(err, context.Canceled):
		r.Cancel(err)
		return nil
	case errors.Is(err, io.EOF):
		return &failure{exitFailed, fmt.Sprintf("%s in line %d wants an answer, and there is none on standard input (--answers FILE gives them)", strings.ToUpper(p.Kind), p.Line)}
	}
	return err
}

func (a person) ask(ctx context.Context, r *engine.Run, p *engine.Prompt) error {
	if p.To != "" {
		fmt.Fprintf(a.err, "To %s:\n", printable(p.To))
	}
	if p.Kind == engine.KindConfirm {
		approved, err := a.confirm(ctx, p.Message)
		if err != nil {
			return err
		}
		_, err = r.Approve(approved)
		return err
	}
	if p.Message != "" {
		fmt.Fprintln(a.err, printable(p.Message))
	}
	fields := value.NewMap(nil, len(p.Form.Fields))
	for _, f := range p.Form.Fields {
		v, given, err := a.field(ctx, f)
		if err != nil {
			return err
		}
		if given {
			fields.SetText(f.Name, v)
		}
	}
	_, err := r.Answer(ctx, fields.Value())
	return err
}

func (a person) confirm(ctx context.Context, message string) (bool, error) {
	for {
		fmt.Fprintf(a.err, "%s [y/n] ", printable(message))
		line, err := a.in.line(ctx)
		a.newline()
		if err != nil {
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
		fmt.Fprintln(a.err, "  please answer y or n")
	}
}

// field asks for one field until the answer is good. given is false where the
// person left it out.
func (a person) field(ctx context.Context, f *form.Field) (v value.Value, given bool, err error) {
	if f.Help != "" {
		fmt.Fprintf(a.err, "  %s\n", printable(f.Help))
	}
	for i, c := range f.Choices {
		fmt.Fprintf(a.err, "  %d) %s\n", i+1, printable(c.Caption()))
	}
	for {
		fmt.Fprintf(a.err, "%s%s: ", printable(f.Caption()), hint(f))
		line, err := a.line(ctx, f)
		a.newline()
		if err != nil {
			return value.Null, false, err
		}
		if strings.TrimSpace(line) == "" && (!f.Required || !f.Default.IsNull()) {
			return value.Null, false, nil
		}
		v, why := a.take(f, line)
		if why == "" {
			why = f.Check(v)
		}
		if why == "" {
			return v, true, nil
		}
		fmt.Fprintf(a.err, "  %s\n", printable(why))
	}
}

// newline goes to the next line where nobody has typed one.
func (a person) newline() {
	if !a.in.terminal() {
		fmt.Fprintln(a.err)
	}
}

// hint says in brackets what a field takes.
func hint(f *form.Field) string {
	var parts []string
	switch f.Kind {
	case form.Boolean:
		parts = append(parts, "y/n")
	case form.LongText:
		parts = append(parts, "ends with an empty line")
	case form.File:
		parts = append(parts, "a file here")
	case form.OneOf:
		parts = append(parts, fmt.Sprintf("1-%d", len(f.Choices)))
	case form.SomeOf:
		parts = append(parts, fmt.Sprintf("some of 1-%d, with commas", len(f.Choices)))
	}
	switch {
	case !f.Default.IsNull():
		parts = append(parts, "default "+printable(string(value.AppendText(nil, f.Default))))
	case !f.Required:
		parts = append(parts, "optional")
	}
	if len(parts) == 0 {
		return ""
	}
	return " [" + strings.Join(parts, ", ") + "]"
}

// line reads what is typed for a field.
func (a person) line(ctx context.Context, f *form.Field) (string, error) {
	switch f.Kind {
	case form.Secret:
		return a.in.secret(ctx, a.err, "")
	case form.LongText:
		var lines []string
		for {
			line, err := a.in.line(ctx)
			if errors.Is(err, io.EOF) && len(lines) > 0 {
				err, line = nil, ""
			}
			if err != nil {
				return "", err
			}
			if line == "" {
				return strings.Join(lines, "\n"), nil
			}
			lines = append(lines, line)
		}
	}
	return a.in.line(ctx)
}

// take makes of a line what a reply would hold.
func (a person) take(f *form.Field, line string) (v value.Value, why string) {
	line = strings.ToValidUTF8(line, "\uFFFD")
	switch f.Kind {
	case form.Boolean:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y":
			line = "yes"
		case "n":
			line = "no"
		}
	case form.OneOf:
		return value.Text(choose(f, line)), ""
	case form.SomeOf:
		var chosen []value.Value
		for part := range strings.SplitSeq(line, ",") {
			if strings.TrimSpace(part) != "" {
				chosen = append(chosen, value.Text(choose(f, part)))
			}
		}
		return value.ListOf(chosen...), ""
	case form.File:
		return localFile(strings.TrimSpace(line))
	}
	return value.Text(line), ""
}

// choose returns the choice that a person means by its number, its value or
// its label.
func choose(f *form.Field, line string) string {
	line = strings.TrimSpace(line)
	for _, c := range f.Choices {
		if line == c.Value || line == c.Label {
			return c.Value
		}
	}
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(f.Choices) {
		return f.Choices[n-1].Value
	}
	return line
}

// localFile makes of a file the answer that JSON would carry.
func localFile(name string) (value.Value, string) {
	if name == "" {
		return value.Null, ""
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return value.Null, plainError(err)
	}
	m := value.NewMap(nil, 3)
	m.SetText("name", value.Text(strings.ToValidUTF8(filepath.Base(name), "\uFFFD")))
	if t := mime.TypeByExtension(filepath.Ext(name)); t != "" {
		m.SetText("type", value.Text(t))
	}
	m.SetText("base64", value.Text(base64.StdEncoding.EncodeToString(content)))
	return m.Value(), ""
}

// prepared answers come from a file, in order.
type prepared struct {
	file string
	list []value.Value
	next int
}

// readAnswers reads the file of --answers: a JSON list of {"approved": …} and
// {"fields": {…}}.
func readAnswers(name string) (*prepared, error) {
	v, err := readJSON(name)
	if err != nil {
		return nil, err
	}
	if !v.IsList() {
		return nil, usage(`%s: answers are a JSON list of {"approved": true} and {"fields": {…}}`, name)
	}
	a := &prepared{file: name}
	l := v.List()
	for i := range l.Len() {
		e := l.At(i)
		if !isPrepared(e) {
			return nil, usage(`%s: answer %d must be {"approved": true or false} or {"fields": {…}}, not %.100s`, name, i+1, value.AppendJSON(nil, e))
		}
		a.list = append(a.list, e)
	}
	return a, nil
}

// isPrepared tells whether a value is a decision, with a note or without one, or fields.
func isPrepared(v value.Value) bool {
	if !v.IsMap() {
		return false
	}
	approved, _ := v.Map().Get("approved")
	fields, _ := v.Map().Get("fields")
	note, noted := v.Map().Get("note")
	switch {
	case v.Map().Len() == 1:
		return approved.IsBool() || fields.IsMap()
	case v.Map().Len() == 2:
		return approved.IsBool() && noted && note.IsText() && wire.IsNote(note.Str())
	}
	return false
}

func (a *prepared) reply(ctx context.Context, r *engine.Run, p *engine.Prompt) error {
	verb := strings.ToUpper(p.Kind)
	if a.next == len(a.list) {
		return &failure{exitFailed, fmt.Sprintf("%s in line %d wants an answer, and %s has no more than %d", verb, p.Line, a.file, len(a.list))}
	}
	answer := a.list[a.next].Map()
	a.next++
	var err error
	if fields, ok := answer.Get("fields"); ok {
		_, err = r.Answer(ctx, fields)
	} else {
		approved, _ := answer.Get("approved")
		if note, ok := answer.Get("note"); ok {
			r.SetAnswerer(engine.Answered{Note: note.Str()})
		}
		_, err = r.Approve(approved.IsTrue())
	}
	var wrong form.FieldErrors
	switch {
	case errors.Is(err, engine.ErrWrongReply) && p.Kind == engine.KindGather:
		return &failure{exitFailed, fmt.Sprintf(`%s: answer %d is {"approved": …}, but GATHER in line %d wants {"fields": {…}}`, a.file, a.next, p.Line)}
	case errors.Is(err, engine.ErrWrongReply):
		return &failure{exitFailed, fmt.Sprintf(`%s: answer %d is {"fields": {…}}, but CONFIRM in line %d wants {"approved": true or false}`, a.file, a.next, p.Line)}
	case errors.As(err, &wrong):
		var b strings.Builder
		fmt.Fprintf(&b, "%s: answer %d does not fit GATHER in line %d", a.file, a.next, p.Line)
		for _, w := range wrong {
			fmt.Fprintf(&b, "\n  %s %s", printable(w.Field), printable(w.Message))
		}
		return &failure{exitFailed, b.String()}
	}
	return err
}

// readJSON reads a JSON file.
func readJSON(name string) (value.Value, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return value.Null, usage("%s", plainError(err))
	}
	return parseJSON(name, string(text))
}

// parseJSON reads the JSON of a file, which editors may have begun with a byte order mark.
func parseJSON(name, text string) (value.Value, error) {
	v, bad := value.ParseJSON(nil, strings.TrimPrefix(text, "\ufeff"))
	if bad != nil {
		return value.Null, usage("%s: %s", name, bad)
	}
	return v, nil
}
