package service

import (
	"context"
	"strconv"
	"time"

	"ql/internal/account"
	"ql/internal/audit"
	"ql/internal/fault"
	"ql/internal/redacted"
	"ql/internal/wire"
)

// Administration is what administrators do to the accounts of others, which are named by their
// usernames. Its errors are coded.
type Administration interface {
	Find(ctx context.Context, name string) (account.Account, error)
	List(ctx context.Context, after string, limit int) ([]account.Account, error)
	SetPlan(ctx context.Context, name, plan string) error
	SetLimit(ctx context.Context, name, limit, text string) error
	UnsetLimit(ctx context.Context, name, limit string) error
	SetFlag(ctx context.Context, name, flag string, on bool) error
	Invite(ctx context.Context, i account.Invitation) (token redacted.Text, expires time.Time, err error)
	Invitations(ctx context.Context) ([]account.SentInvitation, error)
	RevokeInvitation(ctx context.Context, number int64) error
	InviteReset(ctx context.Context, name string) (token redacted.Text, expires time.Time, err error)
}

// openAdmin lets administrators to what they manage, who have entered the password. To all others
// there is nothing. The context is for what is changed: it is in the log of the account, and in that
// of the operator.
func (s *Service) openAdmin(ctx context.Context, c Caller, p *Credentials) (context.Context, caller, Meta, error) {
	owner, err := s.authenticateOwner(ctx, c, p, access{what: "the service", accepts: passwordAlone})
	meta := Meta{Origin: owner.origin}
	if (err == nil || fault.Is(err, fault.ConfirmRequired)) && !owner.Account.Admin {
		_, miss, err := s.countMiss(c, fault.New(fault.NotFound, "there is nothing at this address for this account"))
		meta.Rate = miss.Rate
		return ctx, owner, meta, err
	}
	if err != nil {
		return ctx, owner, meta, err
	}
	limits := owner.Account.Limits(s.o.Limits)
	verdict := s.countCall(owner, c, limits)
	meta.Rate = &verdict
	actor := audit.Actor{By: audit.ByOperator, Key: owner.Account.Username, From: audit.NetworkOf(c.Addr), Most: limits.LogBytes}
	return audit.By(ctx, actor), owner, meta, verdict.Err()
}

// AccountListing are accounts by their usernames.
type AccountListing struct {
	Meta
	Accounts []wire.AdminAccount
	Next     string // "" for the last page
}

// adminEntries is how many entries of a listing an account takes, with limits of its own.
const adminEntries = 4

// Accounts lists accounts for an administrator, those after a username.
func (s *Service) Accounts(ctx context.Context, c Caller, p *Credentials, after string, limit int) (AccountListing, error) {
	ctx, _, meta, err := s.openAdmin(ctx, c, p)
	l := AccountListing{Meta: meta}
	if err != nil {
		return l, err
	}
	if err := c.Memory.reservePage(ctx, adminEntries*limit); err != nil {
		return l, err
	}
	list, err := s.o.Administration.List(ctx, after, limit+1)
	list, l.Next = cutPage(list, limit, func(a *account.Account) string { return a.Username })
	for i := range list {
		l.Accounts = append(l.Accounts, adminAccount(&list[i]))
	}
	return l, err
}

func adminAccount(a *account.Account) wire.AdminAccount {
	shown := wire.AdminAccount{Username: a.Username, Email: a.Email, Phone: a.Phone, Plan: string(a.Plan), Admin: a.Admin, Disabled: a.Disabled, CreatedAt: a.Created}
	for _, o := range a.Overrides {
		if account.IsLimit(o.Name) { // and not of another version
			text := account.FormatLimit(o.Name, o.Value)
			shown.Limits = append(shown.Limits, wire.NamedText{Name: o.Name, Text: &text})
		}
	}
	return shown
}

// AdminAnswer is an account as an administrator has changed it.
type AdminAnswer struct {
	Meta
	Account wire.AdminAccount
}

// AdministerAccount changes the plan of an account, limits of its own, and whether it is disabled.
func (s *Service) AdministerAccount(ctx context.Context, c Caller, p *Credentials, name string, change wire.AdminChange) (AdminAnswer, error) {
	ctx, owner, meta, err := s.openAdmin(ctx, c, p)
	a := AdminAnswer{Meta: meta}
	if err != nil {
		return a, err
	}
	of, err := s.o.Administration.Find(ctx, name)
	switch {
	case err != nil:
		return a, err
	case of.ID == owner.Account.ID && change.Disabled != nil && *change.Disabled:
		return a, fault.Invalid("disabled", "is of the account itself: administrators do not lock themselves out")
	}
	if err := s.administer(ctx, of.Username, change); err != nil {
		return a, err
	}
	of, err = s.o.Administration.Find(ctx, of.Username)
	a.Account = adminAccount(&of)
	return a, err
}

func (s *Service) administer(ctx context.Context, name string, change wire.AdminChange) error {
	if change.Plan != nil {
		if err := s.o.Administration.SetPlan(ctx, name, *change.Plan); err != nil {
			return err
		}
	}
	for _, l := range change.Limits {
		var err error
		if l.Text == nil {
			err = s.o.Administration.UnsetLimit(ctx, name, l.Name)
		} else {
			err = s.o.Administration.SetLimit(ctx, name, l.Name, *l.Text)
		}
		if err != nil {
			return err
		}
	}
	if change.Disabled != nil {
		return s.o.Administration.SetFlag(ctx, name, string(account.FlagDisabled), *change.Disabled)
	}
	return nil
}

// LinkAnswer is a link that counts once, which is handed over.
type LinkAnswer struct {
	Meta
	URL     redacted.Text
	Expires time.Time
}

// InviteAccount makes a link by which somebody makes an account.
func (s *Service) InviteAccount(ctx context.Context, c Caller, p *Credentials, n wire.NewInvitation) (LinkAnswer, error) {
	ctx, owner, meta, err := s.openAdmin(ctx, c, p)
	a := LinkAnswer{Meta: meta}
	if err != nil {
		return a, err
	}
	if !s.o.AdminsInvite {
		return a, fault.New(fault.NotAvailable, "sign-up is closed: with the setting sign-up at invite, administrators invite people here; ql account invite always does")
	}
	if n.Plan == "" {
		n.Plan = string(account.Free)
	}
	token, expires, err := s.o.Administration.Invite(ctx, account.Invitation{Plan: account.Plan(n.Plan), Email: n.Email, Admin: n.Admin, By: owner.Account.Username})
	if err != nil {
		return a, err
	}
	a.URL, a.Expires = redacted.Text(s.o.URLs.Welcome()+token.Reveal()), expires
	return a, nil
}

// InvitationListing are the invitations that are out.
type InvitationListing struct {
	Meta
	Invitations []wire.AdminInvitation
}

// Invitations lists the invitations that are out, also where administrators make no more of them.
func (s *Service) Invitations(ctx context.Context, c Caller, p *Credentials) (InvitationListing, error) {
	ctx, _, meta, err := s.openAdmin(ctx, c, p)
	l := InvitationListing{Meta: meta}
	if err != nil {
		return l, err
	}
	if err := c.Memory.reservePage(ctx, account.MostInvitations); err != nil {
		return l, err
	}
	list, err := s.o.Administration.Invitations(ctx)
	for _, i := range list {
		l.Invitations = append(l.Invitations, wire.AdminInvitation{ID: i.Number, Plan: string(i.Plan), Email: i.Email, Admin: i.Admin, By: i.By, CreatedAt: i.Created, ExpiresAt: i.Expires})
	}
	return l, err
}

// RevokeInvitation takes an invitation back.
func (s *Service) RevokeInvitation(ctx context.Context, c Caller, p *Credentials, id string) (Meta, error) {
	ctx, _, meta, err := s.openAdmin(ctx, c, p)
	if err != nil {
		return meta, err
	}
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil || strconv.FormatInt(number, 10) != id {
		return meta, fault.New(fault.NotFound, "there is no such invitation: GET /v1/admin/invitations lists them by their numbers")
	}
	return meta, s.o.Administration.RevokeInvitation(ctx, number)
}

// InviteReset makes a link by which the owner of an account sets a new password.
func (s *Service) InviteReset(ctx context.Context, c Caller, p *Credentials, name string) (LinkAnswer, error) {
	ctx, _, meta, err := s.openAdmin(ctx, c, p)
	a := LinkAnswer{Meta: meta}
	if err != nil {
		return a, err
	}
	of, err := s.o.Administration.Find(ctx, name)
	if err != nil {
		return a, err
	}
	token, expires, err := s.o.Administration.InviteReset(ctx, of.Username)
	if err == nil {
		err = s.audit(ctx, audit.Event{Account: of.ID, Act: audit.ResetLinked})
	}
	if err != nil {
		return a, err
	}
	a.URL, a.Expires = redacted.Text(s.o.URLs.Reset()+token.Reveal()), expires
	return a, nil
}

// PlanListing are the plans that accounts may have.
type PlanListing struct {
	Meta
	Plans []wire.AdminPlan
}

// PlanList lists the plans with their limits.
func (s *Service) PlanList(ctx context.Context, c Caller, p *Credentials) (PlanListing, error) {
	_, _, meta, err := s.openAdmin(ctx, c, p)
	l := PlanListing{Meta: meta}
	if err != nil {
		return l, err
	}
	for _, plan := range s.o.Plans {
		limits := s.o.Limits(plan)
		shown := wire.AdminPlan{Name: string(plan)}
		for _, name := range account.LimitNames() {
			text := account.FormatLimit(name, limits.Limit(name))
			shown.Limits = append(shown.Limits, wire.NamedText{Name: name, Text: &text})
		}
		l.Plans = append(l.Plans, shown)
	}
	return l, nil
}

// NodeAnswer is the process that answers.
type NodeAnswer struct {
	Meta
	Node wire.Node
}

// Node shows the process that answers.
func (s *Service) Node(ctx context.Context, c Caller, p *Credentials) (NodeAnswer, error) {
	_, _, meta, err := s.openAdmin(ctx, c, p)
	return NodeAnswer{meta, s.o.Node}, err
}
