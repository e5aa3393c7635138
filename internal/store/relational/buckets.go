package relational

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"time"

	"ql/internal/admit"
)

// Buckets counts for all nodes what may be done so often. A row says when its bucket is full again, by the clock
// of the store: those of nodes differ. Where that jumps, a bucket is full, or for a short while empty, and goes on from there.
type Buckets struct{ store *Store }

// Buckets returns the store's buckets.
func (s *Store) Buckets() Buckets { return Buckets{s} }

// Nodes implements admit.Buckets. An engine that has several says so itself.
func (Buckets) Nodes() int { return 1 }

// Now is the moment at which a statement began, by the clock of the store.
const Now = "CAST(unixepoch('subsec') * 1000000 AS INTEGER)"

func greater(a, b string) string {
	return "CASE WHEN " + a + " > " + b + " THEN " + a + " ELSE " + b + " END"
}

func lesser(a, b string) string {
	return "CASE WHEN " + a + " < " + b + " THEN " + a + " ELSE " + b + " END"
}

// drawTokens has the parameters key, each, depth, tokens and back.
var drawTokens = func() string {
	// What the bucket would be full at without this, but no later than an empty one.
	full := "(" + greater("("+lesser("buckets.full_at - ?5", Now+" + ?3")+")", Now) + ")"
	granted := "(" + lesser("?4", "(("+Now+" + ?3 - "+full+") / ?2)") + ")"
	return "INSERT INTO buckets (key, full_at, scratch) VALUES (?1, " + Now + " + ?2 * ?4, ?4) ON CONFLICT (key) DO UPDATE SET scratch = " + granted +
		", full_at = " + full + " + " + granted + " * ?2 RETURNING scratch, full_at - " + Now
}()

// Draw implements admit.Buckets.
func (b Buckets) Draw(ctx context.Context, d admit.Draw) (drawn admit.Drawn, err error) {
	err = b.store.write(ctx, func(t tx) error {
		drawn, err = t.DrawTokens(&d)
		return err
	})
	return drawn, err
}

// DrawTokens takes tokens out of a bucket, by one statement.
func (t Tx) DrawTokens(d *admit.Draw) (drawn admit.Drawn, err error) {
	tokens := min(int64(d.Tokens), int64(d.Depth/d.Each))
	_, err = t.one(drawTokens, func(r row) {
		drawn = admit.Drawn{Tokens: int(r.int(0)), Debt: time.Duration(max(0, r.int(1))) * time.Microsecond}
	}, d.Key[:], d.Each.Microseconds(), d.Depth.Microseconds(), tokens, d.Back.Microseconds())
	return drawn, err
}

// Debts implements admit.Buckets.
func (b Buckets) Debts(ctx context.Context, keys [][sha256.Size]byte) (debts []time.Duration, err error) {
	err = b.store.read(ctx, func(t tx) error {
		debts, err = t.BucketDebts(keys)
		return err
	})
	return debts, err
}

// BucketDebts returns how long it is until each of some buckets is full.
func (t Tx) BucketDebts(keys [][sha256.Size]byte) ([]time.Duration, error) {
	debts := make([]time.Duration, len(keys))
	args := make([]any, len(keys))
	for i := range keys {
		args[i] = keys[i][:]
	}
	err := t.each("SELECT key, full_at - "+Now+" FROM buckets WHERE key IN ("+strings.TrimSuffix(strings.Repeat("?, ", len(keys)), ", ")+")", func(r row) {
		for i := range keys {
			if bytes.Equal(keys[i][:], r.s.Blob(0)) {
				debts[i] = time.Duration(max(0, r.int(1))) * time.Microsecond
			}
		}
	}, args...)
	return debts, err
}

// Spend implements admit.Buckets.
func (b Buckets) Spend(ctx context.Context, list []admit.Spent) error {
	return b.store.write(ctx, func(t tx) error { return t.SpendTokens(list) })
}

// SpendTokens takes a token out of each of some buckets, by one statement.
func (t Tx) SpendTokens(list []admit.Spent) error {
	// All who change several buckets do so in the same order, so that nobody waits for one who waits for him.
	list = slices.SortedFunc(slices.Values(list), func(a, b admit.Spent) int { return bytes.Compare(a.Key[:], b.Key[:]) })
	args := make([]any, 0, 3*len(list))
	for i := range list {
		args = append(args, list[i].Key[:], list[i].Each.Microseconds(), list[i].Depth.Microseconds())
	}
	jumped := "CASE WHEN buckets.full_at > " + Now + " + excluded.scratch + " + strconv.FormatInt(admit.ClockJump.Microseconds(), 10) + " THEN " + Now + " ELSE buckets.full_at END"
	full := "(" + greater("("+jumped+")", Now) + ") + excluded.full_at - " + Now
	_, err := t.exec("INSERT INTO buckets (key, full_at, scratch) VALUES "+strings.TrimSuffix(strings.Repeat("(?, "+Now+" + ?, ?), ", len(list)), ", ")+
		" ON CONFLICT (key) DO UPDATE SET full_at = "+lesser(full, Now+" + excluded.scratch"), args...)
	return err
}

// Sweep implements admit.Buckets.
func (b Buckets) Sweep(ctx context.Context) error {
	return b.store.write(ctx, tx.SweepBuckets)
}

// SweepBuckets removes buckets that are full, which are like those that were never there.
func (t Tx) SweepBuckets() error {
	_, err := t.exec("DELETE FROM buckets WHERE full_at <= " + Now)
	return err
}
