package service

import (
	"context"
	"errors"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/mail"
	"ql/internal/wire"
)

// Mails are the mails of accounts' scripts.
type Mails struct {
	mail.History
	mail.Sealer
}

// MailListing is a page of an account's mails, the newest first.
type MailListing struct {
	Meta
	Mails []wire.Mail
	Next  string // "" for the last page
}

// mailEntries is how many entries of a listing a mail takes: it may go to many.
const mailEntries = 12

// Mails lists mails of the account that the credentials prove.
func (s *Service) Mails(ctx context.Context, c Caller, p *Credentials, state, before string, limit int) (MailListing, error) {
	owner, meta, err := s.openMails(ctx, c, p)
	l := MailListing{Meta: meta}
	if err != nil {
		return l, err
	}
	q := mail.Query{State: mail.State(state), Limit: limit + 1, Before: before}
	if state != "" && !q.State.Valid() {
		return l, fault.Invalid("state", "is no state of a mail: pending, sent and failed fit")
	}
	if err := c.Memory.reservePage(ctx, mailEntries*limit); err != nil {
		return l, err
	}
	list, err := s.o.Mails.List(ctx, owner, q)
	if err != nil {
		return l, err
	}
	list, l.Next = cutPage(list, limit, func(m *mail.Mail) string { return m.ID })
	for i := range list {
		shown, err := s.showMail(&list[i])
		if err != nil {
			return l, err
		}
		l.Mails = append(l.Mails, shown)
	}
	return l, nil
}

// ShownMail is a mail with what became of it.
type ShownMail struct {
	Meta
	Mail wire.Mail
}

// Mail shows a mail by its id.
func (s *Service) Mail(ctx context.Context, c Caller, p *Credentials, id string) (ShownMail, error) {
	owner, meta, err := s.openMails(ctx, c, p)
	a := ShownMail{Meta: meta}
	if err != nil {
		return a, err
	}
	if err := c.Memory.reservePage(ctx, mailEntries); err != nil {
		return a, err
	}
	m, err := s.o.Mails.ByID(ctx, owner, id)
	if errors.Is(err, mail.ErrNotFound) {
		return a, fault.New(fault.NotFound, "the account has no mail with the id %q", shortened(id))
	}
	if err != nil {
		return a, err
	}
	a.Mail, err = s.showMail(&m)
	return a, err
}

func (s *Service) showMail(m *mail.Mail) (wire.Mail, error) {
	head, err := mail.OpenHead(s.o.Mails, m)
	if err != nil {
		return wire.Mail{}, err
	}
	shown := wire.Mail{
		ID: m.ID, From: head.From, Subject: head.Subject, Attachments: head.Names, Question: head.Question, Status: string(m.State),
		Attempts: m.Attempts, Size: m.Size, CreatedAt: m.Made, DueAt: m.Due, SettledAt: m.Settled, Error: m.Error,
	}
	if m.Job != (job.ID{}) {
		shown.JobID = m.Job.String()
	}
	for i, to := range head.To {
		r := wire.MailRecipient{Address: to, Status: string(mail.Pending)}
		if i < len(m.Outcomes) && m.Outcomes[i].State != "" {
			r.Status, r.Error = string(m.Outcomes[i].State), m.Outcomes[i].Error
		}
		shown.To = append(shown.To, r)
	}
	return shown, nil
}

// openMails lets a caller to the mails of an account.
func (s *Service) openMails(ctx context.Context, c Caller, p *Credentials) (account.ID, Meta, error) {
	owner, err := s.authenticateOwner(ctx, c, p, access{"mails", passwordOrName, scope.Manage})
	meta := Meta{Origin: owner.origin}
	if err != nil {
		return 0, meta, err
	}
	verdict := s.countCall(owner, c, owner.Account.Limits(s.o.Limits))
	meta.Rate = &verdict
	return owner.Account.ID, meta, verdict.Err()
}
