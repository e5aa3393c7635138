package bytecode

import (
	"fmt"

	"ql/lang/value"
)

// MaxRegs is the most registers that a function's frame may need. What an
// instruction can name beyond them is never touched.
const MaxRegs = 250

// Verify checks that a program is one that the machine can run: that every
// number in it leads to something of the right kind, that no path runs off the
// end of the code, and that only the jumps that cost fuel go backwards. What
// built-ins and the number of their arguments are right is the machine's to
// check, which knows them.
//
// It does not follow which register owns which container. A program of our
// compiler's never puts a container into itself; one made by hand might.
func Verify(p *Program) error {
	v := verifier{p: p, yield: func() error { return nil }}
	return v.program()
}

type verifier struct {
	p *Program
	f *Func
	c *Code

	yield    func() error
	seen     int // instructions since the last yield
	yieldErr error
}

// yieldInstrs is how many instructions are checked between two yields.
const yieldInstrs = 8 << 10

func (v *verifier) program() error {
	p := v.p
	if err := v.tables(); err != nil {
		return fmt.Errorf("the program is not valid: %w", err)
	}
	for i, f := range p.Funcs {
		if err := v.function(i, f); err != nil {
			return fmt.Errorf("the program is not valid: function %d: %w", i, err)
		}
	}
	return nil
}

func (v *verifier) tables() error {
	p := v.p
	switch {
	case len(p.Files) == 0:
		return fmt.Errorf("it has no file")
	case len(p.Funcs) == 0:
		return fmt.Errorf("it has no top level")
	case len(p.Sites) == 0 || p.Sites[CommitSite] != Site{Effect: EffectTxCommit, Step: -1}:
		return fmt.Errorf("site %d is not the commit", CommitSite)
	case !value.AllFrozen(p.Consts):
		return fmt.Errorf("a constant can be written")
	case !p.Input.IsNull() && !p.Input.IsMap() || !value.AllFrozen([]value.Value{p.Input}):
		return fmt.Errorf("what it says of its input is wrong")
	}
	for i, t := range p.Templates {
		if len(t.Texts) == 0 || t.Mode > ShellTemplate {
			return fmt.Errorf("template %d is wrong", i)
		}
	}
	for i, s := range p.Statements {
		if !s.isWhole() {
			return fmt.Errorf("statement %d is wrong", i)
		}
	}
	for i, s := range p.Steps {
		if int(s.Class) >= len(classNames) || s.Line < 0 {
			return fmt.Errorf("step %d is wrong", i)
		}
	}
	for i, s := range p.Sites {
		if err := v.site(s); err != nil {
			return fmt.Errorf("site %d: %w", i, err)
		}
	}
	return nil
}

func (v *verifier) site(s Site) error {
	more, sql := s.Effect.HasStatement()
	switch {
	case s.Effect == EffectNone || s.Effect >= effectCount:
		return fmt.Errorf("there is no effect %d", s.Effect)
	case s.Step < -1 || int(s.Step) >= len(v.p.Steps):
		return fmt.Errorf("there is no step %d", s.Step)
	case !sql:
		if s.Statement != 0 {
			return fmt.Errorf("%s has a statement", s.Effect)
		}
		return nil
	case s.Statement < 0 || int(s.Statement) >= len(v.p.Statements):
		return fmt.Errorf("there is no statement %d", s.Statement)
	case int(s.Args) != len(v.p.Statements[s.Statement].Params)+more:
		return fmt.Errorf("statement %d takes %d parameters, not %d", s.Statement, len(v.p.Statements[s.Statement].Params), int(s.Args)-more)
	}
	return nil
}

func (v *verifier) function(i int, f *Func) error {
	v.f = f
	switch {
	case f.File < 0 || f.File >= len(v.p.Files):
		return fmt.Errorf("there is no file %d", f.File)
	case f.Regs < 0 || f.Regs > MaxRegs:
		return fmt.Errorf("%d registers are too many", f.Regs)
	case f.Params < 0 || f.Params > f.Regs || i == 0 && f.Params > 0:
		return fmt.Errorf("it cannot have %d parameters", f.Params)
	case len(f.Vars) > 0 && len(f.Vars) < f.Params:
		return fmt.Errorf("%d variables have names, of %d parameters", len(f.Vars), f.Params)
	case f.DBReg < -1 || f.DBReg >= f.Regs:
		return fmt.Errorf("there is no register %d", f.DBReg)
	case len(f.Traced.Instrs) == 0:
		return fmt.Errorf("it has no code")
	case len(f.Fast.Instrs) == 0 && i > 0:
		return fmt.Errorf("it has no fast code")
	case len(f.Traced.Loops) != len(f.Fast.Loops):
		return fmt.Errorf("its two versions have %d and %d loops", len(f.Traced.Loops), len(f.Fast.Loops))
	}
	for _, c := range []*Code{&f.Traced, &f.Fast} {
		if err := v.code(c, i == 0); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) code(c *Code, top bool) error {
	v.c = c
	n := len(c.Instrs)
	if len(c.Height) != n {
		return fmt.Errorf("%d instructions have %d heights", n, len(c.Height))
	}
	if n > 0 && (!c.Instrs[n-1].Op.known() || !shapes[c.Instrs[n-1].Op].ends) {
		return fmt.Errorf("the code runs off its end")
	}
	for pc, in := range c.Instrs {
		if v.seen++; v.seen == yieldInstrs {
			v.seen = 0
			if v.yieldErr = v.yield(); v.yieldErr != nil {
				return v.yieldErr
			}
		}
		if err := v.instr(pc, in); err != nil {
			return fmt.Errorf("instruction %d, %s: %w", pc, in.Op, err)
		}
		if top && in.Op == OpReturn {
			return fmt.Errorf("instruction %d returns from the top level", pc)
		}
		if int(c.Height[pc]) > v.f.Regs {
			return fmt.Errorf("instruction %d stands at height %d of %d", pc, c.Height[pc], v.f.Regs)
		}
	}
	return v.codeTables(c)
}

// codeTables checks the tables beside a code.
func (v *verifier) codeTables(c *Code) error {
	n := int32(len(c.Instrs))
	before := int32(-1)
	for i, m := range c.Marks {
		if m.PC <= before || m.PC >= n || m.Step < -1 || int(m.Step) >= len(v.p.Steps) || m.Pending < 0 || m.Line < 0 || m.Column < 0 {
			return fmt.Errorf("mark %d is wrong", i)
		}
		before = m.PC
	}
	for i, h := range c.Handlers {
		if h.From < 0 || h.From >= h.To || h.To > h.Target || h.Target >= n || int(h.Reg) >= v.f.Regs {
			return fmt.Errorf("handler %d is wrong", i)
		}
	}
	before = -1
	for i, pc := range c.Loops {
		if pc <= before || pc >= n {
			return fmt.Errorf("loop %d is wrong", i)
		}
		before = pc
	}
	return nil
}

func (v *verifier) instr(pc int, in Instr) error {
	if !in.Op.known() {
		return fmt.Errorf("there is no such operation")
	}
	for _, o := range shapes[in.Op].operands {
		if err := v.operand(pc, in, o); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) operand(pc int, in Instr, o operand) error {
	a, b, c, imm := int(in.A), int(in.B), int(in.C), int(in.Imm)
	switch o {
	case regA:
		return v.registers(a, 1)
	case regB:
		return v.registers(b, 1)
	case regC:
		return v.registers(c, 1)
	case nullsAB:
		return v.registers(a, b+1)
	case argsAB:
		return v.registers(a, b)
	case keysBC:
		if c == 0 {
			return fmt.Errorf("it has no keys")
		}
		return v.registers(b, c)
	case pathBC:
		return v.registers(b, c)
	case hiddenA1:
		return v.registers(a, 2)
	case hiddenA2:
		return v.registers(a, 3)
	case valueImm:
		if imm>>8 != 0 && imm>>8 != 1 {
			return fmt.Errorf("%d is no value operand", imm)
		}
		return v.registers(imm&0xFF, 1)
	case flagB:
		return checkFlag(b)
	case loopB:
		if b > 0 {
			return below("built-in", b-1, len(v.p.Builtins))
		}
	case flagC:
		return checkFlag(c)
	case flagImm:
		return checkFlag(imm)
	case sideC:
		if c > ConstantFirst {
			return fmt.Errorf("%d names no side", c)
		}
	case stepsImm, roomImm:
		if imm < 0 {
			return fmt.Errorf("%d is negative", imm)
		}
	case unitImm:
		if imm < 1 {
			return fmt.Errorf("%d seconds are no unit", imm)
		}
	case constBC:
		return below("constant", in.wide(), len(v.p.Consts))
	case constImm:
		return below("constant", imm, len(v.p.Consts))
	case numeral:
		if err := below("constant", imm, len(v.p.Consts)); err != nil {
			return err
		}
		if !v.p.Consts[imm].IsNumber() {
			return fmt.Errorf("constant %d is no number", imm)
		}
	case textImm:
		if err := below("constant", imm, len(v.p.Consts)); err != nil {
			return err
		}
		if !v.p.Consts[imm].IsText() {
			return fmt.Errorf("constant %d is no text", imm)
		}
	case forward:
		if imm <= pc || imm >= len(v.c.Instrs) {
			return fmt.Errorf("it goes to %d", imm)
		}
	case backward:
		if imm < 0 || imm > pc {
			return fmt.Errorf("it goes to %d", imm)
		}
	case stepImm:
		return below("step", imm, len(v.p.Steps))
	case libImm:
		return below("built-in", imm, len(v.p.Builtins))
	case globalImm:
		return below("global", imm, int(GlobalCount))
	case ownImm:
		if in.Imm != GlobalResponse && in.Imm != GlobalCookie {
			return fmt.Errorf("global %d cannot be set", imm)
		}
	case funcImm:
		return v.call(in)
	case siteImm:
		if imm == CommitSite {
			return fmt.Errorf("the commit's site is the machine's own")
		}
		if err := below("site", imm, len(v.p.Sites)); err != nil {
			return err
		}
		return v.registers(a, int(v.p.Sites[imm].Args))
	case tplImm:
		return below("template", imm, len(v.p.Templates))
	case insertsB:
		if err := below("template", imm, len(v.p.Templates)); err != nil {
			return err
		}
		return v.registers(b, len(v.p.Templates[imm].Texts)-1)
	}
	return nil
}

func (v *verifier) call(in Instr) error {
	if in.Imm == 0 {
		return fmt.Errorf("it calls the top level")
	}
	if err := below("function", int(in.Imm), len(v.p.Funcs)); err != nil {
		return err
	}
	if f := v.p.Funcs[in.Imm]; f.Params != int(in.B) {
		return fmt.Errorf("function %d takes %d arguments", in.Imm, f.Params)
	}
	return nil
}

// registers checks that n registers from first on exist.
func (v *verifier) registers(first, n int) error {
	if n > 0 && first+n > v.f.Regs {
		return fmt.Errorf("there is no register %d", first+n-1)
	}
	return nil
}

func checkFlag(n int) error {
	if n != 0 && n != 1 {
		return fmt.Errorf("%d is neither 0 nor 1", n)
	}
	return nil
}

func below(what string, n, limit int) error {
	if n < 0 || n >= limit {
		return fmt.Errorf("there is no %s %d", what, n)
	}
	return nil
}
