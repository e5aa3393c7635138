// Package principal says who calls: the account that a call acts for, the credential by which that
// was proved, and what it may do. Checking credentials is auth's, and what a scope allows is
// enforced where it is done.
package principal

import (
	"slices"

	"ql/internal/account"
)

// Credential is what a caller proves itself by. It is stored with jobs and with answers to their
// prompts.
type Credential string

// The credentials.
const (
	ByKey      Credential = "key"      // the account's API key, which sees only the jobs that it started
	ByPassword Credential = "password" // the account's password
	ByToken    Credential = "token"    // a token of the live editor
	ByOrigin   Credential = "origin"   // a page of a listed domain, by its Origin header
	ByNobody   Credential = "none"     // none: whoever knows the address of a job, a prompt or a site
)

// Set is a set of credentials, such as those that an endpoint takes.
type Set []Credential

// Has tells whether a credential is in the set.
func (s Set) Has(c Credential) bool { return slices.Contains(s, c) }

// Scopes are what a principal may do beyond running scripts.
type Scopes uint32

// ScopeManage is what is the owner's alone: to read secrets, run machines, and manage the account.
const ScopeManage Scopes = 1 << iota

// Has tells whether all of some scopes are among these.
func (s Scopes) Has(some Scopes) bool { return s&some == some }

// Principal is who a call acts for. The zero Principal is nobody.
type Principal struct {
	Account account.Account // as read for this call
	By      Credential
	Session string // the id of the visitor's session that came with the call, or ""
	Scopes  Scopes

	Domain      account.Domain // the entry of the account's list, ByOrigin alone
	Development bool           // by the fixed credentials of the development account
}

// Owner is the owner of an account, by a credential of its own.
func Owner(a account.Account, by Credential) Principal {
	return Principal{Account: a, By: by, Scopes: ScopeManage}
}

// Page is a page of a listed domain. Anybody who knows the domain can call as its pages, so it has
// no scope.
func Page(a account.Account, d account.Domain) Principal {
	return Principal{Account: a, By: ByOrigin, Domain: d}
}

// IsOwner tells whether the caller acts for the account's owner.
func (p *Principal) IsOwner() bool { return p.Scopes.Has(ScopeManage) }

// KeySpace begins the idempotency keys of the principal: a key is the owner's, by whatever
// credential, or that of the pages of one entry of the list. A forged Origin header neither uses up
// the owner's keys nor finds what came of them. "" is the owner's, and no key begins with the
// character that the others begin with.
func (p *Principal) KeySpace() string {
	if p.IsOwner() {
		return ""
	}
	return "\x00page\x00" + p.Domain.Pattern.String() + "\x00"
}
