package doctest

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// language is one in which pages show how the service is called.
type language struct {
	file    string   // as what a program is stored
	command []string // what runs it, before the name of the file
	from    string   // the package that has the command
}

// languages are those of blocks that are programs, by the word behind the fence.
func languages() map[string]language {
	return map[string]language{
		"go":         {file: "hello.go", command: []string{"go", "run"}, from: "golang"},
		"javascript": {file: "hello.mjs", command: []string{"node"}, from: "nodejs"},
		"php":        {file: "hello.php", command: []string{"php"}, from: "php-cli"},
		"python":     {file: "hello.py", command: []string{"python3"}, from: "python3"},
	}
}

// call runs a program beside a service of its own and compares what it prints.
func (e example) call(t *testing.T, page string, lang language) *report {
	t.Helper()
	r := &report{}
	if e.script.lang == "go" {
		r.differ(page, e.script, gofmt(e.script.text))
	}
	var output *block
	for _, b := range e.expected {
		if b.lang != "output" || output != nil {
			r.failures = append(r.failures, fmt.Sprintf("%s:%d: a program has one output, and no %s beside it", page, b.line(), b.lang))
			continue
		}
		output = b
	}
	if output == nil {
		r.failures = append(r.failures, fmt.Sprintf("%s:%d: what the program prints is not shown: a block ```output says it", page, e.script.line()))
		return r
	}
	printed, err := lang.run(t, e.script.text)
	if err != nil {
		r.failures = append(r.failures, fmt.Sprintf("%s:%d: %v", page, e.script.line(), err))
		return r
	}
	r.differ(page, output, strings.TrimSuffix(printed, "\n"))
	return r
}

// run returns what a program prints, made the same each time.
func (l language) run(t *testing.T, program string) (string, error) {
	t.Helper()
	command, err := exec.LookPath(l.command[0])
	if err != nil {
		return "", fmt.Errorf("%s is missing, which runs this block: install the package %s, or run make test as root, which does", l.command[0], l.from)
	}
	folder := t.TempDir()
	here, shownAs := bootService(t, folder)
	file := filepath.Join(folder, l.file)
	writeFile(t, file, here.Replace(program)+"\n")

	c := exec.CommandContext(t.Context(), command, slices.Concat(l.command[1:], []string{file})...)
	c.Dir = folder
	// The service is on this machine, whatever proxy leads out of it.
	c.Env = append(c.Environ(), "no_proxy=127.0.0.1", "NO_PROXY=127.0.0.1")
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err = c.Run()
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed):
		return "", fmt.Errorf("the program fails (%w) and says\n%s", failed, indented(shownAs(stdout.String()+stderr.String())))
	case err != nil:
		return "", err
	}
	return shownAs(stdout.String()), nil
}

// gofmt returns a Go program in the written form, or as it is where it does not
// even parse, which is told where it is run.
func gofmt(program string) string {
	text, err := format.Source([]byte(program + "\n"))
	if err != nil {
		return program
	}
	return strings.TrimSuffix(string(text), "\n")
}
