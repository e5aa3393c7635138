package account

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"ql/internal/account/names"
	"ql/internal/account/seal"
	"ql/internal/fault"
	"ql/internal/password"
	"ql/internal/redacted"
	"ql/lang/source"
)

// Development is the namespace of the shared development account.
const Development = "user_test"

var developmentAlias = names.Alias{Kind: names.Username, Name: Development}

// usualDevelopment is what opens it unless the settings say otherwise. No account
// can have it for a username.
const usualDevelopment = "dev"

// Service does what operators, and owners on the dashboard, do to accounts.
// Accounts are named by any alias. Its errors are coded: invalid_request names
// the field at fault, not_found what is missing.
type Service struct {
	store Store
	vault *seal.Vault
	o     Options
	first sync.Mutex // held while the first account is made
}

// Options are a Service's settings; the zero value is fit for production.
type Options struct {
	Gate     *password.Gate   // gives turns to make hashes
	Now      func() time.Time // time.Now unless set
	Random   io.Reader        // of keys and salts; crypto/rand's unless set
	Dev      bool             // domains may be of one's own machine
	KeysOnce bool             // keep no copy of API keys
	OwnHosts []string         // of the service: no site has a domain at or below one
	// Limits returns the limits of a plan, where settings change them; those
	// that the plan has by itself unless set.
	Limits func(Plan) Limits
	// Plans are those that an account may have: Plans() unless set.
	Plans []Plan
}

// NewService returns a service over a store and the vault of its master key.
func NewService(store Store, vault *seal.Vault, o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.Limits == nil {
		o.Limits = Plan.Limits
	}
	if o.Plans == nil {
		o.Plans = Plans()
	}
	return &Service{store: store, vault: vault, o: o}
}

// New is what an account is made of. E-mail and phone may be "".
type New struct {
	Username string
	Email    string
	Phone    string
	Password redacted.Text
	Plan     Plan
	Admin    bool
	// Verified says that e-mail and phone are known to be the owner's, as when
	// the operator sets them: they then lead to the account.
	Verified bool
}

// Create makes an account and returns it with its API key.
func (s *Service) Create(ctx context.Context, n New) (Account, Key, error) {
	return s.create(ctx, n, func(a Account) (ID, error) { return s.store.Create(ctx, a) })
}

// create makes an account, which store stores.
func (s *Service) create(ctx context.Context, n New, store func(Account) (ID, error)) (Account, Key, error) {
	a := Account{
		EmailVerified: n.Verified && n.Email != "",
		PhoneVerified: n.Verified && n.Phone != "",
		Plan:          n.Plan,
		Admin:         n.Admin,
		Created:       s.now(),
	}
	var err error
	if a.Username, err = names.ParseUsername(n.Username); err != nil {
		return Account{}, Key{}, fault.Invalid("username", "%v", err)
	}
	if names.IsReserved(a.Username) {
		return Account{}, Key{}, fault.Invalid("username", "%v", names.ErrReserved)
	}
	if n.Email != "" {
		if a.Email, err = names.ParseEmail(n.Email); err != nil {
			return Account{}, Key{}, fault.Invalid("email", "%v", err)
		}
	}
	if n.Phone != "" {
		if a.Phone, err = names.ParsePhone(n.Phone); err != nil {
			return Account{}, Key{}, fault.Invalid("phone", "%v", err)
		}
	}
	if a.Plan, err = ParsePlan(string(n.Plan), s.o.Plans); err != nil {
		return Account{}, Key{}, fault.Invalid("plan", "%v", err)
	}
	if a.PasswordHash, err = s.hash(ctx, n.Password.Reveal(), a); err != nil {
		return Account{}, Key{}, err
	}
	key, err := NewKey(s.o.Random)
	if err != nil {
		return Account{}, Key{}, err
	}
	a.KeyHash = key.Hash()
	if a.ID, err = store(a); err != nil {
		return Account{}, Key{}, s.refused(err, "")
	}
	// The copy is bound to the ID, which only the store can give. An account
	// left without one by a crash in between is as with KeysOnce.
	if sealed, err := s.sealKey(a.ID, key); err != nil {
		return Account{}, Key{}, err
	} else if sealed != nil {
		err := s.store.SealKey(ctx, a.ID, a.KeyHash, sealed)
		if err != nil && !errors.Is(err, ErrConflict) {
			return Account{}, Key{}, err
		}
	}
	a, err = s.store.ByID(ctx, a.ID)
	return a, key, err
}

// EnsureDevelopment returns the shared development account, made where it is
// missing. It has no credentials of its own: those come from the settings.
func (s *Service) EnsureDevelopment(ctx context.Context) (Account, error) {
	a, err := s.store.ByAlias(ctx, developmentAlias)
	if !errors.Is(err, ErrNotFound) {
		return a, err
	}
	var taken *Taken
	_, err = s.store.Create(ctx, Account{Username: Development, Plan: Free, Created: s.now()})
	if err != nil && !errors.As(err, &taken) { // another process was faster
		return Account{}, err
	}
	return s.store.ByAlias(ctx, developmentAlias)
}

// Find returns the account that a name leads to.
func (s *Service) Find(ctx context.Context, name string) (Account, error) {
	alias, err := names.ParseAlias(name)
	if err != nil {
		return Account{}, fault.New(fault.NotFound, "there is no account %q", name)
	}
	a, err := s.store.ByAlias(ctx, alias)
	if errors.Is(err, ErrNotFound) && alias == (names.Alias{Kind: names.Username, Name: usualDevelopment}) {
		if shared, err := s.store.ByAlias(ctx, developmentAlias); err == nil {
			return Account{}, fault.New(fault.NotFound, "there is no account %q: the development account is called %s here", name, shared.Username)
		}
	}
	return a, s.refused(err, name)
}

// List returns up to limit accounts by username, those after a username.
func (s *Service) List(ctx context.Context, after string, limit int) ([]Account, error) {
	return s.store.List(ctx, after, limit)
}

// HasOwners reports whether there is an account besides the development one.
func (s *Service) HasOwners(ctx context.Context) (bool, error) {
	list, err := s.store.List(ctx, "", 2)
	return slices.ContainsFunc(list, func(a Account) bool { return a.Username != Development }), err
}

// RotateKey gives the account a new API key; the old one is dead when it
// returns.
func (s *Service) RotateKey(ctx context.Context, name string) (Account, Key, error) {
	a, err := s.Find(ctx, name)
	if err != nil {
		return Account{}, Key{}, err
	}
	if err := refuseDevelopment(a); err != nil {
		return Account{}, Key{}, err
	}
	key, err := NewKey(s.o.Random)
	if err != nil {
		return Account{}, Key{}, err
	}
	sealed, err := s.sealKey(a.ID, key)
	if err != nil {
		return Account{}, Key{}, err
	}
	if err := s.store.RotateKey(ctx, a.ID, key.Hash(), sealed); err != nil {
		return Account{}, Key{}, s.refused(err, name)
	}
	a, err = s.store.ByID(ctx, a.ID)
	return a, key, s.refused(err, name)
}

// ShowKey returns the account's API key from its sealed copy.
func (s *Service) ShowKey(ctx context.Context, id ID) (Key, error) {
	a, err := s.store.ByID(ctx, id)
	if err != nil {
		return Key{}, s.refused(err, "")
	}
	if a.Username == Development {
		return Key{}, fault.New(fault.NotFound, "the development account has no API key: it has its credentials from the settings")
	}
	if a.SealedKey == nil {
		return Key{}, fault.New(fault.NotFound, "no copy of the API key is kept: rotate it to see a new one")
	}
	text, err := s.vault.Open(int64(id), seal.APIKey, "", a.SealedKey)
	if err != nil {
		return Key{}, err
	}
	return ParseKey(string(text))
}

// SetPassword gives the account a new password; the old one is dead when it
// returns.
func (s *Service) SetPassword(ctx context.Context, name, text string) error {
	return s.with(ctx, name, func(a Account) error {
		if err := refuseDevelopment(a); err != nil {
			return err
		}
		phc, err := s.hash(ctx, text, a)
		if err != nil {
			return err
		}
		return s.store.SetPassword(ctx, a.ID, phc)
	})
}

// SetPlan puts the account on another plan.
func (s *Service) SetPlan(ctx context.Context, name, plan string) error {
	p, err := ParsePlan(plan, s.o.Plans)
	if err != nil {
		return fault.Invalid("plan", "%v", err)
	}
	return s.with(ctx, name, func(a Account) error { return s.store.SetPlan(ctx, a.ID, p) })
}

// SetLimit gives the account a limit of its own, as settings write one. It is at most what the plan
// has that allows most: requests are read, and the node is divided, by what plans allow.
func (s *Service) SetLimit(ctx context.Context, name, limit, text string) error {
	if err := checkLimitName(limit); err != nil {
		return err
	}
	n, err := ParseLimit(limit, text)
	if err != nil {
		return fault.Invalid(limit, "%v", err)
	}
	widest := int64(0)
	for i, p := range s.o.Plans {
		l := s.o.Limits(p)
		if most := l.Limit(limit); i == 0 || exceeds(limit, most, widest) {
			widest = most
		}
	}
	if exceeds(limit, n, widest) {
		return fault.Invalid(limit, "%s is more than any plan allows: %s is the most, unless settings give a plan more", FormatLimit(limit, n), FormatLimit(limit, widest))
	}
	return s.changeLimit(ctx, name, limit, &n)
}

// UnsetLimit takes a limit of its own from the account: that of its plan holds again.
func (s *Service) UnsetLimit(ctx context.Context, name, limit string) error {
	if err := checkLimitName(limit); err != nil {
		return err
	}
	return s.changeLimit(ctx, name, limit, nil)
}

// changeLimit changes a limit of an account's own, where its limits fit together afterwards.
func (s *Service) changeLimit(ctx context.Context, name, limit string, n *int64) error {
	return s.with(ctx, name, func(a Account) error {
		before, after := s.o.Limits(a.limitPlan()), s.o.Limits(a.limitPlan())
		for _, o := range a.Overrides {
			if _, known := limitFields[o.Name]; !known {
				continue
			}
			before.SetLimit(o.Name, o.Value)
			if o.Name != limit {
				after.SetLimit(o.Name, o.Value)
			}
		}
		if n != nil {
			after.SetLimit(limit, *n)
		}
		// What does not fit since the plan changed can be mended step by step.
		_, was := before.Check()
		if _, why := after.Check(); why != "" && was == "" {
			return fault.Invalid(limit, "%s", why)
		}
		return s.store.SetLimit(ctx, a.ID, limit, n)
	})
}

func checkLimitName(limit string) error {
	if _, ok := limitFields[limit]; ok {
		return nil
	}
	if near := source.Nearest(limit, LimitNames()); near != "" {
		return fault.Invalid("limit", "there is no limit %q; there is %s", limit, near)
	}
	return fault.Invalid("limit", "there is no limit %q: limits are %s", limit, strings.Join(LimitNames(), ", "))
}

// SetContact changes how the account is reached.
func (s *Service) SetContact(ctx context.Context, name string, change ContactChange) (a Account, err error) {
	for _, one := range []struct {
		field string
		text  **string
		parse func(string) (string, error)
	}{{"email", &change.Email, names.ParseEmail}, {"phone", &change.Phone, names.ParsePhone}} {
		if *one.text == nil || **one.text == "" {
			continue
		}
		parsed, err := one.parse(**one.text)
		if err != nil {
			return a, fault.Invalid(one.field, "%v", err)
		}
		*one.text = &parsed
	}
	err = s.with(ctx, name, func(found Account) error {
		a = found
		change.Apply(&a)
		return s.store.SetContact(ctx, a.ID, change)
	})
	return a, err
}

// SetFlag switches one of the account's flags.
func (s *Service) SetFlag(ctx context.Context, name, flag string, on bool) error {
	if !slices.Contains(flags, Flag(flag)) {
		names := make([]string, len(flags))
		for i, f := range flags {
			names[i] = string(f)
		}
		return fault.Invalid("setting", "there is no setting %q: settings are %s", flag, strings.Join(names, ", "))
	}
	return s.with(ctx, name, func(a Account) error {
		if on && Flag(flag) == FlagAdmin {
			if err := refuseDevelopment(a); err != nil {
				return err
			}
		}
		return s.store.SetFlag(ctx, a.ID, Flag(flag), on)
	})
}

// hash checks a password against the rules and the account's names, and
// hashes it.
func (s *Service) hash(ctx context.Context, text string, a Account) (string, error) {
	if err := CheckPassword(text, a.Username, a.Email, a.Phone); err != nil {
		return "", fault.Invalid("password", "%v", err)
	}
	leave, err := s.o.Gate.Acquire(ctx, password.Request{Holder: password.Holder{Account: int64(a.ID)}})
	if errors.Is(err, password.ErrBusy) {
		return "", fault.Retryable(fault.Overloaded, time.Second, "too many passwords are being set at once: try again in a moment")
	}
	if err != nil {
		return "", err
	}
	defer leave()
	return password.Hash(text, s.o.Random)
}

// sealKey returns the copy of a key that is kept, nil where none is.
func (s *Service) sealKey(id ID, key Key) ([]byte, error) {
	if s.o.KeysOnce {
		return nil, nil
	}
	return s.vault.Seal(int64(id), seal.APIKey, "", []byte(key.Text))
}

// now is to the microsecond, as the store keeps it.
func (s *Service) now() time.Time { return s.o.Now().UTC().Truncate(time.Microsecond) }

// with finds an account and does something to it.
func (s *Service) with(ctx context.Context, name string, do func(Account) error) error {
	a, err := s.Find(ctx, name)
	if err != nil {
		return err
	}
	return s.refused(do(a), name)
}

// refused gives a code to what a store answers about an account.
func (s *Service) refused(err error, name string) error {
	var taken *Taken
	switch {
	case errors.As(err, &taken):
		return fault.Invalid(taken.Field, "%v", taken).WithCause(err)
	case errors.Is(err, ErrNotFound) && name != "":
		return fault.New(fault.NotFound, "there is no account %q", name).WithCause(err)
	case errors.Is(err, ErrNotFound):
		return fault.New(fault.NotFound, "there is no such account").WithCause(err)
	}
	return err
}

// CheckManaged says why the owner of an account may not change what it has besides files and jobs: it
// is the shared one, where more than one person knows its credentials.
func (s *Service) CheckManaged(a Account) error {
	if s.o.Dev {
		return nil
	}
	return refuseDevelopment(a)
}

// CheckDeleted says why the owner of an account may not delete it.
func (s *Service) CheckDeleted(a Account) error { return refuseDevelopment(a) }

// refuseDevelopment keeps the shared account from credentials and powers of
// its own: everybody knows how to log in to it.
func refuseDevelopment(a Account) error {
	if a.Username == Development {
		return fault.New(fault.InvalidRequest, "the development account has its credentials from the settings")
	}
	return nil
}
