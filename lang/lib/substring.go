package lib

import (
	"strings"
	"unicode/utf8"

	"ql/lang/value"
)

func contains(c *Call, args []value.Value) (value.Value, error) {
	if args[0].IsList() || args[0].IsMap() {
		return value.Null, value.Errorf(value.WrongKind, "CONTAINS takes a text, not %s; ?x IN ?list looks into lists and maps", value.Describe(args[0]))
	}
	in := read(c, "CONTAINS", args)
	s, sub := in.text(0, "the text"), in.text(1, "the part")
	if in.err != nil {
		return value.Null, in.err
	}
	return value.Bool(c.index(s, sub) >= 0), nil
}

func startsWith(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "STARTS_WITH", args)
	s, sub := in.text(0, "the text"), in.text(1, "the start")
	if in.err != nil {
		return value.Null, in.err
	}
	c.Meter.WorkBytes(len(sub))
	return value.Bool(strings.HasPrefix(s, sub)), nil
}

func endsWith(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "ENDS_WITH", args)
	s, sub := in.text(0, "the text"), in.text(1, "the end")
	if in.err != nil {
		return value.Null, in.err
	}
	c.Meter.WorkBytes(len(sub))
	return value.Bool(strings.HasSuffix(s, sub)), nil
}

func position(c *Call, args []value.Value) (value.Value, error) {
	if args[0].IsList() {
		return value.Null, value.Errorf(value.WrongKind, "POSITION takes a text, not %s; INDEX_OF(?list, …) finds an element", value.Describe(args[0]))
	}
	in := read(c, "POSITION", args)
	s, sub := in.text(0, "the text"), in.text(1, "the part")
	if in.err != nil {
		return value.Null, in.err
	}
	i := c.index(s, sub)
	if i < 0 {
		return value.Null, nil
	}
	return value.Int(int64(c.characters(s[:i]))), nil
}

func substring(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "SUBSTRING", args)
	s, start := in.text(0, "the text"), in.whole(1, "the start")
	count := int64(-1)
	if in.given(2) {
		count = in.count(2, "the count", 0)
	}
	if in.err != nil {
		return value.Null, in.err
	}
	if start < 0 {
		start = max(0, start+int64(c.characters(s)))
	}
	s = s[c.offset(s, start):]
	if count >= 0 {
		s = s[:c.offset(s, count)]
	}
	return c.text(s), nil
}

func left(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "LEFT", args)
	s, count := in.text(0, "the text"), in.count(1, "the count", 0)
	if in.err != nil {
		return value.Null, in.err
	}
	n := c.offset(s, count)
	if n == len(s) {
		return args[0], nil
	}
	return c.text(s[:n]), nil
}

func right(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "RIGHT", args)
	s, count := in.text(0, "the text"), in.count(1, "the count", 0)
	if in.err != nil {
		return value.Null, in.err
	}
	skip := int64(c.characters(s)) - count
	if skip <= 0 {
		return args[0], nil
	}
	return c.text(s[c.offset(s, skip):]), nil
}

func shorten(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "SHORTEN", args)
	s, count := in.text(0, "the text"), in.count(1, "the count", 1)
	if in.err != nil {
		return value.Null, in.err
	}
	if c.offset(s, count) == len(s) {
		return args[0], nil
	}
	const mark = "…"
	kept := strings.TrimRight(s[:c.offset(s, count-1)], " ")
	b := value.NewBuilder(c.Meter, value.KindText, len(kept)+len(mark))
	b.Add(kept)
	b.Add(mark)
	return b.Value(), nil
}

func padder(name string, onLeft bool) Func {
	return func(c *Call, args []value.Value) (value.Value, error) {
		if args[0].IsNumeric() {
			shown, _ := value.ToText(c.Meter, args[0])
			args = append([]value.Value{shown}, args[1:]...)
		}
		in := read(c, name, args)
		s, width, fill := in.text(0, "the text"), in.whole(1, "the width"), " "
		if in.given(2) {
			fill = in.text(2, "the fill")
			if in.err == nil && fill == "" {
				in.fail(value.BadArgument, "needs something to fill with: argument 3 is an empty text")
			}
		}
		if in.err != nil {
			return value.Null, in.err
		}
		missing := width - int64(c.characters(s))
		if missing <= 0 || width <= 0 {
			return args[0], nil
		}
		c.size(missing) // a character has a byte at least
		perFill := int64(c.characters(fill))
		whole, cut := missing/perFill, c.offset(fill, missing%perFill)
		size := times(whole, int64(len(fill)))
		c.size(size)
		b := value.NewBuilder(c.Meter, value.KindText, c.size(size+int64(cut)+int64(len(s))))
		if !onLeft {
			b.Add(s)
		}
		repeatInto(&b, fill, int(whole))
		b.Add(fill[:cut])
		if onLeft {
			b.Add(s)
		}
		return b.Value(), nil
	}
}

func repeat(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "REPEAT", args)
	s, n := in.text(0, "the text"), in.count(1, "how often", 0)
	if in.err != nil {
		return value.Null, in.err
	}
	size := times(int64(len(s)), n)
	if size == 0 {
		return value.Text(""), nil
	}
	b := value.NewBuilder(c.Meter, value.KindText, c.size(size))
	repeatInto(&b, s, int(n))
	return b.Value(), nil
}

// repeatInto adds s n times, by copying what is there already.
func repeatInto(b *value.Builder, s string, n int) {
	if n == 0 {
		return
	}
	room := b.Reserve(len(s) * n)
	for done := copy(room, s); done < len(room); {
		done += copy(room[done:], room[:done])
	}
}

// fill replaces {key} where the map has that key. A brace that opens nothing of
// the kind stays.
func fill(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "FILL", args)
	s, values := in.text(0, "the template"), in.table(1, "the values")
	if in.err != nil {
		return value.Null, in.err
	}
	out := buffer{c: c}
	c.Meter.Work(len(s) / 4)
	for {
		open := strings.IndexByte(s, '{')
		if open < 0 {
			break
		}
		out.add(s[:open])
		s = s[open:]
		end := strings.IndexAny(s[1:], "{}") + 1
		if end == 0 {
			break
		}
		c.Meter.Work(4)
		v, known := values.Lookup(c.Meter, s[1:end])
		if s[end] == '{' || !known {
			out.add(s[:end])
			s = s[end:]
			continue
		}
		if err := out.addValue(v); err != nil {
			return value.Null, err
		}
		s = s[end+1:]
	}
	out.add(s)
	return out.value(), nil
}

func character(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "CHARACTER", args)
	code := in.whole(0, "the code point")
	if in.err == nil && (code < 0 || code > utf8.MaxRune || !utf8.ValidRune(rune(code))) {
		in.fail(value.BadArgument, "takes a Unicode code point, 0 to 1114111 without 55296 to 57343, not %d", code)
	}
	if in.err != nil {
		return value.Null, in.err
	}
	return c.text(string(rune(code))), nil
}

func codePoint(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "CODE_POINT", args)
	s := in.text(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	if s == "" {
		return value.Null, nil
	}
	r, _ := utf8.DecodeRuneInString(s)
	return value.Int(int64(r)), nil
}
