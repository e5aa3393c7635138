package source

import (
	"slices"
	"strings"
	"testing"
)

func TestPosition(t *testing.T) {
	f := NewFile("", "\uFEFFa\r\nbé€x\rlast")
	if f.Text != "a\nbé€x\nlast" {
		t.Fatalf("text is %q", f.Text)
	}
	for _, c := range []struct {
		at         string
		line, want int
	}{{"a", 1, 1}, {"b", 2, 1}, {"x", 2, 4}, {"last", 3, 1}, {"t", 3, 4}} {
		line, col := f.Position(Pos(strings.LastIndex(f.Text, c.at)))
		if c.at == "a" {
			line, col = f.Position(0)
		}
		if line != c.line || col != c.want {
			t.Errorf("%q stands at %d:%d, want %d:%d", c.at, line, col, c.line, c.want)
		}
	}
	if line, col := f.Position(Pos(len(f.Text))); line != 3 || col != 5 {
		t.Errorf("the end stands at %d:%d", line, col)
	}
	if got := f.LineText(2); got != "bé€x" {
		t.Errorf("line 2 is %q", got)
	}
	for p := range Pos(len(f.Text) + 1) {
		before, want := f.Before(p), NewFile("", f.Text[:p])
		if before.Text != want.Text || !slices.Equal(before.lines, want.lines) {
			t.Errorf("before %d: %+v, not %+v", p, before, want)
		}
	}
}

func TestCaret(t *testing.T) {
	long := strings.Repeat("a", 500) + "?nmae" + strings.Repeat("b", 500)
	for _, c := range []struct {
		name, text, word, want string
	}{
		{"plain", "EMIT ?nmae", "?nmae", "1:6: wrong\n    EMIT ?nmae\n         ^~~~~\n"},
		{"tab", "\tEMIT ?nmae", "?nmae", "1:7: wrong\n    \tEMIT ?nmae\n    \t     ^~~~~\n"},
		{"wide", "EMIT 'é€', ?nmae", "?nmae", "1:12: wrong\n    EMIT 'é€', ?nmae\n               ^~~~~\n"},
		{"control", "EMIT \x1b[2J ?nmae", "?nmae", "1:11: wrong\n    EMIT \uFFFD[2J ?nmae\n              ^~~~~\n"},
		{"long", long, "?nmae", "1:501: wrong\n    …" + strings.Repeat("a", 60) + "?nmae" + strings.Repeat("b", 55) + "…\n" + strings.Repeat(" ", 4+61) + "^~~~~\n"},
	} {
		f := NewFile("", c.text)
		at := Pos(strings.Index(f.Text, c.word))
		var errs Errors
		errs.Add(f, at, at+Pos(len(c.word)), "wrong")
		if got := errs[0].Caret(""); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	main, lib := NewFile("", "a\nb\n"), NewFile("/lib.ql", "c\n")
	var errs Errors
	errs.Add(lib, 0, 1, "in the library")
	errs.Add(main, 2, 3, "second")
	errs.Add(main, 0, 1, "first")
	errs.Add(main, 0, 1, "again at the same place")
	errs.Sort()
	var got []string
	for _, e := range errs {
		got = append(got, e.Error())
	}
	want := "1:1: first|2:1: second|/lib.ql:1:1: in the library"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("sorted: %s, want %s", s, want)
	}
	if s := errs.Err().Error(); s != "1:1: first (and 2 more)" {
		t.Errorf("as one error: %s", s)
	}
	if Errors(nil).Err() != nil {
		t.Error("no errors are an error")
	}
}

func TestNearest(t *testing.T) {
	names := []string{"name", "total", "Order", "é"}
	for _, c := range []struct{ word, want string }{
		{"nmae", "name"}, {"NAME", "name"}, {"totl", "total"}, {"ordre", "Order"}, {"xyzzy", ""}, {"n", ""}, {"", ""},
	} {
		if got := Nearest(c.word, names); got != c.want {
			t.Errorf("Nearest(%q) = %q, want %q", c.word, got, c.want)
		}
	}
}
