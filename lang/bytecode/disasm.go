package bytecode

import (
	"fmt"
	"strings"

	"ql/lang/value"
)

// Disassemble writes the program for people to read.
func (p *Program) Disassemble() string {
	var b strings.Builder
	if p.Input.IsMap() {
		if fields, _ := p.Input.Map().Get("fields"); fields.IsList() {
			for i := range fields.List().Len() {
				fmt.Fprintf(&b, "input %s\n", value.AppendJSON(nil, fields.List().At(i)))
			}
		}
	}
	for i, f := range p.Funcs {
		name := "top level"
		if i > 0 {
			name = fmt.Sprintf("function %d %s, parameters %d", i, f.Name, f.Params)
		}
		if file := p.Files[f.File]; file != "" {
			name += " of " + file
		}
		fmt.Fprintf(&b, "%s, registers %d\n", name, f.Regs)
		p.disassemble(&b, "traced", &f.Traced)
		if len(f.Fast.Instrs) > 0 {
			p.disassemble(&b, "fast", &f.Fast)
		}
	}
	return b.String()
}

func (p *Program) disassemble(b *strings.Builder, version string, c *Code) {
	fmt.Fprintf(b, "  %s\n", version)
	marks := c.Marks
	for pc, in := range c.Instrs {
		place := ""
		if len(marks) > 0 && int(marks[0].PC) == pc {
			place = fmt.Sprintf("%d:%d", marks[0].Line, marks[0].Column)
			marks = marks[1:]
		}
		var words []string
		for _, o := range shapes[in.Op].operands {
			if w := p.word(in, o); w != "" {
				words = append(words, w)
			}
		}
		line := fmt.Sprintf("%6d  %-7s %-9s %s", pc, place, in.Op, strings.Join(words, " "))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	for _, h := range c.Handlers {
		what := "try"
		if h.Transaction {
			what = "transaction"
		}
		fmt.Fprintf(b, "  %s %d to %d: r%d, on at %d\n", what, h.From, h.To-1, h.Reg, h.Target)
	}
}

// word writes an operand.
func (p *Program) word(in Instr, o operand) string {
	switch o {
	case regA:
		if in.Op == OpCall || in.Op == OpBuiltin {
			return "→ " + register(int(in.A))
		}
		return register(int(in.A))
	case regB:
		return register(int(in.B))
	case regC:
		return register(int(in.C))
	case nullsAB:
		return registers(int(in.A), int(in.B)+1)
	case argsAB:
		return "(" + registers(int(in.A), int(in.B)) + ")"
	case keysBC, pathBC:
		return "[" + registers(int(in.B), int(in.C)) + "]"
	case insertsB:
		return "(" + registers(int(in.B), len(p.Templates[in.Imm].Texts)-1) + ")"
	case hiddenA1, hiddenA2:
		return register(int(in.A))
	case valueImm:
		return register(int(in.Imm&0xFF)) + marked(in.Imm>>8 == 1, " shared")
	case loopB:
		if in.B == 0 {
			return ""
		}
		return p.Builtins[in.B-1]
	case flagB:
		return fmt.Sprint(in.B)
	case flagC, sideC:
		return marked(in.C != 0, fmt.Sprint(in.C))
	case flagImm:
		return marked(in.Imm == 1, "1")
	case stepsC:
		return marked(in.C != 0, fmt.Sprintf("steps %d", int8(in.C)))
	case stepsImm, numberImm, roomImm, unitImm:
		return fmt.Sprint(in.Imm)
	case shortBC:
		return fmt.Sprint(in.short())
	case constBC:
		return constant(p.Consts[in.wide()])
	case constImm, numeral, textImm:
		return constant(p.Consts[in.Imm])
	case forward, backward:
		return fmt.Sprintf("→ %d", in.Imm)
	case funcImm:
		return p.Funcs[in.Imm].Name
	case libImm:
		return p.Builtins[in.Imm]
	case siteImm:
		return p.site(p.Sites[in.Imm])
	case tplImm:
		return template(p.Templates[in.Imm])
	case stepImm:
		return p.Steps[in.Imm].Name
	case globalImm, ownImm:
		return "!" + globalNames[in.Imm]
	}
	return ""
}

func marked(is bool, word string) string {
	if is {
		return word
	}
	return ""
}

func register(n int) string { return fmt.Sprintf("r%d", n) }

func registers(first, n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return register(first)
	}
	return fmt.Sprintf("r%d…r%d", first, first+n-1)
}

func constant(v value.Value) string {
	const most = 40
	if v.Height() > 2 {
		return value.Describe(v)
	}
	s := []rune(string(value.AppendJSON(nil, v)))
	if len(s) > most {
		s = append(s[:most], '…')
	}
	return string(s)
}

func template(t Template) string {
	name := [...]string{PlainTemplate: "", HTMLTemplate: "html ", ShellTemplate: "shell "}[t.Mode]
	return name + constant(value.Text(strings.Join(t.Texts, "{}")))
}

func (p *Program) site(s Site) string {
	text := s.Effect.String()
	if _, sql := s.Effect.HasStatement(); sql {
		text += " " + constant(value.Text(p.Statements[s.Statement].outline()))
	}
	return fmt.Sprintf("%s, arguments %d", text, s.Args)
}

// outline is the SQL of a statement with $ for each value, and with the choices of each name.
func (s *Statement) outline() string {
	var b strings.Builder
	for i := range s.Texts {
		if i > 0 {
			if choices := s.Choices(i - 1); choices != nil {
				b.WriteString("{$ IN " + strings.Join(choices, ", ") + "}")
			} else {
				b.WriteByte('$')
			}
		}
		b.WriteString(s.Text(i))
	}
	return b.String()
}
