package auth

import (
	"context"
	"errors"
	"strings"

	"ql/internal/account"
	"ql/internal/fault"
	"ql/internal/principal"
	"ql/internal/redacted"
	"ql/internal/signin"
)

// SignIns finds who is signed in to the dashboard. Its errors are those of signin.SignIns.
type SignIns interface {
	Find(ctx context.Context, secret redacted.Text) (account.Account, signin.SignIn, error)
	ByToken(ctx context.Context, token string) (account.Account, signin.SignIn, error)
}

var (
	errNotSignedIn  = fault.New(fault.BadCredentials, "nobody is signed in, or the sign-in is over: sign in by POST /v1/session")
	errWrongToken   = fault.New(fault.BadCredentials, "the token is wrong, or its sign-in is over: sign in again")
	errExpiredToken = fault.New(fault.BadCredentials, "the token has expired: POST /v1/session/token gives another to who is signed in")
	errTokenPage    = fault.New(fault.OriginNotAllowed, "tokens are taken from pages of the dashboard alone: programs send a named key")
	errTokenless    = fault.New(fault.BadCredentials, "tokens are taken from pages of the dashboard alone, and no browser says that one has sent this: programs send a named key")
)

// SignedIn tells who is signed in by the secret of a cookie. A wrong one counts as a wrong key does.
func (a *Authenticator) SignedIn(ctx context.Context, secret redacted.Text, from Source) (principal.Principal, signin.SignIn, error) {
	if a.o.SignIns == nil || secret == "" {
		return principal.Principal{}, signin.SignIn{}, errNotSignedIn
	}
	row, found, err := a.o.SignIns.Find(ctx, secret)
	if errors.Is(err, signin.ErrNone) {
		if wait := a.throttle.countWrongKey(ctx, from.Addr, a.o.Now()); wait > 0 {
			return principal.Principal{}, signin.SignIn{}, tooMany(wait)
		}
		return principal.Principal{}, signin.SignIn{}, errNotSignedIn
	}
	if err != nil {
		return principal.Principal{}, signin.SignIn{}, err
	}
	p, err := a.signedIn(row, &found, principal.BySignIn, from)
	return p, found, err
}

// signedIn is who is signed in. The development account is that of the settings: where these open
// it no more, nothing does.
func (a *Authenticator) signedIn(row account.Account, found *signin.SignIn, by principal.Credential, from Source) (principal.Principal, error) {
	p := principal.Owner(row, by)
	p.Confirmed = found.IsConfirmed(a.o.Now())
	if row.Username != account.Development {
		return p, nil
	}
	if a.o.Development == nil {
		return principal.Principal{}, errNotSignedIn
	}
	if err := a.checkDevelopmentPage(from); err != nil {
		return principal.Principal{}, err
	}
	p.Development = true
	return p, nil
}

// Token checks a token of the dashboard, with the name of its account, or nil where none was sent.
// It counts in calls of the dashboard's own pages alone. A right one is never throttled: it cannot
// be guessed.
func (a *Authenticator) Token(ctx context.Context, name *string, token string, from Source) (principal.Principal, error) {
	p, err := a.token(ctx, name, token, from)
	a.reportFailure(principal.ByToken, "", 0, from, err)
	return p, err
}

func (a *Authenticator) token(ctx context.Context, name *string, token string, from Source) (principal.Principal, error) {
	p, err := a.byToken(ctx, name, token, from)
	if !errors.Is(err, errWrongToken) {
		return p, err
	}
	if wait := a.throttle.countWrongKey(ctx, from.Addr, a.o.Now()); wait > 0 {
		return principal.Principal{}, tooMany(wait)
	}
	return principal.Principal{}, err
}

func (a *Authenticator) byToken(ctx context.Context, name *string, token string, from Source) (principal.Principal, error) {
	if a.o.SignIns == nil {
		return principal.Principal{}, errWrongToken
	}
	row, found, err := a.o.SignIns.ByToken(ctx, token)
	switch {
	case errors.Is(err, signin.ErrNone):
		return principal.Principal{}, errWrongToken
	case errors.Is(err, signin.ErrExpired):
		return principal.Principal{}, errExpiredToken
	case err != nil:
		return principal.Principal{}, err
	case name != nil && !a.isNameOf(*name, &row):
		return principal.Principal{}, errWrongToken
	}
	if err := a.checkTokenPage(from); err != nil {
		return principal.Principal{}, err
	}
	return a.signedIn(row, &found, principal.ByToken, from)
}

// isNameOf tells whether a name leads to an account, as it would with the password.
func (a *Authenticator) isNameOf(name string, row *account.Account) bool {
	if row.Username == account.Development {
		return name == row.Username || a.o.Development != nil && name == a.o.Development.Username
	}
	return strings.EqualFold(name, row.Username) || row.EmailVerified && strings.EqualFold(name, row.Email) || row.PhoneVerified && name == row.Phone
}

// checkTokenPage refuses tokens that no page of the dashboard sends.
func (a *Authenticator) checkTokenPage(from Source) error {
	switch Decide(Question{By: principal.ByToken, Origin: from.Origin, FetchSite: from.FetchSite, Reads: !from.Changes, Dashboard: a.o.Dashboard}).Outcome {
	case Allowed:
		return nil
	case Forbidden:
		return errTokenPage
	default:
		return errTokenless
	}
}

// Confirm checks the password of somebody who is signed in.
func (a *Authenticator) Confirm(ctx context.Context, p *principal.Principal, secret redacted.Text, from Source) error {
	name := p.Account.Username
	if p.Development && a.o.Development != nil {
		name = a.o.Development.Username
	}
	proved, err := a.Password(ctx, name, secret.Reveal(), from)
	if err == nil && proved.Account.ID != p.Account.ID {
		err = errWrong
	}
	return err
}

// Developer is the developer on this machine, who needs no password; the caller has checked that it
// is one.
func (a *Authenticator) Developer(ctx context.Context, from Source) (principal.Principal, error) {
	dev := a.o.Development
	if dev == nil {
		return principal.Principal{}, errWrong
	}
	p, _, err := a.development(ctx, dev.Username, dev.Password.Reveal(), principal.ByPassword, from)
	return p, err
}

// IsDashboard tells whether a page of the dashboard sends a request that changes something.
func (a *Authenticator) IsDashboard(from Source) bool {
	return from.FetchSite == "same-origin" && from.Origin.isOf(a.o.Dashboard)
}
