package gen

import "fmt"

// statement writes one statement.
func (g *generator) statement() {
	g.left--
	deep := g.indent > 4
	switch n := g.intn(100); {
	case n < 14:
		g.emit()
	case n < 26:
		k := kind(g.intn(int(kinds)))
		g.line("SET ?%s AS %s", g.variable(k), g.growing(k))
	case n < 31:
		k := kind(g.intn(int(kinds)))
		e := g.expr(k, 3)
		g.line("SET ?%s AS %s", g.declare(k), e)
	case n < 43:
		g.path()
	case n < 50:
		g.appendTo()
	case n < 60 && !deep:
		g.branch()
	case n < 72 && !deep && g.loops < 2:
		g.loop()
	case n < 80 && !deep:
		g.try()
	case n < 84:
		g.risky()
	case n < 87:
		g.leave()
	case n < 90 && len(g.funcs) > 0:
		g.line("CALL %s", g.callOf(&g.funcs[g.intn(len(g.funcs))], 1))
	case g.Pure:
		g.emit()
	case g.tx:
		g.sql()
	case n < 92 && !deep:
		g.transaction()
	default:
		g.effect()
	}
}

// growing returns a value for a variable of a kind. Most texts and lists are
// appended to, but never doubled: loops would make them endless.
func (g *generator) growing(k kind) string {
	v := "?" + g.variable(k)
	if g.chance(60) {
		switch k {
		case text:
			return v + " + " + g.pick("'+'", "'ab'", "TEXT(?"+g.variable(number)+" % 10 DEFAULT 0)", `"{?`+g.variable(boolean)+`}"`)
		case numbers:
			return v + " + [" + g.items(number, 1) + "]"
		case number:
			return v + g.pick(" + 1", " - 1", " + 40000", " + 0.5", " * 2", " + ?"+g.variable(number))
		}
	}
	if g.loops > 0 && k != number && k != boolean {
		if g.chance(50) {
			return v
		}
		return g.constant(k)
	}
	return g.expr(k, 3)
}

func (g *generator) emit() {
	s := g.pick("EMIT ", "EMIT LINE ")
	for i := range 1 + g.intn(3) {
		if i > 0 {
			s += ", "
		}
		s += g.expr(kind(g.intn(int(kinds))), 3)
	}
	g.line("%s", s)
}

// path writes a SET or UNSET below a variable.
func (g *generator) path() {
	m, r := g.variable(record), g.variable(records)
	switch g.intn(14) {
	case 0:
		g.line("SET ?%s.id AS %s", m, g.expr(number, 2))
	case 1:
		g.line("SET ?%s.name AS %s", m, g.expr(text, 2))
	case 2:
		g.line("SET ?%s.tags AS %s", m, g.growing(numbers))
	case 3:
		g.line("SET ?%s.extra.deep.%s AS %s", m, g.pick("a", "b", "end"), g.small(wild))
	case 4:
		g.line("SET ?%s[%s] AS %s", m, g.expr(text, 1), g.expr(number, 2))
	case 5:
		g.line("SET %s AS %s OF ?%s", g.pick("'k'", `"k{?`+g.variable(number)+`}"`), g.expr(number, 2), m)
	case 6:
		v := g.variable(numbers)
		g.line("IF COUNT(?%s) > 1 THEN SET ?%s[%s] AS %s END", v, v, g.pick("0", "1", "-1", "?"+g.variable(number)+" % 2 DEFAULT 0"), g.expr(number, 2))
	case 7:
		g.line("IF COUNT(?%s) > 0 THEN SET ?%s[0].%s AS %s END", r, r, g.pick("name", "other"), g.expr(text, 2))
	case 8:
		g.line("IF ?%s.tags[0] IS NOT NULL THEN SET ?%s.tags[0] AS %s END", m, m, g.expr(number, 2))
	case 9:
		g.line("UNSET ?%s.%s", m, g.pick("extra", "k", "extra.deep.a", "missing.x"))
	case 10:
		g.line("UNSET ?%s[%s]", g.variable(numbers), g.pick("0", "-1", "9"))
	case 11:
		g.line("UNSET %s OF ?%s", g.pick("'k'", "'extra'", `"k{?`+g.variable(number)+`}"`), m)
	case 12:
		g.line("SET ?%s.extra AS ?%s", m, g.variable(g.pickKind(record, numbers, wild)))
	default:
		g.line("UNSET ?%s", g.variable(wild))
	}
}

// small is an expression that does not grow when it is put into a container
// again and again.
func (g *generator) small(k kind) string {
	if g.loops > 0 || g.inside != nil {
		return g.constant(k)
	}
	return g.expr(k, 2)
}

func (g *generator) appendTo() {
	switch g.intn(7) {
	case 0, 1:
		g.line("APPEND %s TO ?%s", g.expr(number, 2), g.variable(numbers))
	case 2:
		g.line("APPEND %s TO ?%s", g.expr(text, 1), g.variable(texts))
	case 3:
		g.line("APPEND %s TO ?%s", g.small(record), g.variable(records))
	case 4:
		g.line("APPEND %s TO ?%s.tags", g.expr(number, 2), g.variable(record))
	case 5:
		g.line("APPEND %s TO ?%s.extra.list", g.small(wild), g.variable(record))
	default:
		v := g.variable(records)
		g.line("IF COUNT(?%s) > 0 THEN APPEND %s TO ?%s[-1].tags END", v, g.expr(number, 1), v)
	}
}

func (g *generator) branch() {
	g.line("IF %s THEN", g.expr(g.pickKind(boolean, boolean, boolean, wild, numbers), 3))
	g.block(3)
	for g.chance(30) {
		g.line("ELSE IF %s THEN", g.expr(boolean, 2))
		g.block(2)
	}
	if g.chance(50) {
		g.line("ELSE")
		g.block(2)
	}
	g.line("END")
}

func (g *generator) loop() {
	g.names++
	v := fmt.Sprintf("i%d", g.names)
	element := number
	bounds := false // the variable bounds the loop: it must not be written
	switch g.intn(8) {
	case 0:
		g.line("FOR ?%s FROM %s TO %s DO", v, g.pick("0", "1", "-1"), g.pick("3", "5", "2", "COUNT(?"+g.variable(numbers)+") % 6"))
	case 1:
		g.line("FOR ?%s FROM %s TO %s STEP %s DO", v, g.pick("5", "2.5", "0"), g.pick("0", "1", "3"), g.pick("-1", "0.5", "2", "-0.75"))
	case 2:
		g.line("FOR ?%s IN SLICE(%s, 0, 5) DO", v, g.expr(numbers, 2))
	case 3:
		element = record
		g.line("FOR ?%s IN SLICE(%s, 0, 4) DO", v, g.expr(records, 2))
	case 4:
		g.line("FOR ?k%d, ?%s IN SLICE(?%s, 0, 4) DO", g.names, v, g.variable(numbers))
	case 5:
		element = wild
		g.line("FOR ?k%d, ?%s IN %s DO", g.names, v, g.expr(record, 2))
	case 6:
		element = wild
		g.line("FOR ?%s IN ?%s DO", v, g.variable(record))
	default:
		bounds = true
		g.line("SET ?%s AS 0", v)
		cond := fmt.Sprintf("?%s %s %d", v, g.pick("<", "<=", "!="), 1+g.intn(5))
		if g.chance(30) {
			cond = g.pick(cond+" AND "+g.expr(boolean, 1), fmt.Sprintf("%d > ?%s", 1+g.intn(4), v), fmt.Sprintf("NOT (?%s >= %d OR ?%s < 0)", v, 1+g.intn(4), v))
		}
		g.line("WHILE %s DO", cond)
		g.indent++
		g.line("SET ?%s AS ?%s + 1", v, v)
		g.indent--
	}
	known := g.vars
	for k := range known {
		known[k] = known[k][:len(known[k]):len(known[k])]
	}
	g.indent++
	if bounds {
		g.line("SET ?%s AS ?%s", g.declare(number), v)
	} else {
		g.vars[element] = append(g.vars[element], v)
	}
	g.indent--
	g.loops++
	g.block(4)
	g.loops--
	g.line("END")
	g.vars = known
}

func (g *generator) try() {
	g.names++
	e := fmt.Sprintf("e%d", g.names)
	g.line("TRY")
	g.tries++
	g.block(3)
	if g.chance(60) {
		g.indent++
		g.risky()
		g.indent--
	}
	g.tries--
	if g.tries > 0 && g.chance(15) {
		g.finally()
		g.line("END")
		return
	}
	if g.chance(15) {
		g.line("CATCH")
		g.block(2)
		if g.chance(30) {
			g.finally()
		}
		g.line("END")
		return
	}
	g.line("CATCH ?%s", e)
	g.indent++
	g.line("EMIT LINE ?%s.code, ' at ', ?%s.line, ?%s.step", e, e, e)
	switch {
	case g.chance(8 + 15*g.tries):
		g.line("FAIL ?%s", e)
	case g.chance(30):
		g.line("APPEND ?%s.code TO ?%s", e, g.variable(texts))
	}
	g.indent--
	if g.chance(40) {
		g.block(2)
	}
	if g.chance(30) {
		g.finally()
	}
	g.line("END")
}

// finally writes the FINALLY of a TRY, which nothing leaves.
func (g *generator) finally() {
	g.line("FINALLY")
	outer, inside := g.outerLoops, g.inFinally
	g.outerLoops, g.inFinally = g.loops, true
	g.indent++
	g.emit()
	g.indent--
	g.block(2)
	g.outerLoops, g.inFinally = outer, inside
}

// risky writes a statement that fails, mostly inside a TRY.
func (g *generator) risky() {
	if g.tries == 0 && !g.chance(4) {
		g.emit()
		return
	}
	switch g.intn(13) {
	case 0, 1:
		g.line("FAIL %s", g.pick("'plain failure'", `"failed at {?`+g.variable(number)+`}"`, "TEXT(?"+g.variable(number)+")"))
	case 2:
		g.line("FAIL 'coded' CODE %s", g.pick("'out_of_stock'", "'x'", "''", "'two words'", "5"))
	case 3:
		g.line("SET ?%s AS %s", g.variable(number), g.broken(number))
	case 4:
		g.line("SET ?%s[%s] AS 1", g.variable(numbers), g.pick("99", "-99", "'a'", "1.5"))
	case 5:
		g.line("FOR ?bad IN %s DO EMIT ?bad END", g.pick("5", "'text'", "TRUE", "?"+g.variable(text), "?"+g.variable(number)))
	case 6:
		g.line("FOR ?bad FROM %s DO EMIT ?bad END", g.pick("'a' TO 3", "NULL TO 3", "1 TO []", "1 TO 3 STEP 0", "1 TO 2 STEP 'x'"))
	case 7:
		g.line("EMIT %s", g.broken(text))
	case 12: // mostly after other output
		g.line("EMIT JSON %s", g.expr(kind(g.intn(int(kinds))), 2))
	case 8:
		g.line("APPEND 1 TO ?%s", g.variable(g.pickKind(text, number, record)))
	case 9:
		g.line("SET ?%s.a.b AS 1", g.variable(g.pickKind(number, text, numbers)))
	case 10:
		g.line("WHILE %s < 3 DO BREAK END", g.pick("'a'", "[]", "?"+g.variable(text)))
	default:
		g.line("SET ?%s.new.list[0] AS 1", g.variable(record))
	}
}

// mayLeaveLoop says whether a BREAK or CONTINUE may stand here.
func (g *generator) mayLeaveLoop() bool {
	return g.loops > 0 && (!g.inFinally || g.loops > g.outerLoops)
}

// leave writes a statement that leaves a loop, a function or the script.
func (g *generator) leave() {
	cond := g.expr(boolean, 2)
	switch {
	case g.mayLeaveLoop() && g.chance(80):
		g.line("IF %s THEN %s END", cond, g.pick("BREAK", "CONTINUE"))
	case g.inside != nil && !g.inFinally && g.chance(80):
		g.line("IF %s THEN RETURN %s END", cond, g.expr(g.inside.result, 2))
	case !g.inFinally && g.chance(10):
		g.line("IF %s THEN STOP END", cond)
	default:
		g.emit()
	}
}
