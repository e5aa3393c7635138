package vm

import "ql/lang/value"

// use sets the database of the statements that follow.
func (m *Machine) use(v value.Value) *value.Error {
	if !v.IsText() {
		return value.Errorf(value.WrongKind, "USE DATABASE takes the name of a database, not %s", value.Describe(v))
	}
	if _, err := DatabaseName(v.Str()); err != nil {
		return err
	}
	if m.tx > 0 {
		return value.Errorf("in_transaction", "USE DATABASE cannot run inside a TRANSACTION, which belongs to one database")
	}
	m.db = v
	return nil
}

// longestDatabaseName is chosen so that a name with its ending fits any file
// system.
const longestDatabaseName = 63

// DatabaseName checks the name of a database and folds it to lower case.
func DatabaseName(name string) (string, *value.Error) {
	folded := []byte(name)
	ok := name != "" && len(folded) <= longestDatabaseName
	for i := 0; ok && i < len(folded); i++ {
		c := folded[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
			folded[i] = c
		}
		ok = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || i > 0 && (c == '_' || c == '-')
	}
	if !ok {
		return "", value.Errorf("invalid_database", "%s is no name of a database: it takes letters a-z, digits, _ and -, starts with a letter or digit, and has at most %d characters", value.Quote(name), longestDatabaseName)
	}
	return string(folded), nil
}
