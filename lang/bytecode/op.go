// Package bytecode is what package compile makes of a script and package vm
// runs: programs, their instructions, and the effects they ask their host for.
// It knows neither the syntax nor the machine.
//
// # The machine
//
// A frame has up to 256 registers. An instruction is eight bytes: an
// operation, three bytes A, B, C that mostly name registers, and a 32-bit
// immediate Imm. Arguments of a call are in successive registers from A on,
// which become the first registers of the called function's frame; its result
// replaces the first of them.
//
// Registers below the height that a Code gives for each instruction are in
// use; what is above is garbage. That is all the machine must know to
// measure and to store its state.
//
// Fuel is charged by backward jumps, for the length of the jump, by calls, and
// by whatever takes longer the larger its operands are.
package bytecode

// Instr is an instruction.
type Instr struct {
	Op      Op
	A, B, C uint8
	Imm     int32
}

// Op is an operation.
type Op uint8

// The operations. R(x) is a register, K(x) a constant; "shared" means that a
// container is marked so that later writes copy it.
const (
	OpLoadK    Op = iota // R(A) = K(Imm)
	OpLoadI              // R(A) = Imm
	OpLoadBool           // R(A) = B != 0
	OpLoadNull           // R(A…A+B) = null
	OpMove               // R(A) = R(B)
	OpCopy               // R(A) = R(B), shared

	OpAdd  // R(A) = R(B) + R(C); a list grows in place if Imm is 1
	OpSub  // R(A) = R(B) - R(C)
	OpMul  // R(A) = R(B) * R(C)
	OpDiv  // R(A) = R(B) / R(C)
	OpIDiv // R(A) = R(B) DIV R(C)
	OpMod  // R(A) = R(B) % R(C)
	OpAddI // R(A) = R(B) + Imm; for errors, C is 1 for R(B) - -Imm, ConstantFirst for Imm + R(B)
	OpAddK // R(A) = R(B) + K(Imm); a list grows in place if C is 1
	OpSubK // R(A) = R(B) - K(Imm), here and below a number
	OpMulK // R(A) = R(B) * K(Imm)
	OpDivK // R(A) = R(B) / K(Imm)
	OpIDivK
	OpModK
	OpNeg // R(A) = -R(B)

	OpEq        // R(A) = R(B) = R(C)
	OpNe        // R(A) = R(B) != R(C)
	OpLt        // R(A) = R(B) < R(C)
	OpLe        // R(A) = R(B) <= R(C)
	OpIn        // R(A) = R(B) IN R(C)
	OpNotIn     // R(A) = R(B) NOT IN R(C)
	OpNot       // R(A) = NOT R(B)
	OpIsNull    // R(A) = R(B) IS NULL
	OpIsNotNull // R(A) = R(B) IS NOT NULL

	// Jumps go to Imm. "C steps" counts statements that have begun, C being a
	// signed byte: a jump into the middle of a block takes off what that block
	// will count for those it skips.
	OpJump     // always; C steps
	OpJTrue    // R(A) is true
	OpJFalse   // R(A) is false
	OpJNull    // R(A) IS NULL
	OpJNotNull // R(A) IS NOT NULL
	OpJEq      // R(A) = R(B)
	OpJNe      // R(A) != R(B)
	OpJLt      // R(A) < R(B)
	OpJGe      // R(A) >= R(B)
	OpJEqI     // R(A) = BC as a signed 16-bit number
	OpJNeI
	OpJLtI
	OpJGeI
	OpJLeI
	OpJGtI
	OpJEqK // R(A) = K(BC)
	OpJNeK
	OpJLtK
	OpJGeK
	OpJLeK
	OpJGtK

	// Backward jumps to Imm; C steps are counted either way.
	OpLoop   // always
	OpLoopLt // R(A) < R(B)
	OpLoopLe // R(A) <= R(B)

	OpForPrep   // R(A), R(A+1), R(A+2): from, to, step; R(B) = from, or go to Imm when there is no round; C steps
	OpForLoop   // next round: R(B) = next, back to Imm; C steps either way
	OpIterPrep  // R(A) must be a list, a map or null, but no map for built-in B-1; R(A+1) = 0; go to Imm; C steps
	OpIterNext  // R(B) = next element of R(A), back to Imm; R(A+1) is the place; C steps either way
	OpIterNext2 // R(B) = next element of R(A), R(C) = its key, back to Imm

	OpGet     // R(A) = R(B)[R(C)], shared unless Imm is 1
	OpGetK    // R(A) = R(B).K(Imm), shared unless C is 1
	OpGetN    // R(A) = R(B)[Imm], shared unless C is 1
	OpSet     // R(A)[R(B)] = R(C), shared if Imm is 1
	OpSetK    // R(A).K(Imm) = R(B), shared if C is 1
	OpSetPath // R(A)[R(B)]…[R(B+C-1)] = R(Imm & 0xFF), shared if Imm has bit 8
	OpDelPath // remove R(A)[R(B)]…[R(B+C-1)]
	OpAppend  // append R(B) to R(A), shared if C is 1
	OpAppPath // append R(Imm & 0xFF) to R(A)[R(B)]…[R(B+C-1)], shared if Imm has bit 8

	OpNewList // R(A) = a list with room for Imm
	OpNewMap  // R(A) = a map with room for Imm
	OpPush    // append R(B) to the new list R(A), shared if C is 1
	OpPut     // set K(Imm) of the new map R(A) to R(B), shared if C is 1
	OpText    // R(A) = template Imm with R(B), R(B+1), …

	OpCall    // call function Imm with B arguments from R(A) on; the result goes to R(A)
	OpReturn  // return R(A); C steps
	OpBuiltin // R(A) = built-in Imm of B arguments from R(A) on
	OpEffect  // R(A) = what the host says at site Imm, arguments from R(A) on
	OpHalt    // the script ends well; C steps
	OpStop    // as OpHalt, from any depth and without steps

	OpStep  // statement Imm of Program.Steps begins
	OpSteps // Imm statements have begun

	OpEmit      // emit R(A) … R(A+B-1); a line end if C is 1
	OpEmitRows  // emit R(A) as JSON and a line end if it is a list
	OpFail      // fail with R(A) and, if C is 1, the code R(B)
	OpRaise     // raise the error R(A) again
	OpDecline   // end the script as declined if R(A) is false
	OpGlobal    // R(A) = the request's global Imm, shared
	OpGlobalGet // R(A) = entry R(B) of the request's global Imm
	OpGlobalSet // set entry R(B) of the global Imm to R(C)
	OpGlobalDel // remove entry R(B) of the global Imm
	OpUse       // R(A) names the current database from here on; B is 1 to give back what OpSaveDB took
	OpSaveDB    // R(A) = the name of the current database
	OpSeconds   // R(A) = R(B) × Imm seconds, a duration
	OpCheckKey  // R(A) must be a text, as a key
	OpEmitJSON  // emit R(A) as JSON, which is all that the script emits
	OpCheck     // R(A) = the map R(B), checked by the form R(C)

	opCount
)

// OpsEnd is the first number that no operation of a program has: the machine has its own from there on.
const OpsEnd = opCount

// Flag writes a boolean as an operand, or as a byte of what is stored.
func Flag(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// ConstantFirst, as the C of an OpAddI, OpAddK or OpMulK, says that the script
// has the constant on the left side: an error names it first.
const ConstantFirst = 2

// Globals that the machine itself holds.
const (
	GlobalGet int32 = iota
	GlobalPost
	GlobalCookie
	GlobalRequest
	GlobalResponse
	GlobalCookiesSet // what was set OF !COOKIE, for the answer
	GlobalBody       // any value; the others are maps
	GlobalInput      // a map, or null where nothing was given
	GlobalFiles      // of each field the list of its files
	GlobalCount
)
