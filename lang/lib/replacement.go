package lib

import (
	"strconv"
	"strings"

	"ql/lang/value"
)

// replacementPart is text, or the number of a group in whose place it stands.
type replacementPart struct {
	text  string
	group int // -1 for text
}

// replacement reads the replacement of REPLACE_PATTERN. Its parts are appended to those given.
func (in *input) replacement(parts []replacementPart, p *pattern, s string) []replacementPart {
	const partSize = 24
	in.Meter.Work(len(s))
	in.Meter.Alloc((2*strings.Count(s, "$") + 1) * 2 * partSize)
	for s != "" {
		i := strings.IndexByte(s, '$')
		if i < 0 {
			return append(parts, replacementPart{s, -1})
		}
		if i > 0 {
			parts = append(parts, replacementPart{s[:i], -1})
		}
		s = s[i+1:]
		name, rest := groupName(s)
		switch {
		case strings.HasPrefix(s, "$"):
			parts, s = append(parts, replacementPart{"$", -1}), s[1:]
		case name == "":
			parts = append(parts, replacementPart{"$", -1})
		default:
			group := p.group(name)
			if group < 0 {
				in.fail(value.BadArgument, "finds no group %s in the pattern; $$ is a plain dollar sign", value.Quote(name))
				return nil
			}
			parts, s = append(parts, replacementPart{"", group}), rest
		}
	}
	return parts
}

// groupName reads what may follow a dollar sign: digits, or a name in braces.
func groupName(s string) (name, rest string) {
	if n := digits(s); n > 0 {
		return s[:n], s[n:]
	}
	if !strings.HasPrefix(s, "{") {
		return "", s
	}
	// No further than a name reaches: a text of many ${ is read once.
	const longest = 100
	end := strings.IndexByte(s[:min(len(s), longest)], '}')
	if end < 0 {
		return "", s
	}
	return s[1:end], s[end+1:]
}

// group returns the number of the group of that number or name, -1 if there is
// none.
func (p *pattern) group(name string) int {
	if n, err := strconv.Atoi(name); err == nil {
		if n > len(p.groups) {
			return -1
		}
		return n
	}
	for i, g := range p.groups {
		if !g.IsNull() && g.Str() == name {
			return i + 1
		}
	}
	return -1
}
