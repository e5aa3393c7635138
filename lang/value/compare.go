package value

import (
	"cmp"
	"math"
	"strings"
)

// Equal reports whether a = b: false between different kinds, maps without
// regard to order. Every node looked at costs fuel.
func Equal(m *Meter, a, b Value) bool {
	if a.p == b.p && a.n == b.n {
		return true
	}
	if a.p == nil || b.p == nil {
		return false
	}
	ka, kb := (*header)(a.p).kind, (*header)(b.p).kind
	if ka != kb {
		if a.IsNumber() && b.IsNumber() {
			return compareNumbers(a, b) == 0
		}
		return a.IsNumeric() && b.IsNumeric() && compareDecimals(m, a, b) == 0
	}
	switch ka {
	case KindText, KindBytes:
		if a.n != b.n {
			return false
		}
		m.Work(int(a.n) / workBytes)
		return a.Str() == b.Str()
	case KindDecimal:
		return compareDecimals(m, a, b) == 0
	case KindList:
		x, y := a.List(), b.List()
		if x.Len() != y.Len() {
			return false
		}
		m.Work(2 + x.Len())
		for i := range x.Len() {
			if !Equal(m, x.At(i), y.At(i)) {
				return false
			}
		}
		return true
	case KindMap:
		x, y := a.Map(), b.Map()
		if x.Len() != y.Len() {
			return false
		}
		m.Work(x.Len() * 3)
		for k, v := range x.All {
			w, ok := y.Lookup(m, k.Str())
			if !ok || !Equal(m, v, w) {
				return false
			}
		}
		return true
	}
	return a.n == b.n
}

// compareNumbers compares two numbers exactly, whatever their forms.
func compareNumbers(a, b Value) int {
	switch {
	case a.p == tagInt() && b.p == tagInt():
		return cmp.Compare(int64(a.n), int64(b.n))
	case a.p == tagFloat() && b.p == tagFloat():
		return cmp.Compare(a.Float64(), b.Float64())
	case a.p == tagInt():
		return compareIntFloat(int64(a.n), b.Float64())
	}
	return -compareIntFloat(int64(b.n), a.Float64())
}

func compareIntFloat(i int64, f float64) int {
	switch {
	case f >= math.MaxInt64: // 2^63 as a float
		return -1
	case f < math.MinInt64:
		return 1
	}
	whole := int64(f)
	if c := cmp.Compare(i, whole); c != 0 {
		return c
	}
	return cmp.Compare(0, f-float64(whole))
}

// Compare orders two numbers or two texts (by code point). Other pairs have no
// order in the language: wrong_kind.
func Compare(m *Meter, a, b Value) (int, *Error) {
	if a.IsNumber() && b.IsNumber() {
		return compareNumbers(a, b), nil
	}
	if a.IsText() && b.IsText() {
		m.WorkBytes(int(min(a.n, b.n)))
		return strings.Compare(a.Str(), b.Str()), nil
	}
	if a.IsNumeric() && b.IsNumeric() {
		return compareDecimals(m, a, b), nil
	}
	return 0, orderError(a, b)
}

// rank orders kinds for sorting: null, booleans, numbers with decimals, texts, bytes, lists,
// maps.
var rank = [...]int{KindNull: 0, KindBool: 1, KindInt: 2, KindFloat: 2, KindText: 3, KindBytes: 4, KindList: 5, KindMap: 6, KindDecimal: 2}

// Order is the total order that sorting uses: null first, then booleans,
// numbers, texts, bytes, lists (element by element) and maps (by their size,
// then key by key in their own order).
func Order(m *Meter, a, b Value) int {
	ka, kb := a.Kind(), b.Kind()
	if c := cmp.Compare(rank[ka], rank[kb]); c != 0 {
		return c
	}
	switch ka {
	case KindNull:
		return 0
	case KindBool:
		return cmp.Compare(a.n, b.n)
	case KindInt, KindFloat, KindDecimal:
		if a.IsNumber() && b.IsNumber() {
			return compareNumbers(a, b)
		}
		return compareDecimals(m, a, b)
	case KindText, KindBytes:
		m.WorkBytes(int(min(a.n, b.n)))
		return strings.Compare(a.Str(), b.Str())
	case KindList:
		x, y := a.List(), b.List()
		for i := range min(x.Len(), y.Len()) {
			m.Work(2)
			if c := Order(m, x.At(i), y.At(i)); c != 0 {
				return c
			}
		}
		return cmp.Compare(x.Len(), y.Len())
	}
	x, y := a.Map(), b.Map()
	if c := cmp.Compare(x.Len(), y.Len()); c != 0 {
		return c
	}
	i, j := 0, 0
	for {
		m.Work(4)
		ni, k1, v1 := x.Next(i)
		nj, k2, v2 := y.Next(j)
		if ni < 0 {
			return 0
		}
		m.WorkBytes(int(min(k1.n, k2.n)))
		if c := strings.Compare(k1.Str(), k2.Str()); c != 0 {
			return c
		}
		if c := Order(m, v1, v2); c != 0 {
			return c
		}
		i, j = ni+1, nj+1
	}
}

// In reports whether x is a member of a list, a key of a map or a part of a
// text.
func In(m *Meter, x, in Value) (bool, *Error) {
	switch in.Kind() {
	case KindNull:
		return false, nil
	case KindList:
		l := in.List()
		m.Work(l.Len())
		for i := range l.Len() {
			if Equal(m, x, l.At(i)) {
				return true, nil
			}
		}
		return false, nil
	case KindMap:
		if !x.IsText() {
			return false, nil
		}
		_, has := in.Map().Lookup(m, x.Str())
		return has, nil
	case KindText:
		if x.IsNull() {
			return false, nil
		}
		if !x.IsText() {
			return false, Errorf(WrongKind, "IN on a text looks for a text, not for %s: TEXT(…) makes a text", Describe(x))
		}
		m.Search(int(in.n), int(x.n))
		return strings.Contains(in.Str(), x.Str()), nil
	}
	return false, Errorf(WrongKind, "IN takes a list, a map or a text on its right side, not %s", Describe(in))
}
