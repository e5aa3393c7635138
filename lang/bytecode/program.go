package bytecode

import (
	"crypto/sha256"
	"sort"
	"sync"

	"ql/lang/value"
)

// Version is the version of the language and of the bytecode. A program runs
// only on a machine that knows its version.
const Version = 1

// Program is a compiled script. It is immutable: any number of machines may
// run it at once.
type Program struct {
	Hash       [sha256.Size]byte // over version, compiler's revision, text and includes
	Files      []string          // names: "" for the script itself, then each INCLUDE
	Funcs      []*Func           // 0 is the script's top level
	Consts     []value.Value     // frozen
	Templates  []Template
	Statements []Statement
	Steps      []Step
	Sites      []Site
	Builtins   []string // names of the built-ins used, by number
	// Input is the definition of the form that INPUT FIELDS makes, frozen; null
	// for a program without.
	Input value.Value
	// UsesSession says that it has a START SESSION.
	UsesSession bool
	// Pauses says that it has a statement that suspends the run:
	// GATHER, CONFIRM or WAIT.
	Pauses bool
	// Bytes is an estimate of what the program holds in memory.
	Bytes int

	once   sync.Once
	linked any
}

// Linked returns what link makes of the program, made once: the machine's own
// view of it, such as its built-ins looked up by name.
func (p *Program) Linked(link func(*Program) any) any {
	p.once.Do(func() { p.linked = link(p) })
	return p.linked
}

// Func is a function of a program, or its top level. It has its code twice:
// once with an OpStep before every statement, and once with counts only at the
// ends of blocks, for the steps that the trace no longer shows one by one.
type Func struct {
	Name   string
	File   int
	Params int
	Regs   int // registers that a frame needs
	Traced Code
	Fast   Code // empty where it can never be reached
	// Vars are the names of its variables, parameters first, for whoever shows them. No run
	// depends on them; programs of formats before 4 have none.
	Vars []string
	// DBReg holds the caller's database where the function has a USE
	// DATABASE, or is -1.
	DBReg int
}

// RegisterVars is how many variables of a function are in registers. The others are in a list, in the register
// behind them.
const RegisterVars = 150

// Code is one version of a function's instructions.
type Code struct {
	Instrs   []Instr
	Height   []uint8 // for each instruction: how many registers are in use before it
	Marks    []Mark  // sorted by PC
	Handlers []Handler
	// Loops lists where each loop body starts, in source order: entry i of the
	// traced code is entry i of the fast code.
	Loops []int32
}

// Mark ties instructions, from PC up to the next mark's, to a position in the
// script.
type Mark struct {
	PC      int32
	Line    int32
	Column  int32
	Step    int32 // number in Program.Steps, -1 before the first
	Pending int32 // steps begun in this block that are not counted yet
}

// At returns the mark of pc.
func (c *Code) At(pc int) Mark {
	i := sort.Search(len(c.Marks), func(i int) bool { return int(c.Marks[i].PC) > pc })
	if i == 0 {
		return Mark{Step: -1}
	}
	return c.Marks[i-1]
}

// Handler catches the errors of instructions [From, To): the error goes to
// register Reg and the machine to Target. Inner handlers come first.
type Handler struct {
	From, To, Target int32
	Reg              uint8
	// Transaction says that it only rolls back and raises again.
	Transaction bool
}

// Step is what the trace says of a statement.
type Step struct {
	Name  string
	Class Class
	Line  int32
}

// Site is one place in a program at which the machine asks its host.
type Site struct {
	Effect    Effect
	Args      uint8
	Step      int32 // the statement
	Statement int32 // number in Program.Statements for SQL
}

// CommitSite is the number of the site that every program has for a STOP that
// must commit a transaction of a calling function first.
const CommitSite = 0

// Template is a text with insertions: Texts has one more piece than there are
// insertions.
type Template struct {
	Texts []string
	Mode  TemplateMode
}

// TemplateMode says how insertions are written.
type TemplateMode uint8

// The modes.
const (
	PlainTemplate TemplateMode = iota
	HTMLTemplate               // escaped for HTML
	ShellTemplate              // each one quoted argument of a shell
)

// HasEffects reports whether the program can ask its host for anything: whether it has a site beside the one that
// every program has, which takes a transaction that another began.
func (p *Program) HasEffects() bool { return len(p.Sites) > CommitSite+1 }

// UsesDatabases reports whether the program has a statement that reaches a database.
func (p *Program) UsesDatabases() bool {
	for i := range p.Sites {
		if i != CommitSite && p.Sites[i].Effect.Info().Class == ClassDB {
			return true
		}
	}
	return false
}
