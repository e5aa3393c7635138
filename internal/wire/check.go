package wire

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// bodyField names the body as a whole in refusals.
const bodyField = "body"

// Shape is what a JSON document measures.
type Shape struct {
	Bytes int
	Depth int // of its deepest object or list
	Nodes int // values, those inside others counted too
	Keys  int // names of its largest object
}

// within checks a document that was measured before, as when the account whose
// limits count is known only after decoding.
func (s Shape) within(field string, l *Limits) *Refusal {
	switch {
	case s.Bytes > l.Body:
		return tooLarge(field, "body_bytes", l.Body)
	case s.Depth > l.Depth:
		return tooDeep(field, l.Depth)
	case s.Nodes > l.Nodes:
		return tooMany(field, "values", "json_nodes", l.Nodes)
	case s.Keys > l.Keys:
		return tooMany(field, "names in one object", "json_keys", l.Keys)
	}
	return nil
}

// Within checks a document against limits narrower than those it was decoded under. The
// error is a *Refusal.
func (s Shape) Within(l Limits) error {
	l = l.withDefaults()
	if r := s.within(bodyField, &l); r != nil {
		return r
	}
	return nil
}

func tooDeep(field string, most int) *Refusal {
	return &Refusal{
		Code:    InvalidRequest,
		Field:   field,
		Message: fmt.Sprintf("is nested too deeply: %d objects and lists inside one another at most", most),
		Limit:   "json_depth",
		Max:     int64(most),
	}
}

func tooMany(field, what, limit string, most int) *Refusal {
	return &Refusal{
		Code:    InvalidRequest,
		Field:   field,
		Message: fmt.Sprintf("has too many %s: %d at most", what, most),
		Limit:   limit,
		Max:     int64(most),
	}
}

// check reads a JSON document without building anything of it: grammar, UTF-8,
// names that occur twice, and limits. Text that it accepts needs no second look.
// Field is what refusals call the document.
func check(field, text string, l *Limits) (Shape, *Refusal) {
	// Room for what ordinary requests have, so that it need not grow.
	c := checker{field: field, text: text, limits: l, way: make([]step, 0, 4), names: make([]string, 0, 8)}
	c.shape.Bytes = len(text)
	if len(text) > l.Body {
		return c.shape, tooLarge(field, "body_bytes", l.Body)
	}
	if fault := notUTF8(text); fault != "" {
		return c.shape, invalid(field, fault)
	}
	if strings.HasPrefix(text, "\ufeff") {
		return c.shape, invalid(field, "starts with a byte order mark: send the JSON without it")
	}
	c.space()
	if r := c.value(0); r != nil {
		return c.shape, r
	}
	c.space()
	if c.at < len(text) {
		return c.shape, c.syntax("found " + c.found() + " after the end of the document")
	}
	if c.shape.Keys >= manyNames {
		if err := l.reserve(pairBytes * int64(c.shape.Keys)); err != nil {
			return c.shape, &Refusal{cause: err}
		}
	}
	return c.shape, nil
}

// notUTF8 says where a text stops being UTF-8, or nothing.
func notUTF8(s string) string {
	if utf8.ValidString(s) {
		return ""
	}
	at := 0
	for r, size := utf8.DecodeRuneInString(s); r != utf8.RuneError || size > 1; r, size = utf8.DecodeRuneInString(s[at:]) {
		at += size
	}
	return fmt.Sprintf("is not UTF-8: byte %d is 0x%02x", at+1, s[at])
}

type checker struct {
	field  string
	text   string
	at     int
	limits *Limits
	shape  Shape
	// way leads to the current position, outermost step first.
	way []step
	// names are those of the objects around the current position, outermost first.
	names []string
}

// step goes from an object to its member of a name, or from a list to an item.
type step struct {
	name  string
	index int // -1 for a member
}

// longestPath is how many steps a refusal names on the way to a position.
const longestPath = 8

// path names the current position.
func (c *checker) path() string {
	path := c.field
	for i, s := range c.way {
		switch {
		case i == longestPath:
			return path + "…"
		case s.index >= 0:
			path += "[" + strconv.Itoa(s.index) + "]"
		case i == 0:
			path = below(c.field, s.name)
		default:
			path += "." + named(s.name)
		}
	}
	return path
}

func (c *checker) syntax(what string) *Refusal {
	before := c.text[:min(c.at, len(c.text))]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return invalid(c.field, fmt.Sprintf("is not JSON: %s, at line %d, column %d", what, line, column))
}

// found names what is at the current position.
func (c *checker) found() string {
	if c.at >= len(c.text) {
		return "the end"
	}
	r, _ := utf8.DecodeRuneInString(c.text[c.at:])
	return strconv.QuoteRune(r)
}

func (c *checker) space() {
	for c.at < len(c.text) {
		switch c.text[c.at] {
		case ' ', '\t', '\n', '\r':
			c.at++
		default:
			return
		}
	}
}

func (c *checker) next(want byte) bool {
	if c.at < len(c.text) && c.text[c.at] == want {
		c.at++
		return true
	}
	return false
}

func (c *checker) value(depth int) *Refusal {
	if c.shape.Nodes++; c.shape.Nodes > c.limits.Nodes {
		return tooMany(c.field, "values", "json_nodes", c.limits.Nodes)
	}
	if c.at >= len(c.text) {
		return c.syntax("found the end where a value should stand")
	}
	switch b := c.text[c.at]; b {
	case '{':
		return c.object(depth + 1)
	case '[':
		return c.list(depth + 1)
	case '"':
		_, r := c.string()
		return r
	case 't':
		return c.word("true")
	case 'f':
		return c.word("false")
	case 'n':
		return c.word("null")
	default:
		if b == '-' || isDigit(b) {
			return c.number()
		}
	}
	return c.syntax("found " + c.found() + " where a value should stand")
}

func (c *checker) word(w string) *Refusal {
	if !strings.HasPrefix(c.text[c.at:], w) {
		return c.syntax("found " + c.found() + " where a value should stand")
	}
	c.at += len(w)
	return nil
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func (c *checker) digits() bool {
	start := c.at
	for c.at < len(c.text) && isDigit(c.text[c.at]) {
		c.at++
	}
	return c.at > start
}

// number checks a number. One beyond the floats is none that a script could have.
func (c *checker) number() *Refusal {
	start := c.at
	c.next('-')
	if !c.next('0') && !c.digits() {
		return c.syntax("found " + c.found() + " where a digit should stand")
	}
	if c.next('.') && !c.digits() {
		return c.syntax("found " + c.found() + " where a digit should stand")
	}
	if c.next('e') || c.next('E') {
		if !c.next('+') {
			c.next('-')
		}
		if !c.digits() {
			return c.syntax("found " + c.found() + " where a digit should stand")
		}
	}
	// A float has up to 309 digits before its point, and an exponent of up to three.
	if raw := c.text[start:c.at]; strings.ContainsAny(raw, "eE") || len(raw) > 300 {
		if _, err := strconv.ParseFloat(raw, 64); err != nil {
			return invalid(c.path(), "is a number beyond what fits: up to about 1.8e308")
		}
	}
	return nil
}

func (c *checker) enter(depth int) *Refusal {
	if depth > c.limits.Depth {
		return tooDeep(c.path(), c.limits.Depth)
	}
	c.shape.Depth = max(c.shape.Depth, depth)
	c.at++
	c.space()
	return nil
}

func (c *checker) list(depth int) *Refusal {
	if r := c.enter(depth); r != nil {
		return r
	}
	if c.next(']') {
		return nil
	}
	c.way = append(c.way, step{})
	for {
		if r := c.value(depth); r != nil {
			return r
		}
		c.way[len(c.way)-1].index++
		c.space()
		if c.next(']') {
			c.way = c.way[:len(c.way)-1]
			return nil
		}
		if !c.next(',') {
			return c.syntax("found " + c.found() + ` where "," or "]" should stand`)
		}
		c.space()
	}
}

// manyNames is the size from which the names of an object are looked up in a map
// instead of one after the other.
const manyNames = 16

// nameBytes is what a name takes in such a map, while it grows too.
const nameBytes = 96

// pairBytes is what one takes in the lists that are made of an object, of which there
// are four.
const pairBytes = 4 * 64

func (l *Limits) reserve(bytes int64) error {
	if l.Reserve == nil || bytes == 0 {
		return nil
	}
	return l.Reserve(bytes)
}

func (c *checker) object(depth int) *Refusal {
	if r := c.enter(depth); r != nil {
		return r
	}
	if c.next('}') {
		return nil
	}
	first := len(c.names)
	var seen map[string]bool
	held := int64(0) // for seen
	for count := 1; ; count++ {
		if count > c.limits.Keys {
			return tooMany(c.path(), "names in one object", "json_keys", c.limits.Keys)
		}
		c.shape.Keys = max(c.shape.Keys, count)
		name, r := c.name()
		if r != nil {
			return r
		}
		c.way = append(c.way, step{name: name, index: -1})
		if count == manyNames || count > 2*manyNames && count&(count-1) == 0 {
			more := nameBytes * int64(max(count, 4*manyNames))
			if err := c.limits.reserve(more); err != nil {
				return &Refusal{cause: err}
			}
			held += more
		}
		if count == manyNames {
			seen = make(map[string]bool, 4*manyNames)
			for _, n := range c.names[first:] {
				seen[n] = true
			}
		}
		if seen[name] || seen == nil && slices.Contains(c.names[first:], name) {
			return invalid(c.path(), "occurs twice: once fits")
		}
		if seen != nil {
			seen[name] = true
		} else {
			c.names = append(c.names, name)
		}
		if r := c.value(depth); r != nil {
			return r
		}
		c.way = c.way[:len(c.way)-1]
		c.space()
		if c.next('}') {
			c.names = c.names[:first]
			if held > 0 {
				_ = c.limits.reserve(-held) // which never fails
			}
			return nil
		}
		if !c.next(',') {
			return c.syntax("found " + c.found() + ` where "," or "}" should stand`)
		}
		c.space()
	}
}

// name reads the name of a member, up to where its value begins.
func (c *checker) name() (string, *Refusal) {
	if c.at >= len(c.text) || c.text[c.at] != '"' {
		return "", c.syntax("found " + c.found() + ` where a name in "…" should stand`)
	}
	raw, r := c.string()
	if r != nil {
		return "", r
	}
	c.space()
	if !c.next(':') {
		return "", c.syntax("found " + c.found() + ` where ":" should stand`)
	}
	c.space()
	return unescape(raw), nil
}

// string checks a text from its opening quote on and returns what stands between
// its quotes.
func (c *checker) string() (string, *Refusal) {
	c.at++
	start := c.at
	for c.at < len(c.text) {
		switch b := c.text[c.at]; {
		case b == '"':
			raw := c.text[start:c.at]
			c.at++
			return raw, nil
		case b == '\\':
			if r := c.escape(); r != nil {
				return "", r
			}
		case b < 0x20:
			return "", c.syntax("found " + c.found() + " in a text, where its escape should stand")
		default:
			c.at++
		}
	}
	return "", c.syntax(`found the end where the "\"" of a text should stand`)
}

func (c *checker) escape() *Refusal {
	c.at++
	if c.at >= len(c.text) {
		return c.syntax("found the end in a text")
	}
	switch c.text[c.at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		c.at++
		return nil
	case 'u':
	default:
		return c.syntax("found " + c.found() + " after a backslash, where one of \"\\/bfnrtu should stand")
	}
	r, ok := hex4(c.text[c.at+1:])
	if !ok {
		return c.syntax(`found \u without its four hexadecimal digits`)
	}
	escape := c.text[c.at-1 : c.at+5]
	c.at += 5
	if !utf16.IsSurrogate(r) {
		return nil
	}
	if strings.HasPrefix(c.text[c.at:], `\u`) {
		if low, ok := hex4(c.text[c.at+2:]); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
			c.at += 6
			return nil
		}
	}
	return invalid(c.path(), "holds "+escape+", half of a surrogate pair: both halves, or the character itself, would fit")
}

// hex4 reads the digits of a \u escape.
func hex4(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	var r rune
	for i := range 4 {
		digit := hexValue(s[i])
		if digit < 0 {
			return 0, false
		}
		r = r<<4 | rune(digit)
	}
	return r, true
}

// hexValue returns what a hexadecimal digit stands for, or -1.
func hexValue(b byte) int {
	switch {
	case isDigit(b):
		return int(b - '0')
	case b >= 'a' && b <= 'f':
		return int(b-'a') + 10
	case b >= 'A' && b <= 'F':
		return int(b-'A') + 10
	}
	return -1
}
