package syntax

import "ql/lang/source"

// kind is the kind of a token.
type kind uint8

const (
	tEOF   kind = iota
	tError      // a character or a text that is no token; err says why
	tWord
	tVar
	tGlobal
	tNumber
	tText     // a whole text without insertions
	tTextHead // a text from its quote to the brace of its first insertion
	tTextMid  // from one insertion's closing brace to the next one's opening brace
	tTextTail // from the last insertion's closing brace to the end of the text
	tArrow
	tEq
	tNe
	tLt
	tLe
	tGt
	tGe
	tPlus
	tMinus
	tStar
	tSlash
	tPercent
	tLParen
	tRParen
	tLBrack
	tRBrack
	tLBrace
	tRBrace
	tComma
	tDot
	tColon
	tSemi
)

// token is one token. A token may carry an error and still have a kind that the
// parser can go on with, such as a text with an unknown escape.
type token struct {
	kind  kind
	word  word // of a tWord; 0 for a word without a meaning of its own
	err   scanErr
	quote Quote
	line  bool // a line end stands before it
	esc   bool // a text piece that is not its own source bytes
	// equals marks a tTextHead or tTextMid whose insertion was written {=…}.
	equals      bool
	start, stop source.Pos
	errPos      source.Pos
	// The content of a text piece, without quotes and braces.
	bodyStart, bodyStop source.Pos
}

// scanErr says what is wrong with a token.
type scanErr uint8

const (
	errNone scanErr = iota
	errChar
	errComment       // /* without */
	errSlashes       // //
	errHash          // #
	errText          // "…" or '…' without its second quote
	errTriple        // """ without """
	errInsertLine    // a line end inside an insertion of a "…" text
	errInsertEnd     // the end of the script inside an insertion
	errEscape        // \d
	errUnicode       // \u without its digits, or beyond Unicode
	errSurrogate     // half of a surrogate pair
	errCurlyQuote    // “ ” ‘ ’
	errBackquote     // `…`
	errNumberLetter  // 30SECONDS
	errHexNumber     // 0x1F
	errNumberRange   // 1e999
	errLeadingDot    // .5
	errAndAnd        // &&
	errOrOr          // ||
	errBang          // ! alone
	errTripleEq      // ===
	errNotEqEq       // !==
	errStarStar      // **
	errFatArrow      // =>
	errQuestions     // ??
	errQuestionDot   // ?.
	errQuestionDigit // ?1
	errQuestion      // ? alone
	errDollar        // $x
	errAt            // @x
	errInvisible     // zero-width characters
)
