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
	// account or of an alias, by whatever process, as soon as the change is
	// committed. It may grow without one. It is cheap: it is asked before every
	// call. Where ok is false the store cannot tell, and nothing that was read
	// earlier may be used.
	AccountsVersion() (version uint64, ok bool)
}

// cachedAccounts is how many accounts a cache holds.
const cachedAccounts = 1024

// accountCache answers look-ups by alias and by key from memory as long as no account
// has changed. Nothing that it gives is older than what the store would give.
type accountCache struct {
	account.Store
	versions AccountVersions

	mu      sync.Mutex
	version uint64 // under which the accounts were read
	byAlias map[names.Alias]account.Account
	byKey   map[account.KeyHash]account.Account
}

// CacheAccounts returns the store with a cache of accounts before it.
func (s Store) CacheAccounts() Store {
	s.Accounts = &accountCache{
		Store: s.Accounts, versions: s.Versions,
		byAlias: map[names.Alias]account.Account{}, byKey: map[account.KeyHash]account.Account{},
	}
	return s
}

// ByAlias implements account.Accounts.
func (c *accountCache) ByAlias(ctx context.Context, alias names.Alias) (account.Account, error) {
	return lookUp(c, c.byAlias, alias, func() (account.Account, error) { return c.Store.ByAlias(ctx, alias) })
}

// ByKeyHash implements account.Accounts.
func (c *accountCache) ByKeyHash(ctx context.Context, hash account.KeyHash) (account.Account, error) {
	return lookUp(c, c.byKey, hash, func() (account.Account, error) { return c.Store.ByKeyHash(ctx, hash) })
}

// lookUp returns an account from one of the cache's maps, or reads it.
func lookUp[K comparable](c *accountCache, m map[K]account.Account, key K, read func() (account.Account, error)) (account.Account, error) {
	version, ok := c.versions.AccountsVersion() // before it is read
	if !ok {
		return read()
	}
	if a, found := find(c, m, key, version); found {
		return a, nil
	}
	a, err := read()
	if err == nil {
		add(c, m, key, a, version)
	}
	return a, err
}

// find returns an account that was read under a version, or under a later one.
func find[K comparable](c *accountCache, m map[K]account.Account, key K, version uint64) (account.Account, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version > c.version {
		c.version = version
		clear(c.byAlias)
		clear(c.byKey)
		return account.Account{}, false
	}
	a, found := m[key]
	return a, found
}

// add adds an account that was read after the version was.
func add[K comparable](c *accountCache, m map[K]account.Account, key K, a account.Account, version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version != c.version {
		return
	}
	if len(c.byAlias)+len(c.byKey) >= cachedAccounts {
		clear(c.byAlias)
		clear(c.byKey)
	}
	m[key] = a
}
