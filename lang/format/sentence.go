package format

import (
	"strings"

	"ql/lang/syntax"
)

// clause is a word and what follows it; it is there when its value is given.
type clause struct {
	word  string
	value any
}

// literal is a clause whose word begins the expression.
type literal struct{ expr syntax.Expr }

// byMail is what follows BY.
func byMail(given bool) string {
	if given {
		return "MAIL"
	}
	return ""
}

// name is a word that the script has chosen, and stays as it is.
type name string

// condition is the condition of an IF or WHILE. Where it breaks into lines they
// are indented deeper than the block that follows.
type condition struct{ expr syntax.Expr }

// given tells whether a statement has the part.
func given(part any) bool {
	switch part := part.(type) {
	case nil:
		return false
	case bool:
		return part
	case string:
		return part != ""
	case *syntax.Duration:
		return part != nil
	case *syntax.Var:
		return part != nil
	case syntax.Format:
		return part != syntax.NoFormat
	case clause:
		return given(part.value)
	}
	return true
}

// sentence prints the parts of a statement in turn, those that are given:
// words, expressions, targets, durations, formats and clauses.
func (p *printer) sentence(parts ...any) doc {
	var out concat
	for _, part := range parts {
		if given(part) {
			out = append(out, p.part(part))
		}
	}
	return out
}

// part prints one part of a statement after a space.
func (p *printer) part(part any) doc {
	switch part := part.(type) {
	case string:
		var out concat
		for _, w := range strings.Fields(part) {
			out = append(out, p.token(space{}, w))
		}
		return out
	case name:
		return concat{p.gap(space{}), p.atom(string(part), string(part))}
	case clause:
		return p.clause(space{}, part)
	case condition:
		d := p.expr(space{}, part.expr)
		if chain, ok := part.expr.(*syntax.Binary); ok && operators[chain.Op].level != compares {
			return nest{indent, d}
		}
		return d
	case *syntax.Target:
		return p.target(space{}, part)
	case *syntax.Duration:
		return p.duration(part)
	case syntax.Format:
		return p.part(formatWords[part])
	case []syntax.Expr:
		return p.commas(len(part), func(i int) doc { return p.exprHere(part[i]) })
	case syntax.Expr:
		return p.expr(space{}, part)
	}
	return nil
}

// clause prints a clause after sep.
func (p *printer) clause(sep doc, c clause) doc {
	if l, ok := c.value.(literal); ok {
		return p.expr(sep, l.expr)
	}
	first, more, _ := strings.Cut(c.word, " ")
	out := concat{p.token(sep, first)}
	if more != "" {
		out = append(out, p.token(space{}, more))
	}
	if _, word := c.value.(bool); word {
		return out
	}
	return append(out, p.part(c.value))
}

// clauses prints a statement whose clauses stand in any order, as written; the
// result is the last. Where it does not fit on a line, each clause has its own.
func (p *printer) clauses(head doc, clauses ...clause) doc {
	var rest concat
	for word := p.ahead(); ; word = p.ahead() {
		c := find(clauses, word)
		if c == nil {
			break
		}
		rest = append(rest, p.clause(lineOrSpace, *c))
		if word == "SET" {
			break
		}
	}
	return grouped(head, indented(rest))
}

// find gives the clause of the word that the statement has, or nil.
func find(clauses []clause, word string) *clause {
	for i := range clauses {
		if first, _, _ := strings.Cut(clauses[i].word, " "); first == word && given(clauses[i].value) {
			return &clauses[i]
		}
	}
	return nil
}

// commas prints n members with commas between them; where several do not fit
// on the line, each begins a line of its own.
func (p *printer) commas(n int, member func(i int) doc) doc {
	var out concat
	for i := range n {
		sep := doc(space{})
		if i > 0 {
			out = append(out, p.comma())
			sep = lineOrSpace
		}
		out = append(out, p.gap(sep), member(i))
	}
	if n == 1 {
		return out
	}
	return grouped(indented(out))
}

// duration prints an amount of time; its unit is in the plural save after 1.
func (p *printer) duration(d *syntax.Duration) doc {
	unit := unitWords[d.Unit]
	if n, ok := d.Amount.(*syntax.Number); !ok || n.Raw != "1" {
		unit += "S"
	}
	return concat{p.expr(space{}, d.Amount), p.token(space{}, unit)}
}

var unitWords = map[syntax.Unit]string{
	syntax.Second: "SECOND",
	syntax.Minute: "MINUTE",
	syntax.Hour:   "HOUR",
	syntax.Day:    "DAY",
	syntax.Week:   "WEEK",
}

var formatWords = map[syntax.Format]string{
	syntax.FormatText:  "TEXT",
	syntax.FormatJSON:  "JSON",
	syntax.FormatCSV:   "CSV",
	syntax.FormatLines: "LINES",
	syntax.FormatBytes: "BYTES",

	syntax.FormatJSONLines: "JSON LINES",
}

var fieldKindWords = map[syntax.FieldKind]string{
	syntax.FieldText:     "TEXT",
	syntax.FieldLongText: "LONG TEXT",
	syntax.FieldEmail:    "EMAIL",
	syntax.FieldURL:      "URL",
	syntax.FieldPhone:    "PHONE",
	syntax.FieldSecret:   "SECRET",
	syntax.FieldNumber:   "NUMBER",
	syntax.FieldInteger:  "INTEGER",
	syntax.FieldDecimal:  "DECIMAL",
	syntax.FieldBoolean:  "BOOLEAN",
	syntax.FieldDate:     "DATE",
	syntax.FieldTime:     "TIME",
	syntax.FieldFile:     "FILE",
	syntax.FieldChoice:   "CHOICE",
	syntax.FieldChoices:  "CHOICES",
}
