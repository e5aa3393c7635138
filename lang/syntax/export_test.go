package syntax

import "ql/lang/source"

// ReadTo is ParseTo that passes over nothing.
func ReadTo(f *source.File, show Show) *Expected {
	_, e := parseTo(f, show, false)
	return e
}
