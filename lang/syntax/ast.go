// Package syntax turns script text into a tree: scanner, parser and AST.
// grammar.txt beside it is the grammar. Names are not looked up here.
package syntax

import "ql/lang/source"

// Script is a parsed text. Statements holds everything in order, DEFINE and
// INCLUDE among them.
type Script struct {
	File       *source.File
	Statements []Stmt
	Comments   []Comment // in order of position, save those inside SQL text
}

// Comment is one comment as written, with its marks.
type Comment struct {
	Start, Stop source.Pos
	Text        string
}

// Node is a part of the tree with its place in the text: [Pos, End).
type Node interface {
	Pos() source.Pos
	End() source.Pos
}

// Stmt is a statement.
type Stmt interface {
	Node
	stmt()
}

// Expr is an expression.
type Expr interface {
	Node
	expr()
}

// Span is the place of a node in its text; every node embeds it.
type Span struct{ Start, Stop source.Pos }

// Pos returns the offset of the node's first byte.
func (s Span) Pos() source.Pos { return s.Start }

// End returns the offset after the node's last byte.
func (s Span) End() source.Pos { return s.Stop }

// Block is a list of statements between two structure words. Its Span reaches
// from the end of the opening word to the start of the closing one, so that
// comments inside an empty block can be placed.
type Block struct {
	Span
	Stmts []Stmt
}

// Statements.
type (
	// Emit is EMIT [LINE] expr, … or EMIT JSON expr.
	Emit struct {
		Span
		Line bool
		JSON bool // Args is one value, which is all that the script emits
		Args []Expr
	}
	// Set is SET target AS expr.
	Set struct {
		Span
		Target *Target
		Value  Expr
	}
	// SetKey is SET "key" AS expr OF place.
	SetKey struct {
		Span
		Key   *Text
		Value Expr
		Place Place
	}
	// Unset is UNSET target.
	Unset struct {
		Span
		Target *Target
	}
	// UnsetKey is UNSET "key" OF place.
	UnsetKey struct {
		Span
		Key   *Text
		Place Place
	}
	// Append is APPEND expr TO target.
	Append struct {
		Span
		Value  Expr
		Target *Target
	}
	// AppendFile is APPEND [LINE] expr TO FILE expr.
	AppendFile struct {
		Span
		Line  bool
		Value Expr
		Path  Expr
	}
	// If is IF … THEN … {ELSE IF … THEN …} [ELSE …] END.
	If struct {
		Span
		Branches []Branch // the IF and each ELSE IF
		Else     *Block   // nil without ELSE
	}
	// ForIn is FOR [?k,] ?v IN expr DO … END.
	ForIn struct {
		Span
		Key   *Var // nil in the one-variable form
		Value *Var
		Seq   Expr
		Body  *Block
	}
	// ForRange is FOR ?i FROM a TO b [STEP c] DO … END.
	ForRange struct {
		Span
		Var  *Var
		From Expr
		To   Expr
		Step Expr // nil without STEP
		Body *Block
	}
	// ForFile is FOR ?row IN FILE expr [AS format] [ENCODING expr] [AT ?line] [BAD ?bad] DO … END.
	ForFile struct {
		Span
		Value    *Var
		Path     Expr
		Format   Format
		Encoding Expr
		At       *Var // nil without AT
		Bad      *Var // nil without BAD
		Body     *Block
	}
	// While is WHILE expr DO … END.
	While struct {
		Span
		Cond Expr
		Body *Block
	}
	// Break is BREAK.
	Break struct{ Span }
	// Continue is CONTINUE.
	Continue struct{ Span }
	// Stop is STOP.
	Stop struct{ Span }
	// Return is RETURN [expr].
	Return struct {
		Span
		Value Expr // nil without a value
	}
	// CallStmt is CALL name(…).
	CallStmt struct {
		Span
		Call *Call
	}
	// Try is TRY … [CATCH [?err] …] [FINALLY …] END, with one of the two or both.
	Try struct {
		Span
		Body    *Block
		Err     *Var   // nil without a variable
		Catch   *Block // nil without CATCH
		Finally *Block // nil without FINALLY
	}
	// Fail is FAIL expr [CODE expr].
	Fail struct {
		Span
		Value Expr
		Code  Expr // nil without CODE
	}
	// StartSession is START SESSION.
	StartSession struct{ Span }
	// EndSession is END SESSION.
	EndSession struct{ Span }
	// Confirm is CONFIRM expr [TO expr] [BY MAIL] [WITHIN duration] [SET ?ok].
	Confirm struct {
		Span
		Message Expr
		To      Expr // nil without TO
		ByMail  bool // its link is sent to the address behind TO
		Within  *Duration
		Result  *Var
	}
	// Gather is GATHER title FIELDS … or, in the short form, GATHER "a", "b".
	Gather struct {
		Span
		Title  Expr     // nil in the short form
		Fields []*Field // in the short form: required TEXT fields
		Short  []*Text  // the names of the short form, nil otherwise
		To     Expr     // nil without TO
		ByMail bool     // its link is sent to the address behind TO
		Within *Duration
		Result *Var
	}
	// Check is CHECK expr FIELDS … [SET ?clean].
	Check struct {
		Span
		Value  Expr
		Fields []*Field
		Result *Var
	}
	// Input is INPUT FIELDS …, the first statement of a script. The attributes
	// of its fields are constant expressions.
	Input struct {
		Span
		Fields []*Field
	}
	// Wait is WAIT duration or WAIT UNTIL expr.
	Wait struct {
		Span
		Duration *Duration
		Until    Expr
	}
	// Read is READ expr {AS format | OPTIONAL} SET ?x.
	Read struct {
		Span
		Path     Expr
		Format   Format
		Optional bool
		Result   *Var
	}
	// Write is WRITE expr [AS format] TO expr.
	Write struct {
		Span
		Value  Expr
		Format Format
		Path   Expr
	}
	// List is LIST expr SET ?files.
	List struct {
		Span
		Path   Expr
		Result *Var
	}
	// Copy is COPY expr [ON m] TO expr [ON m].
	Copy struct {
		Span
		From, FromOn Expr // FromOn, ToOn: nil without ON
		To, ToOn     Expr
	}
	// Move is MOVE expr TO expr.
	Move struct {
		Span
		From, To Expr
	}
	// Remove is REMOVE expr.
	Remove struct {
		Span
		Path Expr
	}
	// Share is SHARE expr {TIMES n | UNLIMITED | FOR duration | NAMED name} SET ?url.
	Share struct {
		Span
		Path      Expr
		Times     Expr
		Unlimited bool
		For       *Duration
		Named     Expr
		Result    *Var
	}
	// Unshare is UNSHARE expr.
	Unshare struct {
		Span
		URL Expr
	}
	// Use is USE DATABASE expr.
	Use struct {
		Span
		Name Expr
	}
	// Transaction is TRANSACTION … END.
	Transaction struct {
		Span
		Body *Block
	}
	// Render is RENDER expr [USING expr].
	Render struct {
		Span
		Path  Expr
		Using Expr // nil without USING
	}
	// Fetch is FETCH expr {METHOD | HEADERS | QUERY | BODY | TIMEOUT …} [SET ?reply].
	Fetch struct {
		Span
		URL, Method, Headers, Query, Body Expr // nil where left out
		Timeout                           *Duration
		Result                            *Var
	}
	// Mail is MAIL TO expr {SUBJECT | TEXT | HTML | FROM | ATTACH …} [SET ?id].
	Mail struct {
		Span
		To, Subject, Text, HTML, From, Attach Expr // nil where left out
		// Escapes says that the word HTML begins the text behind it, whose insertions are escaped.
		Escapes bool
		Result  *Var
	}
	// FetchAll is FETCH ALL list {AT MOST n | TIMEOUT …} [SET ?replies].
	FetchAll struct {
		Span
		List    Expr
		AtMost  Expr // nil where left out
		Timeout *Duration
		Result  *Var
	}
	// RunScript is RUN SCRIPT name {USING map | WITHIN duration} [SET ?result], or START SCRIPT
	// name [USING map] [SET ?job].
	RunScript struct {
		Span
		Start  bool // START: it is not waited for
		Name   Expr
		Using  Expr      // nil where left out
		Within *Duration // of RUN
		Result *Var
	}
	// WaitFor is WAIT FOR job [WITHIN duration] [SET ?result], or WAIT FOR SIGNAL name [WITHIN
	// duration] [SET ?data].
	WaitFor struct {
		Span
		Job    Expr // nil for a signal
		Signal Expr // its name; nil for a job
		Within *Duration
		Result *Var
	}
	// Signal is SIGNAL name TO job [USING data].
	Signal struct {
		Span
		Name, To Expr
		Using    Expr // nil where left out
	}
	// Run is RUN command ON machine {INPUT | TIMEOUT …} [SET ?out].
	Run struct {
		Span
		Command Expr // a *Text: shell words, each insertion one argument; else a list
		On      Expr
		Input   Expr
		Timeout *Duration
		Result  *Var
	}
	// SQL is a statement of the database's own language.
	SQL struct {
		Span
		Head   string    // SELECT, INSERT, … in capitals
		Parts  []SQLPart // text and parameters in turn
		Mode   SQLMode
		Result *Var // nil without SET ?name
		File   Expr // the path of SET FILE, nil without it
	}
	// Import is IMPORT rows INTO table, or IMPORT FILE path INTO table.
	Import struct {
		Span
		Rows     Expr // nil for a file
		Path     Expr // of FILE, nil otherwise
		Table    string
		Quoted   *Text // the table where it was written as a text, nil otherwise
		Format   Format
		Encoding Expr
		Bad      *Var // nil without BAD
		Result   *Var // nil without SET
	}
	// Define is DEFINE name(params) … END.
	Define struct {
		Span
		Name    string // as written
		NamePos source.Pos
		Params  []Param
		Body    *Block
	}
	// Constant is DEFINE name AS expr.
	Constant struct {
		Span
		Name    string // as written
		NamePos source.Pos
		Value   Expr
	}
	// BadStmt is a statement that could not be read; such a script has errors.
	BadStmt struct {
		Span
		Verb  string // in capitals, "" where no verb was read
		Parts []Expr // the variables, globals and calls that stand in it
	}
	// Include is INCLUDE "/path" [AS prefix].
	Include struct {
		Span
		Path  *Text
		As    string // as written, "" without AS
		AsPos source.Pos
	}
)

// Branch is IF or ELSE IF with its condition and body. Start is the IF word.
type Branch struct {
	Span
	Cond Expr
	Body *Block
}

// Param is a parameter of a DEFINE.
type Param struct {
	Var     *Var
	Default Expr // a constant expression, nil without DEFAULT
}

// Target is a variable with accesses, as the left side of a SET.
type Target struct {
	Span
	Var  *Var
	Path []Access
}

// Access is one step of a path: .name or [expr].
type Access struct {
	Span
	Name  string // set for .name
	Index Expr   // set for [expr]
}

// Place is what OF names: a *Target or a *Global.
type Place interface {
	Node
	place()
}

// Duration is "sum unit".
type Duration struct {
	Span
	Amount Expr
	Unit   Unit
}

// Unit is a unit of time, in seconds.
type Unit int32

// The units.
const (
	Second Unit = 1
	Minute Unit = 60
	Hour   Unit = 3600
	Day    Unit = 86400
	Week   Unit = 604800
)

// Format is a file format.
type Format uint8

// The formats; NoFormat means: by the file's ending.
const (
	NoFormat Format = iota
	FormatText
	FormatJSON
	FormatCSV
	FormatLines
	FormatBytes
	FormatJSONLines
)

// FieldKind is the kind of a form field.
type FieldKind uint8

// The kinds of form fields.
const (
	FieldText FieldKind = iota
	FieldLongText
	FieldEmail
	FieldURL
	FieldPhone
	FieldSecret
	FieldNumber
	FieldInteger
	FieldDecimal
	FieldBoolean
	FieldDate
	FieldTime
	FieldFile
	FieldChoice
	FieldChoices
)

// Field is one field of a GATHER, CHECK or INPUT.
type Field struct {
	Span
	Name     string
	Quoted   *Text // the name where it was written as a text, nil otherwise
	Kind     FieldKind
	Choices  Expr // CHOICE and CHOICES
	Required bool
	// Attributes, nil where left out.
	Min, Max, Default, Label, Help, Pattern Expr
	// Order lists the attributes' words as written, for the formatter.
	Order []string
}

// SQLMode says what SET takes of a SQL statement's result.
type SQLMode uint8

// The modes.
const (
	SQLNone  SQLMode = iota // no SET: rows are emitted
	SQLRows                 // SET ?rows
	SQLRow                  // SET ROW ?row
	SQLValue                // SET VALUE ?v
	SQLFile                 // SET FILE path
)

// SQLPart is a piece of a SQL statement: engine text or a bound parameter.
type SQLPart struct {
	Span
	Text  string // the engine's text, when Param is nil
	Param Expr   // *Var, *Global, *FieldAccess or *Index
	// InList says that the parameter stands after IN and means its members.
	// Parens says that it is written in parentheses, which are then part of
	// the Span, but of neither neighbouring text. Among says that it is one of
	// several values in the parentheses of IN.
	InList bool
	Parens bool
	Among  bool
	// Choices are the names that a parameter in braces may be, {?by IN name, city}, as they are
	// written; the braces are part of the Span. Nil for others.
	Choices []string
}

// Expressions.
type (
	// Number is a number literal; whole values are Int.
	Number struct {
		Span
		Raw   string // as written
		IsInt bool
		Int   int64
		Float float64
	}
	// Text is a text literal, with its insertions.
	Text struct {
		Span
		Quote Quote
		HTML  bool       // HTML "…": insertions are escaped
		Parts []TextPart // never empty for a text with content
	}
	// Null is NULL.
	Null struct{ Span }
	// Bool is TRUE or FALSE.
	Bool struct {
		Span
		Value bool
	}
	// Var is ?name.
	Var struct {
		Span
		Name string
	}
	// Global is !NAME, !NAME(), !NAME(key).
	Global struct {
		Span
		Name   string // in capitals
		Parens bool
		Arg    Expr // nil without one
	}
	// Call is [prefix.]name(args); lambdas stand among the arguments.
	Call struct {
		Span
		Prefix string // of an INCLUDE … AS, as written; "" without
		Name   string // as written
		Args   []Expr
	}
	// Name is a name alone: that of a constant or, where a lambda may stand, of a
	// function. Before a dot it may be the prefix of an INCLUDE.
	Name struct {
		Span
		Name string // as written
	}
	// Lambda is ?x -> expr or (?a, ?b) -> expr.
	Lambda struct {
		Span
		Params []*Var
		Parens bool // written with parentheses
		Body   Expr
	}
	// Case is CASE [x] WHEN … THEN … [ELSE …] END.
	Case struct {
		Span
		Of    Expr // what the Conds are compared with; nil where they are conditions
		Whens []When
		Else  Expr // nil without ELSE
	}
	// ListLit is [a, b].
	ListLit struct {
		Span
		Items []Expr
	}
	// MapLit is {key: value}.
	MapLit struct {
		Span
		Entries []Entry
	}
	// Paren is (expr).
	Paren struct {
		Span
		X Expr
	}
	// Unary is -x or NOT x.
	Unary struct {
		Span
		Op Op
		X  Expr
	}
	// Binary is x op y.
	Binary struct {
		Span
		Op    Op
		OpPos source.Pos
		X, Y  Expr
	}
	// IsNull is x IS [NOT] NULL.
	IsNull struct {
		Span
		X   Expr
		Not bool
	}
	// Between is x [NOT] BETWEEN low AND high.
	Between struct {
		Span
		OpPos        source.Pos
		X, Low, High Expr
		Not          bool
	}
	// FieldAccess is x.name.
	FieldAccess struct {
		Span
		X    Expr
		Name string
	}
	// Index is x[i].
	Index struct {
		Span
		X, I Expr
	}
)

// Quote is how a text was written.
type Quote uint8

// The quotes.
const (
	SingleQuote Quote = iota // '…'
	DoubleQuote              // "…"
	TripleQuote              // """…"""
)

// TextPart is a piece of a text: plain or an insertion.
type TextPart struct {
	Span
	Plain  string // decoded, when Insert is nil
	Insert Expr
	// Equals says that the insertion was written {=…}.
	Equals bool
}

// When is WHEN … THEN … of a CASE.
type When struct{ Cond, Then Expr }

// Entry is key: value of a map literal.
type Entry struct {
	Span
	Key    string
	Quoted *Text // the key where it was written as a text, nil otherwise
	Value  Expr
}

// Op is an operator.
type Op uint8

// The operators.
const (
	OpOr Op = iota
	OpAnd
	OpNot
	OpEq
	OpNe
	OpLt
	OpLe
	OpGt
	OpGe
	OpIn
	OpNotIn
	OpLike
	OpNotLike
	OpBetween
	OpNotBetween
	OpAdd
	OpSub
	OpMul
	OpDiv
	OpMod
	OpIntDiv
	OpDefault
	OpNeg
)

func (*Emit) stmt()         {}
func (*Set) stmt()          {}
func (*SetKey) stmt()       {}
func (*Unset) stmt()        {}
func (*UnsetKey) stmt()     {}
func (*Append) stmt()       {}
func (*AppendFile) stmt()   {}
func (*If) stmt()           {}
func (*ForIn) stmt()        {}
func (*ForRange) stmt()     {}
func (*ForFile) stmt()      {}
func (*While) stmt()        {}
func (*Break) stmt()        {}
func (*Continue) stmt()     {}
func (*Stop) stmt()         {}
func (*Return) stmt()       {}
func (*CallStmt) stmt()     {}
func (*Try) stmt()          {}
func (*Fail) stmt()         {}
func (*StartSession) stmt() {}
func (*EndSession) stmt()   {}
func (*Confirm) stmt()      {}
func (*Gather) stmt()       {}
func (*Check) stmt()        {}
func (*Input) stmt()        {}
func (*Wait) stmt()         {}
func (*Read) stmt()         {}
func (*Write) stmt()        {}
func (*List) stmt()         {}
func (*Copy) stmt()         {}
func (*Move) stmt()         {}
func (*Remove) stmt()       {}
func (*Share) stmt()        {}
func (*Unshare) stmt()      {}
func (*Use) stmt()          {}
func (*Transaction) stmt()  {}
func (*Render) stmt()       {}
func (*Fetch) stmt()        {}
func (*Mail) stmt()         {}
func (*FetchAll) stmt()     {}
func (*Run) stmt()          {}
func (*RunScript) stmt()    {}
func (*WaitFor) stmt()      {}
func (*Signal) stmt()       {}
func (*SQL) stmt()          {}
func (*Import) stmt()       {}
func (*Define) stmt()       {}
func (*Include) stmt()      {}
func (*Constant) stmt()     {}
func (*BadStmt) stmt()      {}

func (*Number) expr()      {}
func (*Text) expr()        {}
func (*Null) expr()        {}
func (*Bool) expr()        {}
func (*Var) expr()         {}
func (*Global) expr()      {}
func (*Call) expr()        {}
func (*Name) expr()        {}
func (*Lambda) expr()      {}
func (*Case) expr()        {}
func (*ListLit) expr()     {}
func (*MapLit) expr()      {}
func (*Paren) expr()       {}
func (*Unary) expr()       {}
func (*Binary) expr()      {}
func (*Between) expr()     {}
func (*IsNull) expr()      {}
func (*FieldAccess) expr() {}
func (*Index) expr()       {}

func (*Target) place() {}
func (*Global) place() {}

// HasInsertion says whether the text has to be put together when it runs.
func (t *Text) HasInsertion() bool {
	for i := range t.Parts {
		if t.Parts[i].Insert != nil {
			return true
		}
	}
	return false
}

// Plain returns the content of a text without insertions; of one with
// insertions it returns "".
func (t *Text) Plain() string {
	if len(t.Parts) == 1 {
		return t.Parts[0].Plain
	}
	return ""
}
