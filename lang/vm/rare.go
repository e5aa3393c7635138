package vm

import (
	"ql/lang/bytecode"
	"ql/lang/value"
)

// execRare does the instructions that no short loop is made of. A change of m.pc
// is a jump; a status other than Ready ends the loop.
func (m *Machine) execRare(r *[window]value.Value, in uint64) *value.Error {
	a, b, c := opA(in), opB(in), opC(in)
	switch bytecode.Op(in) {
	case bytecode.OpLoadNull:
		for i := int(a); i <= int(a)+int(b); i++ {
			r[uint8(i)] = value.Null
		}
	case bytecode.OpIn, bytecode.OpNotIn:
		is, err := value.In(&m.meter, r[b], r[c])
		if err != nil {
			return err
		}
		r[a].SetBool(is == (bytecode.Op(in) == bytecode.OpIn))
	case bytecode.OpNot:
		r[a].SetBool(!r[b].Truthy())
	case bytecode.OpIsNull:
		r[a].SetBool(r[b].IsNull())
	case bytecode.OpIsNotNull:
		r[a].SetBool(!r[b].IsNull())
	case bytecode.OpForPrep:
		m.steps += int64(int8(c))
		rounds, err := forPrep(r, a)
		if err != nil {
			return err
		}
		if rounds {
			r[b] = r[a]
		} else {
			m.pc = int(imm(in))
		}
	case bytecode.OpIterPrep:
		if err := m.iterPrep(r[a], b); err != nil {
			return err // the steps are still pending
		}
		m.steps += int64(int8(c))
		r[a+1].SetInt(0)
		m.pc = int(imm(in))
	case bytecode.OpSetPath:
		return value.SetPath(&m.meter, &r[a], r[b:int(b)+int(c)], valueOperand(r, in))
	case bytecode.OpDelPath:
		return value.RemovePath(&m.meter, &r[a], r[b:int(b)+int(c)])
	case bytecode.OpAppPath:
		return value.AppendAt(&m.meter, &r[a], r[b:int(b)+int(c)], valueOperand(r, in))
	case bytecode.OpNewList:
		r[a] = value.NewList(&m.meter, int(imm(in))).Value()
	case bytecode.OpNewMap:
		r[a] = value.NewMap(&m.meter, int(imm(in))).Value()
	case bytecode.OpPut:
		return m.setIndex(&r[a], m.consts[imm(in)], r[b], c == 1)
	case bytecode.OpEffect:
		return m.requestEffect(imm(in), a)
	case bytecode.OpHalt:
		m.end(c, Done)
	case bytecode.OpStop:
		if m.tx > 0 {
			// A calling function's TRANSACTION commits first; then this
			// instruction comes again: see Resume.
			m.commitFirst()
			return nil
		}
		m.end(c, Done)
	case bytecode.OpEmit:
		return m.emit(r[a:int(a)+int(b)], c == 1)
	case bytecode.OpEmitRows:
		if r[a].IsList() {
			return m.emitRows(r[a])
		}
	case bytecode.OpEmitJSON:
		return m.emitJSON(r[a])
	case bytecode.OpFail:
		return failure(r[a], r[b], c == 1)
	case bytecode.OpRaise:
		return raisedAgain(r[a])
	case bytecode.OpDecline:
		if !r[a].Truthy() {
			m.end(0, Declined)
		}
	case bytecode.OpGlobal:
		r[a] = m.global(imm(in))
	case bytecode.OpGlobalGet:
		v, err := m.globalEntry(imm(in), r[b])
		if err != nil {
			return err
		}
		r[a] = v
	case bytecode.OpGlobalSet:
		return m.setGlobal(imm(in), r[b], r[c])
	case bytecode.OpGlobalDel:
		return m.unsetGlobal(imm(in), r[b])
	case bytecode.OpUse:
		if b == 1 {
			m.db = r[a]
			return nil
		}
		return m.useDatabase(r[a])
	case bytecode.OpSaveDB:
		r[a] = m.db
	case bytecode.OpSeconds:
		v, err := seconds(r[b], imm(in))
		if err != nil {
			return err
		}
		r[a] = v
	case bytecode.OpCheck:
		v, err := m.checkFields(r[c], r[b])
		if err != nil {
			return err
		}
		r[a] = v
	case bytecode.OpCheckKey:
		if !r[a].IsText() {
			return value.Errorf(value.WrongKind, "a key is a text, not %s", value.Describe(r[a]))
		}
	}
	return nil
}
