package app

import (
	"context"
	"errors"
	"io"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/resource/files"
	"ql/internal/resource/shares"
	"ql/internal/server/download"
	"ql/internal/wire"
)

const (
	// sharesKept is how long a link and its receipts are kept after its time.
	sharesKept = 30 * 24 * time.Hour
	// mostLinks is how many links of an account are kept.
	mostLinks = 10_000
	// How many files are handed out at once, of all accounts and of one.
	mostDownloads      = 2048
	mostDownloadsOfOne = 256
	// What the development account may share where more than one person may use
	// it.
	longestDevelopmentLink = time.Hour
	largestDevelopmentFile = 1 << 20
)

// newShares returns the links to files of trees.
func (a *App) newShares(trees *files.Trees) *shares.Shares {
	url := a.settings.FileURL
	if url == "" {
		url = a.url
	}
	return shares.New(shares.Options{
		Rows: a.parts.store.Shares, Canonical: files.Canonical, URL: url, Clock: time.Now,
		Open: func(c shares.Content) io.ReadSeekCloser {
			chunks := make([]files.Chunk, len(c.Chunks))
			for i, chunk := range c.Chunks {
				chunks[i] = files.Chunk{Hash: chunk.Hash, Size: chunk.Size}
			}
			return trees.Pinned(chunks, c.Tail)
		},
	})
}

// downloads are what hands the files out.
func (a *App) downloads() download.Options {
	crowd := admit.NewCrowd(admit.CrowdOptions{Most: mostDownloads, Wait: waitForPlace, Lifted: a.settings.Dev})
	enter := func(ctx context.Context, account int64) (func(), error) {
		return crowd.Enter(ctx, account, mostDownloadsOfOne)
	}
	return download.Options{Shares: a.parts.resources.shares, Enter: enter, Failed: func(id string, err error) {
		a.o.Log.Error("a download broke off", "link", id, "error", err)
	}, Sent: a.downloaded}
}

// downloaded counts what has left by a link. Links work whatever is left of
// their account's month.
func (a *App) downloaded(id account.ID, bytes int64) {
	if err := a.parts.resources.tally.Sent(context.Background(), id, bytes); err != nil && !errors.Is(err, account.ErrNotFound) {
		a.o.Log.Error("what was sent for an account was not counted", "account", id, "bytes", bytes, "error", err)
	}
}

// shareLimits is what an account may share. Content behind links takes room
// beside the account's files, which may be gone: as much again, and no more.
func (r *resources) shareLimits(a account.Account, l account.Limits) shares.Limits {
	limits := shares.Limits{Bounds: shares.Bounds{Bytes: l.StorageBytes, Links: mostLinks}}
	if isDevelopment(a) && !r.dev {
		limits.MaxLifetime, limits.Bounds.File = longestDevelopmentLink, largestDevelopmentFile
	}
	return limits
}

// links implements service.Links.
type links struct{ shares.Admin }

// List implements service.Links.
func (l links) List(ctx context.Context, a account.ID, before string, limit int) ([]wire.ShareEntry, error) {
	entries, err := l.Admin.List(ctx, a, before, limit)
	list := make([]wire.ShareEntry, len(entries))
	for i, e := range entries {
		list[i] = wire.ShareEntry{
			ID: e.ID(), Path: e.Path, Name: e.Name, Size: e.Size, Status: string(e.State), Times: e.Times, Used: e.Used,
			CreatedAt: e.Made, ExpiresAt: e.Expires, RevokedAt: e.Revoked,
		}
		for _, r := range e.Receipts {
			list[i].Receipts = append(list[i].Receipts, wire.ShareReceipt{
				At: r.At, Address: r.Address, Agent: r.Agent, Restarts: r.Restarts, Sent: r.Sent, FinishedAt: r.Finished,
			})
		}
	}
	return list, err
}

// Shares returns the links of accounts.
func (o *Operator) Shares(clock func() time.Time) shares.Admin {
	return shares.Admin{Rows: o.store.Shares, Clock: clock}
}

// pruneShares lets go of what links lead to no more.
func (a *App) pruneShares(ctx context.Context, now time.Time) error {
	for n := forgetAtOnce; n >= forgetAtOnce; {
		var err error
		if n, err = a.parts.store.Shares.Prune(ctx, now, now.Add(-sharesKept), forgetAtOnce); err != nil {
			return err
		}
	}
	return nil
}
