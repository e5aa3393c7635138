package lib

import (
	"ql/lang/value"
)

var patternFunctions = []Builtin{
	{Name: "MATCHES", Min: 2, Max: 2, Fn: needs(2, matches),
		Signature: "MATCHES(text, pattern)", Summary: "Whether the pattern, a regular expression (RE2), matches somewhere in the text; ^ and $ stand for its start and end.",
		Example: `MATCHES("order 4711", '\d{4}$')`, Result: "true"},
	{Name: "FIND", Min: 2, Max: 2, Fn: needs(2, find), Loop: LoopFirst, Plain: true,
		Signature: "FIND(text, pattern)", Summary: "The first match as {match, start, groups, names}: its text, its first character counted from 0, and what its groups took, by order and by name. Null where nothing matches. FIND(list, ?x -> condition) is FIRST of a list.",
		Example: `FIND("order 4711", '(\w+) (?P<id>\d+)').names.id`, Result: "4711"},
	{Name: "FIND_ALL", Min: 2, Max: 2, Fn: needs(2, findAll),
		Signature: "FIND_ALL(text, pattern)", Summary: "The list of all matches, each as FIND gives it.",
		Example: `COLUMN(FIND_ALL("a1 b22", '\d+'), "match")`, Result: `["1","22"]`},
	{Name: "REPLACE_PATTERN", Min: 3, Max: 3, Fn: needs(3, replacePattern),
		Signature: "REPLACE_PATTERN(text, pattern, replacement)", Summary: "The text with every match replaced; $1 or ${name} in the replacement is what that group took, $0 the whole match, $$ a dollar sign.",
		Example: `REPLACE_PATTERN("2026-06-01", '(\d+)-(\d+)-(\d+)', "$3.$2.$1")`, Result: "01.06.2026"},
	{Name: "SPLIT_PATTERN", Min: 2, Max: 2, Fn: needs(2, splitPattern),
		Signature: "SPLIT_PATTERN(text, pattern)", Summary: "The list of the parts between the matches. An empty text has no parts.",
		Example: `SPLIT_PATTERN("a, b;c", '[,;]\s*')`, Result: `["a","b","c"]`},
	{Name: "ESCAPE_PATTERN", Min: 1, Max: 1, Fn: needs(1, escapePattern),
		Signature: "ESCAPE_PATTERN(text)", Summary: "A pattern that matches just this text: for texts from outside that become a part of a pattern.",
		Example: `ESCAPE_PATTERN("1+1")`, Result: `1\+1`},
}

// matchKeys are the keys of FIND's map.
var matchKeys = [4]value.Value{value.Text("match").Freeze(), value.Text("start").Freeze(), value.Text("groups").Freeze(), value.Text("names").Freeze()}

func matches(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "MATCHES", args)
	s, p := in.text(0, "the text"), in.pattern(1)
	if in.err != nil {
		return value.Null, in.err
	}
	return value.Bool(c.search(p, s, false) != nil), nil
}

func find(c *Call, args []value.Value) (value.Value, error) {
	if args[0].IsList() {
		return value.Null, value.Errorf(value.WrongKind, "FIND takes a text and a pattern, or a list and a condition as in FIND(?list, ?x -> ?x > 1), not a list and %s", value.Describe(args[1]))
	}
	in := read(c, "FIND", args)
	s, p := in.text(0, "the text"), in.pattern(1)
	if in.err != nil {
		return value.Null, in.err
	}
	at := c.search(p, s, true)
	if at == nil {
		return value.Null, nil
	}
	return c.match(p, c.groupNames(p), args[0], at, c.characters(s[:at[0]])), nil
}

// noNames is the map of the names of groups where none has one.
var noNames = value.NewMap(nil, 0).Value().Freeze()

// groupNames returns the names of a pattern's groups as texts of the script, null
// for groups without, or nil where none has one. Those of the pattern are shared by all scripts and weigh
// nothing, so that no script may hold on to them.
func (c *Call) groupNames(p *pattern) []value.Value {
	if !p.named {
		return nil
	}
	names := make([]value.Value, len(p.groups))
	for i, name := range p.groups {
		if !name.IsNull() {
			names[i] = c.text(name.Str())
		}
	}
	return names
}

// match returns the map of one match in a text, which starts at the given character.
func (c *Call) match(p *pattern, groupNames []value.Value, text value.Value, at []int, start int) value.Value {
	s := text.Str()
	c.Meter.Work(2*mapWork + listWork + 10*len(p.groups))
	var few [8]value.Value
	taken, names := few[:0], noNames
	for i := range p.groups {
		v := value.Null
		if from, to := at[2*i+2], at[2*i+3]; from >= 0 {
			v = c.text(s[from:to])
		}
		taken = append(taken, v)
	}
	groups := value.NewListFrom(c.Meter, taken)
	if p.named {
		byName := value.NewMap(c.Meter, 0)
		for i, name := range groupNames {
			if !name.IsNull() {
				byName.Set(c.Meter, name, groups.At(i))
			}
		}
		names = byName.Value()
	}
	if at[1]-at[0] < len(s) {
		text = c.text(s[at[0]:at[1]])
	}
	return value.NewRecord(c.Meter, matchKeys[:], []value.Value{text, value.Int(int64(start)), groups.Value(), names}).Value()
}

func findAll(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "FIND_ALL", args)
	s, p := in.text(0, "the text"), in.patternOfAll(1)
	if in.err != nil {
		return value.Null, in.err
	}
	// The first matches are put into a list when it is known whether they are all.
	var few [8]value.Value
	first := few[:0]
	var l *value.List
	counted, characters := 0, 0
	var names []value.Value
	for at := range c.matches(p, s) {
		if len(first) == 0 {
			names = c.groupNames(p)
		}
		characters += c.characters(s[counted:at[0]])
		counted = at[0]
		match := c.match(p, names, args[0], at, characters)
		switch {
		case len(first) < len(few):
			first = append(first, match)
			continue
		case l == nil:
			l = value.NewList(c.Meter, 2*len(few))
			for _, m := range first {
				l.Append(c.Meter, m)
			}
		}
		l.Append(c.Meter, match)
	}
	if l == nil {
		l = value.NewListFrom(c.Meter, first)
	}
	return l.Value(), nil
}

func splitPattern(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "SPLIT_PATTERN", args)
	s, p := in.text(0, "the text"), in.patternOfAll(1)
	if in.err != nil {
		return value.Null, in.err
	}
	l := value.NewList(c.Meter, 0)
	if s == "" {
		return l.Value(), nil
	}
	from := 0
	for at := range c.matches(p, s) {
		// An empty match cuts between two characters, not at the ends.
		if at[1] == at[0] && (at[0] == 0 || at[0] == len(s)) {
			continue
		}
		l.Append(c.Meter, c.text(s[from:at[0]]))
		from = at[1]
	}
	l.Append(c.Meter, c.text(s[from:]))
	return l.Value(), nil
}

func replacePattern(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "REPLACE_PATTERN", args)
	s, p, to := in.text(0, "the text"), in.patternOfAll(1), in.text(2, "the replacement")
	if in.err != nil {
		return value.Null, in.err
	}
	var few [4]replacementPart
	parts := in.replacement(few[:0], p, to)
	if in.err != nil {
		return value.Null, in.err
	}
	out := buffer{c: c, b: c.built[:0]}
	from := 0
	for at := range c.matches(p, s) {
		out.add(s[from:at[0]])
		from = at[1]
		for _, r := range parts {
			c.Meter.Work(2)
			if r.group < 0 {
				out.add(r.text)
			} else if i, j := at[2*r.group], at[2*r.group+1]; i >= 0 {
				c.Meter.WorkBytes(j - i)
				out.add(s[i:j])
			}
		}
	}
	if from == 0 && len(out.b) == 0 {
		return args[0], nil
	}
	out.add(s[from:])
	return out.value(), nil
}

// escapePattern puts a backslash before what has a meaning in patterns.
func escapePattern(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "ESCAPE_PATTERN", args)
	in.text(0, "")
	if in.err != nil {
		return value.Null, in.err
	}
	return patternEscapes.escape(c, args[0]), nil
}

var patternEscapes = func() *Escapes {
	to := map[byte]string{}
	for _, b := range []byte(`\.+*?()|[]{}^$`) {
		to[b] = `\` + string(rune(b))
	}
	return escapesOf(to)
}()
