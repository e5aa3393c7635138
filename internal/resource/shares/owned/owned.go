// Package owned has the links to an account's files as its owner reaches them past scripts: in the
// words of requests and answers. What a link does is the business of package shares, and who may ask
// that of the service.
package owned

import (
	"context"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/resource/shares"
	"ql/internal/wire"
)

// Links are those to the files of accounts.
type Links struct {
	shares.Admin
	// Of returns those of an account, to make more of.
	Of func(account.Account, account.Limits) *shares.Links
}

// Create makes a link, and returns its address too.
func (l Links) Create(ctx context.Context, a account.Account, limits account.Limits, s engine.Share) (wire.ShareEntry, string, error) {
	url, id, err := l.Of(a, limits).Make(ctx, s)
	if err != nil {
		return wire.ShareEntry{}, "", err
	}
	e, err := l.Show(ctx, a.ID, id)
	return shareEntry(&e), url, err
}

// CreateDownload and CreatePreview make a link for the owner's own browser, for one use, that is in no
// list.
func (l Links) CreateDownload(ctx context.Context, a account.Account, limits account.Limits, path string) (url string, err error) {
	return l.Of(a, limits).MakeFor(ctx, path, shares.Download)
}

// CreatePreview is CreateDownload of a link that shows the file in a page.
func (l Links) CreatePreview(ctx context.Context, a account.Account, limits account.Limits, path string) (url string, err error) {
	return l.Of(a, limits).MakeFor(ctx, path, shares.Preview)
}

// List returns an account's links, those made last first.
func (l Links) List(ctx context.Context, a account.ID, before string, limit int) ([]wire.ShareEntry, error) {
	entries, err := l.Admin.List(ctx, a, before, limit)
	list := make([]wire.ShareEntry, len(entries))
	for i := range entries {
		list[i] = shareEntry(&entries[i])
	}
	return list, err
}

func shareEntry(e *shares.Entry) wire.ShareEntry {
	entry := wire.ShareEntry{
		ID: e.ID(), Path: e.Path, Name: e.Name, Size: e.Size, Status: string(e.State), Times: e.Times, Used: e.Used,
		CreatedAt: e.Made, ExpiresAt: e.Expires, RevokedAt: e.Revoked,
	}
	for _, r := range e.Receipts {
		entry.Receipts = append(entry.Receipts, wire.ShareReceipt{
			At: r.At, Address: r.Address, Agent: r.Agent, Restarts: r.Restarts, Sent: r.Sent, FinishedAt: r.Finished,
		})
	}
	return entry
}
