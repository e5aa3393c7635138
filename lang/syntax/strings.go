package syntax

import "ql/lang/source"

var opText = [...]string{
	OpOr: "OR", OpAnd: "AND", OpNot: "NOT", OpEq: "=", OpNe: "!=", OpLt: "<", OpLe: "<=", OpGt: ">", OpGe: ">=",
	OpIn: "IN", OpNotIn: "NOT IN", OpLike: "LIKE", OpNotLike: "NOT LIKE", OpBetween: "BETWEEN", OpNotBetween: "NOT BETWEEN", OpAdd: "+", OpSub: "-", OpMul: "*", OpDiv: "/", OpMod: "%", OpIntDiv: "DIV",
	OpDefault: "DEFAULT", OpNeg: "-",
}

// String returns the operator as it is written.
func (o Op) String() string { return opText[o] }

var fieldKindText = [...]string{
	FieldText: "TEXT", FieldLongText: "LONG TEXT", FieldEmail: "EMAIL", FieldURL: "URL", FieldPhone: "PHONE",
	FieldSecret: "SECRET", FieldNumber: "NUMBER", FieldInteger: "INTEGER", FieldDecimal: "DECIMAL", FieldBoolean: "BOOLEAN",
	FieldDate: "DATE", FieldTime: "TIME", FieldFile: "FILE", FieldChoice: "CHOICE", FieldChoices: "CHOICES",
}

// String returns the kind as it is written.
func (k FieldKind) String() string { return fieldKindText[k] }

var formatText = [...]string{
	NoFormat: "", FormatText: "TEXT", FormatJSON: "JSON", FormatCSV: "CSV", FormatLines: "LINES", FormatBytes: "BYTES", FormatJSONLines: "JSON LINES",
}

// String returns the format as it is written, "" for NoFormat.
func (f Format) String() string { return formatText[f] }

var sqlModeText = [...]string{SQLNone: "", SQLRows: "SET", SQLRow: "SET ROW", SQLValue: "SET VALUE", SQLFile: "SET FILE"}

// String returns the words before the result variable or the path, "" for SQLNone.
func (m SQLMode) String() string { return sqlModeText[m] }

var quoteText = [...]string{SingleQuote: "'", DoubleQuote: `"`, TripleQuote: `"""`}

// String returns the quote itself.
func (q Quote) String() string { return quoteText[q] }

// String returns the unit's plural as it is written.
func (u Unit) String() string {
	switch u {
	case Second:
		return "SECONDS"
	case Minute:
		return "MINUTES"
	case Hour:
		return "HOURS"
	case Day:
		return "DAYS"
	}
	return "WEEKS"
}

// Pos returns the start of the text.
func (s *Script) Pos() source.Pos { return 0 }

// End returns the end of the text.
func (s *Script) End() source.Pos { return source.Pos(len(s.File.Text)) }
