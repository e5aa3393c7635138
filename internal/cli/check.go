package cli

import (
	"fmt"

	"ql/lang"
	"ql/lang/source"
)

// checkCommand is ql check.
type checkCommand struct {
	Files []string `arg:"" name:"file" help:"Scripts, folders of scripts, or - for standard input."`
	Data  string   `default:"." env:"QL_FOLDER" placeholder:"DIR" help:"The account's folder, in which INCLUDE finds files (${default})."`
}

// Run implements the command.
func (k *checkCommand) Run(c *console) (err error) {
	files, err := scriptFiles(k.Files)
	if err != nil {
		return err
	}
	folder, err := openFolder(k.Data)
	if err != nil {
		return err
	}
	defer folder.close(&err)
	found, warnings := []problemJSON{}, []problemJSON{}
	for _, name := range files {
		text, err := c.readScript(name, maxScript)
		if err != nil {
			return err
		}
		found = append(found, c.problems(name, lang.Check(text, lang.Options{Include: folder.include(c.ctx)}))...)
		warnings = append(warnings, c.warn(name, text)...)
	}
	if c.json {
		c.printProblems(found, warnings)
	}
	if len(found) > 0 {
		return &failure{code: exitUsage}
	}
	return nil
}

// problems shows the errors of the script of that name to people, and returns
// them for programs.
func (c *console) problems(name string, errs source.Errors) []problemJSON {
	var found []problemJSON
	for _, e := range errs {
		found = append(found, newProblem(name, e))
		if !c.json {
			fmt.Fprint(c.err, e.Caret(shownName(name)))
		}
	}
	return found
}

// warn shows the warnings of a script to people, and returns them for programs. They change
// nothing else.
func (c *console) warn(name, text string) (list []problemJSON) {
	for _, e := range lang.Warnings(text) {
		list = append(list, newProblem(name, e))
		if !c.json {
			e.Message = "warning: " + e.Message
			fmt.Fprint(c.err, e.Caret(shownName(name)))
		}
	}
	return list
}

// printProblems tells a program what was found.
func (c *console) printProblems(found, warnings []problemJSON) {
	status := "ok"
	if len(found) > 0 {
		status = "failed"
	}
	c.print(struct {
		Status   string        `json:"status"`
		Errors   []problemJSON `json:"errors"`
		Warnings []problemJSON `json:"warnings,omitempty"`
	}{status, found, warnings})
}

// problemJSON is one error in a script's text.
type problemJSON struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// newProblem makes the JSON of an error in the script of that name, or in what
// it includes.
func newProblem(name string, e *source.Error) problemJSON {
	p := problemJSON{shownName(name), e.Line, e.Column, e.Message}
	if e.File != "" {
		p.File = e.File
	}
	return p
}
