// Package deployed has an account's site as its owner deploys it: in the words of requests and answers.
// What a deploy changes, and what is kept of it, is the business of package files, and who may ask that
// of the service.
package deployed

import (
	"context"
	"errors"
	"io"
	"strings"

	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/resource/files"
	"ql/internal/wire"
)

// Site is the site of an account.
type Site struct{ Tree *files.Tree }

// manifest makes one of what a caller sent.
func manifest(sent map[string]wire.Digest) (*files.Manifest, error) {
	contents := make(map[string]files.Hash, len(sent))
	for path, digest := range sent {
		contents[path] = files.Hash(digest)
	}
	return files.NewManifest(contents)
}

// Plan compares the site with files.
func (s Site) Plan(ctx context.Context, sent map[string]wire.Digest) (*wire.SitePlan, error) {
	m, err := manifest(sent)
	if err != nil {
		return nil, err
	}
	c, err := s.Tree.PlanDeploy(ctx, m)
	if err != nil {
		return nil, err
	}
	p := &wire.SitePlan{Release: c.Release, Added: c.Added, Changed: c.Changed, Removed: c.Removed}
	for _, hash := range c.Missing {
		p.Missing = append(p.Missing, wire.Digest(hash))
	}
	return p, nil
}

// StoreContent takes content for a deploy, and reports whether it was not there.
func (s Site) StoreContent(ctx context.Context, d wire.Digest, from io.Reader, size int64) (made bool, err error) {
	return s.Tree.StoreContent(ctx, files.Hash(d), from, size)
}

// Preview returns the account's files as they would be read after a deploy, and the paths of the
// scripts among them.
func (s Site) Preview(ctx context.Context, sent map[string]wire.Digest) (_ engine.Files, scripts []string, err error) {
	m, err := manifest(sent)
	if err != nil {
		return nil, nil, err
	}
	c, err := s.Tree.PlanDeploy(ctx, m)
	if err != nil {
		return nil, nil, err
	}
	if n := len(c.Missing); n > 0 {
		return nil, nil, contentMissing(n)
	}
	for _, f := range m.Files() {
		if strings.HasSuffix(f.Path, ".ql") {
			scripts = append(scripts, f.Path)
		}
	}
	return s.Tree.WithManifest(m), scripts, nil
}

// contentMissing is the error of a deploy that comes before its content.
func contentMissing(n int) error {
	e := fault.New(fault.ContentMissing, "name content that was not sent, or is kept no more, %d in all: ask /v1/sites/main/plan what is missing, and send it first", n)
	e.Field = "files"
	return e
}

// Deploy makes the site what was sent, if may lets it, and reports whether that made a release.
func (s Site) Deploy(ctx context.Context, sent map[string]wire.Digest, by, key string, may func(wire.SiteRelease) error) (wire.SiteRelease, bool, error) {
	m, err := manifest(sent)
	if err != nil {
		return wire.SiteRelease{}, false, err
	}
	return s.deploy(ctx, m, files.Deployment{By: by, Key: key, If: condition(may)})
}

// Restore makes the site what an earlier release was, likewise.
func (s Site) Restore(ctx context.Context, number int64, by, key string, may func(wire.SiteRelease) error) (wire.SiteRelease, bool, error) {
	return s.deploy(ctx, nil, files.Deployment{By: by, Key: key, If: condition(may), Restore: number})
}

func condition(may func(wire.SiteRelease) error) func(files.Release) error {
	return func(r files.Release) error { return may(releaseOf(r)) }
}

func (s Site) deploy(ctx context.Context, m *files.Manifest, d files.Deployment) (wire.SiteRelease, bool, error) {
	r, made, err := s.Tree.Deploy(ctx, m, d)
	var missing *files.MissingContent
	switch {
	case errors.As(err, &missing):
		err = contentMissing(missing.Count)
	case errors.Is(err, files.ErrNoRelease):
		err = fault.New(fault.NotFound, "the site has no release %d, or has it no more: the newest %d are kept", d.Restore, files.MaxReleases)
	}
	return releaseOf(r), made, err
}

// Release returns the current release, a zero one for none.
func (s Site) Release(ctx context.Context) (wire.SiteRelease, error) {
	r, err := s.Tree.Release(ctx)
	return releaseOf(r), err
}

// Releases returns up to limit releases, the newest first: those before a number, 0 for the newest.
func (s Site) Releases(ctx context.Context, before int64, limit int) ([]wire.SiteRelease, error) {
	found, err := s.Tree.Releases(ctx, before, limit)
	list := make([]wire.SiteRelease, len(found))
	for i, r := range found {
		list[i] = releaseOf(r)
	}
	return list, err
}

func releaseOf(r files.Release) wire.SiteRelease {
	return wire.SiteRelease{Number: r.Number, MadeAt: r.Made, By: r.By, Key: r.Key, Restored: r.Restored, Files: r.Files, Bytes: r.Bytes}
}
