package vm

import "ql/lang/value"

// confinement is what a machine must do with that has not all of its memory yet.
type confinement struct {
	on     bool
	memory int64 // that it has not
	output int   // its limit of output, otherwise
}

// check ends a run that is confined, and has allocated all that it may: to measure what of that is live
// would cost it what it does not cost otherwise.
func (c *confinement) check() {
	if c.on {
		panic(&value.LimitError{Name: Confined})
	}
}

// Confined is the limit that a run ends at which is confined; nobody sees it.
const Confined = "confined"

// Confine has a run that has not begun end at the limit Confined where it would allocate more than so many bytes,
// or emit more, within its own limits: so a host that has little memory at hand can try it. A run that gets by is the same,
// to the bit, as one that was not confined.
func (m *Machine) Confine(bytes int64) {
	m.confined = confinement{on: true, memory: max(m.meter.BytesLeft-bytes, 0), output: m.limits.Output}
	m.meter.BytesLeft -= m.confined.memory
	m.limits.Output = int(min(int64(m.limits.Output), bytes))
}

// Unconfine gives a run that is confined all of its memory.
func (m *Machine) Unconfine() {
	if m.confined.on {
		m.meter.BytesLeft += m.confined.memory
		m.limits.Output = m.confined.output
		m.confined = confinement{}
	}
}

// outputLimit is the error of a run that emits too much.
func (m *Machine) outputLimit() *value.LimitError {
	if m.confined.on && m.limits.Output < m.confined.output {
		return &value.LimitError{Name: Confined}
	}
	return &value.LimitError{Name: "output", Max: int64(m.limits.Output)}
}
