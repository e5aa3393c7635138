package databases

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ql/lang/bytecode"
	"ql/lang/value"
)

// TestPromiseHostileSQL runs SQL that reaches for what it may not have.
func TestPromiseHostileSQL(t *testing.T) {
	folder := t.TempDir()
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	d := open(t, Options{Folder: folder})
	must(t, d, "CREATE TABLE t(a)")
	must(t, d, "INSERT INTO t VALUES (1)")
	if _, err := d.Query(t.Context(), "other", query(bytecode.SQLRows, "CREATE TABLE secret(a)")); err != nil {
		t.Fatal(err)
	}
	hide(t, d, "CREATE TABLE _ql_effects(a)")
	hide(t, d, "CREATE VIEW reads_hidden AS SELECT * FROM _ql_effects")
	hide(t, d, "CREATE TRIGGER writes_hidden AFTER UPDATE ON t BEGIN INSERT INTO _ql_effects VALUES (1); END")

	cases := []struct{ sql, want string }{
		// other files
		{"ATTACH '" + elsewhere + "' AS x", "sql_denied"},
		{"ATTACH '" + filepath.Join(folder, "other.db") + "' AS x", "sql_denied"},
		{"ATTACH ':memory:' AS x", "sql_denied"},
		{"ATTACH '' AS x", "sql_denied"},
		{"DETACH main", "sql_denied"},
		{"VACUUM", "sql_denied"},
		{"VACUUM INTO '" + elsewhere + "'", "sql_denied"},
		{"EXPLAIN VACUUM", "sql_denied"},
		{"EXPLAIN /* x */ QUERY PLAN VACUUM INTO '" + elsewhere + "'", "sql_denied"},
		{"EXPLAIN ATTACH '" + elsewhere + "' AS x", "sql_denied"},
		{"SELECT load_extension('" + elsewhere + "')", "sql_denied"},
		{"SELECT readfile('/etc/passwd')", "sql_error"},
		{"SELECT writefile('" + elsewhere + "', 'x')", "sql_error"},
		{"SELECT edit('x')", "sql_error"},
		{"SELECT fts3_tokenizer('x')", "sql_error"},
		{"SELECT * FROM other.secret", "no_such_table"},
		// settings
		{"PRAGMA writable_schema = ON", "sql_denied"},
		{"PRAGMA journal_mode = DELETE", "sql_denied"},
		{"PRAGMA journal_mode", "sql_denied"},
		{"PRAGMA synchronous = OFF", "sql_denied"},
		{"PRAGMA max_page_count = 999999999", "sql_denied"},
		{"PRAGMA trusted_schema = ON", "sql_denied"},
		{"PRAGMA foreign_keys = OFF", "sql_denied"},
		{"PRAGMA temp_store_directory = '/'", "sql_denied"},
		{"PRAGMA hard_heap_limit = 1", "sql_denied"},
		{"PRAGMA table_info(t)", "sql_denied"},
		{"PRAGMA integrity_check", "sql_denied"},
		{"PRAGMA query_only = OFF", "sql_denied"},
		{"SELECT * FROM pragma_table_info('t')", "sql_denied"},
		{"SELECT count(*) FROM pragma_database_list", "sql_denied"},
		{"SELECT file FROM pragma_database_list()", "sql_denied"},
		{"SELECT * FROM pragma_compile_options", "sql_denied"},
		{"SELECT sqlite_compileoption_get(1)", "sql_denied"},
		{"SELECT sqlite_source_id()", "sql_denied"},
		{"SELECT sqlite_log(1, 'x')", "sql_denied"},
		{"SELECT sqlite_offset(a) FROM t", "sql_denied"},
		// the engine's inside
		{"SELECT * FROM sqlite_dbpage", "no_such_table"},
		{"SELECT count(*) FROM dbstat", "no_such_table"},
		{"SELECT * FROM fts5vocab", "no_such_table"},
		{"CREATE VIRTUAL TABLE v USING fts5vocab('x', 'row')", "sql_denied"},
		{"CREATE VIRTUAL TABLE temp.v USING fts5(a)", "sql_denied"},
		{"CREATE VIRTUAL TABLE _ql_v USING fts5(a)", "sql_denied"},
		{"CREATE VIRTUAL TABLE _ql USING fts5(a)", "sql_denied"},
		{"CREATE VIRTUAL TABLE v USING fts5(a, content='_ql_effects')", "sql_denied"},
		{"CREATE VIRTUAL TABLE v USING fts5(a, content='')", "sql_denied"},
		{"CREATE VIRTUAL TABLE v USING fts5(a, \"CONT\" = [])", "sql_denied"},
		{"CREATE VIRTUAL TABLE v USING fts5(a, content=, b)", "sql_denied"},
		{"SELECT fts5(1)", "sql_denied"},
		{"SELECT fts5_source_id()", "sql_denied"},
		{"CREATE VIRTUAL TABLE v USING rtree(a, b, c)", "sql_denied"},
		{"CREATE VIRTUAL TABLE v USING dbstat", "sql_denied"},
		{"UPDATE sqlite_master SET sql = 'x'", "sql_error"},
		{"UPDATE sqlite_schema SET sql = 'x'", "sql_error"},
		{"DELETE FROM sqlite_schema", "sql_error"},
		{"INSERT INTO sqlite_schema VALUES ('table', 'x', 'x', 2, 'x')", "sql_error"},
		{"DROP TABLE sqlite_schema", "sql_error"},
		{"CREATE TABLE sqlite_x(a)", "sql_error"},
		{"SELECT sqlite_rename_table(1,2,3,4,5,6,7)", "sql_error"},
		{"SELECT sqlite_fail('x', 1)", "sql_error"},
		// transactions and what is left on a connection
		{"BEGIN", "sql_denied"},
		{"BEGIN EXCLUSIVE", "sql_denied"},
		{"COMMIT", "sql_denied"},
		{"END", "sql_denied"},
		{"ROLLBACK", "sql_denied"},
		{"SAVEPOINT x", "sql_denied"},
		{"RELEASE x", "sql_denied"},
		{"CREATE TEMP TABLE x(a)", "sql_denied"},
		{"CREATE TEMPORARY VIEW x AS SELECT 1", "sql_denied"},
		{"CREATE TEMP TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END", "sql_denied"},
		{"CREATE TABLE temp.x(a)", "sql_denied"},
		{"CREATE TABLE temp.x AS SELECT 1", "sql_denied"},
		{"CREATE VIEW temp.x AS SELECT 1", "sql_denied"},
		{"CREATE TRIGGER temp.x AFTER INSERT ON t BEGIN SELECT 1; END", "sql_denied"},
		{"SELECT * FROM sqlite_temp_schema", "sql_denied"},
		{"SELECT * FROM temp.sqlite_master", "sql_denied"},
		{"SELECT last_insert_rowid()", "sql_denied"},
		{"SELECT changes()", "sql_denied"},
		{"SELECT total_changes()", "sql_denied"},
		// our tables
		{"SELECT * FROM _ql_effects", "sql_denied"},
		{"SELECT count(*) FROM _QL_Effects", "sql_denied"},
		{`SELECT * FROM "_ql_effects"`, "sql_denied"},
		{"INSERT INTO _ql_effects VALUES (1)", "sql_denied"},
		{"UPDATE _ql_effects SET a = 1", "sql_denied"},
		{"DELETE FROM _ql_effects", "sql_denied"},
		{"DROP TABLE _ql_effects", "sql_denied"},
		{"ALTER TABLE _ql_effects RENAME TO mine", "sql_denied"},
		{"ALTER TABLE t RENAME TO _ql_mine", "sql_denied"},
		{`ALTER TABLE t RENAME TO "_QL_mine"`, "sql_denied"},
		{"CREATE TABLE _ql_mine(a)", "sql_denied"},
		{"CREATE VIEW _ql_mine AS SELECT 1", "sql_denied"},
		{"CREATE INDEX x ON _ql_effects(a)", "sql_denied"},
		{"CREATE INDEX _ql_x ON t(a)", "sql_denied"},
		{"CREATE TRIGGER x AFTER INSERT ON _ql_effects BEGIN SELECT 1; END", "sql_denied"},
		{"WITH x AS (SELECT * FROM _ql_effects) SELECT * FROM x", "sql_denied"},
		{"SELECT (SELECT a FROM _ql_effects)", "sql_denied"},
		// several statements in one
		{"SELECT 1; DROP TABLE t", "sql_error"},
		{"SELECT 1;; ;DROP TABLE t", "sql_error"},
		{"INSERT INTO t VALUES (2); INSERT INTO t VALUES (3)", "sql_error"},
		{"SELECT 1 /* ; */ ; /* x */ COMMIT", "sql_error"},
		// functions without a bound
		{"SELECT json_patch('{}', '{}')", "sql_denied"},
		{"SELECT jsonb_patch('{}', '{}')", "sql_denied"},
		{"SELECT json_pretty('[1]', 'x')", "sql_denied"},
		{"SELECT jsonb_group_array(a) FROM t", "sql_denied"},
		// doors through the schema
		{"SELECT * FROM reads_hidden", "sql_denied"},
		{"UPDATE t SET a = 2", "sql_denied"},
		{"DROP TRIGGER writes_hidden", `{"changes":0,"last_id":null}`},
		{"CREATE VIEW loads AS SELECT load_extension('x') AS x", `{"changes":0,"last_id":null}`},
		{"SELECT * FROM loads", "sql_error"},
		{"CREATE TABLE g(a, b AS (json_patch(a, a)))", "sql_denied"},
		{"CREATE INDEX g ON t(json_patch(a, a))", "sql_denied"},
		{"CREATE VIEW patches AS SELECT json_patch(a, a) FROM t", `{"changes":0,"last_id":null}`},
		{"SELECT * FROM patches", "sql_denied"},
	}
	for _, c := range cases {
		if got := rows(t, d, c.sql); got != c.want {
			t.Errorf("%s: got %s, want %s", c.sql, got, c.want)
		}
	}
	t.Logf("%d hostile statements, each ended as it should", len(cases))

	if got := must(t, d, "SELECT a FROM t"); got != `[{"a":1}]` {
		t.Errorf("the table now holds %s", got)
	}
	if _, err := os.Stat(elsewhere); !os.IsNotExist(err) {
		t.Errorf("a file was made elsewhere: %v", err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); !strings.HasPrefix(name, "main.db") && !strings.HasPrefix(name, "other.db") {
			t.Errorf("a file was made: %s", name)
		}
	}
}

// hide runs SQL as the service itself.
func hide(t *testing.T, d *Databases, sql string) {
	t.Helper()
	db, err := d.acquire("main")
	if err != nil {
		t.Fatal(err)
	}
	defer d.release(db)
	c, err := db.acquireWriter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer db.releaseWriter(c)
	if err := c.execTrusted(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func TestUsualSQLIsAllowed(t *testing.T) {
	d := open(t, Options{})
	for _, sql := range []string{
		"CREATE TABLE users(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, email TEXT UNIQUE, born DATE, data JSON)",
		"CREATE TABLE orders(id INTEGER PRIMARY KEY, user_id INTEGER REFERENCES users(id) ON DELETE CASCADE, total REAL DEFAULT 0, created TEXT DEFAULT CURRENT_TIMESTAMP)",
		"CREATE INDEX orders_user ON orders(user_id, total DESC)",
		"CREATE UNIQUE INDEX users_name ON users(lower(name)) WHERE name IS NOT NULL",
		"CREATE VIEW totals AS SELECT u.name, sum(o.total) AS total FROM users u LEFT JOIN orders o ON o.user_id = u.id GROUP BY u.id",
		"CREATE TRIGGER log AFTER INSERT ON orders BEGIN UPDATE users SET data = json_set(coalesce(data, '{}'), '$.last', new.id) WHERE id = new.user_id; END",
		"INSERT INTO users(name, email) VALUES ('Ada', 'a@x'), ('Bob', 'b@x')",
		"INSERT INTO orders(user_id, total) VALUES (1, 10.5), (1, 20), (2, 5)",
		"INSERT OR IGNORE INTO users(name, email) VALUES ('Ada', 'a@x')",
		"UPDATE users SET name = upper(name) WHERE id IN (SELECT user_id FROM orders)",
		"SELECT * FROM totals ORDER BY total DESC LIMIT 10 OFFSET 0",
		"SELECT name, rank() OVER (ORDER BY total DESC) AS place, lag(total) OVER () AS before FROM totals",
		"SELECT data ->> '$.last' AS last, data -> 'last' AS json FROM users",
		"SELECT json_group_array(json_object('id', id, 'total', total)) AS list FROM orders GROUP BY user_id",
		"SELECT date('now', '+1 day') AS d, strftime('%Y', 'now') AS y, unixepoch() AS u, julianday('2024-01-01') AS j",
		"SELECT DISTINCT substr(name, 1, 1) AS initial, length(name) AS n, trim(name) AS t, replace(name, 'A', 'b') AS r, instr(name, 'D') AS i FROM users",
		"SELECT name FROM users WHERE name LIKE 'a%' OR name GLOB 'B*'",
		"SELECT count(*) AS n, avg(total) AS a, min(total) AS lo, max(total) AS hi, group_concat(total, ';') AS all_of_them FROM orders",
		"SELECT round(2.567, 1) AS r, abs(-1) AS a, printf('%05d', 42) AS p, format('%.2f', 1.005) AS f, hex('x') AS h, quote('x') AS q",
		"WITH RECURSIVE days(d) AS (SELECT 1 UNION ALL SELECT d + 1 FROM days WHERE d < 31) SELECT d FROM days",
		"SELECT 1 AS n UNION SELECT 2 EXCEPT SELECT 3 INTERSECT SELECT 1",
		"SELECT value FROM json_each('[1,2,3]') WHERE value > 1",
		"SELECT fullkey, atom FROM json_tree('{\"a\":[1,{\"b\":2}]}')",
		"EXPLAIN QUERY PLAN SELECT * FROM orders WHERE user_id = 1",
		"EXPLAIN SELECT 1",
		"SELECT name, sql FROM sqlite_schema WHERE type = 'table'",
		"SELECT seq FROM sqlite_sequence",
		"DELETE FROM sqlite_sequence WHERE name = 'users'",
		"ALTER TABLE users ADD COLUMN phone TEXT",
		"ALTER TABLE users ADD COLUMN age INTEGER NOT NULL DEFAULT 18 CHECK (age > 0)",
		"ALTER TABLE users RENAME COLUMN phone TO mobile",
		"ALTER TABLE users DROP COLUMN mobile",
		"ALTER TABLE orders RENAME TO purchases",
		"ANALYZE",
		"REINDEX users",
		"CREATE TABLE copy AS SELECT * FROM users",
		"CREATE TABLE numbers(k TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID, STRICT",
		"INSERT INTO numbers VALUES ('a', 1) ON CONFLICT(k) DO UPDATE SET n = n + 1 RETURNING n",
		"DELETE FROM users WHERE id = 1",
		"DROP TRIGGER log",
		"DROP VIEW totals",
		"DROP INDEX orders_user",
		"DROP TABLE copy",
		"DROP TABLE IF EXISTS missing",
		"CREATE TABLE bytecode(graph_ql_nodes, rank, fts5)",
		"INSERT INTO bytecode VALUES (1, 2, 3)",
		"UPDATE bytecode SET graph_ql_nodes = 2 WHERE graph_ql_nodes = 1",
		"SELECT graph_ql_nodes AS _ql_nodes, '_ql_' FROM bytecode",
	} {
		must(t, d, sql)
	}
	if got := must(t, d, "SELECT count(*) AS n FROM purchases"); got != `[{"n":1}]` {
		t.Errorf("ON DELETE CASCADE left %s", got)
	}
}

// unions is a query in FROM that puts as many SELECTs together as it may.
func unions(name string) string { return "(" + unionOf("t") + ") " + name }

func unionOf(table string) string {
	return "SELECT a FROM " + table + strings.Repeat(" UNION ALL SELECT a FROM "+table, maxSelects-1)
}

// all is a condition so many times, without going deep.
func all(n int, condition string) string {
	if n == 1 {
		return condition
	}
	return "(" + all(n/2, condition) + " AND " + all(n-n/2, condition) + ")"
}

// TestPromiseBombs runs SQL that would take for ever or take all memory. Each
// must end by its context or by a limit, soon after it, and the process stays
// small.
func TestPromiseBombs(t *testing.T) {
	d := open(t, Options{MaxBytes: 64 << 20, Temporary: 32 << 20})
	must(t, d, "CREATE TABLE t(a)")
	must(t, d, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 1000) INSERT INTO t SELECT x FROM c")
	must(t, d, "CREATE TABLE chain(a)")
	must(t, d, "CREATE TABLE link(a)")
	must(t, d, "CREATE TRIGGER there AFTER INSERT ON chain BEGIN INSERT INTO link SELECT a FROM t; END")
	for i := 25; i > 0; i-- { // the other way round the tenth is refused
		must(t, d, fmt.Sprintf("CREATE VIEW v%d AS SELECT a.n FROM v%d a, v%d b", i, i-1, i-1))
	}
	must(t, d, "CREATE VIEW v0 AS SELECT 1 AS n")
	must(t, d, "CREATE VIEW u AS "+unionOf("t"))
	must(t, d, "CREATE TRIGGER back AFTER INSERT ON link BEGIN INSERT INTO chain SELECT a FROM t; END")
	const (
		endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
		heavy   = "WITH RECURSIVE c(x) AS (SELECT hex(randomblob(450000)) UNION ALL SELECT hex(randomblob(450000)) FROM c) "
		long    = "hex(zeroblob(490000))"
	)
	before := peak(t)
	ends := map[string]int{}
	slowest := time.Duration(0)
	cases := []struct{ name, sql string }{
		{"an endless recursion", endless + "SELECT count(*) FROM c"},
		{"an endless second row", "SELECT 1 AS n UNION ALL SELECT * FROM (" + endless + "SELECT count(*) FROM c)"},
		{"endless rows", endless + "SELECT x FROM c"},
		{"endless large rows", heavy + "SELECT x FROM c"},
		{"a join of 10^12", "SELECT count(*) FROM t a, t b, t c, t d"},
		{"a join that sorts", "SELECT a.a FROM t a, t b, t c ORDER BY random()"},
		{"a large sort", heavy + "SELECT count(*) FROM (SELECT x FROM c ORDER BY x)"},
		{"large groups", heavy + "SELECT count(*) FROM (SELECT x, count(*) FROM c GROUP BY x)"},
		{"large distinct", heavy + "SELECT count(DISTINCT x) FROM c"},
		{"a large window", heavy + "SELECT first_value(x) OVER () FROM c"},
		{"a window of JSON", endless + "SELECT count(y) FROM (SELECT json_group_array(x) OVER (ORDER BY x ROWS 50000 PRECEDING) AS y FROM c)"},
		{"a large union", heavy + ", d(y) AS (SELECT x FROM c UNION SELECT x || 1 FROM c) SELECT count(*) FROM d"},
		{"json_group_array", heavy + "SELECT json_group_array(x) FROM c"},
		{"json_group_object", heavy + "SELECT json_group_object(x, x) FROM c"},
		{"json_group_object without keys", endless + "SELECT json_group_object(NULL, x) FROM c"},
		{"group_concat", heavy + "SELECT group_concat(x) FROM c"},
		{"string_agg", heavy + "SELECT string_agg(x, 'y') FROM c"},
		{"a hundred lists", endless + "SELECT " + columns(100, "json_group_array((x + %d) %% 7) AS c%[1]d") + " FROM c"},
		{"a hundred texts", endless + "SELECT " + columns(100, "group_concat(printf('%%0100000d', %d + x)) AS c%[1]d") + " FROM c"},
		{"doubling", "WITH RECURSIVE c(x) AS (SELECT 'x' UNION ALL SELECT x || x FROM c) SELECT x FROM c"},
		{"replace that grows", "SELECT replace(" + long + ", '0', " + long + ")"},
		{"printf", "SELECT printf('%1000000000d', 1)"},
		{"format", "SELECT format('%.*c', 1000000000, 'x')"},
		{"zeroblob", "SELECT zeroblob(2000000000)"},
		{"randomblob", "SELECT randomblob(2000000000)"},
		{"instr again and again", endless + "SELECT sum(instr(" + long + " || x, " + long + " || 'y')) FROM c"},
		{"ltrim again and again", endless + "SELECT sum(length(ltrim(" + long + " || x, " + long + "))) FROM c"},
		{"unhex again and again", endless + "SELECT sum(length(unhex(" + long + " || x, " + long + "))) FROM c"},
		{"LIKE again and again", endless + "SELECT sum(" + long + " || x LIKE '%" + strings.Repeat("0", 150) + "1') FROM c"},
		{"GLOB again and again", endless + "SELECT sum(" + long + " || x GLOB '*" + strings.Repeat("0*", 90) + "1') FROM c"},
		{"a long pattern", "SELECT 'x' LIKE '" + strings.Repeat("%x", 150) + "'"},
		{"json_tree again and again", endless + "SELECT count(*) FROM c, json_tree(json_array(" + strings.Repeat("1,", 30) + "1))"},
		{"filling the database", heavy + "INSERT INTO t SELECT x FROM c"},
		{"filling it a little at a time", endless + "INSERT INTO t SELECT x FROM c"},
		{"a trigger that triggers", "INSERT INTO chain VALUES (1)"},
		{"a table of all pairs", "CREATE TABLE pairs AS SELECT a.a, b.a AS b, c.a AS c FROM t a, t b, t c"},
		{"an index on nothing new", "UPDATE t SET a = (" + endless + "SELECT count(*) FROM c)"},
		{"deep brackets", "SELECT " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000)},
		{"a long sum", "SELECT 1" + strings.Repeat("+1", 20000)},
		{"many unions", "SELECT 1" + strings.Repeat(" UNION SELECT 1", 2000)},
		{"a join of unions", "SELECT count(*) FROM " + unions("a") + "," + unions("b") + "," + unions("c") + "," + unions("d")},
		{"conditions on each of a union", "SELECT * FROM " + unions("u") + " WHERE " + all(3000, "a IN (SELECT a FROM t)")},
		{"unions in conditions on a union", "SELECT * FROM " + unions("u") + " WHERE " + all(3000/maxSelects, "a IN ("+unionOf("t")+")")},
		{"views of unions", "SELECT * FROM u WHERE " + all(maxViews/maxSelects-1, "a IN (SELECT a FROM u)")},
		{"many views of unions", "SELECT * FROM u WHERE " + all(900, "a IN (SELECT a FROM u)")},
		{"CTEs of unions", "WITH a(a) AS (" + unionOf("t") + "), b(a) AS (" + unionOf("a") + "), c(a) AS (" + unionOf("b") + "), d(a) AS (" + unionOf("c") + ") SELECT count(*) FROM d"},
		{"many columns", "SELECT 1" + strings.Repeat(",1", 20000)},
		{"many arguments", "SELECT max(1" + strings.Repeat(",1", 20000) + ")"},
		{"nested subqueries", strings.Repeat("SELECT * FROM (", 3000) + "SELECT 1" + strings.Repeat(")", 3000)},
		{"CTEs that double", doubling(25)},
		{"views that double", "SELECT count(*) FROM v25"},
		{"a hundred large columns", "SELECT " + strings.Repeat("hex(randomblob(490000)), ", 90) + "1"},
	}
	const deadline = 100 * time.Millisecond
	for _, c := range cases {
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		began := time.Now()
		q := query(bytecode.SQLRows, c.sql)
		q.Meter = meter(16 << 20)
		got := outcome(t)(d.Query(ctx, "", q))
		cancel()
		ends[got]++
		slowest = max(slowest, time.Since(began))
		switch got {
		case "context", "limit_exceeded", "limit memory", "limit value_size", "sql_error", "database_full", "duplicate_column":
		default:
			t.Errorf("%s: %.100s", c.name, got)
		}
	}
	t.Logf("%d bombs, the slowest took %s with %s to run: %v", len(cases), slowest, deadline, ends)
	if os.Getenv("QL_PROMISES") != "" && slowest > deadline+time.Second {
		t.Errorf("one took %s", slowest)
	}
	if grown := peak(t) - before; grown > 256<<20 {
		t.Errorf("the process grew by %d MiB", grown>>20)
	}
	if got := must(t, d, "SELECT count(*) AS n FROM t"); got != `[{"n":1000}]` {
		t.Errorf("something stayed: %s", got)
	}
}

// doubling returns a chain of CTEs each of which reads the one before twice.
func doubling(n int) string {
	sql := "WITH c0(n) AS (SELECT 1)"
	for i := 1; i <= n; i++ {
		before := "c" + strconv.Itoa(i-1)
		sql += ", c" + strconv.Itoa(i) + "(n) AS (SELECT a.n FROM " + before + " a, " + before + " b)"
	}
	return sql + " SELECT count(*) FROM c" + strconv.Itoa(n)
}

// peak returns the largest memory of this process so far, 0 where the system
// does not tell.
func peak(t *testing.T) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, found := strings.Cut(string(status), "VmHWM:")
	if !found {
		return 0
	}
	n, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// FuzzQuery runs any text as SQL: it ends, gives a value or an error for the
// script, and leaves the connection as it was.
func FuzzQuery(f *testing.F) {
	for _, sql := range []string{
		"SELECT 1", "PRAGMA journal_mode=OFF", "BEGIN", "INSERT INTO t VALUES(1) RETURNING a", "CREATE TABLE x(a)", "DROP TABLE t",
		"SELECT * FROM t WHERE a IN (1,2)", "ATTACH 'x' AS y", "VACUUM INTO 'x'", "ALTER TABLE t RENAME TO u", "SELECT json_group_array(a) FROM t",
		"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c", "SELECT replace('a','b','c'), trim('a','b')",
	} {
		f.Add(sql)
	}
	d := open(f, Options{MaxBytes: 1 << 20, Temporary: 1 << 20})
	must(f, d, "CREATE TABLE t(a)")
	f.Fuzz(func(t *testing.T, sql string) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		q := query(bytecode.SQLRows, sql)
		q.Params = make([]value.Value, len(q.Statement.Texts)-1)
		q.Meter = meter(1 << 20)
		outcome(t)(d.Query(ctx, "", q))
		entries, err := os.ReadDir(d.options.Folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), "main.db") {
				t.Fatalf("a file was made: %s", e.Name())
			}
		}
		checkSettings(t, d)
	})
}
