// Package mails takes the mails of an account's scripts: it checks whom one is from and for and what
// it says, holds the account to its limits, and stores what is to be sent. Sending is the business of
// internal/mail.
package mails

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/mail"
	"ql/lang/value"
)

// Sealer seals what mails say; account.Sealer is one.
type Sealer interface {
	Seal(id account.ID, name string, plain []byte) ([]byte, error)
}

// Options are what Mails are made of. All are needed.
type Options struct {
	Store  mail.Store
	Sealer Sealer
	Sender mail.Address // the operator's, of mails without FROM
	// Domains returns those that an account has proved to be its own.
	Domains func(ctx context.Context, a account.Account) ([]string, error)
	// Canonical checks the path of a file and returns its one written form.
	Canonical func(path string) (string, error)
	Clock     func() time.Time
	Wake      func() // is called when a mail is due
}

// Mails takes the mails of all accounts.
type Mails struct{ o Options }

// New returns mails.
func New(o Options) *Mails { return &Mails{o} }

const (
	maxBody = mail.MaxBody
	// maxWaiting is how many bytes of what an account's mails say are stored until they are sent.
	maxWaiting = 64 << 20
	maxName    = 255
)

// Limits are what one account may send.
type Limits struct {
	PerMinute, PerDay int   // recipients; none where PerDay is 0
	Bytes             int64 // of one mail
	Contents          int64 // bytes of files that are on their way or behind links; 0 for any number
}

// LimitsOf returns those of a plan.
func LimitsOf(l account.Limits) Limits {
	return Limits{PerMinute: l.MailsPerMinute, PerDay: l.MailsPerDay, Bytes: l.MailBytes, Contents: l.StorageBytes}
}

// For returns the mails of an account, for one script; nil where it may send none.
func (m *Mails) For(a account.Account, l Limits) engine.Mails {
	if m == nil {
		return nil
	}
	return &outgoing{m: m, account: a, limits: l}
}

type outgoing struct {
	m       *Mails
	account account.Account
	limits  Limits
}

// Send implements engine.Mails.
func (o *outgoing) Send(ctx context.Context, id string, said engine.Mail) error {
	if o.limits.PerDay <= 0 {
		return value.Errorf("not_available", "the account's plan sends no mail")
	}
	head := mail.Head{Subject: said.Subject, HTML: said.HTML, Question: said.Question}
	if err := o.recipients(&head, said.To); err != nil {
		return err
	}
	if err := mail.CheckSubject(said.Subject); err != nil {
		return value.Errorf(value.BadArgument, "%s", err)
	}
	if said.From != nil {
		from, err := o.from(ctx, *said.From)
		if err != nil {
			return err
		}
		head.From = from.String()
	}
	switch {
	case len(said.Body) > maxBody:
		return value.Exceeded("mail_body", maxBody, "what a MAIL says has %s, and may have %d: attach a file", value.FormatByteCount(int64(len(said.Body))), maxBody)
	case !utf8.ValidString(said.Body) || strings.ContainsRune(said.Body, 0):
		return value.Errorf(value.BadArgument, "what a MAIL says is text without the character 0")
	}
	n := mail.CreateParams{
		ID: id, Account: o.account.ID, Made: o.m.o.Clock().UTC().Truncate(time.Microsecond), Recipients: len(head.To), BodySize: mail.BodySize(said.Body),
		Bounds: mail.Bounds{Minute: o.limits.PerMinute, Day: o.limits.PerDay, Size: o.limits.Bytes, Waiting: maxWaiting, Contents: o.limits.Contents},
	}
	for _, a := range said.Attachments {
		at, name, err := o.attachment(a)
		if err != nil {
			return err
		}
		n.Attachments, head.Names = append(n.Attachments, at), append(head.Names, name)
	}
	plain, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if n.Head, err = o.m.o.Sealer.Seal(o.account.ID, mail.SealHead(id), plain); err != nil {
		return err
	}
	if n.Body, err = o.m.o.Sealer.Seal(o.account.ID, mail.SealBody(id), []byte(said.Body)); err != nil {
		return err
	}
	if err := o.m.o.Store.Create(ctx, n); err != nil {
		return o.explain(err)
	}
	o.m.o.Wake()
	return nil
}

func (o *outgoing) recipients(head *mail.Head, to []string) error {
	var all []mail.Address
	for _, text := range to {
		a, err := mail.ParseAddress(text)
		if err != nil {
			return value.Errorf(value.BadArgument, "TO: %s", err)
		}
		if slices.ContainsFunc(all, a.Equal) {
			continue // it gets one
		}
		all = append(all, a)
		head.To = append(head.To, a.String())
	}
	if len(all) == 0 {
		return value.Errorf(value.BadArgument, "TO takes an address such as \"ada@example.com\", and the list is empty")
	}
	return nil
}

// from checks whom a mail may be from: the operator's sender, the owner's own verified address, or an
// address of a domain that is proved to be the account's.
func (o *outgoing) from(ctx context.Context, text string) (mail.Address, error) {
	a, err := mail.ParseAddress(text)
	if err != nil {
		return a, value.Errorf(value.BadArgument, "FROM: %s", err)
	}
	if a.Equal(o.m.o.Sender) {
		return a, nil
	}
	if own, err := mail.ParseAddress(o.account.Email); err == nil && o.account.EmailVerified && a.Equal(own) {
		return a, nil
	}
	domains, err := o.m.o.Domains(ctx, o.account)
	if err != nil {
		return a, err
	}
	if slices.Contains(domains, a.Domain) {
		return a, nil
	}
	return a, value.Errorf("sender_not_verified", "%s is not known to be the account's: mails are from its own verified address, or from a domain that it has proved for its site; without FROM from the service's sender", mail.Quote(a.Mailbox()))
}

func (o *outgoing) attachment(a engine.MailAttachment) (at, name string, err error) {
	if a.Path == "/" {
		return "", "", value.Errorf("is_folder", "%s is the folder of all files, not a file", value.Quote(a.Path))
	}
	if at, err = o.m.o.Canonical(a.Path); err != nil {
		return "", "", err
	}
	if a.Name == nil {
		return at, path.Base(at), nil
	}
	name = *a.Name
	bad := strings.IndexFunc(name, func(r rune) bool {
		return unicode.IsControl(r) || r == '/' || r == '\\' || unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point)
	})
	if strings.TrimSpace(name) == "" || name == "." || name == ".." || !utf8.ValidString(name) || bad >= 0 || len(name) > maxName {
		return "", "", value.Errorf(value.BadArgument, "the name of an attachment is one such as \"Invoice.pdf\", without slashes and of at most %d bytes, not %s", maxName, mail.Quote(name))
	}
	return at, name, nil
}

// explain tells a script why a mail is not sent.
func (o *outgoing) explain(err error) error {
	var file *mail.FileError
	var bound *mail.BoundError
	const quota = string(fault.QuotaExceeded)
	switch {
	case errors.As(err, &file) && file.Folder:
		return value.Errorf("is_folder", "%s is a folder, not a file", value.Quote(file.Path))
	case errors.As(err, &file):
		return value.Errorf(string(fault.FileNotFound), "there is no file %s", value.Quote(file.Path))
	case !errors.As(err, &bound):
		return err
	}
	switch bound.What {
	case "minute":
		return value.Errorf(quota, "the account's mails may go to %d addresses in a minute: wait a little", bound.Bound).AtLimit("mails_per_minute", bound.Bound)
	case "day":
		return value.Errorf(quota, "the account's mails may go to %d addresses in 24 hours", bound.Bound).AtLimit("mails_per_day", bound.Bound)
	case "size":
		return value.Exceeded("mail_bytes", bound.Bound, "the mail would have %s with its attachments, and may have %d: share a large file with SHARE and send the link", value.FormatByteCount(bound.Value), bound.Bound)
	case "contents":
		return value.Errorf(quota, "the files that are on their way by mail or behind the account's links would have %s, and may have %d", value.FormatByteCount(bound.Value), bound.Bound)
	}
	return value.Errorf(quota, "the account's mails that wait to be sent say %s, and may say %d: wait until some are sent", value.FormatByteCount(bound.Value), bound.Bound)
}
