package lib

import (
	"strings"

	"ql/lang/value"
)

var listFunctions = []Builtin{
	{Name: "COUNT", Min: 1, Max: 2, Fn: count, Loop: LoopKeys,
		Signature: "COUNT(list[, ?x -> condition])", Summary: "How many elements a list, or entries a map, has; 0 for null. With a condition: for how many elements of a list it holds.",
		Example: `COUNT(["a", "b"])`, Result: "2"},
	{Name: "FIRST", Min: 1, Max: 2, Fn: first, Loop: LoopFirst,
		Signature: "FIRST(list[, ?x -> condition])", Summary: "The first element, or the first for which the condition holds; null if there is none.",
		Example: `FIRST([3, 1, 2])`, Result: "3"},
	{Name: "LAST", Min: 1, Max: 2, Fn: last, Loop: LoopLast,
		Signature: "LAST(list[, ?x -> condition])", Summary: "The last element, or the last for which the condition holds; null if there is none.",
		Example: `LAST([3, 1, 2])`, Result: "2"},
	{Name: "SLICE", Min: 2, Max: 3, Fn: needsSecond(slice),
		Signature: "SLICE(list, start[, end])", Summary: "The elements of a list, or the characters of a text, from start up to but without end, both counted from 0 or, if negative, from the end.",
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
	{Name: "SORT", Min: 1, Max: 2, Fn: sorted,
		Signature: "SORT(list[, order])", Summary: "The list in order: null first, then booleans, numbers, texts; lists element by element. With the order \"desc\" the other way round.",
		Example: `SORT([3, "b", null, 1, "a"])`, Result: `[null,1,3,"a","b"]`},
	{Name: "SORT_BY", Min: 2, Max: 3, Fn: sortBy, Loop: LoopKeys,
		Signature: "SORT_BY(list, ?x -> key[, order])", Summary: "The list in the order of the keys, or with \"desc\" the other way round. Equal keys leave the order as it was; a list as key sorts by several.",
		Example: `SORT_BY([{n: "a", p: 1}, {n: "b", p: 2}], ?x -> ?x.n, "desc")`, Result: `[{"n":"b","p":2},{"n":"a","p":1}]`},
	{Name: "MIN_BY", Min: 2, Max: 2, Fn: minBy, Loop: LoopKeys,
		Signature: "MIN_BY(list, ?x -> key)", Summary: "The element with the least key, the first of them; null for an empty list. An element whose key is null does not count.",
		Example: `MIN_BY([{n: "a", p: 2}, {n: "b", p: 1}], ?x -> ?x.p)`, Result: `{"n":"b","p":1}`},
	{Name: "MAX_BY", Min: 2, Max: 2, Fn: maxBy, Loop: LoopKeys,
		Signature: "MAX_BY(list, ?x -> key)", Summary: "The element with the greatest key, the first of them; null for an empty list. An element whose key is null does not count.",
		Example: `MAX_BY([{n: "a", p: 2}, {n: "b", p: 1}], ?x -> ?x.p)`, Result: `{"n":"a","p":2}`},
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
	{Name: "FLAT_MAP", Min: 2, Max: 2, Fn: flatMap, Loop: LoopKeys,
		Signature: "FLAT_MAP(list, ?x -> list)", Summary: "All elements of the lists that the function gives for each element, in one list; null gives none.",
		Example: `FLAT_MAP([{tags: ["a"]}, {tags: ["b", "c"]}], ?x -> ?x.tags)`, Result: `["a","b","c"]`},
	{Name: "INDEX_BY", Min: 2, Max: 2, Fn: indexBy, Loop: LoopKeys,
		Signature: "INDEX_BY(list, ?x -> key)", Summary: "A map from each key, as text, to the element that has it, the last of them.",
		Example: `INDEX_BY([{id: 7, n: "a"}, {id: 9, n: "b"}], ?x -> ?x.id)`, Result: `{"7":{"id":7,"n":"a"},"9":{"id":9,"n":"b"}}`},
	{Name: "GROUP_BY", Min: 2, Max: 2, Fn: groupBy, Loop: LoopKeys,
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

func count(c *Call, args []value.Value) (value.Value, error) {
	if len(args) > 1 {
		return countTrue(c, args)
	}
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

// countTrue counts the elements whose condition, which is their key, holds.
func countTrue(c *Call, args []value.Value) (value.Value, error) {
	_, conditions, err := loopArgs(c, "COUNT", args)
	if err != nil {
		return value.Null, err
	}
	c.Meter.Work(conditions.Len())
	n := 0
	for i := range conditions.Len() {
		if conditions.At(i).Truthy() {
			n++
		}
	}
	return value.Int(int64(n)), nil
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
	in := read(c, "SLICE", args)
	if args[0].IsText() {
		return in.sliceText(args[0].Str())
	}
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

// sliceText is SLICE of a text: its elements are its characters.
func (in *input) sliceText(s string) (value.Value, error) {
	n := in.characters(s)
	from, to := place(in.whole(1, "the start"), n), n
	if in.given(2) {
		to = place(in.whole(2, "the end"), n)
	}
	if in.err != nil {
		return value.Null, in.err
	}
	s = s[in.offset(s, int64(from)):]
	return in.Call.text(s[:in.offset(s, int64(max(from, to)-from))]), nil
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

// descending reads the word for the order.
func (in *input) descending(arg int) bool {
	if len(in.args) <= arg || in.args[arg].IsNull() {
		return false
	}
	switch word := in.text(arg, "the order"); strings.ToLower(word) {
	case "desc":
		return true
	case "asc":
	default:
		in.fail(value.BadArgument, "takes \"asc\" or \"desc\" for the order, not %s", value.Describe(in.args[arg]))
	}
	return false
}

// ordering is the order of values, or the other way round.
func ordering(c *Call, descending bool) func(a, b value.Value) int {
	if descending {
		return func(a, b value.Value) int { return value.Order(c.Meter, b, a) }
	}
	return func(a, b value.Value) int { return value.Order(c.Meter, a, b) }
}

func sorted(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "SORT", args)
	l, descending := in.list(0, ""), in.descending(1)
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
	sortStable(c, vs, 16, ordering(c, descending))
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
	in := read(c, "SORT_BY", args)
	order := ordering(c, in.descending(2))
	if in.err != nil {
		return value.Null, in.err
	}
	n := l.Len()
	c.Meter.Work(n)
	c.Meter.Alloc(n * 32)
	vs := make([]keyed, n)
	for i := range n {
		vs[i] = keyed{keys.At(i), l.At(i)}
	}
	sortStable(c, vs, 32, func(a, b keyed) int { return order(a.key, b.key) })
	r := l.Clone(c.Meter)
	for i, v := range vs {
		r.Set(c.Meter, i, v.element)
	}
	return r.Value(), nil
}

func minBy(c *Call, args []value.Value) (value.Value, error) { return extremeBy(c, "MIN_BY", args, -1) }

func maxBy(c *Call, args []value.Value) (value.Value, error) { return extremeBy(c, "MAX_BY", args, 1) }

// extremeBy returns the first element whose key is beyond all others on a side.
func extremeBy(c *Call, name string, args []value.Value, side int) (value.Value, error) {
	l, keys, err := loopArgs(c, name, args)
	if err != nil {
		return value.Null, err
	}
	best := -1
	for i := range l.Len() {
		c.Meter.Work(2)
		if keys.At(i).IsNull() {
			continue
		}
		if best < 0 || value.Order(c.Meter, keys.At(i), keys.At(best))*side > 0 {
			best = i
		}
	}
	if best < 0 {
		return value.Null, nil
	}
	return l.At(best).Share(), nil
}

func flatMap(c *Call, args []value.Value) (value.Value, error) {
	_, lists, err := loopArgs(c, "FLAT_MAP", args)
	if err != nil {
		return value.Null, err
	}
	r := value.NewList(c.Meter, 0)
	for i := range lists.Len() {
		c.Meter.Work(2)
		one := lists.At(i)
		switch {
		case one.IsNull():
		case one.IsList():
			l := one.List()
			c.Meter.Work(l.Len())
			for j := range l.Len() {
				r.Append(c.Meter, l.At(j).Share())
			}
		default:
			return value.Null, value.Errorf(value.WrongKind, "FLAT_MAP takes a function that gives lists, not %s: MAP(…) takes one that gives anything", value.Describe(one))
		}
	}
	return r.Value(), nil
}

// keyOf is a value as the key of a map.
func (c *Call) keyOf(v value.Value) (value.Value, *value.Error) {
	if err := c.printable(v); err != nil {
		return value.Null, err
	}
	return value.ToText(c.Meter, v)
}

func indexBy(c *Call, args []value.Value) (value.Value, error) {
	l, keys, err := loopArgs(c, "INDEX_BY", args)
	if err != nil {
		return value.Null, err
	}
	r := value.NewMap(c.Meter, 0)
	for i := range l.Len() {
		c.Meter.Work(10)
		key, err := c.keyOf(keys.At(i))
		if err != nil {
			return value.Null, err
		}
		r.Set(c.Meter, key, l.At(i).Share())
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
		key, err := c.keyOf(keys.At(i))
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
