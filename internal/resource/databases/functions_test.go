package databases

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
)

// openOriginal opens a database with the library's own functions.
func openOriginal(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	return db
}

// TestFunctionsAsSQLite compares the functions that are replaced with those
// that they replace.
func TestFunctionsAsSQLite(t *testing.T) {
	t.Parallel()
	d := open(t, Options{})
	original := openOriginal(t)

	texts := []string{"NULL", "''", "'a'", "'abcabc'", "'bc'", "'  a b  '", "'äöüä'", "'ä'", "'ü'", "x'6162'", "x''", "12.50", "7", "'-f0-0f-'", "'-'", "' '", "'F00F'", "'👋x👋'", "'👋'"}
	var calls []string
	for _, a := range texts {
		for _, b := range texts {
			for _, f := range []string{"instr", "trim", "ltrim", "rtrim", "unhex"} {
				calls = append(calls, fmt.Sprintf("%s(%s, %s)", f, a, b))
			}
			calls = append(calls, fmt.Sprintf("replace(%s, %s, 'zz')", a, b), fmt.Sprintf("replace('abcabc', %s, %s)", a, b))
		}
	}
	// Bytes that are parts of characters; the results are numbers.
	parts := []string{"'ä'", "'aä'", "'ää'", "x'a4'", "x'c3'", "x'a4a4'", "x'80c3a4'", "x'a4c3a4'", "x''", "'a'"}
	for _, a := range parts {
		for _, b := range parts {
			calls = append(calls, fmt.Sprintf("instr(%s, %s)", a, b))
		}
	}
	for _, rows := range []string{
		"(SELECT 1 AS a, 2 AS b WHERE 0)",
		"(SELECT 'x' AS a, 1 AS b UNION ALL SELECT 'y', NULL UNION ALL SELECT NULL, 3 UNION ALL SELECT 'ä\"\\', 2.5)",
		"(SELECT 1 AS a, json('[1]') AS b UNION ALL SELECT 2, json_object('k', 1))",
		"(SELECT 'k' AS a, '[1]' AS b UNION ALL SELECT 'k', 1e300)",
		"(SELECT 'a,]' AS a, '}\",[' AS b UNION ALL SELECT 'b\"', '\\\"' UNION ALL SELECT 'c\\', '\\' UNION ALL SELECT 'd', '{,')",
		"(SELECT 1 AS a, 1.0 AS b UNION ALL SELECT 2, 9e999 UNION ALL SELECT 3, -9e999)",
	} {
		calls = append(calls,
			"(SELECT json_group_array(b) FROM "+rows+")",
			"(SELECT json_group_object(a, b) FROM "+rows+")",
			"(SELECT json_array(json_group_array(b), json_group_object(a, a)) FROM "+rows+")",
			"(SELECT group_concat(w, ';') FROM (SELECT json_group_array(b) OVER (ORDER BY a ROWS 1 PRECEDING) AS w FROM "+rows+"))",
			"(SELECT group_concat(w, ';') FROM (SELECT json_group_object(a, b) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS w FROM "+rows+"))",
			"(SELECT json_group_array(b) FILTER (WHERE b > 1) FROM "+rows+")",
		)
	}
	for _, call := range calls {
		// typeof and quote show what the value is to the bit.
		sql := "SELECT typeof(" + call + ") || ' ' || quote(" + call + ") AS v"
		var want string
		if err := original.QueryRowContext(t.Context(), sql).Scan(&want); err != nil {
			t.Fatalf("%s: %v", call, err)
		}
		got := rows(t, d, sql)
		if wanted := `[{"v":` + quoted(want) + `}]`; got != wanted {
			t.Errorf("%s: got %s, want %s", call, got, wanted)
		}
	}
	t.Logf("%d calls", len(calls))
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
