// Package langtest tests the language in the language: it runs case files,
// plain text with scripts and what each must do. It is for tests alone, of
// this package and of others that have scripts to run; what a case means to a
// real host is the host's to test.
//
// # Case files
//
// A file is a series of cases. What stands before the first is a remark.
//
//	=== name of the case
//	the script
//	--- section with an argument
//	the section's text
//
// The blank line before a === belongs to neither side. Sections that a script
// is given:
//
//	--- get {"page":"2"}       likewise post, cookie and request: its globals
//	--- body [1, 2]            !BODY
//	--- files {"photo":[]}     !FILES
//	--- input {"qty":"2"}      what its INPUT FIELDS are given; !INPUT where it has none
//	--- include /lib/tax.ql    the text of a file that the script includes
//	--- limits fuel=1000       limits other than those of Limits: text, elements,
//	                           nesting, pattern, pattern_cost, fuel, memory,
//	                           call_depth, output, trace_first, trace_last
//	--- host                   answers to the effects that the script asks for, one a
//	                           line, in their order: the effect's name, and
//	                               JSON             the result is this value
//	                               bytes "a\n"      the result is these bytes
//	                               error code text  it fails so that TRY may catch it
//	                               limit name 5     it ends the run at a limit
//	                               broken text      it fails inside the host
//	                               cancel           the run is cancelled meanwhile
//	                               paused           it is never answered
//
// Effects without a result (WRITE, WAIT, SET OF !SESSION, …) need no answer.
//
// Sections that say what must happen:
//
//	--- output                 what is emitted, exactly, without a line end at its end
//	--- lines                  the same, with a line end at its end
//	--- output "a\u0000b"      the same as a JSON text
//	--- output hex 00ff0a      the same, for what is no UTF-8
//	--- error code 2:6         the run fails there with the message that follows
//	--- stack                  the calls that led to the error, innermost first
//	--- declined               the run ends at a CONFIRM
//	--- compile                the errors of the compiler, one a line
//	--- refused                what is wrong with the input, a field a line
//	--- effects                all effects asked for, with their arguments
//	--- trace                  all steps: name, status, class and line
//	--- steps 12               how many statements have begun
//	--- response {"status":404}
//	--- cookies {"theme":"dark"}
//
// A case without output must emit nothing, and one without error, declined,
// compile or refused must end well; the others are looked at where they stand.
//
// In effects, the parameters of SQL are written $1, $2, … in its text, and
// $1... where a parameter means the members of a list.
//
// Whatever a case says, it must do so in other ways of running it too: stopped,
// stored and restored at every effect; with no step traced and with every step
// traced; compiled, stored and loaded.
//
// The flag -update rewrites what files say must happen by what happens, here
// and in the golden files of other packages. The change is then to be read as
// if somebody else had written it.
package langtest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"ql/lang/vm"
)

var update = flag.Bool("update", false, "rewrite what the case files say must happen")

// Run runs the cases of a file, each as a subtest, under the rules of a host,
// which may be nil.
func Run(t *testing.T, file string, rules vm.Rules) {
	t.Helper()
	f := load(t, file)
	changed := false
	for _, c := range f.Cases {
		c.Rules = rules
		t.Run(c.Name, func(t *testing.T) {
			r := c.Run(Straight)
			complaints := c.check(r)
			if *update && len(complaints) > 0 {
				c.adopt(r)
				changed = true
				complaints = nil
			}
			for _, s := range complaints {
				t.Errorf("%s:%d: %s", file, c.Line, s)
			}
			for _, w := range otherWays {
				for _, s := range r.differences(w, c.Run(w)) {
					t.Errorf("%s:%d: %s: %s", file, c.Line, w, s)
				}
			}
		})
	}
	if !changed {
		return
	}
	text, err := f.format()
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// RunAll runs the files that match a pattern, of which there must be one.
func RunAll(t *testing.T, pattern string, rules vm.Rules) {
	t.Helper()
	for _, file := range files(t, pattern) {
		t.Run(filepath.Base(file), func(t *testing.T) { Run(t, file, rules) })
	}
}

// Golden compares a text with the file that holds what it must be. The flag
// -update writes the file.
func Golden(t testing.TB, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is\n%s\nand not\n%s", file, indent(got), indent(string(want)))
	}
}

// Cases returns the cases of all files that match a pattern, for tests that do
// something else with their scripts.
func Cases(t testing.TB, pattern string) []*Case {
	t.Helper()
	var all []*Case
	for _, file := range files(t, pattern) {
		all = append(all, load(t, file).Cases...)
	}
	return all
}

func files(t testing.TB, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Fatalf("no file matches %s", pattern)
	}
	return names
}

func load(t testing.TB, file string) *File {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse(string(text))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return f
}
