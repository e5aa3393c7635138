package postgres

import (
	"context"

	"ql/internal/admit"
	"ql/internal/store/relational"
)

// allotments are how nodes share out limits of accounts. Like buckets they are counts: each change is a statement of
// its own, which finds the row as it was read or does nothing.
type allotments struct{ store *Store }

var _ admit.Allotments = allotments{}

// Allotment implements admit.Allotments.
func (s allotments) Allotment(ctx context.Context, account int64) (a admit.Allotment, members []int64, err error) {
	err = s.store.count(ctx, func(t relational.Tx) error {
		a, members, err = t.Allotment(account)
		return err
	})
	return a, members, err
}

// SwapAllotment implements admit.Allotments.
func (s allotments) SwapAllotment(ctx context.Context, account, version int64, now admit.Allotment) (next int64, err error) {
	err = s.store.count(ctx, func(t relational.Tx) error {
		next, err = t.SwapAllotment(account, version, now)
		return err
	})
	return next, err
}

// Contended implements admit.Allotments.
func (s allotments) Contended(ctx context.Context, limit int) (list []int64, err error) {
	err = s.store.count(ctx, func(t relational.Tx) error {
		list, err = t.ContendedAllotments(limit)
		return err
	})
	return list, err
}

// sweep removes shares of those who are no members.
func (s allotments) sweep(ctx context.Context) error {
	for after := int64(0); ; {
		err := s.store.count(ctx, func(t relational.Tx) (err error) {
			after, err = t.SweepAllotments(after)
			return err
		})
		if err != nil || after == 0 {
			return err
		}
	}
}
