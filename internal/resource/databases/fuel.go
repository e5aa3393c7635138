package databases

import (
	"context"

	"ql/internal/engine"
	"ql/internal/sqlite"
	"ql/lang/value"
)

// A script pays for its SQL by what SQLite counts of it, so that its limit of fuel
// ends a statement as it ends a loop. The prices are measured: see bench/fuel.
const (
	// stepFuel is what an instruction costs, with its share of sorting.
	stepFuel = 10
	// pageFuel is what a look at a page costs, in memory or not: which it is differs
	// between processes, and fuel must not.
	pageFuel = 150
	// appendFuel is what a look at a page costs while rows are added at the end of a table: it
	// is the same one again and again.
	appendFuel = 20
	// movedBytes is how many bytes an instruction moves for a unit.
	movedBytes = 100
	// callFuel is what a call of a function costs, and lookedBytes how many bytes it
	// looks at for a unit.
	callFuel    = 20
	lookedBytes = 8
	// A statement pays for being prepared whether it just was or is still there: for
	// each instruction of it, and something besides. textFuel is for each byte of one
	// that cannot be prepared.
	prepareFuel = 400
	lengthFuel  = 30
	textFuel    = 10
	// commitFuel is what a change costs that is committed by itself, and defineFuel what a
	// change of the definitions does: all statements are prepared again.
	commitFuel = 5_000
	defineFuel = 10_000
)

// price returns what work costs in fuel.
func price(w sqlite.Work) int64 {
	return stepFuel*w.Steps + pageFuel*w.Pages + w.Moved/movedBytes + callFuel*w.Calls + w.Looked/lookedBytes
}

// charge has a script pay. The error is the limit that it passes.
func charge(m *value.Meter, fuel int64) error {
	if m != nil && m.Fuel < fuel {
		return chargeSlowly(m, fuel)
	}
	m.Work(int(fuel))
	return nil
}

// chargeSlowly is charge where a slice of fuel ends, and a limit may be met.
func chargeSlowly(m *value.Meter, fuel int64) (err error) {
	defer func() {
		if r := recover(); r != nil {
			limit, known := r.(*value.LimitError)
			if !known {
				panic(r)
			}
			err = limit
		}
	}()
	m.Work(int(fuel))
	return nil
}

// progress charges for what a statement has done, and lets it go on when it is its
// script's turn. The library is under way: no panic may go through it.
func (b *budget) progress(ctx context.Context, w sqlite.Work) error {
	if err := charge(b.meter, price(w)); err != nil {
		b.over = err
		return err
	}
	return engine.Turn(ctx)
}
