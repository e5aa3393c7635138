package syntax

import "ql/lang/source"

// badStmt makes a node of a broken statement: from start to where reading goes on, with
// the variables, globals and calls that stand in it.
func (p *parser) badStmt(last lastStmt, start source.Pos) *BadStmt {
	s := &BadStmt{Span: Span{start, max(start, p.prevStop)}}
	if last.start == start { // it came as far as its verb
		s.Verb = last.verb.String()
	}
	scan := scanner{src: p.src[:s.Stop], pos: int(start), cursor: true}
	var t, word token
	for scan.scan(&t); t.kind != tEOF; scan.scan(&t) {
		p.yield.Step()
		switch t.kind {
		case tVar:
			s.Parts = append(s.Parts, p.newVar(t.start, t.stop))
		case tGlobal:
			if name, ok := lookupGlobal(p.src[t.start+1 : t.stop]); ok {
				s.Parts = append(s.Parts, &Global{Span: Span{t.start, t.stop}, Name: name})
			}
		case tLParen:
			if word.kind == tWord && word.word.canName() && word.stop == t.start {
				s.Parts = append(s.Parts, &Call{Span: Span{word.start, word.stop}, Name: p.text(&word)})
			}
		}
		word = t
	}
	return s
}
