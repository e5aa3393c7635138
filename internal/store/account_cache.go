package store

import (
	"context"
	"sync"

	"ql/internal/account"
	"ql/internal/account/names"
)

// AccountVersions tells whether accounts that were read are still as they were.
type AccountVersions interface {
	// AccountsVersion returns a number that is greater after every change of an
	// account, of an alias, of a named key, of a site's domain or of a published script, by whatever
	// process, as soon as the change is committed. It may grow without one. It is cheap: it is asked before every
	// call. Where ok is false the store cannot tell, and nothing that was read
	// earlier may be used.
	AccountsVersion() (version uint64, ok bool)
}

// cachedAccounts is how many accounts a cache holds, and cachedScripts how many bytes of
// published scripts.
const (
	cachedAccounts = 1024
	cachedScripts  = 16 << 20
)

// accountCache answers look-ups by id, by alias, by key, by a site's domain and of published scripts from
// memory as long as no account, no named key, no such domain and no published script has changed. Nothing that it gives is older
// than what the store would give.
type accountCache struct {
	account.Store
	versions AccountVersions

	mu      sync.Mutex
	version uint64 // under which the accounts were read
	byID    map[account.ID]account.Account
	byAlias map[names.Alias]account.Account
	byKey   map[account.KeyHash]account.Account
	byNamed map[account.KeyHash]namedAccount
	bySite  map[string]siteAccount
	scripts map[scriptKey]account.Published
	bytes   int64 // of scripts
}

// namedAccount is an account with one of its named keys.
type namedAccount struct {
	account account.Account
	key     account.NamedKey
}

// siteAccount is an account with a domain of its site.
type siteAccount struct {
	account account.Account
	domain  account.SiteDomain
}

// scriptKey names a version of a published script.
type scriptKey struct {
	account account.ID
	name    string
	version int64
}

// CacheAccounts returns the store with a cache of accounts before it.
func (s Store) CacheAccounts() Store {
	s.Accounts = &accountCache{
		Store: s.Accounts, versions: s.Versions,
		byID: map[account.ID]account.Account{}, byAlias: map[names.Alias]account.Account{}, byKey: map[account.KeyHash]account.Account{},
		byNamed: map[account.KeyHash]namedAccount{}, bySite: map[string]siteAccount{}, scripts: map[scriptKey]account.Published{},
	}
	return s
}

// ByID implements account.Accounts.
func (c *accountCache) ByID(ctx context.Context, id account.ID) (account.Account, error) {
	return lookUp(c, c.byID, id, func() (account.Account, error) { return c.Store.ByID(ctx, id) })
}

// ByAlias implements account.Accounts.
func (c *accountCache) ByAlias(ctx context.Context, alias names.Alias) (account.Account, error) {
	return lookUp(c, c.byAlias, alias, func() (account.Account, error) { return c.Store.ByAlias(ctx, alias) })
}

// ByKeyHash implements account.Accounts.
func (c *accountCache) ByKeyHash(ctx context.Context, hash account.KeyHash) (account.Account, error) {
	return lookUp(c, c.byKey, hash, func() (account.Account, error) { return c.Store.ByKeyHash(ctx, hash) })
}

// ByNamedKey implements account.NamedKeys.
func (c *accountCache) ByNamedKey(ctx context.Context, hash account.KeyHash) (account.Account, account.NamedKey, error) {
	found, err := lookUp(c, c.byNamed, hash, func() (n namedAccount, err error) {
		n.account, n.key, err = c.Store.ByNamedKey(ctx, hash)
		return n, err
	})
	return found.account, found.key, err
}

// BySiteDomain implements account.SiteDomains.
func (c *accountCache) BySiteDomain(ctx context.Context, domain string) (account.Account, account.SiteDomain, error) {
	found, err := lookUp(c, c.bySite, domain, func() (s siteAccount, err error) {
		s.account, s.domain, err = c.Store.BySiteDomain(ctx, domain)
		return s, err
	})
	return found.account, found.domain, err
}

// lookUp returns what one of the cache's maps has of an account, or reads it.
func lookUp[K comparable, V any](c *accountCache, m map[K]V, key K, read func() (V, error)) (V, error) {
	version, ok := c.versions.AccountsVersion() // before it is read
	if !ok {
		return read()
	}
	if found, ok := find(c, m, key, version); ok {
		return found, nil
	}
	found, err := read()
	if err == nil {
		add(c, m, key, found, version)
	}
	return found, err
}

// PublishedScript implements account.PublishedScripts.
func (c *accountCache) PublishedScript(ctx context.Context, id account.ID, name string, version int64) (account.Published, error) {
	at, ok := c.versions.AccountsVersion() // before it is read
	if !ok {
		return c.Store.PublishedScript(ctx, id, name, version)
	}
	key := scriptKey{id, name, version}
	if p, found := find(c, c.scripts, key, at); found {
		return p, nil
	}
	p, err := c.Store.PublishedScript(ctx, id, name, version)
	if err == nil {
		c.addScript(key, p, at)
	}
	return p, err
}

// addScript adds a script that was read after the version was.
func (c *accountCache) addScript(key scriptKey, p account.Published, version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, has := c.scripts[key]; has || version != c.version || p.Weight() > cachedScripts/4 {
		return
	}
	if c.bytes+p.Weight() > cachedScripts {
		c.clearScripts()
	}
	key.name = p.Name // not a part of a request
	c.scripts[key] = p
	c.bytes += p.Weight()
}

// find returns what was read under a version, or under a later one.
func find[K comparable, V any](c *accountCache, m map[K]V, key K, version uint64) (found V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version > c.version {
		c.version = version
		c.clear()
		return found, false
	}
	found, ok = m[key]
	return found, ok
}

// clear evicts all. The cache is locked.
func (c *accountCache) clear() {
	clear(c.byID)
	clear(c.byAlias)
	clear(c.byKey)
	clear(c.byNamed)
	clear(c.bySite)
	c.clearScripts()
}

func (c *accountCache) clearScripts() {
	clear(c.scripts)
	c.bytes = 0
}

// add adds what was read after the version was.
func add[K comparable, V any](c *accountCache, m map[K]V, key K, found V, version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version != c.version {
		return
	}
	if len(c.byID)+len(c.byAlias)+len(c.byKey)+len(c.byNamed)+len(c.bySite) >= cachedAccounts {
		c.clear()
	}
	m[key] = found
}
