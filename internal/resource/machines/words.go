package machines

import (
	"strings"

	"ql/lang/value"
)

// Words splits a command's text at its blanks. What stands in quotes is one word or a part of one,
// as a shell has it: so each insertion of RUN is one argument.
func Words(text string) ([]string, error) {
	words, _, err := split(text)
	return words, err
}

// operators have a meaning of their own for a shell where they stand outside quotes.
const operators = "|&;<>()$`*?[]{}#~!\n"

// split is Words. It also returns the first operator of a shell that stands outside quotes, 0 for
// none.
func split(text string) (words []string, operator byte, err error) {
	var word strings.Builder
	open := false // a word, which may be empty
	note := func(c byte) {
		if operator == 0 && strings.IndexByte(operators, c) >= 0 {
			operator = c
		}
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			note(c)
			if open {
				words = append(words, word.String())
				word.Reset()
				open = false
			}
			continue
		case c == '\'':
			end := strings.IndexByte(text[i+1:], '\'')
			if end < 0 {
				return nil, 0, openQuote()
			}
			word.WriteString(text[i+1 : i+1+end])
			i += end + 1
		case c == '"':
			n, substitutes, ok := doubleQuoted(&word, text[i+1:])
			if !ok {
				return nil, 0, openQuote()
			}
			if substitutes {
				note('$')
			}
			i += n
		case c == '\\' && i+1 < len(text):
			i++
			word.WriteByte(text[i])
		default:
			note(c)
			word.WriteByte(c)
		}
		open = true
	}
	if open {
		words = append(words, word.String())
	}
	return words, operator, nil
}

// doubleQuoted writes what stands in double quotes, of which text begins behind the first one. It
// returns how many bytes they are with the last quote, and whether a shell would put something
// else in.
func doubleQuoted(word *strings.Builder, text string) (n int, substitutes, ok bool) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return i + 1, substitutes, true
		case c == '\\' && i+1 < len(text) && strings.IndexByte("$`\"\\", text[i+1]) >= 0:
			i++
			word.WriteByte(text[i])
		default:
			substitutes = substitutes || c == '$' || c == '`'
			word.WriteByte(c)
		}
	}
	return 0, false, false
}

func openQuote() error {
	return value.Errorf(value.BadArgument, "the command has a quote that does not end")
}

// Quote writes an argument so that a shell takes it as it is.
func Quote(argument string) string {
	return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
}
