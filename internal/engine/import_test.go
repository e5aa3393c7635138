package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"ql/lang/value"
)

func TestImportList(t *testing.T) {
	for _, c := range []struct{ script, want, log string }{
		{`SET ?r AS [{a: 1, b: "x"}, {b: null, c: 2.5}] IMPORT ?r INTO t SET ?n EMIT ?n`, `{"rows":2,"skipped":0}`,
			`main: import t [{a INTEGER} {b TEXT} {c REAL}] [a b]=[1,"x"] [b c]=[null,2.5]`},
		{`IMPORT [{a: 1, b: TRUE, c: [1], d: 1}, {a: 2.5, b: FALSE, c: "x", d: "x", e: NULL}] INTO t`, ``,
			`main: import t [{a REAL} {b BOOLEAN} {c TEXT} {d } {e }] [a b c d]=[1,true,[1],1] [a b c d e]=[2.5,false,"x","x",null]`},
		{`SET ?r AS NULL IMPORT ?r INTO t SET ?n EMIT ?n.rows`, `0`, `main: import t []`},
		{`SET ?r AS 1 IMPORT ?r INTO t`, `|wrong_kind: IMPORT takes a list of maps, not the number 1`, ``},
		{`IMPORT [{a: 1}, 2] INTO t`, `|wrong_kind: IMPORT takes a list of maps: at index 1 is the number 2`, ``},
	} {
		w := newWorld(t)
		if got := w.result(w.start(c.script)); got != c.want {
			t.Errorf("%s: %s, want %s", c.script, got, c.want)
		}
		if got := strings.Join(w.database.log, "\n"); got != c.log {
			t.Errorf("%s: %s, want %s", c.script, got, c.log)
		}
	}
}

func TestImportFile(t *testing.T) {
	for _, c := range []struct{ path, content, clauses, want, log string }{
		{"/a.csv", "name,city\nAda,\n\"Bob, Jr.\",Rome\n", "", `{"rows":2,"skipped":0}`,
			`main: import t [{name TEXT} {city TEXT}] [name city]=["Ada",null] [name city]=["Bob, Jr.","Rome"]`},
		{"/a.csv", "name\n", "", `{"rows":0,"skipped":0}`, `main: import t [{name TEXT}]`},
		{"/a.csv", "", "", `{"rows":0,"skipped":0}`, `main: import t []`},
		{"/a.csv", "a,b\n1,2\n3\n4,5\n", "", "|bad_csv: /a.csv: this is not CSV: line 3 has 1 cell, the header line has 2", ""},
		{"/a.csv", "a,b\n1,2\n3\n4,5\n", "BAD ?bad", `{"rows":2,"skipped":1}[{"line":3,"message":"this is not CSV: line 3 has 1 cell, the header line has 2"}]`,
			`main: import t [{a TEXT} {b TEXT}] [a b]=["1","2"] [a b]=["4","5"]`},
		{"/a.txt", "a\nb\xe9\n", `AS CSV ENCODING "latin1"`, `{"rows":1,"skipped":0}`, `main: import t [{a TEXT}] [a]=["bé"]`},
		{"/a.csv", "a\nb\xe9\n", ``, "|not_text: /a.csv: line 2 is not UTF-8 text: name its ENCODING, such as \"windows-1252\"", ""},
		{"/a.jsonl", "{\"a\":1}\n\n{\"b\":[2],\"a\":2.5}\n", "", `{"rows":2,"skipped":0}`, `main: import t [{a REAL} {b TEXT}] [a]=[1] [b a]=[[2],2.5]`},
		{"/a.ndjson", "{\"a\":1}\n7\n{\n", "BAD ?bad", `{"rows":1,"skipped":2}`, `main: import t [{a INTEGER}] [a]=[1]`},
		{"/a.ndjson", "{\"a\":1}\n7\n", "", "|wrong_kind: /a.ndjson: line 2: IMPORT takes a map on each line, not the number 7", ""},
		{"/a.txt", "a", "", `|bad_argument: "/a.txt" does not end in .csv, .jsonl or .ndjson: write AS CSV or AS JSON LINES`, ""},
		{"/a.csv", "a", `ENCODING "latin"`, "|bad_argument: ", ""},
	} {
		w := newWorld(t)
		w.files[c.path] = c.content
		script := fmt.Sprintf("IMPORT FILE %q INTO t %s SET ?r EMIT ?r", c.path, c.clauses)
		if strings.Contains(c.clauses, "BAD") {
			script += ", ?bad"
		}
		if got := w.result(w.start(script)); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s of %q: %s, want %s", script, c.content, got, c.want)
		}
		if got := strings.Join(w.database.log, "\n"); got != c.log {
			t.Errorf("%s of %q: %s, want %s", script, c.content, got, c.log)
		}
	}
}

// TestImportFileIsReadInPieces imports many times what a script may hold, and lists no more of
// what is bad than it may.
func TestImportFileIsReadInPieces(t *testing.T) {
	w := newWorld(t)
	w.limits.Memory = 1 << 20
	w.o.Databases = forgetful{w.database}
	w.files["/a.csv"] = "a,b\n" + strings.Repeat(strings.Repeat("x", 99)+",y\n", 50_000)
	w.files["/a.jsonl"] = strings.Repeat(`{"a":"`+strings.Repeat("x", 99)+"\"}\n", 50_000)
	w.files["/bad.csv"] = "a,b\n" + strings.Repeat("x\n", 1_234)
	for script, want := range map[string]string{
		`IMPORT FILE "/a.csv" INTO t SET ?r EMIT ?r`:                                                 `{"rows":50000,"skipped":0}`,
		`IMPORT FILE "/a.jsonl" INTO t SET ?r EMIT ?r`:                                               `{"rows":50000,"skipped":0}`,
		`IMPORT FILE "/bad.csv" INTO t BAD ?bad SET ?r EMIT ?r, COUNT(?bad), ?bad[-1], ?bad[0].line`: `{"rows":0,"skipped":1234}1001{"line":null,"message":"and 234 more","count":234}2`,
	} {
		if got := w.result(w.start(script)); got != want {
			t.Errorf("%s: %s, want %s", script, got, want)
		}
	}
}

// forgetful takes rows as a database does, and keeps none.
type forgetful struct{ Databases }

func (forgetful) Import(_ context.Context, _ string, im Import) (value.Value, error) {
	im.Meter.Begin()
	if _, err := im.Rows.Columns(); err != nil {
		return value.Null, err
	}
	for rows := int64(0); ; rows++ {
		_, _, err := im.Rows.Next()
		if errors.Is(err, io.EOF) {
			return im.Rows.Result(rows), nil
		}
		if err != nil {
			return value.Null, err
		}
	}
}
