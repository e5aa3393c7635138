package lib

import (
	"strings"

	"ql/lang/value"
)

const mostIndent = 8

func toJSON(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "TO_JSON", args)
	indent := in.indent(1)
	if in.err != nil {
		return value.Null, in.err
	}
	if indent > 0 {
		p := printer{buffer: buffer{c: c}, step: int(indent)}
		p.value(args[0], 0)
		return p.buffer.value(), nil
	}
	n := c.size(int64(value.JSONSize(c.Meter, args[0])))
	c.Meter.Work(n)
	b := value.NewBuilder(c.Meter, value.KindText, n)
	value.AppendJSON(b.Reserve(n)[:0], args[0])
	return b.Value(), nil
}

// indent reads the optional number of spaces for each level, 0 for one line.
func (in *input) indent(i int) int64 {
	if !in.given(i) {
		return 0
	}
	n := in.count(i, "the indent", 0)
	if in.err == nil && n > mostIndent {
		in.fail(value.BadArgument, "indents by at most %d spaces, not %d", mostIndent, n)
	}
	return n
}

// printer writes indented JSON. Its depth is that of the value, which is
// limited.
type printer struct {
	buffer
	step int
}

func (p *printer) value(v value.Value, depth int) {
	p.c.Meter.Work(4)
	switch {
	case v.IsList() && v.List().Len() > 0:
		l := v.List()
		p.addByte('[')
		for i := range l.Len() {
			p.line(i, depth+1)
			p.value(l.At(i), depth+1)
		}
		p.close(']', depth)
	case v.IsMap() && v.Map().Len() > 0:
		p.addByte('{')
		i := 0
		for k, e := range v.Map().All {
			p.line(i, depth+1)
			p.compact(k)
			p.add(": ")
			p.value(e, depth+1)
			i++
		}
		p.close('}', depth)
	default:
		p.compact(v)
	}
}

// line starts the line of element i.
func (p *printer) line(i, depth int) {
	if i > 0 {
		p.addByte(',')
	}
	p.indent(depth)
}

func (p *printer) close(bracket byte, depth int) {
	p.indent(depth)
	p.addByte(bracket)
}

func (p *printer) indent(depth int) {
	p.addByte('\n')
	p.room(depth * p.step)
	p.c.Meter.WorkBytes(depth * p.step)
	p.b = append(p.b, strings.Repeat(" ", depth*p.step)...)
}

// compact adds a value that stands on one line.
func (p *printer) compact(v value.Value) {
	n := value.JSONSize(p.c.Meter, v)
	p.room(n)
	p.c.Meter.Work(n)
	p.b = value.AppendJSON(p.b, v)
}

func fromJSON(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "FROM_JSON", args)
	s := in.text(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	v, err := value.ParseJSON(c.Meter, s)
	if err != nil {
		return value.Null, err
	}
	return v, nil
}
