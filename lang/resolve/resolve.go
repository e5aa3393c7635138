// Package resolve ties the names of a parsed script to what they mean: each
// variable to its function, each call to a DEFINE or a built-in. It finds the
// mistakes that need no run: names that are never set, calls that cannot fit,
// statements out of place. It makes no code.
package resolve

import (
	"slices"
	"strings"

	"ql/lang/lib"
	"ql/lang/source"
	"ql/lang/syntax"
)

// Result is a script with its names tied.
type Result struct {
	Files []*source.File
	Funcs []*Func // 0 is the script's top level
	// Constants are those of all files, in the order of their definition.
	Constants []*Constant
	Input     *syntax.Input // nil without INPUT FIELDS
	files     []unitFile
	units     map[int]map[string]entry // by the number of their first file, by name in small letters
	consts    map[syntax.Expr]*Constant
}

// Func is a DEFINE or the top level.
type Func struct {
	Name     string
	Define   *syntax.Define // nil for the top level
	File     int            // number in Result.Files
	Params   []syntax.Param
	Body     []syntax.Stmt
	Vars     []string // parameters first, then in order of appearance
	slots    map[string]int
	UsesDB   bool // has a USE DATABASE
	HasLoops bool
}

// Slot returns the number of a variable of the function.
func (f *Func) Slot(name string) int { return f.slots[name] }

// Required returns how many parameters have no default.
func (f *Func) Required() int {
	n := 0
	for n < len(f.Params) && f.Params[n].Default == nil {
		n++
	}
	return n
}

// Lookup returns the number of the DEFINEd function of that name, as a file calls it.
func (r *Result) Lookup(file int, prefix, name string) (int, bool) {
	e, ok := r.entry(file, prefix, name)
	return e.fn, ok && e.constant == nil
}

// Resolve ties the names of a script and its includes, in the order they were
// taken. They must have been parsed without errors: what the parser refuses is
// not looked at again. It takes a step of y with each statement and expression.
func Resolve(main *syntax.Script, includes []*syntax.Script, y *source.Yield) (*Result, source.Errors) {
	r := &resolver{yield: y, res: newResult()}
	return r.resolve(main, includes)
}

// Partial finds the mistakes in the names of scripts that the parser may have found
// errors in: what stands in a broken statement counts as set there. Where open is true,
// not all that the script includes is given, and any function may be defined in the rest.
func Partial(main *syntax.Script, includes []*syntax.Script, open bool, y *source.Yield) (*Result, source.Errors) {
	r := &resolver{yield: y, res: newResult(), open: open}
	return r.resolve(main, includes)
}

func newResult() *Result {
	return &Result{units: map[int]map[string]entry{}, consts: map[syntax.Expr]*Constant{}}
}

func (r *resolver) resolve(main *syntax.Script, includes []*syntax.Script) (*Result, source.Errors) {
	top := &Func{File: 0, slots: map[string]int{}}
	r.res.Funcs = append(r.res.Funcs, top)
	r.link(main, includes)
	for _, s := range main.Statements {
		switch s := s.(type) {
		case *syntax.Define:
			r.define(0, s)
		case *syntax.Constant:
			r.defineConstant(0, s)
		case *syntax.Include:
		case *syntax.Input:
			r.res.Input = s
		default:
			top.Body = append(top.Body, s)
		}
	}
	for i, inc := range includes {
		for _, s := range inc.Statements {
			switch s := s.(type) {
			case *syntax.Define:
				r.define(i+1, s)
			case *syntax.Constant:
				r.defineConstant(i+1, s)
			case *syntax.Include:
			case *syntax.Input:
				r.file = inc.File
				r.errorf(s, "INPUT FIELDS stands at the start of the script itself, not in a file that it includes")
			default:
				r.file = inc.File
				r.errorf(s, "an included file holds only DEFINE and INCLUDE: move this statement into a DEFINE")
			}
		}
	}
	r.checkPrefixes()
	for _, c := range r.res.Constants {
		r.constant(c)
	}
	for _, f := range r.res.Funcs {
		r.function(f)
	}
	r.errs.Sort()
	return r.res, r.errs
}

// maxErrors is how many errors a script gets before the rest of it is left
// unread; maxDepth how deep an expression may be, so that nobody who walks it
// runs out of stack.
const (
	maxErrors = 20
	maxDepth  = 2_000
)

type resolver struct {
	res   *Result
	yield *source.Yield
	errs  source.Errors
	file  *source.File
	at    int // number of the file
	fn    *Func
	chain int                  // constants whose values are being looked at
	open  bool                 // functions may be defined in files that are not given
	sets  map[*syntax.Var]bool // where variables are set, for NamesOf; nil otherwise

	tx      int      // depth of TRANSACTION around the statement
	depth   int      // of the expression
	lambdas []string // parameters of the lambdas around the expression
	unset   map[string]bool
}

func (r *resolver) errorf(n syntax.Node, format string, args ...any) source.Added {
	return r.errs.Add(r.file, n.Pos(), n.End(), format, args...)
}

func (r *resolver) define(file int, d *syntax.Define) {
	if d.Name == "" { // its header is broken
		return
	}
	if !r.declareName(file, d.Name, d.NamePos, "the function "+d.Name, entry{file: file, pos: d.NamePos, fn: len(r.res.Funcs)}) {
		return
	}
	f := &Func{Name: d.Name, Define: d, File: file, Params: d.Params, slots: map[string]int{}}
	if d.Body != nil {
		f.Body = d.Body.Stmts
	}
	r.res.Funcs = append(r.res.Funcs, f)
}

func (r *resolver) function(f *Func) {
	r.fn = f
	r.enterFile(f.File)
	r.tx, r.depth, r.lambdas = 0, 0, nil
	r.unset = map[string]bool{}
	for _, p := range f.Params {
		r.declare(p.Var.Name)
		if p.Default != nil {
			r.constantValue(p.Default, false)
		}
	}
	r.collect(f.Body)
	r.stmts(f.Body)
}

func (r *resolver) declare(name string) {
	if _, ok := r.fn.slots[name]; !ok {
		r.fn.slots[name] = len(r.fn.Vars)
		r.fn.Vars = append(r.fn.Vars, name)
	}
}

func (r *resolver) declareVar(v *syntax.Var) {
	if v != nil {
		r.declare(v.Name)
		if r.sets != nil {
			r.sets[v] = true
		}
	}
}

// collect finds all variables that the statements set.
func (r *resolver) collect(stmts []syntax.Stmt) {
	for _, s := range stmts {
		r.yield.Step()
		switch s := s.(type) {
		case *syntax.BadStmt:
			for _, x := range s.Parts {
				if v, ok := x.(*syntax.Var); ok {
					r.declareVar(v)
				}
			}
		case *syntax.Set:
			r.declareVar(s.Target.Var)
		case *syntax.SetKey:
			if t, ok := s.Place.(*syntax.Target); ok {
				r.declareVar(t.Var)
			}
		case *syntax.Append:
			r.declareVar(s.Target.Var)
		case *syntax.If:
			for _, b := range s.Branches {
				r.collectBlock(b.Body)
			}
			r.collectBlock(s.Else)
		case *syntax.ForIn:
			r.fn.HasLoops = true
			r.declareVar(s.Key)
			r.declareVar(s.Value)
			r.collectBlock(s.Body)
		case *syntax.ForRange:
			r.fn.HasLoops = true
			r.declareVar(s.Var)
			r.collectBlock(s.Body)
		case *syntax.ForFile:
			r.fn.HasLoops = true
			r.declareVar(s.Value)
			r.declareVar(s.At)
			r.declareVar(s.Bad)
			r.collectBlock(s.Body)
		case *syntax.While:
			r.fn.HasLoops = true
			r.collectBlock(s.Body)
		case *syntax.Try:
			r.collectBlock(s.Body)
			r.declareVar(s.Err)
			r.collectBlock(s.Catch)
			r.collectBlock(s.Finally)
		case *syntax.Transaction:
			r.collectBlock(s.Body)
		case *syntax.Confirm:
			r.declareVar(s.Result)
		case *syntax.Gather:
			r.declareVar(s.Result)
		case *syntax.Check:
			r.declareVar(s.Result)
		case *syntax.Read:
			r.declareVar(s.Result)
		case *syntax.List:
			r.declareVar(s.Result)
		case *syntax.Share:
			r.declareVar(s.Result)
		case *syntax.Fetch:
			r.declareVar(s.Result)
		case *syntax.Mail:
			r.declareVar(s.Result)
		case *syntax.Run:
			r.declareVar(s.Result)
		case *syntax.FetchAll:
			r.declareVar(s.Result)
		case *syntax.RunScript:
			r.declareVar(s.Result)
		case *syntax.WaitFor:
			r.declareVar(s.Result)
		case *syntax.SQL:
			r.declareVar(s.Result)
		case *syntax.Import:
			r.declareVar(s.Bad)
			r.declareVar(s.Result)
		case *syntax.Use:
			r.fn.UsesDB = true
		}
	}
}

func (r *resolver) collectBlock(b *syntax.Block) {
	if b != nil {
		r.collect(b.Stmts)
	}
}

func (r *resolver) block(b *syntax.Block) {
	if b != nil {
		r.stmts(b.Stmts)
	}
}

func (r *resolver) stmts(stmts []syntax.Stmt) {
	for _, s := range stmts {
		r.yield.Step()
		r.stmt(s)
	}
}

// inTransaction refuses statements that a rollback could not undo.
func (r *resolver) inTransaction(s syntax.Stmt, what string) {
	if r.tx > 0 {
		r.errorf(s, "%s cannot stand inside a TRANSACTION, where only SQL and computation run: move it before or after", what)
	}
}

func (r *resolver) stmt(s syntax.Stmt) {
	if len(r.errs) >= maxErrors {
		return
	}
	switch s := s.(type) {
	case *syntax.Emit:
		r.exprs(s.Args...)
	case *syntax.Set:
		r.exprs(s.Value)
		r.target(s.Target)
	case *syntax.SetKey:
		r.exprs(s.Key, s.Value)
		r.place(s, s.Place)
	case *syntax.Unset:
		r.target(s.Target)
	case *syntax.UnsetKey:
		r.exprs(s.Key)
		r.place(s, s.Place)
	case *syntax.Append:
		r.exprs(s.Value)
		r.target(s.Target)
	case *syntax.AppendFile:
		r.inTransaction(s, "APPEND TO FILE")
		r.exprs(s.Value, s.Path)
	case *syntax.If:
		for _, b := range s.Branches {
			r.exprs(b.Cond)
			r.block(b.Body)
		}
		r.block(s.Else)
	case *syntax.ForIn:
		r.exprs(s.Seq)
		r.block(s.Body)
	case *syntax.ForRange:
		r.exprs(s.From, s.To, s.Step)
		r.block(s.Body)
	case *syntax.ForFile:
		r.exprs(s.Path, s.Encoding)
		r.block(s.Body)
	case *syntax.While:
		r.exprs(s.Cond)
		r.block(s.Body)
	case *syntax.Break, *syntax.Continue, *syntax.Stop, *syntax.BadStmt:
	case *syntax.Return:
		r.exprs(s.Value)
	case *syntax.CallStmt:
		r.callStmt(s)
	case *syntax.Try:
		r.block(s.Body)
		r.block(s.Catch)
		r.block(s.Finally)
	case *syntax.Fail:
		r.exprs(s.Value, s.Code)
	case *syntax.Check:
		r.exprs(s.Value)
		r.fields(s.Fields)
	case *syntax.Transaction:
		if r.tx > 0 {
			r.errorf(s, "a TRANSACTION cannot stand inside another: one END commits it all")
		}
		r.tx++
		r.block(s.Body)
		r.tx--
	case *syntax.SQL:
		for _, p := range s.Parts {
			r.exprs(p.Param)
		}
		if s.File != nil {
			r.inTransaction(s, s.Head+" … SET FILE")
			r.rowsFile(s.File)
			r.exprs(s.File)
		}
	case *syntax.Import:
		r.exprs(s.Rows, s.Path, s.Encoding)
	default:
		r.effect(s)
	}
}

// rowsFile refuses the path of a file that rows cannot be written to, where it is known.
func (r *resolver) rowsFile(path syntax.Expr) {
	if t, ok := path.(*syntax.Text); ok && !t.HasInsertion() && lib.RowsFormat(t.Plain()) == "" {
		r.errorf(t, "%s", lib.RowsFormatHelp(t.Plain()))
	}
}

// effect checks the statements that reach into the world.
func (r *resolver) effect(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.StartSession:
		r.inTransaction(s, "START SESSION")
	case *syntax.EndSession:
		r.inTransaction(s, "END SESSION")
	case *syntax.Confirm:
		r.inTransaction(s, "CONFIRM")
		r.exprs(s.Message, s.To)
		r.duration(s.Within)
	case *syntax.Gather:
		r.inTransaction(s, "GATHER")
		r.gather(s)
	case *syntax.Wait:
		r.inTransaction(s, "WAIT")
		r.exprs(s.Until)
		r.duration(s.Duration)
	case *syntax.Read:
		r.inTransaction(s, "READ")
		r.exprs(s.Path)
	case *syntax.Write:
		r.inTransaction(s, "WRITE")
		r.exprs(s.Value, s.Path)
	case *syntax.List:
		r.inTransaction(s, "LIST")
		r.exprs(s.Path)
	case *syntax.Copy:
		r.inTransaction(s, "COPY")
		r.exprs(s.From, s.FromOn, s.To, s.ToOn)
	case *syntax.Move:
		r.inTransaction(s, "MOVE")
		r.exprs(s.From, s.To)
	case *syntax.Remove:
		r.inTransaction(s, "REMOVE")
		r.exprs(s.Path)
	case *syntax.Share:
		r.inTransaction(s, "SHARE")
		r.exprs(s.Path, s.Times, s.Named)
		r.duration(s.For)
	case *syntax.Unshare:
		r.inTransaction(s, "UNSHARE")
		r.exprs(s.URL)
	case *syntax.Use:
		r.inTransaction(s, "USE DATABASE")
		r.exprs(s.Name)
	case *syntax.Render:
		r.inTransaction(s, "RENDER")
		r.exprs(s.Path, s.Using)
	case *syntax.Fetch:
		r.inTransaction(s, "FETCH")
		r.exprs(s.URL, s.Method, s.Headers, s.Query, s.Body)
		r.duration(s.Timeout)
	case *syntax.Mail:
		r.inTransaction(s, "MAIL")
		r.exprs(s.To, s.Subject, s.Text, s.HTML, s.From, s.Attach)
	case *syntax.FetchAll:
		r.inTransaction(s, "FETCH ALL")
		r.exprs(s.List, s.AtMost)
		r.duration(s.Timeout)
	case *syntax.RunScript:
		what := "RUN SCRIPT"
		if s.Start {
			what = "START SCRIPT"
		}
		r.inTransaction(s, what)
		r.exprs(s.Name, s.Using)
		r.duration(s.Within)
	case *syntax.WaitFor:
		r.inTransaction(s, "WAIT FOR")
		r.exprs(s.Job, s.Signal)
		r.duration(s.Within)
	case *syntax.Signal:
		r.inTransaction(s, "SIGNAL")
		r.exprs(s.Name, s.To, s.Using)
	case *syntax.Run:
		r.inTransaction(s, "RUN")
		r.exprs(s.Command, s.On, s.Input)
		r.duration(s.Timeout)
	}
}

func (r *resolver) gather(s *syntax.Gather) {
	r.exprs(s.Title, s.To)
	r.fields(s.Fields)
	r.duration(s.Within)
}

func (r *resolver) fields(list []*syntax.Field) {
	for _, f := range list {
		r.exprs(f.Choices, f.Min, f.Max, f.Default, f.Label, f.Help, f.Pattern)
	}
}

func (r *resolver) duration(d *syntax.Duration) {
	if d != nil {
		r.exprs(d.Amount)
	}
}

func (r *resolver) target(t *syntax.Target) {
	r.use(t.Var)
	for _, a := range t.Path {
		r.exprs(a.Index)
	}
}

func (r *resolver) place(s syntax.Stmt, p syntax.Place) {
	switch p := p.(type) {
	case *syntax.Target:
		r.target(p)
	case *syntax.Global:
		if p.Name != "SESSION" {
			return
		}
		verb := "SET"
		if _, ok := s.(*syntax.UnsetKey); ok {
			verb = "UNSET"
		}
		r.inTransaction(s, verb+" … OF !SESSION")
	}
}

// use checks that a variable is set somewhere in its function.
func (r *resolver) use(v *syntax.Var) {
	for i := len(r.lambdas) - 1; i >= 0; i-- {
		if r.lambdas[i] == v.Name {
			return
		}
	}
	if _, ok := r.fn.slots[v.Name]; ok {
		return
	}
	if r.unset[v.Name] {
		return
	}
	r.unset[v.Name] = true
	names := append(append([]string(nil), r.fn.Vars...), r.lambdas...)
	where := ""
	if r.fn.Define != nil {
		where = " in " + r.fn.Name
	}
	if r.isInput(v.Name) {
		r.errorf(v, "?%s is never set%s: the field of INPUT FIELDS is !INPUT.%s", v.Name, where, v.Name).
			As(source.UnknownVariable).Offer(v.Start, v.Stop, "!INPUT."+v.Name)
		return
	}
	if near := source.Nearest(v.Name, names); near != "" {
		r.errorf(v, "?%s is never set%s; ?%s is", v.Name, where, near).
			As(source.UnknownVariable).Offer(v.Start, v.Stop, "?"+near)
		return
	}
	if r.fn.Define != nil {
		// The top level is resolved first: its variables are known.
		if _, ok := r.res.Funcs[0].slots[v.Name]; ok {
			r.errorf(v, "?%s is never set in %s: a function sees its parameters and its own variables only, so pass it as a parameter", v.Name, r.fn.Name).As(source.UnknownVariable)
			return
		}
	}
	r.errorf(v, "?%s is never set%s: SET ?%s AS … sets it", v.Name, where, v.Name).As(source.UnknownVariable)
}

// isInput says whether callers give the script a field of this name.
func (r *resolver) isInput(name string) bool {
	return r.res.Input != nil && slices.ContainsFunc(r.res.Input.Fields, func(f *syntax.Field) bool { return f.Name == name })
}

func (r *resolver) exprs(list ...syntax.Expr) {
	for _, e := range list {
		r.expr(e)
	}
}

func (r *resolver) expr(e syntax.Expr) {
	if e == nil || len(r.errs) >= maxErrors {
		return
	}
	if r.depth == maxDepth {
		r.errorf(e, "this expression is too long: SET a part of it to a variable first")
		return
	}
	r.yield.Step()
	r.depth++
	defer func() { r.depth-- }()
	switch e := e.(type) {
	case *syntax.Text:
		if e == nil {
			return
		}
		for _, p := range e.Parts {
			r.expr(p.Insert)
		}
	case *syntax.Var:
		r.use(e)
	case *syntax.Global:
		r.expr(e.Arg)
	case *syntax.Call:
		r.call(e)
	case *syntax.Lambda:
		r.errorf(e, "a lambda stands only as an argument of MAP, FILTER, REDUCE, SORT_BY, GROUP_BY, ANY, ALL and the like")
	case *syntax.Case:
		r.expr(e.Of)
		for _, w := range e.Whens {
			r.exprs(w.Cond, w.Then)
		}
		r.expr(e.Else)
	case *syntax.ListLit:
		r.exprs(e.Items...)
	case *syntax.MapLit:
		for _, m := range e.Entries {
			r.expr(m.Value)
		}
	case *syntax.Paren:
		r.expr(e.X)
	case *syntax.Unary:
		r.expr(e.X)
	case *syntax.Binary:
		r.exprs(e.X, e.Y)
	case *syntax.IsNull:
		r.expr(e.X)
	case *syntax.Between:
		r.exprs(e.X, e.Low, e.High)
	case *syntax.Name:
		r.name(e)
	case *syntax.FieldAccess:
		if n, ok := e.X.(*syntax.Name); ok && r.isPrefix(n.Name) {
			r.member(e, n)
			return
		}
		r.expr(e.X)
	case *syntax.Index:
		r.exprs(e.X, e.I)
	}
}

func (r *resolver) callStmt(s *syntax.CallStmt) {
	if _, ok := r.res.Lookup(r.at, s.Call.Prefix, s.Call.Name); !ok && s.Call.Prefix == "" {
		if _, ok := lib.Lookup(s.Call.Name); ok {
			r.errorf(s.Call, "CALL is for functions that DEFINE makes; %s gives a value: SET ?x AS %s(…)", strings.ToUpper(s.Call.Name), strings.ToUpper(s.Call.Name))
			r.arguments(s.Call)
			return
		}
	}
	r.call(s.Call)
}

// arguments resolves the arguments of a call that is wrong already.
func (r *resolver) arguments(c *syntax.Call) {
	for _, a := range c.Args {
		if l, ok := a.(*syntax.Lambda); ok {
			r.lambda(l)
		} else {
			r.expr(a)
		}
	}
}

func (r *resolver) lambda(l *syntax.Lambda) {
	n := len(r.lambdas)
	for _, p := range l.Params {
		r.lambdas = append(r.lambdas, p.Name)
	}
	r.expr(l.Body)
	r.lambdas = r.lambdas[:n]
}
