package lib

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ql/lang/value"
)

var xmlFunctions = []Builtin{
	{Name: "TO_XML", Min: 1, Max: 2, Fn: needs(1, toXML),
		Signature: "TO_XML(map[, indent])", Summary: "The map as XML text: its one key names the root. In an element, \"@name\" is an attribute, \"#text\" its text, any other key the elements of that name, one for each member of a list. On one line, or each level indented by so many spaces.",
		Example: `TO_XML({order: {"@id": 7, item: ["pen", "ink"]}})`, Result: `<order id="7"><item>pen</item><item>ink</item></order>`},
	{Name: "FROM_XML", Min: 1, Max: 1, Fn: needs(1, fromXML),
		Signature: "FROM_XML(text)", Summary: "The map that an XML text writes: the root by its name. An element with text alone is that text; any other is a map as TO_XML takes it, with a list for each name of elements in it, also of one. Error bad_xml where it is no XML; document types are refused.",
		Example: `FROM_XML('<order id="7"><item>pen</item></order>')`, Result: `{"order":{"@id":"7","item":["pen"]}}`},
}

// Keys of an element's map beside the names of attributes and elements.
const (
	xmlTextKey    = "#text"
	xmlContentKey = "#content"
)

var (
	keyXMLText    = value.Text(xmlTextKey).Freeze()
	keyXMLContent = value.Text(xmlContentKey).Freeze()
)

// deepestXML is how deep elements may be without a meter.
const deepestXML = 500

// xmlLevels is how many levels of containers an element is: a map, and the list of
// those of its name.
const xmlLevels = 2

func (c *Call) checkXMLDepth(depth int) {
	most := deepestXML * xmlLevels
	if c.Meter != nil {
		most = c.Meter.Nesting
	}
	// The innermost may be a text.
	if (depth-1)*xmlLevels > most {
		panic(&value.LimitError{Name: "nesting", Max: int64(most)})
	}
}

// xmlNames knows which prefixes are bound to which names of namespaces.
type xmlNames struct {
	c     *Call
	bound map[string][]string
}

// The namespaces that need no declaration.
const (
	xmlNamespace   = "http://www.w3.org/XML/1998/namespace"
	xmlnsNamespace = "http://www.w3.org/2000/xmlns/"
)

// bind binds the prefix that an attribute declares, if it does; it returns what is
// wrong with it.
func (n *xmlNames) bind(attribute, uri string) (prefix string, declares bool, wrong string) {
	if attribute != "xmlns" {
		if prefix, declares = strings.CutPrefix(attribute, "xmlns:"); !declares {
			return "", false, ""
		}
		switch {
		case prefix == "xmlns" || uri == xmlnsNamespace:
			return "", false, "the prefix xmlns is declared"
		case (prefix == "xml") != (uri == xmlNamespace):
			return "", false, "the prefix xml is declared as another one, or another one as it"
		case uri == "":
			return "", false, "the prefix " + prefix + " is declared as no namespace"
		}
	} else if uri == xmlNamespace || uri == xmlnsNamespace {
		return "", false, "the default namespace is one of XML's own"
	}
	const entry = 96 // in the map, with its list
	n.c.Meter.Alloc(entry + len(uri))
	n.c.Meter.Work(20)
	if n.bound == nil {
		n.bound = map[string][]string{}
	}
	n.bound[prefix] = append(n.bound[prefix], strings.Clone(uri))
	return prefix, true, ""
}

// release undoes a binding.
func (n *xmlNames) release(prefix string) {
	uris := n.bound[prefix]
	n.bound[prefix] = uris[:len(uris)-1]
}

// namespace returns what the prefix of a name is bound to; one that is not bound is
// returned as unbound.
func (n *xmlNames) namespace(name string) (uri, unbound string) {
	prefix, _, has := strings.Cut(name, ":")
	if !has {
		return "", ""
	}
	if prefix == "xml" {
		return xmlNamespace, ""
	}
	uris := n.bound[prefix]
	if len(uris) == 0 {
		return "", prefix
	}
	return uris[len(uris)-1], ""
}

func isXMLNameStart(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '_':
		return true
	case r < 0xC0:
		return false
	}
	return r != 0xD7 && r != 0xF7 && r <= 0x2FF || r >= 0x370 && r <= 0x1FFF && r != 0x37E || r == 0x200C || r == 0x200D ||
		r >= 0x2070 && r <= 0x218F || r >= 0x2C00 && r <= 0x2FEF || r >= 0x3001 && r <= 0xD7FF || r >= 0xF900 && r <= 0xFDCF ||
		r >= 0xFDF0 && r <= 0xFFFD || r >= 0x10000 && r <= 0xEFFFF
}

func isXMLNamePart(r rune) bool {
	return isXMLNameStart(r) || r >= '0' && r <= '9' || r == '-' || r == '.' || r == 0xB7 || r >= 0x300 && r <= 0x36F || r == 0x203F || r == 0x2040
}

// xmlNameLength returns how long the name at the start of s is: with one colon at
// most, between two names. It is 0 where there is none.
func xmlNameLength(s string) int {
	start, colon := 0, false
	for i, r := range s {
		switch {
		case r == ':' && i > start && !colon:
			start, colon = i+1, true
		case i == start && isXMLNameStart(r), i > start && isXMLNamePart(r):
		case i == start:
			return 0
		default:
			return i
		}
	}
	if start == len(s) {
		return 0
	}
	return len(s)
}

func isXMLChar(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r <= 0xD7FF || r >= 0xE000 && r <= 0xFFFD || r >= 0x10000 && r <= unicode.MaxRune
}

// illegalXML returns where the first character stands that XML cannot hold, or -1.
func (c *Call) illegalXML(s string) int {
	at := 0
	for p := range c.pieces(s) {
		for i, r := range p {
			if !isXMLChar(r) {
				return at + i
			}
		}
		at += len(p)
	}
	return -1
}

func isXMLSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

func fromXML(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "FROM_XML", args)
	s := in.text(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	v, err := XMLDecode(c.Meter, s)
	if err != nil {
		return value.Null, err
	}
	return v, nil
}

// XMLDecode reads XML 1.0 with namespaces, without a document type: so there are no
// entities but the five that XML knows by itself, and nothing is looked up anywhere.
func XMLDecode(m *value.Meter, text string) (value.Value, *value.Error) {
	c := &Call{Meter: m}
	r := xmlReader{c: c, s: text, names: xmlNames{c: c}}
	v := r.document()
	if r.err != nil {
		return value.Null, r.err
	}
	return v, nil
}

// xmlReader reads a document. After an error its methods do nothing.
type xmlReader struct {
	c     *Call
	s     string
	i     int
	names xmlNames
	err   *value.Error
}

func (r *xmlReader) fail(at int, format string, args ...any) {
	if r.err != nil {
		return
	}
	at = min(at, len(r.s))
	r.c.scanned(at)
	line := strings.Count(r.s[:at], "\n") + 1
	column := utf8.RuneCountInString(r.s[strings.LastIndexByte(r.s[:at], '\n')+1:at]) + 1
	r.err = value.Errorf(value.BadXML, "this is not XML: %s at line %d, column %d", fmt.Sprintf(format, args...), line, column)
}

// found names what stands at the current place.
func (r *xmlReader) found() string {
	if r.i >= len(r.s) {
		return "the end of the text"
	}
	c, _ := utf8.DecodeRuneInString(r.s[r.i:])
	return strconv.QuoteRune(c)
}

func (r *xmlReader) at(prefix string) bool { return strings.HasPrefix(r.s[r.i:], prefix) }

// space passes white space and reports whether there was any.
func (r *xmlReader) space() bool {
	start := r.i
	for r.i < len(r.s) && isXMLSpace(r.s[r.i]) {
		r.i++
	}
	r.c.Meter.WorkBytes(4 * (r.i - start))
	return r.i > start
}

func (r *xmlReader) document() value.Value {
	if bad := r.c.illegalXML(r.s); bad >= 0 {
		c, _ := utf8.DecodeRuneInString(r.s[bad:])
		r.fail(bad, "the character U+%04X, which XML does not allow,", c)
		return value.Null
	}
	r.s = strings.TrimPrefix(r.s, "\ufeff")
	r.declaration()
	r.around()
	if r.err == nil && !r.at("<") {
		r.fail(r.i, "an element is missing, found %s", r.found())
	}
	var name, v value.Value
	if r.err == nil {
		name, v = r.element(1)
	}
	r.around()
	if r.err == nil && r.i < len(r.s) {
		what := "text after the end of the root element"
		if r.at("<") {
			what = "a second root element"
		}
		r.fail(r.i, "%s", what)
	}
	if r.err != nil {
		return value.Null
	}
	t := value.NewMap(r.c.Meter, 1)
	t.Set(r.c.Meter, name, v)
	return t.Value()
}

// declaration passes <?xml … ?>. The text is decoded already, whatever encoding it
// names.
func (r *xmlReader) declaration() {
	if !r.at("<?xml") || len(r.s) > r.i+5 && !isXMLSpace(r.s[r.i+5]) {
		return
	}
	r.i += len("<?xml")
	known := []string{"version", "encoding", "standalone"}
	for n := 0; r.err == nil; n++ {
		spaced := r.space()
		if r.at("?>") {
			if n == 0 {
				r.fail(r.i, "the declaration has no version")
			}
			r.i += 2
			return
		}
		start := r.i
		name := r.name("the declaration's version")
		for len(known) > 0 && known[0] != name && n > 0 {
			known = known[1:]
		}
		if r.err == nil && (!spaced || len(known) == 0 || known[0] != name) {
			r.fail(start, "the declaration is to be <?xml version=\"1.0\" encoding=\"UTF-8\"?>, found %s", value.Quote(name))
			return
		}
		at := r.i
		v := r.quoted()
		known = known[min(1, len(known)):]
		if r.err == nil && !plainDeclaration(name, v.Str()) {
			r.fail(at, "the declaration has %s %s", name, value.Quote(v.Str()))
		}
	}
}

// plainDeclaration reports whether a part of the declaration has a value it may have.
func plainDeclaration(name, v string) bool {
	switch name {
	case "version":
		return len(v) > 2 && strings.HasPrefix(v, "1.") && digits(v[2:]) == len(v)-2
	case "standalone":
		return v == "yes" || v == "no"
	}
	for i := range len(v) {
		letter := v[i]|0x20 >= 'a' && v[i]|0x20 <= 'z'
		if !letter && (i == 0 || !(v[i] >= '0' && v[i] <= '9' || v[i] == '.' || v[i] == '_' || v[i] == '-')) {
			return false
		}
	}
	return v != ""
}

// around passes what may stand before and after the root: white space, comments and
// instructions.
func (r *xmlReader) around() {
	for r.err == nil {
		r.space()
		switch {
		case r.at("<!--"):
			r.comment()
		case r.at("<?"):
			r.instruction()
		case r.at("<!"):
			r.markup()
		default:
			return
		}
	}
}

// markup refuses what starts with <! and is neither a comment nor CDATA.
func (r *xmlReader) markup() {
	if r.at("<!DOCTYPE") {
		r.fail(r.i, "a document type (<!DOCTYPE …>), which is not read: leave it out,")
		return
	}
	r.fail(r.i, "a < that starts nothing: a plain < is written &lt;,")
}

func (r *xmlReader) comment() {
	start := r.i
	end := r.c.index(r.s[r.i+4:], "--")
	if end < 0 {
		r.fail(start, "a comment that never ends")
		return
	}
	if r.i += 4 + end; !r.at("-->") {
		r.fail(r.i, "-- inside a comment")
	}
	r.i += 3
	r.c.Meter.Work(8)
}

// instruction passes a processing instruction.
func (r *xmlReader) instruction() {
	start := r.i
	r.i += 2
	name := r.name("the name of an instruction")
	if r.err == nil && strings.EqualFold(name, "xml") {
		r.fail(start, "the declaration <?xml …?>, which stands at the very start of a text or nowhere,")
	}
	if r.err == nil && strings.Contains(name, ":") {
		r.fail(start, "an instruction whose name has a colon")
	}
	if r.err != nil {
		return
	}
	if spaced := r.space(); !spaced && !r.at("?>") {
		r.fail(r.i, "a space or ?> is missing, found %s", r.found())
		return
	}
	end := r.c.index(r.s[r.i:], "?>")
	if end < 0 {
		r.fail(start, "an instruction that never ends")
		return
	}
	r.i += end + 2
}

// name takes a name.
func (r *xmlReader) name(what string) string {
	if r.err != nil {
		return ""
	}
	n := xmlNameLength(r.s[r.i:])
	r.c.Meter.Work(4 + n/4)
	if n == 0 {
		r.fail(r.i, "%s is missing, found %s", what, r.found())
		return ""
	}
	name := r.s[r.i : r.i+n]
	r.i += n
	return name
}

// quoted takes = and a value in quotes.
func (r *xmlReader) quoted() value.Value {
	r.space()
	if r.err == nil && !r.at("=") {
		r.fail(r.i, "= after the name of an attribute is missing, found %s", r.found())
	}
	if r.err != nil {
		return value.Null
	}
	r.i++
	r.space()
	if !r.at(`"`) && !r.at("'") {
		r.fail(r.i, "a value in quotes is missing, found %s", r.found())
		return value.Null
	}
	start, quote := r.i, r.s[r.i:r.i+1]
	r.i++
	n := r.c.index(r.s[r.i:], quote)
	if n < 0 {
		r.fail(start, "a quote that is never closed")
		return value.Null
	}
	out := buffer{c: r.c}
	r.text(&out, r.i+n, true)
	r.i++
	return out.value()
}

// text adds the characters up to end, with references replaced and line ends as
// XML has them. In a value of an attribute all white space becomes a space.
func (r *xmlReader) text(out *buffer, end int, attribute bool) {
	n := end - r.i
	out.room(n) // a reference is longer than what it stands for
	for paid := r.i; r.i < end && r.err == nil; {
		if r.i >= paid {
			k := min(part, end-paid)
			r.c.Meter.Work(k/2 + 4)
			paid += k
		}
		switch b := r.s[r.i]; {
		case b == '&':
			r.reference(out, end)
			continue
		case b == '<':
			r.fail(r.i, "a < inside quotes: it is written &lt;,")
		case b == ']' && !attribute && r.at("]]>"):
			r.fail(r.i, "]]> in a text: it is written ]]&gt;,")
		case b == '\r':
			if r.i+1 < end && r.s[r.i+1] == '\n' {
				r.i++
			}
			out.b = append(out.b, newline(attribute))
		case attribute && isXMLSpace(b):
			out.b = append(out.b, ' ')
		default:
			out.b = append(out.b, b)
		}
		r.i++
	}
}

func newline(attribute bool) byte {
	if attribute {
		return ' '
	}
	return '\n'
}

var xmlEntities = map[string]byte{"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\''}

// reference takes &name; or &#number;.
func (r *xmlReader) reference(out *buffer, end int) {
	const longest = 32
	start := r.i
	r.c.Meter.Work(4)
	n := strings.IndexByte(r.s[start:min(end, start+longest)], ';')
	if n < 2 {
		r.fail(start, "a & that starts no reference: a plain & is written &amp;,")
		return
	}
	name := r.s[start+1 : start+n]
	r.i = start + n + 1
	number, isNumber := strings.CutPrefix(name, "#")
	if !isNumber {
		b, known := xmlEntities[name]
		if !known {
			r.fail(start, "%s, which is no entity of XML: it knows &amp; &lt; &gt; &quot; &apos; and numbers such as &#160;,", value.Quote("&"+name+";"))
			return
		}
		out.b = append(out.b, b)
		return
	}
	base := 10
	if hex, ok := strings.CutPrefix(number, "x"); ok {
		number, base = hex, 16
	}
	code, err := strconv.ParseUint(number, base, 32)
	if err != nil || !isXMLChar(rune(min(code, unicode.MaxRune+1))) {
		r.fail(start, "%s, which is no character of XML,", value.Quote("&"+name+";"))
		return
	}
	out.b = utf8.AppendRune(out.b, rune(code))
}

// xmlPart is an element inside another, or a text where it has no name.
type xmlPart struct {
	name value.Value
	v    value.Value
}

// element takes an element: its name and what it is.
func (r *xmlReader) element(depth int) (name, v value.Value) {
	r.c.checkXMLDepth(depth)
	start := r.i
	r.i++
	written := r.name("a name after <, which is written &lt; where it is text,")
	r.c.Meter.Work(mapWork)
	t := value.NewMap(r.c.Meter, 0)
	prefixes := r.attributes(t)
	r.checkPrefixes(start, written, t)
	switch {
	case r.err != nil:
	case r.at("/>"):
		r.i += 2
		v = xmlElement(r.c, t, nil, value.Text(""))
	case r.at(">"):
		r.i++
		v = r.content(t, written, start, depth)
	default:
		r.fail(r.i, "expected > or an attribute, found %s", r.found())
	}
	for _, p := range prefixes {
		r.names.release(p)
	}
	if r.err != nil {
		return value.Null, value.Null
	}
	return r.c.text(written), v
}

// attributes takes the attributes of an element, and returns the prefixes that they
// declare.
func (r *xmlReader) attributes(t *value.Map) (prefixes []string) {
	for r.err == nil {
		spaced := r.space()
		if r.err != nil || r.i >= len(r.s) || r.at(">") || r.at("/") {
			return prefixes
		}
		at := r.i
		if !spaced {
			r.fail(at, "a space before an attribute is missing, found %s", r.found())
			return prefixes
		}
		name := r.name("the name of an attribute")
		v := r.quoted()
		if r.err != nil {
			return prefixes
		}
		r.c.Meter.Alloc(len(name) + 1)
		key := r.c.text("@" + name)
		if _, twice := t.Lookup(r.c.Meter, key.Str()); twice {
			r.fail(at, "the attribute %s stands there twice", value.Quote(name))
			return prefixes
		}
		t.Set(r.c.Meter, key, v)
		prefix, declares, wrong := r.names.bind(name, v.Str())
		if wrong != "" {
			r.fail(at, "%s", wrong)
			return prefixes
		}
		if declares {
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes
}

// checkPrefixes checks the names of an element and its attributes, once all that the
// element declares is known.
func (r *xmlReader) checkPrefixes(at int, name string, t *value.Map) {
	if r.err != nil {
		return
	}
	if _, unbound := r.names.namespace(name); unbound != "" {
		r.fail(at, "the prefix %s, which is not declared: xmlns:%s=\"…\" does that,", value.Quote(unbound), unbound)
		return
	}
	var seen *value.Map
	for k := range t.All {
		attribute := k.Str()[1:]
		r.c.Meter.Work(2)
		if strings.HasPrefix(attribute, "xmlns:") || !strings.Contains(attribute, ":") {
			continue
		}
		uri, unbound := r.names.namespace(attribute)
		if unbound != "" {
			r.fail(at, "the prefix %s, which is not declared: xmlns:%s=\"…\" does that,", value.Quote(unbound), unbound)
			return
		}
		if seen == nil {
			seen = value.NewMap(r.c.Meter, 0)
		}
		_, local, _ := strings.Cut(attribute, ":")
		r.c.Meter.Alloc(len(uri) + len(local) + 1)
		whole := r.c.text(uri + " " + local)
		if _, twice := seen.Lookup(r.c.Meter, whole.Str()); twice {
			r.fail(at, "the attribute %s stands there twice, with two prefixes of one namespace,", value.Quote(local))
			return
		}
		seen.Set(r.c.Meter, whole, value.Null)
	}
}

// content takes what stands between the tags of an element, and the end tag.
func (r *xmlReader) content(t *value.Map, name string, start, depth int) value.Value {
	var parts []xmlPart
	text := buffer{c: r.c}
	flush := func() {
		if len(text.b) > 0 {
			parts = r.add(parts, value.Null, text.value())
			text.b = text.b[:0]
		}
	}
	for r.err == nil {
		next := r.c.index(r.s[r.i:], "<")
		if next < 0 {
			r.fail(start, "the element %s, which is never closed,", value.Quote(name))
			break
		}
		r.text(&text, r.i+next, false)
		switch {
		case r.err != nil:
		case r.at("</"):
			flush()
			r.end(name)
			return r.whole(t, parts)
		case r.at("<!--"):
			r.comment()
		case r.at("<![CDATA["):
			r.cdata(&text)
		case r.at("<!"):
			r.markup()
		case r.at("<?"):
			r.instruction()
		default:
			flush()
			n, v := r.element(depth + 1)
			parts = r.add(parts, n, v)
		}
	}
	return value.Null
}

// add charges for a part; the slice doubles.
func (r *xmlReader) add(parts []xmlPart, name, v value.Value) []xmlPart {
	if len(parts) == cap(parts) {
		const size = 32
		n := max(4, 2*cap(parts))
		r.c.Meter.Alloc(n * size)
		parts = append(make([]xmlPart, 0, n), parts...)
	}
	return append(parts, xmlPart{name, v})
}

func (r *xmlReader) cdata(out *buffer) {
	start := r.i
	r.i += len("<![CDATA[")
	n := r.c.index(r.s[r.i:], "]]>")
	if n < 0 {
		r.fail(start, "a CDATA section that never ends")
		return
	}
	content := r.s[r.i : r.i+n]
	r.i += n + 3
	r.c.Meter.Work(n/8 + 8)
	out.room(n)
	for {
		plain, rest, found := strings.Cut(content, "\r")
		out.b = append(out.b, plain...)
		if !found {
			return
		}
		out.b = append(out.b, '\n')
		content = strings.TrimPrefix(rest, "\n")
	}
}

// end takes the end tag of the element of that name.
func (r *xmlReader) end(name string) {
	start := r.i
	r.i += 2
	got := r.name("the name of the element that ends")
	r.space()
	switch {
	case r.err != nil:
	case got != name:
		r.fail(start, "</%s> where </%s> is due,", got, name)
	case !r.at(">"):
		r.fail(r.i, "> is missing, found %s", r.found())
	}
	r.i++
}

// whole makes the value of an element of its attributes and parts.
func (r *xmlReader) whole(t *value.Map, parts []xmlPart) value.Value {
	if r.err != nil {
		return value.Null
	}
	r.c.Meter.Work(4 * len(parts))
	elements, blank := 0, true
	for _, p := range parts {
		switch {
		case !p.name.IsNull():
			elements++
		case blank:
			s := p.v.Str()
			r.c.scanned(len(s))
			blank = strings.TrimLeft(s, " \t\n\r") == ""
		}
	}
	switch {
	case elements == 0:
		text := value.Text("")
		if len(parts) > 0 {
			text = parts[0].v
		}
		return xmlElement(r.c, t, nil, text)
	case blank:
		return xmlElement(r.c, t, parts, value.Null)
	}
	content := value.NewList(r.c.Meter, len(parts))
	for _, p := range parts {
		if !p.name.IsNull() {
			one := value.NewMap(r.c.Meter, 1)
			one.Set(r.c.Meter, p.name, p.v)
			p.v = one.Value()
		}
		content.Append(r.c.Meter, p.v)
	}
	t.Set(r.c.Meter, keyXMLContent, content.Value())
	return t.Value()
}

// xmlElement returns an element that has attributes, and elements or a text.
func xmlElement(c *Call, t *value.Map, parts []xmlPart, text value.Value) value.Value {
	if parts == nil {
		if t.Len() == 0 {
			return text
		}
		if text.Str() != "" {
			t.Set(c.Meter, keyXMLText, text)
		}
		return t.Value()
	}
	// Lists are complete before the map holds them: it knows how deep they are.
	places := value.NewMap(c.Meter, 0)
	var lists []*value.List
	for _, p := range parts {
		if p.name.IsNull() {
			continue
		}
		at, known := places.Lookup(c.Meter, p.name.Str())
		if !known {
			c.Meter.Work(listWork)
			at = value.Int(int64(len(lists)))
			places.Set(c.Meter, p.name, at)
			c.Meter.Alloc(16)
			lists = append(lists, value.NewList(c.Meter, 0))
		}
		lists[at.Int64()].Append(c.Meter, p.v)
	}
	for name, at := range places.All {
		t.Set(c.Meter, name, lists[at.Int64()].Value())
	}
	return t.Value()
}
