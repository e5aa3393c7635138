package syntax

import (
	"unicode/utf8"

	"ql/lang/source"
)

// TokenKind is what tools tell tokens apart by.
type TokenKind uint8

// The kinds of tokens.
const (
	WordToken     TokenKind = iota
	VarToken                // ?name
	GlobalToken             // !NAME
	NumberToken             // 42
	TextToken               // a text without insertions, or the last piece of one with some
	TextOpenToken           // a piece of a text up to an insertion
	OpenToken               // ( [ {
	CloseToken              // ) ] }
	CommaToken
	DotToken
	ColonToken
	OtherToken // operators, and what is no token of ours
)

// Token is one token of a text.
type Token struct {
	Span
	Kind TokenKind
	// First is a text's first piece; the others go on behind an insertion.
	First bool
	// Known says that a word has a meaning of its own somewhere in the grammar.
	Known bool
}

// Lex calls each with the tokens of [from, to), without the comments, which it returns.
// SQL is not told apart from the rest. from stands outside all texts.
func Lex(text string, from, to source.Pos, each func(Token)) []Comment {
	s := scanner{src: text[:to], pos: int(from), cursor: true}
	var t token
	for s.scan(&t); t.kind != tEOF; s.scan(&t) {
		out := Token{Span: Span{t.start, t.stop}, Kind: OtherToken}
		switch t.kind {
		case tWord:
			out.Kind, out.Known = WordToken, t.word != wNone
		case tVar:
			out.Kind = VarToken
		case tGlobal:
			out.Kind = GlobalToken
		case tNumber:
			out.Kind = NumberToken
		case tText:
			out.Kind, out.First = TextToken, true
		case tTextTail:
			out.Kind = TextToken
		case tTextHead:
			out.Kind, out.First = TextOpenToken, true
		case tTextMid:
			out.Kind = TextOpenToken
		case tLParen, tLBrack, tLBrace:
			out.Kind = OpenToken
		case tRParen, tRBrack, tRBrace:
			out.Kind = CloseToken
		case tComma:
			out.Kind = CommaToken
		case tDot:
			out.Kind = DotToken
		case tColon:
			out.Kind = ColonToken
		}
		each(out)
	}
	return s.comments
}

// WordAt returns the word that the offset stands in or behind, with the "?" or "!" in
// front of it, and whether there is one.
func WordAt(text string, at source.Pos) (Span, bool) {
	start := wordStart(text, int(at))
	end := start
	if letterAt(text, start) {
		end = wordEnd(text, start)
	}
	if start > 0 && (text[start-1] == '?' || text[start-1] == '!') && (end > start || int(at) == start) {
		start--
	}
	return Span{source.Pos(start), source.Pos(end)}, end > start
}

// wordStart returns where the word in front of the offset starts.
func wordStart(text string, i int) int {
	start := i
	for start > 0 {
		r, n := utf8.DecodeLastRuneInString(text[:start])
		if r != '_' && !continuesWord(r) {
			break
		}
		start -= n
	}
	return start
}

// IsName says whether a variable or a function may be called so.
func IsName(name string) bool { return letterAt(name, 0) && wordEnd(name, 0) == len(name) }

// CanName says whether a function may be called so.
func CanName(name string) bool { return IsName(name) && lookupWord(name).canName() }
