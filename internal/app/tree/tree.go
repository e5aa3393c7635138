// Package tree has the files of an account as package service asks for them: those of the store, and
// those of which the site is a real folder.
package tree

import (
	"context"
	"io"
	"iter"
	"time"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/resource"
	"ql/internal/resource/files"
	"ql/internal/resource/files/deployed"
	"ql/internal/server/livereload"
	"ql/internal/service"
	"ql/internal/site"
	"ql/internal/wire"
)

// Owned is a tree of files.
type Owned struct{ *files.Tree }

// Open implements service.FileTree.
func (t Owned) Open(ctx context.Context, path string) (service.FileContent, error) {
	c, err := t.Tree.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Deployed implements service.FileTree.
func (t Owned) Deployed() service.DeployedSite { return deployed.Site{Tree: t.Tree} }

// AsOfRelease implements service.FileTree.
func (t Owned) AsOfRelease(ctx context.Context, release int64) (service.FileTree, engine.Files, int64, error) {
	shown, release, err := t.AsOfKnown(ctx, release)
	return Owned{shown}, shown, release, err
}

// Upload implements service.FileTree.
func (t Owned) Upload(ctx context.Context, path string, from io.Reader, size int64, may func(string, time.Time) error) (string, error) {
	return t.Tree.Upload(ctx, path, from, files.Upload{Size: size, If: may})
}

// Receive implements service.FileTree.
func (t Owned) Receive(ctx context.Context, name string, from io.Reader) (service.ReceivedFile, error) {
	r, err := t.Tree.Receive(ctx, name, from)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Remove implements service.FileTree.
func (t Owned) Remove(ctx context.Context, path string, may func(string, time.Time) error) error {
	return t.RemoveIf(ctx, path, may)
}

// Move implements service.FileTree.
func (t Owned) Move(ctx context.Context, from, to string, replace bool, may func(string, time.Time) error) error {
	return t.MoveIf(ctx, from, to, files.Relocation{If: may, Replace: replace})
}

// Copy implements service.FileTree.
func (t Owned) Copy(ctx context.Context, from, to string, replace bool, may func(string, time.Time) error) error {
	return t.CopyIf(ctx, from, to, files.Relocation{If: may, Replace: replace})
}

// Mounted is a tree of files in which the site is a real folder. Past scripts that is looked at alone: it
// is changed by the programs that its files belong to.
type Mounted struct {
	Owned
	mounted *files.Mounted
}

// Of implements service.Options.Files with the trees of a pool.
func Of(p *resource.Pool) func(context.Context, account.Account, account.Limits) (service.FileTree, func(), error) {
	return func(_ context.Context, owner account.Account, l account.Limits) (service.FileTree, func(), error) {
		t, release := p.Tree(owner.ID, l)
		return newTree(t, p.MountOf(owner)), release, nil
	}
}

// newTree returns a tree with a real folder in it, where that is not nil.
func newTree(t *files.Tree, m *files.Mount) service.FileTree {
	if m == nil {
		return Owned{t}
	}
	return Mounted{Owned{t}, m.Over(t)}
}

// OpenFolder opens a real folder as a site, and returns what tells pages of changes in it. Hidden is
// the name of a folder in it that is no part of the site.
func OpenFolder(path, hidden string, o livereload.Options) (*files.Mount, *livereload.Live, error) {
	folder, err := files.OpenDir(path, hidden)
	if err != nil {
		return nil, nil, err
	}
	o.Folder = folder
	live := livereload.New(o)
	return &files.Mount{At: site.Root, Dir: folder, Watch: live}, live, nil
}

// Open implements service.FileTree.
func (t Mounted) Open(ctx context.Context, path string) (service.FileContent, error) {
	content, err := t.mounted.OpenReal(ctx, path)
	switch {
	case err != nil:
		return nil, err
	case content != nil:
		return content, nil
	}
	return t.Owned.Open(ctx, path)
}

// AsOfRelease implements service.FileTree: of a real folder there are no releases.
func (t Mounted) AsOfRelease(context.Context, int64) (service.FileTree, engine.Files, int64, error) {
	return t, t.mounted, 0, nil
}

// Deployed implements service.FileTree.
func (t Mounted) Deployed() service.DeployedSite {
	return realSite{t.Owned.Deployed(), t.mounted.RefuseReal(site.Root)}
}

// Stat implements service.FileTree.
func (t Mounted) Stat(ctx context.Context, paths []string) ([]engine.FileInfo, error) {
	return t.mounted.Stat(ctx, paths)
}

// NamesWith implements service.FileTree.
func (t Mounted) NamesWith(ctx context.Context, folder, beginning string, most int) ([]string, error) {
	return t.mounted.NamesWith(ctx, folder, beginning, most)
}

// List implements service.FileTree.
func (t Mounted) List(ctx context.Context, path, after string) iter.Seq2[engine.FileInfo, error] {
	return t.mounted.List(ctx, path, after)
}

// Upload implements service.FileTree.
func (t Mounted) Upload(ctx context.Context, path string, from io.Reader, size int64, may func(string, time.Time) error) (string, error) {
	if err := t.mounted.RefuseReal(path); err != nil {
		return "", err
	}
	return t.Owned.Upload(ctx, path, from, size, may)
}

// Move implements service.FileTree.
func (t Mounted) Move(ctx context.Context, from, to string, replace bool, may func(string, time.Time) error) error {
	if err := t.mounted.RefuseReal(from, to); err != nil {
		return err
	}
	return t.Owned.Move(ctx, from, to, replace, may)
}

// Copy implements service.FileTree.
func (t Mounted) Copy(ctx context.Context, from, to string, replace bool, may func(string, time.Time) error) error {
	if err := t.mounted.RefuseReal(from, to); err != nil {
		return err
	}
	return t.Owned.Copy(ctx, from, to, replace, may)
}

// MakeFolder implements service.FileTree.
func (t Mounted) MakeFolder(ctx context.Context, path string) (bool, error) {
	if err := t.mounted.RefuseReal(path); err != nil {
		return false, err
	}
	return t.Owned.MakeFolder(ctx, path)
}

// Remove implements service.FileTree.
func (t Mounted) Remove(ctx context.Context, path string, may func(string, time.Time) error) error {
	if err := t.mounted.RefuseReal(path); err != nil {
		return err
	}
	return t.Owned.Remove(ctx, path, may)
}

// realSite is a site in a real folder, to which nothing is deployed.
type realSite struct {
	service.DeployedSite
	refused error
}

// StoreContent implements service.DeployedSite.
func (s realSite) StoreContent(context.Context, wire.Digest, io.Reader, int64) (bool, error) {
	return false, s.refused
}

// StoreZip implements service.DeployedSite.
func (s realSite) StoreZip(context.Context, io.Reader, int64, engine.Pace) (map[string]wire.Digest, error) {
	return nil, s.refused
}

// Deploy implements service.DeployedSite.
func (s realSite) Deploy(context.Context, map[string]wire.Digest, string, string, func(wire.SiteRelease) error) (wire.SiteRelease, bool, error) {
	return wire.SiteRelease{}, false, s.refused
}

// Restore implements service.DeployedSite.
func (s realSite) Restore(context.Context, int64, string, string, func(wire.SiteRelease) error) (wire.SiteRelease, bool, error) {
	return wire.SiteRelease{}, false, s.refused
}
