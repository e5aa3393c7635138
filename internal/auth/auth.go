// Package auth decides whether a caller is who they say: by API key in the form
// convention, by password or a named key in the JSON convention, by the domain of the
// page that calls, or by what somebody has who is signed in to the dashboard. Wrong credentials get one answer, after one amount of work,
// whatever was wrong with them; guessing is slowed down without locking owners
// out. It reads the account's row for every request, so that a rotated key or
// a changed password is dead at once. What a caller may then do is for others
// to enforce.
package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"ql/internal/account"
	"ql/internal/account/names"
	"ql/internal/admit"
	"ql/internal/audit"
	"ql/internal/fault"
	"ql/internal/guard"
	"ql/internal/hostname"
	"ql/internal/password"
	"ql/internal/principal"
	"ql/internal/redacted"
)

// Store is what is asked of the account store.
type Store interface {
	ByAlias(ctx context.Context, alias names.Alias) (account.Account, error)
	ByKeyHash(ctx context.Context, hash account.KeyHash) (account.Account, error)
	ByNamedKey(ctx context.Context, hash account.KeyHash) (account.Account, account.NamedKey, error)
	RecordUses(ctx context.Context, uses map[account.NamedKeyID]time.Time) error
	ByID(ctx context.Context, id account.ID) (account.Account, error)
	Rehash(ctx context.Context, id account.ID, old, phc string) error
	Domains(ctx context.Context, id account.ID) ([]account.Domain, error)
	DomainsOf(ctx context.Context, host string) ([]account.Domain, error)
	HasPublished(ctx context.Context, id account.ID, hash account.ScriptHash, now time.Time) (bool, error)
}

// Source is what a request tells of where it comes from.
type Source struct {
	Addr      netip.Addr // of the client, as far as the proxies before us are trusted
	Encrypted bool       // it came by https, to us or to a proxy that is trusted
	Origin    Origin
	FetchSite string // the Sec-Fetch-Site header, "" without
	Changes   bool   // it is of a method that changes something
}

// IsForeignPage tells whether a request says that a page of another origin sent it.
func (s Source) IsForeignPage() bool {
	switch s.FetchSite {
	case "same-origin":
		return false
	case "cross-site", "same-site":
		return true
	}
	return s.Origin.Present()
}

// Development are the fixed credentials of the shared development account.
type Development struct {
	Account account.ID
	// Recreate makes the account anew where it was removed meanwhile: its credentials
	// are those of the settings, and go on. Nil where it stays away.
	Recreate func(context.Context) (account.Account, error)
	Username string
	Password redacted.Text // stands for the API key too
	// NamedKeys says that named keys of the account count, as where one person alone
	// knows its credentials.
	NamedKeys bool
}

// Options are an Authenticator's settings.
type Options struct {
	Gate *password.Gate   // gives turns to check hashes; see NewGate
	Now  func() time.Time // time.Now unless set
	// Plain lets pages call without encryption from anywhere, as in development.
	Plain bool
	// Unthrottled lifts what protects a shared node: the throttles of failed
	// log-ins.
	Unthrottled bool
	// Shared counts what failed at all nodes, and is asked where there are several; may be nil.
	Shared      admit.Buckets
	Development *Development // nil: there is no such account
	// Own are the service's own origins. Their pages may use the development
	// credentials; the dashboard is one of them.
	Own []hostname.Origin
	// Dashboard is the origin of the dashboard's pages, and SignIns tells who is signed in to it;
	// nil for nobody.
	Dashboard hostname.Origin
	SignIns   SignIns
	// Guard runs what stores the uses of keys; may be nil.
	Guard *guard.Guard
	// Log is told of log-ins by password; nil for nobody.
	Log audit.Log
	// Limits returns the limits of a plan; Plan.Limits where left out.
	Limits func(account.Plan) account.Limits
	// OnFailure is told of each log-in that failed; may be nil. Whoever calls waits for it.
	OnFailure func(Failure)
}

// Authenticator checks credentials. It is safe for concurrent use.
type Authenticator struct {
	store     Store
	o         Options
	digester  *digester
	dummy     string // a hash that no password matches
	verified  *verifiedCache
	flights   flightGroup
	throttle  *throttle // nil where nothing is throttled
	uses      *keyUses
	logins    *logins
	matches   func(secret, phc string) (bool, error)
	recreated atomic.Int64 // the ID of the development account that was made anew, 0 for none
}

// New returns an Authenticator over a store.
func New(store Store, o Options) (*Authenticator, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	a := &Authenticator{store: store, o: o, digester: newDigester(), verified: newVerifiedCache(), matches: password.Matches, uses: newKeyUses(store, o.Guard), logins: newLogins(o.Log, o.Limits, o.Guard)}
	if a.o.OnFailure == nil {
		a.o.OnFailure = func(Failure) {}
	}
	if !o.Unthrottled {
		a.throttle = newThrottle(o.Shared)
	}
	var err error
	a.dummy, err = password.Unmatched(rand.Reader)
	return a, err
}

const (
	wrong   = "the name or the password is wrong"
	keyHint = ": the field password takes the account's API key, which starts with " + account.KeyPrefix
	// Of a text that only looks like a key: whether it is one is not told.
	passwordHint = ": what starts with " + account.KeyPrefix + " is an API key, for POST /api; here the field password takes the account's password"
)

var errWrong = fault.New(fault.BadCredentials, wrong)

// Key checks a username or e-mail address with an API key, as the form
// convention sends them. A right key is never throttled: it cannot be guessed.
func (a *Authenticator) Key(ctx context.Context, identity, key string, from Source) (principal.Principal, error) {
	p, err := a.key(ctx, identity, key, from)
	a.reportFailure(principal.ByKey, identity, 0, from, err)
	return p, err
}

func (a *Authenticator) key(ctx context.Context, identity, key string, from Source) (principal.Principal, error) {
	if c, ok, err := a.development(ctx, identity, key, principal.ByKey, from); ok {
		return c, err
	}
	if k, err := account.ParseKey(key); err == nil {
		row, ok, err := a.byKey(ctx, identity, k.Hash())
		if err != nil {
			return principal.Principal{}, err
		}
		if ok {
			return principal.Owner(row, principal.ByKey), nil
		}
	}
	if wait := a.throttle.countWrongKey(ctx, from.Addr, a.o.Now()); wait > 0 {
		return principal.Principal{}, tooMany(wait)
	}
	if !strings.HasPrefix(key, account.KeyPrefix) {
		return principal.Principal{}, fault.New(fault.BadCredentials, wrong+keyHint)
	}
	return principal.Principal{}, errWrong
}

// byKey finds the account of a key and tells whether identity is its name.
func (a *Authenticator) byKey(ctx context.Context, identity string, hash account.KeyHash) (account.Account, bool, error) {
	row, err := a.store.ByKeyHash(ctx, hash)
	if errors.Is(err, account.ErrNotFound) {
		return account.Account{}, false, nil
	}
	if err != nil {
		return account.Account{}, false, err
	}
	alias, err := names.ParseAlias(identity)
	named := err == nil && alias.Kind != names.Phone && slices.Contains(row.Aliases(), alias)
	return row, named && !row.Disabled && subtle.ConstantTimeCompare(row.KeyHash[:], hash[:]) == 1, nil
}

// Password checks a username, e-mail address or phone number with the
// account's password, as the JSON convention sends them.
//
// A verified password is remembered for five minutes under the stored hash that it
// was checked against, which is read first: callers that send it with every call pay
// for one hash, and a password that was changed is not found again. A rotated key
// changes nothing of it.
func (a *Authenticator) Password(ctx context.Context, name, secret string, from Source) (principal.Principal, error) {
	p, named, err := a.password(ctx, name, secret, from)
	a.reportFailure(principal.ByPassword, name, named, from, err)
	return p, err
}

// password returns, beside who calls, the account that has the name; 0 for none.
func (a *Authenticator) password(ctx context.Context, name, secret string, from Source) (p principal.Principal, named account.ID, err error) {
	if len(secret) > password.MaxLength {
		return principal.Principal{}, 0, errWrong
	}
	if c, ok, err := a.development(ctx, name, secret, principal.ByPassword, from); ok {
		return c, 0, err
	}
	c, err := a.candidate(ctx, name, secret)
	if err != nil {
		return principal.Principal{}, 0, err
	}
	named = c.row.ID
	let := principal.Owner(c.row, principal.ByPassword)
	if now := a.o.Now(); c.usable && a.verified.has(c.digest, now) {
		if wait := a.throttle.checkVerified(c.name, from.Addr, now); wait > 0 {
			return principal.Principal{}, named, tooMany(wait)
		}
		return let, named, nil
	}
	err = a.flights.do(ctx, c.digest, func() error { return a.verify(ctx, c, secret, from.Addr) })
	switch {
	case errors.Is(err, errWrong) && strings.HasPrefix(secret, account.KeyPrefix):
		return principal.Principal{}, named, fault.New(fault.BadCredentials, wrong+passwordHint)
	case errors.Is(err, errWrong) && strings.HasPrefix(secret, account.NamedKeyPrefix):
		return principal.Principal{}, named, fault.New(fault.BadCredentials, wrong+namedKeyHint)
	case err != nil:
		return principal.Principal{}, named, err
	}
	return let, named, nil
}

// candidate is what a name and a password are checked against.
type candidate struct {
	name   string
	row    account.Account
	usable bool   // the row is there, and its password may open it
	digest digest // of the password, under the row's hash of it
}

func (a *Authenticator) candidate(ctx context.Context, name, secret string) (candidate, error) {
	c := candidate{name: name}
	alias, err := names.ParseAlias(name)
	if err == nil {
		c.name = alias.Name
		c.row, err = a.store.ByAlias(ctx, alias)
		if err != nil && !errors.Is(err, account.ErrNotFound) {
			return candidate{}, err
		}
		c.usable = err == nil && !c.row.Disabled && c.row.PasswordHash != ""
	}
	// Lengths stand in front, so that no two pairs are written alike.
	var head [17]byte
	of := c.name
	if c.usable {
		head[0], of = 1, c.row.PasswordHash
		binary.BigEndian.PutUint64(head[9:], uint64(c.row.ID))
	}
	binary.BigEndian.PutUint64(head[1:], uint64(len(of)))
	c.digest = a.digester.digest(head[:], of, secret)
	return c, nil
}

// verify does the slow work, throttled before anything is hashed, the same for
// names that exist and names that do not.
func (a *Authenticator) verify(ctx context.Context, c candidate, secret string, addr netip.Addr) error {
	attempt, wait := a.throttle.begin(c.name, addr, a.o.Now())
	if wait == 0 {
		wait = a.throttle.checkOthers(ctx, &attempt, a.o.Now())
	}
	if wait > 0 {
		return tooMany(wait)
	}
	if err := a.match(ctx, c, secret, attempt); err != nil {
		switch {
		case errors.Is(err, errWrong):
			a.throttle.tellOthers(ctx, attempt.spent)
			if c.usable {
				a.logins.noteFailure(&c.row, addr, a.o.Now())
			}
		case errors.Is(err, errBusy), ctx.Err() != nil:
			a.throttle.abort(attempt)
		default:
			a.throttle.withdraw(attempt)
		}
		return err
	}
	now := a.o.Now()
	a.throttle.succeed(attempt, now)
	a.logins.noteSuccess(&c.row, addr, now)
	a.verified.add(c.digest, now)
	return nil
}

func (a *Authenticator) match(ctx context.Context, c candidate, secret string, t attempt) error {
	if err := pause(ctx, t.delay); err != nil {
		return err
	}
	ask := password.Request{Holder: password.Holder{Network: t.from.near}, Debt: t.debt, Known: t.known}
	if t.known { // what its network is used for besides does not count
		ask.Holder = password.Holder{Account: int64(c.row.ID)}
	}
	leave, err := a.o.Gate.Acquire(ctx, ask)
	if errors.Is(err, password.ErrBusy) {
		return errBusy
	}
	if err != nil {
		return err
	}
	defer leave()
	phc := a.dummy
	if c.usable {
		phc = c.row.PasswordHash
	}
	ok, err := a.matches(secret, phc)
	if err != nil {
		return err
	}
	if !ok || !c.usable {
		return errWrong
	}
	if password.NeedsRehash(phc) {
		if stronger, err := password.Hash(secret, rand.Reader); err == nil {
			// Where it is not stored now, the next log-in tries again.
			_ = a.store.Rehash(ctx, c.row.ID, phc, stronger)
		}
	}
	return nil
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// development checks the fixed credentials; ok tells whether they were given.
// A page that a developer visits must not run scripts on their machine: the
// credentials count only where no foreign page sends them.
func (a *Authenticator) development(ctx context.Context, name, secret string, by principal.Credential, from Source) (p principal.Principal, ok bool, err error) {
	dev := a.o.Development
	if dev == nil || !equal(name, dev.Username) || !equal(secret, dev.Password.Reveal()) {
		return principal.Principal{}, false, nil
	}
	if err := a.checkDevelopmentPage(from); err != nil {
		return principal.Principal{}, true, err
	}
	row, err := a.store.ByID(ctx, cmp.Or(account.ID(a.recreated.Load()), dev.Account))
	if errors.Is(err, account.ErrNotFound) && dev.Recreate != nil {
		if row, err = dev.Recreate(ctx); err == nil {
			a.recreated.Store(int64(row.ID))
		}
	}
	if errors.Is(err, account.ErrNotFound) || err == nil && row.Disabled {
		return principal.Principal{}, true, errWrong
	}
	p = principal.Owner(row, by)
	p.Development = true
	return p, true, err
}

// checkDevelopmentPage refuses the credentials of the development account to pages of others.
func (a *Authenticator) checkDevelopmentPage(from Source) error {
	if from.Origin.Present() && !a.isOwn(from.Origin) || from.FetchSite == "cross-site" {
		return fault.New(fault.OriginNotAllowed, "the development credentials are not taken from pages of other sites")
	}
	return nil
}

// isOwn tells whether an Origin is the service's own. A service on this machine
// is called by any of the machine's names, and its pages come from that name.
func (a *Authenticator) isOwn(o Origin) bool {
	return slices.ContainsFunc(a.o.Own, o.isOf)
}

// unnamed gives all names of loopback the same one.
func unnamed(o hostname.Origin) hostname.Origin {
	switch o.Host {
	case "127.0.0.1", "[::1]":
		o.Host = "localhost"
	}
	return o
}

// equal compares in a time that tells nothing of where texts differ.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

func tooMany(wait time.Duration) error {
	wait = wait.Truncate(time.Second) + time.Second
	return fault.Retryable(fault.RateLimited, wait, "too many log-ins failed: try again in %s", wait)
}
