package databases

import (
	"iter"
	"strings"
)

// names goes over all that may be a name in SQL, in small letters.
func names(sql string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := 0; i < len(sql); {
			rest := sql[i:]
			name, length, found := "", 1, true // a name in quotes may be empty
			switch c := sql[i]; {
			case strings.HasPrefix(rest, "--"):
				length, found = lengthTo(rest, "\n"), false
			case strings.HasPrefix(rest, "/*"):
				length, found = 2+lengthTo(rest[2:], "*/"), false
			case c == '\'' || c == '"' || c == '`':
				name, length = quotedName(rest, c)
			case c == '[':
				length = lengthTo(rest, "]")
				name = strings.TrimSuffix(rest[1:length], "]")
			case isWord(c):
				for length < len(rest) && isWord(rest[length]) {
					length++
				}
				name = rest[:length]
			default:
				found = false
			}
			if found && !yield(strings.ToLower(name)) {
				return
			}
			i += length
		}
	}
}

// isWord reports whether a byte may stand within a name without quotes.
func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// isDefinition reports whether a statement changes definitions.
func isDefinition(sql string) bool {
	switch firstName(sql) {
	case "create", "alter", "drop":
		return true
	}
	return false
}

// firstName returns the word that SQL starts with.
func firstName(sql string) string {
	for name := range names(sql) {
		return name
	}
	return ""
}

// lengthTo returns how long the text is up to an end, with it.
func lengthTo(text, end string) int {
	if i := strings.Index(text, end); i >= 0 {
		return i + len(end)
	}
	return len(text)
}

// quotedName reads a name in quotes, which stand twice for themselves.
func quotedName(text string, quote byte) (name string, length int) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		if text[i] != quote {
			b.WriteByte(text[i])
			continue
		}
		if i+1 == len(text) || text[i+1] != quote {
			return b.String(), i + 1
		}
		b.WriteByte(quote)
		i++
	}
	return b.String(), len(text)
}

// vacuums reports whether SQL is VACUUM, explained or not: SQLite shows the authorizer
// nothing of it before it runs.
func vacuums(sql string) bool {
	for name := range names(sql) {
		switch name {
		case "explain", "query", "plan":
			continue
		}
		return name == "vacuum"
	}
	return false
}
