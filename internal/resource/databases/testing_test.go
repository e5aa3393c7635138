package databases

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ql/internal/engine"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// open returns databases in a scratch folder.
func open(t testing.TB, o Options) *Databases {
	t.Helper()
	if o.Folder == "" {
		o.Folder = t.TempDir()
	}
	d := New(o)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d
}

// query makes a query of SQL in which ¿ is a parameter, ¿¿ one that stands for
// the members of a list, and ¿¿¿ one among others after IN.
func query(mode bytecode.SQLMode, sql string, params ...value.Value) engine.Query {
	s := &bytecode.Statement{Mode: mode}
	s.Head, _, _ = strings.Cut(strings.TrimSpace(sql), " ")
	for rest := sql; ; {
		text, after, found := strings.Cut(rest, "¿")
		s.Texts = append(s.Texts, text)
		if !found {
			return engine.Query{Statement: s, Params: params}
		}
		as := bytecode.SQLOne
		for rest = after; strings.HasPrefix(rest, "¿"); as++ {
			rest = strings.TrimPrefix(rest, "¿")
		}
		s.Params = append(s.Params, as)
	}
}

// rows runs SQL on main and returns its result as JSON, or the code of its
// error.
func rows(t testing.TB, d *Databases, sql string, params ...value.Value) string {
	t.Helper()
	return outcome(t)(d.Query(t.Context(), "", query(bytecode.SQLRows, sql, params...)))
}

// must is rows for SQL that shall succeed.
func must(t testing.TB, d *Databases, sql string, params ...value.Value) string {
	t.Helper()
	v, err := d.Query(t.Context(), "", query(bytecode.SQLRows, sql, params...))
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return string(value.AppendJSON(nil, v))
}

// outcome writes a result as JSON, or the code of its error.
func outcome(t testing.TB) func(value.Value, error) string {
	return func(v value.Value, err error) string {
		t.Helper()
		var e *value.Error
		var l *value.LimitError
		switch {
		case errors.As(err, &e):
			return e.Code
		case errors.As(err, &l):
			return "limit " + l.Name
		case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
			return "context"
		case err != nil:
			t.Fatalf("an error that is none of the script's: %v", err)
		}
		return string(value.AppendJSON(nil, v))
	}
}

func list(vs ...value.Value) value.Value { return value.ListOf(vs...) }

// meter returns a meter with this much memory.
func meter(memory int64) *value.Meter {
	m := &value.Meter{
		Bounds:    value.Bounds{Text: 8 << 20, Elements: 1_000_000, Nesting: 100},
		Fuel:      1 << 40,
		TotalFuel: 1 << 40,
		BytesLeft: memory,
		Memory:    memory,
		Measure:   func() int64 { return 0 },
	}
	m.End()
	return m
}
