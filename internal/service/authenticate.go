package service

import (
	"context"
	"strings"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/auth"
	"ql/internal/fault"
	"ql/internal/principal"
	"ql/internal/redacted"
	"ql/internal/signin"
)

// Authenticator tells who calls. Its errors are coded.
type Authenticator interface {
	// Key checks an API key, as the form convention sends it, and Password a
	// password, as the JSON convention does.
	Key(ctx context.Context, identity, key string, from auth.Source) (principal.Principal, error)
	Password(ctx context.Context, name, password string, from auth.Source) (principal.Principal, error)
	// NamedKey checks a named key, which alone says whose it is.
	NamedKey(ctx context.Context, key string, from auth.Source) (principal.Principal, error)
	// FlushUses returns when the uses of named keys so far are stored.
	FlushUses(ctx context.Context) error
	// Page finds the account that lists the page which calls.
	Page(ctx context.Context, from auth.Source) (principal.Principal, error)
	// Visitor is who calls an account by its name, without credentials of it.
	Visitor(ctx context.Context, a account.Account, from auth.Source) (principal.Principal, error)
	// Admit applies an account's list to the page which calls, if one does, and
	// tells whether that is listed. Ambient credentials are those that a browser may
	// have added on its own.
	Admit(ctx context.Context, id account.ID, by principal.Credential, ambient bool, from auth.Source) (listed bool, err error)
	// MaySend tells whether a caller may send this script.
	MaySend(ctx context.Context, p principal.Principal, script string) error
}

// Dashboard tells who is signed in to the dashboard. Its errors are coded.
type Dashboard interface {
	// Token checks a token of the dashboard, with the name of its account, or nil for any.
	Token(ctx context.Context, name *string, token string, from auth.Source) (principal.Principal, error)
	// SignedIn tells who is signed in by the secret of a cookie, and Confirm checks their password.
	SignedIn(ctx context.Context, secret redacted.Text, from auth.Source) (principal.Principal, signin.SignIn, error)
	Confirm(ctx context.Context, p *principal.Principal, secret redacted.Text, from auth.Source) error
	// Developer is the developer on this machine, whom IsDashboard says to call.
	Developer(ctx context.Context, from auth.Source) (principal.Principal, error)
	IsDashboard(from auth.Source) bool
}

// Caller is where a call comes from.
type Caller struct {
	auth.Source
	Page    string // the Origin header as it was sent, "" where there was none
	Session string // the id of the session that the caller brought, or ""
	// Account is the username that the call is meant for, where it says so: the key of another
	// account then opens nothing.
	Account string
	// Counted says that the call was counted against its rates before, here or at another node.
	Counted bool
	// Memory is what the call holds until it is answered; nil counts nothing.
	Memory *CallMemory
}

// Credentials is the credentials that a caller brought.
type Credentials struct {
	By     principal.Credential // key, named key, password or token
	Name   string               // "" for a named key
	Secret redacted.Text
	// Unnamed says of a token that it was sent without a name: it alone says whose it is.
	Unnamed bool
	// Ambient says that a browser may have added them on its own, and that whatever is asked
	// for may change something.
	Ambient bool
}

// IsKey tells whether a secret is meant as an API key.
func IsKey(secret string) bool { return strings.HasPrefix(secret, account.KeyPrefix) }

// caller is as whom a call runs.
type caller struct {
	principal.Principal
	origin string // of the page that calls, where the account lists it
}

// authenticate tells as whom a call runs: whom its credentials prove, or without
// any the account that lists the page. Credentials come first; then an account
// that has a list keeps other pages out. That is a rule of the JSON convention:
// who has an API key needs no page to use it.
func (s *Service) authenticate(ctx context.Context, c Caller, p *Credentials) (caller, error) {
	if p == nil {
		page, err := s.o.Auth.Page(ctx, c.Source)
		if err != nil {
			return caller{}, err
		}
		page.Session = c.Session
		return caller{page, c.Page}, nil
	}
	who, err := s.checkCredentials(ctx, c, *p)
	if err != nil {
		return caller{}, err
	}
	origin, err := s.admitPage(ctx, c, who.Account.ID, p.By, p.Ambient && !who.Development)
	if err != nil && (p.By != principal.ByKey || p.Ambient || !fault.Is(err, fault.OriginNotAllowed)) {
		return caller{}, err
	}
	who.Session = c.Session
	return caller{who, origin}, nil
}

// checkCredentials checks credentials.
func (s *Service) checkCredentials(ctx context.Context, c Caller, p Credentials) (principal.Principal, error) {
	switch p.By {
	case principal.ByKey:
		return s.o.Auth.Key(ctx, p.Name, p.Secret.Reveal(), c.Source)
	case principal.ByPassword:
		return s.o.Auth.Password(ctx, p.Name, p.Secret.Reveal(), c.Source)
	case principal.ByNamedKey:
		who, err := s.o.Auth.NamedKey(ctx, p.Secret.Reveal(), c.Source)
		if err == nil && c.Account != "" && !isNamed(&who.Account, c.Account) {
			return principal.Principal{}, fault.New(fault.BadCredentials, "the key is of another account than %.80q, for whom the header QL-Account means the call", c.Account)
		}
		return who, err
	case principal.ByToken:
		name := &p.Name
		if p.Unnamed {
			name = nil
		}
		return s.o.Dashboard.Token(ctx, name, p.Secret.Reveal(), c.Source)
	}
	return principal.Principal{}, fault.New(fault.BadCredentials, "credentials of this kind open nothing here")
}

// isNamed tells whether a name leads to an account, as for its password.
func isNamed(a *account.Account, name string) bool {
	return strings.EqualFold(name, a.Username) || a.Email != "" && strings.EqualFold(name, a.Email) || a.Phone != "" && name == a.Phone
}

// access is what opens a thing of an account.
type access struct {
	what    string // the thing, in a word
	accepts principal.Set
	scope   scope.Kind // that a named key needs; 0 where the operation tells
}

// The credentials that open an account's things.
var (
	anyCredential  = principal.Set{principal.ByKey, principal.ByNamedKey, principal.ByPassword, principal.ByToken}
	passwordOrName = principal.Set{principal.ByNamedKey, principal.ByPassword, principal.ByToken}
	passwordAlone  = principal.Set{principal.ByPassword}
)

// fitting says which credentials do.
func (a access) fitting() string {
	switch {
	case a.accepts.Has(principal.ByKey):
		return "the account's username and password, or its API key, by HTTP Basic, or a named key as Authorization: Bearer"
	case a.accepts.Has(principal.ByNamedKey):
		return "the account's username and password by HTTP Basic, or a named key as Authorization: Bearer"
	}
	return "the account's username and password by HTTP Basic"
}

// authenticateOwner lets the owner of an account, or a named key, to what shows the account's
// things.
func (s *Service) authenticateOwner(ctx context.Context, c Caller, p *Credentials, a access) (caller, error) {
	switch {
	case p == nil:
		return caller{}, fault.New(fault.BadCredentials, "credentials are missing: send %s", a.fitting())
	case p.By == principal.ByKey && !a.accepts.Has(principal.ByKey):
		return caller{}, fault.New(fault.BadCredentials, "the API key does not open %s: send %s", a.what, a.fitting())
	}
	who, err := s.checkCredentials(ctx, c, *p)
	if err != nil {
		return caller{}, err
	}
	if err := c.Memory.Assign(int64(who.Account.ID)); err != nil {
		return caller{}, err
	}
	origin, err := s.admitPage(ctx, c, who.Account.ID, p.By, isAmbient(c, &who))
	owner := caller{who, origin}
	switch {
	case err != nil:
		return owner, err
	case p.By == principal.ByToken && !a.accepts.Has(principal.ByToken) && who.Confirmed:
		return owner, nil
	case p.By == principal.ByToken && !a.accepts.Has(principal.ByToken):
		return owner, fault.New(fault.ConfirmRequired, "this takes the password again, by POST /v1/session/confirm: it counts for 15 minutes")
	case !a.accepts.Has(principal.ByNamedKey) && c.IsForeignPage():
		// Listed or not: a browser adds a password that it remembers to what any page sends.
		owner.origin = ""
		return owner, fault.New(fault.OriginNotAllowed, "pages of other origins do not do this to %s, listed or not: send it from a program", a.what)
	case !a.accepts.Has(p.By): // what the owner alone does, who proves it anew
		return owner, fault.New(fault.ConfirmRequired, "no key does this to %s, whatever its scopes: send %s", a.what, a.fitting())
	case who.By == principal.ByNamedKey && !who.Scopes.Has(a.scope):
		return owner, scopeMissing(&who, a.scope.String())
	}
	return owner, nil
}

// scopeMissing is the answer to a named key that may not do what it is sent for.
func scopeMissing(who *principal.Principal, needed string) error {
	return fault.New(fault.ScopeMissing, "the key %q may not do this, which takes the scope %s: it has %s", who.Key.Name, needed, strings.Join(who.Scopes.Texts(), ", "))
}

// checkMayRun says why a caller may not run a published program by its name, or, for "", a script
// that it sends.
func checkMayRun(who *principal.Principal, program string) error {
	switch {
	case who.By != principal.ByNamedKey || who.MayRun(program):
		return nil
	case program == "":
		return scopeMissing(who, scope.Run.String())
	}
	return scopeMissing(who, scope.Run.String()+" or "+scope.OfProgram(program))
}

// isAmbient tells whether a browser may have added credentials of HTTP Basic on its
// own, to a request that changes something: it adds those that it remembers to
// whatever any page sends, so they change nothing for a page that the account does
// not list. The development account's are not taken from foreign pages at all, and a named key is
// sent by nobody but who has it.
func isAmbient(c Caller, who *principal.Principal) bool {
	return c.Changes && !who.Development && who.By != principal.ByNamedKey && who.By != principal.ByToken
}

// admitPage keeps pages out that an account does not list and that by does not
// let pass all the same. It returns the origin of a page that is listed.
func (s *Service) admitPage(ctx context.Context, c Caller, id account.ID, by principal.Credential, ambient bool) (string, error) {
	listed, err := s.o.Auth.Admit(ctx, id, by, ambient, c.Source)
	if err != nil || !listed {
		return "", err
	}
	return c.Page, nil
}
