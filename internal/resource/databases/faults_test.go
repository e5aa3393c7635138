package databases

import (
	"strings"
	"testing"

	"ql/lang/bytecode"
	"ql/lang/value"
)

// message runs SQL that shall fail, and returns what it says.
func message(t *testing.T, d *Databases, sql string, params ...value.Value) string {
	t.Helper()
	v, err := d.Query(t.Context(), "", query(bytecode.SQLRows, sql, params...))
	if err == nil {
		t.Fatalf("%s gives %s", sql, value.AppendJSON(nil, v))
	}
	outcome(t)(v, err)
	return err.Error()
}

// TestDefinitionThatCannotBeRead: SQLite takes this definition, writes it down as CREATE TABLE IF(a),
// and cannot read that.
func TestDefinitionThatCannotBeRead(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE t(a)")
	for _, sql := range []string{"CREATE TABLE IF NOT EXISTS IF(a)", "CREATE VIEW IF NOT EXISTS IF AS SELECT 1"} {
		if got := rows(t, d, sql); got != sqlError {
			t.Errorf("%s: %s", sql, got)
		}
		if got := message(t, d, sql); !strings.Contains(got, `"IF" cannot be called so`) || !strings.Contains(got, "double quotes") {
			t.Errorf("%s: %s", sql, got)
		}
	}
	must(t, d, `CREATE TABLE IF NOT EXISTS "IF"(a)`)
	if got := must(t, d, "SELECT name FROM sqlite_schema ORDER BY name"); got != `[{"name":"IF"},{"name":"t"}]` {
		t.Errorf("there is %s", got)
	}
}

func TestRowNumbersUsedUp(t *testing.T) {
	d := open(t, Options{MaxBytes: 1 << 20})
	must(t, d, "CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, a)")
	must(t, d, "CREATE TABLE u(a)")
	must(t, d, "CREATE TRIGGER copies AFTER INSERT ON u BEGIN INSERT INTO t(a) VALUES (new.a); END")
	must(t, d, "INSERT INTO t VALUES (9223372036854775807, 1)")
	for _, sql := range []string{"INSERT INTO t(a) VALUES (2)", "INSERT INTO u VALUES (2)"} {
		if got := rows(t, d, sql); got != "row_numbers_used" {
			t.Errorf("%s: %s", sql, got)
		}
		if got := message(t, d, sql); !strings.Contains(got, `"t"`) {
			t.Errorf("%s: %s", sql, got)
		}
	}
	must(t, d, "INSERT INTO t VALUES (7, 2)")
	must(t, d, "DROP TRIGGER copies")
	// A database that is full is told as before.
	const many = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 3000) INSERT INTO u SELECT hex(zeroblob(500)) FROM c"
	if got := rows(t, d, many); got != "database_full" {
		t.Errorf("a full database: %s", got)
	}
}

// TestLastInsertRowIDInTriggers: it tells of the statement's own rows, and of nothing else.
func TestLastInsertRowIDInTriggers(t *testing.T) {
	d := open(t, Options{})
	for _, sql := range []string{
		"CREATE TABLE a(id INTEGER PRIMARY KEY, n)", "CREATE TABLE b(id INTEGER PRIMARY KEY, n)", "CREATE TABLE log(what, id)",
		"CREATE TRIGGER inserted AFTER INSERT ON a BEGIN INSERT INTO log VALUES ('a', last_insert_rowid()); INSERT INTO b(id, n) VALUES (new.id + 100, 1); INSERT INTO log VALUES ('b', last_insert_rowid()); END",
		"CREATE TRIGGER updated AFTER UPDATE ON a BEGIN INSERT INTO log VALUES ('u', last_insert_rowid()); END",
		"CREATE VIEW seen AS SELECT last_insert_rowid() AS id",
	} {
		must(t, d, sql)
	}
	if got := must(t, d, "INSERT INTO a(id) VALUES (7)"); got != `{"changes":1,"last_id":7}` {
		t.Error(got)
	}
	if got := must(t, d, "SELECT what, id FROM log WHERE what <> 'u' ORDER BY what"); got != `[{"what":"a","id":7},{"what":"b","id":107}]` {
		t.Error(got)
	}
	for _, sql := range []string{"UPDATE a SET n = 2", "UPDATE a SET n = 2 RETURNING id", "SELECT * FROM seen"} {
		if got := message(t, d, sql); !strings.Contains(got, "last_insert_rowid() has no value here") {
			t.Errorf("%s: %s", sql, got)
		}
	}
	if got := must(t, d, "INSERT INTO b(id) VALUES (0)"); got != `{"changes":1,"last_id":0}` {
		t.Error(got)
	}
	if got := must(t, d, "DELETE FROM b"); got != `{"changes":2,"last_id":null}` {
		t.Error(got)
	}
}

func TestDuplicateColumns(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE users(id INTEGER PRIMARY KEY, name)")
	must(t, d, `CREATE TABLE "my orders"(id INTEGER PRIMARY KEY, user_id)`)
	must(t, d, "INSERT INTO users VALUES (1, 'Ada')")
	must(t, d, `INSERT INTO "my orders" VALUES (1, 1)`)
	for sql, want := range map[string]string{
		`SELECT * FROM users JOIN "my orders" o ON o.user_id = users.id`: `the columns 1 (users.id) and 3 (my orders.id) of the result are both called "id": give one another name, as in "my orders".id AS "my orders_id"`,
		`SELECT o.id, u.name, u.id FROM users u, "my orders" o`:          `the columns 1 (my orders.id) and 3 (users.id) of the result are both called "id": give one another name, as in users.id AS users_id`,
		`SELECT 1 AS n, 2 AS n`:                       `the columns 1 and 2 of the result are both called "n": give one another name, as in … AS n_2`,
		`SELECT a.name, b.name FROM users a, users b`: `the columns 1 (users.name) and 2 (users.name) of the result are both called "name": give one another name, as in … AS name_2`,
	} {
		if got := message(t, d, sql); got != want {
			t.Errorf("%s:\n got %s\nwant %s", sql, got, want)
		}
	}
}

func TestNamesInBrackets(t *testing.T) {
	d := open(t, Options{})
	must(t, d, "CREATE TABLE [it's]([c(d], [a;b])")
	must(t, d, "INSERT INTO [it's] VALUES (1, 2)")
	if got := must(t, d, "SELECT [c(d], [a;b] FROM [it's]"); got != `[{"c(d":1,"a;b":2}]` {
		t.Error(got)
	}
}
