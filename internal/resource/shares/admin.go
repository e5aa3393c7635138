package shares

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/fault"
)

// Admin lists and revokes links for those who look after them: the account itself, and
// the operator.
type Admin struct {
	Store Store
	Clock func() time.Time
}

// Entry is a link with what became of it.
type Entry struct {
	Share
	State    State
	Receipts []Receipt // the newest first
}

// List returns links of an account, the newest first: up to limit of those made
// before the one with an id; "" for the newest of all.
func (l Admin) List(ctx context.Context, a account.ID, before string, limit int) ([]Entry, error) {
	from := int64(0)
	if before != "" {
		s, err := l.byID(ctx, a, before)
		if err != nil {
			return nil, err
		}
		from = s.Seq
	}
	list, err := l.Store.List(ctx, a, from, limit)
	if err != nil {
		return nil, err
	}
	now := l.Clock()
	entries := make([]Entry, len(list))
	for i, s := range list {
		entries[i] = Entry{Share: s, State: s.StateAt(now)}
		if entries[i].Receipts, err = l.Store.Receipts(ctx, a, s.Seq); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// Show returns a link by its id.
func (l Admin) Show(ctx context.Context, a account.ID, id string) (Entry, error) {
	s, err := l.byID(ctx, a, id)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Share: s, State: s.StateAt(l.Clock())}
	e.Receipts, err = l.Store.Receipts(ctx, a, s.Seq)
	return e, err
}

// Revoke takes a link back, by its id.
func (l Admin) Revoke(ctx context.Context, a account.ID, id string) error {
	s, err := l.byID(ctx, a, id)
	if err != nil {
		return err
	}
	return l.explain(id, l.Store.Revoke(ctx, a, s.Token, l.Clock().UTC().Truncate(time.Microsecond)))
}

func (l Admin) byID(ctx context.Context, a account.ID, id string) (Share, error) {
	s, err := l.Store.ByID(ctx, a, id)
	return s, l.explain(id, err)
}

func (l Admin) explain(id string, err error) error {
	if errors.Is(err, ErrNotFound) {
		return fault.New(fault.NotFound, "the account has no link with the id %q", id)
	}
	return err
}
