package cli

import (
	"encoding/hex"
	"fmt"
	"time"

	accounts "ql/internal/account"
	"ql/internal/operator"
	"ql/internal/resource/files"
	"ql/lang"
	"ql/lang/source"
)

type accountPublish struct {
	who
	Name string `arg:"" help:"What the script is called."`
	File string `arg:"" help:"The script, or - for standard input. Its text counts to the byte."`
}

// Run implements the command.
func (k *accountPublish) Run(c *console, line *commands) error {
	return line.Account.with(c, false, func(o *operator.Operator) error {
		limits, err := o.Limits(c.ctx, k.Account)
		if err != nil {
			return err
		}
		text, err := c.readScript(k.File, max(limits.ScriptBytes, maxScript))
		if err != nil {
			return err
		}
		if err := c.checkFor(o, k.Account, k.File, text, limits.ScriptBytes); err != nil {
			return err
		}
		p, _, err := o.Accounts.Publish(c.ctx, k.Account, accounts.Publication{
			Name: k.Name, Text: text, Switches: accounts.Switches{Callers: accounts.CallersDomains}, Keep: accounts.DefaultKeep,
		})
		if err != nil {
			return err
		}
		hash := hex.EncodeToString(p.Hash[:])
		if c.json {
			c.print(struct {
				Name string `json:"name"`
				Hash string `json:"sha256"`
			}{p.Name, hash})
			return nil
		}
		fmt.Fprintf(c.out, "%s is published (SHA-256 %s)\n", p.Name, hash)
		return nil
	})
}

// checkFor finds the errors of a script as it would run for an account, whose
// files it may INCLUDE, where each has most bytes at most.
func (c *console) checkFor(o *operator.Operator, account, name, text string, most int) error {
	var errs source.Errors
	err := o.Files(c.ctx, account, func(tree *files.Tree) error {
		errs = lang.Check(text, lang.Options{Include: func(path string) (string, error) {
			included, err := tree.Read(c.ctx, path, most)
			return string(included), err
		}})
		return nil
	})
	if err != nil || len(errs) == 0 {
		return err
	}
	found := c.problems(name, errs)
	if c.json {
		c.printProblems(found)
		return &failure{code: exitUsage}
	}
	return usage("nothing is published: the script has errors")
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
		if err := o.Accounts.Unpublish(c.ctx, k.Account, k.Name); err != nil {
			return err
		}
		c.said("%s is published no more", k.Name)
		return nil
	})
}
