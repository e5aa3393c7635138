package value

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ParseJSON reads one JSON document, charging m. It is strict: UTF-8, no
// duplicate keys, nothing after the document; numbers beyond the range of
// floats are refused.
func ParseJSON(m *Meter, s string) (Value, *Error) {
	if !utf8.ValidString(s) {
		return Null, Errorf(BadJSON, "this is not JSON: it is not valid UTF-8")
	}
	m.Work(len(s) / 8)
	p := jsonParser{m: m, s: s, deepest: 1000}
	if m != nil {
		p.deepest = m.Nesting
	}
	p.space()
	v := p.value(0)
	if p.err == nil {
		p.space()
		if p.i < len(p.s) {
			p.fail("text after the end of the document")
		}
	}
	if p.err != nil {
		return Null, p.err
	}
	return v, nil
}

type jsonParser struct {
	m       *Meter
	s       string
	i       int
	deepest int
	err     *Error
	// keys are some that were read before: objects of a list have the same ones.
	keys [64]Value
	// rooms are how many entries the last object had, by depth.
	rooms [8]uint8
	// shapes are the first keys of the last object, by depth, and known is how many of them. None stands there
	// twice, and all are written as they are.
	shapes [8][maxRoom]Value
	known  [8]uint8
}

// maxRoom is for how many entries an object gets room beforehand.
const maxRoom = smallMap

// knownKey reads a key that was read before, and is a short one without escapes. It returns null for any
// other, of which it has read nothing.
func (p *jsonParser) knownKey() Value {
	start := p.i + 1
	n := strings.IndexByte(p.s[start:min(len(p.s), start+longKey)], '"')
	if n <= 0 {
		return Null
	}
	raw := p.s[start : start+n]
	k := p.keys[keySlot(raw)]
	if k.IsNull() || k.Str() != raw {
		return Null
	}
	p.m.Work(2)
	p.i = start + n + 1
	return k
}

// keySlot says where a key is kept that is not empty.
func keySlot(s string) uint8 {
	return (uint8(len(s)) ^ s[0]<<1 ^ s[len(s)/2] ^ s[len(s)-1]<<3) % 64
}

// key reads a key, and tells whether it is a short one that is written as it is.
func (p *jsonParser) key() (k Value, plain bool) {
	if k := p.knownKey(); !k.IsNull() {
		return k, true
	}
	start := p.i + 1
	k = p.text()
	// Only one that is written as it is can be told from its bytes.
	if p.err == nil && k.n > 0 && k.n < longKey && p.i == start+int(k.n)+1 {
		p.keys[keySlot(k.Str())] = k
		return k, true
	}
	return k, false
}

// nextKey reads a key where it is the one that the last object of this depth had in this place, and
// returns null where it is not.
func (p *jsonParser) nextKey(depth, n int) Value {
	if n >= int(p.known[depth]) {
		return Null
	}
	k := p.shapes[depth][n]
	start := p.i + 1
	end := start + int(k.n)
	if end >= len(p.s) || p.s[end] != '"' || p.s[start:end] != k.Str() {
		return Null
	}
	p.m.Work(2)
	p.i = end + 1
	return k
}

// learn has the key of a place in an object expected there in the next one, and none behind it. It reports
// whether the keys behind it may be learned as well.
func (p *jsonParser) learn(depth, n int, k Value, plain bool) bool {
	if n >= maxRoom {
		return false
	}
	if !plain {
		p.known[depth] = uint8(n)
		return false
	}
	p.shapes[depth][n], p.known[depth] = k, uint8(n+1)
	return true
}

// room returns how many entries an object is made with room for.
func (p *jsonParser) room(depth int) int {
	if depth >= len(p.rooms) {
		return 0
	}
	return int(p.rooms[depth])
}

// ended notes how many entries an object had.
func (p *jsonParser) ended(depth, n int) {
	if depth < len(p.rooms) {
		p.rooms[depth] = uint8(min(n, maxRoom))
	}
}

func (p *jsonParser) fail(what string) Value {
	if p.err == nil {
		line, col := 1, 1
		for _, c := range p.s[:min(p.i, len(p.s))] {
			if c == '\n' {
				line, col = line+1, 1
			} else {
				col++
			}
		}
		p.err = Errorf(BadJSON, "this is not JSON: %s at line %d, column %d", what, line, col)
	}
	return Null
}

func (p *jsonParser) space() {
	if p.i < len(p.s) && p.s[p.i] <= ' ' {
		p.spaces()
	}
}

func (p *jsonParser) spaces() {
	for p.i < len(p.s) {
		switch p.s[p.i] {
		case ' ', '\t', '\n', '\r':
			p.i++
		default:
			return
		}
	}
}

// found names what stands at the current place.
func (p *jsonParser) found() string {
	if p.i >= len(p.s) {
		return "the end of the text"
	}
	r, _ := utf8.DecodeRuneInString(p.s[p.i:])
	return strconv.QuoteRune(r)
}

func (p *jsonParser) value(depth int) Value {
	if p.i >= len(p.s) {
		return p.fail("a value is missing, found the end of the text")
	}
	switch c := p.s[p.i]; c {
	case '{':
		return p.object(depth + 1)
	case '[':
		return p.array(depth + 1)
	case '"':
		return p.text()
	case 't':
		return p.word("true", True)
	case 'f':
		return p.word("false", False)
	case 'n':
		return p.word("null", Null)
	default:
		if c == '-' || c >= '0' && c <= '9' {
			return p.number()
		}
	}
	return p.fail("a value is missing, found " + p.found())
}

func (p *jsonParser) word(w string, v Value) Value {
	p.m.Work(1)
	if len(p.s)-p.i >= len(w) && p.s[p.i:p.i+len(w)] == w {
		p.i += len(w)
		return v
	}
	return p.fail("a value is missing, found " + p.found())
}

func (p *jsonParser) tooDeep(depth int) bool {
	if depth <= p.deepest {
		return false
	}
	if p.m != nil {
		p.m.nest(uint16(min(depth, math.MaxUint16)))
	}
	p.fail("it is nested too deeply")
	return true
}

func (p *jsonParser) array(depth int) Value {
	if p.tooDeep(depth) {
		return Null
	}
	p.i++
	p.m.Work(8)
	l := NewList(p.m, 0)
	p.space()
	if p.i < len(p.s) && p.s[p.i] == ']' {
		p.i++
		return l.Value()
	}
	for {
		p.space()
		v := p.value(depth)
		if p.err != nil {
			return Null
		}
		l.Append(p.m, v)
		p.space()
		if p.i < len(p.s) && p.s[p.i] == ',' {
			p.i++
			continue
		}
		if p.i < len(p.s) && p.s[p.i] == ']' {
			p.i++
			return l.Value()
		}
		return p.fail("expected , or ], found " + p.found())
	}
}

func (p *jsonParser) object(depth int) Value {
	if p.tooDeep(depth) {
		return Null
	}
	p.i++
	p.m.Work(25)
	t := NewMap(p.m, p.room(depth))
	// As long as the keys are those of the last object none of them stands there twice.
	n, follows := 0, depth < len(p.shapes)
	p.space()
	if p.i < len(p.s) && p.s[p.i] == '}' {
		p.i++
		p.ended(depth, 0)
		return t.Value()
	}
	for {
		p.space()
		if p.i >= len(p.s) || p.s[p.i] != '"' {
			return p.fail("a key in quotes is missing, found " + p.found())
		}
		at := p.i
		k := Null
		if follows {
			k = p.nextKey(depth, n)
		}
		if k.IsNull() {
			var plain bool
			k, plain = p.key()
			if p.err != nil {
				return Null
			}
			if _, has := t.Lookup(p.m, k.Str()); has {
				p.i = at
				return p.fail("the key " + Quote(k.Str()) + " stands there twice")
			}
			follows = follows && p.learn(depth, n, k, plain)
		}
		n++
		p.space()
		if p.i >= len(p.s) || p.s[p.i] != ':' {
			return p.fail("expected : after a key, found " + p.found())
		}
		p.i++
		p.space()
		v := p.value(depth)
		if p.err != nil {
			return Null
		}
		t.SetNew(p.m, k, v)
		p.space()
		if p.i < len(p.s) && p.s[p.i] == ',' {
			p.i++
			continue
		}
		if p.i < len(p.s) && p.s[p.i] == '}' {
			p.i++
			p.ended(depth, t.Len())
			return t.Value()
		}
		return p.fail("expected , or }, found " + p.found())
	}
}

func (p *jsonParser) text() Value {
	start := p.i + 1
	escapes := 0
	i := start
	for len(p.s)-i >= 8 && special(word8(p.s[i:])) == 0 {
		i += 8
	}
	for ; i < len(p.s) && p.s[i] != '"'; i++ {
		switch c := p.s[i]; {
		case c == '\\':
			escapes++
			i++
		case c < 0x20:
			p.i = i
			return p.fail("a control character inside quotes")
		}
	}
	if i >= len(p.s) {
		p.i = len(p.s)
		return p.fail("a text has no closing quote")
	}
	p.i = i + 1
	raw := p.s[start:i]
	p.m.CheckSize(len(raw))
	p.m.Alloc(BlockSize(len(raw)))
	p.m.Work(2 + len(raw)/16)
	if escapes == 0 {
		return Text(raw)
	}
	p.m.Alloc(len(raw))
	p.m.Work(len(raw) / 4)
	buf := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			buf = append(buf, raw[i])
			continue
		}
		i++
		switch raw[i] {
		case '"', '\\', '/':
			buf = append(buf, raw[i])
		case 'n':
			buf = append(buf, '\n')
		case 't':
			buf = append(buf, '\t')
		case 'r':
			buf = append(buf, '\r')
		case 'b':
			buf = append(buf, '\b')
		case 'f':
			buf = append(buf, '\f')
		case 'u':
			r, ok := hex4(raw, i+1)
			if !ok {
				p.i = start + i - 1
				return p.fail(`\u needs four hexadecimal digits`)
			}
			i += 4
			if utf16.IsSurrogate(r) {
				low := rune(0)
				if i+2 < len(raw) && raw[i+1] == '\\' && raw[i+2] == 'u' {
					low, _ = hex4(raw, i+3)
				}
				if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
					p.i = start + i - 5
					return p.fail("half of a surrogate pair")
				}
				i += 6
			}
			buf = utf8.AppendRune(buf, r)
		default:
			p.i = start + i - 1
			return p.fail(`an unknown escape \` + string(rune(raw[i])))
		}
	}
	return TextOf(buf)
}

func hex4(s string, i int) (rune, bool) {
	if i+4 > len(s) {
		return 0, false
	}
	n, err := strconv.ParseUint(s[i:i+4], 16, 16)
	return rune(n), err == nil && s[i] != '+'
}

// shortInt reads a whole number of up to 18 digits. It reports false for anything else, of which it has read nothing.
func (p *jsonParser) shortInt() (Value, bool) {
	s := p.s[p.i:min(len(p.s), p.i+20)]
	i := 0
	if s[0] == '-' {
		i = 1
	}
	first, n := i, int64(0)
	for i < len(s) && s[i]-'0' <= 9 {
		n = n*10 + int64(s[i]-'0')
		i++
	}
	switch digits := i - first; {
	case digits == 0 || digits > 18 || digits > 1 && s[first] == '0':
		return Null, false
	case i < len(s) && (s[i] == '.' || s[i] == 'e' || s[i] == 'E'):
		return Null, false
	}
	if first == 1 {
		n = -n
	}
	p.m.Work(2)
	p.i += i
	return Int(n), true
}

func (p *jsonParser) number() Value {
	if v, ok := p.shortInt(); ok {
		return v
	}
	start := p.i
	digits := func() int {
		n := 0
		for p.i < len(p.s) && p.s[p.i] >= '0' && p.s[p.i] <= '9' {
			p.i++
			n++
		}
		return n
	}
	if p.s[p.i] == '-' {
		p.i++
	}
	first := p.i
	n := digits()
	if n == 0 || n > 1 && p.s[first] == '0' {
		p.i = start
		return p.fail("a number is malformed")
	}
	whole := true
	if p.i < len(p.s) && p.s[p.i] == '.' {
		whole = false
		p.i++
		if digits() == 0 {
			p.i = start
			return p.fail("a number is malformed")
		}
	}
	if p.i < len(p.s) && (p.s[p.i] == 'e' || p.s[p.i] == 'E') {
		whole = false
		p.i++
		if p.i < len(p.s) && (p.s[p.i] == '+' || p.s[p.i] == '-') {
			p.i++
		}
		if digits() == 0 {
			p.i = start
			return p.fail("a number is malformed")
		}
	}
	raw := p.s[start:p.i]
	p.m.Work(2)
	if whole {
		if i, err := strconv.ParseInt(raw, 10, 64); err == nil {
			return Int(i)
		}
	}
	p.m.Work(FloatWork(raw))
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		p.i = start
		return p.fail("a number is out of range")
	}
	v, _ := Number(f)
	return v
}
