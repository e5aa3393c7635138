package machines

import (
	"strings"

	"ql/internal/engine"
	"ql/internal/fault"
	"ql/lang/value"
)

const (
	maxAllow      = 100
	maxAllowBytes = 1 << 10
)

// checkAllow says what is wrong with a list of allowed commands.
func checkAllow(allow []string) error {
	if len(allow) > maxAllow {
		return fault.Invalid("allow", "%d commands are allowed: a machine takes at most %d", len(allow), maxAllow)
	}
	for _, one := range allow {
		words, err := Words(one)
		switch {
		case err != nil || len(words) == 0 || len(one) > maxAllowBytes || strings.IndexByte(one, 0) >= 0:
			return fault.Invalid("allow", "an allowed command is a program with its arguments, such as \"convert * -resize * *\", of at most %d bytes", maxAllowBytes)
		case words[0] == anyWord:
			return fault.Invalid("allow", "an allowed command begins with its program, and not with *: leave the list out to allow all")
		}
	}
	return nil
}

// anyWord stands for one argument, and at the end of an allowed command for any number of them.
const anyWord = "*"

// restrict returns a command of a machine that allows only some. A text is taken apart, so that no
// shell reads more in it than words.
func restrict(allow []string, c engine.MachineCommand) (engine.MachineCommand, error) {
	if len(allow) == 0 {
		return c, nil
	}
	words := c.List
	if words == nil {
		var operator byte
		var err error
		if words, operator, err = split(c.Text); err != nil {
			return c, err
		}
		if operator != 0 {
			return c, value.Errorf("command_not_allowed", "this machine runs allowed commands only, which are a program and its arguments, without %s: put it in quotes, or take several RUNs", value.Quote(string(rune(operator))))
		}
	}
	for _, one := range allow {
		pattern, err := Words(one)
		if err == nil && fits(pattern, words) {
			return engine.MachineCommand{List: words}, nil
		}
	}
	return c, value.Errorf("command_not_allowed", "this machine runs allowed commands only, and this is none of them: ql machine show lists them")
}

// fits tells whether words are those of a pattern.
func fits(pattern, words []string) bool {
	for i, p := range pattern {
		switch {
		case p == anyWord && i == len(pattern)-1:
			return true
		case i >= len(words) || p != anyWord && p != words[i]:
			return false
		}
	}
	return len(words) == len(pattern)
}
