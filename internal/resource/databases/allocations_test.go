//go:build !race

package databases

import (
	"context"
	"testing"

	"ql/internal/engine"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// TestAllocations checks what a statement allocates beside its result: a row of three columns is a map, its
// entries, three names and a text, and a change a map, its entries and two names.
func TestAllocations(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, total REAL)")
	must(t, d, "INSERT INTO t VALUES (1, 'a name', 1.5)")
	tx, err := d.Begin(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}()
	for _, c := range []struct {
		name string
		most float64
		q    engine.Query
		run  func(context.Context, engine.Query) (value.Value, error)
	}{
		{"one row", 6 + 1, query(bytecode.SQLRow, "SELECT * FROM t WHERE id = ¿", value.Int(1)), func(ctx context.Context, q engine.Query) (value.Value, error) {
			return d.Query(ctx, "main", q)
		}},
		{"a change in a transaction", 4, query(bytecode.SQLRows, "UPDATE t SET total = ¿", value.Int(2)), tx.Query},
	} {
		c.q.Meter = meter(1 << 30)
		n := testing.AllocsPerRun(200, func() {
			if _, err := c.run(t.Context(), c.q); err != nil {
				t.Fatal(err)
			}
		})
		if n > c.most {
			t.Errorf("%s makes %.1f allocations, and %.0f at most are its result's and the reader's", c.name, n, c.most)
		}
	}
}
