package lib

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode"

	"ql/lang/value"
)

func toYAML(c *Call, args []value.Value) (value.Value, error) {
	w := yamlWriter{buffer: buffer{c: c}}
	w.node(args[0], 0, "")
	return w.buffer.value(), nil
}

// yamlWriter writes YAML in blocks. Its depth is that of the value, which is limited.
type yamlWriter struct{ buffer }

// yamlStep is how far each level is indented: as far as the mark of a list.
const yamlStep = 2

// node writes a value and its line end, after a mark such as "key:" or "-" that stands
// in a block indented by so much, or at the start where there is none.
func (w *yamlWriter) node(v value.Value, indent int, mark string) {
	w.c.Meter.Work(8)
	inner := indent
	if mark != "" {
		inner += yamlStep
	}
	switch {
	case v.IsList() && v.List().Len() > 0:
		for i := range v.List().Len() {
			w.start(i, inner, mark)
			w.addByte('-')
			w.node(v.List().At(i), inner, "-")
		}
	case v.IsMap() && v.Map().Len() > 0:
		i := 0
		for k, e := range v.Map().All {
			w.start(i, inner, mark)
			w.key(k.Str(), inner)
			w.node(e, inner, ":")
			i++
		}
	default:
		if mark != "" {
			w.addByte(' ')
		}
		w.scalar(v, indent)
		w.addByte('\n')
	}
}

// start starts entry i of a block: the first one behind the mark of a list, others
// on a line of their own.
func (w *yamlWriter) start(i, indent int, mark string) {
	switch {
	case i == 0 && mark == "-":
		w.addByte(' ')
	case i == 0 && mark == ":":
		w.addByte('\n')
		w.indent(indent)
	case i > 0:
		w.indent(indent)
	}
}

func (w *yamlWriter) indent(n int) {
	w.room(n)
	w.c.Meter.WorkBytes(n)
	for range n {
		w.b = append(w.b, ' ')
	}
}

// longestKey is how long a key may be before its colon: readers look no further
// than 1024 characters.
const longestKey = 1000

// key writes a key and its colon.
func (w *yamlWriter) key(k string, indent int) {
	start := len(w.b)
	long := len(k) > longestKey/yamlLongestEscape
	if long {
		w.add("? ")
	}
	if w.isPlain(k) {
		w.add(k)
	} else {
		w.quoted(k)
	}
	if long && len(w.b)-start > longestKey {
		w.addByte('\n')
		w.indent(indent)
	} else if long {
		w.b = append(w.b[:start], w.b[start+2:]...)
	}
	w.addByte(':')
}

// scalar writes what stands on one line, or a text of several.
func (w *yamlWriter) scalar(v value.Value, indent int) {
	switch v.Kind() {
	case value.KindText:
		w.text(v.Str(), indent)
	case value.KindBytes:
		w.add("!!binary \"")
		n := base64.StdEncoding.EncodedLen(len(v.Raw()))
		w.room(n)
		w.c.Meter.Work(n / 8)
		w.b = base64.StdEncoding.AppendEncode(w.b, v.Raw())
		w.addByte('"')
	default:
		n := value.JSONSize(w.c.Meter, v)
		w.room(n)
		w.c.Meter.Work(n)
		w.b = value.AppendJSON(w.b, v)
	}
}

func (w *yamlWriter) text(s string, indent int) {
	switch {
	case w.isPlain(s):
		w.add(s)
	case w.isBlock(s):
		w.block(s, indent+yamlStep)
	default:
		w.quoted(s)
	}
}

// isPlain reports whether a text may stand without quotes: it starts with a letter,
// so that it is no number or mark, and no reader of this or earlier versions of YAML
// takes it for something else.
func (w *yamlWriter) isPlain(s string) bool {
	if s == "" {
		return false
	}
	switch strings.ToLower(s[:min(len(s), 6)]) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	before := rune(0)
	for p := range w.c.pieces(s) {
		for _, r := range p {
			switch {
			case unicode.IsLetter(r), r == '_':
			case before == 0 && r != '/':
				return false
			case before == ':' && r == ' ', before == ' ' && r == '#':
				return false
			case r >= '0' && r <= '9', strings.ContainsRune(" -./@()+=%,;!?'&*<>|$^~:#\"", r):
			default:
				return false
			}
			before = r
		}
	}
	return before != ' ' && before != ':'
}

// isBlock reports whether a text of several lines may be written as they are.
func (w *yamlWriter) isBlock(s string) bool {
	if s == "" || s[0] == ' ' || s[0] == '\t' || s[0] == '\n' || !strings.Contains(s, "\n") {
		return false
	}
	for p := range w.c.pieces(s) {
		for _, r := range p {
			if r != '\n' && r != '\t' && escapesYAML(r) {
				return false
			}
		}
	}
	for line := range strings.SplitSeq(s, "\n") {
		w.c.Meter.Work(1)
		if line != "" && strings.Trim(line, " \t") == "" {
			return false
		}
	}
	return true
}

// block writes the lines of a text as they are.
func (w *yamlWriter) block(s string, indent int) {
	w.addByte('|')
	body := strings.TrimRight(s, "\n")
	switch ends := len(s) - len(body); {
	case ends == 0:
		w.addByte('-')
	case ends > 1:
		w.addByte('+')
		body = s[:len(s)-1]
	}
	for line := range strings.SplitSeq(body, "\n") {
		w.c.Meter.Work(2 + len(line)/16)
		w.addByte('\n')
		if line != "" {
			w.indent(indent)
			w.add(line)
		}
	}
}

// escapesYAML reports whether a character is written as an escape: those that YAML
// does not take for printable, and those that some readers take for line ends.
func escapesYAML(r rune) bool {
	return r < ' ' || r >= 0x7F && r <= 0xA0 || r == 0x2028 || r == 0x2029 || r == 0xFEFF || r == 0xFFFE || r == 0xFFFF || r > 0xFFFF && r&0xFFFE == 0xFFFE
}

// yamlLongestEscape is the most bytes that a byte becomes in quotes.
const yamlLongestEscape = 6

// quoted writes a text in double quotes.
func (w *yamlWriter) quoted(s string) {
	w.addByte('"')
	for p := range w.c.pieces(s) {
		w.c.Meter.Work(len(p) / 2)
		w.room(len(p))
		for _, r := range p {
			switch {
			case r == '"' || r == '\\':
				w.addByte('\\')
				w.addByte(byte(r))
			case r == '\n':
				w.add(`\n`)
			case r == '\t':
				w.add(`\t`)
			case r == '\r':
				w.add(`\r`)
			case r > 0xFFFF && escapesYAML(r):
				w.add(fmt.Sprintf(`\U%08X`, r))
			case escapesYAML(r):
				w.c.Meter.Work(10)
				w.add(fmt.Sprintf(`\u%04X`, r))
			default:
				w.addRune(r)
			}
		}
	}
	w.addByte('"')
}
