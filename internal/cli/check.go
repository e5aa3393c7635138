package cli

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"ql/internal/site"
	"ql/lang"
	"ql/lang/source"
)

// checkCommand is ql check.
type checkCommand struct {
	Files []string `arg:"" name:"file" help:"Scripts, folders of scripts or sites, or - for standard input."`
	Data  string   `default:"." env:"QL_FOLDER" placeholder:"DIR" help:"The account's folder, in which INCLUDE finds files (${default})."`
}

// Run implements the command.
func (k *checkCommand) Run(c *console) (err error) {
	files, err := k.files()
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
		if filepath.Base(name) == settingsFile {
			problems, err := c.checkSettings(name)
			if err != nil {
				return err
			}
			found = append(found, problems...)
			continue
		}
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

// settingsFile is the name of what a site says of itself, in its folder.
var settingsFile = path.Base(site.SettingsPath)

// files are the scripts to check, and before those of a folder the settings of the site that it is.
func (k *checkCommand) files() ([]string, error) {
	var all []string
	for _, arg := range k.Files {
		settings := filepath.Join(arg, settingsFile)
		if info, err := os.Stat(settings); err == nil && info.Mode().IsRegular() {
			all = append(all, settings)
		}
		files, err := scriptFiles([]string{arg})
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	return all, nil
}

// checkSettings shows what is wrong with the settings of a site to people, and returns it for programs.
func (c *console) checkSettings(name string) (found []problemJSON, err error) {
	text, err := c.readText(name, "the settings of a site", site.MaxSettings)
	if err != nil {
		return nil, err
	}
	for _, p := range site.CheckSettings([]byte(text)) {
		found = append(found, problemJSON{name, p.Line, p.Column, p.Message})
		switch {
		case c.json:
		case p.Line > 0:
			fmt.Fprintf(c.err, "%s:%d:%d: %s\n", name, p.Line, p.Column, p.Message)
		default:
			fmt.Fprintf(c.err, "%s: %s\n", name, p.Message)
		}
	}
	return found, nil
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

// problemJSON is one error in a script's text. The settings of a site have mistakes without a line: it is 0.
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
