package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"ql/internal/account/names"
	"ql/internal/fault"
	"ql/internal/redacted"
)

const (
	// invitationFor is how long an invitation is good, firstFor the one that makes the first
	// administrator, and resetFor what sets a new password.
	invitationFor = 7 * day
	firstFor      = time.Hour
	resetFor      = time.Hour
	// longestLink bounds what is read as one of these.
	longestLink = 2 << 10
)

// What the tokens of links are sealed under, for no account.
const (
	invitationName = "invitation"
	resetName      = "password reset"
)

// InvitationHash names an invitation where it is stored that it was used.
type InvitationHash [sha256.Size]byte

// Invitation is what an account is made of that somebody makes who was invited.
type Invitation struct {
	Plan  Plan
	Email string // that the account has, "" where its owner says; whoever invites knows that it is theirs
	Admin bool
	By    string // the administrator who invites, "" for the operator
}

// SentInvitation is an invitation that is out: an account can be made by it.
type SentInvitation struct {
	Number           int64
	Hash             InvitationHash
	Created, Expires time.Time
	Invitation
}

// MostInvitations is how many invitations may be out at a time.
const MostInvitations = 1000

// invited is an invitation as its token has it.
type invited struct {
	Plan    Plan   `json:"plan"`
	Email   string `json:"email,omitempty"`
	Admin   bool   `json:"admin,omitempty"`
	First   bool   `json:"first,omitempty"` // it counts as long as there is no account
	Expires int64  `json:"expires"`
	Nonce   string `json:"nonce"`
}

// reset is a link that sets a new password, as its token has it. It counts once: the password that
// it sets makes the epoch another.
type reset struct {
	Account ID    `json:"account"`
	Epoch   int64 `json:"epoch"`
	Expires int64 `json:"expires"`
}

// Invite returns the token of an invitation, by which one account is made. It is listed until then.
func (s *Service) Invite(ctx context.Context, i Invitation) (token redacted.Text, expires time.Time, err error) {
	if i.Plan, err = ParsePlan(string(i.Plan), s.o.Plans); err != nil {
		return "", time.Time{}, fault.Invalid("plan", "%v", err)
	}
	if i.Email != "" {
		if i.Email, err = names.ParseEmail(i.Email); err != nil {
			return "", time.Time{}, fault.Invalid("email", "%v", err)
		}
	}
	now, nonce := s.now(), rand.Text()
	expires = now.Add(invitationFor).Truncate(time.Second)
	_, err = s.store.AddInvitation(ctx, SentInvitation{Hash: hashInvitation(nonce), Created: now, Expires: expires, Invitation: i}, MostInvitations)
	switch {
	case errors.Is(err, ErrTooManyInvitations):
		return "", expires, fault.New(fault.QuotaExceeded, "%d invitations are out, which is as many as may be: revoke some that nobody needs", MostInvitations)
	case err != nil:
		return "", expires, err
	}
	token, err = s.sealLink(invitationName, invited{Plan: i.Plan, Email: i.Email, Admin: i.Admin, Expires: expires.Unix(), Nonce: nonce})
	return token, expires, err
}

func hashInvitation(nonce string) InvitationHash { return sha256.Sum256([]byte(nonce)) }

// Invitations lists the invitations that are out, the newest first.
func (s *Service) Invitations(ctx context.Context) ([]SentInvitation, error) {
	return s.store.Invitations(ctx, s.now(), MostInvitations)
}

// RevokeInvitation takes an invitation back: no account is made by it.
func (s *Service) RevokeInvitation(ctx context.Context, number int64) error {
	err := s.store.RevokeInvitation(ctx, number, s.now())
	if errors.Is(err, ErrNotFound) {
		return fault.New(fault.NotFound, "no invitation %d is out: it was used or revoked, its time is over, or there was none", number)
	}
	return err
}

// InviteFirst returns the token of an invitation that makes the first account, an administrator. It
// counts as long as there is none.
func (s *Service) InviteFirst() (redacted.Text, error) {
	return s.sealLink(invitationName, invited{Plan: Standard, Admin: true, First: true, Expires: s.now().Add(firstFor).Unix(), Nonce: rand.Text()})
}

func (s *Service) sealLink(name string, link any) (redacted.Text, error) {
	plain, err := json.Marshal(link)
	if err != nil {
		return "", err
	}
	return redacted.Text(base64.RawURLEncoding.EncodeToString(s.vault.SealOutside(0, name, plain))), nil
}

var (
	errNoInvitation = fault.New(fault.NotFound, "the invitation does not count: it was used, or its time is over; ask for another")
	errRevoked      = fault.New(fault.NotFound, "the invitation was revoked: ask whoever sent it for another")
	errNoReset      = fault.New(fault.NotFound, "the link does not count: it was used, or its time is over; ask for another")
)

// openLink reads the token of a link; false for one that was never given out.
func (s *Service) openLink(name, token string, link any) bool {
	if len(token) > longestLink {
		return false
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil {
		return false
	}
	plain, err := s.vault.OpenOutside(0, name, sealed)
	return err == nil && json.Unmarshal(plain, link) == nil
}

// Accept makes the account of somebody who was invited: what the invitation says goes before what n
// says.
func (s *Service) Accept(ctx context.Context, token string, n New) (Account, Key, error) {
	var i invited
	if !s.openLink(invitationName, token, &i) || s.now().Unix() >= i.Expires {
		return Account{}, Key{}, errNoInvitation
	}
	n.Plan, n.Admin, n.Verified = i.Plan, i.Admin, false
	if i.Email != "" {
		// A phone number beside it would count as known to be theirs as well.
		n.Email, n.Phone, n.Verified = i.Email, "", true
	}
	if i.First {
		s.first.Lock() // of several that come at once, one finds that there is no account
		defer s.first.Unlock()
		has, err := s.HasOwners(ctx)
		if has {
			err = errNoInvitation
		}
		if err != nil {
			return Account{}, Key{}, err
		}
	}
	hash := hashInvitation(i.Nonce)
	return s.create(ctx, n, func(a Account) (ID, error) {
		id, err := s.store.CreateInvited(ctx, a, hash, time.Unix(i.Expires, 0).UTC())
		switch {
		case errors.Is(err, ErrInvitationUsed):
			err = errNoInvitation
		case errors.Is(err, ErrInvitationRevoked):
			err = errRevoked
		}
		return id, err
	})
}

// InviteReset returns the token of a link that sets a new password of an account, once.
func (s *Service) InviteReset(ctx context.Context, name string) (token redacted.Text, expires time.Time, err error) {
	err = s.with(ctx, name, func(a Account) error {
		if err := refuseDevelopment(a); err != nil {
			return err
		}
		expires = s.now().Add(resetFor).Truncate(time.Second)
		token, err = s.sealLink(resetName, reset{Account: a.ID, Epoch: a.Epoch, Expires: expires.Unix()})
		return err
	})
	return token, expires, err
}

// ResetPassword sets the password of the account that a link is for.
func (s *Service) ResetPassword(ctx context.Context, token, text string) error {
	var r reset
	if !s.openLink(resetName, token, &r) || s.now().Unix() >= r.Expires {
		return errNoReset
	}
	a, err := s.store.ByID(ctx, r.Account)
	if errors.Is(err, ErrNotFound) || err == nil && (a.Epoch != r.Epoch || a.Disabled) {
		return errNoReset
	}
	if err != nil {
		return err
	}
	phc, err := s.hash(ctx, text, a)
	if err != nil {
		return err
	}
	err = s.store.ResetPassword(ctx, a.ID, r.Epoch, phc)
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) {
		return errNoReset
	}
	return err
}

// SweepInvitations removes what is stored of invitations that would have ended.
func (s *Service) SweepInvitations(ctx context.Context, now time.Time) error {
	for {
		if n, err := s.store.SweepInvitations(ctx, now, purgeBatch); err != nil || n < purgeBatch {
			return err
		}
	}
}
