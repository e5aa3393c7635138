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
	// Received is the content of one that came beside the reply; nil where Content is it.
	Received Received
}

// Received is the content of a file that has come, and that nobody holds in memory.
type Received interface {
	Size() int64
	// Store makes a file of it.
	Store(ctx context.Context, path string) error
}

// Attached is a file that came beside a reply, as a browser sends it.
type Attached struct {
	Name, Type string
	Content    Received
}

// Sink takes the files of a reply.
type Sink interface {
	// Attached returns the file that came beside the reply for a field.
	Attached(field string) (Attached, bool)
	// Store stores a file, and returns the path by which the script finds it.
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

// Value returns them as a map from field to message, which is charged to m.
func (e FieldErrors) Value(m *value.Meter) value.Value {
	t := &tally{Env: Env{Meter: m}}
	all := value.NewMap(m, len(e))
	for _, f := range e {
		all.Set(m, t.text(f.Field), t.text(f.Message))
	}
	return all.Value()
}

// Validate checks a reply, a map from field to answer, and returns the map of
// all fields in the form's order, each in its own kind: the default or null
// where an optional one was left out, or is null, as programs write that. A reply that does not fit gives
// FieldErrors; any other error is the sink's, or that of yield, which is called
// before each answer is looked at. No file is stored before all answers were found good.
func (f *Form) Validate(ctx context.Context, reply value.Value, sink Sink, yield func() error) (value.Value, error) {
	t := &tally{unknown: "is no field of this form", yield: yield}
	if sink != nil {
		t.attached = sink.Attached
	}
	uploads := make(map[string]*Upload)
	answers, wrong, err := f.answers(reply, t, uploads)
	switch {
	case err != nil:
		return value.Null, err
	case len(wrong) > 0:
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

// CheckMap checks a map of a script's own, or one that its caller gives it, as
// Validate checks a reply, and charges env for it. Null is a map without
// entries. No file comes with a map: a FILE is never good.
func (f *Form) CheckMap(v value.Value, env Env) (value.Value, FieldErrors) {
	t := &tally{Env: env, unknown: "is not one of the fields"}
	if v.IsNull() {
		v = value.NewMap(env.Meter, 0).Value()
	}
	answers, wrong, _ := f.answers(v, t, nil)
	if len(wrong) > 0 {
		return value.Null, wrong
	}
	return answers.Value(), nil
}

// answers checks all fields of a reply. Files that came with it are put into
// uploads.
func (f *Form) answers(reply value.Value, t *tally, uploads map[string]*Upload) (answers *value.Map, wrong FieldErrors, err error) {
	if !reply.IsMap() {
		return nil, FieldErrors{{Field: "fields", Message: "must be a map from field to answer, not " + value.Describe(reply)}}, nil
	}
	answers = value.NewMap(t.Meter, len(f.Fields))
	for _, field := range f.Fields {
		if t.yield != nil {
			if err := t.yield(); err != nil {
				return nil, nil, err
			}
		}
		t.work(fieldWork)
		v, given := reply.Map().Get(field.Name)
		answer, upload, why := field.answer(v, given, t)
		if upload != nil && uploads == nil {
			why = "cannot be a file here"
		}
		if why != "" {
			wrong = append(wrong, FieldError{field.Name, why})
			continue
		}
		if upload != nil {
			uploads[field.Name] = upload
		}
		answers.Set(t.Meter, t.text(field.Name), answer)
	}
	for k := range reply.Map().All {
		if f.Field(k.Str()) == nil {
			t.Meter.Alloc(len(k.Str()))
			wrong = append(wrong, FieldError{strings.Clone(k.Str()), t.unknown})
			if len(wrong) > maxFields {
				break
			}
		}
	}
	return answers, wrong, nil
}

// Check checks the answer to one field alone and stores nothing: what a person
// who is asked field by field must know at once. why is "" for a good answer.
func (f *Field) Check(v value.Value) (why string) {
	_, _, why = f.answer(v, true, &tally{})
	return why
}

// answer takes what a reply says of the field.
func (f *Field) answer(v value.Value, given bool, t *tally) (answer value.Value, u *Upload, why string) {
	if v.IsText() {
		t.read(v.Str())
	}
	if f.Kind == File && t.attached != nil {
		if a, ok := t.attached(f.Name); ok {
			u, why = f.received(a)
			return value.Null, u, why
		}
	}
	switch {
	case (!given || v.IsNull()) && !f.Default.IsNull():
		return f.Default.Share(), nil, ""
	case !given || f.empty(v):
		if f.Required {
			return value.Null, nil, "must be answered"
		}
		if f.Kind == SomeOf && v.IsList() {
			return value.NewList(t.Meter, 0).Value(), nil, ""
		}
		return value.Null, nil, ""
	case f.Kind == File:
		u, why = f.upload(v)
		return value.Null, u, why
	}
	answer, why = f.check(v, t)
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
	u := &Upload{Field: f.Name, Name: FileName(name.Str()), Type: anyType, Content: data}
	if kind.IsText() {
		u.Type = MediaType(kind.Str())
	}
	return u, ""
}

// received takes a file that came beside the reply.
func (f *Field) received(a Attached) (*Upload, string) {
	if size := a.Content.Size(); size > int64(f.most()) || size < int64(f.least()) {
		return nil, f.fileSize()
	}
	return &Upload{Field: f.Name, Name: FileName(a.Name), Type: MediaType(a.Type), Received: a.Content}, ""
}

// anyType is the media type of what has none.
const anyType = "application/octet-stream"

// MediaType is a media type as it is written, anyType for what is none.
func MediaType(s string) string {
	t, params, err := mime.ParseMediaType(s)
	if err != nil {
		return anyType
	}
	return mime.FormatMediaType(t, params)
}

func (f *Field) fileSize() string {
	return "must be a file of " + span(f.least(), f.most(), "byte")
}

// maxFileName is the most bytes of an uploaded file's name: what file systems
// take, and a place for what goes before it.
const maxFileName = 200

// FileName makes a plain file name of what a browser sent: no folders, nothing
// invisible, nothing that a file system or a path gives a meaning.
func FileName(s string) string {
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
	size := int64(len(u.Content))
	if u.Received != nil {
		size = u.Received.Size()
	}
	m := value.NewMap(nil, 4)
	m.SetText("name", value.Text(u.Name))
	m.SetText("type", value.Text(u.Type))
	m.SetText("size", value.Int(size))
	m.SetText("path", value.Text(where))
	return m.Value()
}
