package bytecode

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"ql/lang/value"
)

// A stored program is
//
//	magic "QLP" and a format byte
//	the version of the language
//	32 bytes: the hash of the program
//	the tables: numbers as varints, values as package value encodes them
//	16 bytes: the start of the SHA-256 over all that
//
// docs/formats/program.md has it byte by byte.
const (
	programMagic = "QLP\x01"
	checksumSize = 16
)

// Errors of Decode.
var (
	ErrCorrupt = errors.New("the stored program is corrupt")
	ErrVersion = errors.New("the stored program is of a version that this one does not know")
)

// Encode writes a program so that Decode gets back the same.
func Encode(p *Program) []byte {
	e := encoder{value.NewEncoder(append(make([]byte, 0, 4096), programMagic...))}
	e.Uint(Version)
	for _, b := range p.Hash {
		e.Byte(b)
	}
	e.Byte(bit(p.UsesSession) | bit(p.Pauses)<<1)
	e.Uint(uint64(p.Bytes))
	e.texts(p.Files)
	e.texts(p.Builtins)
	e.Uint(uint64(len(p.Consts)))
	for _, k := range p.Consts {
		e.Value(k)
	}
	e.Uint(uint64(len(p.Templates)))
	for _, t := range p.Templates {
		e.Byte(byte(t.Mode))
		e.texts(t.Texts)
	}
	e.Uint(uint64(len(p.Statements)))
	for _, s := range p.Statements {
		e.Text(s.Head)
		e.Byte(byte(s.Mode))
		e.texts(s.Texts)
		for _, p := range s.Params {
			e.Byte(byte(p))
		}
	}
	e.Uint(uint64(len(p.Steps)))
	for _, s := range p.Steps {
		e.Text(s.Name)
		e.Byte(byte(s.Class))
		e.Uint(uint64(s.Line))
	}
	e.Uint(uint64(len(p.Sites)))
	for _, s := range p.Sites {
		e.Byte(byte(s.Effect))
		e.Byte(s.Args)
		e.Int(int64(s.Step))
		e.Uint(uint64(s.Statement))
	}
	e.Uint(uint64(len(p.Funcs)))
	for _, f := range p.Funcs {
		e.function(f)
	}
	b := e.Bytes()
	sum := sha256.Sum256(b)
	return append(b, sum[:checksumSize]...)
}

type encoder struct{ *value.Encoder }

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func (e encoder) texts(list []string) {
	e.Uint(uint64(len(list)))
	for _, s := range list {
		e.Text(s)
	}
}

func (e encoder) function(f *Func) {
	e.Text(f.Name)
	e.Uint(uint64(f.File))
	e.Uint(uint64(f.Params))
	e.Uint(uint64(f.Regs))
	e.Int(int64(f.DBReg))
	e.code(&f.Traced)
	e.code(&f.Fast)
}

func (e encoder) code(c *Code) {
	e.Uint(uint64(len(c.Instrs)))
	for i, in := range c.Instrs {
		e.Byte(byte(in.Op))
		e.Byte(in.A)
		e.Byte(in.B)
		e.Byte(in.C)
		e.Int(int64(in.Imm))
		e.Byte(c.Height[i])
	}
	e.Uint(uint64(len(c.Marks)))
	for _, m := range c.Marks {
		e.Uint(uint64(m.PC))
		e.Uint(uint64(m.Line))
		e.Uint(uint64(m.Column))
		e.Int(int64(m.Step))
		e.Uint(uint64(m.Pending))
	}
	e.Uint(uint64(len(c.Handlers)))
	for _, h := range c.Handlers {
		e.Uint(uint64(h.From))
		e.Uint(uint64(h.To))
		e.Uint(uint64(h.Target))
		e.Byte(h.Reg)
		e.Byte(h.Height)
		e.Byte(bit(h.Transaction))
	}
	e.Uint(uint64(len(c.Loops)))
	for _, pc := range c.Loops {
		e.Uint(uint64(pc))
	}
}

// roomFactor is how many bytes of constants a byte of a stored program may
// stand for: a list of one number is the worst.
const roomFactor = 64

// Decode reads what Encode wrote and verifies it. It never trusts its input
// and allocates in proportion to its length.
func Decode(b []byte) (*Program, error) {
	if len(b) < len(programMagic)+checksumSize || !bytes.HasPrefix(b, []byte(programMagic[:3])) {
		return nil, ErrCorrupt
	}
	body := b[:len(b)-checksumSize]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:checksumSize], b[len(body):]) {
		return nil, ErrCorrupt
	}
	if body[3] != programMagic[3] {
		return nil, ErrVersion
	}
	d := decoder{value.NewConstantsDecoder(body[len(programMagic):], roomFactor*int64(len(b))+1<<10)}
	if d.Uint() != Version {
		return nil, ErrVersion
	}
	p := d.program()
	if d.Err() != nil || d.Rest() != 0 {
		return nil, ErrCorrupt
	}
	if err := Verify(p); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return p, nil
}

type decoder struct{ *value.Decoder }

func (d decoder) program() *Program {
	p := &Program{}
	for i := range p.Hash {
		p.Hash[i] = d.Byte()
	}
	flags := d.Byte()
	if flags > 3 {
		d.Fail()
	}
	p.UsesSession, p.Pauses = flags&1 != 0, flags&2 != 0
	p.Bytes = d.Below(1 << 40)
	p.Files = d.texts()
	p.Builtins = d.texts()
	p.Consts = many(d, d.Value)
	p.Templates = many(d, func() Template { return Template{Mode: TemplateMode(d.Byte()), Texts: d.texts()} })
	p.Statements = many(d, d.statement)
	p.Steps = many(d, func() Step { return Step{Name: d.Text(), Class: Class(d.Byte()), Line: d.place()} })
	p.Sites = many(d, func() Site {
		return Site{Effect: Effect(d.Byte()), Args: d.Byte(), Step: d.step(), Statement: d.place()}
	})
	p.Funcs = many(d, d.function)
	return p
}

// many reads a list of things that take at least one byte each.
func many[T any](d decoder, read func() T) []T {
	var list []T
	for range d.Count() {
		x := read()
		if d.Err() != nil {
			return nil
		}
		list = append(list, x)
	}
	return list
}

func (d decoder) texts() []string { return many(d, d.Text) }

// place reads a number of 31 bits.
func (d decoder) place() int32 { return int32(d.Below(1 << 31)) }

// step reads the number of a step, or -1.
func (d decoder) step() int32 {
	n := d.Int()
	if n < -1 || n >= 1<<31 {
		d.Fail()
		return -1
	}
	return int32(n)
}

func (d decoder) bool() bool {
	b := d.Byte()
	if b > 1 {
		d.Fail()
	}
	return b == 1
}

func (d decoder) statement() Statement {
	s := Statement{Head: d.Text(), Mode: SQLMode(d.Byte()), Texts: d.texts()}
	for range len(s.Texts) - 1 {
		s.Params = append(s.Params, SQLParam(d.Byte()))
	}
	return s
}

func (d decoder) function() *Func {
	return &Func{
		Name: d.Text(), File: int(d.place()), Params: int(d.place()), Regs: int(d.place()), DBReg: int(d.step()),
		Traced: d.code(), Fast: d.code(),
	}
}

func (d decoder) code() Code {
	var c Code
	c.Instrs = many(d, func() Instr {
		in := Instr{Op: Op(d.Byte()), A: d.Byte(), B: d.Byte(), C: d.Byte()}
		imm := d.Int()
		if in.Imm = int32(imm); int64(in.Imm) != imm {
			d.Fail()
		}
		c.Height = append(c.Height, d.Byte())
		return in
	})
	c.Marks = many(d, func() Mark {
		return Mark{PC: d.place(), Line: d.place(), Column: d.place(), Step: d.step(), Pending: d.place()}
	})
	c.Handlers = many(d, func() Handler {
		return Handler{From: d.place(), To: d.place(), Target: d.place(), Reg: d.Byte(), Height: d.Byte(), Transaction: d.bool()}
	})
	c.Loops = many(d, d.place)
	return c
}
