package syntax

import "slices"

// word is a word with a meaning of its own somewhere in the grammar. No word is
// reserved: what it means depends on where it stands.
type word uint8

const (
	wNone word = iota

	// Verbs that start a statement of ours.
	wEmit
	wSet
	wUnset
	wAppend
	wIf
	wFor
	wWhile
	wBreak
	wContinue
	wStop
	wReturn
	wCall
	wTry
	wFail
	wStart
	wEnd
	wConfirm
	wGather
	wWait
	wRead
	wWrite
	wList
	wCopy
	wMove
	wRemove
	wShare
	wUnshare
	wUse
	wTransaction
	wRender
	wFetch
	wRun
	wCheck
	wImport
	wMail
	wSignal
	wDefine
	wInclude

	// Verbs that start a SQL statement.
	wSelect
	wWith
	wInsert
	wUpdate
	wDelete
	wCreate
	wAlter
	wDrop
	wExplain
	wReplace

	// Structure words; END is one too.
	wThen
	wElse
	wDo
	wCatch
	wFinally // where ( follows, it is a name

	// Words of expressions.
	wAnd
	wOr
	wNot
	wIn
	wIs
	wDefault
	wDiv
	wCase
	wWhen
	wNull
	wTrue
	wFalse
	wHTML

	// Operators that functions may be called by too: where an operand stands, they are names.
	wBetween
	wLike

	// Clause words; SET, FOR, IN and DEFAULT are clause words too.
	wLine
	wAs
	wOf
	wTo
	wFrom
	wStep
	wWithin
	wFields
	wCode
	wUntil
	wOptional
	wOn
	wTimes
	wUnlimited
	wNamed
	wUsing
	wMethod
	wHeaders
	wQuery
	wBody
	wTimeout
	wInput
	wDatabase
	wSession
	wInto
	wRow
	wEncoding
	wAt
	wBad
	wSubject
	wAttach
	wBy
	wAll
	wMost
	wScript
	wValue

	// Attributes of form fields; DEFAULT is one too.
	wRequired
	wMin
	wMax
	wLabel
	wHelp
	wPattern

	// Kinds of form fields and formats of files.
	wText
	wLong
	wEmail
	wURL
	wPhone
	wSecret
	wNumber
	wInteger
	wDecimal
	wBoolean
	wDate
	wTime
	wFile
	wChoice
	wChoices
	wJSON
	wCSV
	wLines
	wBytes

	// Units of time.
	wSecond
	wSeconds
	wMinute
	wMinutes
	wHour
	wHours
	wDay
	wDays
	wWeek
	wWeeks

	// Words that only the SQL mode looks at.
	wBegin
	wTrigger
	wFunction
	wProcedure
	wPosition
	wExists

	wordCount
)

var wordText = [wordCount]string{
	wEmit: "EMIT", wSet: "SET", wUnset: "UNSET", wAppend: "APPEND", wIf: "IF", wFor: "FOR", wWhile: "WHILE",
	wBreak: "BREAK", wContinue: "CONTINUE", wStop: "STOP", wReturn: "RETURN", wCall: "CALL", wTry: "TRY",
	wFail: "FAIL", wStart: "START", wEnd: "END", wConfirm: "CONFIRM", wGather: "GATHER", wWait: "WAIT",
	wRead: "READ", wWrite: "WRITE", wList: "LIST", wCopy: "COPY", wMove: "MOVE", wRemove: "REMOVE",
	wShare: "SHARE", wUnshare: "UNSHARE", wUse: "USE", wTransaction: "TRANSACTION", wRender: "RENDER",
	wFetch: "FETCH", wRun: "RUN", wCheck: "CHECK", wImport: "IMPORT", wMail: "MAIL", wSignal: "SIGNAL", wDefine: "DEFINE", wInclude: "INCLUDE",

	wSelect: "SELECT", wWith: "WITH", wInsert: "INSERT", wUpdate: "UPDATE", wDelete: "DELETE",
	wCreate: "CREATE", wAlter: "ALTER", wDrop: "DROP", wExplain: "EXPLAIN", wReplace: "REPLACE",

	wThen: "THEN", wElse: "ELSE", wDo: "DO", wCatch: "CATCH", wFinally: "FINALLY",

	wAnd: "AND", wOr: "OR", wNot: "NOT", wIn: "IN", wIs: "IS", wDefault: "DEFAULT", wDiv: "DIV",
	wCase: "CASE", wWhen: "WHEN", wNull: "NULL", wTrue: "TRUE", wFalse: "FALSE", wHTML: "HTML",
	wBetween: "BETWEEN", wLike: "LIKE",

	wLine: "LINE", wAs: "AS", wOf: "OF", wTo: "TO", wFrom: "FROM", wStep: "STEP", wWithin: "WITHIN",
	wFields: "FIELDS", wCode: "CODE", wUntil: "UNTIL", wOptional: "OPTIONAL", wOn: "ON", wTimes: "TIMES",
	wUnlimited: "UNLIMITED", wNamed: "NAMED", wUsing: "USING", wMethod: "METHOD", wHeaders: "HEADERS",
	wQuery: "QUERY", wBody: "BODY", wTimeout: "TIMEOUT", wInput: "INPUT", wDatabase: "DATABASE",
	wSession: "SESSION", wInto: "INTO", wRow: "ROW", wEncoding: "ENCODING", wAt: "AT", wBad: "BAD",
	wSubject: "SUBJECT", wAttach: "ATTACH", wBy: "BY", wAll: "ALL", wMost: "MOST", wScript: "SCRIPT", wValue: "VALUE",

	wRequired: "REQUIRED", wMin: "MIN", wMax: "MAX", wLabel: "LABEL", wHelp: "HELP", wPattern: "PATTERN",

	wText: "TEXT", wLong: "LONG", wEmail: "EMAIL", wURL: "URL", wPhone: "PHONE", wSecret: "SECRET",
	wNumber: "NUMBER", wInteger: "INTEGER", wDecimal: "DECIMAL", wBoolean: "BOOLEAN", wDate: "DATE", wTime: "TIME",
	wFile: "FILE", wChoice: "CHOICE", wChoices: "CHOICES",
	wJSON: "JSON", wCSV: "CSV", wLines: "LINES", wBytes: "BYTES",

	wSecond: "SECOND", wSeconds: "SECONDS", wMinute: "MINUTE", wMinutes: "MINUTES", wHour: "HOUR",
	wHours: "HOURS", wDay: "DAY", wDays: "DAYS", wWeek: "WEEK", wWeeks: "WEEKS",

	wBegin: "BEGIN", wTrigger: "TRIGGER", wFunction: "FUNCTION", wProcedure: "PROCEDURE",
	wPosition: "POSITION", wExists: "EXISTS",
}

func (w word) String() string { return wordText[w] }

// isVerb says whether w starts a statement. END counts (END SESSION), and so
// do REPLACE, which is a verb only before INTO, and CHECK, which is none where (
// touches it. IMPORT is one only before FILE, a variable or [, MAIL only before TO, SIGNAL only
// before a text or a variable, and INPUT only before FIELDS at the start of a script.
func (w word) isVerb() bool { return w >= wEmit && w <= wReplace }

// isSQLHead says whether w starts a SQL statement.
func (w word) isSQLHead() bool { return w >= wSelect && w <= wReplace }

// isStructure says whether w opens, parts or closes a block.
func (w word) isStructure() bool { return w >= wThen && w <= wFinally || w == wEnd }

// isOperator says whether w is a word of expressions.
func (w word) isOperator() bool { return w >= wAnd && w <= wHTML }

// canName says whether a function may be called w. REPLACE is a built-in's name
// as well as a verb, and CHECK, FINALLY, IMPORT, MAIL and SIGNAL are ones that scripts have given.
func (w word) canName() bool {
	return w == wNone || w == wReplace || w == wCheck || w == wFinally || w == wImport || w == wMail || w == wSignal || !w.isVerb() && !w.isStructure() && !w.isOperator()
}

func (w word) unit() (Unit, bool) {
	switch w {
	case wSecond, wSeconds:
		return Second, true
	case wMinute, wMinutes:
		return Minute, true
	case wHour, wHours:
		return Hour, true
	case wDay, wDays:
		return Day, true
	case wWeek, wWeeks:
		return Week, true
	}
	return 0, false
}

func (w word) format() (Format, bool) {
	switch w {
	case wText:
		return FormatText, true
	case wJSON:
		return FormatJSON, true
	case wCSV:
		return FormatCSV, true
	case wLines:
		return FormatLines, true
	case wBytes:
		return FormatBytes, true
	}
	return NoFormat, false
}

func textsOf(words ...word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.String()
	}
	return out
}

func textsBetween(first, last word) []string {
	var out []string
	for w := first; w <= last; w++ {
		out = append(out, w.String())
	}
	return out
}

// Verbs lists the words that start a statement, those of SQL among them.
func Verbs() []string { return textsBetween(wEmit, wReplace) }

// SQLHeads lists the words that start a SQL statement. REPLACE does so only
// before INTO.
func SQLHeads() []string { return textsBetween(wSelect, wReplace) }

// StructureWords lists the words that open, part and close blocks.
func StructureWords() []string { return textsOf(wThen, wElse, wDo, wCatch, wFinally, wEnd) }

// OperatorWords lists the words of expressions.
func OperatorWords() []string { return textsBetween(wAnd, wLike) }

// ClauseWords lists the words that start a clause of a statement.
func ClauseWords() []string {
	return append(textsBetween(wLine, wValue), "SET", "FOR", "IN", "DEFAULT", "FILE", "TEXT", "HTML")
}

// FieldKinds lists the kinds of form fields; LONG TEXT is two words.
func FieldKinds() []string {
	out := textsBetween(wText, wChoices)
	out[slices.Index(out, "LONG")] = "LONG TEXT"
	return out
}

// FieldAttributes lists the attributes of form fields.
func FieldAttributes() []string { return append(textsBetween(wRequired, wPattern), "DEFAULT") }

// Formats lists the file formats of READ and WRITE.
func Formats() []string { return textsOf(wText, wJSON, wCSV, wLines, wBytes) }

// RowFormats lists the formats of files that are read row by row; JSON LINES is two
// words.
func RowFormats() []string { return []string{"CSV", "LINES", "JSON LINES"} }

// Units lists the units of time, plurals among them.
func Units() []string { return textsBetween(wSecond, wWeeks) }

var globals = [...]string{
	"ACCOUNT", "BODY", "COOKIE", "FILES", "GET", "INPUT", "JOB", "POST", "QUOTA", "REQUEST", "RESPONSE", "SECRET", "SESSION",
}

// Globals lists the names of the globals, without the "!".
func Globals() []string { return slices.Clone(globals[:]) }

// The table of words is an open hash, filled once: a script is mostly words,
// and a map would cost more than all the rest of the scanner.
const wordSlots = 1024

var wordTable = buildWordTable()

func buildWordTable() (table [wordSlots]word) {
	for w := word(1); w < wordCount; w++ {
		slot := wordHash(wordText[w])
		for table[slot] != wNone {
			slot = (slot + 1) % wordSlots
		}
		table[slot] = w
	}
	return table
}

func wordHash(s string) uint32 {
	n := len(s)
	a, b, c := uint32(s[0]|0x20), uint32(s[n/2]|0x20), uint32(s[n-1]|0x20)
	return (a*31 + b*137 + c*263 + uint32(n)*71) % wordSlots
}

const maxWordLen = len("TRANSACTION")

// lookupWord finds the word that s spells in any case.
func lookupWord(s string) word {
	if len(s) < 2 || len(s) > maxWordLen {
		return wNone
	}
	for slot := wordHash(s); ; slot = (slot + 1) % wordSlots {
		w := wordTable[slot]
		if w == wNone || equalFold(s, wordText[w]) {
			return w
		}
	}
}

// equalFold compares s with upper, a text of ASCII capitals, without regard to
// ASCII case.
func equalFold(s, upper string) bool {
	if len(s) != len(upper) {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		if c != upper[i] {
			return false
		}
	}
	return true
}
