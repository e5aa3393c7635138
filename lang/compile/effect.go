package compile

import (
	"ql/lang/bytecode"
	"ql/lang/syntax"
	"ql/lang/value"
)

// arg puts one argument of an effect into a register.
type arg func(r uint8)

// val is the value of an expression, null where it is left out.
func (g *fn) val(e syntax.Expr) arg {
	return func(r uint8) {
		if isNil(e) {
			g.emit(bytecode.OpLoadNull, r, 0, 0, 0)
			return
		}
		g.borrow(e, r)
	}
}

// constant is a fixed value.
func (g *fn) constant(v value.Value) arg {
	return func(r uint8) { g.load(v, r) }
}

// seconds is a duration, null where it is left out.
func (g *fn) seconds(d *syntax.Duration) arg {
	return func(r uint8) {
		if d == nil {
			g.emit(bytecode.OpLoadNull, r, 0, 0, 0)
			return
		}
		x := g.left(d.Amount, r)
		g.pos = d.Pos()
		g.emit(bytecode.OpSeconds, r, x, 0, int32(d.Unit))
	}
}

// perform compiles a statement that is one effect and returns the register of
// its result.
func (g *fn) perform(s syntax.Stmt, name string, effect bytecode.Effect, args ...arg) uint8 {
	return g.pose(s, name, effect, false, args...)
}

// pose is perform of a question, whose link is sent before it where that is by mail.
func (g *fn) pose(s syntax.Stmt, name string, effect bytecode.Effect, byMail bool, args ...arg) uint8 {
	g.begin(s, name, effect.Info().Class)
	base := g.temp()
	for i, a := range args {
		r := base
		if i > 0 {
			r = g.temp()
		}
		a(r)
	}
	g.pos = s.Pos()
	if byMail {
		const to = 2 // the argument
		what, whom := g.temp(), g.temp()
		g.emit(bytecode.OpMove, what, base, 0, 0)
		g.emit(bytecode.OpMove, whom, base+to, 0, 0)
		g.effect(bytecode.EffectMailQuestion, what, 2)
	}
	g.effect(effect, base, len(args))
	return base
}

var formatNames = [...]value.Value{
	syntax.NoFormat: value.Null, syntax.FormatText: value.Text("text").Freeze(), syntax.FormatJSON: value.Text("json").Freeze(),
	syntax.FormatCSV: value.Text("csv").Freeze(), syntax.FormatLines: value.Text("lines").Freeze(), syntax.FormatBytes: value.Text("bytes").Freeze(),
	syntax.FormatJSONLines: value.Text("json_lines").Freeze(),
}

func (g *fn) effectStmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *spillStore:
		g.pos = s.v.Pos()
		g.setSpilled(s.v.Name, s.r, true)
	case *lineLoad:
		g.pos = s.v.Pos()
		g.emit(bytecode.OpGet, s.r, s.lines, s.index, 1)
		if _, ok := g.variable(s.v.Name); !ok {
			g.setSpilled(s.v.Name, s.r, true)
		}
	case *syntax.StartSession:
		g.perform(s, "START SESSION", bytecode.EffectSessionStart)
	case *syntax.EndSession:
		g.perform(s, "END SESSION", bytecode.EffectSessionEnd)
	case *syntax.Confirm:
		r := g.pose(s, "CONFIRM", bytecode.EffectConfirm, s.ByMail, g.question(g.val(s.Message), s.Within, s.To)...)
		if s.Result == nil {
			g.emit(bytecode.OpDecline, r, 0, 0, 0)
			return
		}
		g.store(s.Result, r)
	case *syntax.Gather:
		g.store(s.Result, g.pose(s, "GATHER", bytecode.EffectGather, s.ByMail, g.question(g.val(g.c.formOf(s, s.Title, s.Fields)), s.Within, s.To)...))
	case *syntax.Wait:
		if s.Until != nil {
			g.perform(s, "WAIT", bytecode.EffectWaitUntil, g.val(s.Until))
			return
		}
		g.perform(s, "WAIT", bytecode.EffectWait, g.seconds(s.Duration))
	case *syntax.Read:
		g.store(s.Result, g.perform(s, "READ", bytecode.EffectFileRead, g.val(s.Path), g.constant(formatNames[s.Format]), g.constant(value.Bool(s.Optional))))
	case *syntax.Write:
		g.perform(s, "WRITE", bytecode.EffectFileWrite, g.val(s.Path), g.val(s.Value), g.constant(formatNames[s.Format]))
	case *syntax.AppendFile:
		g.perform(s, "APPEND", bytecode.EffectFileAppend, g.val(s.Path), g.val(s.Value), g.constant(value.Bool(s.Line)))
	case *syntax.List:
		g.store(s.Result, g.perform(s, "LIST", bytecode.EffectFileList, g.val(s.Path)))
	case *syntax.Copy:
		if s.FromOn != nil || s.ToOn != nil {
			g.perform(s, "COPY", bytecode.EffectMachineCopy, g.val(s.From), g.val(s.FromOn), g.val(s.To), g.val(s.ToOn))
			return
		}
		g.perform(s, "COPY", bytecode.EffectFileCopy, g.val(s.From), g.val(s.To))
	case *syntax.Move:
		g.perform(s, "MOVE", bytecode.EffectFileMove, g.val(s.From), g.val(s.To))
	case *syntax.Remove:
		g.perform(s, "REMOVE", bytecode.EffectFileRemove, g.val(s.Path))
	case *syntax.Share:
		g.store(s.Result, g.perform(s, "SHARE", bytecode.EffectShare, g.val(s.Path), g.val(s.Times), g.constant(value.Bool(s.Unlimited)), g.seconds(s.For), g.val(s.Named)))
	case *syntax.Unshare:
		g.perform(s, "UNSHARE", bytecode.EffectUnshare, g.val(s.URL))
	case *syntax.Use:
		g.begin(s, "USE DATABASE", bytecode.ClassDB)
		r := g.operand(s.Name)
		g.pos = s.Name.Pos()
		g.emit(bytecode.OpUse, r, 0, 0, 0)
	case *syntax.Render:
		r := g.perform(s, "RENDER", bytecode.EffectRender, g.val(s.Path), g.val(s.Using))
		g.emit(bytecode.OpEmit, r, 1, 0, 0)
	case *syntax.Fetch:
		g.store(s.Result, g.perform(s, "FETCH", bytecode.EffectFetch, g.val(s.URL), g.val(s.Method), g.val(s.Headers), g.val(s.Query), g.val(s.Body), g.seconds(s.Timeout)))
	case *syntax.Mail:
		g.store(s.Result, g.perform(s, "MAIL", bytecode.EffectMail, g.val(s.To), g.val(s.Subject), g.val(s.Text), g.val(s.HTML), g.val(s.From), g.val(s.Attach)))
	case *syntax.FetchAll:
		g.store(s.Result, g.perform(s, "FETCH ALL", bytecode.EffectFetchAll, g.val(s.List), g.val(s.AtMost), g.seconds(s.Timeout)))
	case *syntax.RunScript:
		g.runScript(s)
	case *syntax.WaitFor:
		if s.Job != nil {
			g.store(s.Result, g.perform(s, "WAIT FOR", bytecode.EffectWaitJob, g.val(s.Job), g.seconds(s.Within), g.constant(value.Bool(false))))
			return
		}
		g.store(s.Result, g.perform(s, "WAIT FOR SIGNAL", bytecode.EffectWaitSignal, g.val(s.Signal), g.seconds(s.Within)))
	case *syntax.Signal:
		g.perform(s, "SIGNAL", bytecode.EffectSignal, g.val(s.Name), g.val(s.To), g.val(s.Using))
	case *syntax.Run:
		args := []arg{g.command(s.Command), g.val(s.On), g.val(s.Input), g.seconds(s.Timeout)}
		if isComputed(s.Command) {
			args = append(args, g.constant(value.Bool(true)))
		}
		g.store(s.Result, g.perform(s, "RUN", bytecode.EffectRun, args...))
	case *syntax.SQL:
		g.sql(s)
	case *syntax.Import:
		g.importStmt(s)
	}
}

// runScript compiles RUN SCRIPT, which starts a job and waits for it, and START SCRIPT.
func (g *fn) runScript(s *syntax.RunScript) {
	if s.Start {
		g.store(s.Result, g.perform(s, "START SCRIPT", bytecode.EffectStartScript, g.val(s.Name), g.val(s.Using)))
		return
	}
	g.begin(s, "RUN SCRIPT", bytecode.ClassWait)
	r := g.temp()
	g.val(s.Name)(r)
	g.val(s.Using)(g.temp())
	g.pos = s.Pos()
	g.effect(bytecode.EffectCallScript, r, 2)
	g.free(int(r) + 1)
	g.seconds(s.Within)(g.temp())
	g.constant(value.Bool(true))(g.temp())
	g.pos = s.Pos()
	g.effect(bytecode.EffectWaitJob, r, 3)
	g.store(s.Result, r)
}

// importStmt compiles an IMPORT. The rows that BAD lists come with the result.
func (g *fn) importStmt(s *syntax.Import) {
	args := []arg{g.constant(value.Text(s.Table).Freeze()), g.val(s.Rows)}
	if s.Path != nil {
		args = []arg{args[0], g.val(s.Path), g.constant(formatNames[s.Format]), g.val(s.Encoding), g.constant(value.Bool(s.Bad != nil))}
	}
	r := g.perform(s, "IMPORT", bytecode.EffectImport, args...)
	if s.Bad != nil {
		g.free(int(r) + 1)
		bad, index := g.temp(), g.temp()
		g.load(value.Int(1), index)
		g.emit(bytecode.OpGet, bad, r, index, 0)
		g.store(s.Bad, bad)
		g.load(value.Int(0), index)
		g.emit(bytecode.OpGet, r, r, index, 0)
	}
	g.store(s.Result, r)
}

// question are the arguments of a question. One without TO has no argument for it, and not
// null: so a script without it has the code that it had before there was TO, and a stored
// program of its text is the same one.
func (g *fn) question(what arg, within *syntax.Duration, to syntax.Expr) []arg {
	args := []arg{what, g.seconds(within)}
	if !isNil(to) {
		args = append(args, g.val(to))
	}
	return args
}

// isComputed tells that a command of RUN does not stand in the script: where it comes to a text,
// nobody knows what of it was quoted.
func isComputed(e syntax.Expr) bool {
	switch e.(type) {
	case *syntax.Text, *syntax.ListLit:
		return false
	}
	return true
}

// command is RUN's: in a text each insertion becomes one quoted argument.
func (g *fn) command(e syntax.Expr) arg {
	t, ok := e.(*syntax.Text)
	if !ok || plainText(t) {
		return g.val(e)
	}
	g.checkCommand(t)
	return func(r uint8) {
		mark := g.next
		g.template(t, r, bytecode.ShellTemplate)
		g.free(mark)
	}
}

var sqlModes = [...]bytecode.SQLMode{
	syntax.SQLNone: bytecode.SQLEmit, syntax.SQLRows: bytecode.SQLRows,
	syntax.SQLRow: bytecode.SQLRow, syntax.SQLValue: bytecode.SQLValue, syntax.SQLFile: bytecode.SQLRows,
}

func sqlParam(p syntax.SQLPart) bytecode.SQLParam {
	switch {
	case p.InList:
		return bytecode.SQLMembers
	case p.Among:
		return bytecode.SQLAmong
	case p.Choices != nil:
		return bytecode.SQLChoice
	}
	return bytecode.SQLOne
}

func (g *fn) sql(s *syntax.SQL) {
	st := bytecode.Statement{Head: s.Head, Mode: sqlModes[s.Mode]}
	g.begin(s, s.Head, bytecode.ClassDB)
	text := ""
	base := g.temp()
	n := 0
	for _, p := range s.Parts {
		if p.Param == nil {
			text += p.Text
			continue
		}
		st.Texts = append(st.Texts, text)
		st.Params = append(st.Params, sqlParam(p))
		text = ""
		if p.Choices != nil {
			text = bytecode.ChoicesText(p.Choices)
		}
		r := base
		if n > 0 {
			r = g.temp()
		}
		g.borrow(p.Param, r)
		n++
	}
	st.Texts = append(st.Texts, text)
	effect := bytecode.EffectSQL
	if s.File != nil {
		effect = bytecode.EffectSQLFile
		r := base
		if n > 0 {
			r = g.temp()
		}
		g.borrow(s.File, r)
		n++
	}
	if n > maxArgs {
		g.errorf(s, "a SQL statement takes at most %d parameters: bind a list or split the statement", maxArgs)
	}
	if !g.fast {
		g.c.prog.Statements = append(g.c.prog.Statements, st)
	}
	g.pos = s.Pos()
	g.emit(bytecode.OpEffect, base, 0, 0, g.site(bytecode.Site{Effect: effect, Args: uint8(n), Statement: int32(g.at.statements)}))
	g.at.statements++
	if s.File != nil {
		return
	}
	if s.Result == nil {
		g.emit(bytecode.OpEmitRows, base, 0, 0, 0)
		return
	}
	g.store(s.Result, base)
}

var fieldKinds = [...]string{
	syntax.FieldText: "text", syntax.FieldLongText: "long_text", syntax.FieldEmail: "email", syntax.FieldURL: "url",
	syntax.FieldPhone: "phone", syntax.FieldSecret: "secret", syntax.FieldNumber: "number", syntax.FieldInteger: "integer",
	syntax.FieldDecimal: "decimal",
	syntax.FieldBoolean: "boolean", syntax.FieldDate: "date", syntax.FieldTime: "time", syntax.FieldFile: "file",
	syntax.FieldChoice: "choice", syntax.FieldChoices: "choices",
}

// formOf writes fields as the map that the host or the machine gets: the same
// expression for both versions of a function, so that they share a constant.
func (c *compiler) formOf(s syntax.Stmt, title syntax.Expr, fields []*syntax.Field) syntax.Expr {
	if f := c.forms[s]; f != nil {
		return f
	}
	f := formExpr(syntax.Span{Start: s.Pos(), Stop: s.End()}, title, fields)
	c.forms[s] = f
	return f
}

func formExpr(at syntax.Span, title syntax.Expr, list []*syntax.Field) syntax.Expr {
	text := func(v string) syntax.Expr {
		return &syntax.Text{Span: at, Quote: syntax.SingleQuote, Parts: []syntax.TextPart{{Span: at, Plain: v}}}
	}
	fields := &syntax.ListLit{Span: at}
	for _, f := range list {
		m := &syntax.MapLit{Span: f.Span}
		put := func(key string, v syntax.Expr) {
			if !isNil(v) {
				m.Entries = append(m.Entries, syntax.Entry{Span: f.Span, Key: key, Value: v})
			}
		}
		put("name", text(f.Name))
		put("kind", text(fieldKinds[f.Kind]))
		put("required", &syntax.Bool{Span: f.Span, Value: f.Required})
		put("choices", f.Choices)
		put("min", f.Min)
		put("max", f.Max)
		put("default", f.Default)
		put("label", f.Label)
		put("help", f.Help)
		put("pattern", f.Pattern)
		fields.Items = append(fields.Items, m)
	}
	if isNil(title) {
		title = &syntax.Null{Span: at}
	}
	return &syntax.MapLit{Span: at, Entries: []syntax.Entry{
		{Span: at, Key: "title", Value: title},
		{Span: at, Key: "fields", Value: fields},
	}}
}
