package service

import (
	"bytes"
	"container/list"
	"context"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/admit"
	"ql/internal/site"
	"ql/internal/wire"
)

const (
	// heldSites is how many bytes of sites are remembered, and heldSite how many of one.
	heldSites = 16 << 20
	heldSite  = heldSites / 4
	// heldEach is about what is held of a site, or of a path, besides its texts and its content.
	heldEach = 2 << 10
	// mostHeld is how long a file is at most whose content is remembered.
	mostHeld = 64 << 10
)

// siteMemory remembers what requests to sites ask again and again: what a site says of itself, which file
// answers a path, and what small files hold. All that is known of a site is of one version, and counts
// for as long as the store says that this is the site's.
//
// Only paths are remembered that lead to a file by its name: of those that lead nowhere, or to a pattern,
// whoever asks makes up as many as they like.
type siteMemory struct {
	mu    sync.Mutex
	sites map[account.ID]*list.Element // of order
	order list.List                    // of *heldFolder, the last one used first
	bytes int64
}

// heldFolder is what is known of a site under a version. What the memory's lock guards is below it.
type heldFolder struct {
	account  account.ID
	version  uint64
	release  int64 // as of which it was read
	settings *site.Settings

	paths map[string]*heldPath
	bytes int64
}

// heldPath is what answers a path.
type heldPath struct {
	target site.Target
	file   atomic.Pointer[HeldFile] // nil where its content is not in memory
	script atomic.Pointer[string]   // likewise, of one that is run
}

// HeldFile is a file whose content is in memory. It is not to be changed.
type HeldFile struct {
	Name     string
	Content  []byte
	Tag      string
	Modified time.Time
	// Plain and Encrypted are the headers of an answer with all of it, by http and by https; nil where
	// nobody has asked for it so.
	Plain, Encrypted atomic.Pointer[wire.Head]
}

// find returns what is known of a site under a version; nil for nothing.
func (m *siteMemory) find(a account.ID, version uint64) *heldFolder {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.sites[a]
	if e == nil {
		return nil
	}
	f, _ := e.Value.(*heldFolder)
	if f.version != version {
		return nil
	}
	m.order.MoveToFront(e)
	return f
}

// add remembers a site that was read after its version was, unless a later version is known.
func (m *siteMemory) add(f *heldFolder) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.sites[f.account]; e != nil {
		if known, _ := e.Value.(*heldFolder); known.version >= f.version {
			return
		}
		m.drop(e)
	}
	if m.sites == nil {
		m.sites = map[account.ID]*list.Element{}
	}
	m.sites[f.account] = m.order.PushFront(f)
	m.grow(f, heldEach)
}

// drop forgets a site. The memory is locked, as in grow.
func (m *siteMemory) drop(e *list.Element) {
	f, _ := m.order.Remove(e).(*heldFolder)
	delete(m.sites, f.account)
	m.bytes -= f.bytes
	f.bytes, f.paths = 0, nil
}

// grow counts what is held of a site. Where that is too much, its paths are forgotten, and those sites
// that were asked for the longest time ago: what is asked for comes back.
func (m *siteMemory) grow(f *heldFolder, bytes int64) {
	f.bytes += bytes
	m.bytes += bytes
	if f.bytes > heldSite {
		m.bytes -= f.bytes - heldEach
		f.bytes, f.paths = heldEach, nil
	}
	for m.bytes > heldSites {
		m.drop(m.order.Back())
	}
}

// holds tells whether a site is remembered. The memory is locked.
func (m *siteMemory) holds(f *heldFolder) bool {
	e := m.sites[f.account]
	return e != nil && e.Value == any(f)
}

// path returns what answers a path of a site; nil where that is not known.
func (m *siteMemory) path(f *heldFolder, path string) *heldPath {
	m.mu.Lock()
	defer m.mu.Unlock()
	return f.paths[path]
}

// addPath remembers what answers a path.
func (m *siteMemory) addPath(f *heldFolder, path string, t site.Target) *heldPath {
	p := &heldPath{target: t}
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := f.paths[path]; known != nil {
		return known
	}
	if !m.holds(f) {
		return p
	}
	if f.paths == nil {
		f.paths = map[string]*heldPath{}
	}
	f.paths[path] = p
	m.grow(f, heldEach+int64(len(path)+len(t.Path)))
	return p
}

// addContent remembers content of a path, which set sets, if its site has this path still.
func (m *siteMemory) addContent(f *heldFolder, path string, p *heldPath, bytes int, set func() bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holds(f) && f.paths[path] == p && set() {
		m.grow(f, int64(bytes))
	}
}

// Find returns what answers a path of the site.
func (v *Site) Find(ctx context.Context, path string) (site.Target, error) {
	if v.held != nil {
		if known := v.service.sites.path(v.held, path); known != nil {
			v.path, v.at = path, known
			return known.target, nil
		}
	}
	t, err := site.Find(ctx, v, path)
	if err == nil && v.held != nil && t.Kind != site.Missing && t.Kind != site.NotServed && t.Params == nil {
		v.path, v.at = path, v.service.sites.addPath(v.held, path, t)
	}
	return t, err
}

// known returns what is known of the path that was found, where a file is the one that answers it.
func (v *Site) known(file string) *heldPath {
	if v.at == nil || v.at.target.Path != file {
		return nil
	}
	return v.at
}

// Hold returns a file whose content is in memory, to be sent before the site is closed; nil where it is not
// there. It counts as on its way until then.
func (v *Site) Hold(ctx context.Context, file string) (*HeldFile, error) {
	p := v.known(file)
	if p == nil {
		return nil, nil
	}
	f := p.file.Load()
	if f == nil {
		return nil, nil
	}
	visitor, own, err := v.handOut(ctx)
	if err != nil {
		return nil, err
	}
	release := v.close
	v.close = func() {
		own.Release()
		visitor.Release()
		release()
	}
	return f, nil
}

// CountSent counts how much of a file was sent.
func (v *Site) CountSent(ctx context.Context, bytes int64) {
	v.service.countUsed(ctx, v.account.ID, usage.Used{Egress: bytes})
}

// handOut has a file of the site count as on its way to the visitor.
func (v *Site) handOut(ctx context.Context) (visitor, own admit.Transfer, err error) {
	all := v.service.o.Handouts
	if visitor, err = all.Begin(ctx, admit.NetworkHolder(v.caller.Addr), filesPerVisitor); err != nil {
		return visitor, own, withoutLimit(err)
	}
	if own, err = all.Begin(ctx, admit.AccountHolder(int64(v.account.ID)), filesPerSite); err != nil {
		visitor.Release()
		return visitor, own, withoutLimit(err)
	}
	return visitor, own, nil
}

// open opens a file of the site: from memory, where it is there, or from the tree.
func (v *Site) open(ctx context.Context, file string) (FileContent, error) {
	p := v.known(file)
	if p != nil {
		if f := p.file.Load(); f != nil {
			c := &heldContent{file: f}
			c.Reset(f.Content)
			return c, nil
		}
	}
	tree, err := v.opened(ctx)
	if err != nil {
		return nil, err
	}
	content, err := tree.Open(ctx, file)
	if err != nil || p == nil {
		return content, err
	}
	if inMemory, ok := content.(interface{ InMemory() ([]byte, bool) }); ok {
		if all, ok := inMemory.InMemory(); ok && len(all) <= mostHeld {
			f := &HeldFile{Name: path.Base(file), Content: all, Tag: content.Tag(), Modified: content.Modified()}
			v.service.sites.addContent(v.held, v.path, p, len(all), func() bool { return p.file.CompareAndSwap(nil, f) })
		}
	}
	return content, nil
}

// heldContent reads a file in memory.
type heldContent struct {
	bytes.Reader
	file *HeldFile
}

// InMemory returns the content.
func (c *heldContent) InMemory() ([]byte, bool) { return c.file.Content, true }

// Modified implements FileContent.
func (c *heldContent) Modified() time.Time { return c.file.Modified }

// Tag implements FileContent.
func (c *heldContent) Tag() string { return c.file.Tag }

// Close implements FileContent.
func (c *heldContent) Close() error { return nil }
