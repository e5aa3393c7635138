package lib

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"ql/lang/value"
)

var textFunctions = []Builtin{
	{Name: "LENGTH", Min: 1, Max: 1, Fn: length,
		Signature: "LENGTH(text)", Summary: "How many characters a text has, or how many bytes bytes have; 0 for null.",
		Example: `LENGTH("naïve")`, Result: "5"},
	{Name: "UPPER", Min: 1, Max: 1, Fn: needs(1, upper),
		Signature: "UPPER(text)", Summary: "The text in capital letters, as Unicode maps them: one letter may become several, as ß does.",
		Example: `UPPER("élan")`, Result: "ÉLAN"},
	{Name: "LOWER", Min: 1, Max: 1, Fn: needs(1, lower),
		Signature: "LOWER(text)", Summary: "The text in small letters, as Unicode maps them: Σ is ς at the end of a word.",
		Example: `LOWER("Hello")`, Result: "hello"},
	{Name: "CAPITALIZE", Min: 1, Max: 1, Fn: needs(1, capitalize),
		Signature: "CAPITALIZE(text)", Summary: "The text with its first letter as a capital.",
		Example: `CAPITALIZE("ada")`, Result: "Ada"},
	{Name: "TRIM", Min: 1, Max: 2, Fn: trimmer("TRIM", true, true),
		Signature: "TRIM(text[, characters])", Summary: "The text without white space, or without the given characters, at both ends.",
		Example: `TRIM("  hello ")`, Result: "hello"},
	{Name: "TRIM_START", Min: 1, Max: 2, Fn: trimmer("TRIM_START", true, false),
		Signature: "TRIM_START(text[, characters])", Summary: "The text without white space, or without the given characters, at its start.",
		Example: `TRIM_START("007", "0")`, Result: "7"},
	{Name: "TRIM_END", Min: 1, Max: 2, Fn: trimmer("TRIM_END", false, true),
		Signature: "TRIM_END(text[, characters])", Summary: "The text without white space, or without the given characters, at its end.",
		Example: `TRIM_END("/shop/", "/")`, Result: "/shop"},
	{Name: "SPLIT", Min: 2, Max: 2, Fn: needs(2, split),
		Signature: "SPLIT(text, separator)", Summary: "The list of the parts between the separators; with the separator \"\" every character. An empty text has no parts.",
		Example: `SPLIT("a,b,c", ",")`, Result: `["a","b","c"]`},
	{Name: "LINES", Min: 1, Max: 1, Fn: needs(1, lines),
		Signature: "LINES(text)", Summary: "The list of the lines of a text, without their line ends.",
		Example: `LINES("one\ntwo\n")`, Result: `["one","two"]`},
	{Name: "WORDS", Min: 1, Max: 1, Fn: needs(1, words),
		Signature: "WORDS(text)", Summary: "The list of the parts of a text between white space.",
		Example: `WORDS(" to be  or not ")`, Result: `["to","be","or","not"]`},
	{Name: "JOIN", Min: 1, Max: 2, Fn: join,
		Signature: "JOIN(list[, separator])", Summary: "One text of all elements, each written as EMIT writes it, with the separator between them.",
		Example: `JOIN([2026, "06", "01"], "-")`, Result: "2026-06-01"},
	{Name: "REPLACE", Min: 3, Max: 3, Fn: needs(3, replace),
		Signature: "REPLACE(text, from, to)", Summary: "The text with every from replaced by to.",
		Example: `REPLACE("a-b-c", "-", "+")`, Result: "a+b+c"},
	{Name: "CONTAINS", Min: 2, Max: 2, Fn: needs(2, contains),
		Signature: "CONTAINS(text, part)", Summary: "Whether the part stands somewhere in the text.",
		Example: `CONTAINS("teamwork", "team")`, Result: "true"},
	{Name: "LIKE", Min: 2, Max: 2, Fn: needs(2, like),
		Signature: "LIKE(text, pattern)", Summary: "What text LIKE pattern gives: whether the whole text is as the pattern, in which % stands for any characters, or none, and _ for one. Capital and small letters of A to Z are the same.",
		Example: `LIKE("Report.PDF", "%.pdf")`, Result: "true"},
	{Name: "STARTS_WITH", Min: 2, Max: 2, Fn: needs(2, startsWith),
		Signature: "STARTS_WITH(text, part)", Summary: "Whether the text starts with the part.",
		Example: `STARTS_WITH("/shop/cart", "/shop")`, Result: "true"},
	{Name: "ENDS_WITH", Min: 2, Max: 2, Fn: needs(2, endsWith),
		Signature: "ENDS_WITH(text, part)", Summary: "Whether the text ends with the part.",
		Example: `ENDS_WITH("cat.png", ".png")`, Result: "true"},
	{Name: "POSITION", Min: 2, Max: 2, Fn: needs(2, position),
		Signature: "POSITION(text, part)", Summary: "At which character, counted from 0, the part first stands in the text; null where it does not.",
		Example: `POSITION("hello", "l")`, Result: "2"},
	{Name: "SUBSTRING", Min: 2, Max: 3, Fn: needs(2, substring),
		Signature: "SUBSTRING(text, start[, count])", Summary: "The characters from start on, counted from 0 or, if negative, from the end; at most count of them. SLICE takes the end in place of the count.",
		Example: `SUBSTRING("hello", 1, 3)`, Result: "ell"},
	{Name: "LEFT", Min: 2, Max: 2, Fn: needs(2, left),
		Signature: "LEFT(text, count)", Summary: "The first count characters.",
		Example: `LEFT("hello", 2)`, Result: "he"},
	{Name: "RIGHT", Min: 2, Max: 2, Fn: needs(2, right),
		Signature: "RIGHT(text, count)", Summary: "The last count characters.",
		Example: `RIGHT("hello", 2)`, Result: "lo"},
	{Name: "SHORTEN", Min: 2, Max: 2, Fn: needs(2, shorten),
		Signature: "SHORTEN(text, count)", Summary: "The text if it has at most count characters; else so much of it that it has, with … at the end.",
		Example: `SHORTEN("a long story", 7)`, Result: "a long…"},
	{Name: "PAD_LEFT", Min: 2, Max: 3, Fn: needs(2, padder("PAD_LEFT", true)),
		Signature: "PAD_LEFT(text, width[, fill])", Summary: "The text, or number, filled up on its left to width characters, with spaces or the given fill.",
		Example: `PAD_LEFT(7, 3, "0")`, Result: "007"},
	{Name: "PAD_RIGHT", Min: 2, Max: 3, Fn: needs(2, padder("PAD_RIGHT", false)),
		Signature: "PAD_RIGHT(text, width[, fill])", Summary: "The text, or number, filled up on its right to width characters, with spaces or the given fill.",
		Example: `PAD_RIGHT("Net", 6, ".") + "100"`, Result: "Net...100"},
	{Name: "REPEAT", Min: 2, Max: 2, Fn: needs(2, repeat),
		Signature: "REPEAT(text, times)", Summary: "The text, so many times over.",
		Example: `REPEAT("ab", 3)`, Result: "ababab"},
	{Name: "FILL", Min: 2, Max: 2, Fn: needs(2, fill),
		Signature: "FILL(template, map)", Summary: "The template with each {key} replaced by the map's value of that key; other braces stay.",
		Example: `FILL('Hello {name}!', {name: "Ada"})`, Result: "Hello Ada!"},
	{Name: "FORMAT_NUMBER", Min: 1, Max: 3, Fn: needs(1, formatNumber),
		Signature: "FORMAT_NUMBER(number[, digits[, style]])", Summary: "The number for readers, rounded to so many digits. The style shows how 1234.5 is to look: \"1,234.50\" unless given.",
		Example: `FORMAT_NUMBER(1234567.891, 2, "1.234,50")`, Result: "1.234.567,89"},
	{Name: "SLUG", Min: 1, Max: 1, Fn: needs(1, slug),
		Signature: "SLUG(text)", Summary: "The text for use in an address: small letters and digits, the rest replaced by hyphens, Latin letters without accents.",
		Example: `SLUG("Crème brûlée, please!")`, Result: "creme-brulee-please"},
	{Name: "CHARACTER", Min: 1, Max: 1, Fn: needs(1, character),
		Signature: "CHARACTER(code)", Summary: "The character of a Unicode code point.",
		Example: `CHARACTER(8364)`, Result: "€"},
	{Name: "CODE_POINT", Min: 1, Max: 1, Fn: needs(1, codePoint),
		Signature: "CODE_POINT(text)", Summary: "The Unicode code point of the first character; null for an empty text.",
		Example: `CODE_POINT("€")`, Result: "8364"},
}

func length(c *Call, args []value.Value) (value.Value, error) {
	switch args[0].Kind() {
	case value.KindNull:
		return value.Int(0), nil
	case value.KindBytes:
		return value.Int(int64(len(args[0].Str()))), nil
	case value.KindList, value.KindMap:
		return value.Null, value.Errorf(value.WrongKind, "LENGTH takes a text, not %s; COUNT(…) counts the elements of lists and maps", value.Describe(args[0]))
	}
	in := read(c, "LENGTH", args)
	s := in.text(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	return value.Int(int64(c.characters(s))), nil
}

func capitalize(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "CAPITALIZE", args)
	s := in.text(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 || unicode.ToTitle(r) == r {
		return args[0], nil
	}
	first := unicode.ToTitle(r)
	size := utf8.RuneLen(first) + len(s) - n
	b := value.NewBuilder(c.Meter, value.KindText, size)
	utf8.AppendRune(b.Reserve(utf8.RuneLen(first))[:0], first)
	b.Add(s[n:])
	return b.Value(), nil
}

func trimmer(name string, start, end bool) Func {
	return needs(1, func(c *Call, args []value.Value) (value.Value, error) {
		in := read(c, name, args)
		s := in.text(0, "the text")
		drop := unicode.IsSpace
		if in.given(1) {
			drop = in.oneOf(in.text(1, "the characters"))
		}
		if in.err != nil {
			return value.Null, in.err
		}
		t := s
		if start {
			t = c.trimStart(t, drop)
		}
		if end {
			t = c.trimEnd(t, drop)
		}
		if len(t) == len(s) {
			return args[0], nil
		}
		return c.text(t), nil
	})
}

// trimStart takes off what drop says, paying for that only.
func (c *Call) trimStart(s string, drop func(rune) bool) string {
	for s != "" {
		n := boundary(s, part)
		rest := strings.TrimLeftFunc(s[:n], drop)
		c.Meter.Work(n - len(rest))
		s = s[n-len(rest):]
		if rest != "" {
			break
		}
	}
	return s
}

// trimEnd is trimStart for the other end.
func (c *Call) trimEnd(s string, drop func(rune) bool) string {
	for s != "" {
		from := boundary(s, len(s)-part)
		rest := strings.TrimRightFunc(s[from:], drop)
		c.Meter.Work(len(s) - from - len(rest))
		s = s[:from+len(rest)]
		if rest != "" {
			break
		}
	}
	return s
}

// oneOf returns a test for being one of the characters of s.
func (c *Call) oneOf(s string) func(rune) bool {
	const perEntry = 16
	c.Meter.Alloc(len(s) * perEntry)
	c.Meter.Work(len(s) * 4)
	set := make(map[rune]bool)
	for _, r := range s {
		set[r] = true
	}
	return func(r rune) bool { return set[r] }
}

// listOfParts returns an empty list for the parts of a text between separators. Where those are single bytes, which are
// counted in no time, it has room for all: a list that grows is copied again and again.
func (c *Call) listOfParts(s, sep string) *value.List {
	if s == "" || len(sep) != 1 {
		return value.NewList(c.Meter, 0)
	}
	n := 1
	for from := 0; from < len(s); from += part {
		piece := s[from:min(from+part, len(s))]
		c.Meter.WorkBytes(len(piece))
		n += strings.Count(piece, sep)
	}
	return value.NewList(c.Meter, n)
}

func split(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "SPLIT", args)
	s, sep := in.text(0, "the text"), in.text(1, "the separator")
	if in.err != nil {
		return value.Null, in.err
	}
	if sep == "" {
		l := value.NewList(c.Meter, 0)
		for p := range c.pieces(s) {
			for i, r := range p {
				c.Meter.Work(4)
				l.Append(c.Meter, c.text(p[i:i+utf8.RuneLen(r)]))
			}
		}
		return l.Value(), nil
	}
	l := c.listOfParts(s, sep)
	for more := s != ""; more; {
		c.Meter.Work(4)
		end, next := len(s), len(s)
		if i := c.index(s, sep); i >= 0 {
			end, next = i, i+len(sep)
		}
		l.Append(c.Meter, c.text(s[:end]))
		s, more = s[next:], end < next
	}
	return l.Value(), nil
}

func lines(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "LINES", args)
	s := in.text(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	l := c.listOfParts(strings.TrimSuffix(s, "\n"), "\n")
	for s != "" {
		c.Meter.Work(4)
		line, rest := s, ""
		if i := c.index(s, "\n"); i >= 0 {
			line, rest = s[:i], s[i+1:]
		}
		l.Append(c.Meter, c.text(strings.TrimSuffix(line, "\r")))
		s = rest
	}
	return l.Value(), nil
}

func words(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "WORDS", args)
	s := in.text(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	l := value.NewList(c.Meter, 0)
	start, at := -1, 0
	for p := range c.pieces(s) {
		c.Meter.Work(len(p) / 2)
		for i, r := range p {
			switch space := unicode.IsSpace(r); {
			case space && start >= 0:
				c.Meter.Work(4)
				l.Append(c.Meter, c.text(s[start:at+i]))
				start = -1
			case !space && start < 0:
				start = at + i
			}
		}
		at += len(p)
	}
	if start >= 0 {
		l.Append(c.Meter, c.text(s[start:]))
	}
	return l.Value(), nil
}

func join(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "JOIN", args)
	l := in.list(0, "the list")
	sep := ""
	if in.given(1) {
		sep = in.text(1, "the separator")
	}
	if in.err != nil {
		return value.Null, in.err
	}
	n := l.Len()
	if n == 0 {
		return value.Text(""), nil
	}
	c.Meter.Work(4 * n)
	size := times(int64(n-1), int64(len(sep)))
	for i := range n {
		e := l.At(i)
		if err := c.printable(e); err != nil {
			return value.Null, err
		}
		size += int64(value.TextSize(c.Meter, e))
		c.size(size)
	}
	b := value.NewBuilder(c.Meter, value.KindText, c.size(size))
	out := b.Reserve(int(size))[:0]
	for i := range n {
		if i > 0 {
			out = append(out, sep...)
		}
		out = value.AppendText(out, l.At(i))
	}
	return b.Value(), nil
}

func replace(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "REPLACE", args)
	s, from, to := in.text(0, "the text"), in.text(1, "what to replace"), in.text(2, "the replacement")
	if in.err == nil && from == "" {
		in.fail(value.BadArgument, "needs something to replace: argument 2 is an empty text")
	}
	if in.err != nil {
		return value.Null, in.err
	}
	found := 0
	for rest := s; ; found++ {
		c.Meter.Work(2)
		i := c.index(rest, from)
		if i < 0 {
			break
		}
		rest = rest[i+len(from):]
	}
	if found == 0 {
		return args[0], nil
	}
	size := int64(len(s)) + int64(found)*int64(len(to)-len(from))
	b := value.NewBuilder(c.Meter, value.KindText, c.size(size))
	rest := s
	for range found {
		i := c.index(rest, from)
		b.Add(rest[:i])
		b.Add(to)
		rest = rest[i+len(from):]
	}
	b.Add(rest)
	return b.Value(), nil
}
