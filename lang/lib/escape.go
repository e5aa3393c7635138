package lib

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"ql/lang/value"
)

// Escapes tells what is written for each byte.
type Escapes struct {
	to   [256]string // "" for those that stay
	more [256]uint8  // how many bytes there are more then
}

// escapesOf returns the escapes of some bytes.
func escapesOf(to map[byte]string) *Escapes {
	var e Escapes
	for b, text := range to {
		e.to[b], e.more[b] = text, uint8(len(text)-1)
	}
	return &e
}

// HTMLEscapes are those of HTML, and ShellEscapes those inside single quotes of a
// shell.
var (
	HTMLEscapes  = escapesOf(map[byte]string{'&': "&amp;", '<': "&lt;", '>': "&gt;", '"': "&#34;", '\'': "&#39;"})
	ShellEscapes = escapesOf(map[byte]string{'\'': `'\''`})
)

var urlEscapes = func() *Escapes {
	to := map[byte]string{}
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"
	const digits = "0123456789ABCDEF"
	for b := range 256 {
		if strings.IndexByte(plain, byte(b)) < 0 {
			to[byte(b)] = "%" + digits[b>>4:b>>4+1] + digits[b&15:b&15+1]
		}
	}
	return escapesOf(to)
}()

// escape returns s, the content of v, with its bytes escaped.
func (e *Escapes) escape(c *Call, v value.Value) value.Value {
	s := v.Str()
	size := int64(0)
	c.chunks(len(s), part, 16, func(from, to int) { size += int64(e.Size(s[from:to])) })
	if size == int64(len(s)) {
		return v
	}
	b := value.NewBuilder(c.Meter, value.KindText, c.size(size))
	out := b.Reserve(int(size))[:0]
	c.chunks(len(s), part, 32, func(from, to int) { out = e.Append(out, s[from:to]) })
	return b.Value()
}

// Size returns the length of s escaped.
func (e *Escapes) Size(s string) int {
	n := len(s)
	for i := range len(s) {
		n += int(e.more[s[i]])
	}
	return n
}

// Append appends s escaped. Each escape is longer than what it stands for.
func (e *Escapes) Append(dst []byte, s string) []byte {
	start := 0
	for i := range len(s) {
		if e.more[s[i]] > 0 {
			dst = append(append(dst, s[start:i]...), e.to[s[i]]...)
			start = i + 1
		}
	}
	return append(dst, s[start:]...)
}

func htmlEscape(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "HTML_ESCAPE", args)
	in.text(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	return HTMLEscapes.escape(c, args[0]), nil
}

func urlEncode(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "URL_ENCODE", args)
	in.text(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	return urlEscapes.escape(c, args[0]), nil
}

func urlDecode(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "URL_DECODE", args)
	s := in.text(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	out := buffer{c: c}
	if err := unescape(&out, "URL_DECODE", s, false); err != nil {
		return value.Null, err
	}
	return out.value(), nil
}

// unescape adds s to out with each %XX turned back and, in queries, each + into
// a space.
func unescape(out *buffer, name, s string, plus bool) *value.Error {
	out.room(len(s))
	start := len(out.b)
	for i, paid := 0, 0; i < len(s); i++ {
		if i >= paid {
			n := min(part, len(s)-paid)
			out.c.Meter.Work(n/4 + 1)
			paid += n
		}
		switch {
		case s[i] == '+' && plus:
			out.b = append(out.b, ' ')
		case s[i] != '%':
			out.b = append(out.b, s[i])
		default:
			n, err := strconv.ParseUint(s[min(i+1, len(s)):min(i+3, len(s))], 16, 8)
			if err != nil || i+3 > len(s) {
				return value.Errorf(value.BadArgument, "%s cannot read %s: after %% stand two hexadecimal digits; %%25 is a plain %%", name, value.Quote(s[i:]))
			}
			out.b = append(out.b, byte(n))
			i += 2
		}
	}
	if !utf8.Valid(out.b[start:]) {
		return value.Errorf(value.BadArgument, "%s cannot read %s: its %%XX are no UTF-8 text", name, value.Quote(s))
	}
	return nil
}

func queryString(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "QUERY_STRING", args)
	t := in.table(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	out := buffer{c: c}
	for k, v := range t.All {
		c.Meter.Work(8)
		if !v.IsList() {
			in.parameter(&out, k, v)
			continue
		}
		for i := range v.List().Len() {
			in.parameter(&out, k, v.List().At(i))
		}
	}
	if in.err != nil {
		return value.Null, in.err
	}
	return out.value(), nil
}

// parameter adds &key=value.
func (in *input) parameter(out *buffer, k, v value.Value) {
	switch v.Kind() {
	case value.KindNull:
		return
	case value.KindList, value.KindMap, value.KindBytes:
		in.fail(value.WrongKind, "takes texts, numbers and booleans, and lists of them; under %s is %s", value.Quote(k.Str()), value.Describe(v))
		return
	}
	if len(out.b) > 0 {
		out.addByte('&')
	}
	shown, _ := value.ToText(in.Meter, v)
	const longest = 3 // bytes that one byte becomes
	n := len(k.Str()) + len(shown.Str())
	in.Meter.Work(n/2 + 4)
	out.room(n*longest + 1)
	out.b = urlEscapes.Append(out.b, k.Str())
	out.b = append(out.b, '=')
	out.b = urlEscapes.Append(out.b, shown.Str())
}

func parseQuery(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "PARSE_QUERY", args)
	s := in.text(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	v, err := c.query("PARSE_QUERY", strings.TrimPrefix(s, "?"))
	if err != nil {
		return value.Null, err
	}
	return v, nil
}

// query reads a query into a map.
func (c *Call) query(name, s string) (value.Value, *value.Error) {
	t := value.NewMap(c.Meter, 0)
	for s != "" {
		c.Meter.Work(16)
		part, rest := s, ""
		if i := c.index(s, "&"); i >= 0 {
			part, rest = s[:i], s[i+1:]
		}
		s = rest
		if part == "" {
			continue
		}
		k, v, _ := strings.Cut(part, "=")
		key, err := c.unescaped(name, k)
		if err != nil {
			return value.Null, err
		}
		val, err := c.unescaped(name, v)
		if err != nil {
			return value.Null, err
		}
		c.addParameter(t, key, val)
	}
	return t.Value(), nil
}

// addParameter sets key, or makes a list of what it has had so far.
func (c *Call) addParameter(t *value.Map, key, v value.Value) {
	old, there := t.Lookup(c.Meter, key.Str())
	switch {
	case !there:
		t.Set(c.Meter, key, v)
	case old.IsList():
		old.List().Append(c.Meter, v)
	default:
		l := value.NewList(c.Meter, 0)
		l.Append(c.Meter, old)
		l.Append(c.Meter, v)
		t.Set(c.Meter, key, l.Value())
	}
}

func (c *Call) unescaped(name, s string) (value.Value, *value.Error) {
	out := buffer{c: c}
	if err := unescape(&out, name, s, true); err != nil {
		return value.Null, err
	}
	return out.value(), nil
}

// Keys of PARSE_URL's map.
var (
	keyScheme   = value.Text("scheme").Freeze()
	keyHost     = value.Text("host").Freeze()
	keyPort     = value.Text("port").Freeze()
	keyPath     = value.Text("path").Freeze()
	keyQuery    = value.Text("query").Freeze()
	keyFragment = value.Text("fragment").Freeze()
)

func parseURL(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "PARSE_URL", args)
	s := in.text(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	// Go's parser makes a few copies of the parts.
	c.Meter.Alloc(4 * len(s))
	c.Meter.Work(len(s) + 100)
	u, err := url.Parse(s)
	if err != nil || !utf8.ValidString(u.Path) || !utf8.ValidString(u.Fragment) || !utf8.ValidString(u.Host) {
		return value.Null, value.Errorf(value.BadArgument, "PARSE_URL cannot read %s: it is no address", value.Quote(s))
	}
	query, bad := c.query("PARSE_URL", u.RawQuery)
	if bad != nil {
		return value.Null, bad
	}
	t := value.NewMap(c.Meter, 6)
	t.Set(c.Meter, keyScheme, c.textOrNull(u.Scheme))
	t.Set(c.Meter, keyHost, c.textOrNull(u.Hostname()))
	port := value.Null
	if n, err := strconv.Atoi(u.Port()); err == nil {
		port = value.Int(int64(n))
	}
	t.Set(c.Meter, keyPort, port)
	t.Set(c.Meter, keyPath, c.textOrNull(u.Path))
	t.Set(c.Meter, keyQuery, query)
	t.Set(c.Meter, keyFragment, c.textOrNull(u.Fragment))
	return t.Value(), nil
}

func (c *Call) textOrNull(s string) value.Value {
	if s == "" {
		return value.Null
	}
	return c.text(s)
}
