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
// it says, a form a map of texts, text/* and what has no type a text where it is UTF-8,
// and anything else bytes. Nothing is none, whatever its type. A name that a form has
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
	kind := "text/plain"
	if contentType != "" {
		var err error
		if kind, _, err = mime.ParseMediaType(contentType); err != nil {
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
	shape := Shape{Bytes: len(body), Depth: 1, Nodes: 1}
	var list []formField
	index := map[string]int{}
	fields := form{rest: body, most: l.FieldKeys, limit: "field_keys"}
	size := 2
	for {
		name, text, ok, r := fields.next()
		if r != nil {
			return "", shape, r
		}
		if !ok {
			break
		}
		if fields.count&(fields.count-1) == 0 && fields.count >= manyNames {
			if err := l.reserve(pairBytes * int64(fields.count)); err != nil {
				return "", shape, &Refusal{cause: err}
			}
		}
		at, found := index[name]
		if !found {
			at = len(list)
			index[name] = at
			list = append(list, formField{name: name})
			size += textSize(name) + 2
			shape.Keys++
		}
		list[at].texts = append(list[at].texts, text)
		if len(list[at].texts) == 2 {
			shape.Depth = 2
			shape.Nodes++
			size += 2
		}
		size += textSize(text) + 1
		shape.Nodes++
	}
	if r := shape.within(bodyField, l); r != nil {
		return "", shape, r
	}
	if err := l.reserve(2 * int64(size)); err != nil {
		return "", shape, &Refusal{cause: err}
	}
	text := string(appendForm(make([]byte, 0, size), list))
	_ = l.reserve(-int64(size)) // which never fails
	return text, shape, nil
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
