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
	// AccountVersion returns a number of the same kind that is greater after every change of one account, or of
	// what belongs to it: no greater than AccountsVersion was before, where all that was changed since is of others.
	AccountVersion(id account.ID) uint64
}

// cachedAccounts is how many accounts a cache holds, and cachedScripts how many bytes of
// published scripts.
const (
	cachedAccounts = 1024
	cachedScripts  = 16 << 20
)

// accountCache answers look-ups by id, by alias, by key, by a site's domain and of published scripts from
// memory as long as nothing of the account has changed that it found: neither that itself nor its named keys, such domains and
// published scripts. Nothing that it gives is older than what the store would give.
type accountCache struct {
	account.Store
	versions AccountVersions

	mu      sync.Mutex
	byID    map[account.ID]cached[account.Account]
	byAlias map[names.Alias]cached[account.Account]
	byKey   map[account.KeyHash]cached[account.Account]
	byNamed map[account.KeyHash]cached[namedAccount]
	bySite  map[string]cached[siteAccount]
	scripts map[scriptKey]cached[account.Published]
	bytes   int64 // of scripts
}

// cached is what was found, and the version under which it was read.
type cached[V owned] struct {
	value   V
	version uint64
}

// owned is what belongs to an account.
type owned interface {
	account.Account | namedAccount | siteAccount | account.Published
}

// ownerOf returns the account that something belongs to.
func ownerOf[V owned](v *V) account.ID {
	switch v := any(v).(type) {
	case *account.Account:
		return v.ID
	case *namedAccount:
		return v.account.ID
	case *siteAccount:
		return v.account.ID
	case *account.Published:
		return v.Account
	}
	return 0
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
		byID: map[account.ID]cached[account.Account]{}, byAlias: map[names.Alias]cached[account.Account]{}, byKey: map[account.KeyHash]cached[account.Account]{},
		byNamed: map[account.KeyHash]cached[namedAccount]{}, bySite: map[string]cached[siteAccount]{}, scripts: map[scriptKey]cached[account.Published]{},
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
func lookUp[K comparable, V owned](c *accountCache, m map[K]cached[V], key K, read func() (V, error)) (V, error) {
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
	before, has := c.scripts[key]
	if has && before.version >= version || p.Weight() > cachedScripts/4 {
		return
	}
	if has {
		c.bytes -= before.value.Weight()
		delete(c.scripts, key)
	}
	if c.bytes+p.Weight() > cachedScripts {
		c.clearScripts()
	}
	key.name = p.Name // not a part of a request
	c.scripts[key] = cached[account.Published]{p, version}
	c.bytes += p.Weight()
}

// find returns what was read, unless something of its account has changed since. version is the one of now.
func find[K comparable, V owned](c *accountCache, m map[K]cached[V], key K, version uint64) (found V, ok bool) {
	c.mu.Lock()
	one, ok := m[key]
	c.mu.Unlock()
	if !ok || one.version < version && c.versions.AccountVersion(ownerOf(&one.value)) > one.version {
		return found, false
	}
	return one.value, true
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
func add[K comparable, V owned](c *accountCache, m map[K]cached[V], key K, found V, version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, has := m[key]; has && before.version >= version {
		return // somebody has read it later
	}
	if len(c.byID)+len(c.byAlias)+len(c.byKey)+len(c.byNamed)+len(c.bySite) >= cachedAccounts {
		c.clear()
	}
	m[key] = cached[V]{found, version}
}
