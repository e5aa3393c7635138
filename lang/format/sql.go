package format

import (
	"strings"

	"ql/lang/syntax"
)

var sqlModeWords = map[syntax.SQLMode]string{
	syntax.SQLRow:   "ROW",
	syntax.SQLValue: "VALUE",
	syntax.SQLFile:  "FILE",
}

// sql prints a SQL statement. The engine's text stays as it is, to the byte;
// only the bound parameters and the end are ours.
func (p *printer) sql(s *syntax.SQL) doc {
	start := p.pos
	var out concat
	for _, part := range s.Parts {
		if part.Param != nil {
			out = append(out, p.param(part))
		} else {
			p.moveTo(int(part.Stop))
			out = append(out, raw(part.Text))
		}
	}
	written := p.src[start:p.pos]
	p.skipBlanks()
	comment := p.mayEndInComment(s, start+len(written))
	if s.Mode == syntax.SQLNone {
		if strings.HasPrefix(p.src[p.pos:], ";") {
			p.skip(";")
		}
		if comment {
			out = append(out, hard{})
		}
		return append(out, text(";"))
	}
	set := concat{p.token(lineOrSpace, "SET"), p.sentence(sqlModeWords[s.Mode], s.Result, s.File)}
	overLines := strings.Contains(written, "\n")
	return group{append(out, indented(set)), overLines || comment || mustBreak(set)}
}

// mayEndInComment tells whether the text of a SQL statement, which ends at end,
// may end in a -- comment, so that nothing can follow it on its line. A -- in
// quotes is taken for one too: that costs a line and changes nothing.
func (p *printer) mayEndInComment(s *syntax.SQL, end int) bool {
	last := s.Parts[len(s.Parts)-1]
	if last.Param != nil || p.pos < len(p.src) && !strings.Contains(p.src[end:p.pos], "\n") {
		return false
	}
	line := last.Text[strings.LastIndexByte(last.Text, '\n')+1:]
	return strings.Contains(line, "--")
}

// param prints a bound parameter. One over several lines or with a comment
// inside stays as it is.
func (p *printer) param(part syntax.SQLPart) doc {
	start, stop := int(part.Start), int(part.Stop)
	p.moveTo(start)
	plain := p.plainUpTo(stop)
	p.lost = false
	p.moveTo(int(part.Param.Pos()))
	printed := onLine(p.exprHere(part.Param))
	p.moveTo(stop)
	switch {
	case !plain || p.lost:
		return raw(p.src[start:stop])
	case part.Parens:
		return text("(" + printed + ")")
	case part.Choices != nil:
		return text("{" + printed + " IN " + strings.Join(part.Choices, ", ") + "}")
	}
	return text(printed)
}
