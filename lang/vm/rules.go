package vm

import "ql/lang/value"

// Rules are the host's, for what a script tells it without an effect: which
// database it uses, and what it sets of the globals that the host reads when the
// run has ended. What they refuse fails at the statement, where the script can
// see it. A machine without rules takes anything.
type Rules interface {
	// Database refuses what cannot be the name of a database.
	Database(name string) *value.Error
	// SetEntry returns what an entry of a global becomes where a script sets it
	// to v. set is what the script has set of that global before, a map or null.
	// Its work is charged to m.
	SetEntry(m *value.Meter, global int32, set value.Value, name string, v value.Value) (value.Value, *value.Error)
	// UnsetEntry refuses to have an entry removed.
	UnsetEntry(global int32, set value.Value, name string) *value.Error
	// IgnoresCase tells whether a name of an entry means the same in any case.
	IgnoresCase(name string) bool
}

// SetRules sets the rules of the host, before the machine runs. They are no part
// of a snapshot.
func (m *Machine) SetRules(r Rules) { m.rules = r }

// useDatabase sets the database of the statements that follow.
func (m *Machine) useDatabase(v value.Value) *value.Error {
	if !v.IsText() {
		return value.Errorf(value.WrongKind, "USE DATABASE takes the name of a database, not %s", value.Describe(v))
	}
	if m.rules != nil {
		if err := m.rules.Database(v.Str()); err != nil {
			return err
		}
	}
	if m.tx > 0 {
		return value.Errorf("in_transaction", "USE DATABASE cannot run inside a TRANSACTION, which belongs to one database")
	}
	m.db = v
	return nil
}
