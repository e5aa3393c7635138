package resolve

import (
	"slices"
	"strings"

	"ql/lang/lib"
	"ql/lang/source"
	"ql/lang/syntax"
)

// Files that a plain INCLUDE ties together, in whichever direction, are one unit: they share
// their names. INCLUDE … AS ties nothing: what the other file defines, and what that includes,
// is called by the prefix, in the file that has the INCLUDE.

// unitFile is what names need to know of a file.
type unitFile struct {
	unit     int            // the number of the unit's first file
	plain    []int          // files that it includes without a prefix
	prefixes map[string]int // files that it includes with one, by it in small letters
	includes []*syntax.Include
}

// entry is what a name of a unit means: a function, or a constant.
type entry struct {
	file     int
	pos      source.Pos
	fn       int
	constant *Constant
}

// Constant is a DEFINE name AS value.
type Constant struct {
	Name  string
	Value syntax.Expr
	File  int // number in Result.Files
	state constantState
}

type constantState uint8

const (
	unseen constantState = iota
	underway
	seen
)

// Constant returns the constant that an expression names, or nil.
func (r *Result) Constant(e syntax.Expr) *Constant {
	if len(r.consts) == 0 {
		return nil
	}
	return r.consts[e]
}

// entry finds a name as a file writes it.
func (r *Result) entry(file int, prefix, name string) (entry, bool) {
	key := strings.ToLower(name)
	if prefix == "" {
		e, ok := r.units[r.files[file].unit][key]
		return e, ok
	}
	target, ok := r.files[file].prefixes[strings.ToLower(prefix)]
	if !ok {
		return entry{}, false
	}
	e, ok := r.units[r.files[target].unit][key]
	return e, ok && r.reaches(target, e.file, map[int]bool{})
}

// reaches reports whether a file is another one or includes it without a prefix.
func (r *Result) reaches(from, to int, seen map[int]bool) bool {
	if from == to {
		return true
	}
	seen[from] = true
	return slices.ContainsFunc(r.files[from].plain, func(next int) bool { return !seen[next] && r.reaches(next, to, seen) })
}

// link ties the files of a script to each other.
func (r *resolver) link(main *syntax.Script, includes []*syntax.Script) {
	scripts := append([]*syntax.Script{main}, includes...)
	number := map[string]int{}
	for i, s := range scripts {
		r.res.Files = append(r.res.Files, s.File)
		r.res.files = append(r.res.files, unitFile{unit: i, prefixes: map[string]int{}})
		if i > 0 {
			number[s.File.Name] = i
		}
	}
	for i, s := range scripts {
		f := &r.res.files[i]
		for _, st := range s.Statements {
			inc, ok := st.(*syntax.Include)
			if !ok {
				continue
			}
			target, ok := number[pathOf(inc.Path)]
			switch {
			case !ok:
			case inc.As == "":
				f.plain = append(f.plain, target)
				r.unite(i, target)
			default:
				f.includes = append(f.includes, inc)
				r.enterFile(i)
				r.addPrefix(f, inc, target)
			}
		}
	}
}

func pathOf(t *syntax.Text) string {
	var b strings.Builder
	for _, p := range t.Parts {
		b.WriteString(p.Plain)
	}
	return b.String()
}

// unite makes one unit of those of two files. Files are at most a hundred.
func (r *resolver) unite(a, b int) {
	a, b = r.res.files[a].unit, r.res.files[b].unit
	for i := range r.res.files {
		if f := &r.res.files[i]; f.unit == max(a, b) {
			f.unit = min(a, b)
		}
	}
}

func (r *resolver) addPrefix(f *unitFile, inc *syntax.Include, target int) {
	key := strings.ToLower(inc.As)
	if old, ok := f.prefixes[key]; ok && old != target {
		r.errs.Add(r.file, inc.AsPos, inc.AsPos+source.Pos(len(inc.As)), "the prefix %s is given twice: it is %s already", inc.As, r.res.Files[old].Name)
		return
	}
	f.prefixes[key] = target
}

// checkPrefixes refuses a prefix that is a constant too: what stands before a dot would be
// either.
func (r *resolver) checkPrefixes() {
	for i := range r.res.files {
		r.enterFile(i)
		for _, inc := range r.res.files[i].includes {
			if e, ok := r.res.entry(i, "", inc.As); ok && e.constant != nil {
				r.errs.Add(r.file, inc.AsPos, inc.AsPos+source.Pos(len(inc.As)), "%s is a constant: choose another prefix", inc.As)
			}
		}
	}
}

func (r *resolver) enterFile(i int) { r.at, r.file = i, r.res.Files[i] }

// declareName gives a name of a file's unit its meaning, and refuses a second one.
func (r *resolver) declareName(file int, name string, pos source.Pos, what string, e entry) bool {
	r.enterFile(file)
	unit, key := r.res.files[file].unit, strings.ToLower(name)
	if r.res.units[unit] == nil {
		r.res.units[unit] = map[string]entry{}
	}
	if old, ok := r.res.units[unit][key]; ok {
		line := r.res.Files[old.file].Line(old.pos)
		where := ""
		switch {
		case old.file == file:
		case old.file == 0:
			where = " of the script"
		default:
			where = " of " + r.res.Files[old.file].Name
		}
		r.errs.Add(r.file, pos, pos+source.Pos(len(name)), "%s is defined twice: line %d%s has it already", what, line, where).As(source.DefinedTwice)
		return false
	}
	r.res.units[unit][key] = e
	return true
}

func (r *resolver) defineConstant(file int, s *syntax.Constant) {
	c := &Constant{Name: s.Name, Value: s.Value, File: file}
	if r.declareName(file, s.Name, s.NamePos, s.Name, entry{file: file, pos: s.NamePos, constant: c}) {
		r.res.Constants = append(r.res.Constants, c)
	}
}

// constant checks that a constant's value needs no run.
func (r *resolver) constant(c *Constant) {
	if c.state != unseen {
		return
	}
	c.state = underway
	at := r.at
	r.chain++
	defer func() { r.chain-- }()
	r.enterFile(c.File)
	r.constantValue(c.Value, false)
	r.enterFile(at)
	c.state = seen
}

const constantHelp = "a constant is a number, a text without insertions, NULL, TRUE, FALSE, a list or map of them, or reckoned from numbers with + - * /"

// constantValue checks a part of a constant's value; inside says that it stands in a list or
// map.
func (r *resolver) constantValue(e syntax.Expr, inside bool) {
	if len(r.errs) >= maxErrors {
		return
	}
	r.yield.Step()
	switch e := e.(type) {
	case *syntax.Number, *syntax.Null, *syntax.Bool:
		return
	case *syntax.Text:
		if !e.HasInsertion() {
			return
		}
	case *syntax.Paren:
		r.constantValue(e.X, inside)
		return
	case *syntax.Unary:
		if e.Op == syntax.OpNeg {
			r.constantValue(e.X, inside)
			return
		}
	case *syntax.Binary:
		switch e.Op {
		case syntax.OpAdd, syntax.OpSub, syntax.OpMul, syntax.OpDiv:
			r.constantValue(e.X, inside)
			r.constantValue(e.Y, inside)
			return
		}
	case *syntax.ListLit:
		for _, x := range e.Items {
			r.constantValue(x, true)
		}
		return
	case *syntax.MapLit:
		for _, x := range e.Entries {
			r.constantValue(x.Value, true)
		}
		return
	case *syntax.Name, *syntax.FieldAccess:
		r.expr(e)
		if c := r.res.consts[e]; c != nil {
			if inside && isCollection(c.Value, r.res) {
				r.errorf(e, "a list or map that is a constant cannot stand in another: write its values out")
			}
			return
		}
		if _, ok := e.(*syntax.Name); ok {
			return // it has been reported
		}
	}
	r.errorf(e, "%s", constantHelp)
}

// isCollection reports whether a constant's value is a list or map.
func isCollection(e syntax.Expr, res *Result) bool {
	for range maxDepth {
		switch x := e.(type) {
		case *syntax.Paren:
			e = x.X
		case *syntax.ListLit, *syntax.MapLit:
			return true
		default:
			c := res.consts[e]
			if c == nil {
				return false
			}
			e = c.Value
		}
	}
	return false
}

// refer ties an expression to the constant that it names.
func (r *resolver) refer(n syntax.Expr, c *Constant) {
	if c.state == underway {
		r.errorf(n, "the value of %s leads back to itself", c.Name)
		return
	}
	if r.chain > syntax.MaxNesting {
		r.errorf(n, "the value of a constant leads through more than %d others", syntax.MaxNesting)
		return
	}
	r.constant(c)
	r.res.consts[n] = c
}

// name resolves a name that stands alone.
func (r *resolver) name(n *syntax.Name) {
	e, ok := r.res.entry(r.at, "", n.Name)
	switch {
	case ok && e.constant != nil:
		r.refer(n, e.constant)
	case ok:
		r.errorf(n, "%s is a function: call it as %s, or give it to MAP and the like by its name", n.Name, r.res.Funcs[e.fn].signature())
	case r.isPrefix(n.Name):
		r.errorf(n, "%s is the prefix of an INCLUDE: behind it stands a dot and a name", n.Name)
	default:
		if i, ok := lib.Lookup(n.Name); ok {
			r.errorf(n, "%s is a function: call it as %s, or give it to MAP and the like by its name", lib.At(i).Name, lib.At(i).Signature)
			return
		}
		if r.open {
			return
		}
		if near := source.Nearest(n.Name, r.constantNames("")); near != "" {
			r.errorf(n, "there is no constant %s; there is %s", n.Name, near).As(source.UnknownName).Offer(n.Start, n.Stop, near)
			return
		}
		said, instead := syntax.NoValue(n.Name)
		r.errorf(n, "%s", said).As(source.UnknownWord).Offer(n.Start, n.Stop, instead)
	}
}

func (r *resolver) isConstant(name string) bool {
	e, ok := r.res.entry(r.at, "", name)
	return ok && e.constant != nil
}

func (r *resolver) isPrefix(name string) bool {
	_, ok := r.res.files[r.at].prefixes[strings.ToLower(name)]
	return ok
}

// member resolves prefix.name.
func (r *resolver) member(e *syntax.FieldAccess, prefix *syntax.Name) {
	found, ok := r.res.entry(r.at, prefix.Name, e.Name)
	switch {
	case !ok:
		r.noMember(e, prefix.Name, e.Name, false)
	case found.constant == nil:
		r.errorf(e, "%s.%s is a function: call it as %s.%s", prefix.Name, e.Name, prefix.Name, r.res.Funcs[found.fn].signature())
	default:
		r.refer(e, found.constant)
	}
}

// noMember reports a name that a prefix does not have, or a prefix that is none.
func (r *resolver) noMember(n syntax.Node, prefix, name string, call bool) {
	if r.open {
		return
	}
	target, ok := r.res.files[r.at].prefixes[strings.ToLower(prefix)]
	if !ok {
		var names []string
		for p := range r.res.files[r.at].prefixes {
			names = append(names, p)
		}
		slices.Sort(names)
		if near := source.Nearest(prefix, names); near != "" {
			r.errorf(n, "there is no prefix %s; there is %s", prefix, near).
				As(source.UnknownName).Offer(n.Pos(), n.Pos()+source.Pos(len(prefix)), near)
			return
		}
		r.errorf(n, `there is no prefix %s: INCLUDE "/lib/%s.ql" AS %s gives one`, prefix, strings.ToLower(prefix), prefix)
		return
	}
	if e, ok := r.res.entry(r.at, prefix, name); ok && call && e.constant != nil {
		r.errorf(n, "%s.%s is a constant: write it without brackets", prefix, name)
		return
	}
	if near := source.Nearest(name, r.constantNames(prefix)); near != "" {
		r.errorf(n, "%s has no %s; there is %s.%s", r.res.Files[target].Name, name, prefix, near)
		return
	}
	r.errorf(n, "%s has no %s", r.res.Files[target].Name, name)
}

// constantNames lists the constants of the file's unit, or all that a prefix has.
func (r *resolver) constantNames(prefix string) (names []string) {
	at := r.at
	if prefix != "" {
		at = r.res.files[r.at].prefixes[strings.ToLower(prefix)]
	}
	for _, e := range r.res.units[r.res.files[at].unit] {
		switch {
		case e.constant != nil:
			names = append(names, e.constant.Name)
		case prefix != "":
			names = append(names, r.res.Funcs[e.fn].Name)
		}
	}
	slices.Sort(names)
	return names
}

// TakesLambda reports whether a built-in takes its second argument as a lambda, or as a function
// by its name, and not as a value.
func (r *Result) TakesLambda(file int, b *lib.Builtin, e syntax.Expr) bool {
	_, isLambda := e.(*syntax.Lambda)
	return !b.Plain || isLambda || r.namesFunction(file, e)
}

// namesFunction reports whether an argument is the name of a function, of the script's own or
// of the library, rather than of a constant.
func (r *Result) namesFunction(file int, e syntax.Expr) bool {
	prefix, name := functionName(e)
	if name == "" {
		return false
	}
	if found, ok := r.entry(file, prefix, name); ok {
		return found.constant == nil
	}
	_, ok := lib.Lookup(name)
	return ok && prefix == ""
}

// functionName returns what an argument that may be a function's name says.
func functionName(e syntax.Expr) (prefix, name string) {
	switch e := e.(type) {
	case *syntax.Name:
		return "", e.Name
	case *syntax.FieldAccess:
		if n, ok := e.X.(*syntax.Name); ok {
			return n.Name, e.Name
		}
	}
	return "", ""
}

// passed checks that a function, given by its name, takes what the built-in gives it.
func (r *resolver) passed(b *lib.Builtin, e syntax.Expr) {
	prefix, name := functionName(e)
	low, high, what := lambdaArity(b)
	var least, most int
	var shown string
	if i, ok := r.res.Lookup(r.at, prefix, name); ok {
		f := r.res.Funcs[i]
		least, most, shown = f.Required(), len(f.Params), f.signature()
	} else {
		i, _ := lib.Lookup(name)
		f := lib.At(i)
		least, most, shown = f.Min, f.Max, f.Signature
		if f.Loop != lib.NoLoop && f.Min > 1 {
			r.errorf(e, "%s takes a function itself: write a lambda around it, as in %s(?list, ?x -> %s)", f.Name, b.Name, f.Signature)
			return
		}
	}
	if least > high || most >= 0 && most < low {
		r.errorf(e, "%s gives its function %s: %s takes %s, so write a lambda around it", b.Name, what, shown, argumentCount(least, most))
	}
}

// Passed returns how many arguments a built-in gives the function that is an argument of it by
// its name, and that name: as many as the function must have, and so no index where it takes
// one argument or more.
func (r *Result) Passed(file int, b *lib.Builtin, e syntax.Expr) (prefix, name string, n int) {
	prefix, name = functionName(e)
	low, _, _ := lambdaArity(b)
	if i, ok := r.Lookup(file, prefix, name); ok {
		return prefix, name, max(low, r.Funcs[i].Required())
	}
	i, _ := lib.Lookup(name)
	return prefix, name, max(low, lib.At(i).Min)
}
