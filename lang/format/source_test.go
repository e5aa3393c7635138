package format

import (
	"strings"
	"testing"

	"ql/lang/source"
	"ql/lang/syntax"
)

func TestSource(t *testing.T) {
	tests := []struct {
		name, text, want, err string
	}{
		{"formats", "emit  1", "EMIT 1\n", ""},
		{"nothing", " \n\t\n", "", ""},
		{"does not parse", "EMIT 1 +", "", "job.ql:1:"},
		{"a second statement does not parse", "EMIT 1\nEMIT", "", "job.ql:2:"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, errs := Source("job.ql", test.text)
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			switch {
			case test.err == "" && errs != nil:
				t.Errorf("failed: %v", errs)
			case test.err != "" && (errs == nil || !strings.HasPrefix(errs.Error(), test.err)):
				t.Errorf("got the error %v, want %s…", errs, test.err)
			}
		})
	}
}

func TestNamesOfFunctions(t *testing.T) {
	const text = "emit upper(Lower(mine(Own(1)))) define own(?x) return ?x end define Upper(?x) return ?x end"
	const rest = "DEFINE own(?x)\n  RETURN ?x\nEND\nDEFINE Upper(?x)\n  RETURN ?x\nEND\n"
	tests := []struct {
		name    string
		options Options
		want    string
	}{
		{"none known", Options{}, "EMIT upper(Lower(mine(Own(1))))\n"},
		{"known, save those of the script", builtins, "EMIT upper(LOWER(mine(Own(1))))\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, errs := test.options.Source("", text)
			if errs != nil {
				t.Fatal(errs)
			}
			if want := test.want + rest; got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

func TestSame(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{"EMIT 1", "emit   1;", true},
		{"EMIT 1 -- a", "-- a\nEMIT 1", true},
		{"EMIT 1 /* a\n   b */", "EMIT 1 /* a\n b */", true},
		{"EMIT 1", "EMIT 2", false},
		{"EMIT 1 EMIT 2", "EMIT 1, 2", false},
		{`EMIT "a"`, `EMIT "A"`, false},
		{"EMIT 1 -- a", "EMIT 1", false},
		{"EMIT 1 -- a\n-- b", "EMIT 1 -- b\n-- a", false},
		{"SELECT 1;", "SELECT  1;", false},
	}
	for _, test := range tests {
		a, _ := syntax.Parse(source.NewFile("", test.a))
		b, _ := syntax.Parse(source.NewFile("", test.b))
		if got := same(a, b); got != test.want {
			t.Errorf("same(%q, %q) = %v", test.a, test.b, got)
		}
	}
}

// TestGoldenLines holds the golden files to the width and to lines that do not
// end in a blank; none of them has a reason not to.
func TestGoldenLines(t *testing.T) {
	for _, file := range files(t, "testdata/*.out.ql") {
		for i, l := range strings.Split(read(t, file), "\n") {
			if width(l) > maxWidth {
				t.Errorf("%s:%d: %d columns", file, i+1, width(l))
			}
			if strings.TrimRight(l, " \t") != l {
				t.Errorf("%s:%d: ends in a blank", file, i+1)
			}
		}
	}
}

func BenchmarkScript(b *testing.B) {
	var text strings.Builder
	for _, file := range files(b, "../syntax/testdata/scripts/*.ql") {
		// SQL at a script's end needs none, but an end it gets by formatting.
		out, errs := Source(file, read(b, file))
		if errs != nil {
			b.Fatal(errs)
		}
		text.WriteString(out)
	}
	s := parse(b, "all scripts", text.String())
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		Script(s)
	}
}
