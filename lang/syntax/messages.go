package syntax

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"ql/lang/source"
)

// describe names a token as a message does.
func (p *parser) describe(t *token) string {
	switch t.kind {
	case tEOF:
		return "the end of the script"
	case tWord:
		if t.word != wNone {
			return t.word.String()
		}
		return quoteShort(p.text(t))
	case tVar, tGlobal:
		return p.text(t)
	case tNumber:
		return "the number " + short(p.text(t))
	case tText:
		return "the text " + short(p.text(t))
	case tTextHead:
		return "the text " + short(p.src[t.start:t.bodyStop]) + "…"
	case tTextMid, tTextTail:
		return "}"
	}
	return `"` + p.text(t) + `"`
}

// short cuts a long text for a message.
func short(s string) string {
	const longest = 30
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i] + "…"
	}
	if utf8.RuneCountInString(s) <= longest {
		return s
	}
	return string([]rune(s)[:longest]) + "…"
}

func quoteShort(s string) string { return `"` + short(s) + `"` }

// expected fails with what would fit, what was found, and an example, if one is
// given.
func (p *parser) expected(what, example string) {
	p.checkToken()
	if example != "" {
		example = ": write " + example
	}
	p.noteExpected(what)
	pos, end := p.missingAt()
	p.fail(pos, end, "expected %s, found %s%s", what, p.describe(&p.tok), example)
}

// missingAt is where something is missing before the current token: the token
// itself, or the end of the line before where the token stands on a later one.
func (p *parser) missingAt() (pos, end source.Pos) {
	if (p.tok.line || p.tok.kind == tEOF) && p.prevStop > 0 {
		return p.prevStop, p.prevStop
	}
	return p.tok.start, p.tok.stop
}

// notClosed fails at a missing closing bracket: at the opening one, where the
// text goes on with another line.
func (p *parser) notClosed(open source.Pos, what string) {
	p.checkToken()
	if p.tok.line || p.tok.kind == tEOF || p.tok.kind == tSemi {
		p.fail(open, open+1, "this %c is not closed: expected %s, found %s", p.src[open], what, p.describe(&p.tok))
	}
	p.expected(what, "")
}

// valueAfter is what stands behind pos on its line, as the value of an example:
// the text after "=", or "value" where that would not help.
func (p *parser) valueAfter(pos source.Pos) string {
	line := p.src[pos:lineEnd(p.src, int(pos))]
	line = strings.TrimLeft(line, " \t:=")
	for _, mark := range []string{";", "--", "//", "#"} {
		if i := strings.Index(line, mark); i >= 0 {
			line = line[:i]
		}
	}
	line = strings.TrimSpace(line)
	const longest = 30
	if line == "" || utf8.RuneCountInString(line) > longest {
		return "value"
	}
	return line
}

// strayOperand says whether a word on the same line stands where a value may
// stand, but does not have to: it was most likely meant as one.
func (p *parser) strayOperand() bool {
	t := &p.tok
	return t.kind == tWord && !t.line && t.word.canName() && t.word != wReplace && t.word != wCheck && t.word != wFinally && t.word != wImport && t.word != wMail && t.word != wSignal && verbHabits[p.upper(t)] == "" && p.foreignBlockWord() == wNone
}

// notLambda fails at function(x) { … } as an argument.
func (p *parser) notLambda() {
	if p.peek(1).kind == tLParen && p.peek(2).kind == tWord {
		p.fail(p.tok.start, p.tok.stop, "instead of function(x) write %s", valueHabits["FUNCTION"])
	}
}

// checkToken fails where the current token is wrong in itself, whatever was
// expected of it.
func (p *parser) checkToken() {
	t := &p.tok
	switch {
	case t.err != errNone:
		p.reportScan(t)
		panic(unwind{})
	case t.kind == tWord && t.word == wNone && !t.line && p.afterValue() && operatorHabits[p.upper(t)] != "":
		p.offerWord(t, operatorHabits[p.upper(t)])
		p.fail(t.start, t.stop, "instead of %s write %s", p.upper(t), operatorHabits[p.upper(t)])
	case t.kind == tArrow:
		p.fail(t.start, t.stop, "a function such as ?x -> ?x + 1 stands only among the arguments of a built-in like MAP or FILTER; for a function of your own write DEFINE")
	case t.kind == tWord && p.prevKind == tText && p.prevText == SingleQuote && p.prevStop == t.start:
		p.fail(t.start-1, t.start, "a quote inside '…' is written twice: 'it''s'; or put the text in double quotes")
	}
}

// afterValue says whether the token taken last may end a value.
func (p *parser) afterValue() bool {
	switch p.prevKind {
	case tVar, tGlobal, tNumber, tText, tTextTail, tRParen, tRBrack, tRBrace, tWord:
		return true
	}
	return false
}

// reportScan reports what is wrong with a token.
func (p *parser) reportScan(t *token) {
	end := t.stop
	if t.errPos != t.start || end <= t.errPos {
		end = t.errPos + 1
	}
	p.noteText(t)
	if text := scanFix(t.err, p.text(t)); text != "" {
		p.offer(source.ForeignWord, t, text)
	}
	p.errorAt(t.errPos, end, "%s", p.scanMessage(t))
}

// scanFix is what is written here for a token of other languages, "" where that needs
// more than the token.
func scanFix(err scanErr, text string) string {
	switch err {
	case errAndAnd:
		return "AND"
	case errOrOr:
		return "OR"
	case errBang:
		return "NOT "
	case errTripleEq:
		return "="
	case errNotEqEq:
		return "!="
	case errFatArrow:
		return "->"
	case errQuestions:
		return "DEFAULT"
	case errQuestionDot:
		return "."
	case errLeadingDot:
		return "0" + text
	case errDollar, errAt:
		if len(text) > 1 {
			return "?" + text[1:]
		}
	}
	return ""
}

func (p *parser) scanMessage(t *token) string {
	rest := p.src[t.errPos:]
	text := p.text(t)
	switch t.err {
	case errComment:
		return "this comment has no end: */ is missing"
	case errSlashes:
		return "a comment starts with --, not with //; division without remainder is DIV"
	case errHash:
		return "a comment starts with --, not with #"
	case errText:
		if rest[0] == '\'' {
			return "this text has no closing ' on its line; a quote inside '…' is written twice: 'it''s'"
		}
		return `this text has no closing " on its line; a text of several lines stands in """`
	case errTriple:
		return `this text has no closing """`
	case errInsertLine, errInsertEnd:
		return "an insertion in this text is not closed: } is missing; a plain brace is written \\{"
	case errEscape:
		_, n, _ := decodeEscape(rest)
		return fmt.Sprintf(`%s is no escape: write \\ for a backslash, or put the text in '…', where a backslash is itself`, strings.TrimRight(rest[:n], "\n"))
	case errUnicode:
		return `\u takes four hexadecimal digits, \u00E9, or up to six in braces, \u{1F600}`
	case errSurrogate:
		return `this \u is half of a character: write the whole one as \u{1F600}`
	case errCurlyQuote:
		r, _ := utf8.DecodeRuneInString(rest)
		straight := `"`
		if strings.ContainsRune("‘’‚", r) {
			straight = "'"
		}
		return fmt.Sprintf("write a straight %s instead of the curly quote %c", straight, r)
	case errBackquote:
		return "write \"…\" instead of `…`, with insertions as {?name}"
	case errNumberLetter:
		return numberLetterMessage(text, rest)
	case errHexNumber:
		return text + " is no number: numbers are written in decimal digits"
	case errNumberRange:
		return short(text) + " is too large for a number"
	case errLeadingDot:
		return "a number starts with a digit: write 0" + text
	case errAndAnd:
		return "write AND instead of &&"
	case errOrOr:
		return "write OR instead of ||; texts are joined with +"
	case errBang:
		return "write NOT instead of !"
	case errTripleEq:
		return "write = instead of ==="
	case errNotEqEq:
		return "write != instead of !=="
	case errStarStar:
		return "write POWER(base, exponent) instead of **"
	case errFatArrow:
		return "write -> instead of =>: MAP(?list, ?x -> ?x.name); in a map a colon stands after the key"
	case errQuestions:
		return "write DEFAULT instead of ??: ?name DEFAULT \"nobody\""
	case errQuestionDot:
		return "write . instead of ?.: an access on NULL gives NULL"
	case errQuestionDigit:
		return text + " is no variable: a name starts with a letter, such as ?value" + text[1:]
	case errQuestion:
		return "a ? alone means nothing: a variable is ?name; a choice is CASE WHEN condition THEN a ELSE b END"
	case errDollar, errAt:
		if t.kind == tVar {
			return "write ?" + text[1:] + " instead of " + text + ": variables start with ?"
		}
		return text + " means nothing here: variables start with ?, as in ?name"
	case errInvisible:
		r, _ := utf8.DecodeRuneInString(rest)
		return fmt.Sprintf("an invisible character (U+%04X) stands here: delete it", r)
	}
	return charMessage(rest)
}

func numberLetterMessage(number, rest string) string {
	end := wordEnd(rest, 0)
	tail := rest[len(number):]
	if len(number) >= end {
		return short(number) + " is neither a number nor a name: a name starts with a letter"
	}
	word := tail[:wordEnd(tail, 0)]
	return fmt.Sprintf("a space is missing: %s %s", short(number), strings.ToUpper(word))
}

func charMessage(rest string) string {
	r, _ := utf8.DecodeRuneInString(rest)
	switch r {
	case '^':
		return "^ means nothing here: a power is POWER(base, exponent)"
	case '&':
		return "& means nothing here: the logical operator is AND; texts are joined with +"
	case '|':
		return "| means nothing here: the logical operator is OR; functions are called as NAME(value)"
	case '~':
		return "~ means nothing here: patterns are tested with MATCHES(text, pattern)"
	case '\\':
		return `\ means nothing outside a text; a statement goes on over line ends by itself`
	case '–', '—', '−':
		return fmt.Sprintf("write - for minus, or -- for a comment, instead of the long dash %c", r)
	case '…':
		return "… stands for something left out: write it out"
	case '×':
		return "write * instead of ×"
	case '÷':
		return "write / instead of ÷"
	case '≠', '≤', '≥':
		return fmt.Sprintf("write %s instead of %c", map[rune]string{'≠': "!=", '≤': "<=", '≥': ">="}[r], r)
	}
	if r < ' ' || r == 0x7F {
		return fmt.Sprintf("a control character (U+%04X) may not stand here", r)
	}
	return fmt.Sprintf("the character %c means nothing here", r)
}

// openInsertion fails at an insertion that goes on where its brace should close.
func (p *parser) openInsertion(brace source.Pos) {
	t := &p.tok
	if t.err != errNone || t.kind == tEOF {
		p.fail(brace, t.start, "this insertion is not closed: } is missing; a plain brace is written \\{")
	}
	p.fail(t.start, t.stop, "expected } to close the insertion, found %s; a plain brace is written \\{", p.describe(t))
}
