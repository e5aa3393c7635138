package lib

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"ql/lang/value"
)

var yamlFunctions = []Builtin{
	{Name: "TO_YAML", Min: 1, Max: 1, Fn: toYAML,
		Signature: "TO_YAML(value)", Summary: "The value as YAML text, keys in the order of the map. Texts that could be read as something else stand in quotes.",
		Example: `LINES(TO_YAML({name: "Ada", tags: ["a", "no"]}))`, Result: `["name: Ada","tags:","  - a","  - \"no\""]`},
	{Name: "FROM_YAML", Min: 1, Max: 2, Fn: needs(1, fromYAML),
		Signature: "FROM_YAML(text[, all])", Summary: "The value that a YAML 1.2 text writes: yes and no are texts, keys too. With TRUE, the list of all its documents. Error bad_yaml where it is no YAML.",
		Example: `FROM_YAML("name: Ada\ntags: [a, no]")`, Result: `{"name":"Ada","tags":["a","no"]}`},
}

// deepestYAML is how deep a document may be without a meter.
const deepestYAML = 1000

// mostAliased is how many values the aliases of a document may stand for: a few
// lines of them could stand for billions.
const mostAliased = 100_000

func fromYAML(c *Call, args []value.Value) (value.Value, error) {
	in := read(c, "FROM_YAML", args)
	s, all := in.text(0, "the text"), false
	if in.given(1) {
		all = in.flag(1, "whether all documents are read")
	}
	if in.err != nil {
		return value.Null, in.err
	}
	v, err := yamlDecode(c, s, all)
	if err != nil {
		return value.Null, err
	}
	return v, nil
}

// flag reads a boolean.
func (in *input) flag(i int, what string) bool {
	if in.err != nil {
		return false
	}
	if !in.args[i].IsBool() {
		in.wrongKind(i, what, "TRUE or FALSE", "")
		return false
	}
	return in.args[i].IsTrue()
}

func yamlDecode(c *Call, s string, all bool) (value.Value, *value.Error) {
	r := yamlReader{c: c, s: s}
	nodes := r.nodes()
	// The library makes its tree before we see any of it.
	c.Meter.Alloc(nodes*yamlNodeSize + 4*len(s))
	c.Meter.Work(yamlStartWork + nodes*yamlNodeWork)
	d := yaml.NewDecoder(&chargedReader{c: c, s: s, cost: yamlByteWork})
	documents := value.NewList(c.Meter, 0)
	for {
		var doc yaml.Node
		err := decodeYAML(d, &doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return value.Null, r.refusal(err)
		}
		if documents.Len() == 1 && !all {
			return value.Null, value.Errorf(value.BadYAML, "this YAML has several documents, the second at line %d: FROM_YAML(text, TRUE) gives the list of all", doc.Line)
		}
		v, bad := r.value(&doc, 0)
		if bad != nil {
			return value.Null, bad
		}
		documents.Append(c.Meter, v)
	}
	switch {
	case all:
		return documents.Value(), nil
	case documents.Len() == 0:
		return value.Null, nil
	}
	return documents.At(0), nil
}

// decodeYAML reads a document. The library panics where it finds itself in a state
// that it does not know, which strange texts bring it to.
func decodeYAML(d *yaml.Decoder, doc *yaml.Node) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *value.LimitError:
			panic(p)
		default:
			err = errors.New("yaml: the text is malformed")
		}
	}()
	return d.Decode(doc)
}

// What the library needs: to start, for a node with its share of the lists and the
// texts in it, and for a byte.
const (
	yamlStartWork = 400
	yamlNodeSize  = 224
	yamlNodeWork  = 60
	yamlByteWork  = 5
)

// chargedReader gives out a text, charging units of fuel for every byte before.
type chargedReader struct {
	c    *Call
	s    string
	cost int
}

func (r *chargedReader) Read(p []byte) (int, error) {
	if r.s == "" {
		return 0, io.EOF
	}
	n := copy(p, r.s)
	r.c.Meter.Work(n * r.cost)
	r.s = r.s[n:]
	return n, nil
}

// yamlReader makes values of the library's nodes.
type yamlReader struct {
	c       *Call
	s       string
	aliases []*yaml.Node // that are being followed
	aliased int
}

// nodes returns how many nodes the text has at most. Each one is brought by an
// indicator that stands where it can be one, which brings two at most.
func (r *yamlReader) nodes() int {
	n := 0
	r.c.chunks(len(r.s), part, 16, func(from, to int) {
		for i := from; i < to; i++ {
			switch r.s[i] {
			case ',', '[', '{':
				n++
			case '-', '?', ':':
				if r.ends(i+1) || r.s[i] == ':' && i > 0 && strings.IndexByte(`"'}]`, r.s[i-1]) >= 0 {
					n++
				}
			}
		}
	})
	return 2*n + 4
}

// ends reports whether an indicator may end before place i.
func (r *yamlReader) ends(i int) bool {
	return i >= len(r.s) || r.s[i] <= ' ' || r.s[i] >= 0x7F || strings.IndexByte(",[]{}?:-#\"'&*!|>%@`", r.s[i]) >= 0
}

// refusal makes our error of the library's.
func (r *yamlReader) refusal(err error) *value.Error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line, hint := 0, ""
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		number, what, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			line, message = n, what
		}
	}
	if line == 0 {
		return value.Errorf(value.BadYAML, "this is not YAML: %s", message)
	}
	// A mark may be on the line before.
	for n, text := range r.lines(line - 1) {
		if strings.HasPrefix(strings.TrimLeft(text, " "), "\t") {
			hint = fmt.Sprintf("; line %d starts with a tab, and YAML indents with spaces", line-1+n)
			break
		}
	}
	return value.Errorf(value.BadYAML, "this is not YAML: %s, at line %d%s", message, line, hint)
}

// lines returns three lines, from the one of that number.
func (r *yamlReader) lines(first int) []string {
	r.c.scanned(len(r.s))
	rest := r.s
	for range first - 1 {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	lines := strings.SplitN(rest, "\n", 4)
	return lines[:min(3, len(lines))]
}

func (r *yamlReader) fail(n *yaml.Node, format string, args ...any) *value.Error {
	return value.Errorf(value.BadYAML, "this YAML cannot be read: %s at line %d, column %d", fmt.Sprintf(format, args...), n.Line, n.Column)
}

func (r *yamlReader) value(n *yaml.Node, depth int) (value.Value, *value.Error) {
	r.c.Meter.Work(4)
	if len(r.aliases) > 0 {
		if r.aliased++; r.aliased > mostAliased {
			return value.Null, r.fail(n, "its aliases stand for more than %d values, the last", mostAliased)
		}
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return r.value(n.Content[0], depth)
	case yaml.AliasNode:
		return r.alias(n, func(to *yaml.Node) (value.Value, *value.Error) { return r.value(to, depth) })
	case yaml.SequenceNode:
		return r.sequence(n, depth+1)
	case yaml.MappingNode:
		return r.mapping(n, depth+1)
	}
	return r.scalar(n)
}

// alias calls f with what an alias stands for.
func (r *yamlReader) alias(n *yaml.Node, f func(*yaml.Node) (value.Value, *value.Error)) (value.Value, *value.Error) {
	r.c.Meter.Work(len(r.aliases) + 1)
	for _, open := range r.aliases {
		if open == n.Alias {
			return value.Null, r.fail(n, "*%s stands inside what it stands for,", n.Value)
		}
	}
	r.aliases = append(r.aliases, n.Alias)
	v, err := f(n.Alias)
	r.aliases = r.aliases[:len(r.aliases)-1]
	return v, err
}

func (r *yamlReader) deep(depth int) {
	most := deepestYAML
	if r.c.Meter != nil {
		most = r.c.Meter.Nesting
	}
	if depth > most {
		panic(&value.LimitError{Name: "nesting", Max: int64(most)})
	}
}

func (r *yamlReader) sequence(n *yaml.Node, depth int) (value.Value, *value.Error) {
	r.deep(depth)
	if n.Tag != "!!seq" {
		return value.Null, r.unknownTag(n)
	}
	r.c.Meter.Work(listWork)
	l := value.NewList(r.c.Meter, r.c.elements(uint64(len(n.Content))))
	for _, e := range n.Content {
		v, err := r.value(e, depth)
		if err != nil {
			return value.Null, err
		}
		l.Append(r.c.Meter, v)
	}
	return l.Value(), nil
}

func (r *yamlReader) mapping(n *yaml.Node, depth int) (value.Value, *value.Error) {
	r.deep(depth)
	if n.Tag != "!!map" {
		return value.Null, r.unknownTag(n)
	}
	r.c.Meter.Work(mapWork)
	t := value.NewMap(r.c.Meter, 0)
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, e := n.Content[i], n.Content[i+1]
		if k.Kind == yaml.ScalarNode && k.Tag == "!!merge" {
			merges = append(merges, e)
			continue
		}
		key, err := r.key(k)
		if err != nil {
			return value.Null, err
		}
		if _, twice := t.Lookup(r.c.Meter, key.Str()); twice {
			return value.Null, r.fail(k, "the key %s stands there twice, the second time", value.Quote(key.Str()))
		}
		v, err := r.value(e, depth)
		if err != nil {
			return value.Null, err
		}
		t.Set(r.c.Meter, key, v)
	}
	for _, m := range merges {
		if err := r.merge(t, m, depth); err != nil {
			return value.Null, err
		}
	}
	return t.Value(), nil
}

// key reads a key, which is a text whatever it looks like.
func (r *yamlReader) key(n *yaml.Node) (value.Value, *value.Error) {
	switch n.Kind {
	case yaml.ScalarNode:
		return r.c.text(n.Value), nil
	case yaml.AliasNode:
		return r.alias(n, r.key)
	}
	return value.Null, r.fail(n, "a key that is a list or a map: keys are texts,")
}

// merge adds what << brings to a map: a map, or several in a list. What is there
// already stays.
func (r *yamlReader) merge(t *value.Map, n *yaml.Node, depth int) *value.Error {
	v, err := r.value(n, depth)
	if err != nil {
		return err
	}
	from := []value.Value{v}
	if v.IsList() {
		from = from[:0]
		r.c.Meter.Alloc(16 * v.List().Len())
		for i := range v.List().Len() {
			from = append(from, v.List().At(i))
		}
	}
	for _, m := range from {
		if !m.IsMap() {
			return r.fail(n, "<< takes a map or a list of maps, found %s", value.Describe(m))
		}
		for k, e := range m.Map().All {
			r.c.Meter.Work(4)
			if _, has := t.Lookup(r.c.Meter, k.Str()); !has {
				t.Set(r.c.Meter, k, e.Share())
			}
		}
	}
	return nil
}

func (r *yamlReader) unknownTag(n *yaml.Node) *value.Error {
	return r.fail(n, "the tag %s, which means nothing here,", value.Quote(n.Tag))
}

// scalar reads what is no list and no map by the core schema of YAML 1.2.
func (r *yamlReader) scalar(n *yaml.Node) (value.Value, *value.Error) {
	tag := ""
	if n.Style&yaml.TaggedStyle != 0 {
		tag = n.Tag
	}
	quoted := n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	switch tag {
	case "":
		if quoted {
			return r.c.text(n.Value), nil
		}
	case "!!str", "!!timestamp":
		return r.c.text(n.Value), nil
	case "!!binary":
		return r.binary(n)
	case "!!int", "!!float", "!!bool", "!!null":
	default:
		return value.Null, r.unknownTag(n)
	}
	v, plain, err := r.plain(n)
	if err != nil {
		return value.Null, err
	}
	if tag != "" && (plain || !fitsTag(tag, v)) {
		return value.Null, r.fail(n, "%s, which is no %s,", value.Quote(n.Value), strings.TrimPrefix(tag, "!!"))
	}
	return v, nil
}

func fitsTag(tag string, v value.Value) bool {
	switch tag {
	case "!!int":
		return v.IsInt()
	case "!!float":
		return v.IsNumber()
	case "!!bool":
		return v.IsBool()
	}
	return v.IsNull()
}

// plain reads a text without quotes: null, a boolean, a number, or else a text.
func (r *yamlReader) plain(n *yaml.Node) (v value.Value, isText bool, err *value.Error) {
	s := n.Value
	switch s {
	case "", "~", "null", "Null", "NULL":
		return value.Null, false, nil
	case "true", "True", "TRUE":
		return value.True, false, nil
	case "false", "False", "FALSE":
		return value.False, false, nil
	}
	unsigned := strings.TrimLeft(s[:1], "+-") + s[1:]
	switch unsigned {
	case ".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN":
		return value.Null, false, r.fail(n, "%s, and there are no such numbers,", s)
	}
	if i, ok := yamlInteger(s, unsigned); ok {
		return value.Int(i), false, nil
	}
	if !isYAMLNumber(unsigned) {
		return r.c.text(s), true, nil
	}
	r.c.Meter.Work(value.FloatWork(s))
	f, bad := strconv.ParseFloat(s, 64)
	number, fits := value.Number(f)
	if bad != nil || !fits {
		return value.Null, false, r.fail(n, "the number %s is out of range", value.Quote(s))
	}
	return number, false, nil
}

// yamlInteger reads a whole number, in tens or with 0x or 0o.
func yamlInteger(s, unsigned string) (int64, bool) {
	base := 10
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		s, unsigned, base = hex, hex, 16
	} else if octal, ok := strings.CutPrefix(s, "0o"); ok {
		s, unsigned, base = octal, octal, 8
	} else if digits(unsigned) != len(unsigned) {
		return 0, false
	}
	if unsigned == "" || unsigned[0] == '+' || unsigned[0] == '-' {
		return 0, false
	}
	i, err := strconv.ParseInt(s, base, 64)
	return i, err == nil
}

// isYAMLNumber reports whether s is a number in tens, without a sign.
func isYAMLNumber(s string) bool {
	whole := digits(s)
	s = s[whole:]
	fraction := 0
	if rest, ok := strings.CutPrefix(s, "."); ok {
		fraction = digits(rest)
		s = rest[fraction:]
	}
	if whole+fraction == 0 {
		return false
	}
	if s == "" {
		return true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return false
	}
	s = s[1:]
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	return s != "" && digits(s) == len(s)
}

// binary reads bytes that are written as base64.
func (r *yamlReader) binary(n *yaml.Node) (value.Value, *value.Error) {
	r.c.Meter.Work(len(n.Value) / 2)
	r.c.Meter.Alloc(2 * len(n.Value))
	b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
	if err != nil {
		return value.Null, r.fail(n, "!!binary that is no base64 text")
	}
	r.c.Meter.CheckSize(len(b))
	r.c.Meter.Alloc(value.BlockSize(len(b)))
	return value.Bytes(b), nil
}
