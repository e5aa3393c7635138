package vm

import "ql/lang/bytecode"

// Operations of the machine's own. Each stands in the place of the first of some
// instructions that follow each other, does the common case of all of them at once
// and goes on after the last; in any other case it does what the first does, and
// the others come in their turn, for their words stay as they are. So programs, and
// states that are stored, know nothing of them. Fuel is the same to the unit.
//
// What the first instructions would have put into temporary registers is not put
// there: it is garbage after the last.
const (
	// OpGet R(t) = R(B)[R(C)] and OpGetK R(A) = R(t).K
	opGetField = bytecode.OpsEnd + iota
	// OpMove R(t) = R(i), OpLoadK R(t+1) = K and OpSetPath R(A)[R(t)][R(t+1)] = R(v)
	opSetField
	// OpMul R(t) = R(B) * R(C) and OpAdd R(A) = R(z) + R(t), or R(t) + R(z)
	opMulAdd
	// OpMul R(t) = R(B) * R(C) and OpSub R(A) = R(z) - R(t), or R(t) - R(z)
	opMulSub
	// OpMul R(t) = R(B) * R(C), OpMul R(u) = R(y) * R(z) and OpAdd or OpSub R(A) = R(t) ± R(u)
	opMulMul
	// OpBuiltin R(A) = SQRT(R(A))
	opSqrt
	// OpAdd R(t) = R(B) + R(C) and OpAddI R(A) = R(t) + Imm
	opAddAddI

	// Those below write to the registers what their instructions write, but for the keys of an OpSetPath, and do as many of them
	// as are common.

	// OpGet and OpGetK R(t) = R(B)[R(C)].K, the same for R(u), and OpAdd, OpSub or OpMul R(A) = R(t) ∘ R(u)
	opTwoFields
	// OpGet and OpGetK R(t) = R(B)[R(C)].K, arithmetic R(x), and what opSetField stands for, of R(x) and the same field
	opUpdateField
	// The same with OpMul R(p) = R(y) * R(z) and OpAdd or OpSub R(t) = R(t) ± R(p)
	opUpdateByProduct
	// OpGet R(t) = R(B)[R(C)], arithmetic R(t), OpMove R(u) = R(C) and OpSet R(B)[R(u)] = R(t)
	opUpdateEntry
	// The same with OpJNotNull R(t) and OpLoadI R(t) = Imm behind the OpGet: R(B)[R(C)] DEFAULT Imm
	opUpdateOrAdd
	// OpMove R(t) = R(i) and OpSet R(A)[R(t)] = R(v)
	opSetAt
	// OpLoadI R(t) = Imm and OpSet R(A)[R(t)] = R(v)
	opSetAtI
	// OpCopy R(A) = R(B), twice
	opTwoCopies
	// OpAddI and OpLoopLt
	opAddLoopLt
)

// fused returns the words of a code with the machine's own operations in them.
func fused(p *bytecode.Program, c *bytecode.Code) []uint64 {
	code := c.Instrs
	w := words(code)
	own := func(i int, op bytecode.Op) { w[i] = w[i]&^0xff | uint64(op) }
	for i := range code {
		switch {
		case isUpdateByProduct(code[i:]):
			own(i, opUpdateByProduct)
		case isUpdateField(code[i:], 2):
			own(i, opUpdateField)
		case isTwoFields(code[i:]):
			own(i, opTwoFields)
		case isUpdateEntry(code[i:], 1):
			own(i, opUpdateEntry)
		case isUpdateOrAdd(code[i:], i):
			own(i, opUpdateOrAdd)
		case isGetField(code[i:]):
			own(i, opGetField)
		case isSetField(code[i:]):
			own(i, opSetField)
		case isMulMul(code[i:]) && garbage(c, i+3, code[i+2].A, code[i].A) && garbage(c, i+3, code[i+2].A, code[i+1].A):
			own(i, opMulMul)
		case isMulThen(code[i:], bytecode.OpAdd) && garbage(c, i+2, code[i+1].A, code[i].A):
			own(i, opMulAdd)
		case isMulThen(code[i:], bytecode.OpSub) && garbage(c, i+2, code[i+1].A, code[i].A):
			own(i, opMulSub)
		case isSetAt(code[i:], bytecode.OpMove):
			own(i, opSetAt)
		case isSetAt(code[i:], bytecode.OpLoadI):
			own(i, opSetAtI)
		case isPair(code[i:], bytecode.OpAdd, bytecode.OpAddI) && code[i+1].B == code[i].A && garbage(c, i+2, code[i+1].A, code[i].A):
			own(i, opAddAddI)
		case isPair(code[i:], bytecode.OpCopy, bytecode.OpCopy):
			own(i, opTwoCopies)
		case isPair(code[i:], bytecode.OpAddI, bytecode.OpLoopLt):
			own(i, opAddLoopLt)
		case code[i].Op == bytecode.OpBuiltin && code[i].B == 1 && p.Builtins[code[i].Imm] == "SQRT":
			own(i, opSqrt)
		}
	}
	return w
}

// garbage reports whether what was in the register t is lost at instruction pc: the register is not in use there, or is the
// register a, which was just written.
func garbage(c *bytecode.Code, pc int, a, t uint8) bool {
	return a == t || pc < len(c.Height) && c.Height[pc] <= t
}

// isMulThen reports whether a product is the one operand of a sum or a difference, and not the other.
func isMulThen(code []bytecode.Instr, op bytecode.Op) bool {
	return len(code) > 1 && code[0].Op == bytecode.OpMul && code[1].Op == op &&
		(code[1].B == code[0].A) != (code[1].C == code[0].A)
}

// isMulMul reports whether the operands of a sum or a difference are two products.
func isMulMul(code []bytecode.Instr) bool {
	return len(code) > 2 && code[0].Op == bytecode.OpMul && code[1].Op == bytecode.OpMul &&
		(code[2].Op == bytecode.OpAdd || code[2].Op == bytecode.OpSub) &&
		code[2].B == code[0].A && code[2].C == code[1].A && code[0].A != code[1].A &&
		code[1].B != code[0].A && code[1].C != code[0].A
}

func isPair(code []bytecode.Instr, first, second bytecode.Op) bool {
	return len(code) > 1 && code[0].Op == first && code[1].Op == second
}

// isSetAt reports whether an element is set whose index is put into a register for that.
func isSetAt(code []bytecode.Instr, index bytecode.Op) bool {
	return isPair(code, index, bytecode.OpSet) && code[1].B == code[0].A && code[1].A != code[0].A && code[1].C != code[0].A
}

func isGetField(code []bytecode.Instr) bool {
	// The first must not share what it gives: then it is a step on a path.
	return len(code) > 1 && code[0].Op == bytecode.OpGet && code[0].Imm == 1 &&
		code[1].Op == bytecode.OpGetK && code[1].B == code[0].A
}

func isSetField(code []bytecode.Instr) bool {
	return len(code) > 2 && code[0].Op == bytecode.OpMove && code[1].Op == bytecode.OpLoadK && code[2].Op == bytecode.OpSetPath &&
		code[2].C == 2 && code[2].B == code[0].A && int(code[1].A) == int(code[0].A)+1 &&
		code[2].A != code[0].A && code[2].A != code[1].A && uint8(code[2].Imm) != code[0].A && uint8(code[2].Imm) != code[1].A
}

func isTwoFields(code []bytecode.Instr) bool {
	if len(code) < 5 || !isGetField(code) || !isGetField(code[2:]) {
		return false
	}
	first, second, in := code[0], code[2], code[4]
	return (in.Op == bytecode.OpAdd || in.Op == bytecode.OpSub || in.Op == bytecode.OpMul) &&
		code[1].A == first.A && code[3].A == second.A && in.B == first.A && in.C == second.A && in.B != in.C &&
		second.B != first.A && second.C != first.A
}

// isUpdateField reports whether code starts with getting a field, and what the instruction at n gives is put into the same field by
// those behind it.
func isUpdateField(code []bytecode.Instr, n int) bool {
	if len(code) < n+4 || !isGetField(code) || !isArithmetic(code[n]) || !isSetField(code[n+1:]) {
		return false
	}
	get, in, move, set := code[0], code[n], code[n+1], code[n+3]
	return code[1].A == get.A && get.A != get.B && get.A != get.C && in.A != get.B && in.A != get.C &&
		move.B == get.C && code[n+2].Imm == code[1].Imm && set.A == get.B && uint8(set.Imm) == in.A
}

func isUpdateByProduct(code []bytecode.Instr) bool {
	if !isUpdateField(code, 3) {
		return false
	}
	get, mul, in, move := code[0], code[2], code[3], code[4]
	return mul.Op == bytecode.OpMul && mul.B != get.A && mul.C != get.A && mul.A != get.A && mul.A == move.A &&
		(in.Op == bytecode.OpAdd || in.Op == bytecode.OpSub) && in.A == get.A && in.B == get.A && in.C == mul.A
}

// isUpdateEntry reports whether code starts with getting an element, and what the instruction at n gives is put in its place by
// those behind it.
func isUpdateEntry(code []bytecode.Instr, n int) bool {
	if len(code) < n+3 || code[0].Op != bytecode.OpGet || !isArithmetic(code[n]) ||
		code[n+1].Op != bytecode.OpMove || code[n+2].Op != bytecode.OpSet {
		return false
	}
	get, in, move, set := code[0], code[n], code[n+1], code[n+2]
	return get.A != get.B && get.A != get.C && in.A == get.A &&
		move.B == get.C && move.A != get.A && move.A != get.B && move.A != get.C &&
		set.A == get.B && set.B == move.A && set.C == get.A
}

func isUpdateOrAdd(code []bytecode.Instr, pc int) bool {
	return isUpdateEntry(code, 3) && code[1].Op == bytecode.OpJNotNull && code[1].A == code[0].A && int(code[1].Imm) == pc+3 &&
		code[2].Op == bytecode.OpLoadI && code[2].A == code[0].A
}

func isArithmetic(in bytecode.Instr) bool {
	switch in.Op {
	case bytecode.OpAdd, bytecode.OpSub, bytecode.OpMul, bytecode.OpDiv, bytecode.OpAddI,
		bytecode.OpAddK, bytecode.OpSubK, bytecode.OpMulK, bytecode.OpDivK:
		return true
	}
	return false
}
