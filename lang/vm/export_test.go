package vm

import "ql/lang/value"

// Poison fills all registers that are not in use.
func (m *Machine) Poison(v value.Value) {
	for i := m.height(); i < len(m.stack); i++ {
		m.stack[i] = v
	}
}

// Live returns the bytes of all that the machine holds.
func (m *Machine) Live() int64 { return m.live(nil) }
