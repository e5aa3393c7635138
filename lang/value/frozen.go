package value

import "unsafe"

// AllFrozen reports whether the values and all below them are frozen: no
// machine can write to any part of them.
func AllFrozen(vs []Value) bool {
	seen := map[unsafe.Pointer]bool{}
	for _, v := range vs {
		if !frozen(v, seen) {
			return false
		}
	}
	return true
}

func frozen(v Value, seen map[unsafe.Pointer]bool) bool {
	if v.p == nil || scalar(v.p) || seen[v.p] {
		return true
	}
	seen[v.p] = true
	h := (*header)(v.p)
	if h.flags&flagFrozen == 0 {
		return false
	}
	switch h.kind {
	case KindList:
		if h.flags&flagShared == 0 {
			return false
		}
		for _, e := range (*List)(v.p).vals {
			if !frozen(e, seen) {
				return false
			}
		}
	case KindMap:
		if h.flags&flagShared == 0 {
			return false
		}
		t := (*Map)(v.p)
		for i := range t.entries {
			if !frozen(t.entries[i].key(), seen) || !frozen(t.entries[i].val, seen) {
				return false
			}
		}
	}
	return true
}
