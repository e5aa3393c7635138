package ide

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ql/lang/lib"
	"ql/lang/resolve"
	"ql/lang/source"
	"ql/lang/syntax"
)

// names are those of a text.
type names struct {
	*document
	script *syntax.Script
	all    *resolve.Names
}

func namesOf(text string) *names {
	n := &names{document: open(text)}
	n.script, _ = n.parse()
	n.all = resolve.NamesOf(n.script)
	return n
}

// at returns the name at an offset with its scope, nil for a function; the name is nil
// where there is none.
func (n *names) at(offset int) (*resolve.Name, *resolve.Scope) { return n.all.At(n.fromRaw(offset)) }

func (d *document) location(s syntax.Span) Location {
	start, end := d.raws(s)
	return Location{Start: start, End: end}
}

// Definition returns where the name at an offset gets its meaning: where a variable is
// first set, or a function defined, in the text or a file that it includes.
func Definition(text string, offset int, account Account) (Location, bool) {
	n := namesOf(text)
	name, scope := n.at(offset)
	if name == nil {
		return includedFunction(n.script, account, n.memberAt(offset))
	}
	if p, ok := name.Set(); ok {
		return n.location(p.Span), true
	}
	if scope != nil {
		return Location{}, false
	}
	return includedFunction(n.script, account, name.Name)
}

// includedFunction finds a function in the files that the script includes.
func includedFunction(script *syntax.Script, account Account, name string) (Location, bool) {
	for _, in := range included(referencesOf(script), account) {
		for _, f := range in.names {
			if strings.EqualFold(in.prefix+f.name, name) {
				at := open(in.text).location(syntax.Span{Start: f.pos, Stop: f.pos + source.Pos(len(f.name))})
				at.File = in.path
				return at, true
			}
		}
	}
	return Location{}, false
}

// include is a file that a text includes, itself or through others. prefix is what its
// names start with in the text, "" for none.
type include struct {
	path, text string
	prefix     string
	names      []named
}

func (i *include) parse() *syntax.Script {
	script, _ := syntax.Parse(source.NewFile(i.path, i.text))
	return script
}

// maxIncluded bounds the files and bytes that are read for one answer.
const (
	maxIncluded      = 20
	maxIncludedBytes = 256 << 10
)

// included reads the files that a text includes, and those that they include.
func included(by []reference, account Account) []include {
	if account == nil {
		return nil
	}
	type step struct {
		reference
		path, prefix string // of the file that includes
	}
	var todo []step
	for _, r := range by {
		todo = append(todo, step{reference: r})
	}
	var out []include
	seen := map[string]bool{}
	for left := maxIncludedBytes; len(todo) > 0 && len(out) < maxIncluded; todo = todo[1:] {
		s := todo[0]
		if seen[s.reference.path] {
			continue
		}
		seen[s.reference.path] = true
		text, err := account.Include(s.reference.path)
		if err != nil || len(text) > left {
			continue
		}
		left -= len(text)
		in := include{path: s.reference.path, text: text, prefix: s.prefix}
		if s.as != "" {
			if s.path != "" {
				continue // its names are those of the file that includes it
			}
			in.prefix = s.as + "."
		}
		b, _ := readTo(source.NewFile(in.path, text))
		in.names = b.names
		b.release()
		out = append(out, in)
		for _, r := range b.includes {
			todo = append(todo, step{r, in.path, in.prefix})
		}
	}
	return out
}

// referencesOf returns what a script includes.
func referencesOf(script *syntax.Script) []reference {
	var out []reference
	for _, s := range script.Statements {
		if i, ok := s.(*syntax.Include); ok {
			if r, ok := referenceOf(i); ok {
				out = append(out, r)
			}
		}
	}
	return out
}

// memberAt returns prefix.name at an offset, "" where there is none.
func (d *document) memberAt(offset int) string {
	text := d.file.Text
	word, ok := syntax.WordAt(text, d.fromRaw(offset))
	if !ok || word.Start == 0 || text[word.Start-1] != '.' {
		return ""
	}
	before, ok := syntax.WordAt(text, word.Start-1)
	if !ok {
		return ""
	}
	return text[before.Start:word.Stop]
}

// References returns all places of the name at an offset, its definition among them.
func References(text string, offset int) []Location {
	n := namesOf(text)
	name, _ := n.at(offset)
	if name == nil {
		return nil
	}
	out := make([]Location, 0, len(name.Places))
	for _, p := range name.Places {
		out = append(out, n.location(p.Span))
	}
	slices.SortFunc(out, func(a, b Location) int { return a.Start - b.Start })
	return out
}

// Renamable returns the range of the name at an offset that Rename would change.
func Renamable(text string, offset int) (Location, bool) {
	n := namesOf(text)
	name, scope := n.at(offset)
	if name == nil || scope == nil && name.Define == nil && name.Constant == nil {
		return Location{}, false
	}
	at := n.fromRaw(offset)
	for _, p := range name.Places {
		if p.Start <= at && at <= p.Stop {
			return n.location(p.Span), true
		}
	}
	return Location{}, false
}

// Rename returns the changes that give the name at an offset another one, with or
// without the "?" of a variable. A name that would then mean something else is refused.
func Rename(text string, offset int, name string) ([]Edit, error) {
	return namesOf(text).rename(offset, name)
}

func (n *names) rename(offset int, name string) ([]Edit, error) {
	old, scope := n.at(offset)
	if old == nil {
		return nil, errors.New("no variable or function stands here")
	}
	mark := ""
	if scope != nil {
		mark, name = "?", strings.TrimPrefix(name, "?")
	}
	if err := mayRename(old, scope, n.all, name); err != nil {
		return nil, err
	}
	name = mark + name
	edits := make([]Edit, 0, len(old.Places))
	for _, p := range old.Places {
		edits = append(edits, n.edit(p.Span, name))
	}
	slices.SortFunc(edits, func(a, b Edit) int { return a.Start - b.Start })
	return edits, nil
}

func mayRename(old *resolve.Name, scope *resolve.Scope, names *resolve.Names, name string) error {
	if !syntax.IsName(name) {
		return fmt.Errorf("%q is no name: a name starts with a letter, and has letters, digits and _", name)
	}
	if scope != nil {
		function := scope
		for function.Lambda != nil {
			function = function.Outer
		}
		if name != old.Name && uses(function, name) {
			return fmt.Errorf("?%s is there already: choose a name that is not used in this function", name)
		}
		return nil
	}
	switch _, builtin := lib.Lookup(name); {
	case old.Define == nil && old.Constant == nil:
		return fmt.Errorf("%s is not defined in this script", old.Name)
	case strings.EqualFold(name, old.Name):
		return nil
	case !syntax.CanName(name):
		return fmt.Errorf("%s has a meaning of its own and cannot be a name", strings.ToUpper(name))
	case builtin:
		return fmt.Errorf("%s is a function of the library: calls of it would get another meaning", strings.ToUpper(name))
	case names.Funcs[strings.ToLower(name)] != nil:
		return fmt.Errorf("the function %s is there already", name)
	}
	return nil
}

// uses says whether a function or a lambda in it has a variable of the name.
func uses(s *resolve.Scope, name string) bool {
	if s.Vars[name] != nil {
		return true
	}
	return slices.ContainsFunc(s.Below, func(b *resolve.Scope) bool { return uses(b, name) })
}
