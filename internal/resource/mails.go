package resource

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/guard"
	"ql/internal/mail"
	"ql/internal/network"
	"ql/internal/redacted"
	"ql/internal/resource/files"
	"ql/internal/resource/mails"
	"ql/internal/site"
)

// mails takes what the scripts of an account send; nil where the service sends none.
func (p *Pool) mails(a account.Account, l account.Limits) engine.Mails {
	if p.o.Mails == nil {
		return nil
	}
	limits := mails.LimitsOf(l)
	if isDevelopment(a) && !p.o.Dev {
		limits = mails.Limits{} // its credentials are known to everybody
	}
	return p.o.Mails.taken.For(a, limits)
}

// MailOptions are what sends mails. Server and From are nil where the operator names none.
type MailOptions struct {
	Store     mail.Store
	Accounts  *account.Service
	Trees     *files.Trees
	Server    *mail.Server
	Password  redacted.Text
	From      *mail.Address
	Dev       bool   // without a server, mails go into a folder
	Data      string // that has the folder
	Log       *slog.Logger
	Guard     *guard.Guard
	OnAttempt func(outcome string)
	OnSent    func(a account.ID, bytes int64)
	Ledger    *admit.Ledger // counts what is held of mails while they are sent
}

// MailFolder is where mails are put in development, below the data folder.
const MailFolder = "mail"

// Mailing takes mails and sends them.
type Mailing struct {
	taken  *mails.Mails
	sender *mail.Sender
	by     func() int64
}

// NewMailing returns what sends mails once it is started; nil where there is no server and nobody
// develops.
func NewMailing(o MailOptions) *Mailing {
	sender := mail.Address{Local: "ql", Domain: "localhost.localdomain"}
	if o.From != nil {
		sender = *o.From
	}
	by := o.transport(sender)
	if by == nil {
		return nil
	}
	m := &Mailing{}
	m.sender = mail.NewSender(mail.Options{
		By: func() int64 { return m.by() },
		Hold: func(ctx context.Context, a account.ID, bytes int64) (func(), error) {
			r, err := o.Ledger.Reserve(ctx, admit.AccountHolder(int64(a)), bytes)
			return r.Release, err
		},
		Outbox: o.Store, Transport: by, Sealer: o.Accounts.Sealer(), Sender: sender, Type: site.MediaType, Log: o.Log, Guard: o.Guard, OnAttempt: o.OnAttempt, OnSent: o.OnSent,
		Open: func(c mail.Content) io.ReadSeekCloser {
			chunks := make([]files.Chunk, len(c.Chunks))
			for i, chunk := range c.Chunks {
				chunks[i] = files.Chunk{Hash: chunk.Hash, Size: chunk.Size}
			}
			return o.Trees.OpenContent(chunks, c.Tail)
		},
	})
	m.taken = mails.New(mails.Options{
		Store: o.Store, Sealer: o.Accounts.Sealer(), Sender: sender, Canonical: files.Canonical, Clock: time.Now, Wake: m.sender.Wake, Domains: o.provenDomains,
	})
	return m
}

// Start sends from now on, as the incarnation of a node that by tells, and first what an earlier one
// had under way.
func (m *Mailing) Start(by func() int64) {
	if m != nil {
		m.by = by
		m.sender.Start()
	}
}

// transport is how mails leave; nil for not at all.
func (o *MailOptions) transport(sender mail.Address) mail.Transport {
	switch {
	case o.Server != nil:
		server := *o.Server
		server.Password = o.Password
		// The one host that it dials is the operator's, wherever that is.
		dialer := network.NewDialer(network.Policy{Private: true, AnyPort: true}, network.DialOptions{Connect: 15 * time.Second})
		return mail.NewSMTP(mail.SMTPOptions{Server: server, Dialer: dialer, Hello: sender.Domain, Guard: o.Guard})
	case o.Dev:
		return mail.Folder{Path: filepath.Join(o.Data, MailFolder), OnWritten: func(m *mail.Message, file string) {
			o.Log.Info("a mail was put into the data folder, since there is no mail server", "file", file)
		}}
	}
	return nil
}

// provenDomains are those of an account's site whose proof was found.
func (o *MailOptions) provenDomains(ctx context.Context, of account.Account) (list []string, err error) {
	domains, err := o.Accounts.SiteDomains(ctx, of.Username)
	for _, d := range domains {
		if !d.Proven.IsZero() {
			list = append(list, d.Domain)
		}
	}
	return list, err
}

// Stop sends no more.
func (m *Mailing) Stop(ctx context.Context) error {
	if m == nil {
		return nil
	}
	return m.sender.Stop(ctx)
}
