package syntax

// Walk calls visit with the node and, where that returns true, with each node below it,
// in the order of the text; after those it calls visit with nil. A tree with holes, as
// of a text with mistakes, is walked as far as it goes.
func Walk(n Node, visit func(Node) bool) {
	w := walker{visit}
	w.node(n)
}

type walker struct{ visit func(Node) bool }

func (w walker) node(n Node) {
	if n == nil || !w.visit(n) {
		return
	}
	switch n := n.(type) {
	case *Script:
		w.stmts(n.Statements)
	case *Block:
		w.stmts(n.Stmts)
	case *Target:
		w.variable(n.Var)
		for i := range n.Path {
			w.expr(n.Path[i].Index)
		}
	case *Duration:
		w.expr(n.Amount)
	case *Field:
		w.text(n.Quoted)
		w.exprs(n.Choices, n.Min, n.Max, n.Default, n.Label, n.Help, n.Pattern)
	case Stmt:
		w.stmt(n)
	case Expr:
		w.operand(n)
	}
	w.visit(nil)
}

func (w walker) stmts(list []Stmt) {
	for _, s := range list {
		w.node(s)
	}
}

// The pieces of a statement may be missing, and a missing one in an interface is not nil
// of itself.

func (w walker) variable(v *Var) {
	if v != nil {
		w.node(v)
	}
}

func (w walker) target(t *Target) {
	if t != nil {
		w.node(t)
	}
}

func (w walker) text(t *Text) {
	if t != nil {
		w.node(t)
	}
}

func (w walker) block(b *Block) {
	if b != nil {
		w.node(b)
	}
}

func (w walker) duration(d *Duration) {
	if d != nil {
		w.node(d)
	}
}

func (w walker) place(p Place) {
	if p != nil {
		w.node(p)
	}
}

func (w walker) expr(x Expr) {
	if x != nil {
		w.node(x)
	}
}

func (w walker) exprs(list ...Expr) {
	for _, x := range list {
		w.expr(x)
	}
}

func (w walker) fields(list []*Field) {
	for _, f := range list {
		w.node(f)
	}
}

func (w walker) stmt(s Stmt) {
	switch s := s.(type) {
	case *BadStmt:
		w.exprs(s.Parts...)
	case *Emit:
		w.exprs(s.Args...)
	case *Set:
		w.target(s.Target)
		w.expr(s.Value)
	case *SetKey:
		w.text(s.Key)
		w.expr(s.Value)
		w.place(s.Place)
	case *Unset:
		w.target(s.Target)
	case *UnsetKey:
		w.text(s.Key)
		w.place(s.Place)
	case *Append:
		w.expr(s.Value)
		w.target(s.Target)
	case *AppendFile:
		w.exprs(s.Value, s.Path)
	case *If:
		for i := range s.Branches {
			w.expr(s.Branches[i].Cond)
			w.block(s.Branches[i].Body)
		}
		w.block(s.Else)
	case *ForIn:
		w.variable(s.Key)
		w.variable(s.Value)
		w.expr(s.Seq)
		w.block(s.Body)
	case *ForRange:
		w.variable(s.Var)
		w.exprs(s.From, s.To, s.Step)
		w.block(s.Body)
	case *ForFile:
		w.variable(s.Value)
		w.exprs(s.Path, s.Encoding)
		w.variable(s.At)
		w.variable(s.Bad)
		w.block(s.Body)
	case *While:
		w.expr(s.Cond)
		w.block(s.Body)
	case *Return:
		w.expr(s.Value)
	case *CallStmt:
		if s.Call != nil {
			w.node(s.Call)
		}
	case *Try:
		w.block(s.Body)
		w.variable(s.Err)
		w.block(s.Catch)
		w.block(s.Finally)
	case *Fail:
		w.exprs(s.Value, s.Code)
	case *Transaction:
		w.block(s.Body)
	case *SQL:
		for i := range s.Parts {
			w.expr(s.Parts[i].Param)
		}
		w.expr(s.File)
		w.variable(s.Result)
	case *Import:
		w.exprs(s.Rows, s.Path, s.Encoding)
		w.text(s.Quoted)
		w.variable(s.Bad)
		w.variable(s.Result)
	case *Define:
		for i := range s.Params {
			w.variable(s.Params[i].Var)
			w.expr(s.Params[i].Default)
		}
		w.block(s.Body)
	case *Constant:
		w.expr(s.Value)
	case *Include:
		w.text(s.Path)
	default:
		w.effect(s)
	}
}

// effect walks the statements that reach into the world.
func (w walker) effect(s Stmt) {
	switch s := s.(type) {
	case *Confirm:
		w.exprs(s.Message, s.To)
		w.duration(s.Within)
		w.variable(s.Result)
	case *Gather:
		w.expr(s.Title)
		w.fields(s.Fields)
		w.expr(s.To)
		w.duration(s.Within)
		w.variable(s.Result)
	case *Check:
		w.expr(s.Value)
		w.fields(s.Fields)
		w.variable(s.Result)
	case *Input:
		w.fields(s.Fields)
	case *Wait:
		w.duration(s.Duration)
		w.expr(s.Until)
	case *Read:
		w.expr(s.Path)
		w.variable(s.Result)
	case *Write:
		w.exprs(s.Value, s.Path)
	case *List:
		w.expr(s.Path)
		w.variable(s.Result)
	case *Copy:
		w.exprs(s.From, s.FromOn, s.To, s.ToOn)
	case *Move:
		w.exprs(s.From, s.To)
	case *Remove:
		w.expr(s.Path)
	case *Share:
		w.exprs(s.Path, s.Times)
		w.duration(s.For)
		w.expr(s.Named)
		w.variable(s.Result)
	case *Unshare:
		w.expr(s.URL)
	case *Use:
		w.expr(s.Name)
	case *Render:
		w.exprs(s.Path, s.Using)
	case *Fetch:
		w.exprs(s.URL, s.Method, s.Headers, s.Query, s.Body)
		w.duration(s.Timeout)
		w.variable(s.Result)
	case *Mail:
		w.exprs(s.To, s.Subject, s.Text, s.HTML, s.From, s.Attach)
		w.variable(s.Result)
	case *FetchAll:
		w.exprs(s.List, s.AtMost)
		w.duration(s.Timeout)
		w.variable(s.Result)
	case *RunScript:
		w.exprs(s.Name, s.Using)
		w.duration(s.Within)
		w.variable(s.Result)
	case *WaitFor:
		w.exprs(s.Job, s.Signal)
		w.duration(s.Within)
		w.variable(s.Result)
	case *Signal:
		w.exprs(s.Name, s.To, s.Using)
	case *Run:
		w.exprs(s.Command, s.On, s.Input)
		w.duration(s.Timeout)
		w.variable(s.Result)
	}
}

func (w walker) operand(x Expr) {
	switch x := x.(type) {
	case *Text:
		for i := range x.Parts {
			w.expr(x.Parts[i].Insert)
		}
	case *Global:
		w.expr(x.Arg)
	case *Call:
		w.exprs(x.Args...)
	case *Lambda:
		for _, v := range x.Params {
			w.variable(v)
		}
		w.expr(x.Body)
	case *Case:
		w.expr(x.Of)
		for i := range x.Whens {
			w.exprs(x.Whens[i].Cond, x.Whens[i].Then)
		}
		w.expr(x.Else)
	case *ListLit:
		w.exprs(x.Items...)
	case *MapLit:
		for i := range x.Entries {
			w.text(x.Entries[i].Quoted)
			w.expr(x.Entries[i].Value)
		}
	case *Paren:
		w.expr(x.X)
	case *Unary:
		w.expr(x.X)
	case *Binary:
		w.exprs(x.X, x.Y)
	case *IsNull:
		w.expr(x.X)
	case *Between:
		w.exprs(x.X, x.Low, x.High)
	case *FieldAccess:
		w.expr(x.X)
	case *Index:
		w.exprs(x.X, x.I)
	}
}
