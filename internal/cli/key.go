package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	accounts "ql/internal/account"
	"ql/internal/operator"
)

// keyCommand is ql key. Its commands work on the data folder, while a server
// runs or not, and most of them on a service elsewhere.
type keyCommand struct {
	remoteSettings

	Create keyCreate `cmd:"" help:"Make a named key of an account and print it, this once."`
	List   keyList   `cmd:"" help:"List an account's named keys, and when each was last used."`
	Revoke keyRevoke `cmd:"" help:"Revoke a named key, which is dead at once."`
}

func newKeyCommand() keyCommand {
	return keyCommand{remoteSettings: newRemoteSettings("data", "database", "database-direct", "blobs", "master-key-file", "dev")}
}

type keyCreate struct {
	who
	Name    string   `arg:"" help:"What the key is called."`
	Scopes  []string `name:"scope" required:"" sep:"none" placeholder:"SCOPE" help:"What it may do: run, run:NAME, answer, jobs, files, databases or manage. May be given several times."`
	Expires string   `placeholder:"TIME" help:"How long it is good, such as 30d, 12h or 90m; left out, until it is revoked."`
}

// Run implements the command.
func (k *keyCreate) Run(c *console, line *commands) error {
	lasts, err := parseLasting(k.Expires)
	if err != nil {
		return err
	}
	if line.Key.Server != "" {
		return k.remote(c, &line.Key.remoteSettings, lasts)
	}
	return line.Key.with(c, false, func(o *operator.Operator) error {
		a, err := o.Accounts.Find(c.ctx, k.Account)
		if err != nil {
			return err
		}
		made, key, err := o.Accounts.CreateNamedKey(c.ctx, a, accounts.NewNamed{Name: k.Name, Scopes: k.Scopes, For: lasts})
		if err != nil {
			return devHint(o, k.Account, err)
		}
		for _, program := range made.Scopes.Programs {
			if _, err := o.Accounts.CalledScript(c.ctx, a.ID, program); errors.Is(err, accounts.ErrNotFound) {
				fmt.Fprintf(c.err, "note: the account has published no script %q yet: the key opens nothing of that name before it has\n", program)
			}
		}
		c.showCreatedKey(createdKeyJSON{made.Name, key.Reveal(), made.Scopes.Texts(), optional(made.Expires)})
		return nil
	})
}

// createdKeyJSON is a key that was made, with what opens the account.
type createdKeyJSON struct {
	Name    string     `json:"name"`
	Key     string     `json:"key"`
	Scopes  []string   `json:"scopes"`
	Expires *time.Time `json:"expires_at"`
}

func (c *console) showCreatedKey(k createdKeyJSON) {
	if c.json {
		c.print(k)
		return
	}
	c.table(func(row func(...any)) {
		row("name", k.Name)
		row("key", k.Key)
		row("scopes", strings.Join(k.Scopes, " "))
		row("expires", optionalMoment(k.Expires))
	})
}

// parseLasting takes how long a key is good, in days too; "" is 0.
func parseLasting(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	lasts, ok := parseDays(text)
	if !ok || lasts < time.Second || lasts%time.Second != 0 {
		return 0, usage("--expires: %q is no time such as 30d, 12h or 90m", text)
	}
	return lasts, nil
}

// parseDays takes a duration, which may be a number of days such as 30d.
func parseDays(text string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseInt(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err == nil
	}
	d, err := time.ParseDuration(text)
	return d, err == nil
}

type keyList struct{ who }

// Run implements the command.
func (k *keyList) Run(c *console, line *commands) error {
	if line.Key.Server != "" {
		return k.remote(c, &line.Key.remoteSettings)
	}
	return line.Key.with(c, false, func(o *operator.Operator) error {
		a, err := o.Accounts.Find(c.ctx, k.Account)
		if err != nil {
			return err
		}
		keys, err := o.Accounts.NamedKeys(c.ctx, a.ID)
		if err != nil {
			return err
		}
		list := []keyJSON{}
		for _, one := range keys {
			list = append(list, keyJSON{one.Name, one.Shown, one.Scopes.Texts(), one.Created, optional(one.Expires), optional(one.Used)})
		}
		c.showKeys(list)
		return nil
	})
}

// keyJSON is a named key in a listing, as GET /v1/keys shows it.
type keyJSON struct {
	Name    string     `json:"name"`
	Prefix  string     `json:"prefix"`
	Scopes  []string   `json:"scopes"`
	Created time.Time  `json:"created_at"`
	Expires *time.Time `json:"expires_at"`
	Used    *time.Time `json:"last_used_at"`
}

func (c *console) showKeys(list []keyJSON) {
	if c.json {
		c.print(struct {
			Keys []keyJSON `json:"keys"`
		}{list})
		return
	}
	c.table(func(row func(...any)) {
		row("NAME", "KEY", "CREATED", "EXPIRES", "LAST USED", "SCOPES")
		for _, one := range list {
			row(one.Name, one.Prefix+"…", moment(one.Created), optionalMoment(one.Expires), optionalMoment(one.Used), strings.Join(one.Scopes, " "))
		}
	})
}

type keyRevoke struct {
	who
	Name string `arg:"" help:"What the key is called."`
}

// Run implements the command.
func (k *keyRevoke) Run(c *console, line *commands) error {
	if line.Key.Server != "" {
		return k.remote(c, &line.Key.remoteSettings)
	}
	return line.Key.with(c, false, func(o *operator.Operator) error {
		a, err := o.Accounts.Find(c.ctx, k.Account)
		if err != nil {
			return err
		}
		if err := o.Accounts.RevokeNamedKey(c.ctx, a.ID, k.Name); err != nil {
			return err
		}
		c.saidRevoked(k.Name, a.Username)
		return nil
	})
}

func (c *console) saidRevoked(key, username string) {
	c.said("the key %s of %s opens nothing any more", key, username)
}
