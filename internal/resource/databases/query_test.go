package databases

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"ql/lang/bytecode"
	"ql/lang/value"
)

func TestNames(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"", "main"},
		{"shop", "shop"},
		{"Shop", "shop"},
		{"2026-orders_x", "2026-orders_x"},
		{strings.Repeat("a", 63), strings.Repeat("a", 63)},
		{strings.Repeat("a", 64), ""},
		{"-shop", ""},
		{"_shop", ""},
		{"a.b", ""},
		{"../shop", ""},
		{"a/b", ""},
		{"a b", ""},
		{"größe", ""},
		{"a\x00", ""},
		{"\u212a", ""}, // the sign for kelvin, which folds to k
		{":memory:", ""},
		{"file:x", ""},
	} {
		got, err := canonicalName(c.name)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q: got %q, %v", c.name, got, err)
		}
		if err != nil && outcome(t)(value.Null, err) != "invalid_database" {
			t.Errorf("%q: %v", c.name, err)
		}
	}
}

func TestNamedDatabasesAreApart(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a)")
	_, err := d.Query(t.Context(), "other", query(bytecode.SQLRows, "SELECT * FROM t"))
	if got := outcome(t)(value.Null, err); got != "no_such_table" {
		t.Errorf("another database: %s", got)
	}
	if _, err := d.Query(t.Context(), "MAIN", query(bytecode.SQLRows, "SELECT * FROM t")); err != nil {
		t.Errorf("the same one in capitals: %v", err)
	}
}

func TestModes(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT)")
	must(t, d, "INSERT INTO t(a) VALUES ('x'), ('y')")
	for _, c := range []struct {
		mode bytecode.SQLMode
		sql  string
		want string
	}{
		{bytecode.SQLRows, "SELECT * FROM t", `[{"id":1,"a":"x"},{"id":2,"a":"y"}]`},
		{bytecode.SQLEmit, "SELECT a FROM t", `[{"a":"x"},{"a":"y"}]`},
		{bytecode.SQLRows, "SELECT * FROM t WHERE id = 9", `[]`},
		{bytecode.SQLRow, "SELECT * FROM t ORDER BY id DESC", `{"id":2,"a":"y"}`},
		{bytecode.SQLRow, "SELECT * FROM t WHERE id = 9", `null`},
		{bytecode.SQLValue, "SELECT count(*) FROM t", `2`},
		{bytecode.SQLValue, "SELECT a, a FROM t", `"x"`},
		{bytecode.SQLValue, "SELECT a FROM t WHERE id = 9", `null`},
		{bytecode.SQLRows, "SELECT a, id AS a FROM t", "duplicate_column"},
		{bytecode.SQLRow, "SELECT x.id, y.id FROM t x, t y", "duplicate_column"},
		{bytecode.SQLRows, "INSERT INTO t(a) VALUES ('z')", `{"changes":1,"last_id":3}`},
		{bytecode.SQLRow, "INSERT INTO t(a) VALUES ('z')", `{"changes":1,"last_id":4}`},
		{bytecode.SQLRows, "UPDATE t SET a = 'q' WHERE id > 2", `{"changes":2,"last_id":null}`},
		{bytecode.SQLRows, "DELETE FROM t WHERE id > 2", `{"changes":2,"last_id":null}`},
		{bytecode.SQLRows, "DELETE FROM t WHERE id > 2", `{"changes":0,"last_id":null}`},
		{bytecode.SQLRows, "CREATE INDEX i ON t(a)", `{"changes":0,"last_id":null}`},
		{bytecode.SQLRows, "CREATE TABLE IF NOT EXISTS t(a)", `{"changes":0,"last_id":null}`},
		{bytecode.SQLRows, "INSERT INTO t(a) VALUES ('r'), ('s') RETURNING id", `[{"id":3},{"id":4}]`},
		{bytecode.SQLValue, "INSERT INTO t(a) VALUES ('r'), ('s') RETURNING id", `5`},
		{bytecode.SQLRow, "DELETE FROM t WHERE id > 2 RETURNING id", `{"id":3}`},
		{bytecode.SQLValue, "SELECT count(*) FROM t", `2`},
		{bytecode.SQLRows, "INSERT INTO t(id, a) VALUES (1, 'u') ON CONFLICT(id) DO UPDATE SET a = excluded.a", `{"changes":1,"last_id":null}`},
		{bytecode.SQLRows, "REPLACE INTO t(id, a) VALUES (1, 'v')", `{"changes":1,"last_id":1}`},
		{bytecode.SQLRows, "WITH x(a) AS (VALUES ('w')) INSERT INTO t(a) SELECT a FROM x", `{"changes":1,"last_id":3}`},
		{bytecode.SQLRows, "WITH x(a) AS (VALUES ('w')) SELECT a FROM x", `[{"a":"w"}]`},
		{bytecode.SQLRows, "SELECT 1 AS a; -- no more", `[{"a":1}]`},
		{bytecode.SQLRows, "SELECT key, value FROM json_each('{\"k\":[1]}')", `[{"key":"k","value":"[1]"}]`},
	} {
		if got := outcome(t)(d.Query(t.Context(), "", query(c.mode, c.sql))); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.sql, got, c.want)
		}
	}
}

func TestTypesRoundTrip(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(v)")
	float, _ := value.Number(2.5)
	large, _ := value.Number(1e300)
	m := value.NewMap(nil, 0)
	m.SetText("k", list(value.True, value.Null))
	price, _ := value.ParseDecimal(nil, "-12.30")
	for _, c := range []struct {
		in   value.Value
		want value.Value
		kind string
	}{
		{value.Null, value.Null, "null"},
		{value.True, value.Int(1), "integer"},
		{value.False, value.Int(0), "integer"},
		{value.Int(math.MaxInt64), value.Int(math.MaxInt64), "integer"},
		{value.Int(math.MinInt64), value.Int(math.MinInt64), "integer"},
		{float, float, "real"},
		{large, large, "real"},
		{price, value.Text("-12.30"), "text"},
		{list(price), value.Text(`["-12.30"]`), "text"},
		{value.Text(""), value.Text(""), "text"},
		{value.Text("héllo 👋 'quoted' \"too\"; DROP TABLE t"), value.Text("héllo 👋 'quoted' \"too\"; DROP TABLE t"), "text"},
		{value.Text("a\x00b"), value.Text("a\x00b"), "text"},
		{value.Text("2024-01-01"), value.Text("2024-01-01"), "text"},
		{value.Bytes(nil), value.Bytes(nil), "blob"},
		{value.Bytes([]byte{0, 0xff}), value.Bytes([]byte{0, 0xff}), "blob"},
		{list(value.Int(1), value.Text("x")), value.Text(`[1,"x"]`), "text"},
		{m.Value(), value.Text(`{"k":[true,null]}`), "text"},
	} {
		must(t, d, "DELETE FROM t")
		must(t, d, "INSERT INTO t VALUES (¿)", c.in)
		got, err := d.Query(t.Context(), "", query(bytecode.SQLRow, "SELECT v, typeof(v) AS kind FROM t"))
		if err != nil {
			t.Fatal(err)
		}
		v, _ := got.Map().Get("v")
		kind, _ := got.Map().Get("kind")
		if !value.Equal(nil, v, c.want) || v.Kind() != c.want.Kind() || kind.Str() != c.kind {
			t.Errorf("%s came back as %s, stored as %s", value.Describe(c.in), value.Describe(v), kind.Str())
		}
	}
}

func TestDeclaredTypesKeepTheirText(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a DATE, b DATETIME, c TIMESTAMP, d BOOLEAN, e DECIMAL(10,2), f VARCHAR(3))")
	must(t, d, "INSERT INTO t VALUES ('2024-01-01', '2024-01-01T10:00:00Z', '2024-01-01 10:00:00.5', ¿, 1.10, 'longer')", value.True)
	want := `[{"a":"2024-01-01","b":"2024-01-01T10:00:00Z","c":"2024-01-01 10:00:00.5","d":1,"e":1.1,"f":"longer"}]`
	if got := must(t, d, "SELECT * FROM t"); got != want {
		t.Errorf("got %s", got)
	}
}

func TestOddResults(t *testing.T) {
	d := open(t, Options{})
	for sql, want := range map[string]string{
		"SELECT 9e999 AS x":                       "number_range",
		"SELECT -9e999 AS x":                      "number_range",
		"SELECT 2.0 AS x":                         `[{"x":2}]`,
		"SELECT CAST(x'ff41' AS TEXT) AS x":       `[{"x":"/0E="}]`, // bytes, as base64
		"SELECT x'' AS x":                         `[{"x":""}]`,
		"SELECT zeroblob(3) AS x":                 `[{"x":"AAAA"}]`,
		"SELECT 9223372036854775807 AS x":         `[{"x":9223372036854775807}]`,
		"SELECT 9223372036854775808 AS x":         `[{"x":9223372036854776000}]`,
		"SELECT NULL AS x":                        `[{"x":null}]`,
		`SELECT 1 AS "a ""b"""`:                   `[{"a \"b\"":1}]`,
		"SELECT 1 AS []":                          `[{"":1}]`,
		"SELECT 1 AS [a], 2 AS [A]":               `[{"a":1,"A":2}]`,
		"SELECT x'00' || x'01' AS x":              `[{"x":"\u0000\u0001"}]`,
		"SELECT json('{\"a\":1}') AS x":           `[{"x":"{\"a\":1}"}]`,
		"SELECT '2024-01-01' < '2024-01-02' AS x": `[{"x":1}]`,
	} {
		if got := rows(t, d, sql); got != want {
			t.Errorf("%s: got %s, want %s", sql, got, want)
		}
	}
}

func TestInLists(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(id INTEGER, a TEXT)")
	must(t, d, "INSERT INTO t VALUES (1,'1'), (2,'2'), (3,'3'), (NULL,NULL)")
	ids := list(value.Int(1), value.Int(3))
	for _, c := range []struct {
		where string
		param value.Value
		want  string
	}{
		{"id IN ¿¿", ids, "1,3"},
		{"id IN¿¿", ids, "1,3"},
		{"id IN /* ( */ ¿¿", ids, "1,3"},
		{"id IN -- the ids\n¿¿", ids, "1,3"},
		{"id IN ¿¿ OR a = '1'", ids, "1,3"},
		{"id NOT IN ¿¿", ids, "2"},
		{"a IN ¿¿", list(value.Text("1"), value.Text("3")), "1,3"},
		{"a IN ¿¿", ids, "1,3"}, // the column's affinity holds
		{"id IN ¿¿", list(value.Text("1")), "1"},
		{"id IN ¿¿", list(), ""},
		{"id NOT IN ¿¿", list(), "1,2,3,null"},
		{"id IN ¿¿", value.Null, ""},
		{"id NOT IN ¿¿", value.Null, "1,2,3,null"},
		{"id IN ¿¿", list(value.Int(2), value.Null), "2"},
		{"id IN ¿¿", list(value.Int(2), list()), "2"}, // a list in a list is JSON
		{"id IN ¿¿", value.Int(2), "wrong_kind"},
		{"id IN ¿¿", value.Text("1,2"), "wrong_kind"},
		{"id IN ¿¿", value.NewMap(nil, 0).Value(), "wrong_kind"},
		{"id IN (¿¿¿, 3)", value.Int(1), "1,3"},
		{"id IN (3, ¿¿¿)", value.Null, "3"},
		{"id IN (¿¿¿, 3)", ids, "wrong_kind"},
		{"id IN (¿¿¿, 3)", list(), "wrong_kind"},
	} {
		v, err := d.Query(t.Context(), "", query(bytecode.SQLValue, "SELECT group_concat(coalesce(id, 'null') ORDER BY coalesce(id, 9)) FROM t WHERE "+c.where, c.param))
		got := outcome(t)(v, err)
		if err == nil {
			got = string(value.AppendText(nil, v))
		}
		if got != c.want {
			t.Errorf("%s with %s: got %q, want %q", c.where, value.Describe(c.param), got, c.want)
		}
	}

	many := value.NewList(nil, 0)
	for i := range 1001 {
		many.Append(nil, value.Int(int64(i)))
	}
	if got := rows(t, d, "SELECT 1 FROM t WHERE id IN ¿¿", many.Value()); got != "limit_exceeded" {
		t.Errorf("a list of 1001: %s", got)
	}
	many.Remove(nil, 1000)
	if got := rows(t, d, "SELECT count(*) AS n FROM t WHERE id IN ¿¿", many.Value()); got != `[{"n":3}]` {
		t.Errorf("a list of 1000: %s", got)
	}
}

func TestParametersAreOurs(t *testing.T) {
	d := open(t, Options{})
	one := value.Int(1)
	for _, c := range []struct {
		sql    string
		params []value.Value
		want   string
	}{
		{"SELECT ¿ AS a", []value.Value{one}, `[{"a":1}]`},
		{"SELECT ¿ + ¿ AS a", []value.Value{one, one}, `[{"a":2}]`},
		{"SELECT ¿1 AS a", []value.Value{one}, "sql_error"}, // ? 1, not ?1
		{"SELECT ?", nil, "sql_error"},
		{"SELECT ?1", nil, "sql_error"},
		{"SELECT ¿, ?", []value.Value{one}, "sql_error"},
		{"SELECT ¿, ?1", []value.Value{one}, "sql_error"},
		{"SELECT ?1, ¿", []value.Value{one}, "sql_error"},
		{"SELECT :n", nil, "sql_error"},
		{"SELECT @n", nil, "sql_error"},
		{"SELECT $n", nil, "sql_error"},
		{"SELECT '?', \"?\" FROM (SELECT 1 AS \"?\")", nil, `[{"'?'":"?","?":1}]`},
	} {
		if got := rows(t, d, c.sql, c.params...); got != c.want {
			t.Errorf("%s: got %s, want %s", c.sql, got, c.want)
		}
	}
	if _, err := d.Query(t.Context(), "", query(bytecode.SQLRows, "SELECT ¿")); err == nil {
		t.Error("a parameter without a value was taken")
	}
}

func TestErrors(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT UNIQUE NOT NULL, age INTEGER CHECK (age >= 0), a, b, UNIQUE(a, b))")
	must(t, d, "CREATE TABLE orders(user INTEGER NOT NULL REFERENCES users(id), n INTEGER CONSTRAINT enough CHECK (n > 1))")
	must(t, d, "CREATE TABLE strict(n INTEGER) STRICT")
	must(t, d, "CREATE TABLE words(word)")
	must(t, d, "CREATE UNIQUE INDEX lower_word ON words(lower(word))")
	must(t, d, "INSERT INTO words VALUES ('x')")
	must(t, d, "CREATE TRIGGER no_minors BEFORE INSERT ON users WHEN new.age < 18 BEGIN SELECT RAISE(ABORT, 'too young'); END")
	must(t, d, "INSERT INTO users(email, a, b) VALUES ('x', 1, 2)")
	for _, c := range []struct{ sql, code, message string }{
		{"INSERT INTO users(email) VALUES ('x')", "unique", "email must be unique: another row of users has the same value"},
		{"INSERT INTO words VALUES ('X')", "unique", "the index 'lower_word' takes each value once, and another row has this one"},
		{"INSERT INTO users(id, email) VALUES (1, 'y')", "unique", "id must be unique: another row of users has the same value"},
		{"INSERT INTO users(email, a, b) VALUES ('y', 1, 2)", "unique", "a and b must be unique together: another row of users has the same values"},
		{"INSERT INTO users(email) VALUES (NULL)", "not_null", "email of users must not be null"},
		{"INSERT INTO users(email, age) VALUES ('y', 0)", "check_failed", "too young"},
		{"UPDATE users SET age = -1", "check_failed", `the row breaks the check "age >= 0" of its table`},
		{"INSERT INTO orders VALUES (1, 1)", "check_failed", `the row breaks the check "enough" of its table`},
		{"INSERT INTO orders VALUES (9, 2)", "foreign_key", "a row refers to another that is not there: add that one first, or remove the ones that refer to it first"},
		{"INSERT INTO strict VALUES ('x')", "wrong_kind", "cannot store TEXT value in INTEGER column strict.n"},
		{"INSERT INTO users(id, email) VALUES ('x', 'y')", "wrong_kind", "this value does not fit: LIMIT, OFFSET and the number of a row, an INTEGER PRIMARY KEY, take whole numbers"},
		{"SELECT 1 AS x LIMIT 'many'", "wrong_kind", "this value does not fit: LIMIT, OFFSET and the number of a row, an INTEGER PRIMARY KEY, take whole numbers"},
		{"SELECT * FROM nope", "no_such_table", `there is no table "nope"`},
		{"SELECT * FROM main.nope", "no_such_table", `there is no table "nope"`},
		{"SELECT nope FROM users", "no_such_column", `there is no column "nope"`},
		{"SELECT users.nope FROM users", "no_such_column", `there is no column "users.nope"`},
		{`SELECT "nope" FROM users`, "no_such_column", `there is no column "nope": a text in SQL stands in single quotes, 'nope'`},
		{"INSERT INTO users(nope) VALUES (1)", "no_such_column", `the table "users" has no column "nope"`},
		{"ALTER TABLE users DROP COLUMN nope", "no_such_column", `there is no column "nope"`},
		{"SELECT * FORM users", "sql_error", `a syntax error in the SQL near "FORM"`},
		{"SELECT * INSERT INTO users(email) VALUES ('z')", "sql_error", `a syntax error in the SQL near "INSERT": if another statement starts there, put ; before INSERT`},
		{"SELECT 1 AS a select 2", "sql_error", `a syntax error in the SQL near "select": if another statement starts there, put ; before SELECT`},
		{"SELECT now()", "sql_error", "no such function: now: NOW() is no SQL; write SET ?now AS NOW() before the SQL and ?now in it"},
		{"SELECT * FROM users WHERE age < NOW", "no_such_column", `there is no column "NOW": NOW() is no SQL; write SET ?now AS NOW() before the SQL and ?now in it`},
		{"SELECT * FROM ¿", "sql_error", "a variable in SQL stands for a value: it cannot be the name of a table or column, or any other part of the SQL"},
		{"SELECT * FROM", "sql_error", "the SQL statement is not complete"},
		{"SELECT nope(1)", "sql_error", "no such function: nope"},
		{"SELECT abs(1, 2)", "sql_error", "wrong number of arguments to function abs()"},
		{"SELECT 'a", "sql_error", `unrecognized token: "'a"`},
		{"", "sql_error", "there is no SQL statement here"},
		{" -- nothing", "sql_error", "there is no SQL statement here"},
		{"SELECT 1; SELECT 2", "sql_error", "there is more than one SQL statement here: end each with ; and write it as a statement of its own"},
		{"SELECT 1; nonsense", "sql_error", "there is more than one SQL statement here: end each with ; and write it as a statement of its own"},
		{"SELECT 1;\x00SELECT 2", "sql_error", "there is more than one SQL statement here: end each with ; and write it as a statement of its own"},
		{"PRAGMA user_version", "sql_denied", "PRAGMA is not allowed: the settings of a database are fixed"},
		{"COMMIT", "sql_denied", "BEGIN, COMMIT, ROLLBACK and SAVEPOINT are not allowed in SQL: write TRANSACTION … END around the statements"},
		{"SELECT json_patch('{}', '{}')", "sql_denied", "the function json_patch is not allowed"},
	} {
		params := make([]value.Value, strings.Count(c.sql, "¿"))
		_, err := d.Query(t.Context(), "", query(bytecode.SQLRows, c.sql, params...))
		var e *value.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if e.Code != c.code || e.Message != c.message {
			t.Errorf("%s\n got %s: %s\nwant %s: %s", c.sql, e.Code, e.Message, c.code, c.message)
		}
	}
}

func TestMeter(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a)")
	q := query(bytecode.SQLRows, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 1000) SELECT x, hex(zeroblob(1000)) AS y FROM c")
	q.Meter = meter(1 << 20)
	if got := outcome(t)(d.Query(t.Context(), "", q)); got != "limit memory" {
		t.Errorf("2 MB of rows in 1 MiB: %s", got)
	}
	q.Meter = meter(1 << 24)
	if v, err := d.Query(t.Context(), "", q); err != nil || v.List().Len() != 1000 {
		t.Errorf("2 MB of rows in 16 MiB: %v", err)
	}
	q = query(bytecode.SQLValue, "SELECT hex(zeroblob(5000))")
	q.Meter = meter(1 << 20)
	q.Meter.Text = 1000
	if got := outcome(t)(d.Query(t.Context(), "", q)); got != "limit value_size" {
		t.Errorf("a long text: %s", got)
	}

	// What a limit cuts off while it returns rows is undone.
	q = query(bytecode.SQLRows, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 1000) INSERT INTO t SELECT hex(zeroblob(1000)) FROM c RETURNING a")
	q.Meter = meter(1 << 20)
	if got := outcome(t)(d.Query(t.Context(), "", q)); got != "limit memory" {
		t.Errorf("RETURNING 2 MB in 1 MiB: %s", got)
	}
	if got := must(t, d, "SELECT count(*) AS n FROM t"); got != `[{"n":0}]` {
		t.Errorf("after it: %s", got)
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	d := open(t, Options{MaxBytes: 1 << 20, Temporary: 1 << 20})
	must(t, d, "CREATE TABLE t(a)")
	long := value.Text(strings.Repeat("x", MaxValue+1))
	nearly := value.Text(strings.Repeat("x", MaxValue-1000))
	many := make([]value.Value, 9)
	for i := range many {
		many[i] = nearly
	}
	for _, c := range []struct {
		name, sql string
		params    []value.Value
		want      string
	}{
		{"a long text", "SELECT length(¿) AS n", []value.Value{long}, "limit_exceeded"},
		{"a long list", "SELECT length(¿) AS n", []value.Value{list(nearly, nearly)}, "limit_exceeded"},
		{"long bytes", "SELECT length(¿) AS n", []value.Value{value.Bytes(long.Raw())}, "limit_exceeded"},
		{"a text that fits", "SELECT length(¿) AS n", []value.Value{nearly}, `[{"n":999000}]`},
		{"many of them", "SELECT 1 AS n WHERE ¿ IS NOT NULL" + strings.Repeat(" AND ¿ IS NOT NULL", 8), many, "limit_exceeded"},
		{"long SQL", "SELECT '" + strings.Repeat("x", MaxSQL) + "'", nil, "limit_exceeded"},
		{"many values", "SELECT 1 WHERE 1 IN (1" + strings.Repeat(",¿", 1001) + ")", make([]value.Value, 1001), "limit_exceeded"},
		{"a full database", "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 3000) INSERT INTO t SELECT hex(zeroblob(500)) FROM c", nil, "database_full"},
		{"what fits", "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 300) INSERT INTO t SELECT hex(zeroblob(500)) FROM c", nil, `{"changes":300,"last_id":300}`},
		{"a large sort", "WITH RECURSIVE c(x) AS (SELECT randomblob(1000) UNION ALL SELECT randomblob(1000) FROM c LIMIT 20000) SELECT count(*) AS n FROM (SELECT x FROM c ORDER BY x LIMIT -1 OFFSET 1)", nil, "limit_exceeded"},
		{"a small sort", "WITH RECURSIVE c(x) AS (SELECT randomblob(1000) UNION ALL SELECT randomblob(1000) FROM c LIMIT 200) SELECT count(*) AS n FROM (SELECT x FROM c ORDER BY x LIMIT -1 OFFSET 1)", nil, `[{"n":199}]`},
		{"many rows", "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100001) SELECT x FROM c", nil, "limit_exceeded"},
	} {
		if got := rows(t, d, c.sql, c.params...); got != c.want {
			t.Errorf("%s: got %.200s, want %s", c.name, got, c.want)
		}
	}
}

func TestStatementsAreCached(t *testing.T) {
	d := open(t, Options{Readers: 1})
	must(t, d, "CREATE TABLE t(a)")
	for round := range 3 {
		for i := range maxCachedStatements + 5 {
			sql := fmt.Sprintf("SELECT %d AS n, count(*) AS c FROM t WHERE a = ¿", i)
			if got, want := must(t, d, sql, value.Int(int64(round))), fmt.Sprintf(`[{"n":%d,"c":0}]`, i); got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
		}
	}
	if n := len(d.open["main"].idleReaders[0].statements); n != maxCachedStatements {
		t.Errorf("%d statements are kept", n)
	}
	// A cached statement follows the schema, and the authorizer with it.
	sql := "SELECT * FROM t"
	must(t, d, sql)
	must(t, d, "ALTER TABLE t ADD COLUMN b DEFAULT 5")
	must(t, d, "INSERT INTO t(a) VALUES (1)")
	if got := must(t, d, sql); got != `[{"a":1,"b":5}]` {
		t.Errorf("after ALTER TABLE: %s", got)
	}
	must(t, d, "DROP TABLE t")
	if got := rows(t, d, sql); got != "no_such_table" {
		t.Errorf("after DROP TABLE: %s", got)
	}
}

func TestContextEndsAStatement(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a)")
	const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
	for _, sql := range []string{
		endless + "SELECT count(*) FROM c",
		// The second row of a result must end too, not only the first.
		"SELECT 1 AS n UNION ALL SELECT count(*) FROM (" + endless + "SELECT x FROM c)",
		endless + "INSERT INTO t SELECT x FROM c WHERE x < 0",
		endless + "INSERT INTO t SELECT x FROM c WHERE x < 5 RETURNING a",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		started := &signalled{Context: ctx, asked: make(chan struct{})}
		go func() {
			<-started.asked
			cancel()
		}()
		if got := outcome(t)(d.Query(started, "", query(bytecode.SQLRows, sql))); got != "context" {
			t.Errorf("%s: %s", sql, got)
		}
	}
	if got := must(t, d, "SELECT count(*) AS n FROM t"); got != `[{"n":0}]` {
		t.Errorf("something stayed: %s", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := outcome(t)(d.Query(ctx, "", query(bytecode.SQLRows, "SELECT 1"))); got != "context" {
		t.Errorf("an ended context: %s", got)
	}
}

// signalled tells when it has been asked for its end a hundred times: then a
// statement is running.
type signalled struct {
	context.Context
	asked chan struct{}
	n     int
}

func (s *signalled) Err() error {
	if s.n++; s.n == 100 {
		close(s.asked)
	}
	return s.Context.Err()
}

// TestChangesAreToldWhereTheyAreTaken: a script that has no SET gets nothing of a change.
func TestChangesAreToldWhereTheyAreTaken(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(x)")
	for mode, want := range map[bytecode.SQLMode]string{bytecode.SQLEmit: "null", bytecode.SQLRows: `{"changes":1,"last_id":2}`} {
		if got := outcome(t)(d.Query(t.Context(), "", query(mode, "REPLACE INTO t(rowid, x) VALUES (2, 1)"))); got != want {
			t.Errorf("%d: %s, not %s", mode, got, want)
		}
	}
	if got := outcome(t)(d.Query(t.Context(), "", query(bytecode.SQLEmit, "UPDATE t SET x = 5 RETURNING x"))); got != `[{"x":5}]` {
		t.Errorf("rows are not told: %s", got)
	}
}
