package move

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"ql/internal/fault"
	"ql/internal/store/tables"
)

// own are the tables that say something of one place alone: they stay. Databases of accounts, whose tables are among
// them, are moved as such, and no removal of a blob is under way where none was.
var own = map[string]bool{
	"moves": true, "move_progress": true, // this move
	"intake": true, "seal": true, "ql_schema": true, "writers": true, // the engines
	"members": true, "nodes": true, "bound_folder": true, // processes, and their data folders
	"homes": true, "shipped_databases": true, "shipped_parts": true, "shipped_chunks": true,
	"blob_deletions": true, "buckets": true, "duties": true, "allotments": true, "changes": true,
}

// made are the tables that are not empty in a store that holds nothing.
var made = map[string]bool{"head": true, "id_key": true, "master_check": true}

// plan is how a table is copied.
type plan struct {
	from, to *tables.Table
	// The columns that are copied, as both sides know them, by their names.
	read, write []tables.Column
	// compared are those that make the sum of a row: none that an engine computes.
	compared []bool

	copied reached // what the source has
}

// newPlan says how each table is copied, in an order in which rows can be inserted.
func newPlan(from, to []tables.Table) (list []plan, err error) {
	sources := map[string]*tables.Table{}
	for i := range from {
		if !own[from[i].Name] {
			sources[from[i].Name] = &from[i]
		}
	}
	for i := range to {
		if own[to[i].Name] {
			continue
		}
		p := plan{from: sources[to[i].Name], to: &to[i]}
		if p.from == nil {
			return nil, differs(to[i].Name)
		}
		delete(sources, to[i].Name)
		if err := p.match(); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	for name := range sources {
		return nil, differs(name)
	}
	return list, nil
}

func differs(what string) error {
	return fmt.Errorf("both sides must have the same tables, and %s is at one of them alone", what)
}

// match finds the columns that both sides have.
func (p *plan) match() error {
	for _, c := range p.from.Columns {
		if _, found := p.to.Column(c.Name); !found {
			return differs("column " + c.Name + " of " + p.from.Name)
		}
	}
	columns := slices.Clone(p.to.Columns)
	slices.SortFunc(columns, func(a, b tables.Column) int { return cmp.Compare(a.Name, b.Name) })
	for _, c := range columns {
		source, found := p.from.Column(c.Name)
		if !found {
			return differs("column " + c.Name + " of " + p.to.Name)
		}
		if (source.Kind == tables.Int) != (c.Kind == tables.Int) {
			return fmt.Errorf("column %s of %s is a number at one side alone", c.Name, p.to.Name)
		}
		if c.Computed {
			continue
		}
		p.read, p.write = append(p.read, source), append(p.write, c)
		p.compared = append(p.compared, !source.Computed)
	}
	return nil
}

// How much is in one transaction.
const (
	batchRows  = 5_000
	batchBytes = 8 << 20
)

// sum is that of rows, whatever their order: of their hashes, as numbers.
type sum [32]byte

// add adds a row: whether each value is null, a number or bytes, and which.
func (s *sum) add(row []tables.Value, columns []tables.Column, compared []bool, scratch []byte) []byte {
	scratch = scratch[:0]
	for i := range row {
		switch v := &row[i]; {
		case !compared[i]:
		case v.Null:
			scratch = append(scratch, 0)
		case columns[i].Kind == tables.Int:
			scratch = binary.BigEndian.AppendUint64(append(scratch, 1), uint64(v.Int))
		default:
			scratch = binary.BigEndian.AppendUint64(append(scratch, 2), uint64(len(v.Bytes)))
			scratch = append(scratch, v.Bytes...)
		}
	}
	hash, carry := sha256.Sum256(scratch), uint64(0)
	for i := len(s) - 8; i >= 0; i -= 8 {
		var n uint64
		n, carry = bits.Add64(binary.BigEndian.Uint64(s[i:]), binary.BigEndian.Uint64(hash[i:]), carry)
		binary.BigEndian.PutUint64(s[i:], n)
	}
	return scratch
}

func progressOf(table string) string { return "table " + table }

// copyTable copies the rows of a table that were not copied yet.
func (m *mover) copyTable(ctx context.Context, p *plan) error {
	before, begun, err := m.reached(ctx, progressOf(p.to.Name))
	if err != nil {
		return err
	}
	p.copied = reached{}
	b := batch{m: m, p: p, first: !begun}
	var scratch []byte
	at := int64(0) // bytes
	err = m.From.Tables.Rows(ctx, p.from, p.read, func(row []tables.Value) error {
		for i := range row {
			if p.write[i].Clean && !row[i].Null {
				if clean := tables.Clean(row[i].Bytes); !bytes.Equal(clean, row[i].Bytes) {
					row[i].Bytes = clean
					m.counts.Replaced++
				}
			}
			at += int64(len(row[i].Bytes)) + 8
		}
		if begun && p.copied.rows == before.rows && p.copied.hash != before.hash {
			return errChanged
		}
		isNew := !begun || p.copied.rows >= before.rows
		scratch = p.copied.hash.add(row, p.write, p.compared, scratch)
		p.copied.rows++
		if !isNew {
			return nil
		}
		full := b.add(row)
		if !full {
			return nil
		}
		if err := b.write(ctx); err != nil {
			return err
		}
		m.Report(Progress{Stage: Copying, Name: p.to.Name, Rows: p.copied.rows, Bytes: at})
		return nil
	})
	if err != nil {
		return err
	}
	if begun && (p.copied.rows < before.rows || p.copied.rows == before.rows && p.copied.hash != before.hash) {
		return errChanged
	}
	if b.first || len(b.rows) > 0 {
		if err := b.write(ctx); err != nil {
			return err
		}
	}
	m.counts.Tables++
	m.counts.Rows += p.copied.rows
	m.counts.Bytes += at
	m.Report(Progress{Stage: Copying, Name: p.to.Name, Rows: p.copied.rows, Bytes: at, Done: true})
	return nil
}

// batch are rows on their way.
type batch struct {
	m     *mover
	p     *plan
	first bool // no row of the table was copied yet
	rows  [][]tables.Value
	bytes int
}

// add adds a copy of a row, and reports whether it is time to write.
func (b *batch) add(row []tables.Value) (full bool) {
	one := slices.Clone(row)
	for i := range one {
		one[i].Bytes = slices.Clone(one[i].Bytes)
		b.bytes += len(one[i].Bytes) + 16
	}
	b.rows = append(b.rows, one)
	return len(b.rows) >= batchRows || b.bytes >= batchBytes
}

// write writes the rows, and how far the table has come.
func (b *batch) write(ctx context.Context) error {
	to := b.m.To.Tables
	err := to.Do(ctx, func() error {
		if b.first { // what a store that holds nothing has is replaced
			if _, err := to.Exec(ctx, "DELETE FROM "+tables.Quote(b.p.to.Name)); err != nil {
				return err
			}
		}
		if len(b.rows) > 0 {
			if err := to.Insert(ctx, b.p.to, b.p.write, b.rows); err != nil {
				return err
			}
		}
		return b.m.setReached(ctx, progressOf(b.p.to.Name), b.p.copied)
	})
	b.first, b.rows, b.bytes = false, b.rows[:0], 0
	return err
}

// copyNumbers has the target go on with the numbers that the source would give next.
func (m *mover) copyNumbers(ctx context.Context) error {
	for _, p := range m.plan {
		if p.to.Number == "" {
			continue
		}
		next := int64(1)
		if err := m.From.Tables.Select(ctx, "SELECT max("+tables.Quote(p.to.Number)+") FROM "+tables.Quote(p.from.Name), nil, []tables.Kind{tables.Int}, func(row []tables.Value) error {
			next = row[0].Int + 1
			return nil
		}); err != nil {
			return err
		}
		if p.from.Number != "" {
			last, err := m.From.Tables.Next(ctx, p.from)
			if err != nil {
				return err
			}
			next = max(next, last)
		}
		if err := m.To.Tables.SetNext(ctx, p.to, next); err != nil {
			return err
		}
		if got, err := m.To.Tables.Next(ctx, p.to); err != nil || got != next {
			return cmp.Or(err, fmt.Errorf("the numbers of table %s go on at %d in place of %d", p.to.Name, got, next))
		}
	}
	return nil
}

// verifyTable reads a table of the target.
func (m *mover) verifyTable(ctx context.Context, p *plan) error {
	var got reached
	var scratch []byte
	if err := m.To.Tables.Rows(ctx, p.to, p.write, func(row []tables.Value) error {
		scratch = got.hash.add(row, p.write, p.compared, scratch)
		got.rows++
		return nil
	}); err != nil {
		return err
	}
	switch {
	case got.rows != p.copied.rows:
		return notEqual("table %s has %d rows in place of %d", p.to.Name, got.rows, p.copied.rows)
	case got.hash != p.copied.hash:
		return notEqual("rows of table %s are not those that were copied", p.to.Name)
	}
	m.Report(Progress{Stage: Verifying, Name: p.to.Name, Rows: got.rows, Done: true})
	return nil
}

func notEqual(format string, args ...any) *fault.Error {
	return fault.New(fault.StorageUnavailable, "what was copied is not what was to be copied, so that the target does not serve: "+format, args...)
}
