package databases

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ql/lang/bytecode"
	"ql/lang/value"
)

func TestLimitsInPlainWords(t *testing.T) {
	d := open(t, Options{})
	for i := range maxTriggers + 2 {
		must(t, d, fmt.Sprintf("CREATE TABLE chain%d(a)", i))
	}
	for i := range maxTriggers + 1 {
		must(t, d, fmt.Sprintf("CREATE TRIGGER t%d AFTER INSERT ON chain%d BEGIN INSERT INTO chain%d VALUES (1); END", i, i, i+1))
	}
	from := "(SELECT 1 AS x)" + strings.Repeat(", (SELECT 1)", 70)
	for _, c := range []struct {
		sql  string
		name string
		most int64
	}{
		{"SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", maxSelects), "sql_selects", maxSelects},
		{"SELECT 1" + strings.Repeat("+1", maxDepth), "sql_depth", maxDepth},
		{"SELECT " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000), "sql_depth", maxDepth},
		{"SELECT 1" + strings.Repeat(",1", MaxColumns), "sql_columns", MaxColumns},
		{"CREATE TABLE w(" + numbered(MaxColumns+1) + ")", "sql_columns", MaxColumns},
		{"SELECT 1 AS x ORDER BY 1" + strings.Repeat(",1", MaxColumns), "sql_columns", MaxColumns},
		{"SELECT max(1" + strings.Repeat(",1", maxArguments) + ")", "sql_arguments", maxArguments},
		{"SELECT 'x' LIKE '" + strings.Repeat("x", maxPattern+1) + "'", "sql_pattern", maxPattern},
		{"INSERT INTO chain0 VALUES (1)", "sql_triggers", maxTriggers},
		{"SELECT 1 FROM " + from, "sql_tables", maxTables},
		{"SELECT 1 FROM " + from + strings.Repeat(", chain0", 200), "sql_from", maxFrom},
		{"SELECT '" + strings.Repeat("x", MaxSQL) + "'", "sql_bytes", MaxSQL},
	} {
		_, err := d.Query(t.Context(), "", query(bytecode.SQLRows, c.sql))
		var e *value.Error
		if !errors.As(err, &e) || e.Code != limitExceeded || e.Limit == nil || e.Limit.Name != c.name || e.Limit.Max != c.most {
			t.Errorf("%.60s: %v", c.sql, err)
			continue
		}
		if !strings.Contains(e.Message, fmt.Sprint(c.most)) {
			t.Errorf("%.60s: the message names no number: %s", c.sql, e.Message)
		}
	}
	for _, sql := range []string{
		"SELECT 1 AS n" + strings.Repeat(" UNION ALL SELECT 1", maxSelects-1),
		"SELECT max(1" + strings.Repeat(",1", maxArguments-1) + ") AS n",
		"SELECT 'x' LIKE '" + strings.Repeat("x", maxPattern) + "' AS n",
	} {
		must(t, d, sql)
	}
	if got := rows(t, d, `SELECT * FROM "too many columns"`); got != "no_such_table" {
		t.Errorf("a table that is called like a limit: %s", got)
	}
}

// numbered is a first row of so many columns.
func numbered(columns int) string {
	var names []string
	for i := range columns {
		names = append(names, fmt.Sprintf("c%d", i))
	}
	return strings.Join(names, ",")
}
