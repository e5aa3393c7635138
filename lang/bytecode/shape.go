package bytecode

import "fmt"

// operand is what an instruction's bytes mean: what Verify checks and what
// Disassemble writes.
type operand uint8

const (
	regA operand = iota
	regB
	regC
	nullsAB   // registers A … A+B
	argsAB    // registers A … A+B-1
	keysBC    // registers B … B+C-1, at least one
	pathBC    // registers B … B+C-1, maybe none
	insertsB  // registers from B on, as many as the template Imm has insertions
	hiddenA1  // registers A and A+1, the place of an iterator in the second
	hiddenA2  // registers A, A+1 and A+2 of a counting loop
	valueImm  // the register in the low byte of Imm, bit 8 of Imm: shared
	flagB     // B is 0 or 1
	loopB     // B is 0, or 1 and the number of a built-in
	flagC     // C is 0 or 1
	sideC     // C is 0, 1 or ConstantFirst
	flagImm   // Imm is 0 or 1
	stepsC    // C statements, signed
	stepsImm  // Imm statements
	numberImm // Imm itself
	roomImm   // Imm elements
	unitImm   // Imm seconds, at least one
	shortBC   // B and C as a signed 16-bit number
	constBC   // constant BC
	constImm  // constant Imm
	numeral   // constant Imm, a number
	textImm   // constant Imm, a text
	forward   // goes to Imm, which lies ahead
	backward  // goes to Imm, which lies behind
	funcImm   // function Imm, of B parameters
	libImm    // built-in Imm
	siteImm   // site Imm with arguments from A on
	tplImm    // template Imm
	stepImm   // step Imm
	globalImm // global Imm
	ownImm    // global Imm, one that scripts set
)

// shape is the name of an operation and what its operands are.
type shape struct {
	name     string
	operands []operand
	ends     bool // the next instruction is not the one that follows
}

func op(name string, operands ...operand) shape { return shape{name: name, operands: operands} }

func last(name string, operands ...operand) shape {
	return shape{name: name, operands: operands, ends: true}
}

var shapes = [opCount]shape{

	OpLoadK:    op("LoadK", regA, constImm),
	OpLoadI:    op("LoadI", regA, numberImm),
	OpLoadBool: op("LoadBool", regA, flagB),
	OpLoadNull: op("LoadNull", nullsAB),
	OpMove:     op("Move", regA, regB),
	OpCopy:     op("Copy", regA, regB),

	OpAdd:   op("Add", regA, regB, regC, flagImm),
	OpSub:   op("Sub", regA, regB, regC),
	OpMul:   op("Mul", regA, regB, regC),
	OpDiv:   op("Div", regA, regB, regC),
	OpIDiv:  op("IDiv", regA, regB, regC),
	OpMod:   op("Mod", regA, regB, regC),
	OpAddI:  op("AddI", regA, regB, sideC, numberImm),
	OpAddK:  op("AddK", regA, regB, sideC, constImm),
	OpSubK:  op("SubK", regA, regB, numeral),
	OpMulK:  op("MulK", regA, regB, sideC, numeral),
	OpDivK:  op("DivK", regA, regB, numeral),
	OpIDivK: op("IDivK", regA, regB, numeral),
	OpModK:  op("ModK", regA, regB, numeral),
	OpNeg:   op("Neg", regA, regB),

	OpEq:        op("Eq", regA, regB, regC),
	OpNe:        op("Ne", regA, regB, regC),
	OpLt:        op("Lt", regA, regB, regC),
	OpLe:        op("Le", regA, regB, regC),
	OpIn:        op("In", regA, regB, regC),
	OpNotIn:     op("NotIn", regA, regB, regC),
	OpNot:       op("Not", regA, regB),
	OpIsNull:    op("IsNull", regA, regB),
	OpIsNotNull: op("IsNotNull", regA, regB),

	OpJump:     last("Jump", stepsC, forward),
	OpJTrue:    op("JTrue", regA, forward),
	OpJFalse:   op("JFalse", regA, forward),
	OpJNull:    op("JNull", regA, forward),
	OpJNotNull: op("JNotNull", regA, forward),
	OpJEq:      op("JEq", regA, regB, forward),
	OpJNe:      op("JNe", regA, regB, forward),
	OpJLt:      op("JLt", regA, regB, forward),
	OpJGe:      op("JGe", regA, regB, forward),
	OpJEqI:     op("JEqI", regA, shortBC, forward),
	OpJNeI:     op("JNeI", regA, shortBC, forward),
	OpJLtI:     op("JLtI", regA, shortBC, forward),
	OpJGeI:     op("JGeI", regA, shortBC, forward),
	OpJLeI:     op("JLeI", regA, shortBC, forward),
	OpJGtI:     op("JGtI", regA, shortBC, forward),
	OpJEqK:     op("JEqK", regA, constBC, forward),
	OpJNeK:     op("JNeK", regA, constBC, forward),
	OpJLtK:     op("JLtK", regA, constBC, forward),
	OpJGeK:     op("JGeK", regA, constBC, forward),
	OpJLeK:     op("JLeK", regA, constBC, forward),
	OpJGtK:     op("JGtK", regA, constBC, forward),

	OpLoop:   last("Loop", stepsC, backward),
	OpLoopLt: op("LoopLt", regA, regB, stepsC, backward),
	OpLoopLe: op("LoopLe", regA, regB, stepsC, backward),

	OpForPrep:   op("ForPrep", hiddenA2, regB, stepsC, forward),
	OpForLoop:   op("ForLoop", hiddenA2, regB, stepsC, backward),
	OpIterPrep:  last("IterPrep", hiddenA1, loopB, stepsC, forward),
	OpIterNext:  op("IterNext", hiddenA1, regB, stepsC, backward),
	OpIterNext2: op("IterNext2", hiddenA1, regB, regC, backward),

	OpGet:     op("Get", regA, regB, regC, flagImm),
	OpGetK:    op("GetK", regA, regB, flagC, textImm),
	OpGetN:    op("GetN", regA, regB, flagC, numberImm),
	OpSet:     op("Set", regA, regB, regC, flagImm),
	OpSetK:    op("SetK", regA, regB, flagC, textImm),
	OpSetPath: op("SetPath", regA, keysBC, valueImm),
	OpDelPath: op("DelPath", regA, keysBC),
	OpAppend:  op("Append", regA, regB, flagC),
	OpAppPath: op("AppPath", regA, pathBC, valueImm),

	OpNewList: op("NewList", regA, roomImm),
	OpNewMap:  op("NewMap", regA, roomImm),
	OpPush:    op("Push", regA, regB, flagC),
	OpPut:     op("Put", regA, regB, flagC, textImm),
	OpText:    op("Text", regA, insertsB, tplImm),

	OpCall:    op("Call", argsAB, regA, funcImm),
	OpReturn:  last("Return", regA, stepsC),
	OpBuiltin: op("Builtin", argsAB, regA, libImm),
	OpEffect:  op("Effect", regA, siteImm),
	OpHalt:    last("Halt", stepsC),
	OpStop:    last("Stop", stepsC),

	OpStep:  op("Step", stepImm),
	OpSteps: op("Steps", stepsImm),

	OpEmit:      op("Emit", argsAB, flagC),
	OpEmitRows:  op("EmitRows", regA),
	OpFail:      last("Fail", regA, regB, flagC),
	OpRaise:     last("Raise", regA),
	OpDecline:   op("Decline", regA),
	OpGlobal:    op("Global", regA, globalImm),
	OpGlobalGet: op("GlobalGet", regA, regB, globalImm),
	OpGlobalSet: op("GlobalSet", regB, regC, ownImm),
	OpGlobalDel: op("GlobalDel", regB, ownImm),
	OpUse:       op("Use", regA, flagB),
	OpSaveDB:    op("SaveDB", regA),
	OpSeconds:   op("Seconds", regA, regB, unitImm),
	OpCheckKey:  op("CheckKey", regA),
	OpEmitJSON:  op("EmitJSON", regA),
	OpCheck:     op("Check", regA, regB, regC),
}

// known reports whether the machine knows the operation.
func (o Op) known() bool { return o < opCount && shapes[o].name != "" }

// String returns the operation's name.
func (o Op) String() string {
	if !o.known() {
		return fmt.Sprintf("Op(%d)", uint8(o))
	}
	return shapes[o].name
}

var globalNames = [GlobalCount]string{"GET", "POST", "COOKIE", "REQUEST", "RESPONSE", "COOKIE", "BODY", "INPUT", "FILES"}

// short returns the 16-bit number of an instruction's B and C.
func (in Instr) short() int { return int(int16(uint16(in.B) | uint16(in.C)<<8)) }

// wide returns an instruction's B and C as one unsigned number.
func (in Instr) wide() int { return int(in.B) | int(in.C)<<8 }
