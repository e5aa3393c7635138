package app

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/app/tree"
	"ql/internal/service"
)

const (
	// mostTransfers is how many files are on their way at once.
	mostTransfers = 512
	// transferWait is how long somebody waits whose account has as many files on
	// their way as it may have.
	transferWait = time.Second
)

// openTree implements service.Options.Files.
func (a *App) openTree(_ context.Context, owner account.Account, l account.Limits) (service.FileTree, func(), error) {
	files, release := a.parts.resources.Tree(owner.ID, l)
	return tree.New(files, a.parts.resources.MountOf(owner)), release, nil
}
