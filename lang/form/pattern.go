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
	re     *regexp.Regexp
	instrs int
}

// compile compiles the pattern text of a field.
func (p *parser) compile(f *Field, text string) *pattern {
	if len(text) > maxPattern {
		p.fail("%s: the PATTERN is longer than %d bytes", f, maxPattern)
		return nil
	}
	// Parsed alone first: a ) without its ( would otherwise end the group
	// that anchors the whole.
	if _, err := syntax.Parse(text, syntax.Perl); err != nil {
		p.fail("%s: the PATTERN is no regular expression: %s", f, reason(err))
		return nil
	}
	whole := `\A(?:` + text + `)\z`
	c := &pattern{text: strings.Clone(text)}
	if tree, err := syntax.Parse(whole, syntax.Perl); err == nil {
		if prog, err := syntax.Compile(tree.Simplify()); err == nil {
			c.instrs = len(prog.Inst)
		}
	}
	p.instrs += c.instrs
	switch {
	case c.instrs > maxProgram:
		p.fail("%s: the PATTERN is too large: its repetitions multiply", f)
		return nil
	case p.instrs > maxPrograms:
		p.fail("%s: with this one the PATTERNs of the form are too large together: their repetitions multiply", f)
		return nil
	}
	var err error
	if c.re, err = regexp.Compile(whole); err != nil {
		p.fail("%s: the PATTERN is no regular expression: %s", f, reason(err))
		return nil
	}
	return c
}

// reason returns what a syntax error says, without the package that says it.
func reason(err error) string {
	if e := (*syntax.Error)(nil); errors.As(err, &e) {
		return e.Code.String() + ": " + e.Expr
	}
	return err.Error()
}

// matches reports whether the whole of s matches. ok is false where finding
// out would cost too much, by itself or with what *spent tells of the reply.
func (c *pattern) matches(s string, spent *int) (matched, ok bool) {
	cost := c.instrs * len(s)
	if cost > maxCost || *spent+cost > maxCosts {
		return false, false
	}
	*spent += cost
	return c.re.MatchString(s), true
}
