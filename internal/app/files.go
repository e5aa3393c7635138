package app

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"time"

	"ql/internal/account"
	"ql/internal/resource/files"
	"ql/internal/service"
	"ql/internal/store/blob/dir"
	"ql/internal/store/sqlite"
)

const (
	// mostTransfers is how many files are on their way at once.
	mostTransfers = 512
	// waitForPlace is how long somebody waits whose account has as many files on
	// their way as it may have.
	waitForPlace = time.Second
)

// tree returns an account's files, which share their room with its databases.
func (r *resources) tree(h *holding, l account.Limits) *files.Tree {
	h.storage.hold(l.StorageBytes, l.Databases)
	return r.trees.For(h.account, files.Quota{Bytes: l.StorageBytes, File: l.FileBytes, Nodes: int64(l.Files), Room: h.storage})
}

// openTree implements service.Options.Files.
func (r *resources) openTree(_ context.Context, a account.Account, l account.Limits) (service.FileTree, func(), error) {
	h := r.acquire(a.ID)
	return owned{r.tree(h, l)}, func() { r.release(h) }, nil
}

// owned is a tree in the hands of its owner.
type owned struct{ *files.Tree }

// Open implements service.Tree.
func (t owned) Open(ctx context.Context, path string) (service.FileContent, error) {
	c, err := t.Tree.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Upload implements service.Tree.
func (t owned) Upload(ctx context.Context, path string, from io.Reader, size int64, may func(string, time.Time) error) (string, error) {
	return t.Tree.Upload(ctx, path, from, files.Upload{Size: size, If: may})
}

// Remove implements service.Tree.
func (t owned) Remove(ctx context.Context, path string, may func(string, time.Time) error) error {
	return t.RemoveIf(ctx, path, may)
}

// Files does something with the files of an account. A server may run beside
// it: what one of them stores and what the other keeps apart by the store.
func (o *Operator) Files(ctx context.Context, name string, do func(*files.Tree) error) (err error) {
	a, err := o.Accounts.Find(ctx, name)
	if err != nil {
		return err
	}
	lock, err := sqlite.ShareBlobs(o.data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	blobs, err := dir.OpenBlobs(filepath.Join(o.data, sqlite.BlobFolder))
	if err != nil {
		return err
	}
	// A server removes what this leaves: it knows what else relies on it.
	blobs.RemoveAlone(func() (func(), bool) { return nil, false })
	r := &resources{
		data: o.data, accounts: o.Accounts, usage: o.store.Files,
		trees: files.NewTrees(o.store.Files, blobs, time.Now), held: map[account.ID]*holding{},
	}
	defer func() { err = errors.Join(err, r.close(), blobs.Close()) }()
	h := r.acquire(a.ID)
	defer r.release(h)
	return do(r.tree(h, o.settings.Limits(a.LimitPlan())))
}
