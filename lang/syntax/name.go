package syntax

import (
	"strings"

	"ql/lang/source"
)

// namedAt is where a name stands alone, or a prefix.
type namedAt struct {
	pos  source.Pos
	name string
	arg  bool // the name may be that of a function, also of the library
}

// constantNames finds what may be the names of constants in a text, in small letters; ""
// stands for an INCLUDE. It looks at words alone, and each byte once.
func constantNames(src string) map[string]bool {
	names := map[string]bool{}
	for i := 0; i < len(src); {
		if class[src[i]] != cLetter && class[src[i]] != cHigh {
			i++
			continue
		}
		end := max(i+1, sqlWordEnd(src, i))
		if n := end - i; n != len("INCLUDE") && n != len("DEFINE") {
			i = end
			continue
		}
		switch lookupWord(src[i:end]) {
		case wInclude:
			names[""] = true
		case wDefine:
			start := skipSpace(src, end)
			stop := wordEnd(src, start)
			if as := skipSpace(src, stop); letterAt(src, start) && as > stop && lookupWord(src[as:wordEnd(src, as)]) == wAs {
				names[strings.ToLower(src[start:stop])] = true
			}
		}
		i = end
	}
	return names
}

// skipSpace returns the offset after white space from i on.
func skipSpace(src string, i int) int {
	for i < len(src) && class[src[i]] == cSpace {
		i++
	}
	return i
}

// mayName says whether a word may be the name of a constant, as far as the text alone tells:
// where it cannot, a word that stands for a value is a mistake that is reported on the spot. An
// INCLUDE may bring any name; "" is one that only an INCLUDE can bring.
func (p *parser) mayName(name string) bool {
	if p.constants == nil {
		p.constants = constantNames(p.src)
	}
	return p.constants[""] || name != "" && p.constants[strings.ToLower(name)]
}

// startsName says whether the current word stands for a value by itself: it has no other
// meaning, and what follows can follow a value.
func (p *parser) startsName() bool {
	return p.tok.kind == tWord && p.tok.word == wNone && p.tok.err == errNone && p.peek(1).mayFollowValue() && p.mayName(p.text(&p.tok))
}

func (t *token) mayFollowValue() bool {
	switch t.kind {
	case tEOF, tSemi, tComma, tRParen, tRBrack, tRBrace, tDot, tLBrack, tTextMid, tTextTail:
		return true
	case tWord:
		return t.word != wNone || t.line
	}
	return t.line || kindOps[t.kind].level > 0
}

// startsMember says whether a function of an included file is called here: prefix.name(.
func (p *parser) startsMember() bool {
	// The text is searched for an INCLUDE last: most scripts never come to that.
	return p.tok.kind == tWord && p.tok.word == wNone && p.tok.err == errNone &&
		p.peek(1).kind == tDot && p.peek(2).kind == tWord && p.peek(3).kind == tLParen && p.mayName("")
}

// name takes a name that stands alone.
func (p *parser) name(arg bool) *Name {
	n := &Name{Span{p.tok.start, p.tok.stop}, p.text(&p.tok)}
	p.noteName(namedAt{n.Start, n.Name, arg})
	p.next()
	return n
}

func (p *parser) noteName(n namedAt) { p.names = append(p.names, n) }

// checkNames reports the names that can mean nothing: the script makes no constant of that
// name, and includes no file that could.
func (p *parser) checkNames() {
	if len(p.names) == 0 {
		return
	}
	known := map[string]bool{}
	for _, s := range p.stmts {
		switch s := s.(type) {
		case *Include:
			return
		case *Constant:
			known[strings.ToLower(s.Name)] = true
		case *Define:
			known[strings.ToLower(s.Name)] = true
		}
	}
	wrong := map[int]bool{} // lines
	for _, e := range p.errs {
		wrong[e.Line] = true
	}
	comments := p.scan.comments
	for _, n := range p.names {
		if line := p.file.Line(n.pos); !n.arg && !known[strings.ToLower(n.name)] && !wrong[line] {
			wrong[line] = true
			p.sayAt(n.pos)
		}
	}
	p.scan.comments = comments
}

// sayAt reports that no value stands at pos.
func (p *parser) sayAt(pos source.Pos) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(unwind); !ok {
				panic(r)
			}
		}
	}()
	p.resetTo(int(pos))
	p.errLine = 0
	p.badOperand()
}
