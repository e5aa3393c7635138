package databases

import (
	"testing"

	"ql/lang/bytecode"
	"ql/lang/value"
)

func bench(b *testing.B, mode bytecode.SQLMode, sql string, param value.Value) {
	d := open(b, Options{})
	must(b, d, "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, total REAL)")
	must(b, d, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 1000) INSERT INTO t SELECT x, 'name ' || x, x * 1.5 FROM c")
	q := query(mode, sql, param)
	for b.Loop() {
		q.Meter = meter(1 << 30)
		if _, err := d.Query(b.Context(), "", q); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOneRow(b *testing.B) {
	bench(b, bytecode.SQLRow, "SELECT * FROM t WHERE id = ¿", value.Int(500))
}

func BenchmarkThousandRows(b *testing.B) {
	bench(b, bytecode.SQLRows, "SELECT * FROM t WHERE id > ¿", value.Int(0))
}

func BenchmarkInsert(b *testing.B) {
	bench(b, bytecode.SQLRows, "INSERT INTO t(name) VALUES (¿)", value.Text("x"))
}

// BenchmarkInsertWithReceipt is BenchmarkInsert of a durable job.
func BenchmarkInsertWithReceipt(b *testing.B) {
	d := open(b, Options{})
	must(b, d, "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, total REAL)")
	q := query(bytecode.SQLRows, "INSERT INTO t(name) VALUES (¿)", value.Text("x"))
	for i := int64(0); b.Loop(); i++ {
		q.Meter = meter(1 << 30)
		q.Receipt = receipt(1, i)
		if _, err := d.Query(b.Context(), "", q); err != nil {
			b.Fatal(err)
		}
	}
}
