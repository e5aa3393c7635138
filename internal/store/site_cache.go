package store

import (
	"context"
	"slices"
	"sync"

	"ql/internal/account"
	"ql/internal/resource/files"
)

// SiteVersions tells whether what was read of the folder of a site is still as it was.
type SiteVersions interface {
	// SiteVersion returns a number that is greater after every change of an account's files below
	// files.SiteFolder, and of its releases, by whatever process, as soon as the change is committed.
	// It may grow without one. It is cheap: it is asked several times for each request to a site.
	// Where ok is false the store cannot tell, and nothing that was read earlier may be used.
	SiteVersion(a account.ID) (version uint64, ok bool)
}

const (
	// cachedSites is how many bytes of sites a cache holds, and cachedSite how many of one.
	cachedSites = 32 << 20
	cachedSite  = cachedSites / 8
	// cachedNode is about what is held of a file besides its path and its content.
	cachedNode = 384
	// cachedList is how long a list of names is at most that is held.
	cachedList = 16
)

// siteCache answers what requests to sites ask of files from memory, as long as nothing of the site has
// changed: what stands at a path, that nothing does, and what a file holds. Nothing that it gives
// is older than what the store would give.
type siteCache struct {
	files.Store
	versions SiteVersions

	mu    sync.Mutex
	sites map[account.ID]*site
	bytes int64
}

// site is what is known of one under a version.
type site struct {
	version  uint64
	released bool // the release is known
	release  files.Release
	nodes    map[string]*files.Node // by key, without content; nil where there is nothing
	contents map[string]*files.Node
	lists    map[listed]listing
	bytes    int64
}

// listed names a list of what is in a folder.
type listed struct {
	key, after string
	limit      int
}

type listing struct {
	folder   *files.Node
	children []files.Node
}

// CacheSites returns the store with a cache of sites before it.
func (s Store) CacheSites() Store {
	s.Files = &siteCache{Store: s.Files, versions: s.SiteVersions, sites: map[account.ID]*site{}}
	return s
}

// at calls f with what is known of a site under a version, while the cache is locked.
func (c *siteCache) at(a account.ID, version uint64, f func(*site)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sites[a]
	switch {
	case s == nil:
		s = &site{version: version}
		c.sites[a] = s
		c.grow(a, s, cachedNode)
	case version > s.version:
		c.bytes -= s.bytes
		*s = site{version: version}
		c.grow(a, s, cachedNode)
	case version < s.version: // who asks has waited since
		return
	}
	f(s)
}

// grow counts what is held of a site. Where there is no room, what is known of it goes, or of all:
// what is asked for comes back.
func (c *siteCache) grow(a account.ID, s *site, bytes int64) {
	if c.sites[a] != s { // it has gone already
		return
	}
	s.bytes += bytes
	c.bytes += bytes
	switch {
	case s.bytes > cachedSite:
		c.bytes -= s.bytes
		delete(c.sites, a)
	case c.bytes > cachedSites:
		clear(c.sites)
		c.bytes = 0
	}
}

// CurrentRelease implements files.SiteStore.
func (c *siteCache) CurrentRelease(ctx context.Context, a account.ID) (found files.Release, err error) {
	version, ok := c.versions.SiteVersion(a) // before it is read
	if !ok {
		return c.Store.CurrentRelease(ctx, a)
	}
	known := false
	c.at(a, version, func(s *site) { found, known = s.release, s.released })
	if known {
		return found, nil
	}
	if found, err = c.Store.CurrentRelease(ctx, a); err == nil {
		c.at(a, version, func(s *site) { s.release, s.released = found, true })
	}
	return found, err
}

// isCurrent tells whether a release is known to be the current one, of which alone files are held.
func (s *site) isCurrent(release int64) bool { return s.released && s.release.Number == release }

// FindAsOf implements files.ReleaseReader.
func (c *siteCache) FindAsOf(ctx context.Context, a account.ID, release int64, keys []string) ([]*files.Node, error) {
	version, ok := c.versions.SiteVersion(a)
	if !ok || slices.ContainsFunc(keys, isElsewhere) {
		return c.Store.FindAsOf(ctx, a, release, keys)
	}
	found := make([]*files.Node, len(keys))
	known := false
	c.at(a, version, func(s *site) {
		known = s.isCurrent(release)
		for i, key := range keys {
			if known {
				found[i], known = s.nodes[key]
			}
		}
	})
	if known {
		return found, nil
	}
	found, err := c.Store.FindAsOf(ctx, a, release, keys)
	if err != nil {
		return nil, err
	}
	c.at(a, version, func(s *site) {
		if !s.isCurrent(release) {
			return
		}
		for i, key := range keys {
			if _, has := s.nodes[key]; has {
				continue
			}
			if s.nodes == nil {
				s.nodes = map[string]*files.Node{}
			}
			s.nodes[key] = found[i]
			c.grow(a, s, cachedNode+int64(2*len(key)))
		}
	})
	return found, nil
}

// isElsewhere tells whether what has a key is outside of the site, whose version says nothing of it.
func isElsewhere(key string) bool { return !files.IsOfSite(key) }

// ContentAsOf implements files.ReleaseReader.
func (c *siteCache) ContentAsOf(ctx context.Context, a account.ID, release int64, key string) (found *files.Node, err error) {
	version, ok := c.versions.SiteVersion(a)
	if !ok || isElsewhere(key) {
		return c.Store.ContentAsOf(ctx, a, release, key)
	}
	known := false
	c.at(a, version, func(s *site) {
		if s.isCurrent(release) {
			found, known = s.contents[key]
		}
	})
	if known {
		return found, nil
	}
	if found, err = c.Store.ContentAsOf(ctx, a, release, key); err != nil {
		return nil, err
	}
	if found != nil {
		found.Seal()
	}
	c.at(a, version, func(s *site) {
		if _, has := s.contents[key]; has || !s.isCurrent(release) {
			return
		}
		weight := int64(cachedNode + 2*len(key))
		if found != nil {
			const chunk = 40
			weight += int64(len(found.Tail)) + int64(len(found.Chunks)*chunk)
		}
		if s.contents == nil {
			s.contents = map[string]*files.Node{}
		}
		s.contents[key] = found
		c.grow(a, s, weight)
	})
	return found, nil
}

// ChildrenAsOf implements files.ReleaseReader. Only short lists are held, by which a request finds
// the file with a pattern that answers it.
func (c *siteCache) ChildrenAsOf(ctx context.Context, a account.ID, release int64, key, after string, limit int) (*files.Node, []files.Node, error) {
	version, ok := c.versions.SiteVersion(a)
	if !ok || isElsewhere(key) || limit > cachedList {
		return c.Store.ChildrenAsOf(ctx, a, release, key, after, limit)
	}
	of, known := listing{}, false
	c.at(a, version, func(s *site) {
		if s.isCurrent(release) {
			of, known = s.lists[listed{key, after, limit}]
		}
	})
	if known {
		return of.folder, of.children, nil
	}
	folder, children, err := c.Store.ChildrenAsOf(ctx, a, release, key, after, limit)
	if err != nil {
		return nil, nil, err
	}
	c.at(a, version, func(s *site) {
		name := listed{key, after, limit}
		if _, has := s.lists[name]; has || !s.isCurrent(release) {
			return
		}
		weight := int64(cachedNode + 2*len(key) + len(after))
		for i := range children {
			weight += cachedNode + int64(len(children[i].Path))
		}
		if s.lists == nil {
			s.lists = map[listed]listing{}
		}
		s.lists[name] = listing{folder, slices.Clip(children)}
		c.grow(a, s, weight)
	})
	return folder, children, nil
}
