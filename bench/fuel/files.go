package main

import (
	"fmt"
	"strings"
)

// fileRows are loops through files, imports, and rows that go into files.
func fileRows() []row {
	csv := func(rows int, line string) string { return "id,n,t\n" + strings.Repeat(line+"\n", rows) }
	wide := func(columns int) string {
		header := make([]string, columns)
		for i := range header {
			header[i] = fmt.Sprintf("c%d", i)
		}
		return strings.Join(header, ",") + "\n" + strings.Repeat(strings.Repeat("a,", columns-1)+"a\n", 100)
	}
	files := map[string]string{
		"/empty.csv":   "",
		"/one.csv":     csv(1, "1,2,name"),
		"/many.csv":    csv(10_000, "1,2,name of it"),
		"/quoted.csv":  csv(10_000, `1,2,"a ""name"" of it"`),
		"/cells.csv":   csv(10, "1,2,"+strings.Repeat("a", 100_000)),
		"/quotes.csv":  csv(10, `1,2,"`+strings.Repeat(`""`, 50_000)+`"`),
		"/wide.csv":    wide(500),
		"/hundred.csv": wide(100),
		"/bad.csv":     csv(10_000, "1"),
		"/utf16.csv":   "\xff\xfe" + strings.Repeat("a\x00,\x00b\x00\n\x00", 10_000),
		"/sjis.csv":    "a,b\n" + strings.Repeat("\x93\xfa\x96\x7b,x\n", 10_000),
		"/blank.txt":   strings.Repeat("\n", 50_000),
		"/lines.txt":   strings.Repeat("a line of words\n", 10_000),
		"/long.txt":    strings.Repeat(strings.Repeat("a", 500_000)+"\n", 4),
		"/é.txt":       strings.Repeat(strings.Repeat("é", 250_000)+"\n", 4),
		"/many.jsonl":  strings.Repeat(`{"id":1,"n":2.5,"t":"name of it"}`+"\n", 10_000),
		"/tiny.jsonl":  strings.Repeat("1\n", 20_000),
		"/list.jsonl":  strings.Repeat("["+strings.Repeat("1,", 50_000)+"1]\n", 4),
		"/deep.jsonl":  strings.Repeat(strings.Repeat("[", 60)+strings.Repeat("]", 60)+"\n", 2_000),
		"/bad.jsonl":   strings.Repeat(`{"id":1,`+"\n", 10_000),
	}
	var rows []row
	add := func(family, name, body string) {
		rows = append(rows, row{name: family + ": " + name, setup: fileSetup, body: body, files: files})
	}
	for _, r := range [][2]string{
		{"empty", `"/empty.csv"`}, {"one row", `"/one.csv"`}, {"csv", `"/many.csv"`}, {"csv with quotes", `"/quoted.csv"`}, {"long cells", `"/cells.csv"`},
		{"cells of quotes", `"/quotes.csv"`}, {"500 columns", `"/wide.csv"`}, {"csv with lines", `"/many.csv" AT ?line`}, {"rows that are bad", `"/bad.csv" BAD ?bad`},
		{"utf-16", `"/utf16.csv" BAD ?bad`}, {"shift_jis", `"/sjis.csv" ENCODING "shift_jis"`}, {"blank lines", `"/blank.txt"`}, {"lines", `"/lines.txt"`},
		{"long lines", `"/long.txt"`}, {"long lines of é", `"/é.txt"`}, {"json lines", `"/many.jsonl"`}, {"small json lines", `"/tiny.jsonl"`},
		{"long json lines", `"/list.jsonl"`}, {"deep json lines", `"/deep.jsonl"`}, {"bad json lines", `"/bad.jsonl" BAD ?bad`},
	} {
		add("for in file", r[0], "FOR ?row IN FILE "+r[1]+" DO END")
	}
	// More loops inside one another than have their file open.
	add("for in file", "inside one another", strings.Repeat(`FOR ?row IN FILE "/one.csv" DO `, 6)+strings.Repeat("END ", 6))
	add("for in file", "opened again", `FOR ?row IN FILE "/many.csv" DO IF ?row.id = "1" THEN BREAK END END`)
	for _, r := range [][2]string{
		{"one row", `FILE "/one.csv" INTO imported`}, {"csv", `FILE "/many.csv" INTO imported`}, {"csv with quotes", `FILE "/quoted.csv" INTO imported`},
		{"long cells", `FILE "/cells.csv" INTO imported`}, {"json lines", `FILE "/many.jsonl" INTO imported`}, {"rows that are bad", `FILE "/bad.csv" INTO imported BAD ?bad`},
		{"a list", `?list INTO imported`}, {"a list of one", `?one INTO imported`}, {"values that are maps", `?nested INTO imported`},
	} {
		add("import", r[0], "TRANSACTION DELETE FROM imported; IMPORT "+r[1]+" END")
	}
	add("import", "into a new table", `TRANSACTION IMPORT FILE "/many.csv" INTO made DROP TABLE made; END`)
	add("import", "100 columns into a new table", `TRANSACTION IMPORT FILE "/hundred.csv" INTO made DROP TABLE made; END`)
	for _, r := range [][3]string{
		{"no row", `SELECT id FROM nums WHERE id < 0`, "csv"}, {"csv", `SELECT id, n, t FROM nums`, "csv"}, {"json lines", `SELECT id, n, t FROM nums`, "jsonl"},
		{"large texts", `SELECT t FROM big`, "csv"}, {"large texts as json", `SELECT t FROM big`, "jsonl"}, {"texts of quotes", `SELECT replace(t, 'a', '"') FROM big`, "csv"},
		{"fractions", `SELECT id / 7.0, n / 3.0 FROM nums`, "csv"},
	} {
		add("set file", r[0], r[1]+` SET FILE "/out.`+r[2]+`"`)
	}
	return rows
}

const fileSetup = sqlSetup + `
CREATE TABLE IF NOT EXISTS imported (id INTEGER, n INTEGER, t TEXT);
SET ?one AS [{id: 1, n: 2, t: "name"}]
SET ?list AS MAP(RANGE(1, 5000), ?i -> {id: ?i, n: 2, t: "name of it"})
SET ?nested AS MAP(RANGE(1, 1000), ?i -> {id: ?i, t: RANGE(1, 50)})`
