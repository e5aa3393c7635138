package syntax

// What the SQL mode knows of the shape of a statement: whether a verb of SQL can
// still belong to it, and which parameters are terms of ORDER BY. Where it is in
// doubt it says nothing: the database has the last word on its language.

// sqlShape is how far a statement has come.
type sqlShape struct {
	// verb is the verb of the statement itself, behind EXPLAIN and WITH.
	verb word
	// sourced says that an INSERT has its VALUES or its SELECT.
	sourced bool
	// complete says that the statement could end with the token before.
	complete bool

	order     bool // outside brackets, the terms of ORDER BY have begun
	orderWord bool // the token before was ORDER
	term      bool // the next token starts a term of ORDER BY
}

// sqlTrait is what a word of SQL says about the shape of its statement.
type sqlTrait uint8

const (
	// continues: a verb of SQL behind it belongs to the same statement, as in
	// UNION SELECT, DO UPDATE, ON DELETE, FOR UPDATE.
	continues sqlTrait = 1 << iota
	// made: what a CREATE, DROP or ALTER of its own goes on with. The clauses of
	// ALTER TABLE do not: DROP COLUMN, ALTER COLUMN.
	made
	// endsOrder: no term of ORDER BY stands behind it.
	endsOrder
	// operates: a term of ORDER BY goes on with it.
	operates
	isOrder
	isBy
	isValues
)

var sqlTraits = map[string]sqlTrait{
	"UNION": continues | endsOrder, "EXCEPT": continues | endsOrder, "INTERSECT": continues | endsOrder, "ALL": continues,
	"DISTINCT": continues, "AS": continues, "DO": continues, "ON": continues, "FOR": continues, "BEFORE": continues, "AFTER": continues,
	"OF": continues, "THEN": continues, "ELSE": continues, "WHEN": continues, "ALSO": continues, "INSTEAD": continues, "BY": continues | isBy, "ORDER": isOrder,
	"FROM": continues, "INTO": continues, "SELECT": continues, "VALUES": continues | isValues, "PLAN": continues, "ANALYZE": continues,
	"MATERIALIZED": continues, "WHERE": continues, "HAVING": continues,

	"TABLE": made | continues, "VIEW": made | continues, "TRIGGER": made | continues, "UNIQUE": made, "INDEX": made | continues,
	"TEMP": made, "TEMPORARY": made,

	"LIMIT": endsOrder | continues, "OFFSET": endsOrder | continues, "RETURNING": endsOrder | continues, "SET": endsOrder | continues,
	"ROWS": endsOrder, "RANGE": endsOrder, "GROUPS": endsOrder, "WINDOW": endsOrder,

	"AND": operates | continues, "OR": operates | continues, "NOT": operates | continues, "IN": operates | continues,
	"IS": operates | continues, "LIKE": operates | continues, "ILIKE": operates | continues, "GLOB": operates | continues,
	"REGEXP": operates | continues, "MATCH": operates | continues, "BETWEEN": operates | continues, "ESCAPE": operates | continues,
	"SIMILAR": operates | continues, "ISNULL": operates, "NOTNULL": operates,
}

// traitSlots are those of the open hash that the traits are looked up in, as words are.
const traitSlots = 512

type traitSlot struct {
	text  string // "" for an empty slot
	trait sqlTrait
}

var traitTable = buildTraitTable()

func buildTraitTable() (table [traitSlots]traitSlot) {
	for text, trait := range sqlTraits {
		slot := wordHash(text) % traitSlots
		for table[slot].text != "" {
			slot = (slot + 1) % traitSlots
		}
		table[slot] = traitSlot{text, trait}
	}
	return table
}

// sqlTraitsOf looks a word up in any spelling.
func sqlTraitsOf(text string) sqlTrait {
	if len(text) < len("BY") || len(text) > len("MATERIALIZED") {
		return 0
	}
	for slot := wordHash(text) % traitSlots; ; slot = (slot + 1) % traitSlots {
		s := &traitTable[slot]
		if s.text == "" || equalFold(text, s.text) {
			return s.trait
		}
	}
}

// nextStatement says whether the verb of SQL before r.pos begins a statement of
// its own, because the one before cannot go on with it.
func (r *sqlReader) nextStatement(w word) bool {
	if r.body || !r.complete || r.verb == wNone {
		return false
	}
	at := r.blank(r.pos)
	second := r.wordAt(at)
	switch w {
	case wSelect:
		return !r.unsourced()
	case wInsert, wReplace:
		return lookupWord(second) == wInto
	case wDelete:
		return lookupWord(second) == wFrom
	case wUpdate:
		third := r.blank(at + len(second))
		return second != "" && lookupWord(second) != wSet && lookupWord(r.wordAt(third)) == wSet
	case wCreate, wDrop, wAlter:
		return sqlTraitsOf(second)&made != 0
	case wWith:
		third := r.wordAt(r.blank(at + len(second)))
		return second != "" && lookupWord(third) == wAs && !r.unsourced()
	}
	return false
}

// unsourced says whether this is an INSERT whose rows are still to come.
func (r *sqlReader) unsourced() bool {
	return (r.verb == wInsert || r.verb == wReplace) && !r.sourced
}

// clause notes what the word says about the shape of the statement. after is
// whether ORDER stands before it.
func (r *sqlReader) clause(w word, text string, after bool) {
	traits := sqlTraitsOf(text)
	if r.outside() {
		switch {
		case r.verb == wNone && w.isSQLHead() && w != wWith && w != wExplain:
			r.verb = w
		case w == wSelect || traits&isValues != 0:
			r.sourced = true
		}
		r.complete = traits&continues == 0
	}
	r.orderWord = traits&isOrder != 0
	switch terms := r.terms(); {
	case after && traits&isBy != 0:
		*terms, r.term = true, true
	case traits&endsOrder != 0:
		*terms = false
	}
}

// terms returns whether the innermost bracket that is open, or the statement
// outside of them, is in the terms of its ORDER BY.
func (r *sqlReader) terms() *bool {
	if n := len(r.brackets); n > 0 {
		return &r.brackets[n-1].order
	}
	return &r.order
}

// constantOrder refuses the parameter from start to stop as a whole term of
// ORDER BY: the database takes it, and sorts nothing.
func (r *sqlReader) constantOrder(start, stop int) {
	switch end := r.blank(stop); {
	case end >= len(r.src), r.src[end] == ',', r.src[end] == ')', r.src[end] == ';':
	case class[r.src[end]] == cLetter && sqlTraitsOf(r.wordAt(end))&operates == 0:
	default:
		return
	}
	name := short(r.src[start:stop])
	r.errorAt(start, stop, "%s is one value for all rows, so this sorts nothing: list the names it may be, as in ORDER BY {%s IN name, city}", name, name)
}
