package relational

import "strings"

// Inserts is a statement that inserts rows, each with a value for each of its columns.
type Inserts struct {
	width     int // columns
	into      string
	one, many string
	arrays    string
}

// manyRows is how many rows a statement inserts whose values are parameters each, where it is not one. Together they take
// less than one by one.
const manyRows = 32

// newInserts returns a statement that inserts into columns of a table; end is what follows.
func newInserts(table, columns, end string) *Inserts {
	place := table + " (" + columns + ")"
	into := "INSERT INTO " + place + " "
	bare := bareParams(columns)
	row := "(" + bare + ")"
	return &Inserts{
		into:   place,
		width:  1 + strings.Count(columns, ","),
		one:    into + "VALUES " + row + end,
		many:   into + "VALUES " + row + strings.Repeat(", "+row, manyRows-1) + end,
		arrays: into + "SELECT * FROM unnest(" + bare + ")" + end,
	}
}

// Width is how many columns have values.
func (in *Inserts) Width() int { return in.width }

// Into is the table, with the columns.
func (in *Inserts) Into() string { return in.into }

// Parameters has a parameter for each value of so many rows, which ParameterRows has returned.
func (in *Inserts) Parameters(rows int) string {
	if rows == 1 {
		return in.one
	}
	return in.many
}

// Arrays has a parameter for each column: an array with the values of all rows.
func (in *Inserts) Arrays() string { return in.arrays }

// ParameterRows is how many of so many rows a statement of Parameters inserts.
func ParameterRows(rows int) int {
	if rows >= manyRows {
		return manyRows
	}
	return 1
}

// bareParams are as many parameters as there are columns.
func bareParams(columns string) string {
	return "?" + strings.Repeat(", ?", strings.Count(columns, ","))
}
