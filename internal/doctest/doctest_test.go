// Package doctest proves that what the documentation says is true. It runs every
// script and program on its pages and every example, compares what they print with what the
// pages show, checks that the tables of functions, limits and error codes are
// those of the code, and that links lead somewhere. It holds tests only.
//
// # Scripts on pages
//
// A block ```ql is run by `ql run`, in a folder of its own. What follows the
// language are flags of that command, as in
//
//	```ql --get name=Ada
//
// and before them may stand
//
//	compile   the script is compiled, not run: what it needs is not there yet
//	as-is     the script is not in the written form, on purpose
//
// The blocks behind it, up to the next ```ql, say what must happen:
//
//	```output            what it prints; a line end at the end does not count
//	```error             how it fails: code line:column: message
//	```response          what it answers, as JSON
//	```trace             its steps: line, name, status and class
//	```csv file=/a.csv   the content of a file after it, in any language
//
// A script without ```error must end well. What a script finds in its folder
// stands in a comment, which holds up to the next such comment or heading ##:
//
//	<!-- given
//	-- /import/people.csv --
//	name
//	Ada
//	-- setup --
//	CREATE TABLE people (name TEXT);
//	-- answers --
//	[{"approved": true}]
//	-->
//
// A name with a slash is a file; setup is a script that is run before; answers
// and secrets are what --answers and --secrets take.
//
// Blocks ```console are commands, each after a $, with what they print. They are
// run in a folder that has a copy of examples/. A block ```console service is run
// beside `ql serve --dev`, on the data folder ql-data; what differs each time, as
// ids and durations do, is shown as the same thing always. A command curl that
// knows the few flags that pages use is there on every machine.
//
// # Programs
//
// Blocks ```python, ```javascript, ```php and ```go are whole programs. Each is run
// beside a service as a console is, and the block ```output behind it says what it
// prints. What runs them must be there: `make test` installs it where it may, and
// the tests fail where it is missing.
//
// # Other blocks
//
// A block ```toml is a file of settings, which must be right. The rest, as ```sh and
// ```text, only show something; a language that nothing is known of is a mistake.
//
// The flag -update rewrites what pages and examples say must happen by what
// happens, and the tables by what is in the code. The change is then to be read
// as if somebody else had written it.
package doctest

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ql/internal/cli"

	"github.com/rogpeppe/go-internal/testscript"
)

const root = "../.."

var update = flag.Bool("update", false, "rewrite what pages and examples say must happen")

// TestMain makes the command ql, as these tests were built with it, one of the
// programs that scripts and consoles find.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"ql":   func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"curl": curl,
	})
}

// pages returns the Markdown files of the project.
func pages(t *testing.T) []*page {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.md", "examples/*.md", "bench/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(name string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".md") {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []*page
	for _, name := range names {
		below, err := filepath.Rel(root, name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := readPage(root, filepath.ToSlash(below))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// save writes a page that -update has changed.
func (p *page) save(t *testing.T, edits []edit) {
	t.Helper()
	if len(edits) == 0 {
		return
	}
	if err := os.WriteFile(filepath.Join(root, p.name), []byte(p.apply(edits)), 0o644); err != nil {
		t.Fatal(err)
	}
}
