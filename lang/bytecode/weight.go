package bytecode

import (
	"slices"

	"ql/lang/value"
)

// What the parts of a program weigh: the bytes of memory that they are counted
// with, together with what a machine makes of them when it links the program. A
// Program, a stored one and Decode are all counted by these.
const (
	programSize   = 512
	textSize      = 16
	constantSize  = 16
	templateSize  = 32
	statementSize = 72
	stepSize      = 24
	siteSize      = 12
	builtinSize   = textSize + 8
	funcSize      = 296 + 64
	instrSize     = 8 + 1 + 8 // with its height, and as a word
	markSize      = 20
	handlerSize   = 16
	loopSize      = 4
)

// textWeight is what the bytes of a text weigh.
func textWeight(s string) int { return (len(s) + 7) &^ 7 }

func texts(list []string) int {
	n := textSize * len(list)
	for _, s := range list {
		n += textWeight(s)
	}
	return n
}

// Weigh returns what the program weighs: the bytes that it holds in memory, with
// what a machine makes of it. It is the same for the program that Decode makes of
// the stored one.
func (p *Program) Weigh() int {
	n := programSize + texts(p.Files) + texts(p.Builtins) + (builtinSize-textSize)*len(p.Builtins)
	n += constantSize*len(p.Consts) + int(value.ConstantsWeight(append(slices.Clip(p.Consts), p.Input)))
	for i := range p.Templates {
		n += templateSize + texts(p.Templates[i].Texts)
	}
	for i := range p.Statements {
		s := &p.Statements[i]
		n += statementSize + textWeight(s.Head) + texts(s.Texts) + len(s.Params)
	}
	for i := range p.Steps {
		n += stepSize + textWeight(p.Steps[i].Name)
	}
	n += siteSize * len(p.Sites)
	for _, f := range p.Funcs {
		n += funcSize + textWeight(f.Name) + texts(f.Vars) + f.Traced.weigh() + f.Fast.weigh()
	}
	return n
}

func (c *Code) weigh() int {
	return instrSize*len(c.Instrs) + markSize*len(c.Marks) + handlerSize*len(c.Handlers) + loopSize*len(c.Loops)
}
