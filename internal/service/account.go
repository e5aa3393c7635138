package service

import (
	"context"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/audit"
	"ql/internal/redacted"
	"ql/internal/wire"
)

// Owners do what owners may do to their accounts, which are named by their usernames. Their errors are
// coded.
type Owners interface {
	// CheckManaged says why an account may not be changed by its owner, and CheckDeleted why it
	// may not be deleted: the shared one.
	CheckManaged(a account.Account) error
	CheckDeleted(a account.Account) error

	// SetPassword and RotateKey replace a credential; the old one is dead when they return.
	SetPassword(ctx context.Context, name, text string) error
	RotateKey(ctx context.Context, name string) (account.Account, account.Key, error)
	SetFlag(ctx context.Context, name, flag string, on bool) error
	SetContact(ctx context.Context, name string, change account.ContactChange) (account.Account, error)
	SetLook(ctx context.Context, name string, change account.LookChange) (account.Account, error)
	// MarkDeleted disables an account for good: what it has is removed later.
	MarkDeleted(ctx context.Context, name string) error

	// WebhookSecret returns the secret that signs webhooks, or makes a new one.
	WebhookSecret(ctx context.Context, name string, rotate bool) (redacted.Text, error)

	PutSecret(ctx context.Context, name, secret string, value redacted.Text) (created bool, err error)
	Secrets(ctx context.Context, name string) ([]account.Secret, error)
	RemoveSecret(ctx context.Context, name, secret string) error
}

// openAccount lets a caller to what an account is, and counts the call. The context is for what it
// changes.
func (s *Service) openAccount(ctx context.Context, c Caller, p *Credentials, a access) (context.Context, caller, Meta, error) {
	owner, err := s.authenticateOwner(ctx, c, p, a)
	meta := Meta{Origin: owner.origin}
	if err != nil {
		return ctx, owner, meta, err
	}
	verdict := s.countCall(owner, c, owner.Account.Limits(s.o.Limits))
	meta.Rate = &verdict
	return s.acting(ctx, c, &owner.Principal), owner, meta, verdict.Err()
}

// guard is openAccount for what the password alone does. Where the account is shared, nobody does it.
func (s *Service) guard(ctx context.Context, c Caller, p *Credentials, what string) (context.Context, caller, Meta, error) {
	ctx, owner, meta, err := s.openAccount(ctx, c, p, access{what: what, accepts: passwordAlone})
	if err == nil {
		err = s.o.Owners.CheckManaged(owner.Account)
	}
	return ctx, owner, meta, err
}

// AccountAnswer is an account as its owner sees it.
type AccountAnswer struct {
	Meta
	Account wire.Account
}

func accountAnswer(meta Meta, a *account.Account) AccountAnswer {
	return AccountAnswer{meta, wire.Account{
		Username: a.Username, Email: a.Email, Phone: a.Phone, Plan: string(a.Plan), RequireAuthOnJobs: a.RequireAuthOnJobs, ShowEffects: a.ShowEffects, CreatedAt: a.Created,
		DisplayName: a.Look.DisplayName, Logo: a.Look.Logo, Accent: a.Look.Accent,
	}}
}

// ShowAccount shows an account.
func (s *Service) ShowAccount(ctx context.Context, c Caller, p *Credentials) (AccountAnswer, error) {
	_, owner, meta, err := s.openAccount(ctx, c, p, access{"the account", passwordOrName, scope.Manage})
	if err != nil {
		return AccountAnswer{Meta: meta}, err
	}
	return accountAnswer(meta, &owner.Account), nil
}

// ChangeAccount changes how an account is reached, how its pages look, and its switches. No key does: they say what keys
// are kept from.
func (s *Service) ChangeAccount(ctx context.Context, c Caller, p *Credentials, change wire.AccountChange) (AccountAnswer, error) {
	ctx, owner, meta, err := s.guard(ctx, c, p, "the account")
	if err != nil {
		return AccountAnswer{Meta: meta}, err
	}
	if change.Email != nil || change.Phone != nil {
		// Not verified: nobody has shown that they are the owner's.
		owner.Account, err = s.o.Owners.SetContact(ctx, owner.Account.Username, account.ContactChange{Email: change.Email, Phone: change.Phone})
		if err != nil {
			return AccountAnswer{Meta: meta}, err
		}
	}
	if change.DisplayName != nil || change.Logo != nil || change.Accent != nil {
		if change.Logo != nil && *change.Logo != "" {
			if err := s.checkLogo(ctx, c, owner.Account, *change.Logo); err != nil {
				return AccountAnswer{Meta: meta}, err
			}
		}
		owner.Account, err = s.o.Owners.SetLook(ctx, owner.Account.Username, account.LookChange{DisplayName: change.DisplayName, Logo: change.Logo, Accent: change.Accent})
		if err != nil {
			return AccountAnswer{Meta: meta}, err
		}
	}
	for _, one := range []struct {
		flag     account.Flag
		to, kept *bool
	}{
		{account.FlagRequireAuthOnJobs, change.RequireAuthOnJobs, &owner.Account.RequireAuthOnJobs},
		{account.FlagShowEffects, change.ShowEffects, &owner.Account.ShowEffects},
	} {
		if one.to == nil || *one.to == *one.kept {
			continue
		}
		if err := s.o.Owners.SetFlag(ctx, owner.Account.Username, string(one.flag), *one.to); err != nil {
			return AccountAnswer{Meta: meta}, err
		}
		*one.kept = *one.to
	}
	return accountAnswer(meta, &owner.Account), nil
}

// DeleteAccount deletes an account: its credentials, its domains and its links are dead when it
// returns, its jobs stop, and all that it has is removed from then on.
func (s *Service) DeleteAccount(ctx context.Context, c Caller, p *Credentials) (Meta, error) {
	ctx, owner, meta, err := s.openAccount(ctx, c, p, access{what: "the account", accepts: passwordAlone})
	if err == nil {
		err = s.o.Owners.CheckDeleted(owner.Account)
	}
	if err != nil {
		return meta, err
	}
	if err := s.o.Owners.MarkDeleted(ctx, owner.Account.Username); err != nil {
		return meta, err
	}
	s.o.OnDeleted()
	return meta, nil
}

// SetPassword gives an account another password.
func (s *Service) SetPassword(ctx context.Context, c Caller, p *Credentials, n wire.NewPassword) (Meta, error) {
	ctx, owner, meta, err := s.guard(ctx, c, p, "the password")
	if err != nil {
		return meta, err
	}
	return meta, s.o.Owners.SetPassword(ctx, owner.Account.Username, n.Password.Reveal())
}

// RotateKey gives an account another API key, and shows it.
func (s *Service) RotateKey(ctx context.Context, c Caller, p *Credentials) (ShownKey, error) {
	ctx, owner, meta, err := s.guard(ctx, c, p, "the API key")
	a := ShownKey{Meta: meta, Username: owner.Account.Username}
	if err != nil {
		return a, err
	}
	_, key, err := s.o.Owners.RotateKey(ctx, owner.Account.Username)
	if err != nil {
		return a, err
	}
	a.Key = key.Text
	return a, nil
}

// ShownSecret is the secret that signs an account's webhooks.
type ShownSecret struct {
	Meta
	Secret redacted.Text
}

// WebhookSecret shows the secret that signs an account's webhooks, or a new one where rotate says so:
// then the one before signs beside it for a while.
func (s *Service) WebhookSecret(ctx context.Context, c Caller, p *Credentials, rotate bool) (ShownSecret, error) {
	ctx, owner, meta, err := s.guard(ctx, c, p, "the webhook secret")
	a := ShownSecret{Meta: meta}
	if err != nil {
		return a, err
	}
	secret, err := s.o.Owners.WebhookSecret(ctx, owner.Account.Username, rotate)
	if err == nil && !rotate { // what is not logged is not shown
		err = s.audit(ctx, audit.Event{Account: owner.Account.ID, Act: audit.WebhookSecretShown})
	}
	if err != nil {
		return a, err
	}
	a.Secret = secret
	return a, nil
}

// SecretListing are the names of an account's secrets.
type SecretListing struct {
	Meta
	Secrets []wire.SecretEntry
}

// Secrets lists the secrets of an account by name. Nobody is shown their values.
func (s *Service) Secrets(ctx context.Context, c Caller, p *Credentials) (SecretListing, error) {
	_, owner, meta, err := s.openAccount(ctx, c, p, access{"secrets", passwordOrName, scope.Manage})
	l := SecretListing{Meta: meta}
	if err != nil {
		return l, err
	}
	if err := c.Memory.reservePage(ctx, owner.Account.Limits(s.o.Limits).Secrets); err != nil {
		return l, err
	}
	secrets, err := s.o.Owners.Secrets(ctx, owner.Account.Username)
	for _, one := range secrets {
		l.Secrets = append(l.Secrets, wire.SecretEntry{Name: one.Name, SetAt: one.Set})
	}
	return l, err
}

// SetSecret stores a secret, and reports whether the account had none of the name.
func (s *Service) SetSecret(ctx context.Context, c Caller, p *Credentials, secret string, n wire.NewSecret) (meta Meta, created bool, err error) {
	ctx, owner, meta, err := s.guard(ctx, c, p, "secrets")
	if err != nil {
		return meta, false, err
	}
	created, err = s.o.Owners.PutSecret(ctx, owner.Account.Username, secret, n.Value)
	return meta, created, err
}

// RemoveSecret removes a secret: scripts that begin after the answer find none.
func (s *Service) RemoveSecret(ctx context.Context, c Caller, p *Credentials, secret string) (Meta, error) {
	ctx, owner, meta, err := s.guard(ctx, c, p, "secrets")
	if err != nil {
		return meta, err
	}
	return meta, s.o.Owners.RemoveSecret(ctx, owner.Account.Username, secret)
}
