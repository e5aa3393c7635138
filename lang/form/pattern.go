package form

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Bounds of patterns. Matching costs instructions × bytes of text at worst, each about
// ten nanoseconds, and nothing can stop it on the way.
const (
	maxPattern  = 1024        // bytes
	maxProgram  = 10_000      // compiled instructions
	maxPrograms = 20_000      // those of a form together
	maxCost     = 20_000_000  // instructions × bytes
	maxCosts    = 100_000_000 // those of a reply together
)

// pattern is a regular expression that a whole answer must match.
type pattern struct {
	text   string
	match  func(string) bool
	instrs int
}

// compile compiles the pattern text of a field.
func (p *parser) compile(f *Field, text string) *pattern {
	if len(text) > maxPattern {
		p.fail("%s: the PATTERN is longer than %d bytes", f, maxPattern)
		return nil
	}
	c := &pattern{text: strings.Clone(text)}
	whole := `\A(?:` + text + `)\z`
	if p.env.Compile != nil {
		p.compileUnder(f, c, whole)
	} else {
		p.compileHere(f, c, whole)
	}
	if p.err != nil {
		return nil
	}
	p.instrs += c.instrs
	switch {
	case c.instrs > maxProgram:
		p.fail("%s: the PATTERN is too large: its repetitions multiply", f)
	case p.instrs > maxPrograms:
		p.fail("%s: with this one the PATTERNs of the form are too large together: their repetitions multiply", f)
	}
	return c
}

// compileUnder has the env compile a pattern: alone first, since a ) without its
// ( would otherwise end the group that anchors the whole.
func (p *parser) compileUnder(f *Field, c *pattern, whole string) {
	for _, text := range [...]string{c.text, whole} {
		m, err := p.env.Compile(text)
		if err != nil {
			p.fail("%s: %s", f, err.Message)
			return
		}
		c.match, c.instrs = m.Match, m.Instructions()
	}
}

func (p *parser) compileHere(f *Field, c *pattern, whole string) {
	if _, err := syntax.Parse(c.text, syntax.Perl); err != nil { // alone first, as above
		p.fail("%s: the PATTERN is no regular expression: %s", f, reason(err))
		return
	}
	if tree, err := syntax.Parse(whole, syntax.Perl); err == nil {
		if prog, err := syntax.Compile(tree.Simplify()); err == nil {
			c.instrs = len(prog.Inst)
		}
	}
	if c.instrs > maxProgram {
		return
	}
	re, err := regexp.Compile(whole)
	if err != nil {
		p.fail("%s: the PATTERN is no regular expression: %s", f, reason(err))
		return
	}
	c.match = re.MatchString
}

// reason returns what a syntax error says, without the package that says it.
func reason(err error) string {
	if e := (*syntax.Error)(nil); errors.As(err, &e) {
		return e.Code.String() + ": " + e.Expr
	}
	return err.Error()
}

// matches reports whether the whole of s matches. ok is false where finding
// out would cost too much, by itself or with what the reply has cost before.
func (c *pattern) matches(s string, t *tally) (matched, ok bool) {
	cost := c.instrs * len(s)
	if cost > maxCost || t.patterns+cost > maxCosts {
		return false, false
	}
	t.patterns += cost
	return c.match(s), true
}
