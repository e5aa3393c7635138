package move

import (
	"context"

	"ql/internal/store/relational"
	"ql/internal/store/tables"
)

// The states of a move, in the rows of both sides.
const (
	filling    = relational.MoveFilling
	filled     = relational.MoveFilled
	leftBehind = relational.MoveLeft
)

const insertMove = "INSERT INTO moves (id, state, other, lineage, at) VALUES (?, ?, ?, ?, ?)"

// mark is a row of a move.
type mark struct {
	id, state, other string
	lineage          fingerprint
}

func readMoves(ctx context.Context, a tables.Access) (list []mark, err error) {
	err = a.Select(ctx, "SELECT id, state, other, lineage FROM moves ORDER BY at", nil, []tables.Kind{tables.Text, tables.Text, tables.Text, tables.Bytes}, func(row []tables.Value) error {
		one := mark{id: string(row[0].Bytes), state: string(row[1].Bytes), other: string(row[2].Bytes)}
		copy(one.lineage[:], row[3].Bytes)
		list = append(list, one)
		return nil
	})
	return list, err
}

// reached is how far something has come.
type reached struct {
	rows int64
	hash sum
}

// reached returns how far something has come; found is false before it has begun.
func (m *mover) reached(ctx context.Context, name string) (r reached, found bool, err error) {
	err = m.To.Tables.Select(ctx, "SELECT rows, hash FROM move_progress WHERE name = ?", []any{name}, []tables.Kind{tables.Int, tables.Bytes}, func(row []tables.Value) error {
		found = true
		r.rows = row[0].Int
		copy(r.hash[:], row[1].Bytes)
		return nil
	})
	return r, found, err
}

func (m *mover) setReached(ctx context.Context, name string, r reached) error {
	_, err := m.To.Tables.Exec(ctx, "INSERT INTO move_progress (name, rows, hash) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET rows = excluded.rows, hash = excluded.hash",
		name, r.rows, r.hash[:])
	return err
}
