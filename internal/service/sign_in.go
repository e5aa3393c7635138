package service

import (
	"context"
	"errors"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/fault"
	"ql/internal/principal"
	"ql/internal/redacted"
	"ql/internal/signin"
	"ql/internal/wire"
)

// SignIns are those of the dashboard. Its errors are those of signin.SignIns.
type SignIns interface {
	Start(ctx context.Context, a account.Account) (signin.SignIn, redacted.Text, error)
	Token(found *signin.SignIn) (token redacted.Text, expires time.Time)
	Confirm(ctx context.Context, found *signin.SignIn) error
	End(ctx context.Context, secret redacted.Text) error
	// UseLink tells whether a token is that of the link that signs one browser in, once.
	UseLink(token redacted.Text) bool
}

// signInsPerMinute is how often somebody may sign in to an account from an address: a password that
// was just checked costs no hash, and each is a change of the store.
const signInsPerMinute = 30

// SignInAnswer is who is signed in.
type SignInAnswer struct {
	Meta
	Session wire.Session
	Secret  redacted.Text // for the cookie, "" where that stays as it is
}

func (s *Service) sessionOf(p *principal.Principal, found *signin.SignIn) wire.Session {
	session := wire.Session{Username: p.Account.Username, Admin: p.Account.Admin, Dev: p.Development, ExpiresAt: found.ExpiresAt()}
	if found.IsConfirmed(s.o.Clock()) {
		session.ConfirmedUntil = found.ConfirmedUntil()
	}
	return session
}

// SignIn signs a browser in to the account that a name and a password prove. Before is the secret
// that it had until now, "" for none: who signs in anew leaves no earlier sign-in behind.
func (s *Service) SignIn(ctx context.Context, c Caller, n wire.SignIn, before redacted.Text) (SignInAnswer, error) {
	who, err := s.o.Auth.Password(ctx, n.Username, n.Password.Reveal(), c.Source)
	if err != nil {
		return SignInAnswer{}, err
	}
	return s.startSignIn(ctx, c, &who, before)
}

// SignInDeveloper signs the developer in on this machine, who needs no password.
func (s *Service) SignInDeveloper(ctx context.Context, c Caller, before redacted.Text) (SignInAnswer, error) {
	if !s.o.Dashboard.IsDashboard(c.Source) {
		return SignInAnswer{}, fault.New(fault.OriginNotAllowed, "only a page of the dashboard signs in without a password")
	}
	who, err := s.o.Dashboard.Developer(ctx, c.Source)
	if err != nil {
		return SignInAnswer{}, err
	}
	return s.startSignIn(ctx, c, &who, before)
}

// SignInByLink signs in whoever has the link that the service has shown to who started it.
func (s *Service) SignInByLink(ctx context.Context, c Caller, n wire.LinkToken, before redacted.Text) (SignInAnswer, error) {
	if !s.o.Dashboard.IsDashboard(c.Source) {
		return SignInAnswer{}, fault.New(fault.OriginNotAllowed, "only a page of the dashboard signs in by a link: open it at the address that the service has printed, or set base-url to where you open it")
	}
	a := SignInAnswer{Meta: s.countLink(c)}
	if err := a.Rate.Err(); err != nil {
		return a, err
	}
	if !s.o.SignIns.UseLink(n.Token) {
		return a, fault.New(fault.NotFound, "the link does not count: it was used, or its time is over; sign in with the name and password of the development account, or start the service again for another link")
	}
	who, err := s.o.Dashboard.Developer(ctx, c.Source)
	if err != nil {
		return a, err
	}
	return s.startSignIn(ctx, c, &who, before)
}

// SignsInByLink tells whether a link signs in to the development account.
func (s *Service) SignsInByLink() bool { return s.o.SignsInByLink }

// SignsInDevelopers tells whether whoever is at this machine signs in without a password.
func (s *Service) SignsInDevelopers() bool { return s.o.SignsInDevelopers }

func (s *Service) startSignIn(ctx context.Context, c Caller, who *principal.Principal, before redacted.Text) (SignInAnswer, error) {
	const rate = "sign_ins"
	verdict := s.o.Limiter.Allow(admit.BySourceOf(rate, int64(who.Account.ID), c.Addr), admit.Rate{Name: rate, Count: signInsPerMinute, Per: time.Minute})
	a := SignInAnswer{Meta: Meta{Rate: &verdict}}
	if err := verdict.Err(); err != nil {
		return a, err
	}
	if before != "" {
		if err := s.o.SignIns.End(ctx, before); err != nil {
			return a, err
		}
	}
	found, secret, err := s.o.SignIns.Start(ctx, who.Account)
	switch {
	case errors.Is(err, account.ErrConflict), errors.Is(err, account.ErrNotFound):
		return a, fault.New(fault.BadCredentials, "the account has changed in this moment: sign in again")
	case err != nil:
		return a, err
	}
	a.Session, a.Secret = s.sessionOf(who, &found), secret
	return a, nil
}

// signedIn tells who is signed in by the secret of a cookie, and counts the call.
func (s *Service) signedIn(ctx context.Context, c Caller, secret redacted.Text) (principal.Principal, signin.SignIn, Meta, error) {
	who, found, err := s.o.Dashboard.SignedIn(ctx, secret, c.Source)
	if err != nil {
		return who, found, Meta{}, err
	}
	verdict := s.countOften(rateSignIn, c, who.Account)
	return who, found, Meta{Rate: &verdict}, verdict.Err()
}

// ShowSignIn tells who is signed in.
func (s *Service) ShowSignIn(ctx context.Context, c Caller, secret redacted.Text) (SignInAnswer, error) {
	who, found, meta, err := s.signedIn(ctx, c, secret)
	a := SignInAnswer{Meta: meta}
	if err == nil {
		a.Session = s.sessionOf(&who, &found)
	}
	return a, err
}

// SignOut ends a sign-in: its tokens are dead when it returns. Who is not signed in is none the
// worse.
func (s *Service) SignOut(ctx context.Context, secret redacted.Text) error {
	if secret == "" {
		return nil
	}
	return s.o.SignIns.End(ctx, secret)
}

// TokenAnswer is a token for who is signed in.
type TokenAnswer struct {
	Meta
	Token wire.SessionToken
}

// SignInToken gives a token to who is signed in.
func (s *Service) SignInToken(ctx context.Context, c Caller, secret redacted.Text) (TokenAnswer, error) {
	who, found, meta, err := s.signedIn(ctx, c, secret)
	a := TokenAnswer{Meta: meta}
	if err != nil {
		return a, err
	}
	a.Token.Username = who.Account.Username
	a.Token.Token, a.Token.ExpiresAt = s.o.SignIns.Token(&found)
	return a, nil
}

// ConfirmSignIn takes the password again of who is signed in: for a while it counts for what asks
// for it.
func (s *Service) ConfirmSignIn(ctx context.Context, c Caller, secret, password redacted.Text) (Meta, error) {
	who, found, meta, err := s.signedIn(ctx, c, secret)
	if err != nil {
		return meta, err
	}
	if err := s.o.Dashboard.Confirm(ctx, &who, password, c.Source); err != nil {
		if fault.Is(err, fault.BadCredentials) {
			// Not 401, which says that nobody is signed in.
			err = fault.New(fault.ConfirmRequired, "the password is wrong")
		}
		return meta, err
	}
	err = s.o.SignIns.Confirm(ctx, &found)
	if errors.Is(err, signin.ErrNone) { // since it was found
		err = fault.New(fault.BadCredentials, "the sign-in is over: sign in again")
	}
	return meta, err
}
