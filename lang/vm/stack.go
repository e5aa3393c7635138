package vm

import (
	"ql/lang/bytecode"
	"ql/lang/value"
)

// Frame is a function that a machine is in, or the top level of its script.
type Frame struct {
	Function string // "" for the top level
	File     string // "" for the script itself
	Line     int    // of the statement that it is at
	// Variables are its own by name, parameters first. Their values are to be read only, and are good
	// until the machine runs again.
	Variables []Variable
}

// Variable is a variable of a frame.
type Variable struct {
	Name  string
	Value value.Value
}

// Frames returns the functions that a machine is in that stands at an effect, the innermost first and up
// to most of them, and how many there are.
func (m *Machine) Frames(most int) (list []Frame, depth int) {
	depth = len(m.frames) + 1
	fn, pc, base, fast := m.fn, m.pc, m.base, m.fast
	for i := len(m.frames); len(list) < most; i-- {
		list = append(list, Frame{
			Function: fn.Name, File: m.prog.Files[fn.File], Line: int(code(fn, fast).At(pc - 1).Line), Variables: m.variables(fn, base),
		})
		if i == 0 {
			break
		}
		f := &m.frames[i-1]
		fn, pc, base, fast = f.fn, int(f.pc), int(f.base), f.fast
	}
	return list, depth
}

// variables reads those of a frame: the first are in registers, and the others in a list behind them.
func (m *Machine) variables(fn *function, base int) []Variable {
	list := make([]Variable, 0, len(fn.Vars))
	at := func(register int) value.Value {
		if register >= fn.Regs || base+register >= len(m.stack) {
			return value.Null
		}
		return m.stack[base+register]
	}
	for i, name := range fn.Vars {
		v := value.Null
		if i < bytecode.RegisterVars {
			v = at(i)
		} else if spilled := at(bytecode.RegisterVars); spilled.IsList() && i-bytecode.RegisterVars < spilled.List().Len() {
			v = spilled.List().At(i - bytecode.RegisterVars)
		}
		list = append(list, Variable{name, v})
	}
	return list
}
