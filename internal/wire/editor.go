package wire

import (
	"fmt"
	"slices"
	"strconv"
)

// EditorQuery is a request of POST /v1/check, /v1/complete, /v1/hover, /v1/definition, /v1/rename and
// /v1/format: a script as it stands in an editor, and where somebody types or points. Lines and columns
// count from 1, columns in code points.
type EditorQuery struct {
	Text         string
	Line, Column int    // 0 where they were left out
	Name         string // of a rename
	Shape        Shape
}

// EditorNeeds is what a request about a script has beside its text.
type EditorNeeds int

// What it may be.
const (
	NeedsText  EditorNeeds = iota // nothing more; a place makes no difference
	NeedsPlace                    // line and column
	NeedsName                     // line and column, and a name
)

var editorQueryFields, renameFields = []string{"text", "line", "column"}, []string{"text", "line", "column", "name"}

// longestRename bounds a new name, which the answer has once for each use of the old one.
const longestRename = 200

// mostPlaces bounds lines and columns: no text is as long.
const mostPlaces = 1 << 30

// Within checks a request against limits narrower than those it was decoded under.
func (q *EditorQuery) Within(l Limits) error {
	return textWithin(&q.Shape, q.Text, l)
}

// DecodeEditorQuery reads the body of one of those requests. The error is a *Refusal.
func DecodeEditorQuery(body []byte, l Limits, needs EditorNeeds) (*EditorQuery, error) {
	q := &EditorQuery{}
	if err := decodeText(body, l, &q.Shape, &q.Text, func(top node) *Refusal { return q.decode(top, needs) }); err != nil {
		return nil, err
	}
	return q, nil
}

func (q *EditorQuery) decode(top node, needs EditorNeeds) *Refusal {
	hasText, fields := false, editorQueryFields
	if needs == NeedsName {
		fields = renameFields
	}
	members := top.inside()
	for name, value, ok := members.member(); ok; name, value, ok = members.member() {
		var r *Refusal
		switch {
		case !slices.Contains(fields, name):
			r = unknown(bodyField, name, fields)
		case name == "text":
			hasText = true
			q.Text, r = text("text", value)
		case name == "line":
			q.Line, r = number("line", value, mostPlaces)
		case name == "column":
			q.Column, r = number("column", value, mostPlaces)
		default:
			q.Name, r = filledText("name", value)
		}
		if r != nil {
			return r
		}
	}
	const fits = "is missing: a whole number from 1 on fits"
	switch {
	case !hasText:
		return invalid("text", "is missing: the script, a text, fits")
	case needs >= NeedsPlace && q.Line == 0:
		return invalid("line", fits)
	case needs >= NeedsPlace && q.Column == 0:
		return invalid("column", fits)
	case needs == NeedsName && q.Name == "":
		return invalid("name", "is missing: the new name, a text, fits")
	case len(q.Name) > longestRename:
		return invalid("name", fmt.Sprintf("has %d bytes: up to %d fit", len(q.Name), longestRename))
	}
	return nil
}

// Place is a part of a script's text. Its end is the place behind it.
type Place struct{ Line, Column, EndLine, EndColumn int }

// Edit gives a part of a text another one.
type Edit struct {
	Place
	Text string
}

// Fix is what mends a mistake.
type Fix struct {
	Title string
	Edits []Edit
}

// Mistake is something wrong with a script, or a warning.
type Mistake struct {
	Place
	Severity string // "error" or "warning"
	Code     string
	Message  string
	Fixes    []Fix
}

// Completion is a text that may stand at a place.
type Completion struct {
	Place  // what it takes the place of
	Label  string
	Kind   string
	Detail string
	Doc    string // in Markdown
	Insert string
}

// Hover is what is known of what stands at a place.
type Hover struct {
	Place
	Markdown string
}

// Reach is what a script could do. Names are those that stand in it; Any… says that one is computed.
type Reach struct {
	Databases   []string // "" for the one of scripts that name none
	AnyDatabase bool
	Reads       []string
	Writes      []string
	AnyRead     bool
	AnyWrite    bool
	Hosts       []string
	AnyHost     bool
	Machines    []string
	AnyMachine  bool
	Secrets     []string
	AnySecret   bool
	People      bool
	Waits       bool
	Scripts     []string
	AnyScript   bool
	Signals     bool
	Sessions    bool
	Shares      bool
	Mails       []string
	AnyMail     bool
}

// AppendCheck appends the answer of POST /v1/check. More says that there are more mistakes.
func AppendCheck(dst []byte, list []Mistake, more bool, reach *Reach) []byte {
	dst = append(dst, `{"status":"ok","mistakes":[`...)
	for i := range list {
		m := &list[i]
		dst = append(appendComma(dst), `{"severity":`...)
		dst = appendText(dst, m.Severity)
		dst = appendTextField(dst, "code", m.Code)
		dst = appendTextField(dst, "message", m.Message)
		dst = appendExtent(dst, &m.Place)
		dst = append(appendName(dst, "fixes"), '[')
		for j := range m.Fixes {
			dst = appendFix(appendComma(dst), &m.Fixes[j])
		}
		dst = append(dst, "]}"...)
	}
	dst = strconv.AppendBool(appendName(append(dst, ']'), "more"), more)
	dst = append(appendName(dst, "effects"), '{')
	for _, n := range [...]struct {
		name  string
		names []string
		any   bool
	}{
		{"databases", reach.Databases, reach.AnyDatabase}, {"reads", reach.Reads, reach.AnyRead}, {"writes", reach.Writes, reach.AnyWrite},
		{"hosts", reach.Hosts, reach.AnyHost}, {"machines", reach.Machines, reach.AnyMachine}, {"secrets", reach.Secrets, reach.AnySecret},
		{"mails", reach.Mails, reach.AnyMail},
		{"scripts", reach.Scripts, reach.AnyScript},
	} {
		dst = appendText(appendComma(dst), n.name)
		dst = append(dst, `:{"names":[`...)
		for _, name := range n.names {
			dst = appendText(appendComma(dst), name)
		}
		dst = append(strconv.AppendBool(append(dst, `],"any":`...), n.any), '}')
	}
	dst = strconv.AppendBool(appendName(dst, "people"), reach.People)
	dst = strconv.AppendBool(appendName(dst, "waits"), reach.Waits)
	dst = strconv.AppendBool(appendName(dst, "signals"), reach.Signals)
	dst = strconv.AppendBool(appendName(dst, "sessions"), reach.Sessions)
	dst = strconv.AppendBool(appendName(dst, "shares"), reach.Shares)
	return append(dst, "}}"...)
}

func appendFix(dst []byte, f *Fix) []byte {
	dst = append(dst, `{"title":`...)
	dst = appendText(dst, f.Title)
	return append(appendEdits(appendName(dst, "edits"), f.Edits), '}')
}

func appendEdits(dst []byte, edits []Edit) []byte {
	dst = append(dst, '[')
	for i := range edits {
		dst = append(appendComma(dst), `{"text":`...)
		dst = appendText(dst, edits[i].Text)
		dst = append(appendExtent(dst, &edits[i].Place), '}')
	}
	return append(dst, ']')
}

func appendExtent(dst []byte, p *Place) []byte {
	for _, n := range [...]struct {
		name  string
		value int
	}{{"line", p.Line}, {"column", p.Column}, {"end_line", p.EndLine}, {"end_column", p.EndColumn}} {
		dst = strconv.AppendInt(appendName(dst, n.name), int64(n.value), 10)
	}
	return dst
}

// AppendCompletions appends the answer of POST /v1/complete. More says that there are more of them.
func AppendCompletions(dst []byte, list []Completion, more bool) []byte {
	dst = append(dst, `{"status":"ok","completions":[`...)
	for i := range list {
		c := &list[i]
		dst = append(appendComma(dst), `{"label":`...)
		dst = appendText(dst, c.Label)
		dst = appendTextField(dst, "kind", c.Kind)
		dst = appendTextOrNull(dst, "detail", c.Detail)
		dst = appendTextOrNull(dst, "doc", c.Doc)
		dst = appendTextField(dst, "insert", c.Insert)
		dst = append(appendExtent(dst, &c.Place), '}')
	}
	dst = strconv.AppendBool(appendName(append(dst, ']'), "more"), more)
	return append(dst, '}')
}

// AppendHover appends the answer of POST /v1/hover: nil where nothing is known.
func AppendHover(dst []byte, h *Hover) []byte {
	dst = append(dst, `{"status":"ok","hover":`...)
	if h == nil {
		return append(dst, "null}"...)
	}
	dst = append(dst, `{"markdown":`...)
	dst = appendText(dst, h.Markdown)
	return append(appendExtent(dst, &h.Place), "}}"...)
}

// Definition is where a name gets its meaning.
type Definition struct {
	Place
	File string // that the script includes, "" for the script itself
}

// AppendDefinition appends the answer of POST /v1/definition: nil where nothing is known.
func AppendDefinition(dst []byte, d *Definition) []byte {
	dst = append(dst, `{"status":"ok","definition":`...)
	if d == nil {
		return append(dst, "null}"...)
	}
	dst = append(dst, `{"file":`...)
	if d.File == "" {
		dst = append(dst, "null"...)
	} else {
		dst = appendText(dst, d.File)
	}
	return append(appendExtent(dst, &d.Place), "}}"...)
}

// AppendRename appends the answer of POST /v1/rename.
func AppendRename(dst []byte, edits []Edit) []byte {
	return append(appendEdits(append(dst, `{"status":"ok","edits":`...), edits), '}')
}

// AppendFormatted appends the answer of POST /v1/format.
func AppendFormatted(dst []byte, text string) []byte {
	dst = append(dst, `{"status":"ok","text":`...)
	return append(appendText(dst, text), '}')
}
