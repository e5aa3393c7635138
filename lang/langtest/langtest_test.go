package langtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ql/lang/source"
)

func TestConformance(t *testing.T) { RunAll(t, "testdata/*.qlt", nil) }

// only parses a file of one case.
func only(t *testing.T, text string) *Case {
	t.Helper()
	f, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Cases) != 1 {
		t.Fatalf("there are %d cases in it", len(f.Cases))
	}
	return f.Cases[0]
}

// TestCheck checks that a case that says what does not happen is found out.
func TestCheck(t *testing.T) {
	tests := []struct{ name, text, complaint string }{
		{"right", "EMIT 1\n--- output\n1", ""},
		{"right lines", "EMIT LINE 1\n--- lines\n1", ""},
		{"right quoted", "EMIT \"\\u0001\"\n--- output \"\\u0001\"", ""},
		{"right bytes", "EMIT FROM_HEX(\"ff\")\n--- output hex ff", ""},
		{"other output", "EMIT 1\n--- output\n2", "the output is"},
		{"output that nobody expects", "EMIT 1", "the output is"},
		{"output that is missing", "--- output\n2", "the output is"},
		{"a line end too many", "EMIT LINE 1\n--- output\n1", "the output is"},
		{"a line end too few", "EMIT 1\n--- lines\n1", "the output is"},
		{"bad hexadecimal", "EMIT 1\n--- output hex x", "encoding/hex"},
		{"bad quotes", "EMIT 1\n--- output \"x", "JSON text"},
		{"an error that nobody expects", "FAIL \"x\"", "error is"},
		{"no error", "--- error script_failed 1:1\nx", "did not happen"},
		{"another code", "FAIL \"x\"\n--- error other 1:1\nx", "error is"},
		{"another place", "FAIL \"x\"\n--- error script_failed 1:2\nx", "error is"},
		{"another message", "FAIL \"x\"\n--- error script_failed 1:1\ny", "error is"},
		{"another stack", "CALL f() DEFINE f() FAIL \"x\" END\n--- error script_failed 1:21\nx\n--- stack\ng", "stack is"},
		{"errors of the compiler that nobody expects", "EMIT ?x", "compile is"},
		{"no errors of the compiler", "EMIT 1\n--- output\n1\n--- compile\nx", "did not happen"},
		{"declined, and nobody expects it", "CONFIRM \"x\"\n--- host\nconfirm false", "declined happened"},
		{"not declined", "CONFIRM \"x\"\n--- host\nconfirm true\n--- declined", "did not happen"},
		{"other effects", "EMIT NOW()\n--- host\nnow 1\n--- output\n1\n--- effects\nuuid []", "effects is"},
		{"another trace", "SET ?x AS 1\n--- trace\nSET Ok Cpu 2", "trace is"},
		{"another number of steps", "SET ?x AS 1\n--- steps 2", "steps is"},
		{"another response", "--- response {}", "response is"},
		{"other cookies", "--- cookies {}", "cookies is"},
		{"no answer", "EMIT NOW()", "no answer is left"},
		{"an answer to something else", "EMIT NOW()\n--- host\nuuid 1", "the next answer is to uuid"},
		{"an answer too many", "EMIT NOW()\n--- host\nnow 1\nnow 2", "never asks"},
		{"an answer that is nothing", "EMIT NOW()\n--- host\nnow x", "neither JSON nor"},
		{"a limit without a number", "EMIT NOW()\n--- host\nnow limit fuel", "no number"},
		{"bytes without quotes", "EMIT NOW()\n--- host\nnow bytes x", "no JSON text"},
		{"a global that is no map", "--- get [1]", "takes a JSON object"},
		{"a limit that is none", "--- limits fule=1", "no limit"},
		{"a limit without a value", "--- limits fuel", "name=number"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := only(t, "=== x\n"+test.text)
			got := strings.Join(c.check(c.Run(Straight)), "\n")
			if test.complaint == "" && got != "" || !strings.Contains(got, test.complaint) {
				t.Errorf("got the complaint %q, want one with %q", got, test.complaint)
			}
		})
	}
}

// TestDifferences checks that runs that differ are told apart.
func TestDifferences(t *testing.T) {
	base := only(t, "=== x\nSET ?x AS NOW()\nEMIT ?x\n--- host\nnow 1")
	others := map[string]string{
		"the output":          "SET ?x AS NOW()\nEMIT ?x, 1\n--- host\nnow 1",
		"the status":          "SET ?x AS NOW()\nEMIT ?x\nFAIL \"x\"\n--- host\nnow 1",
		"the number of steps": "SET ?x AS NOW()\nEMIT ?x\nSET ?y AS 1\n--- host\nnow 1",
		"effects is":          "SET ?x AS UUID()\nEMIT ?x\n--- host\nuuid 1",
		"response is":         "SET ?x AS NOW()\nEMIT ?x\nSET \"status\" AS 200 OF !RESPONSE\n--- host\nnow 1",
		"the trace":           "SET ?x AS NOW()\n\nEMIT ?x\n--- host\nnow 1",
		"the state at effect": "SET ?y AS 2\nSET ?x AS NOW()\nEMIT ?x\n--- host\nnow 1",
		"no answer is left":   "SET ?x AS NOW()\nEMIT ?x",
	}
	r := base.Run(Straight)
	if d := r.differences(stored, base.Run(Straight)); d != nil {
		t.Errorf("the same run differs: %q", d)
	}
	for want, text := range others {
		got := strings.Join(r.differences(stored, only(t, "=== x\n"+text).Run(Straight)), "\n")
		if !strings.Contains(got, want) {
			t.Errorf("got the differences %q, want one with %q", got, want)
		}
	}
}

// TestFormat checks that the case files are written as the flag -update would
// write them.
func TestFormat(t *testing.T) {
	for _, file := range files(t, "testdata/*.qlt") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := load(t, file).format()
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
		if got != string(text) {
			t.Errorf("%s would be written otherwise", filepath.Base(file))
		}
	}
}

// TestAdopt checks that a case that has adopted what it does is content.
func TestAdopt(t *testing.T) {
	scripts := []string{
		"EMIT 1", "EMIT LINE 1\nEMIT LINE", "EMIT \"=== x\"", "EMIT \"a\\n--- output\\nb\"", "EMIT \"a \"", "EMIT \"\\r\"",
		"EMIT FROM_HEX(\"fffe\")", "FAIL \"x\"", "EMIT ?x", "CONFIRM \"x\"\n--- host\nconfirm false", "EMIT NOW()\n--- host\nnow 1\n--- effects\n--- trace\n--- steps 9",
		"EMIT 1\n--- error x\n--- declined\n--- compile\n--- output\n2", "\n\nEMIT 1\n\n--- output\n\n\n",
	}
	for _, script := range scripts {
		c := only(t, "=== x\n"+script)
		r := c.Run(Straight)
		c.adopt(r)
		text, err := (&File{Cases: []*Case{c}}).format()
		if err != nil {
			t.Errorf("%q: %v", script, err)
			continue
		}
		again := only(t, text)
		if complaints := again.check(again.Run(Straight)); len(complaints) > 0 {
			t.Errorf("%q, written as %q: %q", script, text, complaints)
		}
	}
}

func TestParse(t *testing.T) {
	f, err := Parse("A remark.\n--- output\nstill the remark\n\n=== one\nEMIT 1\n\n--- no section\n--- output\n1\n\n\n=== two\n--- include /a\nx\n--- include /b\ny")
	if err != nil {
		t.Fatal(err)
	}
	one, two := f.Cases[0], f.Cases[1]
	if one.Name != "one" || one.Line != 5 || one.Script != "EMIT 1\n\n--- no section" {
		t.Errorf("the first case is %+v", one)
	}
	if out, _ := one.output(); out != "1\n" {
		t.Errorf("its output is %q", out)
	}
	if two.Script != "" || len(two.sections) != 2 || two.sections[1] != (section{name: "include", arg: "/b", body: "y", line: 16}) {
		t.Errorf("the second case is %+v", two)
	}
	for _, text := range []string{"=== a\n=== a", "=== a\n--- output\n--- output\n", "=== a\n--- include /x\n--- include /x"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

// TestCarets checks that every error of the compiler can be shown with its
// place.
func TestCarets(t *testing.T) {
	n := 0
	for _, c := range Cases(t, "testdata/*.qlt") {
		for _, e := range c.Run(Straight).Compile {
			n++
			if !strings.Contains(e.Caret("script.ql"), "^") || e.Line < 1 || e.Column < 1 {
				t.Errorf("case %q: %s", c.Name, e.Caret("script.ql"))
			}
			if e.File == "" && source.NewFile("", c.Script).LineText(e.Line) != e.Source {
				t.Errorf("case %q: line %d is not %q", c.Name, e.Line, e.Source)
			}
		}
	}
	if n == 0 {
		t.Error("no case has an error of the compiler")
	}
}
