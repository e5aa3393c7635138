package ide

import (
	"slices"
	"strings"
	"sync"

	"ql/lang/lib"
	"ql/lang/source"
	"ql/lang/syntax"
)

// MostCompletions is how many completions are worth showing. Complete returns at most one more,
// which tells that there are others.
const MostCompletions = 500

const maxCompletions = MostCompletions + 1

// Complete returns what fits at an offset, the likeliest first, and of that what goes on
// with the word that stands before it.
func Complete(text string, offset int, account Account) []Completion {
	d := open(text)
	at := d.fromRaw(offset)
	src := d.file.Text
	word, _ := syntax.WordAt(src[:at], at)
	before, expected := readTo(d.file.Before(word.Start))
	memory := completions.Get().(*[]Completion)
	c := &completer{
		out: *memory, memory: memory, d: d, account: account, before: before, expected: expected,
		src: src, start: word.Start, at: at, typed: src[word.Start:at], seen: map[string]bool{},
	}
	c.complete()
	before.release()
	return c.take()
}

// completions are lists under construction, whose memory is used again.
var completions = sync.Pool{New: func() any { return new([]Completion) }}

// take returns what was collected.
func (c *completer) take() []Completion {
	out := slices.Clone(c.out)
	clear(c.out)
	*c.memory = c.out[:0]
	completions.Put(c.memory)
	return out
}

// completer collects the completions of one place.
type completer struct {
	d        *document
	account  Account
	before   *before // of the word
	expected *syntax.Expected
	src      string
	start    source.Pos // of the word that is being written
	at       source.Pos
	typed    string
	seen     map[string]bool
	out      []Completion
	memory   *[]Completion // that out is made in
}

// full says that nothing more can be offered.
func (c *completer) full() bool { return len(c.out) == maxCompletions }

// fits says whether a word goes on with what is typed, and is not offered yet.
func (c *completer) fits(label string) bool { return startsFold(label, c.typed) && !c.seen[label] }

// add offers something, where it fits.
func (c *completer) add(n Completion) {
	if c.full() || !c.fits(n.Label) {
		return
	}
	c.seen[n.Label] = true
	if n.Insert == "" {
		n.Insert = n.Label
	}
	n.Start, n.End = c.d.raws(syntax.Span{Start: c.start, Stop: c.at})
	c.out = append(c.out, n)
}

func startsFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func (c *completer) complete() {
	e := c.expected
	switch {
	case e.Comment:
	case e.Text != source.NoPos:
		c.inText()
	case e.SQL != source.NoPos:
		c.sql()
	case strings.HasPrefix(c.typed, "?"):
		c.variables()
	case strings.HasPrefix(c.typed, "!"):
		c.globals(e.Globals)
	default:
		c.grammar()
	}
}

// grammar offers what the grammar takes.
func (c *completer) grammar() {
	e := c.expected
	if e.Access && c.start > 0 && c.members() {
		return
	}
	if e.Access || e.Key {
		c.fields()
	}
	if strings.HasPrefix(e.What, "the name of a table") {
		c.tableNames(nil, c.tables())
	}
	if e.Variable || e.Value {
		c.variables()
	}
	c.words()
	if e.Value || e.Function {
		c.functions(e.Value)
	}
	if e.Value || e.Globals != nil {
		c.globals(e.Globals)
	}
	if len(e.Words) == 0 && !e.Access && !e.Key && !e.Variable && !e.Value && !e.Function && e.What == "" {
		// The text before is too broken to tell.
		for _, w := range syntax.Verbs() {
			c.add(Completion{Label: w, Kind: Keyword})
		}
		c.variables()
		c.functions(true)
	}
}

// words offers the words that the parser asked for, those of the statement before verbs.
func (c *completer) words() {
	used := map[string]bool{}
	if c.expected.Operator || !c.expected.Statement {
		syntax.Lex(c.src, c.expected.Start, c.start, func(t syntax.Token) {
			if t.Kind == syntax.WordToken {
				used[upper(c.src[t.Start:t.Stop])] = true
			}
		})
	}
	clauses := syntax.ClauseWords()
	words := slices.Clone(c.expected.Words)
	onLine := strings.TrimRight(c.src[:c.start], " \t")
	fresh := onLine == "" || strings.HasSuffix(onLine, "\n")
	slices.SortStableFunc(words, func(a, b string) int { return c.wordRank(a, fresh) - c.wordRank(b, fresh) })
	for _, w := range words {
		if used[w] && w != "SET" && slices.Contains(clauses, w) && c.expected.Operator {
			continue
		}
		n := Completion{Label: w, Kind: Keyword}
		if c.expected.Statement {
			n.Doc = syntax.Usage(w)
		}
		c.add(n)
	}
}

// wordRank is how soon a word is offered. On a line of its own clauses come first, then what starts a
// statement or ends a block, then operators; behind a statement on its line, what starts another one is last.
func (c *completer) wordRank(w string, fresh bool) int {
	starts := verbs[w] && (w != "SET" || fresh) && (w != "FOR" || fresh || c.expected.Verb != "SHARE")
	switch {
	case operatorWords[w] && fresh:
		return 3
	case operatorWords[w]:
		return 2
	case starts && fresh, structureWords[w] && fresh:
		return 1
	case starts:
		return 3
	case structureWords[w]:
		return 0
	case fresh:
		return 0
	}
	return 1
}

var verbs, structureWords, operatorWords = setOf(syntax.Verbs()), setOf(syntax.StructureWords()), setOf(syntax.OperatorWords())

func setOf(words []string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[w] = true
	}
	return set
}

func (c *completer) globals(only []string) {
	if only == nil {
		only = syntax.Globals()
	}
	for _, g := range only {
		c.add(Completion{Label: "!" + g, Kind: Global, Doc: globalDocs[g]})
	}
}

// functions offers those of the text and what it includes, and of the library.
func (c *completer) functions(library bool) {
	for _, n := range c.before.names {
		c.defined(n, "", "", library)
	}
	c.eachLineBehind(func(line string) bool {
		if name, ok := definedBy(line); ok {
			c.add(Completion{Label: name, Kind: Function, Insert: name + "("})
		}
		return true
	})
	for _, i := range included(c.before.includes, c.account) {
		for _, n := range i.names {
			c.defined(n, i.prefix, i.path, library)
		}
	}
	if !library {
		return
	}
	for i := range lib.Len() {
		b := lib.At(i)
		c.add(Completion{Label: b.Name, Kind: Function, Detail: b.Signature, Doc: b.Summary, Insert: b.Name + "("})
	}
}

// defined offers a function, or a constant where values may stand.
func (c *completer) defined(n named, prefix, file string, values bool) {
	name := prefix + n.name
	switch {
	case n.function:
		c.add(Completion{Label: name, Kind: Function, Detail: n.signature(), Doc: file, Insert: name + "("})
	case values:
		c.add(Completion{Label: name, Kind: Constant, Doc: file})
	}
}

// members offers what the prefix before the dot of an access has, and says whether it is
// one.
func (c *completer) members() bool {
	before, ok := syntax.WordAt(c.src, c.start-1)
	if !ok || c.src[c.start-1] != '.' {
		return false
	}
	prefix := c.src[before.Start:c.start]
	found := false
	for _, i := range included(c.before.includes, c.account) {
		if strings.EqualFold(i.prefix, prefix) {
			found = true
			for _, n := range i.names {
				c.defined(n, "", i.path, true)
			}
		}
	}
	return found
}

// definedBy returns the name of the function that a line starts to define.
func definedBy(line string) (string, bool) {
	const verb = "DEFINE "
	if !startsFold(line, verb) {
		return "", false
	}
	name, _, ok := strings.Cut(strings.TrimSpace(line[len(verb):]), "(")
	return name, ok && syntax.CanName(name)
}

// eachLineBehind calls with the lines behind the cursor until it returns false.
func (c *completer) eachLineBehind(call func(line string) bool) {
	rest := c.src[c.at:]
	if n := strings.IndexByte(rest, '\n'); n >= 0 {
		for line := range strings.Lines(rest[n+1:]) {
			if !call(line) {
				return
			}
		}
	}
}

// variables offers those of the function that the cursor stands in, the nearest first.
// What stands before the cursor is parsed; behind it, where the text need not make
// sense yet, a function begins and ends where the written form has it.
func (c *completer) variables() {
	if strings.HasPrefix(c.typed, "!") {
		return
	}
	for _, name := range c.before.variables(c.before.scope(c.expected)) {
		c.add(Completion{Label: "?" + name, Kind: Variable})
	}
	rest, _, _ := strings.Cut(c.src[c.at:], "\n")
	c.variablesIn(rest)
	inDefine := c.expected.Define
	skip := false
	c.eachLineBehind(func(line string) bool {
		if startsFold(line, "END") && len(strings.TrimSpace(line)) == len("END") {
			if inDefine {
				return false
			}
			skip = false
		}
		if _, ok := definedBy(line); ok {
			skip = true
		}
		if !skip {
			c.variablesIn(line)
		}
		return true
	})
}

// variablesIn offers the variables of a line that is not parsed.
func (c *completer) variablesIn(line string) {
	for {
		i := strings.IndexByte(line, '?')
		if i < 0 {
			return
		}
		line = line[i:]
		word, ok := syntax.WordAt(line, 1)
		if !ok {
			line = line[1:]
			continue
		}
		c.add(Completion{Label: line[:word.Stop], Kind: Variable})
		line = line[max(1, word.Stop):]
	}
}

// resultFields are the parts of what statements give.
var resultFields = []string{
	"status", "headers", "body", "json", "code", "message", "line", "column", "step", "file", "fields", "path", "name", "size",
	"modified", "folder", "type", "changes", "last_id", "stdout", "stderr", "used", "limit", "by", "at", "note",
}

// fields offers the keys and fields of the text, the columns of the account's tables, and then the other
// words of the text, since any may be the part of a map.
func (c *completer) fields() {
	others := c.fieldsIn(c.src[:c.start], nil)
	others = c.fieldsIn(c.src[c.at:], others)
	for _, t := range c.tables() {
		for _, col := range t.Columns {
			c.add(Completion{Label: col.Name, Kind: Field, Detail: t.Name + "." + col.Name})
		}
	}
	for _, f := range resultFields {
		c.add(Completion{Label: f, Kind: Field})
	}
	for _, word := range others {
		c.add(Completion{Label: word, Kind: Field})
	}
}

// fieldsIn offers the keys and fields of a text, and returns others with the other words in it that are
// written as columns are.
func (c *completer) fieldsIn(text string, others []string) []string {
	// Most words of a long text stand there again and again: those that were looked at last are
	// found here, sooner than in a map.
	var recent [1 << 9]string
	for i := 0; i < len(text) && !c.full(); {
		if !isLetter(text[i]) {
			i++
			continue
		}
		end := i + 1
		for end < len(text) && (isLetter(text[end]) || isDigit(text[end])) {
			end++
		}
		word, start := text[i:end], i
		i = end
		variable := start > 0 && (text[start-1] == '?' || text[start-1] == '!')
		if variable || len(word) < len(c.typed) || !hasSmall(word) && (start == 0 || text[start-1] != '.') {
			continue
		}
		slot := (int(word[0])*31 + int(word[len(word)-1])*7 + len(word)*5) % len(recent)
		if recent[slot] == word && (end == len(text) || text[end] != ':') {
			continue
		}
		recent[slot] = word
		switch {
		case !c.fits(word):
		case start > 0 && text[start-1] == '.' || end < len(text) && text[end] == ':':
			c.add(Completion{Label: word, Kind: Field})
		case len(others) < maxCompletions:
			others = append(others, word)
		}
	}
	return others
}

// hasSmall says whether a word is not all capitals.
func hasSmall(word string) bool {
	for i := range len(word) {
		if 'a' <= word[i] && word[i] <= 'z' {
			return true
		}
	}
	return word != upper(word)
}

// inText offers variables in the insertions of a text, and names in its whole.
func (c *completer) inText() {
	e := c.expected
	if before := c.src[:c.start]; c.typed != "" && strings.HasSuffix(before, "{") && before[e.Text-1] != '\'' {
		switch c.typed[0] {
		case '?':
			c.variables()
			return
		case '!':
			c.globals(nil)
			return
		}
	}
	if before := c.src[:c.at]; strings.HasSuffix(before, "{") && before[e.Text-1] != '\'' {
		c.start, c.typed = c.at, ""
		c.variables()
		c.globals(nil)
		return
	}
	c.start, c.typed = e.Text, c.src[e.Text:c.at]
	if prev, _ := c.lastWords(); prev == "METHOD" {
		for _, m := range methods {
			c.add(Completion{Label: m, Kind: Text})
		}
	}
	if c.account == nil || strings.ContainsAny(c.typed, "{\n") {
		return
	}
	prev, beforePrev := c.lastWords()
	switch {
	case prev == "DATABASE":
		for _, name := range c.account.Databases() {
			c.add(Completion{Label: name, Kind: Database})
		}
	case prev == "SCRIPT":
		for _, p := range c.account.Programs() {
			c.add(Completion{Label: p.Name, Kind: Script, Detail: inputsOf(p)})
		}
	case pathWords[prev] || prev == "TO" && e.Verb != "CONFIRM" && e.Verb != "GATHER" && beforePrev != "ON":
		for _, path := range c.account.Files(c.typed, maxCompletions) {
			c.add(Completion{Label: path, Kind: File})
		}
	}
}

// methods are those of FETCH.
var methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}

// pathWords stand before the path of a file.
var pathWords = map[string]bool{
	"READ": true, "LIST": true, "COPY": true, "MOVE": true, "REMOVE": true, "SHARE": true, "RENDER": true, "INCLUDE": true,
	"FILE": true,
}

// lastWords returns the last two words of the statement, in capitals.
func (c *completer) lastWords() (last, before string) {
	quote := c.start - 1
	for quote > 0 && c.src[quote-1] == '"' {
		quote--
	}
	syntax.Lex(c.src, c.expected.Start, quote, func(t syntax.Token) {
		if t.Kind == syntax.WordToken {
			last, before = upper(c.src[t.Start:t.Stop]), last
		} else {
			last, before = "", last
		}
	})
	return last, before
}

func inputsOf(p Program) string {
	var out []string
	for _, i := range p.Inputs {
		field := i.Name + " " + i.Kind
		if i.Required {
			field += " REQUIRED"
		}
		out = append(out, field)
	}
	return strings.Join(out, ", ")
}
