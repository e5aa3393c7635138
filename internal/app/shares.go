package app

import (
	"context"
	"errors"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/resource/shares"
	"ql/internal/server/download"
	"ql/internal/wire"
)

const (
	// How many files are handed out at once, of all accounts and of one.
	mostDownloads      = 2048
	mostDownloadsOfOne = 256
)

// downloads are what hands the files out.
func (a *App) downloads() download.Options {
	downloads := admit.NewTransferLimiter(admit.TransferOptions{Max: mostDownloads, Wait: transferWait, Unlimited: a.settings.Dev})
	enter := func(ctx context.Context, account int64) (func(), error) {
		return downloads.Acquire(ctx, account, mostDownloadsOfOne)
	}
	return download.Options{Shares: a.parts.shares, Enter: enter, OnFailed: func(id string, err error) {
		a.o.Log.Error("a download was aborted", "link", id, "error", err)
	}, CountSent: a.downloaded}
}

// downloaded counts what has left by a link. Links work whatever is left of
// their account's month.
func (a *App) downloaded(id account.ID, bytes int64) {
	if err := a.parts.tally.Sent(context.Background(), id, bytes); err != nil && !errors.Is(err, account.ErrNotFound) {
		a.o.Log.Error("the egress of an account was not counted", "account", id, "bytes", bytes, "error", err)
	}
}

// links implements service.Links.
type links struct {
	shares.Admin
	of func(account.Account, account.Limits) *shares.Links
}

// Create implements service.Links.
func (l links) Create(ctx context.Context, a account.Account, limits account.Limits, s engine.Share) (wire.ShareEntry, string, error) {
	url, id, err := l.of(a, limits).Make(ctx, s)
	if err != nil {
		return wire.ShareEntry{}, "", err
	}
	e, err := l.Show(ctx, a.ID, id)
	return shareEntry(&e), url, err
}

// List implements service.Links.
func (l links) List(ctx context.Context, a account.ID, before string, limit int) ([]wire.ShareEntry, error) {
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
