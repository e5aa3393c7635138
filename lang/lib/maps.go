package lib

import "ql/lang/value"

var mapFunctions = []Builtin{
	{Name: "KEYS", Min: 1, Max: 1, Fn: needs(1, keys),
		Signature: "KEYS(map)", Summary: "The list of the keys of a map, in their order.",
		Example: `KEYS({b: 1, a: 2})`, Result: `["b","a"]`},
	{Name: "VALUES", Min: 1, Max: 1, Fn: needs(1, values),
		Signature: "VALUES(map)", Summary: "The list of the values of a map, in their order.",
		Example: `VALUES({b: 1, a: 2})`, Result: "[1,2]"},
	{Name: "ENTRIES", Min: 1, Max: 1, Fn: needs(1, entries),
		Signature: "ENTRIES(map)", Summary: "The list of {key, value} for each entry of a map, in their order.",
		Example: `ENTRIES({a: 1})`, Result: `[{"key":"a","value":1}]`},
	{Name: "FROM_ENTRIES", Min: 1, Max: 1, Fn: fromEntries,
		Signature: "FROM_ENTRIES(list)", Summary: "The map of a list of {key, value}, or of pairs [key, value]; the last of equal keys counts.",
		Example: `FROM_ENTRIES(ZIP(["a", "b"], [1, 2]))`, Result: `{"a":1,"b":2}`},
	{Name: "HAS", Min: 2, Max: 2, Fn: needs(2, has),
		Signature: "HAS(map, key)", Summary: "Whether the map has the key, be its value null or not.",
		Example: `HAS({a: null}, "a")`, Result: "true"},
	{Name: "MERGE", Min: 1, Max: -1, Fn: merge,
		Signature: "MERGE(map, …)", Summary: "One map of the entries of all maps; the last of equal keys counts. Nulls are left out.",
		Example: `MERGE({a: 1, b: 1}, {b: 2}, {c: 3})`, Result: `{"a":1,"b":2,"c":3}`},
	{Name: "MERGE_DEEP", Min: 1, Max: -1, Fn: mergeDeep,
		Signature: "MERGE_DEEP(map, …)", Summary: "As MERGE, but where two maps have a map under the same key, these are merged too. Lists are not.",
		Example: `MERGE_DEEP({db: {host: "a", port: 1}}, {db: {port: 2}})`, Result: `{"db":{"host":"a","port":2}}`},
	{Name: "MAP_VALUES", Min: 2, Max: 2, Fn: mapValues, Loop: LoopEntries,
		Signature: "MAP_VALUES(map, ?v -> value)", Summary: "The map with what the function gives for each value, under the same keys; it may take the key as second parameter.",
		Example: `MAP_VALUES({a: 1, b: 2}, ?v -> ?v * 10)`, Result: `{"a":10,"b":20}`},
	{Name: "FILTER_ENTRIES", Min: 2, Max: 2, Fn: filterEntries, Loop: LoopEntries,
		Signature: "FILTER_ENTRIES(map, (?v, ?k) -> condition)", Summary: "The map with only those entries for which the condition holds; the function takes the value and, if wanted, the key.",
		Example: `FILTER_ENTRIES({a: 1, b: 0, c: 2}, ?v -> ?v > 0)`, Result: `{"a":1,"c":2}`},
	{Name: "PICK", Min: 2, Max: 2, Fn: needs(1, pick),
		Signature: "PICK(map, keys)", Summary: "The map with only those entries whose key is in the list of keys.",
		Example: `PICK({id: 7, name: "Ada", hash: "x"}, ["id", "name"])`, Result: `{"id":7,"name":"Ada"}`},
	{Name: "OMIT", Min: 2, Max: 2, Fn: needs(1, omit),
		Signature: "OMIT(map, keys)", Summary: "The map without those entries whose key is in the list of keys.",
		Example: `OMIT({id: 7, name: "Ada", hash: "x"}, ["hash"])`, Result: `{"id":7,"name":"Ada"}`},
}

// Keys of maps that functions make.
var (
	keyKey   = value.Text("key").Freeze()
	keyValue = value.Text("value").Freeze()
)

func keys(c *Call, args []value.Value) (value.Value, error) {
	return fromMap(c, "KEYS", args, func(k, _ value.Value) value.Value { return k })
}

func values(c *Call, args []value.Value) (value.Value, error) {
	return fromMap(c, "VALUES", args, func(_, v value.Value) value.Value { return v.Share() })
}

func entries(c *Call, args []value.Value) (value.Value, error) {
	return fromMap(c, "ENTRIES", args, func(k, v value.Value) value.Value {
		c.Meter.Work(mapWork)
		e := value.NewMap(c.Meter, 2)
		e.Set(c.Meter, keyKey, k)
		e.Set(c.Meter, keyValue, v.Share())
		return e.Value()
	})
}

// fromMap makes a list of what f gives for each entry.
func fromMap(c *Call, name string, args []value.Value, f func(k, v value.Value) value.Value) (value.Value, error) {
	in := read(c, name, args)
	t := in.table(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	c.Meter.Work(4 * t.Len())
	l := value.NewList(c.Meter, 0)
	for k, v := range t.All {
		l.Append(c.Meter, f(k, v))
	}
	return l.Value(), nil
}

func fromEntries(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "FROM_ENTRIES", args)
	l := in.list(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	t := value.NewMap(c.Meter, 0)
	for i := range l.Len() {
		c.Meter.Work(8)
		k, v, ok := entry(l.At(i))
		if !ok {
			in.fail(value.WrongKind, "takes a list of {key, value} or [key, value]; at index %d is %s", i, value.Describe(l.At(i)))
			return value.Null, in.err
		}
		if !k.IsText() {
			in.fail(value.WrongKind, "takes texts as keys; at index %d the key is %s%s", i, value.Describe(k), toTextHint(k))
			return value.Null, in.err
		}
		c.Meter.WorkBytes(len(k.Str()))
		t.Set(c.Meter, k, v.Share())
	}
	return t.Value(), nil
}

// entry reads {key, value} or [key, value].
func entry(e value.Value) (k, v value.Value, ok bool) {
	switch {
	case e.IsMap():
		k, ok = e.Map().Get("key")
		v, _ = e.Map().Get("value")
		return k, v, ok
	case e.IsList() && e.List().Len() == 2:
		return e.List().At(0), e.List().At(1), true
	}
	return k, v, false
}

func has(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "HAS", args)
	t, key := in.table(0, "the map"), in.text(1, "the key")
	if in.err != nil {
		return value.Null, in.err
	}
	c.Meter.WorkBytes(len(key))
	return value.Bool(t.Has(key)), nil
}

func merge(c *Call, args []value.Value) (value.Value, error) {
	return mergeAll(c, "MERGE", args, false)
}

func mergeDeep(c *Call, args []value.Value) (value.Value, error) {
	return mergeAll(c, "MERGE_DEEP", args, true)
}

func mergeAll(c *Call, name string, args []value.Value, deep bool) (value.Value, error) {
	in := read(c, name, args)
	var r *value.Map
	for i, a := range args {
		if a.IsNull() {
			continue
		}
		t := in.table(i, "a map")
		if in.err != nil {
			return value.Null, in.err
		}
		if r == nil {
			r = t.Clone(c.Meter)
			continue
		}
		c.mergeInto(r, t, deep)
	}
	if r == nil {
		return value.Null, nil
	}
	return r.Value(), nil
}

// mergeInto adds the entries of t to r, a map that is nobody else's. Its depth is that of the
// values, which is limited.
func (c *Call) mergeInto(r, t *value.Map, deep bool) {
	for k, v := range t.All {
		c.Meter.Work(4)
		c.Meter.WorkBytes(len(k.Str()))
		if deep && v.IsMap() {
			if old, _ := r.Lookup(c.Meter, k.Str()); old.IsMap() {
				inner := old.Map().Clone(c.Meter)
				c.mergeInto(inner, v.Map(), true)
				r.Set(c.Meter, k, inner.Value())
				continue
			}
		}
		r.Set(c.Meter, k, v.Share())
	}
}

// entryArgs reads the map and what the compiled loop made of its entries.
func entryArgs(c *Call, name string, args []value.Value) (*value.Map, *value.List, *value.Error) {
	in := read(c, name, args)
	t, made := in.table(0, "the map"), in.list(1, "the values")
	if in.err == nil && t.Len() != made.Len() {
		in.fail(value.BadArgument, "takes as many values as entries, not %d for %d", made.Len(), t.Len())
	}
	return t, made, in.err
}

func mapValues(c *Call, args []value.Value) (value.Value, error) {
	return fromEntriesOf(c, "MAP_VALUES", args, func(r *value.Map, k, _, made value.Value) { r.Set(c.Meter, k, made.Share()) })
}

func filterEntries(c *Call, args []value.Value) (value.Value, error) {
	return fromEntriesOf(c, "FILTER_ENTRIES", args, func(r *value.Map, k, v, made value.Value) {
		if made.Truthy() {
			r.Set(c.Meter, k, v.Share())
		}
	})
}

// fromEntriesOf makes a map of the entries of another, and of what the loop made of each.
func fromEntriesOf(c *Call, name string, args []value.Value, put func(r *value.Map, k, v, made value.Value)) (value.Value, error) {
	if args[0].IsNull() {
		return value.Null, nil
	}
	t, made, err := entryArgs(c, name, args)
	if err != nil {
		return value.Null, err
	}
	r := value.NewMap(c.Meter, 0)
	i := 0
	for k, v := range t.All {
		c.Meter.Work(8)
		c.Meter.WorkBytes(len(k.Str()))
		put(r, k, v, made.At(i))
		i++
	}
	return r.Value(), nil
}

func pick(c *Call, args []value.Value) (value.Value, error) {
	return keepKeys(c, "PICK", args, true)
}

func omit(c *Call, args []value.Value) (value.Value, error) {
	return keepKeys(c, "OMIT", args, false)
}

// keepKeys gives the entries whose key is, or is not, listed.
func keepKeys(c *Call, name string, args []value.Value, listed bool) (value.Value, error) {
	in := read(c, name, args)
	t, l := in.table(0, "the map"), in.list(1, "the keys")
	if in.err != nil {
		return value.Null, in.err
	}
	names := set{c: c}
	for i := range l.Len() {
		k := l.At(i)
		if !k.IsText() {
			in.fail(value.WrongKind, "takes a list of texts for argument 2, the keys; at index %d is %s%s", i, value.Describe(k), toTextHint(k))
			return value.Null, in.err
		}
		names.add(k)
	}
	r := value.NewMap(c.Meter, 0)
	for k, v := range t.All {
		c.Meter.Work(4)
		if names.has(k) == listed {
			r.Set(c.Meter, k, v.Share())
		}
	}
	return r.Value(), nil
}
