package cli

import (
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
		token, expires, err := o.Accounts.Invite(accounts.Invitation{Plan: accounts.Plan(k.Plan), Email: k.Email, Admin: k.Admin})
		return config.WelcomePath, token, expires, err
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
		url := s.PublicURL() + path + token.Reveal()
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
