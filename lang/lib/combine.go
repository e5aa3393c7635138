package lib

import "ql/lang/value"

func reverse(c *Call, args []value.Value) (value.Value, error) {
	if args[0].IsText() {
		return value.Null, value.Errorf(value.WrongKind, "REVERSE takes a list, not %s; SPLIT(?text, \"\") makes a list of its characters", value.Describe(args[0]))
	}
	in := read(c, "REVERSE", args)
	l := in.list(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	n := l.Len()
	c.Meter.Work(n)
	r := l.Clone(c.Meter)
	for i := range n {
		r.Set(c.Meter, i, l.At(n-1-i))
	}
	return r.Value(), nil
}

// collected returns the list of the values of s.
func (s *set) collected() value.Value {
	l := value.NewList(s.c.Meter, 0)
	s.c.Meter.Work(len(s.members))
	for _, v := range s.members {
		l.Append(s.c.Meter, v.Share())
	}
	return l.Value()
}

func unique(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "UNIQUE", args)
	l := in.list(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	seen := set{c: c}
	seen.addAll(l)
	return seen.collected(), nil
}

func intersect(c *Call, args []value.Value) (value.Value, error) {
	return compareLists(c, "INTERSECT", args, true)
}

func except(c *Call, args []value.Value) (value.Value, error) {
	return compareLists(c, "EXCEPT", args, false)
}

// compareLists gives the different elements of the first list that are, or are
// not, in the second.
func compareLists(c *Call, name string, args []value.Value, in2nd bool) (value.Value, error) {
	in := read(c, name, args)
	a, b := in.list(0, "the first list"), in.list(1, "the second list")
	if in.err != nil {
		return value.Null, in.err
	}
	other, kept := set{c: c}, set{c: c}
	other.addAll(b)
	for i := range a.Len() {
		if v := a.At(i); other.has(v) == in2nd {
			kept.add(v)
		}
	}
	return kept.collected(), nil
}

func anyTrue(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "ANY", args)
	l := in.list(0, "the list")
	if in.err != nil {
		return value.Null, in.err
	}
	c.Meter.Work(l.Len())
	for i := range l.Len() {
		if l.At(i).Truthy() {
			return value.True, nil
		}
	}
	return value.False, nil
}

func allTrue(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "ALL", args)
	l := in.list(0, "the list")
	if in.err != nil {
		return value.Null, in.err
	}
	c.Meter.Work(l.Len())
	for i := range l.Len() {
		if !l.At(i).Truthy() {
			return value.False, nil
		}
	}
	return value.True, nil
}

func rangeOf(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "RANGE", args)
	from, to, step := in.whole(0, "the first number"), in.whole(1, "the last number"), int64(1)
	if in.given(2) {
		step = in.whole(2, "the step")
		if in.err == nil && step == 0 {
			in.fail(value.BadArgument, "takes a step other than 0: it would never end")
		}
	}
	if in.err != nil {
		return value.Null, in.err
	}
	l := value.NewList(c.Meter, 0)
	if step > 0 && from > to || step < 0 && from < to {
		return l.Value(), nil
	}
	// In unsigned arithmetic the distance is right whatever the signs are.
	distance, stride := uint64(to)-uint64(from), uint64(step)
	if step < 0 {
		distance, stride = -distance, -stride
	}
	more := distance / stride
	c.elements(more + min(1, ^more))
	c.Meter.Work(int(more))
	for i := range more + 1 {
		l.Append(c.Meter, value.Int(from+int64(i)*step))
	}
	return l.Value(), nil
}

func flatten(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "FLATTEN", args)
	l := in.list(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	c.Meter.Work(4 * l.Len())
	n := uint64(0)
	for i := range l.Len() {
		if e := l.At(i); e.IsList() {
			n += uint64(e.List().Len())
		} else {
			n++
		}
	}
	c.elements(n)
	r := value.NewList(c.Meter, 0)
	for i := range l.Len() {
		if e := l.At(i); e.IsList() {
			c.Meter.Work(2 * e.List().Len())
			r.Extend(c.Meter, e.List())
		} else {
			r.Append(c.Meter, e.Share())
		}
	}
	return r.Value(), nil
}

func chunk(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "CHUNK", args)
	l, size := in.list(0, "the list"), in.count(1, "the size", 1)
	if in.err != nil {
		return value.Null, in.err
	}
	n := l.Len()
	c.Meter.Work(n)
	step := int(min(size, int64(n)))
	r := value.NewList(c.Meter, 0)
	for i := 0; i < n; i += step {
		c.Meter.Work(listWork)
		r.Append(c.Meter, l.Slice(c.Meter, i, min(i+step, n)).Value())
	}
	return r.Value(), nil
}

func zip(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "ZIP", args)
	a, b := in.list(0, "the first list"), in.list(1, "the second list")
	if in.err != nil {
		return value.Null, in.err
	}
	n := min(a.Len(), b.Len())
	r := value.NewList(c.Meter, n)
	for i := range n {
		c.Meter.Work(listWork)
		pair := value.NewList(c.Meter, 2)
		pair.Append(c.Meter, a.At(i).Share())
		pair.Append(c.Meter, b.At(i).Share())
		r.Append(c.Meter, pair.Value())
	}
	return r.Value(), nil
}

func column(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "COLUMN", args)
	l, key := in.list(0, "the list"), in.text(1, "the key")
	if in.err != nil {
		return value.Null, in.err
	}
	r := value.NewList(c.Meter, 0)
	for i := range l.Len() {
		c.Meter.Work(4)
		c.Meter.WorkBytes(len(key))
		e := l.At(i)
		if !e.IsMap() && !e.IsNull() {
			in.fail(value.WrongKind, "takes a list of maps; at index %d is %s", i, value.Describe(e))
			return value.Null, in.err
		}
		v := value.Null
		if e.IsMap() {
			v, _ = e.Map().Get(key)
		}
		r.Append(c.Meter, v.Share())
	}
	return r.Value(), nil
}
