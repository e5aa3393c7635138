package doctest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ql/internal/cli"
	"ql/lang/format"
	"ql/lang/lib"
)

// example is a script of a page, or a program that sends one, with what it must
// do.
type example struct {
	script   *block
	expected []*block
}

var expectations = []string{"output", "error", "response", "trace"}

// examples pairs the scripts of a page with the blocks that say what they do.
func (p *page) examples() ([]example, error) {
	var all []example
	for i := range p.blocks {
		b := &p.blocks[i]
		_, isFile := b.word("file")
		_, isProgram := languages()[b.lang]
		switch {
		case b.lang == "ql", isProgram:
			all = append(all, example{script: b})
		case !isFile && !slices.Contains(expectations, b.lang):
		case len(all) == 0:
			return nil, fmt.Errorf("%d: no script stands before this block", b.line())
		default:
			e := &all[len(all)-1]
			e.expected = append(e.expected, b)
		}
	}
	return all, nil
}

// TestScripts runs the scripts and the programs of all pages.
func TestScripts(t *testing.T) {
	for _, p := range pages(t) {
		examples, err := p.examples()
		if err != nil {
			t.Fatalf("%s:%v", p.name, err)
		}
		if len(examples) == 0 {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			var edits []edit
			for _, e := range examples {
				t.Run(fmt.Sprintf("line %d", e.script.line()), func(t *testing.T) {
					r := e.try(t, p.name)
					if *update {
						edits = append(edits, r.edits...)
						r.differences = nil
					}
					for _, complaint := range slices.Concat(r.differences, r.failures) {
						t.Error(complaint)
					}
				})
			}
			p.save(t, edits)
		})
	}
}

// report is what is wrong with an example.
type report struct {
	failures    []string
	differences []string // of what is and what the page says
	edits       []edit   // of the page, that would make it right
}

// differ notes that a block of the page says something else than what is.
func (r *report) differ(page string, b *block, got string) {
	if b.text == got {
		return
	}
	r.differences = append(r.differences, fmt.Sprintf("%s:%d: the %s is\n%s\nwant\n%s", page, b.line()+1, b.lang, indented(got), indented(b.text)))
	r.edits = append(r.edits, edit{b.from, b.to, got})
}

// try runs one script or program and compares.
func (e example) try(t *testing.T, page string) *report {
	t.Helper()
	if lang, ok := languages()[e.script.lang]; ok {
		return e.call(t, page, lang)
	}
	words := e.script.words
	take := func(word string) bool {
		if len(words) == 0 || words[0] != word {
			return false
		}
		words = words[1:]
		return true
	}
	asIs := take("as-is")
	compiles := take("compile")

	account := newFolder(t, e.script.given)
	var got *outcome
	if compiles {
		got = account.check(t, e.script.text)
	} else {
		got = account.run(t, e.script.text, words)
	}
	r := &report{}
	if !asIs {
		r.differ(page, e.script, written(e.script.text))
	}
	fails := false
	for _, b := range e.expected {
		if path, ok := b.word("file"); ok {
			r.differ(page, b, account.content(t, path))
			continue
		}
		switch b.lang {
		case "output":
			r.differ(page, b, strings.TrimSuffix(got.output, "\n"))
		case "error":
			fails = true
			r.differ(page, b, got.err)
		case "response":
			r.differ(page, b, got.response)
		case "trace":
			r.differ(page, b, strings.Join(got.trace, "\n"))
		}
	}
	switch {
	case !fails && got.err != "":
		r.failures = append(r.failures, fmt.Sprintf("%s:%d: the script fails:\n%s", page, e.script.line()+1, indented(got.err)))
	case fails && got.err == "":
		r.failures = append(r.failures, fmt.Sprintf("%s:%d: the script should fail, and does not", page, e.script.line()+1))
	}
	return r
}

func indented(s string) string { return "\t" + strings.ReplaceAll(s, "\n", "\n\t") }

// written returns a script in the written form, or as it is where it does not
// even parse, which is told where it is run.
func written(script string) string {
	o := format.Options{IsBuiltin: func(name string) bool {
		_, ok := lib.Lookup(name)
		return ok
	}}
	text, errs := o.Source("", script)
	if len(errs) > 0 {
		return script
	}
	return strings.TrimSuffix(text, "\n")
}

// folder is an account's folder with what a given puts into it.
type folder struct {
	data             string
	answers, secrets string // files, "" where there are none
}

func newFolder(t *testing.T, given []file) *folder {
	t.Helper()
	f := &folder{data: t.TempDir()}
	for _, g := range given {
		switch g.name {
		case "setup":
			if got := f.run(t, g.text, nil); got.err != "" {
				t.Fatalf("the setup fails: %s", got.err)
			}
		case "answers":
			f.answers = filepath.Join(t.TempDir(), "answers.json")
			writeFile(t, f.answers, g.text)
		case "secrets":
			f.secrets = filepath.Join(t.TempDir(), "secrets.json")
			writeFile(t, f.secrets, g.text)
		default:
			if !strings.HasPrefix(g.name, "/") {
				t.Fatalf("a given knows setup, answers, secrets and paths, not %q", g.name)
			}
			writeFile(t, filepath.Join(f.data, filepath.FromSlash(g.name)), g.text)
		}
	}
	return f
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// content returns what a file holds, without its last line end.
func (f *folder) content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.data, filepath.FromSlash(path)))
	if errors.Is(err, fs.ErrNotExist) {
		return "(there is no such file)"
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(text), "\n")
}

// outcome is what became of a script.
type outcome struct {
	output   string
	err      string // code line:column: message, one line each; "" where it ended well
	response string // JSON
	trace    []string
}

func (f *folder) run(t *testing.T, script string, flags []string) *outcome {
	t.Helper()
	args := []string{"run", "--json", "--data", f.data}
	if f.answers != "" {
		args = append(args, "--answers", f.answers)
	}
	if f.secrets != "" {
		args = append(args, "--secrets", f.secrets)
	}
	return command(t, append(append(args, flags...), "-"), script)
}

func (f *folder) check(t *testing.T, script string) *outcome {
	t.Helper()
	return command(t, []string{"check", "--json", "--data", f.data, "-"}, script)
}

// command runs ql and reads the JSON that it prints.
func command(t *testing.T, args []string, stdin string) *outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cli.Main(args, strings.NewReader(stdin), &stdout, &stderr)
	var answer struct {
		Status   string          `json:"status"`
		Result   string          `json:"result"`
		Response json.RawMessage `json:"response"`
		Error    *problem        `json:"error"`
		Errors   []problem       `json:"errors"`
		Trace    []struct {
			Step   string `json:"step"`
			Status string `json:"status"`
			Class  string `json:"exec_class"`
			Line   int    `json:"line"`
		} `json:"trace"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil {
		t.Fatalf("ql %s: %v\n%s%s", strings.Join(args, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	o := &outcome{output: answer.Result, response: string(answer.Response)}
	for _, s := range answer.Trace {
		o.trace = append(o.trace, fmt.Sprintf("%d %s %s %s", s.Line, s.Step, s.Status, s.Class))
	}
	problems := answer.Errors
	if e := answer.Error; e != nil {
		if problems = e.Details; len(problems) == 0 {
			problems = []problem{*e}
		}
	}
	var lines []string
	for _, e := range problems {
		lines = append(lines, e.String())
	}
	o.err = strings.Join(lines, "\n")
	if o.err == "" && answer.Status != "ok" {
		o.err = answer.Status
	}
	return o
}

// problem is an error as the commands print it.
type problem struct {
	Code    string    `json:"code"`
	Message string    `json:"message"`
	File    string    `json:"file"`
	Line    int       `json:"line"`
	Column  int       `json:"column"`
	Details []problem `json:"details"`
}

func (e problem) String() string {
	code := e.Code
	if code == "" {
		code = "syntax_error" // those of the compiler are all of this code
	}
	place := fmt.Sprintf("%d:%d", e.Line, e.Column)
	if strings.HasPrefix(e.File, "/") {
		place = e.File + ":" + place
	}
	return fmt.Sprintf("%s %s: %s", code, place, e.Message)
}
