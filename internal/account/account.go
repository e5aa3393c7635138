// Package account holds what an account is: its aliases, API key, password rules, plan
// and limits, the domains whose pages may call as it, the scripts published for them, and
// its secrets. It declares the Store of accounts and offers the operator's operations over
// it. How names are written is for account/names, how secrets are sealed for account/seal,
// checking credentials for internal/auth, and storing rows for internal/store.
package account

import (
	"time"

	"ql/internal/account/names"
	"ql/internal/account/scope"
)

// ID names an account in every call that touches what belongs to one. The
// zero ID is no account: nothing falls back to it.
type ID int64

// Account is an account as it is stored. Names are canonical.
type Account struct {
	ID       ID
	Username string // also the namespace; never changes

	// Email and Phone are "" where the account has none. One that is not
	// verified names nobody: it is kept to be verified, not to log in with.
	Email         string
	EmailVerified bool
	Phone         string
	PhoneVerified bool

	PasswordHash string  // PHC string; "" opens nothing
	KeyHash      KeyHash // zero opens nothing
	// SealedKey is the API key under the master key, so that its owner may see
	// it again; nil where no copy is kept.
	SealedKey []byte

	// Epoch grows whenever a credential changes: what was concluded from an
	// earlier one counts no more.
	Epoch int64

	Plan              Plan
	Overrides         []Override // limits of its own, by name; nil for none
	Admin             bool
	Disabled          bool // its credentials and domains open nothing
	RequireAuthOnJobs bool // polls and confirms need credentials
	ShowEffects       bool // pages of its questions say what may follow an answer
	Look              Look
	Created           time.Time
	Purged            time.Time // when its jobs, sessions and files were last removed; zero for never
}

// Tombstone marks an account that is to be removed, or was.
type Tombstone struct {
	Account ID
	Since   time.Time
}

// Aliases returns the names that lead to the account, those to be unique over
// all accounts and kinds.
func (a *Account) Aliases() []names.Alias {
	aliases := []names.Alias{{Kind: names.Username, Name: a.Username}}
	if a.Email != "" && a.EmailVerified {
		aliases = append(aliases, names.Alias{Kind: names.Email, Name: a.Email})
	}
	if a.Phone != "" && a.PhoneVerified {
		aliases = append(aliases, names.Alias{Kind: names.Phone, Name: a.Phone})
	}
	return aliases
}

// Flag is a switch of an account that its operator may set.
type Flag string

// The flags, by the names that commands use.
const (
	FlagAdmin             Flag = "admin"
	FlagDisabled          Flag = "disabled"
	FlagRequireAuthOnJobs Flag = "require_auth_on_jobs"
	FlagShowEffects       Flag = "show_effects"
)

var flags = []Flag{FlagAdmin, FlagDisabled, FlagRequireAuthOnJobs, FlagShowEffects}

// ContactChange says how an account is reached from now on. What is nil stays as it is, and "" is none.
type ContactChange struct {
	Email, Phone *string
	// Verified says that they are known to be the owner's: they then lead to the account. One that
	// does not change stays as verified as it was.
	Verified bool
}

// Apply makes the change to an account.
func (c ContactChange) Apply(a *Account) {
	set := func(to *string, kept *string, verified *bool) {
		if to != nil && (*to != *kept || c.Verified) {
			*kept, *verified = *to, c.Verified && *to != ""
		}
	}
	set(c.Email, &a.Email, &a.EmailVerified)
	set(c.Phone, &a.Phone, &a.PhoneVerified)
}

// Domain is an entry of an account's whitelist.
type Domain struct {
	Account ID
	Pattern names.Pattern
	// PublishedOnly keeps the domain's pages to the account's published scripts.
	PublishedOnly bool
	Added         time.Time
}

// NamedKeyID names a named key of any account, and no other one ever after. The zero NamedKeyID is
// none.
type NamedKeyID int64

// NamedKey is a key that the owner of an account made for a program or a person, to do what its
// scopes say.
type NamedKey struct {
	ID      NamedKeyID
	Account ID
	Name    string
	Hash    KeyHash
	Shown   string // how it begins
	Scopes  scope.Set
	Created time.Time
	Expires time.Time // zero for never
	Used    time.Time // when it was last used, to the minute; zero for never
}

// HasExpired tells whether the key opens nothing any more.
func (k *NamedKey) HasExpired(now time.Time) bool {
	return !k.Expires.IsZero() && !now.Before(k.Expires)
}

// Secret is a named secret of an account. Listings leave Sealed nil.
type Secret struct {
	Account ID
	Name    string
	Sealed  []byte
	Set     time.Time
}

// WebhookSecret is one of the secrets that sign an account's webhooks.
type WebhookSecret struct {
	Account ID
	Number  int64 // 1 for the account's first, one more with each rotation
	Sealed  []byte
	Made    time.Time
	Until   time.Time // when it stops signing; zero for the newest
}
