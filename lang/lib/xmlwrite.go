package lib

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"ql/lang/value"
)

// What would be read as something else, or as white space of another kind.
var (
	xmlTextEscapes      = escapesOf(map[byte]string{'&': "&amp;", '<': "&lt;", '>': "&gt;", '\r': "&#13;"})
	xmlAttributeEscapes = escapesOf(map[byte]string{'&': "&amp;", '<': "&lt;", '"': "&quot;", '\r': "&#13;", '\n': "&#10;", '\t': "&#9;"})
)

func toXML(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "TO_XML", args)
	t, indent := in.table(0, "the map"), in.indent(1)
	if in.err != nil {
		return value.Null, in.err
	}
	w := xmlWriter{buffer: buffer{c: c}, names: xmlNames{c: c}, step: int(indent)}
	w.document(t)
	if w.err != nil {
		return value.Null, w.err
	}
	return w.buffer.value(), nil
}

// xmlWriter writes a document. After an error its methods do nothing.
type xmlWriter struct {
	buffer
	names xmlNames
	step  int // spaces for each level, 0 for one line
	err   *value.Error
}

func (w *xmlWriter) fail(code, format string, args ...any) {
	if w.err == nil {
		w.err = value.Errorf(code, "TO_XML %s", fmt.Sprintf(format, args...))
	}
}

func (w *xmlWriter) document(t *value.Map) {
	if t.Len() != 1 {
		w.fail(value.BadArgument, "takes a map with one key, the name of the root element, not with %d", t.Len())
		return
	}
	for name, v := range t.All {
		if v.IsList() {
			if v.List().Len() != 1 {
				w.fail(value.BadArgument, "writes one root element, %s, not %d of them", value.Quote(name.Str()), v.List().Len())
				return
			}
			v = v.List().At(0)
		}
		w.element(name.Str(), v, 0)
	}
}

// element writes an element. Its depth is that of the value, which is limited.
func (w *xmlWriter) element(name string, v value.Value, depth int) {
	if w.err != nil {
		return
	}
	w.c.Meter.Work(8 + len(name)/4)
	if xmlNameLength(name) != len(name) || name == "" {
		w.fail(value.BadArgument, "cannot write %s as the name of an element: names are letters, digits and _ - . with a letter first", value.Quote(name))
		return
	}
	w.addByte('<')
	w.add(name)
	if !v.IsMap() {
		w.checkPrefix(name)
		w.leaf(name, v)
		return
	}
	prefixes := w.attributes(v.Map())
	w.checkPrefix(name)
	for k, a := range v.Map().All {
		if attribute, ok := strings.CutPrefix(k.Str(), "@"); ok && !a.IsNull() && !strings.HasPrefix(attribute, "xmlns:") {
			w.checkPrefix(attribute)
		}
	}
	w.inside(name, v.Map(), depth)
	for _, p := range prefixes {
		w.names.release(p)
	}
}

// leaf writes the rest of an element that has nothing but text.
func (w *xmlWriter) leaf(name string, v value.Value) {
	before := len(w.b)
	w.addByte('>')
	w.text(v, xmlTextEscapes, name)
	if len(w.b) == before+1 {
		w.b = w.b[:before]
		w.add("/>")
		return
	}
	w.close(name)
}

func (w *xmlWriter) close(name string) {
	w.add("</")
	w.add(name)
	w.addByte('>')
}

// checkPrefix refuses a name with a prefix that is not declared.
func (w *xmlWriter) checkPrefix(name string) {
	w.c.Meter.Work(2)
	if _, unbound := w.names.namespace(name); unbound != "" {
		w.fail(value.BadArgument, `cannot write %s: its prefix is not declared; "@xmlns:%s" does that`, value.Quote(name), unbound)
	}
}

// attributes writes the attributes of an element and returns the prefixes that they
// declare. One that is null is left out.
func (w *xmlWriter) attributes(t *value.Map) (prefixes []string) {
	for k, v := range t.All {
		name, is := strings.CutPrefix(k.Str(), "@")
		if !is || v.IsNull() || w.err != nil {
			continue
		}
		w.c.Meter.Work(8 + len(name)/4)
		if xmlNameLength(name) != len(name) || name == "" {
			w.fail(value.BadArgument, "cannot write %s as the name of an attribute: names are letters, digits and _ - . with a letter first", value.Quote(name))
			return prefixes
		}
		w.addByte(' ')
		w.add(name)
		w.add(`="`)
		before := len(w.b)
		w.text(v, xmlAttributeEscapes, k.Str())
		prefix, declares, wrong := w.names.bind(name, string(w.b[before:]))
		if wrong != "" {
			w.fail(value.BadArgument, "cannot write the attribute %s: %s", value.Quote(name), wrong)
		}
		if declares {
			prefixes = append(prefixes, prefix)
		}
		w.addByte('"')
	}
	return prefixes
}

// inside writes what an element has beside its attributes.
func (w *xmlWriter) inside(name string, t *value.Map, depth int) {
	text, hasText := t.Lookup(w.c.Meter, xmlTextKey)
	content, hasContent := t.Lookup(w.c.Meter, xmlContentKey)
	others := 0
	for k := range t.All {
		w.c.Meter.Work(2)
		switch s := k.Str(); {
		case strings.HasPrefix(s, "@"):
		case s == xmlTextKey, s == xmlContentKey:
		default:
			others++
		}
	}
	switch {
	case hasText && (hasContent || others > 0), hasContent && others > 0:
		w.fail(value.BadArgument, `cannot write %s: beside "#text" and "#content" an element has attributes alone; texts and elements in turn are the list "#content"`, value.Quote(name))
	case hasText:
		w.leaf(name, text)
	case hasContent:
		w.mixed(name, content, depth)
	default:
		w.elements(name, t, depth)
	}
}

// mixed writes texts and elements in turn, with no space that is not theirs.
func (w *xmlWriter) mixed(name string, v value.Value, depth int) {
	if !v.IsList() {
		w.fail(value.WrongKind, `takes a list under "#content", not %s`, value.Describe(v))
		return
	}
	w.addByte('>')
	step := w.step
	w.step = 0
	for i := range v.List().Len() {
		part := v.List().At(i)
		if !part.IsMap() {
			w.text(part, xmlTextEscapes, xmlContentKey)
			continue
		}
		if part.Map().Len() != 1 {
			w.fail(value.BadArgument, `takes maps with one key, the name of an element, in "#content", not with %d`, part.Map().Len())
		}
		for k, e := range part.Map().All {
			w.element(k.Str(), e, depth+1)
		}
	}
	w.step = step
	w.close(name)
}

// elements writes the elements in an element, and its end.
func (w *xmlWriter) elements(name string, t *value.Map, depth int) {
	before := len(w.b)
	w.addByte('>')
	for k, v := range t.All {
		switch {
		case strings.HasPrefix(k.Str(), "@"):
		case !v.IsList():
			w.line(depth + 1)
			w.element(k.Str(), v, depth+1)
		default:
			for i := range v.List().Len() {
				w.line(depth + 1)
				w.element(k.Str(), v.List().At(i), depth+1)
			}
		}
	}
	if len(w.b) == before+1 {
		w.b = w.b[:before]
		w.add("/>")
		return
	}
	w.line(depth)
	w.close(name)
}

// line starts a line, where there are any.
func (w *xmlWriter) line(depth int) {
	if w.step == 0 {
		return
	}
	n := depth * w.step
	w.room(n + 1)
	w.c.Meter.WorkBytes(n)
	w.b = append(w.b, '\n')
	for range n {
		w.b = append(w.b, ' ')
	}
}

// text writes a text, a number or a boolean; null is nothing.
func (w *xmlWriter) text(v value.Value, escapes *Escapes, where string) {
	if w.err != nil {
		return
	}
	var s string
	switch v.Kind() {
	case value.KindNull:
		return
	case value.KindText:
		s = v.Str()
	case value.KindList, value.KindMap, value.KindBytes:
		hint := ""
		if v.Kind() == value.KindBytes {
			hint = "; BASE64(…) makes a text of bytes"
		}
		w.fail(value.WrongKind, "takes texts, numbers and booleans; under %s is %s%s", value.Quote(where), value.Describe(v), hint)
		return
	default:
		shown, _ := value.ToText(w.c.Meter, v)
		s = shown.Str()
	}
	if bad := w.c.illegalXML(s); bad >= 0 {
		r, _ := utf8.DecodeRuneInString(s[bad:])
		w.fail(value.BadArgument, "cannot write the character U+%04X under %s: XML does not allow it", r, value.Quote(where))
		return
	}
	size := 0
	w.c.chunks(len(s), part, 16, func(from, to int) { size += escapes.Size(s[from:to]) })
	w.room(size)
	w.c.chunks(len(s), part, 32, func(from, to int) { w.b = escapes.Append(w.b, s[from:to]) })
}
