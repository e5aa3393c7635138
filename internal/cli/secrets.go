package cli

import (
	"time"

	"ql/internal/operator"
)

// secretCommand is ql account secret.
type secretCommand struct {
	Set    secretSet    `cmd:"" help:"Keep what is on standard input as a secret."`
	List   secretList   `cmd:"" help:"List the names of the secrets."`
	Remove secretRemove `cmd:"" help:"Forget a secret."`
}

type secretSet struct {
	who
	Name string `arg:"" help:"By which !SECRET finds it."`
}

// Run implements the command.
func (k *secretSet) Run(c *console, line *commands) error {
	value, err := c.readSecret("value, one line: ")
	if err != nil {
		return err
	}
	if value == "" {
		return usage("there is nothing on standard input: a secret has a value; ql account secret remove forgets one")
	}
	if line.Account.Server != "" {
		return k.remote(c, &line.Account.remoteSettings, value)
	}
	return line.Account.with(c, false, func(o *operator.Operator) error {
		if err := o.Accounts.SetSecret(c.ctx, k.Account, k.Name, value); err != nil {
			return err
		}
		c.saidSecretSet(k.Account, k.Name)
		return nil
	})
}

func (c *console) saidSecretSet(account, name string) {
	c.said("%s has the secret %s", account, name)
}

type secretList struct{ who }

// Run implements the command.
func (k *secretList) Run(c *console, line *commands) error {
	if line.Account.Server != "" {
		return k.remote(c, &line.Account.remoteSettings)
	}
	return line.Account.with(c, false, func(o *operator.Operator) error {
		secrets, err := o.Accounts.Secrets(c.ctx, k.Account)
		if err != nil {
			return err
		}
		list := []secretJSON{}
		for _, s := range secrets {
			list = append(list, secretJSON{s.Name, s.Set})
		}
		c.showSecrets(list)
		return nil
	})
}

// secretJSON is a secret in a listing, without its value.
type secretJSON struct {
	Name string    `json:"name"`
	Set  time.Time `json:"set_at"`
}

func (c *console) showSecrets(list []secretJSON) {
	if c.json {
		c.print(struct {
			Secrets []secretJSON `json:"secrets"`
		}{list})
		return
	}
	c.table(func(row func(...any)) {
		row("NAME", "SET")
		for _, s := range list {
			row(s.Name, moment(s.Set))
		}
	})
}

type secretRemove struct {
	who
	Name string `arg:"" help:"The secret's name."`
}

// Run implements the command.
func (k *secretRemove) Run(c *console, line *commands) error {
	if line.Account.Server != "" {
		return k.remote(c, &line.Account.remoteSettings)
	}
	return line.Account.with(c, false, func(o *operator.Operator) error {
		if err := o.Accounts.RemoveSecret(c.ctx, k.Account, k.Name); err != nil {
			return err
		}
		c.saidSecretRemoved(k.Account, k.Name)
		return nil
	})
}

func (c *console) saidSecretRemoved(account, name string) {
	c.said("%s has no secret %s any more", account, name)
}
