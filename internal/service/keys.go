package service

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/audit"
	"ql/internal/redacted"
	"ql/internal/wire"
)

// Keys are the keys of accounts. Their errors are coded.
type Keys interface {
	// ShowKey returns an account's API key, where a copy of it is kept.
	ShowKey(ctx context.Context, id account.ID) (account.Key, error)
	// CreateNamedKey makes a key, which is told this once.
	CreateNamedKey(ctx context.Context, a account.Account, n account.NewNamed) (account.NamedKey, account.Key, error)
	// NamedKeys returns an account's keys by name.
	NamedKeys(ctx context.Context, id account.ID) ([]account.NamedKey, error)
	// RevokeNamedKey ends a key, which is dead when it returns.
	RevokeNamedKey(ctx context.Context, id account.ID, key string) error
}

// KeyListing is an account's named keys.
type KeyListing struct {
	Meta
	Keys []wire.KeyEntry
}

// Keys lists the named keys of an account, with when each was last used.
func (s *Service) Keys(ctx context.Context, c Caller, p *Credentials) (KeyListing, error) {
	owner, l, err := s.openKeys(ctx, c, p, access{"keys", passwordOrName, scope.Manage})
	if err != nil {
		return l, err
	}
	if err := s.reserveKeys(ctx, c, &owner); err != nil {
		return l, err
	}
	if err := s.o.Auth.FlushUses(ctx); err != nil {
		return l, err
	}
	keys, err := s.o.Keys.NamedKeys(ctx, owner.Account.ID)
	for i := range keys {
		l.Keys = append(l.Keys, keyEntry(&keys[i]))
	}
	return l, err
}

// keyEntries is how many entries of a listing a key takes, with as many scopes as it may have.
const keyEntries = 5

// reserveKeys reserves what the keys of an account take.
func (s *Service) reserveKeys(ctx context.Context, c Caller, owner *caller) error {
	return c.Memory.reservePage(ctx, keyEntries*owner.Account.Limits(s.o.Limits).NamedKeys)
}

func keyEntry(k *account.NamedKey) wire.KeyEntry {
	return wire.KeyEntry{Name: k.Name, Prefix: k.Shown, Scopes: k.Scopes.Texts(), CreatedAt: k.Created, ExpiresAt: k.Expires, LastUsedAt: k.Used}
}

// CreatedKey is a key that was just made.
type CreatedKey struct {
	Meta
	Entry wire.KeyEntry
	Key   redacted.Text
}

// CreateKey makes a named key of the account that the password proves. No key makes another one,
// which might do more.
func (s *Service) CreateKey(ctx context.Context, c Caller, p *Credentials, n wire.NewKey) (CreatedKey, error) {
	owner, l, err := s.openKeys(ctx, c, p, access{what: "keys", accepts: passwordAlone})
	a := CreatedKey{Meta: l.Meta}
	if err != nil {
		return a, err
	}
	k, key, err := s.o.Keys.CreateNamedKey(s.acting(ctx, c, &owner.Principal), owner.Account, account.NewNamed{
		Name: n.Name, Scopes: n.Scopes, For: time.Duration(n.ExpiresIn) * time.Second,
	})
	if err != nil {
		return a, err
	}
	a.Entry, a.Key = keyEntry(&k), key.Text
	return a, nil
}

// RevokeKey ends a named key of the account that the password proves: no call that begins after the
// answer is let in by it. The listing is empty.
func (s *Service) RevokeKey(ctx context.Context, c Caller, p *Credentials, key string) (KeyListing, error) {
	owner, l, err := s.openKeys(ctx, c, p, access{what: "keys", accepts: passwordAlone})
	if err != nil {
		return l, err
	}
	return l, s.o.Keys.RevokeNamedKey(s.acting(ctx, c, &owner.Principal), owner.Account.ID, key)
}

// ShownKey is an account's API key.
type ShownKey struct {
	Meta
	Username string
	Key      redacted.Text
}

// ShowKey shows the API key of the account that the password proves. No key shows another.
func (s *Service) ShowKey(ctx context.Context, c Caller, p *Credentials) (ShownKey, error) {
	owner, l, err := s.openKeys(ctx, c, p, access{what: "the API key", accepts: passwordAlone})
	a := ShownKey{Meta: l.Meta, Username: owner.Account.Username}
	if err != nil {
		return a, err
	}
	key, err := s.o.Keys.ShowKey(ctx, owner.Account.ID)
	if err == nil { // what is not logged is not shown
		err = s.audit(s.acting(ctx, c, &owner.Principal), audit.Event{Account: owner.Account.ID, Act: audit.APIKeyShown})
	}
	if err != nil {
		return a, err
	}
	a.Key = key.Text
	return a, nil
}

// openKeys lets a caller to an account's keys.
func (s *Service) openKeys(ctx context.Context, c Caller, p *Credentials, a access) (caller, KeyListing, error) {
	owner, err := s.authenticateOwner(ctx, c, p, a)
	l := KeyListing{Meta: Meta{Origin: owner.origin}}
	if err != nil {
		return owner, l, err
	}
	verdict := s.countCall(owner, c, owner.Account.Limits(s.o.Limits))
	l.Rate = &verdict
	return owner, l, verdict.Err()
}
