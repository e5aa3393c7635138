// Package gen makes random programs for tests, and a host that answers their
// effects. Programs are always syntactically valid and mostly free of errors;
// the same seed gives the same program, and the same host gives the same
// answers. What a program should do is for its users to say.
package gen

import (
	"fmt"
	"strings"
)

// Options say what programs may hold.
type Options struct {
	// Pure leaves out all effects, SQL and globals: what is left is values,
	// expressions, control flow, functions, TRY and lambdas.
	Pure bool
	// Statements is about how many statements a program has, 40 where it is 0.
	Statements int
}

// Program returns the program of a seed.
func Program(seed uint64, o Options) string { return program(&choices{state: seed}, o) }

// FromBytes returns a program whose choices are read from b and, once b is used
// up, follow from its length: for fuzzing.
func FromBytes(b []byte, o Options) string {
	return program(&choices{bytes: b, state: uint64(len(b))}, o)
}

// choices is a source of random choices.
type choices struct {
	bytes []byte
	state uint64
}

// next is SplitMix64.
func (c *choices) next() uint64 {
	c.state += 0x9e3779b97f4a7c15
	z := c.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// intn returns a number from 0 to n-1.
func (c *choices) intn(n int) int {
	if len(c.bytes) > 0 {
		b := c.bytes[0]
		c.bytes = c.bytes[1:]
		return int(b) % n
	}
	return int(c.next() % uint64(n))
}

// chance reports true in so many cases of a hundred.
func (c *choices) chance(percent int) bool { return c.intn(100) < percent }

func (c *choices) pick(words ...string) string { return words[c.intn(len(words))] }

// kind is what the generator knows of a value.
type kind int

const (
	number kind = iota
	text
	boolean
	numbers // a list of numbers
	texts   // a list of texts
	record  // a map {id: number, name: text, tags: numbers, …}
	records // a list of such maps
	wild    // anything
	kinds
)

// letters name the variables of each kind.
var letters = [kinds]string{number: "n", text: "t", boolean: "b", numbers: "l", texts: "s", record: "m", records: "r", wild: "w"}

// function is a DEFINE that calls may name. Its first parameter counts down
// and ends all recursion.
type function struct {
	name     string
	params   []kind
	optional int // how many of them, at the end, have a default
	result   kind
}

type generator struct {
	*choices
	Options
	b     strings.Builder
	funcs []function

	// The function or top level being written.
	vars    [kinds][]string // that hold a value of their kind
	counter string          // the parameter that bounds recursion, "" at the top level
	inside  *function
	names   int
	indent  int
	left    int // statements still to write
	loops   int
	tries   int
	tx      bool
	// inFinally says that a FINALLY is being written, outerLoops how many loops are
	// around it.
	inFinally  bool
	outerLoops int
	lambdas    int
}

func program(c *choices, o Options) string {
	if o.Statements == 0 {
		o.Statements = 40
	}
	g := &generator{choices: c, Options: o}
	for i := range c.intn(4) {
		f := function{name: fmt.Sprintf("f%d", i), result: kind(c.intn(int(kinds)))}
		for range c.intn(4) {
			f.params = append(f.params, kind(c.intn(int(kinds))))
		}
		if len(f.params) > 0 {
			f.optional = c.intn(len(f.params) + 1)
		}
		g.funcs = append(g.funcs, f)
	}
	before := c.intn(len(g.funcs) + 1) // functions may be used before their definition
	for i := range g.funcs[:before] {
		g.define(&g.funcs[i])
	}
	g.top()
	for i := range g.funcs[before:] {
		g.define(&g.funcs[before+i])
	}
	return g.b.String()
}

// line writes a line at the current indentation.
func (g *generator) line(format string, args ...any) {
	g.b.WriteString(strings.Repeat("  ", g.indent))
	fmt.Fprintf(&g.b, format, args...)
	g.b.WriteByte('\n')
}

func (g *generator) top() {
	g.enter(nil)
	g.left = g.Statements
	if g.chance(20) {
		// More steps than the trace shows one by one: what follows runs the
		// other version of the code.
		g.line("FOR ?warm FROM 1 TO %d DO SET ?n1 AS ?n1 + ?warm END", 300+g.intn(400))
	}
	for g.left > 0 {
		g.statement()
	}
	g.show()
}

// show emits all variables.
func (g *generator) show() {
	for k := range g.vars {
		for _, v := range g.vars[k] {
			g.line("EMIT LINE '%s=', ?%s", v, v)
		}
	}
}

func (g *generator) define(f *function) {
	params := []string{"?depth"}
	for i, k := range f.params {
		p := fmt.Sprintf("?p%d", i)
		if i >= len(f.params)-f.optional {
			p += " DEFAULT " + g.constant(k)
		}
		params = append(params, p)
	}
	g.line("DEFINE %s(%s)", f.name, strings.Join(params, ", "))
	g.indent++
	g.enter(f)
	g.line("IF ?depth <= 0 THEN RETURN %s END", g.constant(f.result))
	g.left = 3 + g.intn(g.Statements/3+1)
	for g.left > 0 {
		g.statement()
	}
	if g.chance(90) {
		g.line("RETURN %s", g.expr(f.result, 2))
	}
	g.indent--
	g.line("END")
}

// enter starts a function, or the top level, with a few variables of every
// kind.
func (g *generator) enter(f *function) {
	g.vars = [kinds][]string{}
	g.inside, g.counter, g.names = f, "", 0
	if f != nil {
		g.counter = "?depth"
		for i, k := range f.params {
			g.vars[k] = append(g.vars[k], fmt.Sprintf("p%d", i))
		}
	}
	if g.chance(12) {
		var sets []string
		for i := range 145 + g.intn(15) {
			sets = append(sets, fmt.Sprintf("SET ?far%d AS %d", i, i))
		}
		g.line("%s", strings.Join(sets, " "))
	}
	for k := range kinds {
		if f != nil && g.chance(50) && len(g.vars[k]) > 0 {
			continue
		}
		g.line("SET ?%s AS %s", g.declare(k), g.fresh(k))
	}
	if g.chance(50) {
		for _, k := range []kind{numbers, record, records} {
			shared := g.variable(k)
			g.line("SET ?%s AS ?%s", g.declare(k), shared)
		}
	}
}

// declare names a new variable.
func (g *generator) declare(k kind) string {
	g.names++
	name := fmt.Sprintf("%s%d", letters[k], g.names)
	g.vars[k] = append(g.vars[k], name)
	return name
}

// variable returns a variable of a kind; there is always one.
func (g *generator) variable(k kind) string {
	return g.vars[k][g.intn(len(g.vars[k]))]
}

// block writes statements one level deeper. Variables that it declares are not
// known after it: it may not have run.
func (g *generator) block(most int) {
	known := g.vars
	for k := range known {
		known[k] = known[k][:len(known[k]):len(known[k])]
	}
	g.indent++
	for range 1 + g.intn(most) {
		g.statement()
	}
	g.indent--
	g.vars = known
}
