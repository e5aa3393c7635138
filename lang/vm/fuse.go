package vm

import "ql/lang/bytecode"

// Operations of the machine's own. Each stands in the place of the first of some
// instructions that follow each other, does the common case of all of them at once
// and goes on after the last; in any other case it does what the first does, and
// the others come in their turn, for their words stay as they are. So programs, and
// states that are stored, know nothing of them.
//
// What the first instructions would have put into temporary registers is not put
// there: it is garbage after the last.
const (
	// OpGet R(t) = R(B)[R(C)] and OpGetK R(A) = R(t).K
	opGetField = bytecode.OpsEnd + iota
	// OpMove R(t) = R(i), OpLoadK R(t+1) = K and OpSetPath R(A)[R(t)][R(t+1)] = R(v)
	opSetField
)

// fused returns the words of a code with the machine's own operations in them.
func fused(code []bytecode.Instr) []uint64 {
	w := words(code)
	for i := range code {
		switch {
		case isGetField(code[i:]):
			w[i] = w[i]&^0xff | uint64(opGetField)
		case isSetField(code[i:]):
			w[i] = w[i]&^0xff | uint64(opSetField)
		}
	}
	return w
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
