package service

import (
	"context"
	"strings"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/auth"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/wire"
)

// Authenticator tells who calls. Its errors are coded.
type Authenticator interface {
	// Key checks an API key, as the form convention sends it, and Password a
	// password, as the JSON convention does.
	Key(ctx context.Context, identity, key string, from auth.Source) (auth.Caller, error)
	Password(ctx context.Context, name, password string, from auth.Source) (auth.Caller, error)
	// Page finds the account that lists the page which calls.
	Page(ctx context.Context, from auth.Source) (auth.Caller, error)
	// Admit applies an account's list to the page which calls, if one does, and
	// tells whether that is listed.
	Admit(ctx context.Context, id account.ID, by auth.Auth, from auth.Source) (listed bool, err error)
	// MaySend tells whether a caller may send this script.
	MaySend(ctx context.Context, c auth.Caller, script string) error
}

// Caller is where a call comes from.
type Caller struct {
	auth.Source
	Page    string // the Origin header as it was sent, "" where there was none
	Session string // the id of the session that the caller brought, or ""
	Changes bool   // the call is of a method that changes something
	// Memory is what the call holds until it is answered; nil counts nothing.
	Memory *Held
}

// Proof is the credentials that a caller brought.
type Proof struct {
	By     job.Credential // key, password or token
	Name   string
	Secret wire.Secret
}

// IsKey tells whether a secret is meant as an API key.
func IsKey(secret string) bool { return strings.HasPrefix(secret, account.KeyPrefix) }

// identity is as whom a call runs, and why.
type identity struct {
	auth.Caller
	by     job.Credential
	origin string // of the page that calls, where the account lists it
}

// identify tells as whom a call runs: whom its credentials prove, or without
// any the account that lists the page. Credentials come first; then an account
// that has a list keeps other pages out. That is a rule of the JSON convention:
// who has an API key needs no page to use it.
func (s *Service) identify(ctx context.Context, c Caller, p *Proof) (identity, error) {
	if p == nil {
		page, err := s.o.Auth.Page(ctx, c.Source)
		if err != nil {
			return identity{}, err
		}
		return identity{Caller: page, by: job.ByOrigin, origin: c.Page}, nil
	}
	who, err := s.prove(ctx, c, *p)
	if err != nil {
		return identity{}, err
	}
	origin, err := s.admitPage(ctx, c, who.Account.ID, auth.AccountAuth)
	if err != nil && (p.By != job.ByKey || !fault.Is(err, fault.OriginNotAllowed)) {
		return identity{}, err
	}
	return identity{Caller: who, by: p.By, origin: origin}, nil
}

// prove checks credentials.
func (s *Service) prove(ctx context.Context, c Caller, p Proof) (auth.Caller, error) {
	switch p.By {
	case job.ByKey:
		return s.o.Auth.Key(ctx, p.Name, string(p.Secret), c.Source)
	case job.ByPassword:
		return s.o.Auth.Password(ctx, p.Name, string(p.Secret), c.Source)
	}
	return auth.Caller{}, fault.New(fault.BadCredentials, "the token is not valid")
}

// owned is an account in the hands of who proved to be it by HTTP Basic.
type owned struct {
	account.Account
	by     job.Credential
	origin string // the page's, where it may read the answer
}

const sendPassword = "send the account's username and password by HTTP Basic"

// own lets a caller to what shows an account's things, what in a word. It takes
// any credentials where keys may open it, and the password alone otherwise.
func (s *Service) own(ctx context.Context, c Caller, p *Proof, what string, keys bool) (owned, error) {
	switch {
	case p == nil && keys:
		return owned{}, fault.New(fault.BadCredentials, "send the account's username and password, or its API key, by HTTP Basic")
	case p == nil:
		return owned{}, fault.New(fault.BadCredentials, sendPassword)
	case p.By == job.ByKey && !keys:
		return owned{}, fault.New(fault.BadCredentials, "the API key does not open %s: "+sendPassword, what)
	}
	who, err := s.prove(ctx, c, *p)
	if err != nil {
		return owned{}, err
	}
	if err := c.Memory.Assign(int64(who.Account.ID)); err != nil {
		return owned{}, err
	}
	o := owned{Account: who.Account, by: p.By}
	o.origin, err = s.admitPage(ctx, c, who.Account.ID, byBasic(c, who))
	return o, err
}

// byBasic is what credentials of HTTP Basic count for. A browser that remembers
// them adds them to whatever any page sends, so they change nothing for a page
// that the account does not list. The development account's are not taken from
// foreign pages at all.
func byBasic(c Caller, who auth.Caller) auth.Auth {
	if c.Changes && who.Way != auth.ByDevelopment {
		return auth.AmbientAuth
	}
	return auth.AccountAuth
}

// countOwn counts what an owner does as a call.
func (s *Service) countOwn(o owned, c Caller) admit.Verdict {
	return s.count(identity{Caller: auth.Caller{Account: o.Account}, by: o.by, origin: o.origin}, c, s.o.Limits(o.LimitPlan()))
}

// admitPage keeps pages out that an account does not list and that by does not
// let pass all the same. It returns the origin of a page that is listed.
func (s *Service) admitPage(ctx context.Context, c Caller, id account.ID, by auth.Auth) (string, error) {
	listed, err := s.o.Auth.Admit(ctx, id, by, c.Source)
	if err != nil || !listed {
		return "", err
	}
	return c.Page, nil
}
