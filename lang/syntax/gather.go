package syntax

import "ql/lang/source"

func (p *parser) gather(start source.Pos) Stmt {
	s := &Gather{}
	title := p.object(wGather)
	if p.got(wFields) {
		s.Title = title
		s.Fields = p.fields()
	} else {
		p.shortFields(s, title)
	}
	s.To, s.ByMail, s.Within = p.question()
	if p.is(wFields) {
		p.fail(p.tok.start, p.tok.stop, "FIELDS stands right behind the title, before TO and WITHIN: GATHER \"title\" FIELDS name TEXT TO \"team\" SET ?form")
	}
	s.Result = p.needResult(wGather, `GATHER "name", "email" SET ?form`)
	s.Span = p.span(start)
	return s
}

// shortFields reads the rest of GATHER "a", "b".
func (p *parser) shortFields(s *Gather, first Expr) {
	var names nameSet
	for {
		name, ok := first.(*Text)
		if !ok {
			p.fail(first.Pos(), first.End(), `GATHER takes a title and FIELDS, or the names of text fields: GATHER "name", "email" SET ?form`)
		}
		p.plainName(name)
		p.newField(&names, name.Plain(), name.Span)
		s.Short = append(s.Short, name)
		s.Fields = append(s.Fields, &Field{Span: name.Span, Name: name.Plain(), Quoted: name, Required: true})
		if p.tok.kind != tComma {
			return
		}
		p.next()
		if !p.tok.isText() {
			p.expected("the name of the next field as a text", "")
		}
		first = p.textLit(false)
	}
}

func (p *parser) newField(names *nameSet, name string, at Span) {
	if !names.add(name) {
		p.errorAt(at.Start, at.Stop, "the field %q is written twice", name)
	}
}

// plainName refuses insertions in the name of a field.
func (p *parser) plainName(t *Text) {
	if t.HasInsertion() || t.Plain() == "" {
		p.errorAt(t.Start, t.Stop, "the name of a field is a plain text, not empty and without insertions; a title stands before FIELDS")
	}
}

// check reads the rest of CHECK value FIELDS ….
func (p *parser) check(start source.Pos) Stmt {
	s := &Check{Value: p.object(wCheck)}
	if !p.got(wFields) {
		p.expected("FIELDS", "CHECK ?map FIELDS name TEXT REQUIRED, age INTEGER SET ?clean")
	}
	s.Fields = p.fields()
	p.noFiles(s.Fields)
	s.Result = p.result()
	s.Span = p.span(start)
	return s
}

// input reads INPUT FIELDS ….
func (p *parser) input(start source.Pos) Stmt {
	if len(p.stmts) > 0 && len(p.blocks) == 0 {
		if _, ok := p.stmts[0].(*Input); ok {
			p.fail(start, p.peek(1).stop, "INPUT FIELDS is written twice: put all fields behind the first, with commas between")
		}
	}
	if !p.first() {
		p.fail(start, p.peek(1).stop, "INPUT FIELDS says what callers give a script, and is its first statement: move it to the start")
	}
	p.next()
	p.next()
	p.prior, p.last = p.last, lastStmt{verb: wInput, start: start}
	s := &Input{Fields: p.fields()}
	p.noFiles(s.Fields)
	for _, f := range s.Fields {
		for _, x := range []Expr{f.Choices, f.Min, f.Max, f.Default, f.Label, f.Help, f.Pattern} {
			if x != nil {
				p.needConstant(x, "what INPUT says of a field is known before the script runs, and")
			}
		}
	}
	if p.atResult() {
		p.fail(p.tok.start, p.peek(1).stop, "INPUT FIELDS takes no SET: !INPUT holds what was given, such as !INPUT('%s')", s.Fields[0].Name)
	}
	s.Span = p.span(start)
	return s
}

// noFiles refuses fields of the kind FILE where no person answers: a map that
// says of itself that it is a file could name any file of the account.
func (p *parser) noFiles(fields []*Field) {
	for _, f := range fields {
		if f.Kind == FieldFile {
			p.errorAt(f.Start, f.Stop, "a FILE comes with the answer to a GATHER: %s takes no fields of this kind", p.last.verb)
		}
	}
}

// fields reads what stands behind FIELDS.
func (p *parser) fields() (list []*Field) {
	var names nameSet
	for {
		f := p.field()
		p.newField(&names, f.Name, Span{f.Start, f.Start + source.Pos(len(f.Name))})
		list = append(list, f)
		if p.tok.kind != tComma {
			p.afterField()
			return list
		}
		comma := p.tok
		p.next()
		p.noteKey()
		if p.afterFields() {
			p.errorAt(comma.start, comma.stop, "no comma stands after the last field")
			return list
		}
	}
}

// afterFields says whether the fields are over, although a comma came before.
func (p *parser) afterFields() bool {
	switch {
	case p.is(wSet):
		return p.peek(1).kind == tVar
	case p.is(wTo):
		next := p.peek(1)
		return next.kind == tVar || next.isText()
	case p.is(wWithin):
		next := p.peek(1).kind
		return next == tNumber || next == tVar || next == tLParen
	}
	return p.tok.kind != tWord && !p.tok.isText()
}

func (p *parser) field() *Field {
	f := p.nodes.fields.new()
	f.Start = p.tok.start
	switch {
	case p.tok.isText():
		f.Quoted = p.textLit(false)
		p.plainName(f.Quoted)
		f.Name = f.Quoted.Plain()
	case p.tok.kind == tWord:
		f.Name = p.text(&p.tok)
		p.next()
	default:
		p.noteKey()
		p.expected("the name of a field", "name TEXT REQUIRED")
	}
	p.fieldKind(f)
	for p.attribute(f) {
	}
	f.Stop = p.prevStop
	return f
}

func (p *parser) fieldKind(f *Field) {
	kind, ok := FieldText, p.tok.kind == tWord
	if ok {
		switch p.tok.word {
		case wLong:
			p.next()
			p.need(wText, "LONG TEXT")
			f.Kind = FieldLongText
			return
		case wText:
		case wEmail:
			kind = FieldEmail
		case wURL:
			kind = FieldURL
		case wPhone:
			kind = FieldPhone
		case wSecret:
			kind = FieldSecret
		case wNumber:
			kind = FieldNumber
		case wInteger:
			kind = FieldInteger
		case wDecimal:
			kind = FieldDecimal
		case wBoolean:
			kind = FieldBoolean
		case wDate:
			kind = FieldDate
		case wTime:
			kind = FieldTime
		case wFile:
			kind = FieldFile
		case wChoice:
			kind = FieldChoice
		case wChoices:
			kind = FieldChoices
		default:
			ok = false
		}
	}
	if !ok {
		p.badKind(f)
	}
	p.next()
	f.Kind = kind
	if kind == FieldChoice || kind == FieldChoices {
		f.Choices = p.unary()
	}
}

// attribute reads one attribute of a field, if one stands here.
func (p *parser) attribute(f *Field) bool {
	if p.tok.kind != tWord {
		p.noteWords(FieldAttributes)
		return false
	}
	var value *Expr
	switch p.tok.word {
	case wRequired:
		p.onceInField(f.Required)
		f.Required = true
		f.Order = append(f.Order, p.tok.word.String())
		p.next()
		return true
	case wMin:
		value = &f.Min
	case wMax:
		value = &f.Max
	case wDefault:
		value = &f.Default
	case wLabel:
		value = &f.Label
	case wHelp:
		value = &f.Help
	case wPattern:
		value = &f.Pattern
	default:
		return false
	}
	p.onceInField(*value != nil)
	f.Order = append(f.Order, p.tok.word.String())
	p.next()
	*value = p.unary()
	return true
}

func (p *parser) onceInField(seen bool) {
	if seen {
		p.errorAt(p.tok.start, p.tok.stop, "%s is written twice in this field", p.tok.word)
	}
}
