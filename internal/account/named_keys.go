package account

import (
	"context"
	"errors"
	"time"

	"ql/internal/account/names"
	"ql/internal/account/scope"
	"ql/internal/fault"
)

// longestExpiry is the longest that a key may be good for and end.
const longestExpiry = 100 * 365 * day

// NewNamed is what a named key is made of.
type NewNamed struct {
	Name   string
	Scopes []string
	// For is how long the key is good, to the second; 0 for as long as it is not revoked.
	For time.Duration
}

// CreateNamedKey makes a key of an account, which is told this once.
func (s *Service) CreateNamedKey(ctx context.Context, a Account, n NewNamed) (NamedKey, Key, error) {
	if !s.o.Dev { // where one person alone knows the credentials of the settings, it does no harm
		if err := refuseDevelopment(a); err != nil {
			return NamedKey{}, Key{}, err
		}
	}
	k := NamedKey{Account: a.ID, Name: n.Name, Created: s.now()}
	if !names.IsName(n.Name) {
		return NamedKey{}, Key{}, fault.Invalid("name", "%v", names.ErrName)
	}
	var err error
	if k.Scopes, err = scope.Parse(n.Scopes); err != nil {
		return NamedKey{}, Key{}, fault.Invalid("scopes", "%v", err)
	}
	if n.For < 0 || n.For > longestExpiry || n.For%time.Second != 0 {
		return NamedKey{}, Key{}, fault.Invalid("expires_in", "is no time that fits: 1 second to %d, in whole seconds", int64(longestExpiry.Seconds()))
	}
	if n.For > 0 {
		k.Expires = k.Created.Add(n.For)
	}
	key, err := NewNamedKey(s.o.Random)
	if err != nil {
		return NamedKey{}, Key{}, err
	}
	k.Hash, k.Shown = key.Hash(), key.Shown()
	most := a.Limits(s.o.Limits).NamedKeys
	k.ID, err = s.store.CreateNamedKey(ctx, k, most)
	switch {
	case errors.Is(err, ErrNameInUse):
		return NamedKey{}, Key{}, fault.New(fault.AlreadyExists, "the account has a key %q already: revoke it first, or choose another name", n.Name)
	case errors.Is(err, ErrTooManyKeys):
		f := fault.New(fault.LimitExceeded, "the account has %d keys, which is as many as its plan allows: revoke one first", most)
		f.Limit, f.Value = "named_keys", int64(most)
		return NamedKey{}, Key{}, f
	case err != nil:
		return NamedKey{}, Key{}, s.refused(err, "")
	}
	return k, key, nil
}

// NamedKeys returns the keys of an account by their names.
func (s *Service) NamedKeys(ctx context.Context, id ID) ([]NamedKey, error) {
	return s.store.NamedKeys(ctx, id)
}

// RevokeNamedKey ends a key of an account. It opens nothing any more when this returns.
func (s *Service) RevokeNamedKey(ctx context.Context, id ID, key string) error {
	return missing(s.store.RevokeNamedKey(ctx, id, key), "the account has no key %q", key)
}
