package bytecode

import (
	"math/bits"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Point is where a function of a program stands: at its next instruction.
type Point struct {
	Func, PC int
	Fast     bool
	Database string // the current one when it goes on; "" for the default one
}

// Prospect is what a program may do to the world from where it stands on. It may do less, and never
// does more: a name that is not known is in Any of its list, and what was not looked at in Partial.
// What only reads is left out.
type Prospect struct {
	Databases []ChangedDatabase `json:"databases,omitempty"`
	Writes    Names             `json:"writes,omitzero"`   // paths of files
	Removes   Names             `json:"removes,omitzero"`  // likewise
	Hosts     Names             `json:"hosts,omitzero"`    // with the scheme, and without a path
	Machines  Names             `json:"machines,omitzero"` // where commands are run, or files copied from or to
	Mails     Names             `json:"mails,omitzero"`    // addresses that mails go to
	Scripts   Names             `json:"scripts,omitzero"`  // published ones that it runs
	Shares    bool              `json:"shares,omitempty"`  // it makes links, or takes them back
	Sessions  bool              `json:"sessions,omitempty"`
	Asks      bool              `json:"asks,omitempty"` // it asks a person
	// Partial says that there is more of the program than was looked at, or something that
	// has no list here.
	Partial bool `json:"partial,omitempty"`
}

// Names are what a program names in one kind of effect.
type Names struct {
	Known []string `json:"known,omitempty"`
	Any   bool     `json:"any,omitempty"` // and others, which it computes
}

// IsZero tells whether it names nothing.
func (n Names) IsZero() bool { return len(n.Known) == 0 && !n.Any }

// ChangedDatabase is a database that a program may change, and by which statements.
type ChangedDatabase struct {
	Name string   `json:"name,omitempty"` // "" for the default one
	Any  bool     `json:"any,omitempty"`  // it is one that the program computes
	By   []string `json:"by"`
}

// What is looked at and told is bounded: whoever asks computes and stores it for people that read a
// page.
const (
	maxProspectInstrs = 1 << 15 // of all functions that are reached
	maxProspectVisits = 1 << 17
	maxProspectNames  = 8 // of each list
	maxProspectName   = 100
	maxLookBack       = 64 // instructions between a constant and its effect
	maxConstants      = 4  // that lead from one to the other
)

// Prospect tells what the program may do from some points on: those of a function that stands
// somewhere and of all that called it.
func (p *Program) Prospect(points []Point) Prospect {
	w := prospectWalk{p: p, codes: map[codeOf]*prospectCode{}}
	for _, at := range points {
		w.reach(codeOf{at.Func, at.Fast}, at.PC, w.database(at.Database))
	}
	for len(w.queue) > 0 {
		if w.visits++; w.visits > maxProspectVisits {
			w.Partial = true
			break
		}
		at := w.queue[len(w.queue)-1]
		w.queue = w.queue[:len(w.queue)-1]
		w.visit(at)
	}
	for _, n := range []*Names{&w.Writes, &w.Removes, &w.Hosts, &w.Machines, &w.Scripts} {
		slices.Sort(n.Known)
	}
	slices.SortFunc(w.Databases, func(a, b ChangedDatabase) int {
		if a.Any != b.Any {
			return int(Flag(a.Any)) - int(Flag(b.Any))
		}
		return strings.Compare(a.Name, b.Name)
	})
	return w.Prospect
}

type codeOf struct {
	fn   int
	fast bool
}

type prospectPlace struct {
	code *prospectCode
	pc   int
}

// prospectWalk goes through the instructions that are reached, each with the databases that may be the
// current one there.
type prospectWalk struct {
	Prospect
	p         *Program
	codes     map[codeOf]*prospectCode
	instrs    int
	visits    int
	queue     []prospectPlace
	databases []string // by bit
}

// prospectCode is a version of a function that is reached.
type prospectCode struct {
	*Code
	params int
	// masks has, for each instruction, a bit for each database that may be the current one before
	// it; 0 where the instruction is not reached.
	masks []uint64
	// caught has, for each instruction, 1 + the number of the handler that catches its errors, 0 for none. Those around
	// that one catch what it raises again.
	caught []int32
	named  []bool // whose names were told

	// Where a constant is looked for: from where each instruction is jumped to, and what is written to
	// each register.
	traced       bool
	first, after []int32 // the first and last jump to an instruction; first > after where there is none
	writes       [256]struct{ n, pc int32 }
}

const anyDatabase = 63 // the bit of one that is computed

func (w *prospectWalk) database(name string) uint64 {
	i := slices.Index(w.databases, name)
	if i < 0 {
		if i = len(w.databases); i >= anyDatabase || !isShort(name) {
			return 1 << anyDatabase
		}
		w.databases = append(w.databases, name)
	}
	return 1 << i
}

// reach has an instruction visited, where it is reached with databases that are new there.
func (w *prospectWalk) reach(of codeOf, pc int, mask uint64) {
	c := w.codes[of]
	if c == nil {
		f := w.p.Funcs[of.fn]
		code := &f.Traced
		if of.fast {
			code = &f.Fast
		}
		if w.instrs += len(code.Instrs); w.instrs > maxProspectInstrs {
			w.Partial = true
			return
		}
		c = newProspectCode(code, f.Params)
		w.codes[of] = c
	}
	w.enter(c, pc, mask)
}

func newProspectCode(code *Code, params int) *prospectCode {
	n := len(code.Instrs)
	c := &prospectCode{Code: code, params: params, masks: make([]uint64, n), caught: make([]int32, n), named: make([]bool, n)}
	for i, h := range slices.Backward(code.Handlers) { // inner ones come first
		for pc := h.From; pc < min(h.To, int32(n)); pc++ {
			c.caught[pc] = int32(i + 1)
		}
	}
	return c
}

func (w *prospectWalk) enter(c *prospectCode, pc int, mask uint64) {
	if pc < len(c.masks) && c.masks[pc]|mask != c.masks[pc] {
		c.masks[pc] |= mask
		w.queue = append(w.queue, prospectPlace{c, pc})
	}
}

func (w *prospectWalk) visit(at prospectPlace) {
	c, in, mask := at.code, at.code.Instrs[at.pc], at.code.masks[at.pc]
	if h := c.caught[at.pc]; h > 0 {
		w.enter(c, int(c.Handlers[h-1].Target), mask)
	}
	switch in.Op {
	case OpCall:
		w.reach(codeOf{int(in.Imm), false}, 0, mask)
	case OpEffect:
		w.effect(c, at.pc, in, mask)
	case OpUse:
		if in.B == 0 {
			mask = 1 << anyDatabase
			if name := w.constant(c, at.pc, in.A, maxConstants); name.whole {
				mask = w.database(name.text)
			}
		}
	}
	if jumps[in.Op] {
		w.enter(c, int(in.Imm), mask)
	}
	if !shapes[in.Op].ends {
		w.enter(c, at.pc+1, mask)
	}
}

// jumps says which operations may go on at Imm.
var jumps = func() (list [opCount]bool) {
	for op, s := range shapes {
		list[op] = slices.Contains(s.operands, forward) || slices.Contains(s.operands, backward)
	}
	return list
}()

func (w *prospectWalk) effect(c *prospectCode, pc int, in Instr, mask uint64) {
	site := &w.p.Sites[in.Imm]
	switch site.Effect {
	case EffectSQL, EffectSQLFile:
		if s := &w.p.Statements[site.Statement]; s.Head != "SELECT" {
			w.changes(mask, s.Head)
		}
	case EffectImport:
		w.changes(mask, "IMPORT")
	}
	if c.named[pc] { // which no database changes
		return
	}
	c.named[pc] = true
	name := func(n *Names, arg int) {
		k := w.constant(c, pc, in.A+uint8(arg), maxConstants)
		if k.whole {
			n.add(k.text)
		} else if !k.null {
			n.Any = true
		}
	}
	isNull := func(arg int) bool { return w.constant(c, pc, in.A+uint8(arg), maxConstants).null }
	switch site.Effect {
	case EffectSQL, EffectImport: // told above
	case EffectSQLFile:
		name(&w.Writes, int(site.Args)-1)
	case EffectFileWrite, EffectFileAppend:
		name(&w.Writes, 0)
	case EffectFileCopy:
		name(&w.Writes, 1)
	case EffectFileMove:
		name(&w.Removes, 0)
		name(&w.Writes, 1)
	case EffectFileRemove:
		name(&w.Removes, 0)
	case EffectFetch:
		w.Hosts.addHost(w.constant(c, pc, in.A, maxConstants))
	case EffectFetchAll:
		w.Hosts.Any = true
	case EffectCallScript, EffectStartScript:
		name(&w.Scripts, 0)
	case EffectRun:
		name(&w.Machines, 1)
	case EffectMail:
		name(&w.Mails, 0)
	case EffectMailQuestion:
		name(&w.Mails, 1)
	case EffectMachineCopy:
		name(&w.Machines, 1)
		name(&w.Machines, 3)
		if isNull(3) {
			name(&w.Writes, 2)
		}
	case EffectShare, EffectUnshare:
		w.Shares = true
	case EffectSessionSet, EffectSessionUnset, EffectSessionStart, EffectSessionEnd:
		w.Sessions = true
	case EffectConfirm, EffectGather:
		w.Asks = true
	case EffectTxBegin, EffectTxCommit, EffectTxRollback: // what is between them is told
	default:
		if i := site.Effect.Info(); i.Changes || i.Outside || !i.Reads && !i.Suspends {
			w.Partial = true
		}
	}
}

// changes adds a statement that changes one of the databases of a mask.
func (w *prospectWalk) changes(mask uint64, by string) {
	for ; mask != 0; mask &= mask - 1 {
		d := ChangedDatabase{Any: true}
		if bit := bits.TrailingZeros64(mask); bit != anyDatabase {
			d = ChangedDatabase{Name: w.databases[bit]}
		}
		i := slices.IndexFunc(w.Databases, func(o ChangedDatabase) bool { return o.Name == d.Name && o.Any == d.Any })
		if i < 0 {
			if i = len(w.Databases); i >= maxProspectNames && !d.Any {
				w.changes(1<<anyDatabase, by)
				continue
			}
			w.Databases = append(w.Databases, d)
		}
		if list := &w.Databases[i].By; !slices.Contains(*list, by) {
			*list = append(*list, by)
			slices.Sort(*list)
		}
	}
}

// add adds a name. One that is long, or that cannot be shown as it is, is one of the others.
func (n *Names) add(name string) {
	switch {
	case slices.Contains(n.Known, name):
	case len(n.Known) >= maxProspectNames || name == "" || !isShort(name):
		n.Any = true
	default:
		n.Known = append(n.Known, name)
	}
}

func isShort(name string) bool {
	return len(name) <= maxProspectName && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// addHost adds the host of an address, which may be known although its path is not. Nothing else of
// an address is told: the rest of it, and who is logged in by it, may be secret.
func (n *Names) addHost(k prospectConstant) {
	u, err := url.Parse(k.text)
	if err != nil || u.Host == "" || !k.whole && u.Path == "" && u.RawQuery == "" {
		n.Any = true // the host itself may go on
		return
	}
	n.add(strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Host))
}

// prospectConstant is what is known of a value without running the program: the whole text, or how it begins;
// or that it is null.
type prospectConstant struct {
	text  string
	whole bool
	null  bool
}

// constant tells what is in a register before an instruction: by the last instruction that wrote it, where
// nothing jumps between the two from elsewhere, or where there is only one that ever writes it.
func (w *prospectWalk) constant(c *prospectCode, pc int, r uint8, depth int) prospectConstant {
	if depth == 0 {
		return prospectConstant{}
	}
	c.trace()
	for at := pc - 1; at >= 0 && at >= pc-maxLookBack; at-- {
		writes := false
		written(c.Instrs[at], func(to int) { writes = writes || to == int(r) })
		if writes && c.isStraight(at, pc) {
			return w.result(c, at, depth-1)
		}
		if writes {
			break
		}
	}
	if one := c.writes[r]; one.n == 1 && int(r) >= c.params && one.pc >= 0 {
		return w.result(c, int(one.pc), depth-1)
	}
	return prospectConstant{}
}

// result is what an instruction writes.
func (w *prospectWalk) result(c *prospectCode, pc, depth int) prospectConstant {
	switch in := c.Instrs[pc]; in.Op {
	case OpLoadK:
		if v := w.p.Consts[in.Imm]; v.IsText() {
			return prospectConstant{text: v.Str(), whole: true}
		}
	case OpLoadNull:
		return prospectConstant{null: true}
	case OpText:
		texts := w.p.Templates[in.Imm].Texts
		return prospectConstant{text: texts[0], whole: len(texts) == 1}
	case OpMove, OpCopy:
		return w.constant(c, pc, in.B, depth)
	case OpAdd, OpAddK:
		k := w.constant(c, pc, in.B, depth)
		return prospectConstant{text: k.text} // which is how the sum begins
	}
	return prospectConstant{}
}

// trace finds what jumps where and what writes what.
func (c *prospectCode) trace() {
	if c.traced {
		return
	}
	c.traced = true
	c.first, c.after = make([]int32, len(c.Instrs)), make([]int32, len(c.Instrs))
	for i := range c.first {
		c.first[i], c.after[i] = int32(len(c.Instrs)), -1
	}
	from := func(at int32, to int) {
		if to < len(c.Instrs) {
			c.first[to], c.after[to] = min(c.first[to], at), max(c.after[to], at)
		}
	}
	for pc, in := range c.Instrs {
		if jumps[in.Op] {
			from(int32(pc), int(in.Imm))
		}
		if in.Op == OpLoadNull {
			continue // variables begin so, and null names nothing
		}
		written(in, func(r int) {
			if r < len(c.writes) {
				c.writes[r].n++
				c.writes[r].pc = int32(pc)
			}
		})
	}
	for _, h := range c.Handlers {
		from(-1, int(h.Target)) // from anywhere between
		from(int32(len(c.Instrs)), int(h.Target))
		c.writes[h.Reg].n++
		c.writes[h.Reg].pc = -1
	}
}

// isStraight tells whether whoever comes to an instruction has come past another before it.
func (c *prospectCode) isStraight(at, pc int) bool {
	if shapes[c.Instrs[at].Op].ends {
		return false
	}
	for to := at + 1; to <= pc; to++ {
		if c.first[to] <= c.after[to] && (int(c.first[to]) <= at || int(c.after[to]) >= pc) {
			return false
		}
	}
	return true
}

// written yields the registers that an instruction may write. What lies above those of a call's
// arguments is not read after it before it is written again.
func written(in Instr, yield func(r int)) {
	switch in.Op {
	case OpJump, OpJTrue, OpJFalse, OpJNull, OpJNotNull, OpJEq, OpJNe, OpJLt, OpJGe, OpJEqI, OpJNeI, OpJLtI, OpJGeI, OpJLeI, OpJGtI,
		OpJEqK, OpJNeK, OpJLtK, OpJGeK, OpJLeK, OpJGtK, OpLoop, OpLoopLt, OpLoopLe,
		OpReturn, OpHalt, OpStop, OpStep, OpSteps, OpEmit, OpEmitRows, OpEmitJSON, OpFail, OpRaise, OpDecline,
		OpGlobalSet, OpGlobalDel, OpUse, OpCheckKey:
		return
	}
	more := 0
	for _, o := range shapes[in.Op].operands {
		switch o {
		case nullsAB:
			more = int(in.B)
		case hiddenA1:
			more = 1
		case hiddenA2:
			more = 2
		}
	}
	for r := int(in.A); r <= int(in.A)+more; r++ {
		yield(r)
	}
	switch in.Op {
	case OpIterNext2:
		yield(int(in.C))
		yield(int(in.B))
	case OpForPrep, OpForLoop, OpIterNext:
		yield(int(in.B))
	}
}
