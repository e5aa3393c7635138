package cli

import (
	"encoding/hex"
	"time"

	accounts "ql/internal/account"
	"ql/internal/operator"
)

// accountPublish is ql script publish for pages, as it was before scripts had callers.
type accountPublish struct {
	who
	Name string `arg:"" help:"What the script is called."`
	File string `arg:"" help:"The script, or - for standard input."`
}

// Run implements the command.
func (k *accountPublish) Run(c *console, line *commands) error {
	p := accounts.Publication{
		Name: k.Name, Switches: accounts.Switches{Callers: accounts.CallersDomains}, Keep: accounts.DefaultKeep,
	}
	if line.Account.Server != "" {
		return c.publishRemotely(&line.Account.remoteSettings, k.Account, k.File, p)
	}
	return line.Account.with(c, false, func(o *operator.Operator) error { return c.publish(o, k.Account, k.File, p) })
}

type accountPublished struct{ who }

// Run implements the command.
func (k *accountPublished) Run(c *console, line *commands) error {
	if line.Account.Server != "" {
		return k.remote(c, &line.Account.remoteSettings)
	}
	return line.Account.with(c, false, func(o *operator.Operator) error {
		scripts, err := o.Accounts.PublishedScripts(c.ctx, k.Account)
		if err != nil {
			return err
		}
		list := []publishedJSON{}
		for _, p := range scripts {
			list = append(list, publishedJSON{p.Name, hex.EncodeToString(p.Hash[:]), p.Added})
		}
		c.showPublishedList(list)
		return nil
	})
}

// publishedJSON is a published script, as it was shown before scripts had callers.
type publishedJSON struct {
	Name  string    `json:"name"`
	Hash  string    `json:"sha256"`
	Added time.Time `json:"published_at"`
}

func (c *console) showPublishedList(list []publishedJSON) {
	if c.json {
		c.print(struct {
			Published []publishedJSON `json:"published"`
		}{list})
		return
	}
	c.table(func(row func(...any)) {
		row("NAME", "PUBLISHED", "SHA-256")
		for _, p := range list {
			row(p.Name, moment(p.Added), p.Hash)
		}
	})
}

type accountUnpublish struct {
	who
	Name string `arg:"" help:"What the script is called."`
}

// Run implements the command.
func (k *accountUnpublish) Run(c *console, line *commands) error {
	if line.Account.Server != "" {
		return c.unpublishRemotely(&line.Account.remoteSettings, k.Account, k.Name)
	}
	return line.Account.with(c, false, func(o *operator.Operator) error {
		return c.unpublish(o, k.Account, k.Name)
	})
}
