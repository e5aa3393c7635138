package syntax_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"ql/lang/source"
	"ql/lang/syntax"
)

// addCorpus seeds a fuzz target with all scripts of the tests.
func addCorpus(f *testing.F) {
	f.Helper()
	paths, err := filepath.Glob("testdata/*/*.ql")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, s := range samples {
		f.Add(s)
	}
	for _, s := range topSamples {
		f.Add(s)
	}
}

// Whatever the text, there is a script, and all positions lie in the text.
func FuzzParse(f *testing.F) {
	addCorpus(f)
	f.Fuzz(func(t *testing.T, text string) {
		file := source.NewFile("", text)
		script, errs := syntax.Parse(file)
		if script == nil {
			t.Fatal("no script")
		}
		end := source.Pos(len(file.Text))
		checkSpans(t, reflect.ValueOf(script.Statements), 0, end)
		last := source.Pos(0)
		for _, c := range script.Comments {
			if c.Start < last || c.Stop <= c.Start || c.Stop > end || file.Text[c.Start:c.Stop] != c.Text {
				t.Fatalf("comment %+v out of place", c)
			}
			last = c.Stop
		}
		if len(errs) > 20 {
			t.Errorf("%d errors", len(errs))
		}
		for _, e := range errs {
			if e.Line < 1 || e.Column < 1 || e.Column > utf8.RuneCountInString(e.Source)+1 || e.Message == "" {
				t.Errorf("error out of place: %+v", e)
			}
		}
	})
}

var spanType = reflect.TypeFor[syntax.Span]()

// checkSpans walks a tree: every node lies inside its parent.
func checkSpans(t *testing.T, v reflect.Value, start, end source.Pos) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			checkSpans(t, v.Elem(), start, end)
		}
	case reflect.Slice:
		for i := range v.Len() {
			checkSpans(t, v.Index(i), start, end)
		}
	case reflect.Struct:
		if f := v.FieldByName("Span"); f.IsValid() && f.Type() == spanType {
			s := f.Interface().(syntax.Span)
			if s.Start < start || s.Stop < s.Start || s.Stop > end {
				t.Fatalf("%s [%d, %d) outside its parent [%d, %d)", v.Type(), s.Start, s.Stop, start, end)
			}
			start, end = s.Start, s.Stop
		}
		for i := range v.NumField() {
			if v.Type().Field(i).Type != spanType {
				checkSpans(t, v.Field(i), start, end)
			}
		}
	}
}

// The parts of a SQL statement, put together again, are its text.
func FuzzSQL(f *testing.F) {
	for _, s := range samples {
		f.Add(s)
	}
	for _, s := range []string{
		"SELECT 'a''b', \"c\"\"d\", `e`, $$f;$$, $t$ ; $t$, a::text, b ?| c, d @> e, f !~ 'g', h[1:2] FROM t -- ; x\n WHERE i IN ( /* c */ ?x.y[?z] ) AND j NOT IN ?k;",
		"SELECT POSITION('a' IN ?x), !GET ('q').a[0], ?x.1 FROM t WHERE a IN (?b, ?c) OR a IN (!GET);",
		"UPDATE t SET row = ?r, value = 1 RETURNING * SET ROW ?x",
		"SELECT [it's], [c(d] FROM t ORDER BY {?by IN name, t.\"c d\", [e]} { !GET('dir') IN ASC, DESC };",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := source.NewFile("", text)
		script, errs := syntax.Parse(file)
		if len(errs) > 0 {
			return
		}
		for _, s := range script.Statements {
			if sql, ok := s.(*syntax.SQL); ok {
				checkSQL(t, file.Text, sql)
			}
		}
	})
}

func checkSQL(t *testing.T, text string, sql *syntax.SQL) {
	t.Helper()
	pos := sql.Start
	for i, part := range sql.Parts {
		if part.Start != pos || part.Stop <= part.Start {
			t.Fatalf("part %d starts at %d, not at %d", i, part.Start, pos)
		}
		pos = part.Stop
		span := text[part.Start:part.Stop]
		switch {
		case part.Param == nil:
			if part.Text != span || part.InList || part.Parens {
				t.Fatalf("part %d is %q, not %q", i, part.Text, span)
			}
			if i > 0 && sql.Parts[i-1].Param == nil {
				t.Fatalf("parts %d and %d are both texts", i-1, i)
			}
		case part.Choices != nil:
			if span[0] != '{' || span[len(span)-1] != '}' || part.InList || part.Among {
				t.Fatalf("part %d is %q", i, span)
			}
		case part.Parens:
			if span[0] != '(' || span[len(span)-1] != ')' || !part.InList {
				t.Fatalf("part %d is %q", i, span)
			}
		default:
			if part.Start != part.Param.Pos() || part.Stop != part.Param.End() || part.Text != "" {
				t.Fatalf("part %d is %q", i, span)
			}
		}
	}
	if !strings.HasPrefix(strings.ToUpper(sql.Parts[0].Text), sql.Head) {
		t.Fatalf("%q does not start with %s", sql.Parts[0].Text, sql.Head)
	}
	if last := sql.Parts[len(sql.Parts)-1]; last.Param == nil && strings.TrimRight(last.Text, " \t\n") != last.Text {
		t.Fatalf("%q ends with white space", last.Text)
	}
}
