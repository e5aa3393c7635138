package form

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Bounds of patterns. Matching costs instructions × bytes of text at worst.
const (
	maxPattern = 1024        // bytes
	maxProgram = 10_000      // compiled instructions
	maxCost    = 100_000_000 // instructions × bytes
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
	// Compiled alone first: a ) without its ( would otherwise end the group
	// that anchors the whole.
	if _, err := regexp.Compile(text); err != nil {
		p.fail("%s: the PATTERN is no regular expression: %s", f, reason(err))
		return nil
	}
	whole := `\A(?:` + text + `)\z`
	re, err := regexp.Compile(whole)
	if err != nil {
		p.fail("%s: the PATTERN is no regular expression: %s", f, reason(err))
		return nil
	}
	c := &pattern{text: strings.Clone(text), re: re}
	if tree, err := syntax.Parse(whole, syntax.Perl); err == nil {
		if prog, err := syntax.Compile(tree.Simplify()); err == nil {
			c.instrs = len(prog.Inst)
		}
	}
	if c.instrs > maxProgram {
		p.fail("%s: the PATTERN is too large: its repetitions multiply", f)
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
// out would cost too much.
func (c *pattern) matches(s string) (matched, ok bool) {
	if c.instrs*len(s) > maxCost {
		return false, false
	}
	return c.re.MatchString(s), true
}
