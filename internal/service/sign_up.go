package service

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/audit"
	"ql/internal/fault"
	"ql/internal/principal"
	"ql/internal/wire"
)

// SignUps make accounts, and set the passwords of those who forgot them. Their errors are coded.
type SignUps interface {
	Create(ctx context.Context, n account.New) (account.Account, account.Key, error)
	// Accept makes the account of somebody who was invited.
	Accept(ctx context.Context, token string, n account.New) (account.Account, account.Key, error)
	// ResetPassword sets a password by a link, which counts once.
	ResetPassword(ctx context.Context, token, text string) error
}

// How often those of a network may make accounts, and use links: each that is right costs a hash.
const (
	signUpsPerHour   = 20
	allSignUpsAnHour = 500 // of open sign-up, from everywhere
	linksPerMinute   = 20
)

// byLink is a context in which somebody acts who has proved nothing but that they have a link.
func byLink(ctx context.Context, c Caller) context.Context {
	return audit.By(ctx, audit.Actor{By: principal.ByNobody, From: audit.NetworkOf(c.Addr)})
}

// countLink counts that somebody uses a link.
func (s *Service) countLink(c Caller) Meta {
	const rate = "links"
	v := s.o.Limiter.Allow(admit.BySource(rate, c.Addr), admit.Rate{Name: rate, Count: linksPerMinute, Per: time.Minute})
	return Meta{Rate: &v}
}

// SignUp makes an account: of who was invited, or, where sign-up is open, of anybody.
func (s *Service) SignUp(ctx context.Context, c Caller, n wire.NewAccount) (ShownKey, error) {
	a := ShownKey{Meta: s.countLink(c)}
	if err := a.Rate.Err(); err != nil {
		return a, err
	}
	made := account.New{Username: n.Username, Email: n.Email, Phone: n.Phone, Password: n.Password, Plan: account.Free}
	ctx = byLink(ctx, c)
	var created account.Account
	var key account.Key
	var err error
	switch {
	case n.Invite != "":
		created, key, err = s.o.SignUps.Accept(ctx, n.Invite.Reveal(), made)
	case !s.o.OpenSignUp:
		return a, fault.Invalid("invite", "is missing: accounts are made by invitation here; ask whoever runs the service for one")
	default:
		if err := s.countSignUp(c, &a.Meta); err != nil {
			return a, err
		}
		created, key, err = s.o.SignUps.Create(ctx, made)
	}
	a.Username, a.Key = created.Username, key.Text
	return a, err
}

// countSignUp counts an account that somebody makes who was not invited.
func (s *Service) countSignUp(c Caller, m *Meta) error {
	const rate, all = "sign_ups", "all_sign_ups"
	v := s.o.Limiter.Allow(admit.BySource(rate, c.Addr), admit.Rate{Name: rate, Count: signUpsPerHour, Per: time.Hour})
	if v.OK {
		v = s.o.Limiter.Allow(admit.ByAccount(all, 0), admit.Rate{Name: all, Count: allSignUpsAnHour, Per: time.Hour})
	}
	m.Rate = &v
	return v.Err()
}

// RequestReset asks for a link that sets a new password. No mail is sent from here: whoever it is
// for, the answer is the same.
func (s *Service) RequestReset(c Caller) (Meta, error) {
	m := s.countLink(c)
	if err := m.Rate.Err(); err != nil {
		return m, err
	}
	return m, fault.New(fault.NotAvailable, "this service sends no mail: ask whoever runs it for a link to set a new password, which ql account reset-password makes")
}

// ResetPassword sets a new password by a link.
func (s *Service) ResetPassword(ctx context.Context, c Caller, token string, n wire.NewPassword) (Meta, error) {
	m := s.countLink(c)
	if err := m.Rate.Err(); err != nil {
		return m, err
	}
	return m, s.o.SignUps.ResetPassword(byLink(ctx, c), token, n.Password.Reveal())
}
