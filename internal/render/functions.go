package render

import (
	"fmt"
	"html/template"
	"math/bits"
	"unicode/utf8"

	"ql/lang/value"
)

// offered are the functions that templates may name. The values are only
// placeholders: parsing asks for names alone.
var offered = map[string]any{
	"and": 0, "or": 0, "not": 0, "index": 0, // html/template's own
	"len": 0, "default": 0, "eq": 0, "ne": 0, "lt": 0, "le": 0, "gt": 0, "ge": 0,
}

// charging are the functions of the rewritten tree.
var charging = map[string]any{fnTick: 0, fnEnter: 0, fnLeave: 0, fnShow: 0, fnRange: 0, fnUse: 0}

// nodeFuel is what running one node of a template costs.
const nodeFuel = 60

// functions returns the functions as this execution charges them.
func (e *execution) functions() template.FuncMap {
	return template.FuncMap{
		fnTick: func(n int) string {
			e.meter.Work(n * nodeFuel)
			return ""
		},
		fnEnter: func() (string, error) { return "", e.enter() },
		fnLeave: func() string {
			e.depth--
			return ""
		},
		fnShow:  e.show,
		fnRange: e.loop,
		fnUse:   e.use,

		"len":     e.length,
		"default": func(instead, v any) any { return orElse(v, instead) },
		"eq":      e.equal,
		"ne": func(a, b any) bool {
			same, _ := e.equal(a, b)
			return !same
		},
		"lt": e.ordered("lt", func(c int) bool { return c < 0 }),
		"le": e.ordered("le", func(c int) bool { return c <= 0 }),
		"gt": e.ordered("gt", func(c int) bool { return c > 0 }),
		"ge": e.ordered("ge", func(c int) bool { return c >= 0 }),
	}
}

// orElse is DEFAULT: instead where v is nothing.
func orElse(v, instead any) any {
	if v == nil {
		return instead
	}
	return v
}

// show charges for a value that is about to be escaped and written.
func (e *execution) show(v any) any {
	n := weight(e.meter, v)
	e.meter.Work(n)
	switch v.(type) {
	case float64, []any, map[string]any:
		e.meter.Alloc(2 * n)
		return shown{v}
	}
	return v
}

// loop charges for what a loop does before its first round: the keys of a map
// are sorted.
func (e *execution) loop(v any) any {
	if t, ok := v.(map[string]any); ok {
		e.meter.Alloc(32 * len(t))
		e.meter.Work(8 * len(t) * bits.Len(uint(len(t))))
	}
	return v
}

// length is COUNT and LENGTH.
func (e *execution) length(v any) (int, error) {
	switch v := v.(type) {
	case nil:
		return 0, nil
	case string:
		e.meter.WorkBytes(4 * len(v))
		return utf8.RuneCountInString(v), nil
	case []any:
		return len(v), nil
	case map[string]any:
		return len(v), nil
	}
	return 0, fmt.Errorf("len takes a text, a list or a map, not %v", v)
}

// scalar makes a script's value of a template's, for those that compare.
func scalar(v any) (value.Value, bool) {
	switch v := v.(type) {
	case nil:
		return value.Null, true
	case bool:
		return value.Bool(v), true
	case int:
		return value.Int(int64(v)), true
	case int64:
		return value.Int(v), true
	case float64:
		return value.Number(v)
	}
	return value.Null, false
}

// equal is = of scripts, against any of several: eq .size "S" "M".
func (e *execution) equal(a any, others ...any) (bool, error) {
	if len(others) == 0 {
		return false, fmt.Errorf("eq takes at least two values")
	}
	for _, b := range others {
		x, ok := a.(string)
		y, okB := b.(string)
		if ok && okB {
			e.meter.WorkBytes(min(len(x), len(y)))
			if x == y {
				return true, nil
			}
			continue
		}
		u, okU := scalar(a)
		v, okV := scalar(b)
		if okU && okV && value.Equal(nil, u, v) {
			return true, nil
		}
	}
	return false, nil
}

// ordered makes one of < <= > >= of scripts: two numbers or two texts.
func (e *execution) ordered(name string, holds func(int) bool) func(a, b any) (bool, error) {
	return func(a, b any) (bool, error) {
		x, ok := a.(string)
		y, okB := b.(string)
		if ok && okB {
			e.meter.WorkBytes(min(len(x), len(y)))
			switch {
			case x < y:
				return holds(-1), nil
			case x > y:
				return holds(1), nil
			}
			return holds(0), nil
		}
		u, okU := scalar(a)
		v, okV := scalar(b)
		if okU && okV {
			if c, err := value.Compare(nil, u, v); err == nil {
				return holds(c), nil
			}
		}
		return false, fmt.Errorf("%s takes two numbers or two texts", name)
	}
}
