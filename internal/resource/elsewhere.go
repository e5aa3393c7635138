package resource

import (
	"context"

	"ql/internal/engine"
	"ql/internal/fault"
	"ql/lang/value"
)

// elsewhere are the databases of an account that are at another node: nothing is done to them here, and nothing is
// begun that would look like them.
type elsewhere struct{}

var _ engine.Databases = elsewhere{}

const databasesElsewhere = "the databases of accounts are at the first node of this service: call that one, or start a job, which runs there"

// ErrDatabasesElsewhere is the error of who reaches for databases at another node than where they are.
var ErrDatabasesElsewhere = fault.New(fault.NotAvailable, databasesElsewhere)

// NoDatabases is the error of who reaches for databases where they are at another node; nil where they are here.
func (p *Pool) NoDatabases() error {
	if p.o.NoDatabases {
		return ErrDatabasesElsewhere
	}
	return nil
}

func notHere() error { return value.Errorf("not_available", databasesElsewhere) }

// Query implements engine.Databases.
func (elsewhere) Query(context.Context, string, engine.Query) (value.Value, error) {
	return value.Null, notHere()
}

// Import implements engine.Databases.
func (elsewhere) Import(context.Context, string, engine.Import) (value.Value, error) {
	return value.Null, notHere()
}

// Begin implements engine.Databases.
func (elsewhere) Begin(context.Context, string) (engine.Tx, error) { return nil, notHere() }

// Receipts implements engine.Databases.
func (elsewhere) Receipts(context.Context, string, [16]byte, int64) ([]engine.StoredReceipt, error) {
	return nil, notHere()
}

// DeleteReceipts implements engine.Databases.
func (elsewhere) DeleteReceipts(context.Context, string, [16]byte, int64) error { return notHere() }
