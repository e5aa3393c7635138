package gen

// effect writes a statement that asks the host.
func (g *generator) effect() {
	switch g.intn(31) {
	case 0, 1, 2, 3:
		g.sql()
	case 4:
		g.line("CONFIRM \"go on with {?%s}?\" SET ?%s", g.variable(number), g.variable(boolean))
	case 5:
		g.line("CONFIRM 'sure?' WITHIN %d HOURS%s SET ?%s", 1+g.intn(5), g.pick("", " TO 'the team'"), g.variable(wild))
	case 6:
		g.line("GATHER 'name', 'email' SET ?%s", g.variable(wild))
	case 7:
		g.line("GATHER \"About {?%s}\" FIELDS name TEXT REQUIRED, qty INTEGER MIN 1 MAX (%s) DEFAULT 1, size CHOICE ['S', 'M'] WITHIN 2 DAYS SET ?%s",
			g.variable(text), g.expr(number, 1), g.variable(wild))
	case 8:
		g.line("WAIT %d %s", 1+g.intn(9), g.pick("SECONDS", "MINUTES", "HOURS"))
	case 9:
		g.line("WAIT UNTIL NOW()")
	case 10:
		g.line("READ \"/data/{?%s}.json\" AS JSON%s SET ?%s", g.variable(number), g.pick("", " OPTIONAL"), g.variable(wild))
	case 11:
		g.line("READ '/a.txt' AS LINES SET ?%s", g.variable(texts))
	case 12:
		g.line("WRITE %s TO '/out.json'", g.expr(kind(g.intn(int(kinds))), 2))
	case 13:
		g.line("APPEND LINE %s TO FILE '/log.txt'", g.expr(text, 2))
	case 14:
		g.line("LIST '/dir' SET ?%s", g.variable(wild))
	case 15:
		g.line("%s", g.pick("COPY '/a' TO '/b'", "MOVE '/a' TO '/c'", "REMOVE '/tmp/x'", "COPY '/a.png' TO 'a.png' ON 'studio'", "UNSHARE 'https://x'"))
	case 16:
		g.line("RENDER '/page.html' USING %s", g.expr(record, 2))
	case 17:
		g.line("SHARE '/a.pdf' TIMES %d FOR 2 DAYS SET ?%s", 1+g.intn(4), g.variable(text))
	case 18:
		g.line("FETCH 'https://example.com/' QUERY %s TIMEOUT 5 SECONDS SET ?%s", g.expr(record, 1), g.variable(wild))
	case 19:
		g.line("RUN \"convert {?%s} out\" ON 'studio' SET ?%s", g.variable(text), g.variable(wild))
	case 20:
		g.line("%s", g.pick("START SESSION", "START SESSION", "END SESSION"))
	case 21:
		g.line("SET \"k{?%s}\" AS %s OF !SESSION", g.variable(number), g.expr(kind(g.intn(int(kinds))), 2))
	case 22:
		g.line("UNSET 'k' OF !SESSION")
	case 23:
		g.line("%s", g.pick("SET 'status' AS 404 OF !RESPONSE", "SET 'header:X-A' AS UPPER('v') OF !RESPONSE", "SET 'theme' AS 'dark' OF !COOKIE", "UNSET 'theme' OF !COOKIE"))
	case 24:
		if g.chance(75) {
			g.line("USE DATABASE %s", g.pick("'shop'", "'main'", "\"db{?"+g.variable(number)+"}\""))
			return
		}
		g.line("CONFIRM 'the end?'")
	case 25:
		g.line("TRY CHECK ?%s FIELDS id INTEGER MIN %d, name TEXT PATTERN '[A-Za-z]*', tags CHOICES ['a'], qty NUMBER DEFAULT (%s) SET ?%s CATCH ?e0 EMIT LINE ?e0.code, ?e0.fields END",
			g.variable(g.pickKind(record, record, wild)), g.intn(9), g.expr(number, 1), g.variable(wild))
	case 26:
		g.line("FETCH ALL ['https://example.com/', {url: 'https://example.com/b', body: %s}] AT MOST %s SET ?%s", g.expr(record, 1), g.expr(number, 1), g.variable(wild))
	case 27:
		g.line("RUN SCRIPT %s USING %s%s SET ?%s", g.expr(text, 1), g.expr(record, 2), g.pick("", " WITHIN 5 MINUTES"), g.variable(wild))
	case 28:
		g.line("START SCRIPT 'report' SET ?%s", g.variable(text))
		g.line("WAIT FOR ?%s%s SET ?%s", g.variable(text), g.pick("", " WITHIN 5 MINUTES"), g.variable(wild))
	case 29:
		g.line("SIGNAL 'paid' TO ?%s USING %s", g.variable(text), g.expr(record, 1))
		g.line("WAIT FOR SIGNAL \"paid{?%s}\" WITHIN 3 DAYS SET ?%s", g.variable(number), g.variable(wild))
	default:
		g.line("SET ?%s AS %d + LENGTH(NOW()) + RANDOM(1, %s)", g.variable(number), g.intn(9), g.pick("6", "LENGTH(UUID())", "COUNT(?"+g.variable(numbers)+") + 1"))
	}
}

func (g *generator) sql() {
	switch g.intn(7) {
	case 0:
		g.line("SELECT id, name FROM t WHERE id = ?%s AND name != ?%s SET ?%s", g.variable(number), g.variable(text), g.variable(wild))
	case 1:
		g.line("SELECT * FROM t WHERE id IN ?%s SET ROW ?%s", g.variable(numbers), g.variable(wild))
	case 2:
		g.line("SELECT COUNT(*) FROM t SET VALUE ?%s", g.variable(number))
	case 3:
		g.line("SELECT * FROM t WHERE a = ?%s.name;", g.variable(record))
	case 4:
		g.line("INSERT INTO t (a, b) VALUES (?%s, ?%s.tags[0]);", g.variable(number), g.variable(record))
	case 5:
		g.line("UPDATE t SET a = ?%s SET ?%s", g.variable(text), g.variable(wild))
	default:
		g.line("DELETE FROM t WHERE id = !GET('id');")
	}
}

func (g *generator) transaction() {
	g.names++
	caught := g.chance(60)
	if caught {
		g.line("TRY")
		g.tries++
		g.indent++
	}
	looped := g.chance(40) && g.loops < 2
	if looped {
		g.line("FOR ?tx%d FROM 1 TO 3 DO", g.names)
		g.loops++
		g.indent++
	}
	n := g.names
	g.line("TRANSACTION")
	g.tx = true
	g.block(4)
	g.indent++
	switch g.intn(7) {
	case 0:
		if g.mayLeaveLoop() {
			g.line("IF %s THEN %s END", g.expr(boolean, 1), g.pick("BREAK", "CONTINUE"))
		}
	case 1:
		if g.inside != nil && !g.inFinally {
			g.line("IF %s THEN RETURN %s END", g.expr(boolean, 1), g.expr(g.inside.result, 2))
		}
	case 2:
		if !g.inFinally && g.chance(20) {
			g.line("IF %s THEN STOP END", g.expr(boolean, 1))
		}
	case 3:
		if caught {
			g.line("IF %s THEN FAIL 'rolled back' CODE 'undone' END", g.expr(boolean, 1))
		}
	case 4:
		if len(g.funcs) > 0 {
			g.line("CALL %s", g.callOf(&g.funcs[g.intn(len(g.funcs))], 1))
		}
	case 5:
		g.line("TRY")
		g.indent++
		g.sql()
		g.line("FAIL 'inner'")
		g.indent--
		g.line("CATCH ?ti%d", n)
		g.indent++
		g.line("EMIT LINE ?ti%d.code", n)
		g.sql()
		g.indent--
		g.line("END")
	}
	g.indent--
	g.tx = false
	g.line("END")
	if looped {
		g.loops--
		g.indent--
		g.line("END")
	}
	if caught {
		g.tries--
		g.indent--
		g.line("CATCH ?te%d", n)
		g.line("  EMIT LINE ?te%d.code, ?te%d.line", n, n)
		g.line("END")
	}
}
