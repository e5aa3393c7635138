package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"ql/lang/bytecode"
	"ql/lang/value"
)

func TestRows(t *testing.T) {
	w := newWorld(t)
	w.files["/a.csv"] = "id,name\n1,Ada\n2,\"B, \"\"C\"\"\"\n"
	w.files["/ragged.csv"] = "id,name\n1,Ada\n2\n3,Cy\n"
	w.files["/latin.csv"] = "name\nM\xfcller\n"
	w.files["/a.jsonl"] = "{\"a\": 1}\n\n[2]\n{\n3\n"
	w.files["/a.txt"], w.files["/empty.csv"], w.files["/a.json"], w.files["/a.png"] = "one\r\ntwo\n\nfour", "", "[]", "x"
	for _, c := range []struct{ script, want string }{
		{`FOR ?r IN FILE "/a.csv" DO EMIT ?r.id, ?r.name, ";" END`, `1Ada;2B, "C";`},
		{`FOR ?r IN FILE "/a.csv" AS LINES AT ?n DO EMIT ?n, ?r, ";" END`, `1id,name;21,Ada;32,"B, ""C""";`},
		{`FOR ?r IN FILE "/ragged.csv" DO EMIT ?r.id END`, `1|bad_csv: /ragged.csv: this is not CSV: line 3 has 1 cell, the header line has 2`},
		{`TRY FOR ?r IN FILE "/ragged.csv" DO EMIT ?r.id END CATCH ?e EMIT ?e.code END`, `1bad_csv`},
		{`FOR ?r IN FILE "/ragged.csv" BAD ?bad DO EMIT ?r.id END EMIT ?bad`, `13[{"line":3,"message":"this is not CSV: line 3 has 1 cell, the header line has 2"}]`},
		{`FOR ?r IN FILE "/latin.csv" DO END`, `|not_text: /latin.csv: line 2 is not UTF-8 text: name its ENCODING, such as "windows-1252"`},
		{`FOR ?r IN FILE "/latin.csv" ENCODING "latin1" DO EMIT ?r.name END`, `Müller`},
		{`FOR ?r IN FILE "/latin.csv" ENCODING "latin2x" DO END`, `|bad_argument: there is no encoding "latin2x"; did you mean "latin2"?`},
		{`FOR ?r IN FILE "/latin.csv" ENCODING 1 DO END`, `|wrong_kind: the name that ENCODING takes is a text, not the number 1`},
		{`FOR ?r IN FILE "/a.jsonl" BAD ?bad AT ?n DO EMIT ?n, ?r, ";" END EMIT COUNT(?bad)`, `1{"a":1};3[2];53;1`},
		{`FOR ?r IN FILE "/a.txt" DO EMIT ?r, ";" END`, `one;two;;four;`},
		{`FOR ?r IN FILE "/empty.csv" DO EMIT "x" END`, ``},
		{`FOR ?r IN FILE "/a.json" DO END`, `|bad_argument: "/a.json" is one value of JSON by its ending: READ it, or write AS JSON LINES where each line is one`},
		{`FOR ?r IN FILE "/a.png" DO END`, `|bad_argument: "/a.png" has no rows by its ending: write AS CSV, AS LINES or AS JSON LINES where it has`},
		{`FOR ?r IN FILE "/none.csv" DO END`, `|file_not_found: there is no file /none.csv`},
		{`FOR ?r IN FILE 5 DO END`, `|wrong_kind: the path that FOR takes is a text, not the number 5`},
	} {
		if got := w.result(w.start(c.script)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.script, got, c.want)
		}
	}
}

// manyRows is a file of several pieces.
func manyRows(n int) string {
	var b strings.Builder
	b.WriteString("n,text\n")
	for i := range n {
		fmt.Fprintf(&b, "%d,%s\n", i, strings.Repeat("x", i%50))
	}
	return b.String()
}

// TestRowsAreOfTheFileThatWas goes through a file that its own loop replaces, with more loops
// inside it than may have their file open.
func TestRowsAreOfTheFileThatWas(t *testing.T) {
	w := newWorld(t)
	w.files["/a.csv"], w.files["/b.txt"] = manyRows(2_000), "x\n"
	run := w.start(`
		SET ?sum AS 0
		FOR ?r IN FILE "/a.csv" DO
			SET ?sum AS ?sum + NUMBER(?r.n)
			IF ?r.n = "0" THEN WRITE "n\n1\n" TO "/a.csv" END
			IF ?r.n IN ["1", "1000"] THEN
				FOR ?a IN FILE "/b.txt" DO FOR ?b IN FILE "/b.txt" DO FOR ?c IN FILE "/b.txt" DO FOR ?d IN FILE "/b.txt" DO
					FOR ?e IN FILE "/b.txt" DO EMIT ?a, ?e END
				END END END END
			END
		END
		EMIT ?sum`)
	if got := w.result(run); got != "xxxx1999000" {
		t.Errorf("got %s", got)
	}
	if len(run.readers) != 0 {
		t.Errorf("%d files are open", len(run.readers))
	}
}

// TestManyBadRows lists the first and counts the rest.
func TestManyBadRows(t *testing.T) {
	w := newWorld(t)
	w.files["/a.csv"] = "a,b\n" + strings.Repeat("1\n", 2_500) + "1,2\n"
	got := w.result(w.start(`FOR ?r IN FILE "/a.csv" BAD ?bad DO EMIT ?r.b, " " END EMIT COUNT(?bad), " ", ?bad[999].line, " ", LAST(?bad)`))
	if want := `2 1001 1001 {"line":null,"message":"and 1500 more","count":1500}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestRowsAreNotInTheJournal repeats a run from its journal, which is small, and from what its
// files were; without those it ends, whatever the script catches.
func TestRowsAreNotInTheJournal(t *testing.T) {
	const script = `
		SET ?sum AS 0
		TRY
			FOR ?r IN FILE "/a.csv" DO
				SET ?sum AS ?sum + NUMBER(?r.n)
				IF ?r.n % 1000 = 0 THEN WRITE ?sum TO "/sum.txt" END
			END
		CATCH ?e
			EMIT "caught"
		END
		EMIT ?sum`
	w := newWorld(t)
	w.files["/a.csv"] = manyRows(5_000)
	j := &recordingJournal{fakeJournal: fakeJournal{results: map[int64]Result{}}, changed: map[int64]Result{}}
	w.o.Journal = j
	script2 := strings.ReplaceAll(script, "?r.n % 1000", "NUMBER(?r.n) % 1000")
	first := w.start(script2)
	want := w.result(first)
	if want != "12497500" {
		t.Fatalf("got %s", want)
	}
	pieces := 0
	for _, r := range j.results {
		if r.Kind == bytecode.EffectFileRows {
			pieces++
			if value.SizeOf(r.Value) > 200 {
				t.Errorf("a piece has %d bytes in the journal", value.SizeOf(r.Value))
			}
		}
	}
	if pieces < 5_000/pieceRows {
		t.Errorf("%d pieces", pieces)
	}
	w.files["/a.csv"] = "n,text\n1,x\n"
	second := w.start(script2)
	if got := w.result(second); got != want || first.Machine().Fuel() != second.Machine().Fuel() {
		t.Errorf("repeated: %s, for %d and not %d", got, second.Machine().Fuel(), first.Machine().Fuel())
	}
	w.o.Files = lostFiles{w.files}
	if got := w.result(w.start(script2)); got != "|file_changed: the file is gone" {
		t.Errorf("without what the file was: %s", got)
	}
}

// lostFiles have lost what files were.
type lostFiles struct{ memoryFiles }

func (lostFiles) Held(context.Context, []byte) (FileContent, error) {
	return nil, value.Errorf(fileChanged, "the file is gone")
}

// TestRowsHoldLittle goes through a file that is larger than the script's memory.
func TestRowsHoldLittle(t *testing.T) {
	w := newWorld(t)
	w.files["/a.csv"] = manyRows(100_000)
	w.o.Files = plainFiles{w.files}
	w.limits.Memory, w.limits.Text = 1<<20, 100_000
	if got := w.result(w.start(`SET ?n AS 0 FOR ?r IN FILE "/a.csv" DO SET ?n AS ?n + 1 END EMIT ?n`)); got != "100000" {
		t.Errorf("got %s", got)
	}
	w.files["/a.csv"] = "a\n" + strings.Repeat("x", w.limits.Text+1) + "\n"
	if got := w.result(w.start(`FOR ?r IN FILE "/a.csv" DO END`)); !strings.Contains(got, "limit_exceeded: /a.csv: line 2: a row has at most") {
		t.Errorf("a long row: %.200s", got)
	}
}

// plainFiles are never changed: the path of a file says what it was.
type plainFiles struct{ memoryFiles }

func (f plainFiles) Hold(ctx context.Context, path string) (FileContent, error) {
	c, err := f.memoryFiles.Hold(ctx, path)
	if err != nil {
		return nil, err
	}
	return memoryContent{c.(memoryContent).Reader, []byte(path)}, nil
}

func (f plainFiles) Held(ctx context.Context, ref []byte) (FileContent, error) {
	return f.Hold(ctx, string(ref))
}

// TestBadRowFile refuses what no loop keeps.
func TestBadRowFile(t *testing.T) {
	for _, v := range []value.Value{value.Null, value.NewMap(nil, 0).Value()} {
		if _, err := rowFileOf(nil, v); !errors.Is(err, errBadRowFile) {
			t.Errorf("%s: %v", value.AppendJSON(nil, v), err)
		}
	}
}
