package engine

import (
	"ql/lang/value"
	"ql/lang/vm"
)

// How much is shown of where a run stands.
const (
	mostFrames       = 50
	mostVariables    = 500
	mostVariable     = 2 << 10   // bytes of one
	mostAllVariables = 128 << 10 // of all
)

// MaxStackBytes is about how many bytes Stack gives at most, and what it takes to make them.
const MaxStackBytes = 4 * mostAllVariables

// StackFrame is a function that a script stands in, as its owner sees it.
type StackFrame struct {
	Function, File string // "" for the top level, and for the script itself
	Line           int
	Variables      []StackVariable
}

// StackVariable is a variable with what is shown of its value.
type StackVariable struct{ Name, Kind, Text string }

// Stack shows where a run stands that is suspended, the innermost function first, with the variables. The secrets that
// the script has read are hidden in them, and of long values the beginning is shown. More says that there is more
// than is shown.
func Stack(m *vm.Machine, s State) (list []StackFrame, more bool) {
	frames, depth := m.Frames(mostFrames)
	more = depth > len(frames)
	spellings := (&Run{state: s}).spellings()
	left, room := mostVariables, mostAllVariables
	for _, f := range frames {
		shown := StackFrame{Function: f.Function, File: f.File, Line: f.Line}
		for _, v := range f.Variables {
			if left == 0 || room <= 0 {
				more = true
				break
			}
			text := mask(string(value.AppendShort(nil, v.Value, min(mostVariable, room))), spellings)
			shown.Variables = append(shown.Variables, StackVariable{Name: v.Name, Kind: v.Value.Kind().String(), Text: text})
			left, room = left-1, room-len(text)
		}
		list = append(list, shown)
	}
	return list, more
}
