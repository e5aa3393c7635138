package service

import (
	"context"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/fault"
	"ql/internal/wire"
)

// Shares are the links to accounts' files.
type Shares interface {
	// List returns links of an account, the newest first: up to limit of those
	// made before the one with an id; "" for the newest of all. An id that the
	// account has no link with is not_found.
	List(ctx context.Context, a account.ID, before string, limit int) ([]wire.ShareEntry, error)
	// Revoke takes a link back; not_found as for List.
	Revoke(ctx context.Context, a account.ID, id string) error
}

// ShareListing is a page of an account's links, the newest first.
type ShareListing struct {
	Meta
	Shares []wire.ShareEntry
	Next   string // "" for the last page
}

// Shares lists the links of the account that the password proves.
func (s *Service) Shares(ctx context.Context, c Caller, p *Credentials, before string, limit int) (ShareListing, error) {
	id, l, err := s.openShares(ctx, c, p)
	if err != nil {
		return l, err
	}
	if err := c.Memory.reservePage(ctx, limit); err != nil {
		return l, err
	}
	if l.Shares, err = s.o.Shares.List(ctx, id, before, limit+1); err != nil {
		if fault.Is(err, fault.NotFound) {
			err = fault.Invalid("before", "is no id of a link of the account: next of the page before fits")
		}
		return l, err
	}
	if len(l.Shares) > limit {
		l.Shares = l.Shares[:limit]
		l.Next = l.Shares[limit-1].ID
	}
	return l, nil
}

// RevokeShare takes a link back. The listing is empty.
func (s *Service) RevokeShare(ctx context.Context, c Caller, p *Credentials, share string) (ShareListing, error) {
	id, l, err := s.openShares(ctx, c, p)
	if err != nil {
		return l, err
	}
	return l, s.o.Shares.Revoke(ctx, id, share)
}

// openShares lets a caller to the links of the account that its password proves.
func (s *Service) openShares(ctx context.Context, c Caller, p *Credentials) (account.ID, ShareListing, error) {
	l := ShareListing{}
	owner, err := s.authenticateOwner(ctx, c, p, access{"links", passwordOrName, scope.Files})
	if err != nil {
		return 0, l, err
	}
	l.Origin = owner.origin
	verdict := s.countCall(owner, c, owner.Account.Limits(s.o.Limits))
	l.Rate = &verdict
	return owner.Account.ID, l, verdict.Err()
}
