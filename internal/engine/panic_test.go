package engine

import (
	"context"
	"slices"
	"testing"

	"ql/lang/value"
)

// panickingDatabases panic at each statement of a transaction.
type panickingDatabases struct{ *logDatabases }

func (d panickingDatabases) Begin(ctx context.Context, database string) (Tx, error) {
	tx, err := d.logDatabases.Begin(ctx, database)
	return panickingTx{tx}, err
}

type panickingTx struct{ Tx }

func (panickingTx) Query(context.Context, Query) (value.Value, error) { panic("out of order") }

// TestPanic: a panic goes on to the caller, and leaves neither a session locked
// nor a transaction open.
func TestPanic(t *testing.T) {
	w := newWorld(t)
	w.o.Databases = panickingDatabases{w.database}
	r := w.start(`START SESSION TRANSACTION INSERT INTO t VALUES (1); END`)
	func() {
		defer func() {
			if p := recover(); p != "out of order" {
				t.Errorf("the panic is %v", p)
			}
		}()
		_, _ = r.Continue(w.ctx)
		t.Error("it returned")
	}()
	if want := []string{"start", "release"}; !slices.Equal(w.sessions.log, want) {
		t.Errorf("the session: %q, want %q", w.sessions.log, want)
	}
	if log := w.database.log; len(log) == 0 || log[len(log)-1] != "rollback" {
		t.Errorf("the transaction: %q", log)
	}
}
