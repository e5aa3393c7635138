package wire

import "strconv"

// SQLQuery is a request of POST /v1/databases/{name}/query.
type SQLQuery struct {
	SQL    string
	Params Raw // a JSON list; nil where it was left out
	Limit  int // rows of each result
	Write  bool
	Shape  Shape
}

// The number of rows of a result.
const (
	usualRows = 1000
	mostRows  = 100_000
)

var sqlQueryFields = []string{"sql", "params", "limit", "write"}

// Within checks a query against limits narrower than those it was decoded under.
func (q *SQLQuery) Within(l Limits) error {
	l = l.withDefaults()
	if r := q.Shape.within(bodyField, &l); r != nil {
		return r
	}
	return nil
}

// DecodeSQLQuery reads the body of POST /v1/databases/{name}/query. The error is a *Refusal.
func DecodeSQLQuery(body []byte, l Limits) (*SQLQuery, error) {
	l = l.withDefaults()
	q := &SQLQuery{Limit: usualRows}
	top, r := document(body, &l, &q.Shape)
	if r == nil {
		r = q.decode(top)
	}
	if r != nil {
		return nil, r.withoutPlanLimit()
	}
	return q, nil
}

func (q *SQLQuery) decode(top node) *Refusal {
	hasSQL := false
	members := top.inside()
	for name, value, ok := members.member(); ok; name, value, ok = members.member() {
		var r *Refusal
		switch name {
		case "sql":
			hasSQL = true
			q.SQL, r = text("sql", value)
		case "params":
			if r = want("params", value, '['); r == nil {
				q.Params = Raw(value)
			}
		case "limit":
			q.Limit, r = number("limit", value, mostRows)
		case "write":
			var write *bool
			if write, r = boolean("write", value); r == nil {
				q.Write = *write
			}
		default:
			r = unknown(bodyField, name, sqlQueryFields)
		}
		if r != nil {
			return r
		}
	}
	if !hasSQL {
		return invalid("sql", "is missing: statements of SQL, a text, fit")
	}
	return nil
}

// number reads a whole number from 1 on.
func number(field string, n node, most int) (int, *Refusal) {
	fits := "a whole number from 1 to " + strconv.Itoa(most) + " fits, or leave the field out"
	if n.kind() != "a number" {
		return 0, invalid(field, "is "+n.kind()+": "+fits)
	}
	count, err := strconv.Atoi(string(n))
	if err != nil || count < 1 || count > most {
		return 0, invalid(field, "is "+quote(string(n))+": "+fits)
	}
	return count, nil
}

// ResultPieces is the answer of POST /v1/databases/{name}/query. The results are large, and written as
// they are.
func ResultPieces(results Raw) Pieces {
	return Pieces{{bytes: []byte(`{"status":"ok","results":`)}, {bytes: results}, {bytes: []byte(`}`)}}
}

// DatabaseEntry is a database in a list.
type DatabaseEntry struct {
	Name  string
	Bytes int64
}

// AppendDatabases appends the answer of GET /v1/databases. Next is the name that the next page begins
// behind, "" at the end.
func AppendDatabases(dst []byte, list []DatabaseEntry, next string) []byte {
	dst = append(dst, `{"status":"ok","databases":[`...)
	for _, d := range list {
		dst = append(appendComma(dst), `{"name":`...)
		dst = appendText(dst, d.Name)
		dst = strconv.AppendInt(appendName(dst, "bytes"), d.Bytes, 10)
		dst = append(dst, '}')
	}
	return appendNext(dst, next)
}

// TableEntry is a table or a view of a database.
type TableEntry struct {
	Name      string
	Kind      string // "table" or "view"
	SQL       string
	Columns   []ColumnEntry
	Indexes   []IndexEntry
	Rows      int64 // -1 where that is not known
	RowsExact bool
}

// ColumnEntry is a column of a table or a view.
type ColumnEntry struct {
	Name       string
	Type       string
	NotNull    bool
	Default    string // as it was written, "" for none
	PrimaryKey int    // its place in that, from 1; 0 where it is not in it
	Computed   bool
}

// IndexEntry is an index of a table.
type IndexEntry struct {
	Name    string
	Unique  bool
	Columns []string // "" for an expression
}

// AppendSchema appends the answer of GET /v1/databases/{name}.
func AppendSchema(dst []byte, name string, tables []TableEntry, next string) []byte {
	dst = append(dst, `{"status":"ok","name":`...)
	dst = appendText(dst, name)
	dst = append(appendName(dst, "tables"), '[')
	for i := range tables {
		dst = appendTable(appendComma(dst), &tables[i])
	}
	return appendNext(dst, next)
}

func appendTable(dst []byte, t *TableEntry) []byte {
	dst = append(dst, `{"name":`...)
	dst = appendText(dst, t.Name)
	dst = appendTextField(dst, "kind", t.Kind)
	dst = append(appendName(dst, "columns"), '[')
	for _, c := range t.Columns {
		dst = append(appendComma(dst), `{"name":`...)
		dst = appendText(dst, c.Name)
		dst = appendTextField(dst, "type", c.Type)
		dst = strconv.AppendBool(appendName(dst, "not_null"), c.NotNull)
		dst = appendTextOrNull(dst, "default", c.Default)
		dst = strconv.AppendInt(appendName(dst, "primary_key"), int64(c.PrimaryKey), 10)
		dst = strconv.AppendBool(appendName(dst, "computed"), c.Computed)
		dst = append(dst, '}')
	}
	dst = append(append(dst, ']'), `,"indexes":[`...)
	for _, i := range t.Indexes {
		dst = append(appendComma(dst), `{"name":`...)
		dst = appendText(dst, i.Name)
		dst = strconv.AppendBool(appendName(dst, "unique"), i.Unique)
		dst = append(appendName(dst, "columns"), '[')
		for _, c := range i.Columns {
			dst = appendComma(dst)
			if c == "" {
				dst = append(dst, "null"...)
			} else {
				dst = appendText(dst, c)
			}
		}
		dst = append(dst, "]}"...)
	}
	dst = append(dst, ']')
	dst = appendName(dst, "rows")
	if t.Rows < 0 {
		dst = append(dst, "null"...)
	} else {
		dst = strconv.AppendInt(dst, t.Rows, 10)
	}
	dst = strconv.AppendBool(appendName(dst, "rows_exact"), t.RowsExact)
	dst = appendTextField(dst, "sql", t.SQL)
	return append(dst, '}')
}

// AppendImported appends the answer of POST /v1/databases/{name}/import: what is "statements" or
// "rows".
func AppendImported(dst []byte, what string, n int64) []byte {
	dst = append(dst, `{"status":"ok"`...)
	dst = strconv.AppendInt(appendName(dst, what), n, 10)
	return append(dst, '}')
}

// AppendDropped appends the answer of DELETE /v1/databases/{name}: result is "removed" or "emptied".
func AppendDropped(dst []byte, name, result string) []byte {
	dst = append(dst, `{"status":"ok","name":`...)
	dst = appendText(dst, name)
	dst = appendTextField(dst, "result", result)
	return append(dst, '}')
}
