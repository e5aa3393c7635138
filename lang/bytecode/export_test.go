package bytecode

import "strings"

// parts says what the parts of an instruction are, as the page on stored
// programs does.
var parts = map[operand]string{
	regA: "R(A)", regB: "R(B)", regC: "R(C)",
	nullsAB: "R(A…A+B)", argsAB: "R(A…A+B-1)", keysBC: "R(B…B+C-1)", pathBC: "R(B…B+C-1)", insertsB: "R(B…), one for each insertion",
	hiddenA1: "R(A…A+1)", hiddenA2: "R(A…A+2)", valueImm: "R(Imm mod 256), bit 8 of Imm",
	flagB: "B 0 or 1", loopB: "B 0, or 1 + built-in", flagC: "C 0 or 1", sideC: "C 0, 1 or 2", flagImm: "Imm 0 or 1",
	stepsC: "C steps, signed", stepsImm: "Imm steps", numberImm: "Imm", roomImm: "Imm elements", unitImm: "Imm seconds",
	shortBC: "BC, signed", constBC: "K(BC)", constImm: "K(Imm)", numeral: "K(Imm), a number", textImm: "K(Imm), a text",
	forward: "on to Imm", backward: "back to Imm",
	funcImm: "function Imm", libImm: "built-in Imm", siteImm: "site Imm", tplImm: "template Imm", stepImm: "step Imm",
	globalImm: "global Imm", ownImm: "global Imm, 2 or 4",
}

// Parts describes the parts of an operation.
func (o Op) Parts() string {
	var words []string
	for _, p := range shapes[o].operands {
		words = append(words, parts[p])
	}
	return strings.Join(words, "; ")
}

// What the parts of a program weigh.
const (
	ProgramSize, TextSize, TemplateSize, StatementSize = programSize, textSize, templateSize, statementSize
	StepSize, SiteSize, FuncSize, InstrSize            = stepSize, siteSize, funcSize, instrSize
	MarkSize, HandlerSize                              = markSize, handlerSize
)
