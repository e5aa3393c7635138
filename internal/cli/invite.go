package cli

import (
	"cmp"
	"fmt"
	"time"

	accounts "ql/internal/account"
	"ql/internal/config"
	"ql/internal/operator"
	"ql/internal/redacted"
)

// accountInvite is ql account invite.
type accountInvite struct {
	Email string `placeholder:"ADDRESS" help:"The e-mail address that the account has, which also leads to it."`
	Plan  string `default:"standard" placeholder:"PLAN" help:"free, standard, unlimited, or one of the settings file (${default})."`
	Admin bool   `help:"Let it manage the service."`
}

// Run implements the command.
func (k *accountInvite) Run(c *console, line *commands) error {
	return line.Account.link(c, func(o *operator.Operator) (string, redacted.Text, time.Time, error) {
		token, expires, err := o.Accounts.Invite(c.ctx, accounts.Invitation{Plan: accounts.Plan(k.Plan), Email: k.Email, Admin: k.Admin})
		return config.WelcomePath, token, expires, err
	})
}

// invitationJSON is an invitation that is out, as GET /v1/admin/invitations shows it.
type invitationJSON struct {
	ID      int64     `json:"id"`
	Plan    string    `json:"plan"`
	Email   *string   `json:"email"`
	Admin   bool      `json:"admin"`
	By      *string   `json:"by"`
	Created time.Time `json:"created_at"`
	Expires time.Time `json:"expires_at"`
}

// accountInvitations is ql account invitations.
type accountInvitations struct{}

// Run implements the command.
func (k *accountInvitations) Run(c *console, line *commands) error {
	return line.Account.with(c, false, func(o *operator.Operator) error {
		sent, err := o.Accounts.Invitations(c.ctx)
		if err != nil {
			return err
		}
		list := []invitationJSON{}
		for _, i := range sent {
			list = append(list, invitationJSON{i.Number, string(i.Plan), optionalText(i.Email), i.Admin, optionalText(i.By), i.Created, i.Expires})
		}
		if c.json {
			c.print(struct {
				Invitations []invitationJSON `json:"invitations"`
			}{list})
			return nil
		}
		c.table(func(row func(...any)) {
			row("ID", "PLAN", "E-MAIL", "ADMIN", "BY", "CREATED", "GOOD UNTIL")
			for _, i := range sent {
				row(i.Number, i.Plan, cmp.Or(i.Email, "-"), i.Admin, cmp.Or(i.By, "operator"), moment(i.Created), moment(i.Expires))
			}
		})
		return nil
	})
}

func optionalText(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// accountRevokeInvitation is ql account revoke-invitation.
type accountRevokeInvitation struct {
	ID int64 `arg:"" help:"Its number, of ql account invitations."`
}

// Run implements the command.
func (k *accountRevokeInvitation) Run(c *console, line *commands) error {
	return line.Account.with(c, false, func(o *operator.Operator) error {
		if err := o.Accounts.RevokeInvitation(c.ctx, k.ID); err != nil {
			return err
		}
		c.said("nobody makes an account by the invitation %d any more", k.ID)
		return nil
	})
}

// accountResetPassword is ql account reset-password.
type accountResetPassword struct{ who }

// Run implements the command.
func (k *accountResetPassword) Run(c *console, line *commands) error {
	return line.Account.link(c, func(o *operator.Operator) (string, redacted.Text, time.Time, error) {
		token, expires, err := o.Accounts.InviteReset(c.ctx, k.Account)
		return config.ResetPath, token, expires, err
	})
}

// link prints a link that counts once, which the operator hands over.
func (a *accountCommand) link(c *console, make func(*operator.Operator) (path string, token redacted.Text, expires time.Time, err error)) error {
	s, err := a.load()
	if err != nil {
		return err
	}
	return a.with(c, true, func(o *operator.Operator) error {
		path, token, expires, err := make(o)
		if err != nil {
			return err
		}
		address, isGuess := s.PublicURL()
		url := address + path + token.Reveal()
		if isGuess {
			fmt.Fprintf(c.err, "note: the link leads to %s, where the service listens by these settings: if callers reach it elsewhere, say where by --base-url\n", address)
		}
		if c.json {
			c.print(struct {
				URL       string    `json:"url"`
				ExpiresAt time.Time `json:"expires_at"`
			}{url, expires})
			return nil
		}
		c.table(func(row func(...any)) {
			row("link", url)
			row("good until", moment(expires))
		})
		return nil
	})
}
