package engine

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"ql/lang/value"
)

func TestFormatsByEnding(t *testing.T) {
	for path, want := range map[string]format{
		"/a.json":       formatJSON,
		"/a.JSON":       formatJSON,
		"/x/a.b.csv":    formatCSV,
		"/a.jsonl":      formatLines,
		"/a.log":        formatLines,
		"/a.md":         formatText,
		"/a.png":        formatBytes,
		"/a.unknown":    formatAny,
		"/a":            formatAny,
		"/folder.csv/a": formatAny,
	} {
		if got := formatOf(path); got != want {
			t.Errorf("formatOf(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		format  format
		content string
		want    string
	}{
		{formatText, "\uFEFFa\r\nb", `"a\r\nb"`},
		{formatText, "\xff", `! not_text`},
		{formatAny, "\xff", `"/w=="`},
		{formatAny, "é", `"é"`},
		{formatBytes, "é", `"w6k="`},
		{formatJSON, "\uFEFF [1]\n", `[1]`},
		{formatJSON, "", `! bad_json`},
		{formatJSON, "\xff", `! not_text`},
		{formatCSV, "\uFEFFa;b\n1;2\n", `[{"a;b":"1;2"}]`},
		{formatLines, "", `[]`},
		{formatLines, "a", `["a"]`},
		{formatLines, "a\n", `["a"]`},
		{formatLines, "a\r\n\nb\n\n", `["a","","b",""]`},
		{formatLines, "\n", `[""]`},
	} {
		v, err := decode(nil, "/f", tt.format, []byte(tt.content))
		got := string(value.AppendJSON(nil, v))
		if e := (*value.Error)(nil); errors.As(err, &e) {
			got = "! " + e.Code
		}
		if got != tt.want {
			t.Errorf("decode %s of %q: got %s, want %s", tt.format, tt.content, got, tt.want)
		}
	}
}

// FuzzLines: what is written as lines is read as the same lines.
func FuzzLines(f *testing.F) {
	f.Add("a|b|")
	f.Add("|\t| ")
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || strings.HasPrefix(text, byteOrderMark) {
			return
		}
		list := value.NewList(nil, 0)
		for part := range strings.SplitSeq(text, "|") {
			list.Append(nil, value.Text(part))
		}
		content, err := encode(nil, formatLines, list.Value())
		if strings.ContainsAny(text, "\r\n") {
			if err == nil {
				t.Fatalf("%q was written with a line end inside a line", text)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		back, err := decode(nil, "/f", formatLines, content)
		if err != nil || !value.Equal(nil, back, list.Value()) {
			t.Fatalf("%q came back as %s, %v", text, value.AppendJSON(nil, back), err)
		}
	})
}
