package wire

import (
	"mime"
	"strings"
	"unicode/utf8"
)

// Body is what a script finds as !BODY. The zero Body is none. It is stored with
// jobs.
type Body struct {
	Kind  BodyKind `json:",omitempty"`
	Text  string   `json:",omitempty"` // of a text; the JSON of a value
	Bytes []byte   `json:",omitempty"` // of bytes
}

// BodyKind is how a body is read.
type BodyKind string

// The kinds of bodies.
const (
	NoBody    BodyKind = ""
	JSONBody  BodyKind = "json"
	TextBody  BodyKind = "text"
	BytesBody BodyKind = "bytes"
)

// DecodeBody reads the body of a request by its Content-Type: JSON is the value that
// it says, a form a map of texts, also one in parts where none is a file, text/* and what has
// no type a text where it is UTF-8, and anything else bytes. Nothing is none, whatever its type. A name that a form has
// more than once is a list of its texts. Where the body is bytes, it is kept and not
// copied. The error is a *Refusal; the shape is to be held to the account's limits,
// see Shape.Within.
func DecodeBody(contentType string, body []byte, l Limits) (Body, Shape, error) {
	l = l.withDefaults()
	shape := Shape{Bytes: len(body)}
	if len(body) == 0 {
		return Body{}, shape, nil
	}
	b, shape, r := decodeBody(contentType, body, &l)
	if r != nil {
		return Body{}, shape, r.withoutPlanLimit()
	}
	return b, shape, nil
}

func decodeBody(contentType string, body []byte, l *Limits) (Body, Shape, *Refusal) {
	shape := Shape{Bytes: len(body)}
	if len(body) > l.Body {
		return Body{}, shape, tooLarge(bodyField, "body_bytes", l.Body)
	}
	kind, parameters := "text/plain", map[string]string(nil)
	if contentType != "" {
		var err error
		if kind, parameters, err = mime.ParseMediaType(contentType); err != nil {
			return Body{}, shape, unsupported("Content-Type", "is "+quote(contentType)+": a media type such as "+JSONType+" fits")
		}
	}
	switch {
	case kind == JSONType, strings.HasSuffix(kind, "+json"):
		text := string(body)
		shape, r := check(bodyField, text, l)
		return Body{Kind: JSONBody, Text: text}, shape, r
	case kind == FormType:
		text, shape, r := formObject(string(body), l)
		return Body{Kind: JSONBody, Text: text}, shape, r
	case kind == MultipartType:
		text, shape, ok, r := multipartObject(body, parameters["boundary"], l)
		if r != nil || ok {
			return Body{Kind: JSONBody, Text: text}, shape, r
		}
	case strings.HasPrefix(kind, "text/") && utf8.Valid(body):
		return Body{Kind: TextBody, Text: string(body)}, shape, nil
	}
	return Body{Kind: BytesBody, Bytes: body}, shape, nil
}

// formField is a name of a form, with its texts.
type formField struct {
	name  string
	texts []string
}

// formObject writes a form as a JSON object.
func formObject(body string, l *Limits) (string, Shape, *Refusal) {
	c := newFormCollector(len(body), l)
	fields := form{rest: body, most: l.FieldKeys, limit: "field_keys"}
	for {
		name, text, ok, r := fields.next()
		if r == nil && ok {
			r = c.add(name, text)
		}
		if r != nil {
			return "", c.shape, r
		}
		if !ok {
			return c.object()
		}
	}
}

// formCollector makes a JSON object of the fields of a form.
type formCollector struct {
	l     *Limits
	shape Shape
	list  []formField
	index map[string]int
	count int
	size  int // of the JSON
}

func newFormCollector(bytes int, l *Limits) *formCollector {
	return &formCollector{l: l, shape: Shape{Bytes: bytes, Depth: 1, Nodes: 1}, index: map[string]int{}, size: 2}
}

// add takes a field. A name that comes again has a list.
func (c *formCollector) add(name, text string) *Refusal {
	c.count++
	if c.count&(c.count-1) == 0 && c.count >= manyNames {
		if err := c.l.reserve(pairBytes * int64(c.count)); err != nil {
			return &Refusal{cause: err}
		}
	}
	at, found := c.index[name]
	if !found {
		at = len(c.list)
		c.index[name] = at
		c.list = append(c.list, formField{name: name})
		c.size += textSize(name) + 2
		c.shape.Keys++
	}
	c.list[at].texts = append(c.list[at].texts, text)
	if len(c.list[at].texts) == 2 {
		c.shape.Depth = 2
		c.shape.Nodes++
		c.size += 2
	}
	c.size += textSize(text) + 1
	c.shape.Nodes++
	return nil
}

// object writes the fields that were taken.
func (c *formCollector) object() (string, Shape, *Refusal) {
	if r := c.shape.within(bodyField, c.l); r != nil {
		return "", c.shape, r
	}
	if err := c.l.reserve(2 * int64(c.size)); err != nil {
		return "", c.shape, &Refusal{cause: err}
	}
	text := string(appendForm(make([]byte, 0, c.size), c.list))
	_ = c.l.reserve(-int64(c.size)) // which never fails
	return text, c.shape, nil
}

// textSize is how many bytes a text takes in JSON.
func textSize(s string) int {
	n := len(s) + 2
	for i := range len(s) {
		n += int(extra[s[i]])
	}
	return n
}

func appendForm(dst []byte, list []formField) []byte {
	dst = append(dst, '{')
	for _, f := range list {
		dst = appendComma(dst)
		dst = appendText(dst, f.name)
		dst = append(dst, ':')
		if len(f.texts) == 1 {
			dst = appendText(dst, f.texts[0])
			continue
		}
		dst = append(dst, '[')
		for _, t := range f.texts {
			dst = appendComma(dst)
			dst = appendText(dst, t)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// Fields returns what a body has that is an object, by its names: how the fields of a
// form, or of JSON, become those of !POST. It is nil for any other body.
func (b *Body) Fields() []Field {
	if b.Kind != JSONBody {
		return nil
	}
	top := root(b.Text)
	if top[0] != '{' {
		return nil
	}
	list, _ := fields(bodyField, top, false) // which never fails for an object
	return list
}

// FormBody makes a body of the fields of a form that come one by one, held to the limits of the account
// that they are for.
type FormBody struct {
	limits    Limits
	collector *formCollector
}

// NewFormBody returns the body of a form without fields.
func NewFormBody(l Limits) *FormBody {
	b := &FormBody{limits: l.withDefaults()}
	b.collector = newFormCollector(0, &b.limits)
	return b
}

// Left is how many bytes the fields may still have.
func (b *FormBody) Left() int { return b.limits.Body - b.collector.shape.Bytes }

// Add takes a field. The error is a *Refusal.
func (b *FormBody) Add(name, text string) error {
	c := b.collector
	if c.count == b.limits.FieldKeys {
		return tooMany(bodyField, "fields", "field_keys", b.limits.FieldKeys)
	}
	c.shape.Bytes += len(name) + len(text)
	if r := c.add(name, text); r != nil {
		return r
	}
	return nil
}

// Body returns what a script finds as !BODY. The error is a *Refusal.
func (b *FormBody) Body() (Body, Shape, error) {
	text, shape, r := b.collector.object()
	if r != nil {
		return Body{}, shape, r
	}
	return Body{Kind: JSONBody, Text: text}, shape, nil
}
