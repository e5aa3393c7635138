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
	return line.Account.with(c, false, func(o *operator.Operator) error {
		return c.publish(o, k.Account, k.File, accounts.Publication{
			Name: k.Name, Switches: accounts.Switches{Callers: accounts.CallersDomains}, Keep: accounts.DefaultKeep,
		})
	})
}

type accountPublished struct{ who }

// Run implements the command.
func (k *accountPublished) Run(c *console, line *commands) error {
	return line.Account.with(c, false, func(o *operator.Operator) error {
		scripts, err := o.Accounts.PublishedScripts(c.ctx, k.Account)
		if err != nil {
			return err
		}
		type publishedJSON struct {
			Name  string    `json:"name"`
			Hash  string    `json:"sha256"`
			Added time.Time `json:"published_at"`
		}
		list := []publishedJSON{}
		for _, p := range scripts {
			list = append(list, publishedJSON{p.Name, hex.EncodeToString(p.Hash[:]), p.Added})
		}
		if c.json {
			c.print(struct {
				Published []publishedJSON `json:"published"`
			}{list})
			return nil
		}
		c.table(func(row func(...any)) {
			row("NAME", "PUBLISHED", "SHA-256")
			for _, p := range list {
				row(p.Name, moment(p.Added), p.Hash)
			}
		})
		return nil
	})
}

type accountUnpublish struct {
	who
	Name string `arg:"" help:"What the script is called."`
}

// Run implements the command.
func (k *accountUnpublish) Run(c *console, line *commands) error {
	return line.Account.with(c, false, func(o *operator.Operator) error {
		return c.unpublish(o, k.Account, k.Name)
	})
}
