// Package compile makes bytecode of a resolved script. It allocates registers,
// turns lambdas into loops, and ties every instruction to its position in the
// text. It runs nothing.
//
// # Ownership
//
// A list or map may be held in several places; a write through one of them copies
// it first if it is marked shared (see value.Share), and only then. So whoever puts
// a container into a second place has to mark it, and the compiler decides where.
// Its words for that:
//
//   - borrow puts a value into a register to be read by the next instruction. The
//     container still belongs to where it came from and is not marked: it must be
//     neither written to nor stored.
//   - into puts a value into a register that keeps it: one that comes out of a
//     variable or a container is marked, since both hold it now. A variable is
//     written last, so that a failure leaves it as it was.
//   - held gives a register whose value is about to be stored in a container, and
//     tells whether the register is its only owner. It is not for a variable's own
//     register: then the storing instruction marks the value.
//   - base gives a temporary register above all that are in use. Arguments of a call
//     or effect are laid out from it on, and the result comes back in it.
//
// operand, left and right choose a register for a borrowed value: a variable's own
// where the expression is one. Every register below the height of an instruction at
// which the machine may stop holds a value of the program's own, so that the machine
// can be measured and stored there.
package compile

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"ql/lang/bytecode"
	"ql/lang/lib"
	"ql/lang/resolve"
	"ql/lang/source"
	"ql/lang/syntax"
	"ql/lang/value"
)

// Revision is part of a program's hash, by which stored programs are found. It grows
// with every change of the code that some text is compiled to: the snapshot of a machine
// that runs the new code must not meet the program that an earlier release has stored of
// the same text. Programs of earlier revisions run on.
const Revision = 2

// Compile makes a program of a script whose names are tied without errors. It takes a
// step of y with each instruction and constant.
func Compile(res *resolve.Result, hash [sha256.Size]byte, y *source.Yield) (*bytecode.Program, source.Errors) {
	c := &compiler{
		res:      res,
		yield:    y,
		prog:     &bytecode.Program{Hash: hash},
		consts:   map[syntax.Expr]constant{},
		defaults: map[syntax.Expr]value.Value{},
		forms:    map[syntax.Stmt]syntax.Expr{},
		values:   map[value.Value]int32{},
		texts:    map[string]int32{},
		builtins: map[int]int32{},
	}
	for _, f := range res.Files {
		c.prog.Files = append(c.prog.Files, f.Name)
	}
	c.prog.Sites = append(c.prog.Sites, bytecode.Site{Effect: bytecode.EffectTxCommit, Step: -1})
	if c.checkConstants(); len(c.errs) > 0 {
		c.errs.Sort()
		return nil, c.errs
	}
	for _, f := range res.Funcs {
		c.function(f)
		if len(c.errs) > 0 {
			c.errs.Sort()
			return nil, c.errs
		}
	}
	c.input()
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	cloneStrings(c.prog)
	c.prog.Bytes = c.prog.Weigh()
	return c.prog, nil
}

type compiler struct {
	res      *resolve.Result
	yield    *source.Yield
	prog     *bytecode.Program
	errs     source.Errors
	consts   map[syntax.Expr]constant
	defaults map[syntax.Expr]value.Value
	forms    map[syntax.Stmt]syntax.Expr
	values   map[value.Value]int32 // numbers of constants other than texts
	texts    map[string]int32
	builtins map[int]int32
	repeated int // see maxRepeated
}

// tables is how far each table of the program has been filled. A function's
// two versions are made by the same walk, so that the second finds the entries
// of the first in the same order.
type tables struct{ steps, sites, templates, statements int }

func (c *compiler) function(f *resolve.Func) {
	out := &bytecode.Func{Name: f.Name, File: f.File, Params: len(f.Params), Vars: slices.Clone(f.Vars), DBReg: -1}
	c.prog.Funcs = append(c.prog.Funcs, out)
	start := tables{len(c.prog.Steps), len(c.prog.Sites), len(c.prog.Templates), len(c.prog.Statements)}
	t := c.version(f, out, &out.Traced, false, start)
	// The top level is left only once: without loops its fast version would
	// never be reached.
	if f.Define != nil || f.HasLoops {
		t.regs = max(t.regs, c.version(f, out, &out.Fast, true, start).regs)
	}
	out.Regs = t.regs
}

func (c *compiler) version(f *resolve.Func, out *bytecode.Func, code *bytecode.Code, fast bool, at tables) *fn {
	g := &fn{c: c, f: f, out: out, code: code, fast: fast, file: c.res.Files[f.File], at: at, step: -1}
	if n := len(out.Traced.Instrs); fast {
		// The fast version is a little shorter.
		code.Instrs, code.Height = make([]bytecode.Instr, 0, n), make([]uint8, 0, n)
		code.Marks = make([]bytecode.Mark, 0, len(out.Traced.Marks))
	}
	g.body()
	return g
}

// constant returns the number of v in the pool.
func (c *compiler) constant(v value.Value) int32 {
	if v.IsText() {
		return c.text(v.Str())
	}
	if i, ok := c.values[v]; ok {
		return i
	}
	i := int32(len(c.prog.Consts))
	c.values[v] = i
	c.prog.Consts = append(c.prog.Consts, v.Freeze())
	return i
}

func (c *compiler) text(s string) int32 {
	if i, ok := c.texts[s]; ok {
		return i
	}
	i := int32(len(c.prog.Consts))
	c.texts[s] = i
	c.prog.Consts = append(c.prog.Consts, value.Text(s).Freeze())
	return i
}

func (c *compiler) builtin(i int) int32 {
	if n, ok := c.builtins[i]; ok {
		return n
	}
	n := int32(len(c.prog.Builtins))
	c.builtins[i] = n
	c.prog.Builtins = append(c.prog.Builtins, lib.At(i).Name)
	return n
}

// cloneStrings copies the strings of a program that are parts of the texts it was
// made of, which are not kept.
func cloneStrings(p *bytecode.Program) {
	var all []*string
	for _, f := range p.Funcs {
		all = append(all, &f.Name)
		for i := range f.Vars {
			all = append(all, &f.Vars[i])
		}
	}
	for _, t := range p.Templates {
		for i := range t.Texts {
			all = append(all, &t.Texts[i])
		}
	}
	for i := range p.Statements {
		s := &p.Statements[i]
		all = append(all, &s.Head)
		for i := range s.Texts {
			all = append(all, &s.Texts[i])
		}
	}
	n := 0
	for _, s := range all {
		n += len(*s)
	}
	var b strings.Builder
	b.Grow(n)
	for _, s := range all {
		b.WriteString(*s)
	}
	copied := b.String()
	for _, s := range all {
		*s, copied = copied[:len(*s)], copied[len(*s):]
	}
}

// Registers of a frame. Variables beyond the first registerVars are spilled: they
// are elements of a list in the register after them.
const (
	registerVars = bytecode.RegisterVars
	maxRegs      = bytecode.MaxRegs
	maxArgs      = 90
)

// fn is a function being compiled, in one of its versions.
type fn struct {
	c    *compiler
	f    *resolve.Func
	out  *bytecode.Func
	code *bytecode.Code
	file *source.File
	fast bool
	at   tables

	first      int // the first register that is no variable
	next       int // the next free register
	regs       int // the most that were in use
	overflowed bool

	pos     source.Pos
	lastPos source.Pos // of the last mark
	step    int32
	pending int // steps begun in this block and not yet counted

	loops     []*loop
	finallies []*finally
	scopes    []scope // lambda parameters
	txs       int     // TRANSACTIONs around the statement
}

// scope ties a lambda's parameter to its register.
type scope struct {
	name string
	reg  uint8
}

// loop is a loop around the statement being compiled.
type loop struct {
	breaks    []int
	continues []skip
	txs       int // TRANSACTIONs around the loop
}

// skip is a jump to a loop's end, with the steps pending there.
type skip struct{ pc, pending int }

func (g *fn) body() {
	n := len(g.f.Vars)
	vars := min(n, registerVars)
	g.first, g.next, g.regs = vars, vars, vars
	if n > registerVars {
		list := g.temp()
		g.emit(bytecode.OpNewList, list, 0, 0, int32(n-registerVars))
		null := g.temp()
		g.emit(bytecode.OpLoadNull, null, 0, 0, 0)
		for range n - registerVars {
			g.emit(bytecode.OpPush, list, null, 0, 0)
		}
		g.free(int(null))
		g.first = g.next
	}
	g.clearVars()
	if g.f.UsesDB && g.f.Define != nil {
		db := g.temp()
		g.out.DBReg = int(db)
		g.emit(bytecode.OpSaveDB, db, 0, 0, 0)
		g.first = g.next
	}
	g.stmts(g.f.Body)
	if g.f.Define == nil {
		g.emit(bytecode.OpHalt, 0, 0, g.takeSteps(), 0)
		return
	}
	t := g.temp()
	g.emit(bytecode.OpLoadNull, t, 0, 0, 0)
	g.ret(t)
}

// clearVars makes null of each variable that may be read before it is set.
// Parameters are always set.
func (g *fn) clearVars() {
	set := map[string]bool{}
	for _, p := range g.f.Params {
		set[p.Var.Name] = true
	}
	set = assignedFirst(g.f.Body, set)
	for i := len(g.f.Params); i < min(len(g.f.Vars), registerVars); {
		if set[g.f.Vars[i]] {
			i++
			continue
		}
		j := i
		for j+1 < min(len(g.f.Vars), registerVars) && !set[g.f.Vars[j+1]] {
			j++
		}
		g.emit(bytecode.OpLoadNull, uint8(i), uint8(j-i), 0, 0)
		i = j + 1
	}
}

// assignedFirst adds to set the variables that plain SETs at the start of a
// body give a value, before anything could read them or fail.
func assignedFirst(body []syntax.Stmt, set map[string]bool) map[string]bool {
	for _, s := range body {
		a, ok := s.(*syntax.Set)
		if !ok || len(a.Target.Path) > 0 || !isPlain(a.Value) {
			return set
		}
		set[a.Target.Var.Name] = true
	}
	return set
}

// isPlain reports whether an expression is a literal: it reads no variable and
// cannot fail.
func isPlain(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Number, *syntax.Null, *syntax.Bool:
		return true
	case *syntax.Text:
		return plainText(e)
	case *syntax.ListLit:
		return len(e.Items) == 0
	case *syntax.MapLit:
		return len(e.Entries) == 0
	case *syntax.Unary:
		_, ok := e.X.(*syntax.Number)
		return ok && e.Op == syntax.OpNeg
	}
	return false
}

// temp takes the next free register.
func (g *fn) temp() uint8 {
	if g.next >= maxRegs {
		if !g.overflowed {
			g.overflowed = true
			g.c.errs.Add(g.file, g.pos, g.pos+1, "this expression holds too many values at once: SET a part of it to a variable first")
		}
		return maxRegs
	}
	r := g.next
	g.next++
	g.regs = max(g.regs, g.next)
	return uint8(r)
}

// free gives back all registers from n on.
func (g *fn) free(n int) { g.next = n }

// emit appends an instruction and returns its place.
func (g *fn) emit(op bytecode.Op, a, b, c uint8, imm int32) int {
	g.c.yield.Step()
	pc := len(g.code.Instrs)
	if n := len(g.code.Marks); n == 0 || g.moved(&g.code.Marks[n-1]) {
		near := 0
		if n > 0 {
			near = int(g.code.Marks[n-1].Line)
		}
		line, col := g.file.PositionNear(g.pos, near)
		g.code.Marks = append(g.code.Marks, bytecode.Mark{PC: int32(pc), Line: int32(line), Column: int32(col), Step: g.step, Pending: int32(g.pending)})
		g.lastPos = g.pos
	}
	g.code.Instrs = append(g.code.Instrs, bytecode.Instr{Op: op, A: a, B: b, C: c, Imm: imm})
	g.code.Height = append(g.code.Height, uint8(g.next))
	return pc
}

// moved reports whether the place in the text has changed since the last mark.
func (g *fn) moved(m *bytecode.Mark) bool {
	return g.lastPos != g.pos || m.Step != g.step || m.Pending != int32(g.pending)
}

// here returns the place of the next instruction.
func (g *fn) here() int { return len(g.code.Instrs) }

// patch makes the jumps go to the next instruction.
func (g *fn) patch(jumps ...int) {
	for _, pc := range jumps {
		g.code.Instrs[pc].Imm = int32(g.here())
	}
}

// begin starts a statement: a step of its own in the traced version, one more
// pending in the fast one.
func (g *fn) begin(n syntax.Node, name string, class bytecode.Class) {
	g.pos = n.Pos()
	if !g.fast {
		line := g.file.Line(n.Pos())
		g.c.prog.Steps = append(g.c.prog.Steps, bytecode.Step{Name: name, Class: class, Line: int32(line)})
	}
	g.step = int32(g.at.steps)
	g.at.steps++
	if g.fast {
		if g.pending >= 100 { // jumps carry a signed byte of them
			g.flush()
		}
		g.pending++
		return
	}
	g.emit(bytecode.OpStep, 0, 0, 0, g.step)
}

// takeSteps hands the pending steps to an instruction's C.
func (g *fn) takeSteps() uint8 {
	if g.pending > 127 {
		g.flush()
	}
	n := g.pending
	g.pending = 0
	return uint8(n)
}

// flush counts the pending steps with an instruction of their own: before
// places that are reached from elsewhere.
func (g *fn) flush() {
	if g.pending > 0 {
		n := g.pending
		g.pending = 0
		g.emit(bytecode.OpSteps, 0, 0, 0, int32(n))
	}
}

// site returns the number of a new site.
func (g *fn) site(s bytecode.Site) int32 {
	s.Step = g.step
	if p := g.c.prog; !g.fast {
		p.Sites = append(p.Sites, s)
		p.UsesSession = p.UsesSession || s.Effect == bytecode.EffectSessionStart
		p.Pauses = p.Pauses || s.Effect.Info().Suspends
	}
	g.at.sites++
	return int32(g.at.sites - 1)
}

// effect asks the host: arguments stand from register a on, the result comes
// to a.
func (g *fn) effect(e bytecode.Effect, a uint8, args int) {
	g.emit(bytecode.OpEffect, a, 0, 0, g.site(bytecode.Site{Effect: e, Args: uint8(args)}))
}

func (g *fn) errorf(n syntax.Node, format string, args ...any) {
	g.c.errs.Add(g.file, n.Pos(), n.End(), "%s", fmt.Sprintf(format, args...))
}
