package postgres

import (
	"context"
	"crypto/sha256"
	"time"

	"ql/internal/admit"
	"ql/internal/store/relational"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// counterConns is how many connections count at once, opened when they are first needed: among several nodes
	// alone.
	counterConns = 2
	// mostConflicts is how often a count is tried again that stood in the way of another.
	mostConflicts = 10
)

// openCounter opens a connection for what is counted: a count that is lost with the server does no harm, and each
// is a statement of its own, which stands in the way of no other change.
func openCounter(ctx context.Context, config *pgconn.Config) (*conn, error) {
	c, err := connect(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := c.run(ctx, "SET synchronous_commit = off; SET default_transaction_isolation = 'read committed'"); err != nil {
		_ = c.close() // it is of no use
		return nil, explain(err)
	}
	return c, nil
}

// buckets are those of all nodes.
type buckets struct {
	relational.Buckets
	store *Store
}

// Nodes implements admit.Buckets.
func (b buckets) Nodes() int { return max(1, int(b.store.versions.nodes.Load())) }

// Draw implements admit.Buckets.
func (b buckets) Draw(ctx context.Context, d admit.Draw) (drawn admit.Drawn, err error) {
	err = b.count(ctx, func(t relational.Tx) error {
		drawn, err = t.DrawTokens(&d)
		return err
	})
	return drawn, err
}

// Debts implements admit.Buckets.
func (b buckets) Debts(ctx context.Context, keys [][sha256.Size]byte) (debts []time.Duration, err error) {
	err = b.count(ctx, func(t relational.Tx) error {
		debts, err = t.BucketDebts(keys)
		return err
	})
	return debts, err
}

// Spend implements admit.Buckets.
func (b buckets) Spend(ctx context.Context, list []admit.Spent) error {
	return b.count(ctx, func(t relational.Tx) error { return t.SpendTokens(list) })
}

// Sweep implements admit.Buckets.
func (b buckets) Sweep(ctx context.Context) error {
	if err := b.count(ctx, relational.Tx.SweepBuckets); err != nil {
		return err
	}
	return allotments{b.store}.sweep(ctx)
}

func (b buckets) count(ctx context.Context, f func(relational.Tx) error) error {
	return b.store.count(ctx, f)
}

// beside makes the counts of jobs that are being accepted.
type beside struct{ store *Store }

// Shared implements relational.Beside.
func (b beside) Shared() bool { return b.store.versions.nodes.Load() > 1 }

// Count implements relational.Beside.
func (b beside) Count(ctx context.Context, f func(relational.Tx) error) error {
	return b.store.count(ctx, f)
}

// count runs statements one by one, without those that change something else.
func (s *Store) count(ctx context.Context, f func(relational.Tx) error) (err error) {
	for tries := range mostConflicts {
		if err = s.counters.read(ctx, f); !isConflict(err) {
			return err
		}
		pause(tries)
	}
	return err
}
