package resource

import (
	"io"
	"time"

	"ql/internal/account"
	"ql/internal/resource/files"
	"ql/internal/resource/shares"
)

const (
	// mostLinks is how many links of an account are kept.
	mostLinks = 10_000
	// What the development account may share where more than one person may use
	// it.
	longestDevelopmentLink = time.Hour
	largestDevelopmentFile = 1 << 20
)

// NewShares returns the links to files of trees, which begin with a URL.
func NewShares(rows shares.Store, trees *files.Trees, url string, clock func() time.Time) *shares.Shares {
	return shares.New(shares.Options{
		Store: rows, Canonical: files.Canonical, URL: url, Clock: clock,
		Open: func(c shares.Content) io.ReadSeekCloser {
			chunks := make([]files.Chunk, len(c.Chunks))
			for i, chunk := range c.Chunks {
				chunks[i] = files.Chunk{Hash: chunk.Hash, Size: chunk.Size}
			}
			return trees.OpenContent(chunks, c.Tail)
		},
	})
}

// shareLimits is what an account may share. Content behind links takes storage
// beside the account's files, which may be gone: as much again, and no more.
func (p *Pool) shareLimits(a account.Account, l account.Limits) shares.Limits {
	limits := shares.Limits{Bounds: shares.Bounds{Bytes: l.StorageBytes, Links: mostLinks}}
	if isDevelopment(a) && !p.o.Dev {
		limits.MaxLifetime, limits.Bounds.File = longestDevelopmentLink, largestDevelopmentFile
	}
	return limits
}
