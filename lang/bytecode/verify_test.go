package bytecode_test

import (
	"strings"
	"testing"

	"ql/lang/bytecode"
	"ql/lang/value"
)

// instruction returns the first instruction of that operation in a function.
func instruction(t *testing.T, p *bytecode.Program, f int, op bytecode.Op) *bytecode.Instr {
	t.Helper()
	code := p.Funcs[f].Traced.Instrs
	for i := range code {
		if code[i].Op == op {
			return &code[i]
		}
	}
	t.Fatalf("function %d has no %s", f, op)
	return nil
}

func TestVerify(t *testing.T) {
	const script = `
SET ?m AS {a: ["x"], b: f(1)}
SET ?m.a[0] AS 1
SET ?m.c.d AS ?m.a
UNSET ?m.c
APPEND 2 TO ?m.a
APPEND 3 TO ?m.e.f
FOR ?i FROM 1 TO 3 DO EMIT ?i + 1, ?i * 2.5, "{?i}" END
FOR ?x IN [1, 2] DO IF ?x = "a" THEN CONTINUE END END
WHILE ?x > 1 DO SET ?x AS ?x - 1 END
EMIT UPPER("a"), MAP([1], ?y -> ?y), NOW(), !GET('q')
SET "status" AS 200 OF !RESPONSE
TRY SELECT ?x SET ?rows CATCH ?e END
WAIT 2 HOURS
DEFINE f(?a, ?b DEFAULT "k") USE DATABASE ?b RETURN ?a END`
	original := bytecode.Encode(compile(t, script))
	in := func(op bytecode.Op, change func(*bytecode.Instr)) func(*testing.T, *bytecode.Program) {
		return func(t *testing.T, p *bytecode.Program) { change(instruction(t, p, 0, op)) }
	}
	top := func(change func(*bytecode.Func)) func(*testing.T, *bytecode.Program) {
		return func(_ *testing.T, p *bytecode.Program) { change(p.Funcs[0]) }
	}
	tests := []struct {
		name   string
		change func(*testing.T, *bytecode.Program)
		want   string
	}{
		{"no files", func(_ *testing.T, p *bytecode.Program) { p.Files = nil }, "it has no file"},
		{"no functions", func(_ *testing.T, p *bytecode.Program) { p.Funcs = nil }, "it has no top level"},
		{"no sites", func(_ *testing.T, p *bytecode.Program) { p.Sites = nil }, "site 0 is not the commit"},
		{"another first site", func(_ *testing.T, p *bytecode.Program) { p.Sites[0].Effect = bytecode.EffectNow }, "site 0 is not the commit"},
		{"a constant of nobody's", func(_ *testing.T, p *bytecode.Program) {
			p.Consts = append(p.Consts, value.ListOf(value.Text("x")))
		}, "a constant can be written"},
		{"a template without texts", func(_ *testing.T, p *bytecode.Program) { p.Templates[0].Texts = nil }, "template 0 is wrong"},
		{"a template of no mode", func(_ *testing.T, p *bytecode.Program) { p.Templates[0].Mode = 3 }, "template 0 is wrong"},
		{"a statement with too few texts", func(_ *testing.T, p *bytecode.Program) {
			p.Statements[0].Texts = p.Statements[0].Texts[:1]
		}, "statement 0 is wrong"},
		{"a statement of no mode", func(_ *testing.T, p *bytecode.Program) { p.Statements[0].Mode = 4 }, "statement 0 is wrong"},
		{"a parameter of no kind", func(_ *testing.T, p *bytecode.Program) { p.Statements[0].Params[0] = 3 }, "statement 0 is wrong"},
		{"a step of no class", func(_ *testing.T, p *bytecode.Program) { p.Steps[0].Class = 7 }, "step 0 is wrong"},
		{"a site without an effect", func(_ *testing.T, p *bytecode.Program) { p.Sites[1].Effect = 0 }, "there is no effect 0"},
		{"a site of an unknown effect", func(_ *testing.T, p *bytecode.Program) { p.Sites[1].Effect = 200 }, "there is no effect 200"},
		{"a site of no step", func(_ *testing.T, p *bytecode.Program) { p.Sites[1].Step = 1000 }, "there is no step 1000"},
		{"a site with a statement", func(_ *testing.T, p *bytecode.Program) { p.Sites[1].Statement = 1 }, "now has a statement"},
		{"SQL without a statement", func(_ *testing.T, p *bytecode.Program) { p.Sites[2].Statement = 9 }, "there is no statement 9"},
		{"SQL with other arguments", func(_ *testing.T, p *bytecode.Program) { p.Sites[2].Args = 2 }, "takes 1 parameters, not 2"},

		{"another file", top(func(f *bytecode.Func) { f.File = 1 }), "there is no file 1"},
		{"too many registers", top(func(f *bytecode.Func) { f.Regs = 251 }), "251 registers are too many"},
		{"parameters of the top level", top(func(f *bytecode.Func) { f.Params = 1 }), "cannot have 1 parameters"},
		{"a database in no register", top(func(f *bytecode.Func) { f.DBReg = 200 }), "there is no register 200"},
		{"no code", top(func(f *bytecode.Func) { f.Traced.Instrs = nil }), "it has no code"},
		{"no fast code", func(_ *testing.T, p *bytecode.Program) { p.Funcs[1].Fast = bytecode.Code{} }, "it has no fast code"},
		{"a loop too few", top(func(f *bytecode.Func) { f.Fast.Loops = f.Fast.Loops[1:] }), "have 3 and 2 loops"},
		{"a height too few", top(func(f *bytecode.Func) { f.Traced.Height = f.Traced.Height[1:] }), "heights"},
		{"a height too high", top(func(f *bytecode.Func) { f.Traced.Height[0] = 255 }), "stands at height 255"},
		{"code that runs off its end", top(func(f *bytecode.Func) {
			f.Traced.Instrs[len(f.Traced.Instrs)-1] = bytecode.Instr{Op: bytecode.OpLoadNull}
		}), "runs off its end"},
		{"marks out of order", top(func(f *bytecode.Func) { f.Traced.Marks[1].PC = 0 }), "mark 1 is wrong"},
		{"a mark of no step", top(func(f *bytecode.Func) { f.Traced.Marks[1].Step = 1000 }), "mark 1 is wrong"},
		{"a handler of nothing", top(func(f *bytecode.Func) { f.Traced.Handlers[0].To = f.Traced.Handlers[0].From }), "handler 0 is wrong"},
		{"a handler that goes back", top(func(f *bytecode.Func) { f.Traced.Handlers[0].Target = 0 }), "handler 0 is wrong"},
		{"a handler for no register", top(func(f *bytecode.Func) { f.Traced.Handlers[0].Reg = 240 }), "handler 0 is wrong"},
		{"a loop out of the code", top(func(f *bytecode.Func) { f.Traced.Loops[2] = 10000 }), "loop 2 is wrong"},
		{"loops out of order", top(func(f *bytecode.Func) { f.Traced.Loops[1] = 0 }), "loop 1 is wrong"},

		{"an unknown operation", in(bytecode.OpStep, func(i *bytecode.Instr) { i.Op = 250 }), "there is no such operation"},
		{"a return from the top level", in(bytecode.OpHalt, func(i *bytecode.Instr) { i.Op = bytecode.OpReturn }), "returns from the top level"},
		{"a register A too high", in(bytecode.OpLoadI, func(i *bytecode.Instr) { i.A = 240 }), "there is no register 240"},
		{"a register B too high", in(bytecode.OpAddI, func(i *bytecode.Instr) { i.B = 240 }), "there is no register 240"},
		{"a range that ends too high", in(bytecode.OpEmit, func(i *bytecode.Instr) { i.B = 200 }), "there is no register"},
		{"nulls that end too high", in(bytecode.OpLoadNull, func(i *bytecode.Instr) { i.B = 200 }), "there is no register"},
		{"a path without keys", in(bytecode.OpSetPath, func(i *bytecode.Instr) { i.C = 0 }), "it has no keys"},
		{"a path with too many keys", in(bytecode.OpSetPath, func(i *bytecode.Instr) { i.C = 200 }), "there is no register"},
		{"a path's value in no register", in(bytecode.OpSetPath, func(i *bytecode.Instr) { i.Imm = 240 }), "there is no register 240"},
		{"a path's value with other flags", in(bytecode.OpSetPath, func(i *bytecode.Instr) { i.Imm = 1 << 9 }), "no value operand"},
		{"a removal without keys", in(bytecode.OpDelPath, func(i *bytecode.Instr) { i.C = 0 }), "it has no keys"},
		{"a counting loop's hidden registers", in(bytecode.OpForPrep, func(i *bytecode.Instr) { i.A = 240 }), "there is no register 242"},
		{"an iterator's hidden register", in(bytecode.OpIterPrep, func(i *bytecode.Instr) { i.A = 240 }), "there is no register 241"},
		{"a loop of an unknown built-in", in(bytecode.OpIterPrep, func(i *bytecode.Instr) { i.B = 100 }), "there is no built-in 99"},
		{"a flag that is none", in(bytecode.OpPut, func(i *bytecode.Instr) { i.C = 2 }), "neither 0 nor 1"},
		{"a side that is none", in(bytecode.OpAddI, func(i *bytecode.Instr) { i.C = 3 }), "names no side"},
		{"room for less than nothing", in(bytecode.OpNewMap, func(i *bytecode.Instr) { i.Imm = -1 }), "is negative"},
		{"a unit of no seconds", in(bytecode.OpSeconds, func(i *bytecode.Instr) { i.Imm = 0 }), "are no unit"},
		{"a constant that is not there", in(bytecode.OpLoadK, func(i *bytecode.Instr) { i.Imm = 1000 }), "there is no constant 1000"},
		{"a constant below none", in(bytecode.OpLoadK, func(i *bytecode.Instr) { i.Imm = -1 }), "there is no constant -1"},
		{"a compared constant that is not there", in(bytecode.OpJNeK, func(i *bytecode.Instr) { i.C = 9 }), "there is no constant"},
		{"a factor that is no number", func(t *testing.T, p *bytecode.Program) {
			instruction(t, p, 0, bytecode.OpMulK).Imm = instruction(t, p, 0, bytecode.OpPut).Imm
		}, "is no number"},
		{"a key that is no text", func(t *testing.T, p *bytecode.Program) {
			instruction(t, p, 0, bytecode.OpPut).Imm = instruction(t, p, 0, bytecode.OpMulK).Imm
		}, "is no text"},
		{"a jump back", in(bytecode.OpJump, func(i *bytecode.Instr) { i.Imm = 0 }), "it goes to 0"},
		{"a jump out of the code", in(bytecode.OpJump, func(i *bytecode.Instr) { i.Imm = 10000 }), "it goes to 10000"},
		{"a loop forwards", in(bytecode.OpForLoop, func(i *bytecode.Instr) { i.Imm += 50 }), "it goes to"},
		{"a loop before the code", in(bytecode.OpForLoop, func(i *bytecode.Instr) { i.Imm = -1 }), "it goes to -1"},
		{"a step that is not there", in(bytecode.OpStep, func(i *bytecode.Instr) { i.Imm = 1000 }), "there is no step 1000"},
		{"a built-in that is not there", in(bytecode.OpBuiltin, func(i *bytecode.Instr) { i.Imm = 5 }), "there is no built-in 5"},
		{"a global that is not there", in(bytecode.OpGlobalGet, func(i *bytecode.Instr) { i.Imm = 100 }), "there is no global 100"},
		{"a global that cannot be set", in(bytecode.OpGlobalSet, func(i *bytecode.Instr) { i.Imm = 0 }), "global 0 cannot be set"},
		{"a call of the top level", in(bytecode.OpCall, func(i *bytecode.Instr) { i.Imm = 0 }), "it calls the top level"},
		{"a call of nothing", in(bytecode.OpCall, func(i *bytecode.Instr) { i.Imm = 2 }), "there is no function 2"},
		{"a call with other arguments", in(bytecode.OpCall, func(i *bytecode.Instr) { i.B = 1 }), "function 1 takes 2 arguments"},
		{"the commit's site", in(bytecode.OpEffect, func(i *bytecode.Instr) { i.Imm = 0 }), "the commit's site"},
		{"a site that is not there", in(bytecode.OpEffect, func(i *bytecode.Instr) { i.Imm = 100 }), "there is no site 100"},
		{"a template that is not there", in(bytecode.OpText, func(i *bytecode.Instr) { i.Imm = 100 }), "there is no template 100"},
		{"insertions that end too high", func(t *testing.T, p *bytecode.Program) {
			n := instruction(t, p, 0, bytecode.OpText).Imm
			p.Templates[n].Texts = make([]string, 200)
		}, "there is no register"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, err := bytecode.Decode(original)
			if err != nil {
				t.Fatal(err)
			}
			test.change(t, p)
			if err := bytecode.Verify(p); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

// TestVerifyAll checks that what the compiler makes is valid.
func TestVerifyAll(t *testing.T) {
	for name, p := range programs(t) {
		if err := bytecode.Verify(p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
