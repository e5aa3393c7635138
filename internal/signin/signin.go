// Package signin is who is signed in to the dashboard, by which browser and for how long: a
// sign-in has a secret, which is the browser's cookie, and gives out tokens that live shorter and
// end with it. It declares their store. Whether a password is right is for internal/auth, and
// visitors' sessions, which scripts use, are those of internal/resource/sessions.
package signin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"ql/internal/account"
	"ql/internal/redacted"
)

const (
	// idle is after which time without a use a sign-in is over, and longest after which it is in
	// any case.
	idle    = 2 * time.Hour
	longest = 24 * time.Hour
	// tokenTime is how long a token is good, and confirmedFor how long a password that was
	// entered again counts.
	tokenTime    = 15 * time.Minute
	confirmedFor = 15 * time.Minute
	// touchEvery is how often a use is stored at most.
	touchEvery = time.Minute
	// most is how many sign-ins an account has at once: each browser has one.
	most = 50
	// sweepBatch bounds one change of the store.
	sweepBatch = 1000

	secretBytes = 32
)

// TokenPrefix starts every token, so that people and programs tell them from keys.
const TokenPrefix = "qlt_"

// The errors of secrets and tokens.
var (
	// ErrNone says that there is no such sign-in, or that it is over.
	ErrNone = errors.New("nobody is signed in by this")
	// ErrExpired says of a token that its time is over.
	ErrExpired = errors.New("the token has expired")
)

// Sealer makes tokens that nobody else can make.
type Sealer interface {
	SealOutside(id account.ID, name string, plain []byte) []byte
	OpenOutside(id account.ID, name string, sealed []byte) ([]byte, error)
}

// SignIns are those of all accounts. It is safe for concurrent use.
type SignIns struct {
	store  Store
	sealer Sealer
	now    func() time.Time
	link   link
}

// New returns the sign-ins of a store. The clock is time.Now where it is nil.
func New(store Store, sealer Sealer, clock func() time.Time) *SignIns {
	if clock == nil {
		clock = time.Now
	}
	return &SignIns{store: store, sealer: sealer, now: func() time.Time { return clock().UTC().Truncate(time.Microsecond) }}
}

// ExpiresAt is when a sign-in is over unless it is used again.
func (s *SignIn) ExpiresAt() time.Time {
	end := s.Created.Add(longest)
	if unused := s.Used.Add(idle); unused.Before(end) {
		return unused
	}
	return end
}

// ConfirmedUntil is until when the password that was entered counts, zero where it never was. It
// may be over.
func (s *SignIn) ConfirmedUntil() time.Time {
	if s.Confirmed.IsZero() {
		return time.Time{}
	}
	return s.Confirmed.Add(confirmedFor)
}

// IsConfirmed tells whether the password was entered within the time that it counts.
func (s *SignIn) IsConfirmed(now time.Time) bool { return now.Before(s.ConfirmedUntil()) }

func expiry(now time.Time) Expiry {
	return Expiry{Used: now.Add(-idle), Created: now.Add(-longest)}
}

// Start signs a browser in to an account, as it was read when its owner proved who they are by the
// password, and returns the secret for its cookie. It is account.ErrConflict where the account has
// changed since.
func (s *SignIns) Start(ctx context.Context, a account.Account) (SignIn, redacted.Text, error) {
	secret := make([]byte, secretBytes)
	rand.Read(secret) // never fails
	text := base64.RawURLEncoding.EncodeToString(secret)
	now := s.now()
	made := SignIn{Account: a.ID, Hash: sha256.Sum256([]byte(text)), Created: now, Used: now, Confirmed: now}
	var err error
	made.ID, err = s.store.Create(ctx, made, a.Epoch, expiry(now), most)
	return made, redacted.Text(text), err
}

// Find returns who is signed in by the secret of a cookie; ErrNone where nobody is.
func (s *SignIns) Find(ctx context.Context, secret redacted.Text) (account.Account, SignIn, error) {
	if len(secret) != base64.RawURLEncoding.EncodedLen(secretBytes) {
		return account.Account{}, SignIn{}, ErrNone
	}
	a, found, err := s.store.ByHash(ctx, sha256.Sum256([]byte(secret.Reveal())))
	return s.use(ctx, a, found, err)
}

// use checks that a sign-in that was found is not over, and notes its use.
func (s *SignIns) use(ctx context.Context, a account.Account, found SignIn, err error) (account.Account, SignIn, error) {
	now := s.now()
	switch {
	case errors.Is(err, account.ErrNotFound), err == nil && (a.Disabled || !now.Before(found.ExpiresAt())):
		return account.Account{}, SignIn{}, ErrNone
	case err != nil:
		return account.Account{}, SignIn{}, err
	}
	if now.Sub(found.Used) >= touchEvery {
		found.Used = now
		// Where it is not stored now, the next use is: until then the time counts from before.
		_ = s.store.Touch(ctx, found.ID, now)
	}
	return a, found, nil
}

// tokenName is what tokens are sealed under.
const tokenName = "sign-in token"

// Token gives out a token of a sign-in.
func (s *SignIns) Token(found *SignIn) (token redacted.Text, expires time.Time) {
	expires = s.now().Add(tokenTime).Truncate(time.Second)
	if end := found.Created.Add(longest).Truncate(time.Second); end.Before(expires) {
		expires = end
	}
	plain := binary.BigEndian.AppendUint64(nil, uint64(found.ID))
	plain = binary.BigEndian.AppendUint64(plain, uint64(expires.Unix()))
	bytes := binary.BigEndian.AppendUint64(nil, uint64(found.Account))
	bytes = append(bytes, s.sealer.SealOutside(found.Account, tokenName, plain)...)
	return redacted.Text(TokenPrefix + base64.RawURLEncoding.EncodeToString(bytes)), expires
}

// longestToken bounds what is read as one.
const longestToken = 200

// ByToken returns whose sign-in a token is of: ErrNone for one that was never given out, or whose
// sign-in is over, and ErrExpired for one whose time is.
func (s *SignIns) ByToken(ctx context.Context, token string) (account.Account, SignIn, error) {
	encoded, ok := strings.CutPrefix(token, TokenPrefix)
	if !ok || len(encoded) > longestToken {
		return account.Account{}, SignIn{}, ErrNone
	}
	bytes, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil || len(bytes) < 8 {
		return account.Account{}, SignIn{}, ErrNone
	}
	owner := account.ID(binary.BigEndian.Uint64(bytes))
	plain, err := s.sealer.OpenOutside(owner, tokenName, bytes[8:])
	if err != nil || len(plain) != 16 {
		return account.Account{}, SignIn{}, ErrNone
	}
	if !s.now().Before(time.Unix(int64(binary.BigEndian.Uint64(plain[8:])), 0)) {
		return account.Account{}, SignIn{}, ErrExpired
	}
	a, found, err := s.store.ByID(ctx, ID(binary.BigEndian.Uint64(plain)))
	if err == nil && found.Account != owner {
		return account.Account{}, SignIn{}, ErrNone
	}
	return s.use(ctx, a, found, err)
}

// Confirm notes that the password was entered again.
func (s *SignIns) Confirm(ctx context.Context, found *SignIn) error {
	err := s.store.Confirm(ctx, found.ID, s.now())
	if errors.Is(err, account.ErrNotFound) {
		return ErrNone
	}
	return err
}

// End ends the sign-in of a secret, and with it its tokens. One that nobody has is no error.
func (s *SignIns) End(ctx context.Context, secret redacted.Text) error {
	_, found, err := s.store.ByHash(ctx, sha256.Sum256([]byte(secret.Reveal())))
	if errors.Is(err, account.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.store.Remove(ctx, found.ID)
}

// Sweep removes sign-ins that are over.
func (s *SignIns) Sweep(ctx context.Context, now time.Time) error {
	for {
		if n, err := s.store.Sweep(ctx, expiry(now), sweepBatch); err != nil || n < sweepBatch {
			return err
		}
	}
}
