package render

import (
	"maps"
	"slices"
	"strings"
	"text/template/parse"

	"ql/lang/value"
)

// Load returns the text of another file, which a template uses by its path.
type Load func(path string) (string, error)

// maxFiles bounds the files of a template, itself among them.
const maxFiles = 20

// loader parses a template, and the files that it uses. All definitions have one space of names: what
// a file defines that uses another holds instead of what that one defines, so that a page fills the
// blocks of its layout.
type loader struct {
	meter     *value.Meter
	load      Load // nil where there are no files
	trees     map[string]*parse.Tree
	uses      map[string][]string // the files that each file uses
	bytes     int
	variables int
}

// isFile tells whether a name is the path of a file.
func isFile(name string) bool { return strings.HasPrefix(name, "/") }

// add parses the text of a file, and what it uses.
func (l *loader) add(name, text string) error {
	l.bytes += len(text)
	l.variables += strings.Count(text, ":=")
	switch {
	case l.bytes > maxText:
		return value.Errorf(BadTemplate, "the template %s has more than %d KiB%s", name, maxText>>10, l.with())
	case l.variables > maxVariables:
		return value.Errorf(BadTemplate, "the template %s has := more than %d times%s", name, maxVariables, l.with())
	case len(l.uses) >= maxFiles:
		return value.Errorf(BadTemplate, "the template %s is one file too many: %d can be used together", name, maxFiles)
	}
	l.meter.Work(prepareFuel + 10*len(text))
	l.meter.Alloc(len(text) * 16)
	own, err := parse.Parse(name, text, "", "", offered)
	if err != nil {
		return failure(name, err)
	}
	var used []string
	parts := slices.Sorted(maps.Keys(own))
	for _, part := range parts {
		if own[part].Root == nil {
			continue
		}
		for file := range uses(own[part].Root) {
			if isFile(file) && own[file] == nil && !slices.Contains(used, file) {
				used = append(used, file)
			}
		}
		if l.trees[part] == nil {
			l.trees[part] = own[part]
		}
	}
	if len(l.trees) > maxDefinitions {
		return value.Errorf(BadTemplate, "the template %s has %d definitions%s, and %d is the most", name, len(l.trees), l.with(), maxDefinitions)
	}
	l.uses[name] = used
	if l.load == nil {
		return nil
	}
	for _, file := range used {
		if err := l.addFile(file); err != nil {
			return err
		}
	}
	return nil
}

// with says of a bound that others of the same template count for it too.
func (l *loader) with() string {
	if len(l.uses) == 0 {
		return ""
	}
	return " with the files that use it"
}

// addFile loads a file that is used, unless it is there.
func (l *loader) addFile(path string) error {
	if _, known := l.uses[path]; known || l.trees[path] != nil {
		return nil
	}
	text, err := l.load(path)
	if err != nil {
		return err
	}
	if err := l.add(path, text); err != nil {
		return err
	}
	if l.trees[path] == nil { // it has definitions alone
		empty, _ := parse.Parse(path, " ", "", "")
		l.trees[path] = empty[path]
	}
	return nil
}

// checkCycles refuses files that come back to themselves by others: that is a mistake, while a
// definition may use itself, as a tree needs it.
func (l *loader) checkCycles(name string) error {
	var way []string
	done := map[string]bool{}
	var visit func(string) error
	visit = func(file string) error {
		if at := slices.Index(way, file); at >= 0 {
			return value.Errorf(BadTemplate, "the template %s uses itself: %s", file, strings.Join(append(way[at:], file), " uses "))
		}
		if done[file] {
			return nil
		}
		way = append(way, file)
		for _, used := range l.uses[file] {
			if err := visit(used); err != nil {
				return err
			}
		}
		way, done[file] = way[:len(way)-1], true
		return nil
	}
	return visit(name)
}
