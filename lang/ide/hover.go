package ide

import (
	"fmt"
	"strings"

	"ql/lang/lib"
	"ql/lang/resolve"
	"ql/lang/source"
	"ql/lang/syntax"
)

// globalDocs says what the globals hold.
var globalDocs = map[string]string{
	"ACCOUNT":  "The account that the script runs for, such as its username.",
	"BODY":     "The body of the request: a JSON body as a value, a form as a map, else text or bytes; NULL without one.",
	"COOKIE":   "What the caller keeps between requests. SET \"name\" AS value OF !COOKIE hands out one.",
	"FILES":    "The files that came with a form, of each field a list of {name, type, size, path}. They are gone at the end, unless MOVE or COPY keeps them.",
	"GET":      "The parameters of the request's address, as texts.",
	"INPUT":    "What the caller gave, as INPUT FIELDS checked it.",
	"JOB":      "The job itself: id, started, form_url, confirm_url, signal_url.",
	"POST":     "The fields of the request's form, as texts.",
	"QUOTA":    "What is used, and how much there may be, such as !QUOTA('storage').used.",
	"REQUEST":  "The request: method, path, body, ip, and what the caller sent with it.",
	"RESPONSE": "The answer. SET \"status\" AS 404 OF !RESPONSE changes it.",
	"SECRET":   "A secret of the account by its name; traces and messages show none of it.",
	"SESSION":  "What is kept for a visitor from one request to the next, after START SESSION.",
}

// Hover returns what is known of the word at an offset, nil where that is nothing.
func Hover(text string, offset int, account Account) *HoverText {
	d := open(text)
	at := d.fromRaw(offset)
	word, ok := syntax.WordAt(d.file.Text, at)
	if !ok {
		return nil
	}
	script, _ := d.parse()
	for _, c := range script.Comments {
		if c.Start <= word.Start && word.Stop <= c.Stop {
			return nil
		}
	}
	h := hoverer{d: d, script: script, account: account, word: word, text: d.file.Text[word.Start:word.Stop]}
	said := h.say()
	if said == "" {
		return nil
	}
	start, end := d.raws(word)
	return &HoverText{start, end, said}
}

type hoverer struct {
	d       *document
	script  *syntax.Script
	account Account
	word    syntax.Span
	text    string
}

func (h *hoverer) say() string {
	switch h.text[0] {
	case '?':
		return h.variable()
	case '!':
		if doc := globalDocs[upper(h.text[1:])]; doc != "" {
			return code(upper(h.text)) + "\n\n" + doc
		}
		return ""
	}
	if sql, text := h.around(); sql != nil {
		return h.sql(sql)
	} else if text {
		return ""
	}
	if f := h.function(); f != "" {
		return f
	}
	if usage := syntax.Usage(upper(h.text)); usage != "" {
		return code(usage)
	}
	return ""
}

func code(s string) string { return "```\n" + s + "\n```" }

// around returns the SQL that the word is engine's text of, and whether it stands in the
// plain part of a text.
func (h *hoverer) around() (sql *syntax.SQL, text bool) {
	syntax.Walk(h.script, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil:
			return true
		case *syntax.SQL:
			for _, p := range n.Parts {
				if p.Param == nil && p.Start <= h.word.Start && h.word.Stop <= p.Stop {
					sql = n
				}
			}
		case *syntax.Text:
			for _, p := range n.Parts {
				if p.Insert == nil && p.Start <= h.word.Start && h.word.Stop <= p.Stop {
					text = true
				}
			}
		}
		return n.Pos() <= h.word.Start && h.word.Stop <= n.End()
	})
	return sql, text
}

func (h *hoverer) variable() string {
	name, scope := resolve.NamesOf(h.script).At(h.word.Start)
	if name == nil || scope == nil {
		return ""
	}
	said := code("?" + name.Name)
	switch p, ok := name.Set(); {
	case !ok:
		return said + "\n\nIt is never set."
	case scope.Lambda != nil:
		said += "\n\nA parameter of the lambda"
	case scope.Define != nil && p.Start < scope.Define.Body.Start:
		said += "\n\nA parameter of " + scope.Define.Name
	default:
		said += fmt.Sprintf("\n\nFirst set on line %d", h.d.file.Line(p.Start))
	}
	return said + fmt.Sprintf("; it stands in %d places.", len(name.Places))
}

// function describes the function that is called or defined at the word.
func (h *hoverer) function() string {
	name := resolve.NamesOf(h.script).Funcs[strings.ToLower(h.text)]
	if name == nil {
		return h.included(h.d.memberAt(h.d.toRaw(h.word.Start)))
	}
	called := false
	for _, p := range name.Places {
		called = called || p.Start == h.word.Start
	}
	switch {
	case !called:
		return ""
	case name.Define != nil:
		return defined(h.d.file, h.script, name.Define)
	case name.Constant != nil:
		return code(h.d.file.Text[name.Constant.Start:name.Constant.Stop])
	}
	if said := h.included(h.text); said != "" {
		return said
	}
	if i, ok := lib.Lookup(h.text); ok {
		b := lib.At(i)
		return code(b.Signature) + "\n\n" + b.Summary + "\n\n" + code("EMIT "+b.Example+"\n"+b.Result)
	}
	return ""
}

// included describes a function or constant of an included file.
func (h *hoverer) included(name string) string {
	if name == "" {
		return ""
	}
	for _, i := range included(referencesOf(h.script), h.account) {
		for _, n := range i.names {
			if strings.EqualFold(i.prefix+n.name, name) {
				return i.describe(n) + "\n\nDefined in " + i.path
			}
		}
	}
	return ""
}

// describe shows what one of the file's names stands for.
func (i *include) describe(n named) string {
	script := i.parse()
	for _, s := range script.Statements {
		if d, ok := s.(*syntax.Define); ok && d.NamePos == n.pos {
			return defined(script.File, script, d)
		}
	}
	return code(script.File.Text[n.value.Start:n.value.Stop])
}

// defined shows a DEFINE, and the comment that stands right before it.
func defined(f *source.File, script *syntax.Script, d *syntax.Define) string {
	said := code("DEFINE " + signatureOf(d.Name, parametersOf(d)))
	var lines []string
	next := f.Line(d.Start)
	for i := len(script.Comments) - 1; i >= 0; i-- {
		c := script.Comments[i]
		if c.Start > d.Start || f.Line(c.Stop) != next-1 {
			if c.Start < d.Start {
				break
			}
			continue
		}
		lines = append([]string{strings.TrimSpace(strings.Trim(c.Text, "-/* \n"))}, lines...)
		next = f.Line(c.Start)
	}
	if len(lines) > 0 {
		said += "\n\n" + strings.Join(lines, "\n")
	}
	return said
}

// sql describes a table or column.
func (h *hoverer) sql(s *syntax.SQL) string {
	if h.account == nil {
		return ""
	}
	before, expected := readTo(h.d.file.Before(s.Start))
	defer before.release()
	tables := h.account.Tables(before.scope(expected).database)
	if t := findTable(tables, h.text); t != nil {
		lines := []string{t.Name}
		for _, c := range t.Columns {
			lines = append(lines, strings.TrimRight("  "+c.Name+" "+c.Type, " "))
		}
		return code(strings.Join(lines, "\n"))
	}
	for _, ref := range refsOf(dropComments(lexSQL(h.d.file.Text, s.Start, s.Stop))) {
		t := findTable(tables, ref.table)
		if t == nil {
			continue
		}
		for _, c := range t.Columns {
			if strings.EqualFold(c.Name, h.text) {
				return code(strings.TrimRight(t.Name+"."+c.Name+" "+c.Type, " "))
			}
		}
	}
	return ""
}

// Signature returns the call that an offset stands in, nil outside of one.
func Signature(text string, offset int, account Account) *SignatureHelp {
	d := open(text)
	at := d.fromRaw(offset)
	src := d.file.Text
	before, expected := readTo(d.file.Before(at))
	defer before.release()
	type call struct {
		name string
		arg  int
	}
	var open []call
	name := ""
	syntax.Lex(src, expected.Start, at, func(t syntax.Token) {
		word := name
		name = ""
		switch t.Kind {
		case syntax.WordToken:
			name = src[t.Start:t.Stop]
			if strings.HasSuffix(word, ".") { // a prefix
				name = word + name
			}
		case syntax.DotToken:
			if word != "" {
				name = word + "."
			}
		case syntax.OpenToken:
			if src[t.Start] != '(' {
				word = ""
			}
			open = append(open, call{name: word})
		case syntax.TextOpenToken:
			if t.First {
				open = append(open, call{})
			}
		case syntax.CloseToken:
			open = open[:max(0, len(open)-1)]
		case syntax.TextToken:
			if !t.First {
				open = open[:max(0, len(open)-1)]
			}
		case syntax.CommaToken:
			if n := len(open); n > 0 {
				open[n-1].arg++
			}
		}
	})
	for i := len(open) - 1; i >= 0; i-- {
		if c := open[i]; c.name != "" {
			return signature(before, src[at:], account, c.name, c.arg)
		}
	}
	return nil
}

func signature(before *before, behind string, account Account, name string, arg int) *SignatureHelp {
	rest, _ := readTo(source.NewFile("", behind))
	defer rest.release()
	texts := append([]include{{names: before.names}, {names: rest.names}}, included(before.includes, account)...)
	for _, t := range texts {
		for _, n := range t.names {
			if n.function && strings.EqualFold(t.prefix+n.name, name) {
				return &SignatureHelp{Label: t.prefix + n.signature(), Parameters: n.params, Active: arg}
			}
		}
	}
	i, ok := lib.Lookup(name)
	if !ok {
		return nil
	}
	b := lib.At(i)
	h := &SignatureHelp{Label: b.Signature, Doc: b.Summary, Active: arg}
	_, list, _ := strings.Cut(b.Signature, "(")
	for _, p := range strings.Split(strings.Trim(list, ") "), ",") {
		if p = strings.Trim(p, " []"); p != "" {
			h.Parameters = append(h.Parameters, p)
		}
	}
	return h
}
