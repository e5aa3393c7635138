// Package principal says who calls: the account that a call acts for, the credential by which that
// was proved, and what it may do. Checking credentials is auth's, and what a scope allows is
// enforced where it is done.
package principal

import (
	"slices"
	"strconv"

	"ql/internal/account"
	"ql/internal/account/scope"
)

// Credential is what a caller proves itself by. It is stored with jobs and with answers to their
// prompts.
type Credential string

// The credentials.
const (
	ByKey      Credential = "key"       // the account's API key, which sees only the jobs that it started
	ByNamedKey Credential = "named_key" // one of its named keys, which may do what its scopes say
	ByPassword Credential = "password"  // the account's password
	ByToken    Credential = "token"     // a token of the dashboard, which acts as the owner
	BySignIn   Credential = "sign_in"   // the cookie of a browser that is signed in, which opens its own routes alone
	ByOrigin   Credential = "origin"    // a page of a listed domain, by its Origin header
	BySchedule Credential = "schedule"  // none: a schedule that the owner set
	ByNobody   Credential = "none"      // none: whoever knows the address of a job, a prompt or a site
)

// Set is a set of credentials, such as those that an endpoint takes.
type Set []Credential

// Has tells whether a credential is in the set.
func (s Set) Has(c Credential) bool { return slices.Contains(s, c) }

// Key is a named key as those who act on it know it. The zero Key is none.
type Key struct {
	ID   account.NamedKeyID
	Name string
}

// Principal is who a call acts for. The zero Principal is nobody.
type Principal struct {
	Account account.Account // as read for this call
	By      Credential
	Session string    // the id of the visitor's session that came with the call, or ""
	Scopes  scope.Set // what the caller may do
	Key     Key       // ByNamedKey alone

	Domain      account.Domain // the entry of the account's list, ByOrigin alone
	Development bool           // by the credentials of the development account
	Confirmed   bool           // the password was entered a short while ago: ByToken and BySignIn alone
}

// Owner is the owner of an account, by a credential of its own, who may do everything.
func Owner(a account.Account, by Credential) Principal {
	return Principal{Account: a, By: by, Scopes: scope.All()}
}

// NamedKey is whoever has one of an account's named keys.
func NamedKey(a account.Account, k account.NamedKey) Principal {
	return Principal{Account: a, By: ByNamedKey, Scopes: k.Scopes, Key: Key{k.ID, k.Name}}
}

// Page is a page of a listed domain. Anybody who knows the domain can call as its pages, so it may
// run scripts, within what the entry of the list allows, and do nothing else.
func Page(a account.Account, d account.Domain) Principal {
	return Principal{Account: a, By: ByOrigin, Scopes: scope.Of(scope.Run), Domain: d}
}

// Anyone is whoever calls an account by its name, without proof of anything.
func Anyone(a account.Account) Principal { return Principal{Account: a, By: ByNobody} }

// IsOwner tells whether the caller is the account's owner, by whatever credential of its own. A
// named key is not: it has what its owner gave it, and never the acts that ask for the password.
func (p *Principal) IsOwner() bool {
	return p.By == ByPassword || p.By == ByKey || p.By == ByToken
}

// ActsForOwner tells whether scripts of the caller have the owner's rights: they read secrets and
// run machines. A named key's have them, since the owner made it to run them, and a schedule's.
func (p *Principal) ActsForOwner() bool {
	return p.IsOwner() || p.By == ByNamedKey || p.By == BySchedule
}

// MayRun tells whether the caller may run a published program of the account by its name, or, for
// "", a script that it sends. A page runs by their names those programs alone that are for pages,
// which is the program's to say, and so none by this.
func (p *Principal) MayRun(program string) bool {
	return p.Scopes.MayRun(program) && (program == "" || p.By != ByOrigin)
}

// KeySpace begins the idempotency keys of the principal: a key is the owner's, by whatever
// credential, that of one named key, that of the pages of one entry of the list, or anybody's. A forged Origin
// header neither uses up the owner's keys nor finds what came of them. "" is the owner's, and no
// key begins with the character that the others begin with.
func (p *Principal) KeySpace() string {
	switch {
	case p.IsOwner():
		return ""
	case p.By == ByNamedKey:
		return "\x00key\x00" + strconv.FormatInt(int64(p.Key.ID), 10) + "\x00"
	case p.By == ByNobody:
		return "\x00anyone\x00"
	}
	return "\x00page\x00" + p.Domain.Pattern.String() + "\x00"
}
