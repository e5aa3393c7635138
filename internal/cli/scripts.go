package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ql/lang/value"
)

// maxScript bounds the text of a script that no account's plan bounds.
const maxScript = 1 << 20

// stdinName is how the command line names standard input.
const stdinName = "-"

// scriptFiles returns the scripts that the arguments name: files, standard
// input, and all *.ql files below a folder.
func scriptFiles(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case arg == stdinName:
			files = append(files, arg)
			continue
		case err != nil:
			return nil, usage("%s", plainError(err))
		case !info.IsDir():
			files = append(files, arg)
			continue
		}
		err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && path != arg && strings.HasPrefix(d.Name(), "."):
				return filepath.SkipDir
			case d.Type().IsRegular() && strings.HasSuffix(d.Name(), ".ql"):
				files = append(files, path)
			}
			return nil
		})
		if err != nil {
			return nil, usage("%s", plainError(err))
		}
	}
	return files, nil
}

// readScript returns the text of a script, which has most bytes at most.
func (c *console) readScript(name string, most int) (string, error) {
	return c.readText(name, "a script", most)
}

// readText returns the text of a file, or of standard input, which is something of most bytes at
// most.
func (c *console) readText(name, what string, most int) (string, error) {
	var from io.Reader = c.in
	if name != stdinName {
		f, err := os.Open(name)
		if err != nil {
			return "", usage("%s", plainError(err))
		}
		defer func() { _ = f.Close() }() // only read
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, int64(most)+1))
	if err != nil {
		return "", usage("%s", plainError(err))
	}
	if len(text) > most {
		return "", usage("%s: %s has at most %s", shownName(name), what, value.FormatSize(int64(most)))
	}
	return string(text), nil
}

// shownName is how messages call a script.
func shownName(name string) string {
	if name == stdinName {
		return "<stdin>"
	}
	return name
}

// plainError leaves out which system call it was that failed.
func plainError(err error) string {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Path + ": " + e.Err.Error()
	}
	return err.Error()
}
