package rows

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"ql/lang/value"

	"golang.org/x/text/encoding/htmlindex"
)

func meter() *value.Meter {
	m := &value.Meter{Bounds: value.Bounds{Text: 1 << 20, Elements: 1 << 16, Nesting: 100}, Memory: 1 << 30, BytesLeft: 1 << 30, Reserve: 1 << 40, TotalFuel: 1 << 40}
	m.End()
	return m
}

// read is what came of a text: its rows as JSON, each with its line, and what was wrong.
func read(t testing.TB, r *Reader) (rows []string) {
	t.Helper()
	m := meter()
	for {
		bad, err := r.Next(m)
		if errors.Is(err, io.EOF) {
			return rows
		}
		var known *value.Error
		if errors.As(err, &known) {
			return append(rows, "!"+known.Code+": "+known.Message)
		}
		if err != nil {
			t.Fatal(err)
		}
		var v value.Value
		if bad == nil {
			v, bad = r.Value(m)
		}
		if bad != nil {
			rows = append(rows, fmt.Sprintf("%d !%s: %s", r.Line(), bad.Code, bad.Message))
			continue
		}
		rows = append(rows, fmt.Sprintf("%d %s", r.Line(), value.AppendJSON(nil, v)))
	}
}

func readText(t testing.TB, text string, o Options) []string {
	t.Helper()
	r, err := New(meter(), strings.NewReader(text), o)
	if err != nil {
		return []string{"!" + err.Error()}
	}
	return read(t, r)
}

func TestRows(t *testing.T) {
	csv, lines, json := Options{Format: CSV}, Options{Format: Lines}, Options{Format: JSONLines}
	for _, c := range []struct {
		name, text string
		o          Options
		want       []string
	}{
		{"nothing", "", csv, nil},
		{"no rows", "a,b\n", csv, nil},
		{"a mark of the byte order", "\uFEFFa\n1\n", csv, []string{`2 {"a":"1"}`}},
		{"line ends", "a\r1\r\n2\n\n\r\n3", csv, []string{`2 {"a":"1"}`, `3 {"a":"2"}`, `6 {"a":"3"}`}},
		{"a quote inside a cell", "a,b\n37°36'37.8\"N,\"\"\n", csv, []string{`2 {"a":"37°36'37.8\"N","b":""}`}},
		{"quotes", "a,b\n\"x \"\"y\"\"\nz\",1\n2,3", csv, []string{`2 {"a":"x \"y\"\nz","b":"1"}`, `4 {"a":"2","b":"3"}`}},
		{"ragged", "a,b\n1\n2,3\n4,5,6\n", csv, []string{
			"2 !bad_csv: this is not CSV: line 2 has 1 cell, the header line has 2", `3 {"a":"2","b":"3"}`,
			"4 !bad_csv: this is not CSV: line 4 has 3 cells, the header line has 2",
		}},
		{"after a quote", "a\n\"x\"y,\n2\n", csv, []string{
			"2 !bad_csv: this is not CSV: line 2 goes on after a closing quote: inside quotes, a quote is written twice", `3 {"a":"2"}`,
		}},
		{"an open quote", "a,b\n1,\"x\n2,3\n4,5", csv, []string{
			"2 !bad_csv: this is not CSV: line 2 opens a quote that is never closed", `3 {"a":"2","b":"3"}`, `4 {"a":"4","b":"5"}`,
		}},
		{"an open quote behind others", "a,b\n\"x\ny\",\"\n2,3\n", csv, []string{
			"2 !bad_csv: this is not CSV: line 3 opens a quote that is never closed", `4 {"a":"2","b":"3"}`,
		}},
		{"two columns of a name", "a,a\n", csv, []string{`!this is not CSV: line 1 names two columns "a"`}},
		{"not text", "a\nx\xff\ny\n", csv, []string{
			`2 !not_text: line 2 is not UTF-8 text: name its ENCODING, such as "windows-1252"`, `3 {"a":"y"}`,
		}},
		{"a long row", "a\n" + strings.Repeat("x", 100), Options{Format: CSV, MaxRow: 10}, []string{"!limit_exceeded: line 2: a row has at most 10 bytes, and this one has more"}},
		{"a long open quote", "a\n\"x\n" + strings.Repeat("1\n", 100_000), Options{Format: CSV, MaxRow: 80_000}, append([]string{
			"2 !bad_csv: this is not CSV: line 2 opens a quote that is not closed within 80000 bytes",
		}, numbered(3, 100_000, `{"a":"1"}`)...)},

		{"lines", "\uFEFFa\r\n\nb\rc", lines, []string{`1 "a"`, `2 ""`, `3 "b\rc"`}},
		{"a long line", "ab\n" + strings.Repeat("x", 11) + "\n", Options{Format: Lines, MaxRow: 10}, []string{`1 "ab"`, "!limit_exceeded: line 2: a row has at most 10 bytes, and this one has more"}},
		{"a line that is not text", "a\n\xe4\nb", lines, []string{`1 "a"`, `2 !not_text: line 2 is not UTF-8 text: name its ENCODING, such as "windows-1252"`, `3 "b"`}},

		{"JSON", "{\"a\":1}\n\n [1,\"x\"]\r\nnull", json, []string{`1 {"a":1}`, `3 [1,"x"]`, `4 null`}},
		{"no JSON", "1\n{\n2\n", json, []string{`1 1`, "2 !bad_json: line 2: this is not JSON: a key in quotes is missing, found the end of the text at line 1, column 2", `3 2`}},

		{"latin1", "a\nM\xfcller \x80\n", Options{Format: CSV, Encoding: "Latin1"}, []string{`2 {"a":"Müller €"}`}},
		{"UTF-16 by its mark", utf16("\uFEFFa\nü\n𝄞\n"), csv, []string{`2 {"a":"ü"}`, `3 {"a":"𝄞"}`}},
		{"UTF-16 by its name", utf16("a\nü"), Options{Format: CSV, Encoding: "utf-16"}, []string{`2 {"a":"ü"}`}},
		{"half a character", utf16("a\nü") + "x", Options{Format: Lines, Encoding: "utf-16le"}, []string{`1 "a"`, "2 \"ü\uFFFD\""}},
		{"no encoding", "", Options{Format: CSV, Encoding: "latin-l"}, []string{`!there is no encoding "latin-l"; did you mean "latin1"?`}},
		{"no encoding at all", "", Options{Format: CSV, Encoding: "the usual one"}, []string{`!there is no encoding "the usual one": usual ones are "utf-8", "utf-16", "latin1" and "windows-1252"`}},
		{"an encoding that nobody should read", "", Options{Format: CSV, Encoding: "iso-2022-kr"}, []string{`!there is no encoding "iso-2022-kr": usual ones are "utf-8", "utf-16", "latin1" and "windows-1252"`}},
		{"an encoding with states", "", Options{Format: CSV, Encoding: "iso-2022-jp"}, []string{`!there is no encoding "iso-2022-jp": usual ones are "utf-8", "utf-16", "latin1" and "windows-1252"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := readText(t, c.text, c.o)
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got[:min(len(got), 20)], "\n"), strings.Join(c.want[:min(len(c.want), 20)], "\n"))
			}
		})
	}
}

func numbered(from, n int, row string) (rows []string) {
	for i := range n {
		rows = append(rows, fmt.Sprintf("%d %s", from+i, row))
	}
	return rows
}

func utf16(text string) string {
	e, _ := htmlindex.Get("utf-16le")
	s, err := e.NewEncoder().String(text)
	if err != nil {
		panic(err)
	}
	return s
}

// TestSpectrum reads the files of csv-spectrum, which has one for each thing that readers of
// CSV get wrong.
func TestSpectrum(t *testing.T) {
	files, err := filepath.Glob("testdata/spectrum/*.csv")
	if err != nil || len(files) != 12 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(strings.TrimSuffix(name, ".csv") + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range readText(t, string(text), Options{Format: CSV}) {
			_, row, _ := strings.Cut(row, " ")
			got = append(got, row)
		}
		if is := strings.Join(got, "\n") + "\n"; is != string(want) {
			t.Errorf("%s: got\n%swant\n%s", name, is, want)
		}
	}
}

// TestResume goes on from the place behind every row, as if there had been no break.
func TestResume(t *testing.T) {
	long := strings.Repeat("ä", 40_000)
	for _, c := range []struct {
		text string
		o    Options
	}{
		{"\uFEFFa,b\r\n1,\"x\ny\"\n\n2\n\"3\"\"\",ü\r\n\"4,\n5,6\n" + long + "," + long + "\n7,8", Options{Format: CSV}},
		{"a\n\nb\r\n" + long + "\nend", Options{Format: Lines}},
		{"1\n\n{}\n{\n\"" + long + "\"\n3", Options{Format: JSONLines}},
		{utf16("\uFEFFa,b\n1,𝄞\n2\n" + long + ",x\n3,4"), Options{Format: CSV}},
		{encode(t, "iso-8859-15", "a,b\n1,€\n"+strings.Repeat("ä,ö\r\n", 20_000)+"2,ü"), Options{Format: CSV, Encoding: "latin9"}},
		{encode(t, "shift_jis", "あ,b\n1,日本\n"+strings.Repeat("語,x\n", 10_000)+"2,い"), Options{Format: CSV, Encoding: "sjis"}},
		{encode(t, "gb18030", "a,b\n1,中\n2,𝄞\n3,x"), Options{Format: CSV, Encoding: "gb18030"}},
	} {
		checkResume(t, c.text, c.o, 17)
	}
}

func encode(t testing.TB, name, text string) string {
	e, err := htmlindex.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checkResume reads a text at once, by single bytes, and with a break behind every so many
// rows.
func checkResume(t testing.TB, text string, o Options, every int) {
	t.Helper()
	r, err := New(meter(), strings.NewReader(text), o)
	if err != nil {
		return
	}
	head, place := r.Head(), r.Place()
	want := read(t, r)
	slow, err := New(meter(), iotest.OneByteReader(strings.NewReader(text)), o)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, slow); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("by bytes: %.300q, want %.300q", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var got []string
	for n := 0; ; n++ {
		if n > len(want)+1 {
			t.Fatalf("it does not come to an end: %+v", place)
		}
		m := meter()
		r, err := Resume(m, bytes.NewReader([]byte(text)[place.Offset:]), o, head, place)
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for ; rows < 1+n%every*len(want)/100; rows++ {
			bad, err := r.Next(m)
			if errors.Is(err, io.EOF) {
				break
			}
			var known *value.Error
			if errors.As(err, &known) {
				got = append(got, "!"+known.Code+": "+known.Message)
				break
			}
			var v value.Value
			if bad == nil {
				v, bad = r.Value(m)
			}
			if bad != nil {
				got = append(got, fmt.Sprintf("%d !%s: %s", r.Line(), bad.Code, bad.Message))
				continue
			}
			got = append(got, fmt.Sprintf("%d %s", r.Line(), value.AppendJSON(nil, v)))
		}
		if rows == 0 || r.Place() == place {
			break
		}
		place = r.Place()
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("in parts: %d rows %.300q, want %d %.300q", len(got), strings.Join(got, "\n"), len(want), strings.Join(want, "\n"))
	}
}

// TestMemory reads a long text and holds little of it.
func TestMemory(t *testing.T) {
	m := meter()
	const rows = 100_000
	r, err := New(m, io.LimitReader(&repeated{text: []byte("some text,1\n")}, rows*12), Options{Format: CSV, MaxRow: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	n := 1 // the first row names the columns
	for ; ; n++ {
		if _, err := r.Next(m); err != nil {
			break
		}
	}
	if held := len(r.text) + cap(r.buf); n != rows || held > 4*block {
		t.Errorf("%d rows, %d bytes held", n, held)
	}
}

// repeated is a text that never ends.
type repeated struct {
	text []byte
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r.text[r.at]
		r.at = (r.at + 1) % len(r.text)
	}
	return len(p), nil
}

// FuzzRows reads anything, in one go and in parts, with the same rows.
func FuzzRows(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "a\r\"x\r\ny\"\r\n\n", "\uFEFFa\n\"\"", "a,a", "a\n\"", "a\n\"x\"y\nz", "a\nx\"", "\xff\xfea\x00\n\x00b", "{\"a\":1}\n\n2"} {
		for format := range 3 {
			f.Add([]byte(s), uint8(format), "")
		}
		f.Add([]byte(s), uint8(0), "windows-1252")
	}
	f.Fuzz(func(t *testing.T, text []byte, format uint8, encoding string) {
		if len(text) > 1<<12 {
			return
		}
		o := Options{Format: []Format{CSV, Lines, JSONLines}[format%3], Encoding: encoding, MaxRow: 1 << 11}
		checkResume(t, string(text), o, 3)
	})
}
