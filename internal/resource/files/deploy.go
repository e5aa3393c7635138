package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ql/internal/fault"
	"ql/lang/value"
)

// StagedTime is how long content is kept that was sent for a site and that no release has.
const StagedTime = 24 * time.Hour

// Release returns the current release of the site; a zero one where there is none.
func (t *Tree) Release(ctx context.Context) (Release, error) {
	return t.trees.rows.CurrentRelease(ctx, t.account)
}

// Releases returns up to limit releases of the site, the newest first: those before a number, 0 for
// the newest.
func (t *Tree) Releases(ctx context.Context, before int64, limit int) ([]Release, error) {
	return t.trees.rows.Releases(ctx, t.account, before, limit)
}

// SiteChanges is how the folder of a site differs from a manifest. Paths are relative to the folder.
type SiteChanges struct {
	Release                 int64  // the current one, 0 for none
	Missing                 []Hash // contents that have to be sent first, by their bytes
	Added, Changed, Removed []string

	apply SiteApply
	usage Usage
	nodes int64 // what the tree has more
	bytes int64
	kept  int64 // the same, with what releases take
}

// PlanDeploy compares the folder of the site with a manifest.
func (t *Tree) PlanDeploy(ctx context.Context, m *Manifest) (*SiteChanges, error) {
	c := new(SiteChanges)
	var err error
	// Read before all else: where it has grown by the time of a deploy, this begins again.
	if c.usage, err = t.trees.rows.Usage(ctx, t.account); err != nil {
		return nil, err
	}
	current, err := t.Release(ctx)
	if err != nil {
		return nil, err
	}
	c.Release = current.Number
	nodes, err := t.trees.rows.CompareSite(ctx, t.account, m, maxReplaced+1)
	if err != nil {
		return nil, err
	}
	if len(nodes) > maxReplaced {
		return nil, value.Exceeded("site_files", maxReplaced, "the folder %s holds more than %d files and folders, and a deploy looks at no more: remove some first", SiteFolder, maxReplaced)
	}
	digests := make([]Hash, 0, len(m.files))
	for _, f := range m.files {
		digests = append(digests, f.Content)
	}
	slices.SortFunc(digests, func(a, b Hash) int { return bytes.Compare(a[:], b[:]) })
	digests = slices.Compact(digests)
	sources, err := t.trees.rows.SiteSources(ctx, t.account, digests)
	if err != nil {
		return nil, err
	}
	for _, d := range digests {
		if _, ok := sources[d]; !ok {
			c.Missing = append(c.Missing, d)
		}
	}
	c.apply = SiteApply{Files: m.files, Weight: m.weight(), Release: Release{Number: current.Number + 1, Files: int64(len(m.files))}}
	for _, f := range m.files {
		c.apply.Release.Bytes += sources[f.Content].Size
	}
	if err := t.planFolder(ctx, c); err != nil {
		return nil, err
	}
	c.compare(m, nodes, sources)
	return c, nil
}

// planFolder plans the folder of the site itself.
func (t *Tree) planFolder(ctx context.Context, c *SiteChanges) error {
	found, err := t.trees.rows.Find(ctx, t.account, []string{Key(SiteFolder)})
	switch n := found; {
	case err != nil:
		return err
	case n[0] == nil:
		c.make(SiteFolder)
	case !n[0].Folder:
		return notFolder(n[0].Path)
	case n[0].Path != SiteFolder:
		return refuse(SiteFolder, "there is "+value.Quote(n[0].Path)+" already, which is the same name on some systems")
	}
	return nil
}

func (c *SiteChanges) make(folder string) {
	c.nodes++
	c.apply.Make = append(c.apply.Make, folder)
}

func (c *SiteChanges) drop(n SiteNode) {
	c.nodes--
	c.bytes -= n.Size
	c.kept -= n.Tail // its blobs may be those of a release
	c.apply.Drop = append(c.apply.Drop, n.Path)
}

// compare plans what is in the folder of the site: nodes are there, by key.
func (c *SiteChanges) compare(m *Manifest, nodes []SiteNode, sources map[Hash]SiteSource) {
	there := make(map[string]bool, len(nodes)) // what stays as it is
	old := map[string]bool{}                   // files that are replaced
	for _, n := range slices.Backward(nodes) { // what is in a folder has a greater key
		switch {
		case n.Folder && m.folders[n.Path], n.Same:
			there[n.Path] = true
			continue
		case !n.Folder && hasFile(m, n.Path):
			old[n.Path] = true
			c.Changed = append(c.Changed, inSite(n.Path))
		case !n.Folder:
			c.Removed = append(c.Removed, inSite(n.Path))
		}
		c.drop(n)
	}
	for folder := range m.folders {
		if folder != SiteFolder && !there[folder] {
			c.make(folder)
		}
	}
	slices.Sort(c.apply.Make)
	c.kept += c.apply.Weight
	moved := map[Hash]bool{}
	for _, f := range m.files {
		if there[f.Path] {
			continue
		}
		if !old[f.Path] {
			c.Added = append(c.Added, inSite(f.Path))
		}
		c.apply.Put = append(c.apply.Put, f)
		source := sources[f.Content]
		c.nodes++
		c.bytes += source.Size
		c.kept += source.Size
		for _, blob := range source.Moves { // counted as the releases' until now, and as a file's from then on
			if !moved[blob.Hash] {
				moved[blob.Hash] = true
				c.kept -= blob.Size
			}
		}
	}
	slices.Sort(c.Changed)
	slices.Sort(c.Removed)
}

func hasFile(m *Manifest, at string) bool {
	f, ok := m.At(Key(at))
	return ok && f.Path == at
}

// inSite returns a path as manifests have it.
func inSite(at string) string { return strings.TrimPrefix(at, SiteFolder+"/") }

// unchanged reports whether there is nothing to do.
func (c *SiteChanges) unchanged() bool {
	return len(c.apply.Drop)+len(c.apply.Make)+len(c.apply.Put) == 0
}

// Deployment is how a site is deployed.
type Deployment struct {
	By, Key string // who does, as Release has it
	// If is asked whether the site may be deployed, by the current release; nil for no condition.
	If func(current Release) error
	// Restore is the release that is brought back; 0 for none. Its manifest is not asked for.
	Restore int64
}

// MissingContent says that a manifest names content that was not sent.
type MissingContent struct{ Count int }

// Error says what to do.
func (e *MissingContent) Error() string {
	return fmt.Sprintf("content of the site is missing, %d in all: ask /v1/sites/main/plan what is to be sent, and send it first", e.Count)
}

// Deploy makes the folder of the site what a manifest says, in one change, and returns the release
// that has it. Where it is so already, that is the current one, and nothing is changed. Who finds
// no room loses the oldest releases first.
func (t *Tree) Deploy(ctx context.Context, m *Manifest, d Deployment) (r Release, made bool, err error) {
	if err := t.trees.locks.Lock(ctx, t.account); err != nil {
		return r, false, err
	}
	defer t.trees.locks.Unlock(t.account)
	for {
		r, made, again, err := t.tryDeploy(ctx, m, d)
		if err != nil || !again {
			return r, made, err
		}
	}
}

// tryDeploy is one attempt at a deploy. Again says that something has changed meanwhile.
func (t *Tree) tryDeploy(ctx context.Context, m *Manifest, d Deployment) (r Release, made, again bool, err error) {
	current, err := t.Release(ctx)
	if err != nil {
		return r, false, false, err
	}
	if d.If != nil {
		if err := d.If(current); err != nil {
			return r, false, false, err
		}
	}
	if d.Restore > 0 {
		if m, err = t.ReleaseManifest(ctx, d.Restore); err != nil {
			return r, false, false, err
		}
	}
	c, err := t.PlanDeploy(ctx, m)
	switch {
	case err != nil:
		return r, false, false, err
	case c.Release != current.Number:
		return r, false, true, nil
	case len(c.Missing) > 0:
		return r, false, false, &MissingContent{len(c.Missing)}
	}
	if c.unchanged() && current.Number > 0 {
		list, err := t.trees.rows.ReleaseFiles(ctx, t.account, current.Number)
		if err != nil && !errors.Is(err, ErrNoRelease) || slices.Equal(list, m.files) {
			return current, false, false, err
		}
	}
	after := c.usage
	after.Nodes += c.nodes
	after.Bytes += c.bytes
	if q := t.quota.Nodes; q > 0 && after.Nodes > q && c.nodes > 0 {
		return r, false, false, tooManyNodes(after.Nodes, q)
	}
	release, dropped, err := t.reserveDeploy(ctx, c, d.Restore)
	if err != nil || dropped {
		return r, false, dropped, err
	}
	defer release()
	now := t.trees.clock().UTC().Truncate(time.Microsecond)
	c.apply.Release.Made, c.apply.Release.By, c.apply.Release.Key, c.apply.Release.Restored = now, d.By, d.Key, d.Restore
	done, err := t.trees.rows.DeploySite(ctx, t.account, c.usage, after, c.apply)
	return c.apply.Release, done && err == nil, !done, err
}

// reserveDeploy reserves what a deploy takes. Where that is not there the oldest release goes, unless
// it is to be kept; then the deploy is to be planned again, which may have needed it.
func (t *Tree) reserveDeploy(ctx context.Context, c *SiteChanges, keep int64) (release func(), dropped bool, err error) {
	if c.kept <= 0 {
		return func() {}, false, nil
	}
	r := Reservation{Before: c.usage.Bytes, After: c.usage.Bytes + c.kept}
	release, err = t.reserve(ctx, r, Reservation{}, r.After)
	if release == nil {
		release = func() {}
	}
	var full *value.Error
	if !errors.As(err, &full) {
		return release, false, err
	}
	dropped, dropErr := t.trees.rows.DropOldestRelease(ctx, t.account, keep)
	if dropErr != nil {
		return nil, false, dropErr
	}
	if dropped {
		err = nil
	}
	return release, dropped, err
}

// ReleaseManifest returns the manifest of a release; ErrNoRelease where it is not kept.
func (t *Tree) ReleaseManifest(ctx context.Context, number int64) (*Manifest, error) {
	list, err := t.trees.rows.ReleaseFiles(ctx, t.account, number)
	if err != nil {
		return nil, err
	}
	contents := make(map[string]Hash, len(list))
	for _, f := range list {
		contents[inSite(f.Path)] = f.Content
	}
	return NewManifest(contents)
}

// StoreContent takes content for a deploy from a stream of so many bytes, negative where that is not
// known. It is the storage of the account, and goes with the next deploy that does not name it, or
// after StagedTime. What is there already is not read.
func (t *Tree) StoreContent(ctx context.Context, digest Hash, from io.Reader, size int64) (made bool, err error) {
	known, err := t.trees.rows.SiteContent(ctx, t.account, digest)
	if err != nil || known != nil {
		return false, err
	}
	usage, err := t.trees.rows.Usage(ctx, t.account)
	if err != nil {
		return false, err
	}
	r := &uploadReservation{tree: t, ctx: ctx, path: hex.EncodeToString(digest[:]), usage: usage}
	defer r.release()
	if err := r.grow(max(size, 1)); err != nil { // also of nothing there is a row
		return false, err
	}
	in := &receiver{blobs: t.trees.blobs, ctx: ctx, grow: r.grow}
	defer in.discard()
	sum := sha256.New()
	if err := in.receive(io.TeeReader(from, sum)); err != nil {
		return false, storageFault(err)
	}
	if Hash(sum.Sum(nil)) != digest {
		return false, fault.New(fault.InvalidRequest, "the content is another than its address says: its SHA-256 differs")
	}
	n := Node{Size: in.size, Tail: in.tail, Modified: t.trees.clock().UTC().Truncate(time.Microsecond)}
	for _, piece := range in.pieces {
		n.Chunks = append(n.Chunks, piece.Chunk)
	}
	pin := &pin{blobs: t.trees.blobs}
	defer pin.release()
	if err = storageFault(in.publish(pin)); err == nil {
		err = t.trees.rows.AddSiteContent(ctx, t.account, digest, n)
	}
	if err != nil {
		pin.release()
		t.trees.discard(context.WithoutCancel(ctx), t.account, pin.made)
		return false, t.trees.deleting(ctx, err)
	}
	return true, nil
}

// AsOf returns the tree with the folder of the site as a release has it: while that is the current
// one, as it is; afterwards, as the release was, for as long as that is kept. 0 stands for a site
// without releases. What is written is written to the folder as it is.
func (t *Tree) AsOf(release int64) *Tree {
	shown := *t
	shown.release = &release
	return &shown
}

// AsOfKnown is AsOf; a negative number stands for the release that is the current one at this moment. It returns the number.
func (t *Tree) AsOfKnown(ctx context.Context, release int64) (*Tree, int64, error) {
	if release >= 0 {
		return t.AsOf(release), release, nil
	}
	current, err := t.Release(ctx)
	return t.AsOf(current.Number), current.Number, err
}

// WithManifest returns the tree whose files are read as they would be after a deploy, whose contents
// were sent.
func (t *Tree) WithManifest(m *Manifest) *Tree {
	shown := *t
	shown.manifest = m
	return &shown
}

// IsOfSite tells whether what has a key is the folder of the site, or in it.
func IsOfSite(key string) bool {
	rest, ok := strings.CutPrefix(key, siteKey)
	return ok && (rest == "" || rest[0] == '/')
}

var siteKey = Key(SiteFolder)

// node returns what has a key, with its content, as the tree shows it; nil where there is nothing.
func (t *Tree) node(ctx context.Context, key string) (*Node, error) {
	switch {
	case t.manifest != nil && IsOfSite(key):
		f, ok := t.manifest.At(key)
		if !ok {
			return nil, nil
		}
		n, err := t.trees.rows.SiteContent(ctx, t.account, f.Content)
		if n != nil {
			n.Path = f.Path
		}
		return n, err
	case t.release != nil && IsOfSite(key):
		n, err := t.trees.rows.ContentAsOf(ctx, t.account, *t.release, key)
		return n, releaseGone(err)
	}
	return t.trees.rows.Content(ctx, t.account, key)
}

// find returns what has keys, nil where there is nothing, as the tree shows it.
func (t *Tree) find(ctx context.Context, keys []string) ([]*Node, error) {
	if t.release == nil {
		return t.trees.rows.Find(ctx, t.account, keys)
	}
	if !slices.ContainsFunc(keys, func(key string) bool { return !IsOfSite(key) }) {
		found, err := t.trees.rows.FindAsOf(ctx, t.account, *t.release, keys)
		return found, releaseGone(err)
	}
	var shown, others []string
	for _, key := range keys {
		if IsOfSite(key) {
			shown = append(shown, key)
		} else {
			others = append(others, key)
		}
	}
	ofRelease, err := t.trees.rows.FindAsOf(ctx, t.account, *t.release, shown)
	if err != nil {
		return nil, releaseGone(err)
	}
	ofTree, err := t.trees.rows.Find(ctx, t.account, others)
	if err != nil {
		return nil, err
	}
	found := make([]*Node, len(keys))
	for i, key := range keys {
		from := &ofTree
		if IsOfSite(key) {
			from = &ofRelease
		}
		found[i], *from = (*from)[0], (*from)[1:]
	}
	return found, nil
}

// children returns a folder, nil where there is none, and what is in it behind a path, up to limit, as
// the tree shows it.
func (t *Tree) children(ctx context.Context, key, after string, limit int) (*Node, []Node, error) {
	if t.release != nil && IsOfSite(key) {
		folder, list, err := t.trees.rows.ChildrenAsOf(ctx, t.account, *t.release, key, after, limit)
		return folder, list, releaseGone(err)
	}
	found, err := t.trees.rows.Find(ctx, t.account, []string{key})
	if err != nil {
		return nil, nil, err
	}
	if found[0] == nil || !found[0].Folder {
		return found[0], nil, nil
	}
	list, err := t.trees.rows.Children(ctx, t.account, key, after, limit)
	return found[0], list, err
}

// releaseGone says to a script that what it began to read is no more.
func releaseGone(err error) error {
	if !errors.Is(err, ErrNoRelease) {
		return err
	}
	return value.Errorf(fileChanged, "the site was deployed anew since the page began, and what it was is no longer kept")
}
