package value

// The functions here are small enough to be compiled into the machine's loop.
// Each does the common case or reports false, and the machine then takes the
// long way.

// LoadPacked puts element i of a packed list into *dst.
func (l *List) LoadPacked(i int64, dst *Value) bool {
	if l.tag == nil || uint64(i) >= uint64(len(l.words)) {
		return false
	}
	if dst.p != l.tag {
		dst.p = l.tag
	}
	dst.n = l.words[i]
	return true
}

// StorePacked puts v into place i of a packed, unshared list.
func (l *List) StorePacked(i int64, v Value) bool {
	if l.tag != v.p || l.flags&flagShared != 0 || uint64(i) >= uint64(len(l.words)) {
		return false
	}
	l.words[i] = v.n
	return true
}

// PushPacked appends v to a packed, unshared list that has room.
func (l *List) PushPacked(v Value) bool {
	n := len(l.words)
	if l.tag != v.p || l.flags&flagShared != 0 || n >= cap(l.words) {
		return false
	}
	l.words = l.words[:n+1]
	l.words[n] = v.n
	return true
}

// CopyScalar copies v to *dst where v is a scalar.
func (v Value) CopyScalar(dst *Value) bool {
	if v.p != tagInt() && v.p != tagFloat() && v.p != tagBool() {
		return false
	}
	if dst.p != v.p {
		dst.p = v.p
	}
	dst.n = v.n
	return true
}
