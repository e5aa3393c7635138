package value

import "math"

// Index returns v[key]. A missing key or index, and any access on null, is
// null. The result still belongs to v: Share it to keep it. The length of a key is
// charged.
func Index(m *Meter, v, key Value) (Value, *Error) {
	switch v.Kind() {
	case KindNull:
		return Null, nil
	case KindList:
		l := v.List()
		if key.p == tagInt() {
			i := int64(key.n)
			if i < 0 {
				i += int64(l.Len())
			}
			if i < 0 || i >= int64(l.Len()) {
				return Null, nil
			}
			return l.At(int(i)), nil
		}
		return Null, listKeyError(key)
	case KindMap:
		if key.IsText() {
			chargeKey(m, int(key.n))
			e, _ := v.Map().Get(key.Str())
			return e, nil
		}
		return Null, mapKeyError(key)
	}
	return Null, accessError(v, key)
}

func listKeyError(key Value) *Error {
	if key.IsText() {
		return fieldError(Value{}, key.Str())
	}
	if key.IsNumber() {
		return Errorf(WrongKind, "a list has whole numbers as indexes, not %s", AppendNumber(nil, key))
	}
	if key.IsDecimal() {
		return Errorf(WrongKind, "a list has whole numbers as indexes, not %s: NUMBER(…) makes a number of a decimal", Describe(key))
	}
	return Errorf(WrongKind, "the index of a list is a whole number, not %s", Describe(key))
}

func mapKeyError(key Value) *Error {
	if key.IsNumeric() {
		return Errorf(WrongKind, "the keys of a map are texts, not %s: TEXT(…) makes a text", Describe(key))
	}
	return Errorf(WrongKind, "the keys of a map are texts, not %s", Describe(key))
}

// fieldError explains .name on something that is no map; a zero v stands for a
// list.
func fieldError(v Value, name string) *Error {
	switch v.Kind() {
	case KindNull, KindList:
		switch name {
		case "length", "size", "count", "Length", "len":
			return Errorf(WrongKind, "a list has no field %q: COUNT(?list) counts its elements", name)
		}
		return Errorf(WrongKind, "a list has no field %s: take an element first, as in ?list[0].%s, or go through it with FOR", Quote(name), name)
	case KindText:
		if name == "length" || name == "size" {
			return Errorf(WrongKind, "a text has no field %q: LENGTH(?text) counts its characters", name)
		}
		return Errorf(WrongKind, "a text has no field %s: FROM_JSON(…) makes a map of JSON text", Quote(name))
	}
	if v.Kind() == KindBytes {
		return Errorf(WrongKind, "bytes have no field %s: LENGTH(…) counts them, TEXT(…) reads them as text", Quote(name))
	}
	return Errorf(WrongKind, "%s has no field %s", Describe(v), Quote(name))
}

func accessError(v, key Value) *Error {
	if v.IsText() && key.IsNumber() {
		return Errorf(WrongKind, "a text has no index: SUBSTRING(?text, %s, 1) gives one character", AppendNumber(nil, key))
	}
	if key.IsText() {
		return fieldError(v, key.Str())
	}
	if v.Kind() == KindBytes {
		return Errorf(WrongKind, "bytes have no index")
	}
	return Errorf(WrongKind, "%s has no elements", Describe(v))
}

// unshare makes *v a container that may be written to.
func unshare(m *Meter, v *Value) {
	h := (*header)(v.p)
	if h.flags&flagShared == 0 {
		return
	}
	if h.kind == KindList {
		*v = v.List().Clone(m).Value()
	} else {
		*v = v.Map().Clone(m).Value()
	}
}

// SetIndex sets (*v)[key] to x, copying *v first where it is shared. A null
// becomes a map for a text key; an index must exist.
func SetIndex(m *Meter, v *Value, key, x Value) *Error {
	if v.p == nil {
		if err := becomeMap(m, v, key); err != nil {
			return err
		}
	}
	switch (*header)(v.p).kind {
	case KindList:
		i, err := listIndex(v.List(), key)
		if err != nil {
			return err
		}
		unshare(m, v)
		v.List().Set(m, i, x)
		return nil
	case KindMap:
		if !key.IsText() {
			return mapKeyError(key)
		}
		unshare(m, v)
		t := v.Map()
		if t.piece && !t.Has(key.Str()) {
			t = leavePiece(v)
		}
		t.Set(m, key, x)
		return nil
	}
	return accessError(*v, key)
}

func becomeMap(m *Meter, v *Value, key Value) *Error {
	if !key.IsText() {
		return missingListError()
	}
	*v = NewMap(m, 0).Value()
	return nil
}

func missingListError() *Error {
	return Errorf(BadIndex, "there is no list here yet: SET ?list AS [] starts one, APPEND … TO ?list adds to it")
}

// listIndex returns the place that an existing index names.
func listIndex(l *List, key Value) (int, *Error) {
	if key.p != tagInt() {
		return 0, listKeyError(key)
	}
	i := int64(key.n)
	if i < 0 {
		i += int64(l.Len())
	}
	if i < 0 || i >= int64(l.Len()) {
		if l.Len() == 0 {
			return 0, Errorf(BadIndex, "the list is empty and has no index %d: APPEND … TO ?list adds an element", int64(key.n))
		}
		if l.Len() == 1 {
			return 0, Errorf(BadIndex, "the list has no index %d, only 0: APPEND … TO ?list adds an element", int64(key.n))
		}
		return 0, Errorf(BadIndex, "the list has no index %d, only 0 to %d: APPEND … TO ?list adds an element", int64(key.n), l.Len()-1)
	}
	return int(i), nil
}

// elementFor returns the place of v[keys[0]] for writing below it, having unshared v
// and made a missing map. Nothing is made where the other keys would fail.
func elementFor(m *Meter, v *Value, keys []Value) (*Value, *Error) {
	key := keys[0]
	if v.p == nil {
		if err := onlyMaps(keys[1:]); err != nil {
			return nil, err
		}
		if err := becomeMap(m, v, key); err != nil {
			return nil, err
		}
	}
	switch (*header)(v.p).kind {
	case KindList:
		i, err := listIndex(v.List(), key)
		if err != nil {
			return nil, err
		}
		if v.List().tag != nil {
			scalar := v.List().At(i) // whatever is to be done below it fails
			return &scalar, nil
		}
		unshare(m, v)
		return &v.List().vals[i], nil
	case KindMap:
		if !key.IsText() {
			return nil, mapKeyError(key)
		}
		unshare(m, v)
		t := v.Map()
		chargeKey(m, int(key.n))
		i := t.find(key.Str())
		if i < 0 {
			if err := onlyMaps(keys[1:]); err != nil {
				return nil, err
			}
			t = leavePiece(v)
			t.Set(m, key, Null)
			i = len(t.entries) - 1
		}
		return &t.entries[i].val, nil
	}
	return nil, accessError(*v, key)
}

// onlyMaps checks that all keys are texts: where nothing is yet, only maps are
// made.
func onlyMaps(keys []Value) *Error {
	for _, k := range keys {
		if !k.IsText() {
			return missingListError()
		}
	}
	return nil
}

// descend walks from v along the first n keys for writing, calls write with the
// last place, and lifts the heights of what it passed.
func descend(m *Meter, v *Value, keys []Value, n int, write func(*Value) *Error) *Error {
	if n == 0 {
		return write(v)
	}
	p, err := elementFor(m, v, keys)
	if err != nil {
		return err
	}
	if err := descend(m, p, keys[1:], n-1, write); err != nil {
		return err
	}
	if p.IsContainer() {
		h := (*header)(v.p)
		if up := (*header)(p.p).height; up >= h.height {
			m.nest(uint16(min(int(up)+1, math.MaxUint16)))
			h.height = up + 1
		}
	}
	return nil
}

// SetPath sets v[keys[0]]…[keys[n-1]] to x, making missing maps on its way.
func SetPath(m *Meter, v *Value, keys []Value, x Value) *Error {
	n := len(keys) - 1
	return descend(m, v, keys, n, func(p *Value) *Error {
		return SetIndex(m, p, keys[n], x)
	})
}

// AppendAt appends x to the list at v[keys…]; null becomes a list.
func AppendAt(m *Meter, v *Value, keys []Value, x Value) *Error {
	return descend(m, v, keys, len(keys), func(p *Value) *Error { return AppendTo(m, p, x) })
}

// AppendTo appends x to *v, copying *v first where it is shared. A null
// becomes a list.
func AppendTo(m *Meter, v *Value, x Value) *Error {
	if v.p == nil {
		*v = NewList(m, 0).Value()
	}
	if !v.IsList() {
		hint := ""
		switch v.Kind() {
		case KindText:
			hint = ": SET ?text AS ?text + … adds to a text"
		case KindMap:
			hint = ": SET ?map.key AS … adds to a map"
		}
		return Errorf(WrongKind, "APPEND adds to a list, not to %s%s", Describe(*v), hint)
	}
	unshare(m, v)
	v.List().Append(m, x)
	return nil
}

// RemovePath removes v[keys[0]]…[keys[n-1]]; what is not there stays away.
func RemovePath(m *Meter, v *Value, keys []Value) *Error {
	at := *v
	for _, k := range keys[:len(keys)-1] {
		var err *Error
		if at, err = Index(m, at, k); err != nil {
			return err
		}
	}
	last := keys[len(keys)-1]
	switch at.Kind() {
	case KindNull:
		return nil
	case KindMap:
		if !last.IsText() {
			return mapKeyError(last)
		}
		if _, has := at.Map().Lookup(m, last.Str()); !has {
			return nil
		}
	case KindList:
		i, err := listIndex(at.List(), last)
		if err != nil {
			if err.Code == BadIndex {
				return nil
			}
			return err
		}
		last = Int(int64(i))
	default:
		return accessError(at, last)
	}
	return descend(m, v, keys, len(keys)-1, func(p *Value) *Error {
		unshare(m, p)
		if p.IsMap() {
			p.Map().Remove(m, last.Str())
		} else {
			p.List().Remove(m, int(last.Int64()))
		}
		return nil
	})
}
