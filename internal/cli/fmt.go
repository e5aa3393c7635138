package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"ql/lang/format"
	"ql/lang/lib"
)

// fmtCommand is ql fmt.
type fmtCommand struct {
	Files []string `arg:"" optional:"" name:"file" help:"Scripts, or folders of scripts. Without any, standard input is formatted to standard output."`
	List  bool     `short:"l" help:"List the files that are not in the written form."`
	Diff  bool     `short:"d" help:"Show what would change, instead of the formatted text."`
	Write bool     `short:"w" help:"Write the formatted text back to the files."`
}

// formattedJSON is what became of one file.
type formattedJSON struct {
	File      string        `json:"file"`
	Changed   bool          `json:"changed"`
	Formatted string        `json:"formatted,omitempty"`
	Diff      string        `json:"diff,omitempty"`
	Errors    []problemJSON `json:"errors,omitempty"`
}

// Run implements the command.
func (k *fmtCommand) Run(c *console) error {
	args := k.Files
	if len(args) == 0 {
		args = []string{stdinName}
	}
	files, err := scriptFiles(args)
	if err != nil {
		return err
	}
	results := []formattedJSON{}
	failed := false
	for _, name := range files {
		r, err := k.format(c, name)
		if err != nil {
			return err
		}
		failed = failed || len(r.Errors) > 0
		results = append(results, r)
	}
	if c.json {
		c.print(struct {
			Files []formattedJSON `json:"files"`
		}{results})
	}
	if failed {
		return &failure{code: exitUsage}
	}
	return nil
}

// format formats one file, as the flags say.
func (k *fmtCommand) format(c *console, name string) (formattedJSON, error) {
	r := formattedJSON{File: shownName(name)}
	if k.Write && name == stdinName {
		return r, usage("-w writes back to files: name some")
	}
	before, err := c.readScript(name, maxScript)
	if err != nil {
		return r, err
	}
	options := format.Options{IsBuiltin: func(name string) bool {
		_, ok := lib.Lookup(name)
		return ok
	}}
	after, errs := options.Source("", before)
	if len(errs) > 0 {
		for _, e := range errs {
			r.Errors = append(r.Errors, newProblem(name, e))
			if !c.json {
				fmt.Fprint(c.err, e.Caret(shownName(name)))
			}
		}
		return r, nil
	}
	r.Changed = before != after
	if k.Diff && r.Changed {
		r.Diff = format.Diff(r.File, before, after)
	}
	plain := !k.List && !k.Diff && !k.Write
	if plain {
		r.Formatted = after
	}
	if k.Write && r.Changed {
		if err := replaceFile(name, after); err != nil {
			return r, &failure{exitFailed, plainError(err)}
		}
	}
	if c.json {
		return r, nil
	}
	if k.List && r.Changed {
		fmt.Fprintln(c.out, name)
	}
	if plain {
		_, err = io.WriteString(c.out, after)
	} else {
		_, err = io.WriteString(c.out, r.Diff)
	}
	return r, err
}

// replaceFile gives a file new content in one step: it is never seen half
// written.
func replaceFile(name, content string) error {
	name, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // fails after the rename, as it should
	_, err = io.WriteString(f, content)
	if err == nil {
		err = f.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
