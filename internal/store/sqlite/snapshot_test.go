package sqlite

import (
	"context"
	"sync/atomic"
	"testing"
)

// endingContext ends once it was looked at so many times.
type endingContext struct {
	context.Context
	looks atomic.Int64
}

func (c *endingContext) Err() error {
	if c.looks.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestSnapshotThatIsGivenUp ends the context of reads at every place where it is looked at: whatever
// that does, the connection is in no transaction afterwards.
func TestSnapshotThatIsGivenUp(t *testing.T) {
	s := openTest(t, Options{Own: true, Readers: 1})
	for i := range 2000 {
		ctx := &endingContext{Context: t.Context()}
		ctx.looks.Store(int64(i % 4))
		_ = s.readers.read(t.Context(), func(t tx) error {
			return t.conn.Snapshot(ctx, func() error { return nil })
		})
		if err := s.readers.read(t.Context(), func(r tx) error {
			if r.conn.db.InTransaction() {
				t.Fatalf("round %d leaves a transaction", i)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}
