package relational

// Contracted returns how many contracts of the schema were run.
func (t Tx) Contracted() (int, error) {
	n, err := t.number("SELECT contracted FROM ql_schema WHERE one = 1")
	return int(n), err
}

// RaiseMinReader has all members know a step of the schema, from now on. It is false where one does not.
func (t Tx) RaiseMinReader(step int) (bool, error) {
	n, err := t.exec("UPDATE ql_schema SET min_reader = CASE WHEN min_reader > ?1 THEN min_reader ELSE ?1 END WHERE one = 1 AND NOT EXISTS (SELECT 1 FROM members WHERE knows < ?1)", step)
	return n > 0, err
}
