package auth

import (
	"context"
	"errors"
	"strings"

	"ql/internal/account"
	"ql/internal/fault"
	"ql/internal/principal"
)

const (
	// An expired key is known as such until it is swept.
	wrongKey = "the key is wrong, has been revoked, or expired a while ago"
	// Of a text that only looks like the other kind: whether it is one is not told.
	namedKeyHint = ": what starts with " + account.NamedKeyPrefix + " is a named key, which is sent as Authorization: Bearer"
)

var (
	errWrongKey = fault.New(fault.BadCredentials, wrongKey)
	errNoKey    = fault.New(fault.BadCredentials, wrongKey+": named keys start with "+account.NamedKeyPrefix)
	errAPIKey   = fault.New(fault.BadCredentials, wrongKey+": what starts with "+account.KeyPrefix+
		" is an account's API key, which is sent with its username: to POST /api, or by HTTP Basic")
	errExpiredKey = fault.New(fault.BadCredentials, "the key has expired: its owner can make another")
)

// NamedKey checks a named key, which alone says whose it is. It costs one SHA-256. A right key is
// never throttled: it cannot be guessed.
func (a *Authenticator) NamedKey(ctx context.Context, key string, from Source) (principal.Principal, error) {
	p, err := a.namedKey(ctx, key, from)
	a.reportFailure(principal.ByNamedKey, "", 0, from, err)
	return p, err
}

func (a *Authenticator) namedKey(ctx context.Context, key string, from Source) (principal.Principal, error) {
	p, err := a.byNamedKey(ctx, key, from)
	if !fault.Is(err, fault.BadCredentials) {
		return p, err
	}
	if wait := a.throttle.countWrongKey(ctx, from.Addr, a.o.Now()); wait > 0 {
		return principal.Principal{}, tooMany(wait)
	}
	return principal.Principal{}, err
}

func (a *Authenticator) byNamedKey(ctx context.Context, text string, from Source) (principal.Principal, error) {
	key, err := account.ParseNamedKey(text)
	switch {
	case err == nil:
	case strings.HasPrefix(text, account.KeyPrefix):
		return principal.Principal{}, errAPIKey
	case strings.HasPrefix(text, account.NamedKeyPrefix):
		return principal.Principal{}, errWrongKey
	default:
		return principal.Principal{}, errNoKey
	}
	row, named, err := a.store.ByNamedKey(ctx, key.Hash())
	if errors.Is(err, account.ErrNotFound) || err == nil && row.Disabled {
		return principal.Principal{}, errWrongKey
	}
	if err != nil {
		return principal.Principal{}, err
	}
	now := a.o.Now()
	if named.HasExpired(now) {
		return principal.Principal{}, errExpiredKey
	}
	p := principal.NamedKey(row, named)
	if row.Username == account.Development {
		// Anybody may have made it who knew the credentials of the settings: it counts
		// where these are known to one person alone, and as they do.
		if a.o.Development == nil || !a.o.Development.NamedKeys {
			return principal.Principal{}, errWrongKey
		}
		if err := a.checkDevelopmentPage(from); err != nil {
			return principal.Principal{}, err
		}
		p.Development = true
	}
	a.uses.note(named.ID, now)
	return p, nil
}
