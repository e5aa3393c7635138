package gen

import (
	"fmt"
	"slices"
	"strings"
)

var plainTexts = []string{
	`''`, `'a'`, `'b'`, `'plain'`, `"x"`, `'it''s'`, `"a\"b"`, `"caf\u00e9"`, `'Ω✓😀'`, `"1,2,3"`, `'10'`, `"two words"`,
	`"<b>&</b>"`, `"tab\tend"`, `"x\{y}"`, `'{?n}'`, `'zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz'`,
}

// constant returns a value without variables, as a DEFAULT may be.
func (g *generator) constant(k kind) string {
	switch k {
	case number:
		return g.numeral()
	case text:
		return plainTexts[g.intn(len(plainTexts))]
	case boolean:
		return g.pick("TRUE", "FALSE")
	case numbers:
		return g.pick("[]", "[1, 2, 3]", "[5, -1, 2.5]", "[7]", "[3, 3, 1]")
	case texts:
		return g.pick("[]", "['a', 'b']", "['x', 'y', 'z']", "['b', 'a', 'b']")
	case record:
		return fmt.Sprintf("{id: %s, name: %s, tags: %s}", g.numeral(), g.constant(text), g.constant(numbers))
	case records:
		return g.pick("[]", "[{id: 1, name: 'one', tags: []}]", "[{id: 2, name: 'b', tags: [1]}, {id: 1, name: 'a', tags: [2, 3]}]")
	}
	return g.pick("NULL", "TRUE", "0", "-7", "'w'", "[1, [2, {a: 3}]]", "{a: {b: [1, 2]}}", "[NULL, 'x', 2.5]", "1.5e10")
}

func (g *generator) numeral() string {
	switch g.intn(8) {
	case 0:
		return g.pick("0", "-1", "0.5", "-2.25", "1e3", "1_000_000", "2.0", "9007199254740993", "1e15", "-0.0", "3.7e-9", "9223372036854775807", "32767", "32768", "-32769", "2147483648")
	default:
		return fmt.Sprint(g.intn(12))
	}
}

// fresh returns an expression whose value is made when it runs, so that no
// container in it belongs to the program.
func (g *generator) fresh(k kind) string {
	switch k {
	case numbers:
		return g.pick("[]", "RANGE(1, 3)", "[1, 2] + [3]", "SPLIT('', ',')", "MAP([3, 1, 2], ?x -> ?x * 2)", g.constant(k))
	case texts:
		return g.pick("[]", "SPLIT('a,b,c', ',')", "['q'] + ['r']", g.constant(k))
	case record:
		return g.pick("{id: 1 + 1, name: 'r', tags: RANGE(1, 2)}", "MERGE({id: 3, name: 'x'}, {tags: [1] + []})", g.constant(k))
	case records:
		return g.pick("[]", "[{id: 1 + 0, name: 'p', tags: [] + []}, {id: 2, name: 'q', tags: [4] + [5]}]", g.constant(k))
	}
	return g.constant(k)
}

// expr returns an expression of a kind, nested at most d deep.
func (g *generator) expr(k kind, d int) string {
	if d > 0 {
		if g.intn(400) == 0 {
			return g.broken(k)
		}
		if s, ok := g.anyKind(k, d-1); ok {
			return s
		}
	}
	if d <= 0 || g.chance(35) {
		if g.chance(70) {
			return "?" + g.variable(k)
		}
		return g.constant(k)
	}
	d--
	switch k {
	case number:
		return g.number(d)
	case text:
		return g.text(d)
	case boolean:
		return g.boolean(d)
	case numbers:
		return g.numbers(d)
	case texts:
		return g.texts(d)
	case record:
		return g.record(d)
	case records:
		return g.records(d)
	}
	return g.wild(d)
}

// broken is an expression that fails, or is of another kind than it should be.
func (g *generator) broken(k kind) string {
	switch g.intn(4) {
	case 0:
		return g.pick("(1 / 0)", "(7 % 0)", "(1 DIV 0)", "('a' + 1)", "(-'x')", "(NULL + 1)", "NUMBER('junk')", "('a' < 1)", "(1 / (2 - 2))",
			"FROM_JSON('{')", "(DECIMAL('1.5') + 0.5)", "(DECIMAL('1') / 3)", "(DECIMAL('1.5') + 'a')", "LENGTH([1])", "('x'.name)", "(2.5 DIV 2)", "(1e308 * 10)", "[1].a", "(5)[0]", "FIRST(7)", "({} + [])", "(1 IN 2)")
	case 1:
		return "NULL"
	}
	return "(" + g.expr(kind(g.intn(int(kinds))), 1) + ")"
}

// anyKind returns an expression of a form that every kind has.
func (g *generator) anyKind(k kind, d int) (string, bool) {
	switch g.intn(14) {
	case 0:
		s := "CASE"
		if g.chance(30) {
			s += " " + g.expr(number, d)
			for range 1 + g.intn(2) {
				s += fmt.Sprintf(" WHEN %s THEN %s", g.expr(number, d), g.expr(k, d))
			}
			return s + fmt.Sprintf(" ELSE %s END", g.expr(k, d)), true
		}
		for range 1 + g.intn(2) {
			s += fmt.Sprintf(" WHEN %s THEN %s", g.expr(boolean, d), g.expr(k, d))
		}
		if k == wild && g.chance(50) {
			return s + " END", true
		}
		return s + fmt.Sprintf(" ELSE %s END", g.expr(k, d)), true
	case 1:
		if s, ok := g.call(k, d); ok {
			return s, true
		}
	case 2:
		return fmt.Sprintf("(%s DEFAULT %s)", g.access(k, d), g.unary(k, d)), true
	case 3:
		return "(" + g.expr(k, d) + ")", true
	case 4:
		if list, ok := map[kind]kind{number: numbers, text: texts, record: records}[k]; ok {
			return fmt.Sprintf("(%s(%s) DEFAULT %s)", g.pick("FIRST", "LAST"), g.expr(list, d), g.unary(k, d)), true
		}
	case 5:
		if k != wild && g.lambdas < 2 {
			return fmt.Sprintf("REDUCE(%s, %s, %s)", g.expr(numbers, d), g.reducer(k, d), g.expr(k, d)), true
		}
	}
	return "", false
}

// unary returns an expression that may stand on the right of DEFAULT.
func (g *generator) unary(k kind, d int) string {
	if g.chance(60) {
		return g.constant(k)
	}
	return "(" + g.expr(k, d) + ")"
}

// access returns an access that gives null or a value of the kind.
func (g *generator) access(k kind, d int) string {
	switch k {
	case number:
		return g.pick("?"+g.variable(numbers)+"["+g.index(d)+"]", "?"+g.variable(record)+".id", "?"+g.variable(records)+"["+g.index(d)+"].id", "?"+g.variable(record)+".tags["+g.index(d)+"]")
	case text:
		return g.pick("?"+g.variable(texts)+"["+g.index(d)+"]", "?"+g.variable(record)+"['name']", "?"+g.variable(records)+"["+g.index(d)+"].name")
	case numbers:
		return g.pick("?"+g.variable(record)+".tags", "?"+g.variable(records)+"["+g.index(d)+"].tags")
	case record:
		return "?" + g.variable(records) + "[" + g.index(d) + "]"
	case wild:
		return g.pick("?"+g.variable(record)+".extra", "?"+g.variable(record)+".extra.deep", "?"+g.variable(record)+"["+g.expr(text, d)+"]", "?"+g.variable(records)+"["+g.index(d)+"].extra")
	}
	return "?" + g.variable(k)
}

func (g *generator) index(d int) string {
	if g.chance(70) {
		return g.pick("0", "1", "-1", "2")
	}
	return g.pick("?"+g.variable(number)+" % 3", "COUNT(?"+g.variable(numbers)+") - 1")
}

// parameter names a parameter of a lambda, now and then as a variable is named
// that is not the only one of its kind.
func (g *generator) parameter() string {
	if vars := g.vars[g.intn(int(kinds))]; len(vars) > 2 && vars[0] != vars[1] && g.chance(15) {
		return vars[0]
	}
	g.names++
	return fmt.Sprintf("x%d", g.names)
}

// with calls f while name is a variable of the kind, whatever it was before.
func (g *generator) with(k kind, name string, f func() string) string {
	known := g.vars
	for i := range g.vars {
		g.vars[i] = slices.DeleteFunc(slices.Clone(known[i]), func(v string) bool { return v == name })
	}
	g.vars[k] = append(g.vars[k], name)
	g.lambdas++
	s := f()
	g.lambdas--
	g.vars = known
	return s
}

// lambda returns "?x -> body", or with an index too, for elements of a kind.
func (g *generator) lambda(element, result kind, d int) string {
	x := g.parameter()
	return g.with(element, x, func() string {
		if !g.chance(20) {
			return fmt.Sprintf("?%s -> %s", x, g.expr(result, d))
		}
		i := g.other(x)
		return g.with(number, i, func() string { return fmt.Sprintf("(?%s, ?%s) -> %s", x, i, g.expr(result, d)) })
	})
}

// other names a parameter beside those given.
func (g *generator) other(names ...string) string {
	for {
		if p := g.parameter(); !slices.Contains(names, p) {
			return p
		}
	}
}

// reducer returns the lambda of a REDUCE of numbers to a value of the kind.
func (g *generator) reducer(k kind, d int) string {
	sum := g.parameter()
	x := g.other(sum)
	params := fmt.Sprintf("?%s, ?%s", sum, x)
	body := func() string { return g.expr(k, d) }
	if g.chance(20) {
		i := g.other(sum, x)
		params += ", ?" + i
		body = func() string { return g.with(number, i, func() string { return g.expr(k, d) }) }
	}
	return g.with(k, sum, func() string {
		return g.with(number, x, func() string { return fmt.Sprintf("(%s) -> %s", params, body()) })
	})
}

// call returns a call of a DEFINEd function whose result is of the kind.
func (g *generator) call(k kind, d int) (string, bool) {
	for range 3 {
		if len(g.funcs) == 0 {
			break
		}
		f := &g.funcs[g.intn(len(g.funcs))]
		if f.result == k || k == wild {
			return g.callOf(f, d), true
		}
	}
	return "", false
}

func (g *generator) callOf(f *function, d int) string {
	depth := g.pick("0", "1", "1", "2")
	switch {
	case g.inside != nil && (g.loops > 0 || g.lambdas > 0):
		depth = "0"
	case g.inside != nil:
		depth = "?depth - 1"
	case g.loops > 0 || g.lambdas > 0:
		depth = g.pick("0", "1")
	}
	args := []string{depth}
	for i, k := range f.params {
		if i >= len(f.params)-f.optional && g.chance(40) {
			break
		}
		args = append(args, g.expr(k, d))
	}
	return fmt.Sprintf("%s(%s)", f.name, strings.Join(args, ", "))
}

func (g *generator) number(d int) string {
	switch g.intn(18) {
	case 0, 1, 2:
		return fmt.Sprintf("%s + %s", g.expr(number, d), g.expr(number, d))
	case 3, 4:
		return fmt.Sprintf("%s - %s", g.expr(number, d), g.expr(number, d))
	case 5:
		return fmt.Sprintf("(%s) * %s", g.expr(number, d), g.pick("2", "3", "-1", "0.5", "?"+g.variable(number)))
	case 6:
		return fmt.Sprintf("(FLOOR(%s) %s %s)", g.expr(number, d), g.pick("%", "DIV"), g.pick("3", "7", "-2", "5"))
	case 7:
		return fmt.Sprintf("(%s) / %s", g.expr(number, d), g.pick("2", "4", "3", "0.5", "-8"))
	case 8:
		return fmt.Sprintf("-(%s)", g.expr(number, d))
	case 9:
		return fmt.Sprintf("COUNT(%s)", g.expr(g.container(), d))
	case 10:
		return fmt.Sprintf("LENGTH(%s)", g.expr(text, d))
	case 11:
		return fmt.Sprintf("SUM(%s)", g.expr(numbers, d))
	case 12:
		return fmt.Sprintf("%s(%s, %s)", g.pick("MIN", "MAX"), g.expr(number, d), g.expr(number, d))
	case 13:
		return fmt.Sprintf("ROUND(ABS(%s), 2)", g.expr(number, d))
	case 14:
		return fmt.Sprintf("NUMBER(TEXT(%s))", g.expr(number, d))
	case 15:
		return fmt.Sprintf("COUNT(FILTER(%s, %s))", g.expr(records, d), g.lambda(record, boolean, d))
	}
	if g.Pure {
		return fmt.Sprintf("(INDEX_OF(%s, %s) DEFAULT -1)", g.expr(numbers, d), g.expr(number, d))
	}
	return g.pick("RANDOM(1, 9)", "LENGTH(NOW())", "COUNT(!ACCOUNT)", "(NUMBER(!GET('n')) DEFAULT 4)", "LENGTH(UUID())", fmt.Sprintf("RANDOM(0, COUNT(%s))", g.expr(numbers, d)))
}

func (g *generator) container() kind { return []kind{numbers, texts, record, records}[g.intn(4)] }

func (g *generator) text(d int) string {
	switch g.intn(16) {
	case 0, 1, 2:
		return fmt.Sprintf("%s + %s", g.expr(text, d), g.expr(text, d))
	case 3, 4:
		return g.template(d)
	case 5:
		return fmt.Sprintf("HTML \"<i>{?%s}</i>{=%s}\"", g.variable(text), g.expr(wild, d))
	case 6:
		return fmt.Sprintf("%s(%s)", g.pick("UPPER", "LOWER", "TRIM", "CAPITALIZE"), g.expr(text, d))
	case 7:
		return fmt.Sprintf("SUBSTRING(%s, %s, %d)", g.expr(text, d), g.pick("0", "1", "-2"), g.intn(4))
	case 8:
		return fmt.Sprintf("REPLACE(%s, 'a', %s)", g.expr(text, d), g.expr(text, d))
	case 9:
		return fmt.Sprintf("JOIN(%s, %s)", g.expr(g.pickKind(numbers, texts), d), g.pick("','", "''", "' - '"))
	case 10:
		return fmt.Sprintf("TEXT(%s)", g.expr(number, d))
	case 11:
		return fmt.Sprintf("TO_JSON(%s)", g.expr(kind(g.intn(int(kinds))), d))
	case 12:
		return fmt.Sprintf("TYPE(%s)", g.expr(kind(g.intn(int(kinds))), d))
	case 13:
		return fmt.Sprintf("REPEAT(%s, %d)", g.expr(text, d), g.intn(3))
	}
	if g.Pure {
		return fmt.Sprintf("PAD_LEFT(%s, %d)", g.expr(number, d), g.intn(8))
	}
	return g.pick("NOW()", "UUID()", "TOKEN()", "(!GET('q') DEFAULT 'none')", "TEXT(!SESSION('k') DEFAULT 's')", "(!ACCOUNT('username') DEFAULT 'nobody')",
		"TEXT(!JOB('id') DEFAULT '')", "TO_JSON(!QUOTA('storage'))", "TEXT(!SECRET('key') DEFAULT '')", "PASSWORD_HASH('pw')")
}

func (g *generator) pickKind(ks ...kind) kind { return ks[g.intn(len(ks))] }

// template returns a text with insertions.
func (g *generator) template(d int) string {
	s := `"`
	for range 1 + g.intn(3) {
		s += g.pick("", "a", " - ", "é", "{", "\\{", "<")
		switch g.intn(3) {
		case 0:
			s += fmt.Sprintf("{?%s}", g.variable(kind(g.intn(int(kinds)))))
		case 1:
			s += fmt.Sprintf("{?%s.name}", g.variable(record))
		default:
			s += fmt.Sprintf("{=%s}", g.expr(kind(g.intn(int(kinds))), d))
		}
	}
	return s + g.pick("", ".", "}") + `"`
}

func (g *generator) boolean(d int) string {
	switch g.intn(16) {
	case 15:
		return fmt.Sprintf("%s %s %s", g.exact(d), g.pick("<", "<=", ">", ">=", "=", "!="), g.pick("2", "0", g.operand(number, d), g.exact(d)))
	case 13:
		k := g.pickKind(number, number, text)
		return fmt.Sprintf("%s %sBETWEEN %s AND %s", g.operand(k, d), g.pick("", "NOT "), g.operand(k, d), g.operand(k, d))
	case 0, 1:
		return fmt.Sprintf("%s %s %s", g.operand(number, d), g.pick("<", "<=", ">", ">=", "=", "!="), g.operand(number, d))
	case 2:
		return fmt.Sprintf("%s %s %s", g.operand(text, d), g.pick("<", ">=", "=", "!="), g.operand(text, d))
	case 3:
		return fmt.Sprintf("%s %s %s", g.operand(wild, d), g.pick("=", "!="), g.operand(wild, d))
	case 4, 5:
		return fmt.Sprintf("(%s AND %s)", g.expr(boolean, d), g.expr(g.pickKind(boolean, wild), d))
	case 6, 7:
		return fmt.Sprintf("(%s OR %s)", g.expr(boolean, d), g.expr(g.pickKind(boolean, number, texts), d))
	case 8:
		return fmt.Sprintf("(NOT %s)", g.expr(g.pickKind(boolean, wild, text), d))
	case 9:
		return fmt.Sprintf("%s %s %s", g.operand(number, d), g.pick("IN", "NOT IN"), g.operand(numbers, d))
	case 10:
		return fmt.Sprintf("%s IN %s", g.operand(text, d), g.operand(g.pickKind(text, texts, record), d))
	case 11:
		return fmt.Sprintf("%s IS %sNULL", g.access(wild, d), g.pick("", "NOT "))
	case 12:
		return fmt.Sprintf("%s(%s, %s)", g.pick("ANY", "ALL"), g.expr(numbers, d), g.lambda(number, boolean, d))
	}
	return fmt.Sprintf("%s = %s", g.operand(record, d), g.operand(record, d))
}

// operand returns a side of a comparison, in brackets where it must be.
func (g *generator) operand(k kind, d int) string {
	s := g.expr(k, d)
	if k == boolean || k == wild {
		return "(" + s + ")"
	}
	return s
}

func (g *generator) items(k kind, d int) string {
	var list []string
	for range g.intn(4) {
		list = append(list, g.expr(k, d))
	}
	return strings.Join(list, ", ")
}

func (g *generator) numbers(d int) string {
	switch g.intn(12) {
	case 0, 1:
		return "[" + g.items(number, d) + "]"
	case 2, 3:
		return fmt.Sprintf("%s + %s", g.expr(numbers, d), g.expr(numbers, d))
	case 4:
		return fmt.Sprintf("(%s DEFAULT []) + [%s]", g.access(numbers, d), g.items(number, d))
	case 5:
		if g.chance(20) {
			return fmt.Sprintf("MAP(%s, %s)", g.expr(numbers, d), g.pick("ABS", "FLOOR", "NUMBER", "MIN"))
		}
		return fmt.Sprintf("MAP(%s, %s)", g.expr(numbers, d), g.lambda(number, number, d))
	case 6:
		return fmt.Sprintf("FILTER(%s, %s)", g.expr(numbers, d), g.lambda(number, boolean, d))
	case 7:
		return fmt.Sprintf("%s(%s)", g.pick("SORT", "REVERSE", "UNIQUE"), g.expr(numbers, d))
	case 8:
		return fmt.Sprintf("SLICE(%s, %s)", g.expr(numbers, d), g.pick("0", "1", "-2", "0, 2", "1, -1"))
	case 9:
		return fmt.Sprintf("COLUMN(%s, 'id')", g.expr(records, d))
	case 10:
		return fmt.Sprintf("FLATTEN([%s, %s])", g.expr(numbers, d), g.expr(numbers, d))
	}
	return fmt.Sprintf("SORT_BY(%s, %s)", g.expr(numbers, d), g.lambda(number, g.pickKind(number, text), d))
}

func (g *generator) texts(d int) string {
	switch g.intn(6) {
	case 0:
		return "[" + g.items(text, d) + "]"
	case 1:
		return fmt.Sprintf("SPLIT(%s, ',')", g.expr(text, d))
	case 2:
		return fmt.Sprintf("KEYS(%s)", g.expr(record, d))
	case 3:
		if g.chance(20) {
			return fmt.Sprintf("MAP(%s, TEXT)", g.expr(numbers, d))
		}
		return fmt.Sprintf("MAP(%s, %s)", g.expr(numbers, d), g.lambda(number, text, d))
	case 4:
		return fmt.Sprintf("%s(%s)", g.pick("SORT", "REVERSE", "UNIQUE"), g.expr(texts, d))
	}
	return fmt.Sprintf("%s + [%s]", g.expr(texts, d), g.items(text, d))
}

func (g *generator) record(d int) string {
	switch g.intn(6) {
	case 0, 1:
		return fmt.Sprintf("{id: %s, name: %s, tags: %s%s}", g.expr(number, d), g.expr(text, d), g.expr(numbers, d), g.pick("", ", 'odd key': "+g.expr(wild, d)))
	case 2:
		return fmt.Sprintf("%s + {id: %s}", g.expr(record, d), g.expr(number, d))
	case 3:
		return fmt.Sprintf("MERGE(%s, {tags: %s})", g.expr(record, d), g.expr(numbers, d))
	case 4:
		return fmt.Sprintf("PICK(%s, ['id', 'name', 'tags', %s])", g.expr(record, d), g.constant(text))
	}
	return fmt.Sprintf("%s + %s", g.expr(record, d), g.expr(record, d))
}

func (g *generator) records(d int) string {
	switch g.intn(7) {
	case 0:
		return "[" + g.items(record, d) + "]"
	case 1:
		return fmt.Sprintf("%s + [%s]", g.expr(records, d), g.items(record, d))
	case 2:
		return fmt.Sprintf("SORT_BY(%s, %s)", g.expr(records, d), g.lambda(record, g.pickKind(number, text), d))
	case 3:
		return fmt.Sprintf("FILTER(%s, %s)", g.expr(records, d), g.lambda(record, boolean, d))
	case 4:
		return fmt.Sprintf("MAP(%s, %s)", g.expr(records, d), g.lambda(record, record, d))
	case 5:
		return fmt.Sprintf("(FIRST(VALUES(GROUP_BY(%s, %s))) DEFAULT [])", g.expr(records, d), g.lambda(record, g.pickKind(number, text, boolean), d))
	}
	return fmt.Sprintf("REVERSE(%s)", g.expr(records, d))
}

// exact returns an expression that gives a decimal, or now and then fails.
func (g *generator) exact(d int) string {
	a := g.pick("DECIMAL('12.30')", "DECIMAL('-0.05')", "DECIMAL('2.00')", "DECIMAL('99999999999999999999.99')", "DECIMAL(?"+g.variable(number)+", 1)",
		fmt.Sprintf("DECIMAL(FLOOR(%s))", g.expr(number, d)))
	switch g.intn(9) {
	case 0, 1:
		return fmt.Sprintf("(%s %s %s)", a, g.pick("+", "-", "*"), g.pick("DECIMAL('0.70')", "3", "DECIMAL('-1.125')", "2"))
	case 2:
		return fmt.Sprintf("(%s / %s)", a, g.pick("4", "DECIMAL('0.5')", "1000"))
	case 3:
		return fmt.Sprintf("(%s %s %s)", a, g.pick("%", "DIV"), g.pick("7", "DECIMAL('0.7')"))
	case 4:
		return fmt.Sprintf("-%s", a)
	case 5:
		return fmt.Sprintf("ROUND(%s, %d, %s)", a, g.intn(3), g.pick("'half even'", "'half up'", "'floor'", "'up'"))
	case 6:
		return fmt.Sprintf("DIVIDE(%s, %s, 2)", a, g.pick("3", "DECIMAL('0.07')"))
	case 7:
		return fmt.Sprintf("SUM([%s, %s])", a, g.pick("1", "DECIMAL('0.5')", "NULL"))
	}
	return a
}

func (g *generator) wild(d int) string {
	switch g.intn(9) {
	case 8:
		return g.exact(d)
	case 0:
		return g.access(wild, d)
	case 1:
		return "[" + g.items(wild, d) + "]"
	case 2:
		return fmt.Sprintf("{a: %s, b: %s}", g.expr(wild, d), g.expr(kind(g.intn(int(kinds))), d))
	case 3:
		return fmt.Sprintf("GROUP_BY(%s, %s)", g.expr(numbers, d), g.lambda(number, g.pickKind(number, boolean), d))
	case 4:
		return fmt.Sprintf("ZIP(%s, %s)", g.expr(numbers, d), g.expr(records, d))
	case 5:
		if !g.Pure {
			return g.pick("!SESSION('k')", "!GET", "!JOB", "!QUOTA('storage').used", "!COOKIE('c')")
		}
	}
	return g.expr(kind(g.intn(int(kinds))), d)
}
