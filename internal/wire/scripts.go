package wire

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// NewScript is a request of PUT /v1/scripts/{name}.
type NewScript struct {
	Text    string
	Callers string   // "" where it was left out
	Methods []string // nil where they were left out
	Secrets bool
	Keep    int64 // seconds; negative where it was left out
	// Concurrency is that of its jobs, the zero one where it was left out.
	Concurrency Concurrency
	Shape       Shape
}

var newScriptFields = []string{"text", "callers", "methods", "secrets", "keep", "concurrency"}

// Within checks a script against limits narrower than those it was decoded under.
func (n *NewScript) Within(l Limits) error {
	return textWithin(&n.Shape, n.Text, l)
}

// textWithin checks a body that has a script as its text.
func textWithin(s *Shape, text string, l Limits) error {
	l = l.withDefaults()
	if r := s.within(bodyField, &l); r != nil {
		return r
	}
	if r := scriptWithin("text", text, &l); r != nil {
		return r
	}
	return nil
}

// DecodeNewScript reads the body of PUT /v1/scripts/{name}. The error is a *Refusal.
func DecodeNewScript(body []byte, l Limits) (*NewScript, error) {
	n := &NewScript{Keep: -1}
	if err := decodeText(body, l, &n.Shape, &n.Text, n.decode); err != nil {
		return nil, err
	}
	return n, nil
}

// decodeText reads a body that has a script as its text. The error is a *Refusal.
func decodeText(body []byte, l Limits, shape *Shape, text *string, decode func(node) *Refusal) error {
	l = l.withDefaults()
	top, r := document(body, &l, shape)
	if r == nil {
		r = decode(top)
	}
	if r == nil {
		r = scriptWithin("text", *text, &l)
	}
	if r != nil {
		return r.withoutPlanLimit()
	}
	return nil
}

func (n *NewScript) decode(top node) *Refusal {
	hasText := false
	members := top.inside()
	for name, value, ok := members.member(); ok; name, value, ok = members.member() {
		var r *Refusal
		switch name {
		case "text":
			hasText = true
			n.Text, r = text("text", value)
		case "callers":
			n.Callers, r = optionalText("callers", value)
			if r == nil && n.Callers == "" {
				r = invalid("callers", "is empty: keys, domains or anyone fits, or leave the field out")
			}
		case "methods":
			n.Methods, r = texts("methods", value)
			if r == nil && len(n.Methods) == 0 {
				r = invalid("methods", `is empty, and nobody could call the script: a list such as ["GET", "POST"] fits, or leave the field out for all`)
			}
		case "secrets":
			var secrets *bool
			if secrets, r = boolean("secrets", value); r == nil {
				n.Secrets = *secrets
			}
		case "keep":
			n.Keep, r = seconds("keep", value)
		case "concurrency":
			n.Concurrency, r = decodeConcurrency("concurrency", value)
		default:
			r = unknown(bodyField, name, newScriptFields)
		}
		if r != nil {
			return r
		}
	}
	if !hasText {
		return invalid("text", "is missing: the script, a text, fits")
	}
	return nil
}

// seconds reads a number of seconds, which may be none.
func seconds(field string, n node) (int64, *Refusal) {
	const fits = "a whole number of seconds from 0 to 2592000, which is 30 days, fits, or leave the field out"
	if n.kind() != "a number" {
		return 0, invalid(field, "is "+n.kind()+": "+fits)
	}
	count, err := strconv.ParseUint(string(n), 10, 31)
	if err != nil {
		return 0, invalid(field, "is "+quote(string(n))+": "+fits)
	}
	return int64(count), nil
}

// ScriptEntry is a published script in a list.
type ScriptEntry struct {
	Name        string
	Version     int64
	Callers     string
	Methods     []string
	Secrets     bool
	Concurrency Concurrency
	Hash        string // in hexadecimal digits
	PublishedAt time.Time
	Until       time.Time // when an earlier version ends; zero for the current one
}

// Script is a published script with all that is shown of it.
type Script struct {
	ScriptEntry
	Text     string // "" where it is not known, or not shown
	Schema   Raw    // of its input; nil for none
	Versions []ScriptEntry
}

// AppendScripts appends the answer of GET /v1/scripts. Next is where the following page
// begins, "" at the end.
func AppendScripts(dst []byte, scripts []ScriptEntry, next string) []byte {
	dst = append(dst, `{"status":"ok","scripts":[`...)
	for i := range scripts {
		dst = append(appendComma(dst), '{')
		dst = appendScriptEntry(dst, &scripts[i])
		dst = append(dst, '}')
	}
	return appendNext(dst, next)
}

func appendScriptEntry(dst []byte, s *ScriptEntry) []byte {
	dst = append(dst, `"name":`...)
	dst = appendText(dst, s.Name)
	dst = strconv.AppendInt(appendName(dst, "version"), s.Version, 10)
	dst = appendTextField(dst, "callers", s.Callers)
	dst = append(appendName(dst, "methods"), '[')
	for _, m := range s.Methods {
		dst = appendText(appendComma(dst), m)
	}
	dst = append(dst, ']')
	dst = strconv.AppendBool(appendName(dst, "secrets"), s.Secrets)
	dst = appendConcurrency(dst, s.Concurrency)
	dst = appendTextField(dst, "sha256", s.Hash)
	return appendTime(appendName(dst, "published_at"), s.PublishedAt)
}

// AppendPublished appends the answer of PUT /v1/scripts/{name}.
func AppendPublished(dst []byte, s *Script) []byte {
	dst = append(dst, `{"status":"ok",`...)
	dst = appendScriptEntry(dst, &s.ScriptEntry)
	dst = appendSchema(dst, s.Schema)
	return append(dst, '}')
}

func appendSchema(dst []byte, schema Raw) []byte {
	dst = appendName(dst, "schema")
	if schema == nil {
		return append(dst, "null"...)
	}
	return append(dst, schema...)
}

// AppendJSON appends the answer of GET /v1/scripts/{name}.
func (s *Script) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"status":"ok",`...)
	dst = appendScriptEntry(dst, &s.ScriptEntry)
	dst = appendOptionalTime(appendName(dst, "until"), s.Until)
	dst = appendSchema(dst, s.Schema)
	dst = append(appendName(dst, "versions"), '[')
	for i := range s.Versions {
		v := &s.Versions[i]
		dst = append(appendComma(dst), `{"version":`...)
		dst = strconv.AppendInt(dst, v.Version, 10)
		dst = appendTime(appendName(dst, "published_at"), v.PublishedAt)
		dst = appendOptionalTime(appendName(dst, "until"), v.Until)
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	dst = appendName(dst, "text")
	if s.Text == "" {
		dst = append(dst, "null"...)
	} else {
		dst = appendText(dst, s.Text)
	}
	return append(dst, '}')
}

// Size is about how many bytes AppendJSON appends, and no fewer.
func (s *Script) Size() int64 {
	const entry, version = 2 << 10, 128
	n := int64(entry + version*len(s.Versions) + len(s.Schema))
	if !utf8.ValidString(s.Text) {
		return n + 6*int64(len(s.Text))
	}
	for i := range len(s.Text) {
		switch c := s.Text[i]; {
		case plain[c]:
			n++
		case c == '"', c == '\\', c == '\n', c == '\r', c == '\t':
			n += 2
		default:
			n += 6
		}
	}
	return n
}
