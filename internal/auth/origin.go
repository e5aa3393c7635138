package auth

import (
	"context"
	"errors"

	"ql/internal/account"
	"ql/internal/fault"
	"ql/internal/hostname"
	"ql/internal/principal"
)

// Origin is the Origin header of a request. The zero Origin is that of a
// request without one.
type Origin struct {
	kind originKind
	page hostname.Origin
}

type originKind uint8

const (
	originNone    originKind = iota
	originPage               // a page's, as a browser sends it
	originInvalid            // null, or nothing that names a page
)

// ReadOrigin reads the values of a request's Origin header.
func ReadOrigin(values []string) Origin {
	switch len(values) {
	case 0:
		return Origin{}
	case 1:
		page, err := hostname.ParseOrigin(values[0])
		if err == nil {
			return Origin{originPage, page}
		}
	}
	return Origin{kind: originInvalid}
}

// Present tells whether the request has the header, whatever is in it.
func (o Origin) Present() bool { return o.kind != originNone }

// isOf tells whether a page of an origin has sent it. A service on this machine is called by any of
// the machine's names.
func (o Origin) isOf(own hostname.Origin) bool {
	return o.kind == originPage && own != (hostname.Origin{}) && unnamed(own) == unnamed(o.page)
}

// Question is what decides whether the whitelists let a request pass.
type Question struct {
	// By is what the request proved itself by: ByOrigin where it has no
	// credentials and nothing else that names an account, ByNobody where it names
	// a job of the account and needs none.
	By principal.Credential
	// Ambient says that a browser may have added the credentials on its own, to a
	// request that changes something.
	Ambient   bool
	Origin    Origin
	FetchSite string // the Sec-Fetch-Site header
	Reads     bool   // the request is of a method that changes nothing
	// List is the whole list of the account that the request names by
	// credentials or job; without either, every entry that covers the Origin's
	// host.
	List      []account.Domain
	Dashboard hostname.Origin // counts as listed for tokens, and for nothing else
}

// Outcome is what Decide says.
type Outcome uint8

// The outcomes.
const (
	Allowed      Outcome = iota + 1
	Unauthorized         // 401
	Forbidden            // 403
)

// Decision is the answer to a Question. Listed tells whether the Origin is on
// the list of the account that the request runs as, so that its page may read
// the answer; Domain is then the entry, but for the dashboard.
type Decision struct {
	Outcome Outcome
	Listed  bool
	Domain  account.Domain
}

// Decide applies the rules of the whitelist, after credentials were found right.
// With them, or a job's id, the Origin must
// be on the account's list, where the account has a list and the request an
// Origin. Where a browser may have added them on its own, only a listed page
// changes anything, whether there is a list or not. Without any, the Origin names
// the account, so there must be one that is on a list.
func Decide(q Question) Decision {
	entry, listed := account.Domain{}, false
	if q.Origin.kind == originPage {
		entry, listed = account.Match(q.List, q.Origin.page)
	}
	onList := Decision{Allowed, true, entry}
	switch q.By {
	case principal.ByKey, principal.ByNamedKey, principal.ByPassword, principal.ByNobody:
		foreign := q.Origin.Present() && len(q.List) > 0
		if q.Ambient {
			foreign = q.Origin.Present() || q.FetchSite == "cross-site" || q.FetchSite == "same-site"
		}
		switch {
		case listed:
			return onList
		case foreign:
			return Decision{Outcome: Forbidden}
		}
		return Decision{Outcome: Allowed}
	case principal.ByToken:
		switch {
		case !q.Origin.Present() && q.Reads && q.FetchSite == "same-origin": // browsers leave it out there
			return Decision{Outcome: Allowed}
		case !q.Origin.Present():
			return Decision{Outcome: Unauthorized}
		case !q.Origin.isOf(q.Dashboard):
			return Decision{Outcome: Forbidden}
		}
		return Decision{Outcome: Allowed, Listed: true}
	case principal.ByOrigin:
		switch {
		case !q.Origin.Present():
			return Decision{Outcome: Unauthorized}
		case !listed, q.FetchSite == "none": // a browser has no page to name there
			return Decision{Outcome: Forbidden}
		}
		return onList
	default:
		return Decision{Outcome: Unauthorized}
	}
}

var (
	errNoAuth   = fault.New(fault.BadCredentials, "credentials are missing: send auth, or call from a page of a listed domain")
	errUnlisted = fault.New(fault.OriginNotAllowed, "pages of this origin may not call here: its domain is not on the account's list")
)

// errPlain is the answer to a page whose call others could read and change on
// its way: pages prove who they are by nothing but their origin.
var errPlain = fault.New(fault.OriginNotAllowed, "pages call by https only, and this call came by http: use the https address of the service")

// isPrivate tells whether nobody between could read or change the request.
func (s Source) isPrivate() bool { return s.Encrypted || s.Addr.IsLoopback() }

// err is the answer to a request that is not allowed.
func (d Decision) err() error {
	switch d.Outcome {
	case Allowed:
		return nil
	case Forbidden:
		return errUnlisted
	default:
		return errNoAuth
	}
}

// Page finds the account that a request without credentials runs as: the one
// that has its Origin on its list.
func (a *Authenticator) Page(ctx context.Context, from Source) (principal.Principal, error) {
	list, err := a.entriesFor(ctx, from.Origin)
	if err != nil {
		return principal.Principal{}, err
	}
	d := Decide(Question{By: principal.ByOrigin, Origin: from.Origin, FetchSite: from.FetchSite, List: list})
	if err := d.err(); err != nil {
		return principal.Principal{}, err
	}
	if a.isExposed(d, from) {
		return principal.Principal{}, errPlain
	}
	row, err := a.listingAccount(ctx, d)
	if err != nil {
		return principal.Principal{}, err
	}
	return principal.Page(row, d.Domain), nil
}

// Visitor is who calls an account by its name, without credentials: a page of a domain
// that it lists, or else anybody.
func (a *Authenticator) Visitor(ctx context.Context, row account.Account, from Source) (principal.Principal, error) {
	if !from.Origin.Present() {
		return principal.Anyone(row), nil
	}
	list, err := a.store.Domains(ctx, row.ID)
	if err != nil {
		return principal.Principal{}, err
	}
	d := Decide(Question{By: principal.ByOrigin, Origin: from.Origin, FetchSite: from.FetchSite, List: list})
	if d.Outcome != Allowed || a.isExposed(d, from) {
		return principal.Anyone(row), nil
	}
	return principal.Page(row, d.Domain), nil
}

// isExposed tells whether others could read and change the call of a page on its way.
func (a *Authenticator) isExposed(d Decision, from Source) bool {
	return !a.o.Plain && !from.isPrivate() && d.Domain.Pattern.Scheme != "http"
}

// listingAccount returns the account that lists the Origin of a decision. The lists of
// one that is disabled let nobody in.
func (a *Authenticator) listingAccount(ctx context.Context, d Decision) (account.Account, error) {
	row, err := a.store.ByID(ctx, d.Domain.Account)
	if errors.Is(err, account.ErrNotFound) || err == nil && row.Disabled {
		return account.Account{}, errUnlisted
	}
	return row, err
}

// Preflight tells whether pages of the Origin may call at all, as a browser
// asks before it sends credentials or not.
func (a *Authenticator) Preflight(ctx context.Context, origin Origin) error {
	list, err := a.entriesFor(ctx, origin)
	if err != nil {
		return err
	}
	d := Decide(Question{By: principal.ByOrigin, Origin: origin, List: list})
	if d.Outcome != Allowed {
		return errUnlisted
	}
	_, err = a.listingAccount(ctx, d)
	return err
}

// Admit applies the whitelist of an account that a request named, by its
// credentials or a job's id (ByNobody); ambient is as in Question. Listed tells
// whether the page may read the answer.
func (a *Authenticator) Admit(ctx context.Context, id account.ID, by principal.Credential, ambient bool, from Source) (listed bool, err error) {
	if by == principal.ByToken { // whose page Token has checked
		return from.Origin.Present(), nil
	}
	q := Question{By: by, Ambient: ambient, Origin: from.Origin, FetchSite: from.FetchSite}
	if !from.Origin.Present() { // no list names it
		return false, Decide(q).err()
	}
	if q.List, err = a.store.Domains(ctx, id); err != nil {
		return false, err
	}
	d := Decide(q)
	if d.Listed && by == principal.ByNobody { // credentials have told already whether it is disabled
		if _, err := a.listingAccount(ctx, d); err != nil {
			return false, err
		}
	}
	return d.Listed, d.err()
}

// MaySend tells whether a caller may send a script: pages of a published-only
// domain send published ones alone.
func (a *Authenticator) MaySend(ctx context.Context, p principal.Principal, script string) error {
	if p.By != principal.ByOrigin || !p.Domain.PublishedOnly {
		return nil
	}
	for _, hash := range account.ScriptHashes(script) {
		if ok, err := a.store.HasPublished(ctx, p.Account.ID, hash, a.o.Now()); ok || err != nil {
			return err
		}
	}
	return fault.New(fault.ScriptNotPublished, "pages of %s may send published scripts only, and this is none", p.Domain.Pattern)
}

// entriesFor returns the entries of any account that cover the Origin's host.
func (a *Authenticator) entriesFor(ctx context.Context, o Origin) ([]account.Domain, error) {
	if o.kind != originPage {
		return nil, nil
	}
	return a.store.DomainsOf(ctx, o.page.Host)
}
