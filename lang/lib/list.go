package lib

import (
	"ql/lang/value"
)

var listFunctions = []Builtin{
	{Name: "COUNT", Min: 1, Max: 1, Fn: count,
		Signature: "COUNT(list)", Summary: "How many elements a list, or entries a map, has; 0 for null.",
		Example: `COUNT(["a", "b"])`, Result: "2"},
	{Name: "FIRST", Min: 1, Max: 1, Fn: first,
		Signature: "FIRST(list)", Summary: "The first element; null if there is none.",
		Example: `FIRST([3, 1, 2])`, Result: "3"},
	{Name: "LAST", Min: 1, Max: 1, Fn: last,
		Signature: "LAST(list)", Summary: "The last element; null if there is none.",
		Example: `LAST([3, 1, 2])`, Result: "2"},
	{Name: "SLICE", Min: 2, Max: 3, Fn: needsSecond(slice),
		Signature: "SLICE(list, start[, end])", Summary: "The elements from start up to but without end, both counted from 0 or, if negative, from the end of the list.",
		Example: `SLICE(["a", "b", "c", "d"], 1, 3)`, Result: `["b","c"]`},
	{Name: "INDEX_OF", Min: 2, Max: 2, Fn: indexOf,
		Signature: "INDEX_OF(list, value)", Summary: "At which index, counted from 0, the value first is; null where it is not.",
		Example: `INDEX_OF(["a", "b"], "b")`, Result: "1"},
	{Name: "INSERT_AT", Min: 3, Max: 3, Fn: needsSecond(insertAt),
		Signature: "INSERT_AT(list, index, value)", Summary: "The list with one more element, put before the one at the index.",
		Example: `INSERT_AT(["a", "c"], 1, "b")`, Result: `["a","b","c"]`},
	{Name: "REMOVE_AT", Min: 2, Max: 2, Fn: needsSecond(removeAt),
		Signature: "REMOVE_AT(list, index)", Summary: "The list without the element at the index, which there must be.",
		Example: `REMOVE_AT(["a", "b", "c"], -1)`, Result: `["a","b"]`},
	{Name: "SORT", Min: 1, Max: 1, Fn: sorted,
		Signature: "SORT(list)", Summary: "The list in order: null first, then booleans, numbers, texts; lists element by element.",
		Example: `SORT([3, "b", null, 1, "a"])`, Result: `[null,1,3,"a","b"]`},
	{Name: "SORT_BY", Min: 2, Max: 2, Fn: sortBy, Loop: LoopSortBy,
		Signature: "SORT_BY(list, ?x -> key)", Summary: "The list in the order of the keys. Equal keys leave the order as it was; a list as key sorts by several.",
		Example: `SORT_BY([{n: "b", p: 1}, {n: "a", p: 2}], ?x -> -?x.p)`, Result: `[{"n":"a","p":2},{"n":"b","p":1}]`},
	{Name: "REVERSE", Min: 1, Max: 1, Fn: reverse,
		Signature: "REVERSE(list)", Summary: "The list from its end to its start.",
		Example: `REVERSE([1, 2, 3])`, Result: "[3,2,1]"},
	{Name: "UNIQUE", Min: 1, Max: 1, Fn: unique,
		Signature: "UNIQUE(list)", Summary: "The list without elements that stand in it earlier.",
		Example: `UNIQUE([1, 2, 1, 3, 2])`, Result: "[1,2,3]"},
	{Name: "MAP", Min: 2, Max: 2, Loop: LoopMap,
		Signature: "MAP(list, ?x -> value)", Summary: "The list of the values that the function gives for each element.",
		Example: `MAP([1, 2, 3], ?x -> ?x * 2)`, Result: "[2,4,6]"},
	{Name: "FILTER", Min: 2, Max: 2, Loop: LoopFilter,
		Signature: "FILTER(list, ?x -> condition)", Summary: "The elements for which the condition holds.",
		Example: `FILTER([1, 2, 3, 4], ?x -> ?x % 2 = 0)`, Result: "[2,4]"},
	{Name: "REDUCE", Min: 3, Max: 3, Loop: LoopReduce,
		Signature: "REDUCE(list, (?sum, ?x) -> value, start)", Summary: "One value made of all elements: the function takes what it gave last, start at first, and the next element.",
		Example: `REDUCE([1, 2, 3], (?sum, ?x) -> ?sum + ?x, 10)`, Result: "16"},
	{Name: "GROUP_BY", Min: 2, Max: 2, Fn: groupBy, Loop: LoopGroupBy,
		Signature: "GROUP_BY(list, ?x -> key)", Summary: "A map from each key, as text, to the list of the elements that have it.",
		Example: `GROUP_BY([1, 2, 3], ?x -> CASE WHEN ?x % 2 = 0 THEN "even" ELSE "odd" END)`, Result: `{"odd":[1,3],"even":[2]}`},
	{Name: "ANY", Min: 1, Max: 2, Fn: anyTrue, Loop: LoopAny,
		Signature: "ANY(list[, ?x -> condition])", Summary: "Whether the condition holds for at least one element; without one, whether an element is true.",
		Example: `ANY([1, 5], ?x -> ?x > 3)`, Result: "true"},
	{Name: "ALL", Min: 1, Max: 2, Fn: allTrue, Loop: LoopAll,
		Signature: "ALL(list[, ?x -> condition])", Summary: "Whether the condition holds for all elements; without one, whether all are true.",
		Example: `ALL([1, 5], ?x -> ?x > 3)`, Result: "false"},
	{Name: "RANGE", Min: 2, Max: 3, Fn: needs(2, rangeOf),
		Signature: "RANGE(from, to[, step])", Summary: "The whole numbers from the first to the last, both included, in steps of 1 or as given.",
		Example: `RANGE(10, 0, -5)`, Result: "[10,5,0]"},
	{Name: "FLATTEN", Min: 1, Max: 1, Fn: flatten,
		Signature: "FLATTEN(list)", Summary: "The list with the elements of its lists in place of them, one level deep.",
		Example: `FLATTEN([1, [2, 3], [[4]]])`, Result: "[1,2,3,[4]]"},
	{Name: "CHUNK", Min: 2, Max: 2, Fn: needsSecond(chunk),
		Signature: "CHUNK(list, size)", Summary: "The list cut into lists of so many elements; the last may have fewer.",
		Example: `CHUNK([1, 2, 3, 4, 5], 2)`, Result: "[[1,2],[3,4],[5]]"},
	{Name: "ZIP", Min: 2, Max: 2, Fn: zip,
		Signature: "ZIP(list, list)", Summary: "The list of the pairs of elements that have the same index, as far as both lists go.",
		Example: `ZIP(["a", "b"], [1, 2])`, Result: `[["a",1],["b",2]]`},
	{Name: "INTERSECT", Min: 2, Max: 2, Fn: intersect,
		Signature: "INTERSECT(list, list)", Summary: "The elements of the first list that are in the second too, each once.",
		Example: `INTERSECT([1, 2, 3], [3, 1, 9])`, Result: "[1,3]"},
	{Name: "EXCEPT", Min: 2, Max: 2, Fn: except,
		Signature: "EXCEPT(list, list)", Summary: "The elements of the first list that are not in the second, each once.",
		Example: `EXCEPT([1, 2, 3], [3, 1, 9])`, Result: "[2]"},
	{Name: "COLUMN", Min: 2, Max: 2, Fn: needsSecond(column),
		Signature: "COLUMN(list, key)", Summary: "The list of what the maps of a list have under the key; null where one has none.",
		Example: `COLUMN([{name: "Ada"}, {name: "Bob"}], "name")`, Result: `["Ada","Bob"]`},
}

func count(_ *Call, args []value.Value) (value.Value, error) {
	switch v := args[0]; v.Kind() {
	case value.KindNull:
		return value.Int(0), nil
	case value.KindList:
		return value.Int(int64(v.List().Len())), nil
	case value.KindMap:
		return value.Int(int64(v.Map().Len())), nil
	case value.KindText:
		return value.Null, value.Errorf(value.WrongKind, "COUNT takes a list or a map, not %s; LENGTH(…) counts the characters of a text", value.Describe(v))
	}
	return value.Null, value.Errorf(value.WrongKind, "COUNT takes a list or a map, not %s", value.Describe(args[0]))
}

func first(c *Call, args []value.Value) (value.Value, error) {
	return element(c, "FIRST", args, func(int) int { return 0 })
}

func last(c *Call, args []value.Value) (value.Value, error) {
	return element(c, "LAST", args, func(n int) int { return n - 1 })
}

func element(c *Call, name string, args []value.Value, which func(n int) int) (value.Value, error) {
	in := read(c, name, args)
	l := in.list(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	if l.Len() == 0 {
		return value.Null, nil
	}
	return l.At(which(l.Len())).Share(), nil
}

// place turns an index that may count from the end into one from 0 to n.
func place(i int64, n int) int {
	if i < 0 {
		i = max(0, i+int64(n))
	}
	return int(min(i, int64(n)))
}

func slice(c *Call, args []value.Value) (value.Value, error) {
	if args[0].IsText() {
		return value.Null, value.Errorf(value.WrongKind, "SLICE takes a list, not %s; SUBSTRING(…) gives a part of a text", value.Describe(args[0]))
	}
	in := read(c, "SLICE", args)
	l := in.list(0, "the list")
	from, to := place(in.whole(1, "the start"), l.Len()), l.Len()
	if in.given(2) {
		to = place(in.whole(2, "the end"), l.Len())
	}
	if in.err != nil {
		return value.Null, in.err
	}
	to = max(from, to)
	c.Meter.Work(to - from)
	return l.Slice(c.Meter, from, to).Value(), nil
}

func indexOf(c *Call, args []value.Value) (value.Value, error) {
	if args[0].IsText() {
		return value.Null, value.Errorf(value.WrongKind, "INDEX_OF takes a list, not %s; POSITION(…) finds a part of a text", value.Describe(args[0]))
	}
	in := read(c, "INDEX_OF", args)
	l := in.list(0, "the list")
	if in.err != nil {
		return value.Null, in.err
	}
	for i := range l.Len() {
		c.Meter.Work(1)
		if value.Equal(c.Meter, l.At(i), args[1]) {
			return value.Int(int64(i)), nil
		}
	}
	return value.Null, nil
}

// existing reads the index of an element that must be there, or up to extra
// places behind the last.
func (in *input) existing(i, n, extra int) int {
	at := in.whole(i, "the index")
	if in.err != nil {
		return 0
	}
	from := at
	if at < 0 {
		from += int64(n)
	}
	switch {
	case from >= 0 && from < int64(n+extra):
		return int(from)
	case n+extra == 0:
		in.fail(value.BadIndex, "finds no index %d: the list is empty", at)
	default:
		in.fail(value.BadIndex, "finds no index %d, only 0 to %d", at, n+extra-1)
	}
	return 0
}

func insertAt(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "INSERT_AT", args)
	l := in.list(0, "the list")
	at := in.existing(1, l.Len(), 1)
	if in.err != nil {
		return value.Null, in.err
	}
	c.Meter.Work(2 * l.Len())
	r := l.Slice(c.Meter, 0, at)
	r.Append(c.Meter, args[2].Share())
	for i := at; i < l.Len(); i++ {
		r.Append(c.Meter, l.At(i).Share())
	}
	return r.Value(), nil
}

func removeAt(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "REMOVE_AT", args)
	l := in.list(0, "the list")
	at := in.existing(1, l.Len(), 0)
	if in.err != nil {
		return value.Null, in.err
	}
	c.Meter.Work(l.Len())
	r := l.Clone(c.Meter)
	r.Remove(c.Meter, at)
	return r.Value(), nil
}

func sorted(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "SORT", args)
	l := in.list(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	n := l.Len()
	c.Meter.Work(n)
	c.Meter.Alloc(n * 16)
	vs := make([]value.Value, n)
	for i := range n {
		vs[i] = l.At(i)
	}
	sortStable(c, vs, 16, func(a, b value.Value) int { return value.Order(c.Meter, a, b) })
	r := l.Clone(c.Meter)
	for i, v := range vs {
		r.Set(c.Meter, i, v)
	}
	return r.Value(), nil
}

// keyed is an element and what it is sorted by.
type keyed struct{ key, element value.Value }

// loopArgs reads the list and the keys that the compiled loop made of it.
func loopArgs(c *Call, name string, args []value.Value) (list, keys *value.List, err *value.Error) {
	in := read(c, name, args)
	list, keys = in.list(0, "the list"), in.list(1, "the keys")
	if in.err == nil && list.Len() != keys.Len() {
		in.fail(value.BadArgument, "takes as many keys as elements, not %d for %d", keys.Len(), list.Len())
	}
	return list, keys, in.err
}

func sortBy(c *Call, args []value.Value) (value.Value, error) {
	l, keys, err := loopArgs(c, "SORT_BY", args)
	if err != nil {
		return value.Null, err
	}
	n := l.Len()
	c.Meter.Work(n)
	c.Meter.Alloc(n * 32)
	vs := make([]keyed, n)
	for i := range n {
		vs[i] = keyed{keys.At(i), l.At(i)}
	}
	sortStable(c, vs, 32, func(a, b keyed) int { return value.Order(c.Meter, a.key, b.key) })
	r := l.Clone(c.Meter)
	for i, v := range vs {
		r.Set(c.Meter, i, v.element)
	}
	return r.Value(), nil
}

func groupBy(c *Call, args []value.Value) (value.Value, error) {
	l, keys, err := loopArgs(c, "GROUP_BY", args)
	if err != nil {
		return value.Null, err
	}
	// The groups are put into the result when they are complete: a container
	// must not change once another holds it.
	place := value.NewMap(c.Meter, 0)
	var names []value.Value
	var groups []*value.List
	for i := range l.Len() {
		c.Meter.Work(10)
		if err := c.printable(keys.At(i)); err != nil {
			return value.Null, err
		}
		key, err := value.ToText(c.Meter, keys.At(i))
		if err != nil {
			return value.Null, err
		}
		at, known := place.Lookup(c.Meter, key.Str())
		if !known {
			at = value.Int(int64(len(groups)))
			place.Set(c.Meter, key, at)
			c.Meter.Work(listWork + mapWork)
			c.Meter.Alloc(48) // for the places in names and groups
			names = append(names, key)
			groups = append(groups, value.NewList(c.Meter, 0))
		}
		groups[at.Int64()].Append(c.Meter, l.At(i).Share())
	}
	r := value.NewMap(c.Meter, len(groups))
	for i, g := range groups {
		r.Set(c.Meter, names[i], g.Value())
	}
	return r.Value(), nil
}
