package app

import (
	"context"
	"io"
	"time"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/resource/files"
	"ql/internal/resource/files/deployed"
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
	tree, release := a.parts.resources.Tree(owner.ID, l)
	return ownedTree{tree}, release, nil
}

// ownedTree implements service.FileTree.
type ownedTree struct{ *files.Tree }

func (t ownedTree) Open(ctx context.Context, path string) (service.FileContent, error) {
	c, err := t.Tree.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (t ownedTree) Deployed() service.DeployedSite { return deployed.Site{Tree: t.Tree} }

func (t ownedTree) AsOfRelease(ctx context.Context) (service.FileTree, engine.Files, error) {
	shown, err := t.AsOfCurrent(ctx)
	return ownedTree{shown}, shown, err
}

func (t ownedTree) Upload(ctx context.Context, path string, from io.Reader, size int64, may func(string, time.Time) error) (string, error) {
	return t.Tree.Upload(ctx, path, from, files.Upload{Size: size, If: may})
}

// Receive implements service.Tree.
func (t ownedTree) Receive(ctx context.Context, name string, from io.Reader) (service.ReceivedFile, error) {
	r, err := t.Tree.Receive(ctx, name, from)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (t ownedTree) Remove(ctx context.Context, path string, may func(string, time.Time) error) error {
	return t.RemoveIf(ctx, path, may)
}

func (t ownedTree) Move(ctx context.Context, from, to string, replace bool, may func(string, time.Time) error) error {
	return t.MoveIf(ctx, from, to, files.Relocation{If: may, Replace: replace})
}

func (t ownedTree) Copy(ctx context.Context, from, to string, replace bool, may func(string, time.Time) error) error {
	return t.CopyIf(ctx, from, to, files.Relocation{If: may, Replace: replace})
}
