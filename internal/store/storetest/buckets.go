package storetest

import (
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/admit"
)

// A token of a test's bucket takes so long to come back that none does meanwhile.
const tokenTime = time.Hour

func bucketKey(n byte) [sha256.Size]byte { return [sha256.Size]byte{n, 0, 0xff} }

func draw(t *testing.T, s Stores, d admit.Draw) admit.Drawn {
	t.Helper()
	d.Each = tokenTime
	drawn, err := s.Buckets.Draw(t.Context(), d)
	must(t, err)
	return drawn
}

// wantDebt compares a debt with that of so many tokens, less what came back meanwhile.
func wantDebt(t *testing.T, what string, debt time.Duration, tokens int) {
	t.Helper()
	if want := time.Duration(tokens) * tokenTime; debt > want || debt < want-10*time.Minute && tokens > 0 {
		t.Errorf("%s: it is full in %v, and not in %v", what, debt, want)
	}
}

func testBuckets(t *testing.T, s Stores) {
	const depth = 5 * tokenTime
	for _, step := range []struct {
		asked, back, want, debt int
	}{{3, 0, 3, 3}, {3, 0, 2, 5}, {1, 0, 0, 5}, {5, 2, 2, 5}, {4, 9, 4, 4}} {
		got := draw(t, s, admit.Draw{Key: bucketKey(1), Tokens: step.asked, Depth: depth, Back: time.Duration(step.back) * tokenTime})
		same(t, "the tokens drawn", got.Tokens, step.want)
		wantDebt(t, "after a draw", got.Debt, step.debt)
	}
	// More than there ever are, and from a bucket that has become smaller.
	same(t, "the first of another", draw(t, s, admit.Draw{Key: bucketKey(2), Tokens: 9, Depth: depth}).Tokens, 5)
	same(t, "where it is smaller now", draw(t, s, admit.Draw{Key: bucketKey(2), Tokens: 1, Depth: 2 * tokenTime}).Tokens, 0)
	wantDebt(t, "where it is smaller now", draw(t, s, admit.Draw{Key: bucketKey(2), Tokens: 1, Depth: 2 * tokenTime}).Debt, 2)

	failed := []admit.Spent{{Key: bucketKey(9), Each: tokenTime, Depth: 3 * tokenTime}, {Key: bucketKey(4), Each: tokenTime, Depth: 2 * tokenTime}}
	for want := 1; want <= 4; want++ {
		must(t, s.Buckets.Spend(t.Context(), failed))
		debts, err := s.Buckets.Debts(t.Context(), [][sha256.Size]byte{bucketKey(4), bucketKey(5), bucketKey(9)})
		must(t, err)
		wantDebt(t, "a bucket of 2", debts[0], min(want, 2))
		wantDebt(t, "one that nobody used", debts[1], 0)
		wantDebt(t, "a bucket of 3", debts[2], min(want, 3))
	}
	must(t, s.Buckets.Sweep(t.Context()))
	same(t, "what is left after a sweep", draw(t, s, admit.Draw{Key: bucketKey(1), Tokens: 5, Depth: depth}).Tokens, 1)
}

// testBucketsOfTwo: what two processes draw at once is no more than there is, and what they spend is all counted.
func testBucketsOfTwo(t *testing.T, a, b *process) {
	const most = 40
	var got atomic.Int64
	var all sync.WaitGroup
	for _, p := range []*process{a, b} {
		for range 4 {
			all.Go(func() {
				for range 3 {
					drawn, err := p.Buckets.Draw(t.Context(), admit.Draw{Key: bucketKey(1), Tokens: 3, Each: tokenTime, Depth: most * tokenTime})
					if err != nil {
						t.Error(err)
					}
					got.Add(int64(drawn.Tokens))
					// In either order.
					list := []admit.Spent{{Key: bucketKey(2), Each: tokenTime, Depth: 99 * tokenTime}, {Key: bucketKey(3), Each: tokenTime, Depth: 99 * tokenTime}}
					if p == b {
						list[0], list[1] = list[1], list[0]
					}
					if err := p.Buckets.Spend(t.Context(), list); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	same(t, "the tokens that both have drawn", got.Load(), int64(most))
	debts, err := a.Buckets.Debts(t.Context(), [][sha256.Size]byte{bucketKey(2), bucketKey(3)})
	must(t, err)
	wantDebt(t, "what both have spent", debts[0], 24)
	wantDebt(t, "what both have spent", debts[1], 24)
}
