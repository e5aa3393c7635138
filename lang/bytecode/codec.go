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
	programMagic = "QLP\x04"
	firstFormat  = 1 // that is read: what it says of its weight is an estimate
	inputFormat  = 3 // the first that has the form of INPUT FIELDS
	namesFormat  = 4 // the first that has the names of variables
	checksumSize = 16
)

// Errors of Decode.
var (
	ErrCorrupt = errors.New("the stored program is corrupt")
	ErrVersion = errors.New("unsupported version of a stored program")
)

// Encode writes a program so that Decode gets back the same.
func Encode(p *Program) []byte {
	b, _ := EncodeYielding(p, func() error { return nil })
	return b
}

// EncodeYielding is Encode, and calls yield every so often. Its error ends the
// encoding.
func EncodeYielding(p *Program, yield func() error) ([]byte, error) {
	e := encoder{value.NewEncoder(append(make([]byte, 0, 4096), programMagic...))}
	e.SetYield(yield)
	e.Uint(Version)
	for _, b := range p.Hash {
		e.Byte(b)
	}
	e.Byte(Flag(p.UsesSession) | Flag(p.Pauses)<<1)
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
		if e.function(f); e.Err() != nil {
			break
		}
	}
	e.Value(p.Input)
	for _, f := range p.Funcs {
		e.texts(f.Vars)
		e.Work(0)
	}
	if err := e.Err(); err != nil {
		return nil, err
	}
	b := e.Bytes()
	sum, err := checksum(b, yield)
	if err != nil {
		return nil, err
	}
	return append(b, sum[:checksumSize]...), nil
}

// yieldBytes is how many bytes are hashed between two yields.
const yieldBytes = 64 << 10

// checksum returns the SHA-256 of b.
func checksum(b []byte, yield func() error) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	for len(b) > 0 {
		n := min(len(b), yieldBytes)
		_, _ = h.Write(b[:n]) // never fails
		if b = b[n:]; len(b) > 0 {
			if err := yield(); err != nil {
				return sum, err
			}
		}
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

type encoder struct{ *value.Encoder }

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
		e.Work(0)
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
		e.Byte(0) // unused
		e.Byte(Flag(h.Transaction))
	}
	e.Uint(uint64(len(c.Loops)))
	for _, pc := range c.Loops {
		e.Uint(uint64(pc))
	}
}

// maxWeight is the most that a stored program of n bytes may weigh: a list of one
// number is the worst, after functions.
func maxWeight(n int) int64 { return 128*int64(n) + programSize }

// Weight returns what a stored program will weigh once it is decoded. Of one that
// does not say it, that is the most it may be.
func Weight(stored []byte) (int64, error) {
	format, d, err := readHeader(stored)
	if err != nil {
		return 0, err
	}
	d.hash()
	d.Byte()
	weight, most := int64(d.Below(1<<40)), maxWeight(len(stored))
	switch {
	case d.Err() != nil, weight > most && format > firstFormat:
		return 0, ErrCorrupt
	case format == firstFormat:
		return most, nil
	}
	return weight, nil
}

// readHeader checks how a stored program begins, and returns its format and a decoder
// of what follows the version.
func readHeader(b []byte) (format byte, d decoder, err error) {
	if len(b) < len(programMagic)+checksumSize || !bytes.HasPrefix(b, []byte(programMagic[:3])) {
		return 0, d, ErrCorrupt
	}
	if format = b[3]; format < firstFormat || format > programMagic[3] {
		return 0, d, ErrVersion
	}
	d = decoder{value.NewProgramDecoder(b[len(programMagic) : len(b)-checksumSize])}
	if d.Uint() != Version {
		return 0, d, ErrVersion
	}
	return format, d, nil
}

// Decode reads what Encode wrote and verifies it. It never trusts its input
// and allocates in proportion to its length.
func Decode(b []byte) (*Program, error) {
	return DecodeYielding(b, func() error { return nil })
}

// DecodeYielding is Decode, and calls yield every so often. Its error ends the
// decoding. What is done is linear in the stored program and its Weight.
func DecodeYielding(b []byte, yield func() error) (*Program, error) {
	if len(b) < checksumSize || !bytes.HasPrefix(b, []byte(programMagic[:3])) {
		return nil, ErrCorrupt
	}
	body := b[:len(b)-checksumSize]
	sum, err := checksum(body, yield)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(sum[:checksumSize], b[len(body):]) {
		return nil, ErrCorrupt
	}
	format, d, err := readHeader(b)
	if err != nil {
		return nil, err
	}
	weight, err := Weight(b)
	if err != nil {
		return nil, err
	}
	d.SetBudget(weight)
	d.SetYield(yield)
	p := d.program(format)
	switch err := d.Err(); {
	case err != nil && !errors.Is(err, value.ErrCorrupt):
		return nil, err
	case err != nil, d.Remaining() != 0, format > firstFormat && d.BudgetLeft() != 0:
		return nil, ErrCorrupt
	}
	p.Bytes = int(weight - d.BudgetLeft())
	v := verifier{p: p, yield: yield}
	if err := v.program(); v.yieldErr != nil {
		return nil, v.yieldErr
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return p, nil
}

type decoder struct{ *value.Decoder }

func (d decoder) hash() (h [sha256.Size]byte) {
	for i := range h {
		h[i] = d.Byte()
	}
	return h
}

func (d decoder) program(format byte) *Program {
	d.Charge(1, programSize)
	p := &Program{Hash: d.hash()}
	flags := d.Byte()
	if flags > 3 {
		d.Fail()
	}
	p.UsesSession, p.Pauses = flags&1 != 0, flags&2 != 0
	d.Below(1 << 40) // what it weighs, see Weight
	p.Files = d.texts()
	p.Builtins = readList(d, builtinSize, d.text)
	p.Consts = readList(d, constantSize, d.Value)
	p.Templates = readList(d, templateSize, func() Template { return Template{Mode: TemplateMode(d.Byte()), Texts: d.texts()} })
	p.Statements = readList(d, statementSize, d.statement)
	p.Steps = readList(d, stepSize, func() Step { return Step{Name: d.text(), Class: Class(d.Byte()), Line: d.uint31()} })
	p.Sites = readList(d, siteSize, func() Site {
		return Site{Effect: Effect(d.Byte()), Args: d.Byte(), Step: d.step(), Statement: d.uint31()}
	})
	p.Funcs = readList(d, funcSize, d.function)
	if format >= inputFormat {
		p.Input = d.Value()
	}
	if format >= namesFormat {
		for _, f := range p.Funcs {
			f.Vars = d.texts()
		}
	}
	return p
}

// readList reads a list of things that take at least one byte each, and weigh so many.
func readList[T any](d decoder, size int, read func() T) []T {
	n := d.Count()
	if n == 0 || !d.Charge(n, size) {
		return nil
	}
	list := make([]T, 0, n)
	for range n {
		x := read()
		if d.Work(0); d.Err() != nil {
			return nil
		}
		list = append(list, x)
	}
	return list
}

func (d decoder) texts() []string { return readList(d, textSize, d.text) }

// text reads a text, whose place was charged.
func (d decoder) text() string {
	s := d.Text()
	d.Charge(textWeight(s), 1)
	return s
}

// uint31 reads a number of 31 bits.
func (d decoder) uint31() int32 { return int32(d.Below(1 << 31)) }

// step reads the number of a step, or -1.
func (d decoder) step() int32 {
	n := d.Int()
	if n < -1 || n >= 1<<31 {
		d.Fail()
		return -1
	}
	return int32(n)
}

// imm reads a number of 32 bits with a sign.
func (d decoder) imm() int32 {
	n := d.Int()
	if int64(int32(n)) != n {
		d.Fail()
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
	s := Statement{Head: d.text(), Mode: SQLMode(d.Byte()), Texts: d.texts()}
	n := len(s.Texts) - 1
	if n <= 0 || n > d.Remaining() || !d.Charge(n, 1) {
		if n > 0 {
			d.Fail()
		}
		return s
	}
	s.Params = make([]SQLParam, n)
	for i := range s.Params {
		s.Params[i] = SQLParam(d.Byte())
	}
	return s
}

func (d decoder) function() *Func {
	return &Func{
		Name: d.text(), File: int(d.uint31()), Params: int(d.uint31()), Regs: int(d.uint31()), DBReg: int(d.step()),
		Traced: d.code(), Fast: d.code(),
	}
}

func (d decoder) code() Code {
	var c Code
	if n := d.Count(); n > 0 && d.Charge(n, instrSize) {
		c.Instrs, c.Height = make([]Instr, n), make([]uint8, n)
		for i := range c.Instrs {
			c.Instrs[i] = Instr{Op: Op(d.Byte()), A: d.Byte(), B: d.Byte(), C: d.Byte(), Imm: d.imm()}
			c.Height[i] = d.Byte()
			if d.Work(0); d.Err() != nil {
				return c
			}
		}
	}
	c.Marks = readList(d, markSize, func() Mark {
		return Mark{PC: d.uint31(), Line: d.uint31(), Column: d.uint31(), Step: d.step(), Pending: d.uint31()}
	})
	c.Handlers = readList(d, handlerSize, func() Handler {
		h := Handler{From: d.uint31(), To: d.uint31(), Target: d.uint31(), Reg: d.Byte()}
		d.Byte() // unused; a height in programs of earlier releases
		h.Transaction = d.bool()
		return h
	})
	c.Loops = readList(d, loopSize, d.uint31)
	return c
}
