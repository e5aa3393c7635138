package cli

import (
	"errors"
	"strings"
	"time"

	"ql/internal/fault"
	"ql/internal/mail"
	"ql/internal/operator"
	"ql/internal/remote"
)

// mailCommand is ql mail. Its commands work on the data folder, while a server runs or not, or by a
// server's API.
type mailCommand struct {
	remoteSettings

	List mailList `cmd:"" help:"List the mails of an account's scripts, the newest first."`
	Show mailShow `cmd:"" help:"Show a mail with what became of it for each recipient."`
}

func newMailCommand() mailCommand {
	return mailCommand{remoteSettings: newRemoteSettings("data", "database", "database-direct", "blobs", "master-key-file")}
}

type mailRecipientJSON struct {
	Address string `json:"address"`
	Status  string `json:"status"`
	Error   string `json:"error,omitempty"`
}

// mailJSON is a mail in a listing.
type mailJSON struct {
	ID          string              `json:"id"`
	JobID       string              `json:"job_id,omitempty"`
	From        string              `json:"from,omitempty"`
	To          []mailRecipientJSON `json:"to"`
	Subject     string              `json:"subject"`
	Attachments []string            `json:"attachments,omitempty"`
	Question    bool                `json:"question,omitempty"`
	Status      string              `json:"status"`
	Attempts    int                 `json:"attempts"`
	Size        int64               `json:"size"`
	Made        time.Time           `json:"created_at"`
	Due         *time.Time          `json:"due_at,omitempty"`
	Settled     *time.Time          `json:"settled_at,omitempty"`
	Error       string              `json:"error,omitempty"`
}

func newMailJSON(s mail.Sealer, m *mail.Mail) (mailJSON, error) {
	head, err := mail.OpenHead(s, m)
	if err != nil {
		return mailJSON{}, err
	}
	j := mailJSON{
		ID: m.ID, From: head.From, Subject: head.Subject, Attachments: head.Names, Question: head.Question, Status: string(m.State),
		Attempts: m.Attempts, Size: m.Size, Made: m.Made, Error: m.Error,
	}
	if m.Job != (mail.Mail{}).Job {
		j.JobID = m.Job.String()
	}
	if !m.Due.IsZero() {
		j.Due = &m.Due
	}
	if !m.Settled.IsZero() {
		j.Settled = &m.Settled
	}
	for i, to := range head.To {
		r := mailRecipientJSON{Address: to, Status: string(mail.Pending)}
		if i < len(m.Outcomes) && m.Outcomes[i].State != "" {
			r.Status, r.Error = string(m.Outcomes[i].State), m.Outcomes[i].Error
		}
		j.To = append(j.To, r)
	}
	return j, nil
}

type mailList struct {
	who
	Status string `placeholder:"STATE" help:"Only those that are pending, sent or failed."`
	Limit  int    `default:"50" placeholder:"N" help:"How many at most (${default})."`
	Before string `placeholder:"ID" help:"Those before a mail, to go on from the last one listed."`
}

// Run implements the command.
func (k *mailList) Run(c *console, line *commands) error {
	q := mail.Query{State: mail.State(k.Status), Limit: k.Limit, Before: k.Before}
	if k.Status != "" && !q.State.Valid() {
		return usage("--status: there is no state %q: a mail is pending, sent or failed", k.Status)
	}
	if k.Limit < 1 {
		return usage("--limit: %d is no number from 1 on", k.Limit)
	}
	if line.Mail.Server != "" {
		return k.remote(c, &line.Mail.remoteSettings)
	}
	return line.Mail.with(c, false, func(o *operator.Operator) error {
		a, err := o.Accounts.Find(c.ctx, k.Account)
		if err != nil {
			return err
		}
		mails, err := o.Mails.List(c.ctx, a.ID, q)
		if err != nil {
			return err
		}
		list := []mailJSON{}
		for i := range mails {
			shown, err := newMailJSON(o.Accounts.Sealer(), &mails[i])
			if err != nil {
				return err
			}
			list = append(list, shown)
		}
		c.showMails(list)
		return nil
	})
}

func (k *mailList) remote(c *console, s *remoteSettings) error {
	list, err := listNewest[mailJSON](c, s, k.Account, "mails", k.Limit, "before", k.Before, "state", k.Status)
	if err != nil {
		return err
	}
	c.showMails(list)
	return nil
}

func (c *console) showMails(list []mailJSON) {
	if c.json {
		c.print(struct {
			Mails []mailJSON `json:"mails"`
		}{list})
		return
	}
	c.table(func(row func(...any)) {
		row("MAIL", "STATUS", "ATTEMPTS", "CREATED", "TO", "SUBJECT")
		for _, m := range list {
			row(m.ID, m.Status, m.Attempts, moment(m.Made), printable(addresses(m.To)), printable(m.Subject))
		}
	})
}

func addresses(list []mailRecipientJSON) string {
	var all []string
	for _, r := range list {
		all = append(all, r.Address)
	}
	return strings.Join(all, ", ")
}

type mailShow struct {
	who
	ID string `arg:"" help:"The mail's id."`
}

// Run implements the command.
func (k *mailShow) Run(c *console, line *commands) error {
	if line.Mail.Server != "" {
		var shown struct{ Mail mailJSON }
		if err := c.ask(&line.Mail.remoteSettings, k.Account, remote.Call{Method: remote.Get, Path: []string{"mails", k.ID}}, &shown); err != nil {
			return err
		}
		c.showMail(shown.Mail)
		return nil
	}
	return line.Mail.with(c, false, func(o *operator.Operator) error {
		a, err := o.Accounts.Find(c.ctx, k.Account)
		if err != nil {
			return err
		}
		m, err := o.Mails.ByID(c.ctx, a.ID, k.ID)
		if errors.Is(err, mail.ErrNotFound) {
			return fault.New(fault.NotFound, "the account has no mail %q", k.ID)
		}
		if err != nil {
			return err
		}
		shown, err := newMailJSON(o.Accounts.Sealer(), &m)
		if err == nil {
			c.showMail(shown)
		}
		return err
	})
}

func (c *console) showMail(m mailJSON) {
	if c.json {
		c.print(m)
		return
	}
	c.table(func(row func(...any)) {
		row("mail", m.ID)
		row("job", orDash(m.JobID))
		row("from", orDash(printable(m.From)))
		row("subject", printable(m.Subject))
		row("attachments", orDash(printable(strings.Join(m.Attachments, ", "))))
		row("status", m.Status)
		row("attempts", m.Attempts)
		row("created", moment(m.Made))
		row("due", optionalMoment(m.Due))
		row("settled", optionalMoment(m.Settled))
		row("error", orDash(printable(m.Error)))
		for _, r := range m.To {
			row("to", printable(r.Address), r.Status, printable(r.Error))
		}
	})
}
