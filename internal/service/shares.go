package service

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/wire"
	"ql/lang/value"
)

// Shares are the links to accounts' files.
type Shares interface {
	// List returns links of an account, the newest first: up to limit of those
	// made before the one with an id; "" for the newest of all. An id that the
	// account has no link with is not_found.
	List(ctx context.Context, a account.ID, before string, limit int) ([]wire.ShareEntry, error)
	// Create makes a link. Errors are those of engine.Shares.
	Create(ctx context.Context, a account.Account, l account.Limits, s engine.Share) (entry wire.ShareEntry, url string, err error)
	// CreateDownload and CreatePreview make a link for one use by the owner's own browser, within
	// minutes, that is in no list.
	CreateDownload(ctx context.Context, a account.Account, l account.Limits, path string) (url string, err error)
	CreatePreview(ctx context.Context, a account.Account, l account.Limits, path string) (url string, err error)
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
	owner, l, err := s.openShares(ctx, c, p)
	if err != nil {
		return l, err
	}
	if err := c.Memory.reservePage(ctx, limit); err != nil {
		return l, err
	}
	if l.Shares, err = s.o.Shares.List(ctx, owner.ID, before, limit+1); err != nil {
		if fault.Is(err, fault.NotFound) {
			err = fault.Invalid("before", "is no id of a link of the account: next of the page before fits")
		}
		return l, err
	}
	l.Shares, l.Next = cutPage(l.Shares, limit, func(e *wire.ShareEntry) string { return e.ID })
	return l, nil
}

// RevokeShare takes a link back. The listing is empty.
func (s *Service) RevokeShare(ctx context.Context, c Caller, p *Credentials, share string) (ShareListing, error) {
	owner, l, err := s.openShares(ctx, c, p)
	if err != nil {
		return l, err
	}
	return l, s.o.Shares.Revoke(ctx, owner.ID, share)
}

// CreatedShare is a link that was just made.
type CreatedShare struct {
	Meta
	Share wire.ShareEntry
	URL   string
}

// CreateShare makes a link to a file as it is now.
func (s *Service) CreateShare(ctx context.Context, c Caller, p *Credentials, n wire.NewShare) (CreatedShare, error) {
	owner, l, err := s.openShares(ctx, c, p)
	a := CreatedShare{Meta: l.Meta}
	if err != nil {
		return a, err
	}
	share := engine.Share{Path: n.Path, Unlimited: n.Times == 0}
	if times := int64(n.Times); times > 0 {
		share.Times = &times
	}
	if n.ExpiresIn > 0 {
		lasting := time.Duration(n.ExpiresIn) * time.Second
		share.For = &lasting
	}
	if n.Name != "" {
		share.Name = &n.Name
	}
	a.Share, a.URL, err = s.o.Shares.Create(ctx, owner, owner.Limits(s.o.Limits), share)
	return a, shareFault(err)
}

// HiddenShare is the address of a link that is in no list.
type HiddenShare struct {
	Meta
	URL string
}

// CreatePreview makes a link by which the owner's own browser shows a file once, or downloads it: so that what is in a file never comes from the dashboard's origin.
func (s *Service) CreatePreview(ctx context.Context, c Caller, p *Credentials, n wire.NewPreview) (HiddenShare, error) {
	create := s.o.Shares.CreatePreview
	if n.Download {
		create = s.o.Shares.CreateDownload
	}
	owner, l, err := s.openShares(ctx, c, p)
	a := HiddenShare{Meta: l.Meta}
	if err != nil {
		return a, err
	}
	a.URL, err = create(ctx, owner, owner.Limits(s.o.Limits), n.Path)
	return a, shareFault(err)
}

// shareFault gives the errors of links the codes of a request.
func shareFault(err error) error {
	var e *value.Error
	if !errors.As(err, &e) {
		return err
	}
	switch {
	case e.Code == value.BadArgument: // all else was read as it should be
		return fault.Invalid("name", "is no name of a file: a text without slashes and signs that cannot be seen fits, of 255 bytes at most")
	case e.Code == string(fault.LimitExceeded) && e.Limit != nil:
		f := fault.New(fault.LimitExceeded, "%s", e.Message)
		f.Limit, f.Value = e.Limit.Name, e.Limit.Max
		return f
	}
	return fileFault(err)
}

// openShares lets a caller to the links of the account that its password proves.
func (s *Service) openShares(ctx context.Context, c Caller, p *Credentials) (account.Account, ShareListing, error) {
	l := ShareListing{}
	owner, err := s.authenticateOwner(ctx, c, p, access{"links", passwordOrName, scope.Files})
	if err != nil {
		return owner.Account, l, err
	}
	l.Origin = owner.origin
	verdict := s.countCall(owner, c, owner.Account.Limits(s.o.Limits))
	l.Rate = &verdict
	return owner.Account, l, verdict.Err()
}
