package app

import (
	"context"
	"errors"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/server/download"
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
	return download.Options{Shares: a.parts.shares, Page: download.Framers(a.dashboard()), Enter: enter, OnFailed: func(id string, err error) {
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
