package form

import (
	"context"
	"encoding/base64"
	"fmt"
	"mime"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"ql/lang/value"
)

// Upload is a file that came with a reply.
type Upload struct {
	Field   string
	Name    string // a plain file name, without folders
	Type    string // its media type
	Content []byte
}

// Sink stores the files of a reply and returns the path by which the script
// finds each.
type Sink interface {
	Store(ctx context.Context, u Upload) (path string, err error)
}

// FieldError says in plain words what is wrong with the answer to one field.
type FieldError struct {
	Field   string
	Message string
}

// FieldErrors are all that is wrong with a reply, in the form's order.
type FieldErrors []FieldError

// Error lists them in one line.
func (e FieldErrors) Error() string {
	parts := make([]string, len(e))
	for i, f := range e {
		parts[i] = f.Field + " " + f.Message
	}
	return strings.Join(parts, "; ")
}

// Value returns them as a map from field to message.
func (e FieldErrors) Value() value.Value {
	m := value.NewMap(nil, len(e))
	for _, f := range e {
		m.SetText(f.Field, value.Text(f.Message))
	}
	return m.Value()
}

// Validate checks a reply, a map from field to answer, and returns the map of
// all fields in the form's order, each in its own kind: the default or null
// where an optional one was left out. A reply that does not fit gives
// FieldErrors; any other error is the sink's, or that of yield, which is called
// before each answer is looked at. No file is stored before all answers were found good.
func (f *Form) Validate(ctx context.Context, reply value.Value, sink Sink, yield func() error) (value.Value, error) {
	if !reply.IsMap() {
		return value.Null, FieldErrors{{Field: "fields", Message: "must be a map from field to answer, not " + value.Describe(reply)}}
	}
	var wrong FieldErrors
	answers := value.NewMap(nil, len(f.Fields))
	uploads := make(map[string]*Upload)
	spent := 0
	for _, field := range f.Fields {
		if err := yield(); err != nil {
			return value.Null, err
		}
		v, given := reply.Map().Get(field.Name)
		answer, upload, why := field.answer(v, given, &spent)
		if why != "" {
			wrong = append(wrong, FieldError{field.Name, why})
			continue
		}
		if upload != nil {
			uploads[field.Name] = upload
		}
		answers.SetText(field.Name, answer)
	}
	for k := range reply.Map().All {
		if f.Field(k.Str()) == nil {
			wrong = append(wrong, FieldError{strings.Clone(k.Str()), "is no field of this form"})
			if len(wrong) > maxFields {
				break
			}
		}
	}
	if len(wrong) > 0 {
		return value.Null, wrong
	}
	for _, field := range f.Fields {
		u := uploads[field.Name]
		if u == nil {
			continue
		}
		if sink == nil {
			return value.Null, fmt.Errorf("%s: nothing here can store files", field)
		}
		where, err := sink.Store(ctx, *u)
		if err != nil {
			return value.Null, err
		}
		answers.SetText(field.Name, u.value(where))
	}
	return answers.Value(), nil
}

// Check checks the answer to one field alone and stores nothing: what a person
// who is asked field by field must know at once. why is "" for a good answer.
func (f *Field) Check(v value.Value) (why string) {
	spent := 0
	_, _, why = f.answer(v, true, &spent)
	return why
}

// answer takes what a reply says of the field, and adds what its pattern cost to spent.
func (f *Field) answer(v value.Value, given bool, spent *int) (answer value.Value, u *Upload, why string) {
	switch {
	case !given && !f.Default.IsNull():
		return f.Default.Share(), nil, ""
	case !given || f.empty(v):
		if f.Required {
			return value.Null, nil, "must be answered"
		}
		if f.Kind == SomeOf && v.IsList() {
			return value.ListOf(), nil, ""
		}
		return value.Null, nil, ""
	case f.Kind == File:
		u, why = f.upload(v)
		return value.Null, u, why
	}
	answer, why = f.check(v, spent)
	return answer, nil, why
}

// empty reports whether v is how a form says that a field was left blank.
func (f *Field) empty(v value.Value) bool {
	switch v.Kind() {
	case value.KindNull:
		return true
	case value.KindText:
		return strings.TrimSpace(v.Str()) == ""
	case value.KindList:
		return f.Kind == SomeOf && v.List().Len() == 0
	}
	return false
}

// upload takes a file as JSON carries it: {name, type, base64}.
func (f *Field) upload(v value.Value) (*Upload, string) {
	const why = `must be a file: {"name": …, "type": …, "base64": …}`
	if !v.IsMap() {
		return nil, why
	}
	for k := range v.Map().All {
		if k := k.Str(); k != "name" && k != "type" && k != "base64" {
			return nil, why
		}
	}
	name, kind, content := get(v, "name"), get(v, "type"), get(v, "base64")
	if !name.IsText() || !content.IsText() || !kind.IsText() && !kind.IsNull() {
		return nil, why
	}
	most := f.most()
	if base64.StdEncoding.DecodedLen(len(content.Str()))-2 > most {
		return nil, f.fileSize()
	}
	data, err := base64.StdEncoding.Strict().DecodeString(content.Str())
	if err != nil {
		return nil, `must be a file whose "base64" is base64`
	}
	if len(data) > most || len(data) < f.least() {
		return nil, f.fileSize()
	}
	u := &Upload{Field: f.Name, Name: fileName(name.Str()), Type: "application/octet-stream", Content: data}
	if kind.IsText() {
		if t, params, err := mime.ParseMediaType(kind.Str()); err == nil {
			u.Type = mime.FormatMediaType(t, params)
		}
	}
	return u, ""
}

func (f *Field) fileSize() string {
	return "must be a file of " + span(f.least(), f.most(), "byte")
}

// maxFileName is the most bytes of an uploaded file's name: what file systems
// take, and a place for what goes before it.
const maxFileName = 200

// fileName makes a plain file name of what a browser sent: no folders, nothing
// invisible, nothing that a file system or a path gives a meaning.
func fileName(s string) string {
	s = path.Base(strings.ReplaceAll(s, `\`, "/"))
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || strings.ContainsRune(`/:*?"<>|`, r) {
			return '_'
		}
		return r
	}, s)
	for len(s) > maxFileName {
		_, n := utf8.DecodeRuneInString(s)
		s = s[n:] // the end says what kind of file it is
	}
	if s = strings.Trim(s, ". "); s == "" {
		return "file"
	}
	return s
}

// value returns what the script sees of a stored file.
func (u *Upload) value(where string) value.Value {
	m := value.NewMap(nil, 4)
	m.SetText("name", value.Text(u.Name))
	m.SetText("type", value.Text(u.Type))
	m.SetText("size", value.Int(int64(len(u.Content))))
	m.SetText("path", value.Text(where))
	return m.Value()
}
