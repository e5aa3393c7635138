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
	found := []problemJSON{}
	for _, name := range files {
		text, err := c.readScript(name)
		if err != nil {
			return err
		}
		errs := lang.Check(text, lang.Options{Include: folder.include(c.ctx)})
		for _, e := range errs {
			found = append(found, newProblem(name, e))
			if !c.json {
				fmt.Fprint(c.err, e.Caret(shownName(name)))
			}
		}
	}
	if c.json {
		status := "ok"
		if len(found) > 0 {
			status = "failed"
		}
		c.print(struct {
			Status string        `json:"status"`
			Errors []problemJSON `json:"errors"`
		}{status, found})
	}
	if len(found) > 0 {
		return &failure{code: exitUsage}
	}
	return nil
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
