package account

import (
	"context"
	"errors"
	"time"

	"ql/internal/account/names"
)

// ErrNotFound says that there is no such account, key, domain, secret or script.
var ErrNotFound = errors.New("not found")

// ErrConflict says that what a guarded change expected is no longer so: it
// did nothing.
var ErrConflict = errors.New("changed in the meantime")

// The errors of a script that is not published, since its account would have too many.
var (
	ErrTooManyPublished = errors.New("too many published scripts")
	ErrPublishedBytes   = errors.New("published scripts have too many bytes")
)

// Taken says that a name belongs to another account.
type Taken struct {
	Field string // "username", "email", "phone" or "domain"
}

// Error names the field; whose the name is stays untold.
func (e *Taken) Error() string { return "this " + e.Field + " belongs to another account" }

// Store keeps accounts and what belongs to them. Each method is one whole
// transition, committed when it returns nil, and safe for concurrent use.
// Readers see every change committed before they began: no method answers from
// a cache or a replica, since a rotated key is dead with the answer that says
// so. Times are kept to the microsecond, in UTC.
//
// An account that is not there is ErrNotFound in every method that takes its
// ID, except that listings of an unknown account are empty, HasPublished is
// false and PublishedUsage is nothing.
type Store interface {
	Accounts
	NamedKeys
	Domains
	SiteDomains
	PublishedScripts
	Secrets

	// EnsureKeyCheck stores the record that proves a master key where there is none
	// yet, and returns the one that is stored: the first ever. A nil record stores
	// nothing; the answer is then nil where there is none.
	EnsureKeyCheck(ctx context.Context, record []byte) ([]byte, error)
	// ReplaceKeyCheck stores another record in its place, since the master key was rotated.
	ReplaceKeyCheck(ctx context.Context, record []byte) error
}

// Accounts keeps the accounts themselves. It is as large as the life of an account: one
// service calls all of it, and a part of it would have no caller of its own.
type Accounts interface {
	// Create stores a new account and returns its ID, which is never given
	// again, not even after Delete. The ID, Epoch and Look of a are ignored: the
	// epoch starts at 1. Where one of a.Aliases() is another account's alias, it
	// answers *Taken for the first of them and stores nothing. A name that is
	// not among its aliases (an unverified e-mail) may stand with several
	// accounts. A non-zero KeyHash is unique; another's is ErrConflict.
	Create(ctx context.Context, a Account) (ID, error)

	// CreateInvited is Create by an invitation, which counts once: a second time it is
	// ErrInvitationUsed, and ErrInvitationRevoked where it was taken back. That is stored until it
	// would have ended.
	CreateInvited(ctx context.Context, a Account, invitation InvitationHash, expires time.Time) (ID, error)
	// AddInvitation stores an invitation that goes out, and returns its number, which is never given
	// again. Where most are out when it is made, it is ErrTooManyInvitations.
	AddInvitation(ctx context.Context, i SentInvitation, most int) (int64, error)
	// Invitations lists up to limit invitations that are out at a moment: neither used nor revoked. The
	// newest come first.
	Invitations(ctx context.Context, now time.Time, limit int) ([]SentInvitation, error)
	// RevokeInvitation takes an invitation back that is out at a moment; of any other it is ErrNotFound.
	RevokeInvitation(ctx context.Context, number int64, now time.Time) error
	// SweepInvitations removes what is stored of invitations that have ended at a moment, up to limit
	// of those that are out and of those that are not, and returns how many.
	SweepInvitations(ctx context.Context, now time.Time, limit int) (int, error)

	// ByAlias finds the account that a canonical alias leads to.
	ByAlias(ctx context.Context, alias names.Alias) (Account, error)
	// ByKeyHash finds the account with an API key; the zero hash finds nobody.
	ByKeyHash(ctx context.Context, hash KeyHash) (Account, error)
	ByID(ctx context.Context, id ID) (Account, error)
	// List returns up to limit accounts by username, those after a username
	// ("" for the first).
	List(ctx context.Context, after string, limit int) ([]Account, error)

	// MarkDeleted leaves a tombstone: the account is to be removed, is disabled, and
	// stays so. A second time it does nothing.
	MarkDeleted(ctx context.Context, id ID, now time.Time) error
	// Tombstones returns those of accounts that are to be removed, and of those that
	// were, until DropTombstone; by their ID.
	Tombstones(ctx context.Context) ([]Tombstone, error)
	// DropTombstone drops that of an account that is removed; of any other it does
	// nothing.
	DropTombstone(ctx context.Context, id ID) error
	// Purge removes up to about limit rows of what scripts of the account have
	// left: jobs, sessions, files. It returns how many; 0 where there are no
	// more, also of an account that is not there.
	Purge(ctx context.Context, id ID, limit int) (int, error)
	// SetPurged notes when the account was purged.
	SetPurged(ctx context.Context, id ID, at time.Time) error
	// Delete removes the account and every row that belongs to it. Those that
	// may be many are removed by Purge before.
	Delete(ctx context.Context, id ID) error

	// SetPassword replaces the password's hash and adds 1 to the epoch.
	SetPassword(ctx context.Context, id ID, phc string) error
	// ResetPassword is SetPassword of an account whose epoch is the one given: else it is ErrConflict.
	ResetPassword(ctx context.Context, id ID, epoch int64, phc string) error
	// Rehash replaces a hash by a stronger one of the same password, with the
	// same epoch; ErrConflict where the stored one is no longer old.
	Rehash(ctx context.Context, id ID, old, phc string) error
	// RotateKey replaces the API key and its sealed copy (nil for none) and
	// adds 1 to the epoch.
	RotateKey(ctx context.Context, id ID, hash KeyHash, sealed []byte) error
	// SealKey stores the sealed copy of the current key; ErrConflict where hash
	// is no longer the current key's.
	SealKey(ctx context.Context, id ID, hash KeyHash, sealed []byte) error

	// SetContact changes how the account is reached; *Taken where another has the name to which a
	// verified one would lead.
	SetContact(ctx context.Context, id ID, change ContactChange) error
	// SetLook changes how the pages of the account look.
	SetLook(ctx context.Context, id ID, change LookChange) error
	SetPlan(ctx context.Context, id ID, plan Plan) error
	// SetLimit gives the account a limit of its own, in place of the one of that name; nil takes it
	// away.
	SetLimit(ctx context.Context, id ID, name string, value *int64) error
	// SetFlag switches a flag. An account with a tombstone stays disabled.
	SetFlag(ctx context.Context, id ID, flag Flag, on bool) error
}

// Errors of invitations.
var (
	// ErrInvitationUsed says that an account was made by an invitation before, and ErrInvitationRevoked
	// that it was taken back.
	ErrInvitationUsed    = errors.New("the invitation was used")
	ErrInvitationRevoked = errors.New("the invitation was revoked")
	// ErrTooManyInvitations says that as many are out as may be.
	ErrTooManyInvitations = errors.New("too many invitations are out")
)

// Errors of NamedKeys.
var (
	// ErrNameInUse says that the account has a key of the name.
	ErrNameInUse = errors.New("the name is in use")
	// ErrTooManyKeys says that the account has as many keys as it may have.
	ErrTooManyKeys = errors.New("the account has too many keys")
)

// NamedKeys keeps the keys that owners made. A changed or removed one counts as a change of its
// account for whoever caches accounts; a use does not.
type NamedKeys interface {
	// CreateNamedKey stores a new key and returns its ID, which is never given again.
	// The ID and Used of k are ignored. The keys of the account that have expired when k
	// is created are removed. Where one of its name is left, it is ErrNameInUse, and where
	// most are (0 for any number), ErrTooManyKeys; a hash that another key has is
	// ErrConflict.
	CreateNamedKey(ctx context.Context, k NamedKey, most int) (NamedKeyID, error)
	// ByNamedKey finds a key and its account; the zero hash finds none. Used is not read.
	ByNamedKey(ctx context.Context, hash KeyHash) (Account, NamedKey, error)
	// NamedKeys returns an account's keys by name, expired ones too.
	NamedKeys(ctx context.Context, id ID) ([]NamedKey, error)
	// RevokeNamedKey removes a key; ErrNotFound where the account has none of the name.
	RevokeNamedKey(ctx context.Context, id ID, name string) error
	// RecordUses stores when keys were last used. An earlier use than the one that is
	// stored, and that of a key that is gone, is left out.
	RecordUses(ctx context.Context, uses map[NamedKeyID]time.Time) error
}

// ErrTooManyDomains says that the account lists as many domains as it may.
var ErrTooManyDomains = errors.New("the account lists too many domains")

// Domains keeps the whitelists. A domain is on one account's list only: for
// any two accounts, no pattern of one overlaps (names.Pattern.Overlaps) a pattern of
// the other.
type Domains interface {
	// AddDomain adds an entry, or changes PublishedOnly where the account has
	// the same pattern (and keeps Added). Where the pattern overlaps one of
	// another account it answers *Taken with the field "domain".
	//
	// Overlap is a matter of Pattern.Host alone, whatever scheme and port: a
	// host overlaps the entries whose Host is in names.HostKeys(host); the wildcard
	// *.example.com overlaps besides these every Host that ends in
	// ".example.com".
	AddDomain(ctx context.Context, d Domain) error
	// RemoveDomain removes an entry or a request.
	RemoveDomain(ctx context.Context, id ID, p names.Pattern) error
	// RequestDomain stores an entry that is on no list until it is proved, or changes PublishedOnly
	// of the request that is there (and keeps Added). Several accounts may request one domain. Where
	// the account has most other entries and requests (0 for any number), it is ErrTooManyDomains.
	RequestDomain(ctx context.Context, d Domain, most int) error
	// RequestedDomains returns an account's requests by Pattern.String().
	RequestedDomains(ctx context.Context, id ID) ([]Domain, error)
	// ProveDomain makes an entry of a request, as AddDomain does, and returns it.
	ProveDomain(ctx context.Context, id ID, p names.Pattern) (Domain, error)
	// Domains returns an account's entries by Pattern.String().
	Domains(ctx context.Context, id ID) ([]Domain, error)
	// DomainsOf returns the entries whose Pattern.Host is in names.HostKeys(host), of
	// whatever scheme and port, in any order. They all belong to one account.
	DomainsOf(ctx context.Context, host string) ([]Domain, error)
}

// SiteDomain is a domain at which the owner of an account wants its site served.
type SiteDomain struct {
	Account ID
	Domain  string // as hostname.ParseDomain writes it
	Added   time.Time
	Proven  time.Time // since when it is; zero where it is not
	Checked time.Time // when the proof was last looked for; zero for never
	Missing time.Time // since when it is not found any more; zero where it was there
}

// CertificateOrder is a certificate that an authority is to be asked for.
type CertificateOrder struct {
	Domain  string
	At      time.Time
	Renewal bool // of one that is still valid
}

// OrderLimits are how many domains certificates are ordered for at most.
type OrderLimits struct {
	PerHour   int // of all accounts
	NewPerDay int // of one account, renewals left out
}

// OrdersCounted is how long an order is counted.
const OrdersCounted = 24 * time.Hour

// ErrTooManyOrders says that a certificate is not to be ordered now: there are as many orders as there
// may be, or the domain had one within the last hour.
var ErrTooManyOrders = errors.New("too many certificates are ordered")

// SiteDomains keeps the domains of sites. Several accounts may have one domain, and one of them has it
// proved at most.
type SiteDomains interface {
	// AddSiteDomain stores a domain that is not proved, and returns it, or the one that the account
	// has already. Where it has most others (0 for any number), it is ErrTooManyDomains.
	AddSiteDomain(ctx context.Context, d SiteDomain, most int) (SiteDomain, error)
	// RemoveSiteDomain removes a domain, proved or not.
	RemoveSiteDomain(ctx context.Context, id ID, domain string) error
	// SiteDomains returns an account's domains by their names.
	SiteDomains(ctx context.Context, id ID) ([]SiteDomain, error)
	// ProveSiteDomain stores that the proof of a domain of an account was found at a moment. Where
	// another account has the domain proved, it is *Taken with the field "domain".
	ProveSiteDomain(ctx context.Context, id ID, domain string, now time.Time) (SiteDomain, error)
	// BySiteDomain returns the account that has a domain proved.
	BySiteDomain(ctx context.Context, domain string) (Account, SiteDomain, error)
	// DueSiteDomains returns up to limit proved domains whose proof was not looked for since a
	// moment: found for those of which it was there then, missing, a later one, for the others; the
	// longest ago first.
	DueSiteDomains(ctx context.Context, found, missing time.Time, limit int) ([]SiteDomain, error)
	// RecordSiteProof stores Checked, Missing and Proven of a proved domain, whose Checked was before
	// until then: else it is ErrConflict.
	RecordSiteProof(ctx context.Context, d SiteDomain, before time.Time) error
	// BeginOrder stores that a certificate is ordered for a domain, which is proved: else it is
	// ErrNotFound. Where there would be more than the limits say, or the domain had an order within
	// the hour, it is ErrTooManyOrders. A domain counts once, however often it is ordered for.
	BeginOrder(ctx context.Context, o CertificateOrder, most OrderLimits) error
}

// PublishedScripts keeps published scripts and their versions.
type PublishedScripts interface {
	// Publish makes p the current version of its script, and returns it with its
	// number, and whether the account had no script of this name. Where the current
	// version has the same Hash it stays the current one, and takes the text, the schema
	// and the switches of p; else the number is one more, 1 for the first. Versions
	// before it end at ends at the latest, and those of the account that have ended at
	// the moment p.Added are removed. It answers ErrTooManyPublished and ErrPublishedBytes, and changes
	// nothing, where the account would have more scripts, or they would have more bytes
	// by Published.Weight, than most has, and has more than before.
	Publish(ctx context.Context, p Published, ends time.Time, most PublishedLimits) (stored Published, created bool, err error)
	// Unpublish removes a script with all of its versions.
	Unpublish(ctx context.Context, id ID, name string) error
	// PublishedScript returns a version of a script with its text; 0 is the current
	// one. An earlier version, which may have ended, has its own switches as far as the
	// current one does not narrow them (Switches.Within).
	PublishedScript(ctx context.Context, id ID, name string, version int64) (Published, error)
	// PublishedScripts returns the current versions of up to limit of an account's
	// scripts by name, those after a name ("" for the first), without texts and schemas.
	PublishedScripts(ctx context.Context, id ID, after string, limit int) ([]Published, error)
	// PublishedVersions returns up to limit versions of a script that have not ended at
	// a moment, the current one first, without texts and schemas; none where there is no
	// such script.
	PublishedVersions(ctx context.Context, id ID, name string, now time.Time, limit int) ([]Published, error)
	// HasPublished reports whether a version of a script that pages may call has this
	// hash and has not ended: both it and the current one are for pages (Callers.Pages).
	HasPublished(ctx context.Context, id ID, hash ScriptHash, now time.Time) (bool, error)
	// PublishedUsage returns how many scripts an account has published, and the weight
	// of all versions.
	PublishedUsage(ctx context.Context, id ID) (scripts int, bytes int64, err error)
	// SweepPublished removes up to limit versions that have ended at a moment, of all
	// accounts, and returns how many.
	SweepPublished(ctx context.Context, now time.Time, limit int) (int, error)
}

// ErrTooManySecrets says that the account has as many secrets as it may have.
var ErrTooManySecrets = errors.New("the account has too many secrets")

// Secrets keeps what accounts entrust to the service, sealed by its callers.
type Secrets interface {
	// SetSecret stores a secret under its name, in place of an earlier one, and reports whether
	// there was none. Where the account has most others (0 for any number), it is
	// ErrTooManySecrets.
	SetSecret(ctx context.Context, s Secret, most int) (created bool, err error)
	Secret(ctx context.Context, id ID, name string) (Secret, error)
	// Secrets returns an account's secrets by name, without what is sealed.
	Secrets(ctx context.Context, id ID) ([]Secret, error)
	RemoveSecret(ctx context.Context, id ID, name string) error

	// WebhookSecrets returns those that sign at the moment now (Until is zero
	// or later), the newest first: none, one or two.
	WebhookSecrets(ctx context.Context, id ID, now time.Time) ([]WebhookSecret, error)
	// RotateWebhookSecret stores s as the newest. The one numbered s.Number-1
	// is kept until keep; older ones are removed. It answers ErrConflict where
	// the newest is not numbered s.Number-1 (for 1: where there is any).
	RotateWebhookSecret(ctx context.Context, s WebhookSecret, keep time.Time) error
}
