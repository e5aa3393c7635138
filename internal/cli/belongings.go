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

// domainsCommand is ql account domains.
type domainsCommand struct {
	Add    domainsAdd    `cmd:"" help:"Let pages of a domain call as the account."`
	Remove domainsRemove `cmd:"" help:"Let them call no more."`
	List   domainsList   `cmd:"" help:"List the domains."`
}

type domainsAdd struct {
	who
	Domain        string `arg:"" help:"Such as shop.example.com or *.example.com."`
	PublishedOnly bool   `help:"Its pages may send published scripts only."`
}

// Run implements the command.
func (k *domainsAdd) Run(c *console, line *commands) error {
	return line.Account.with(c, false, func(o *operator.Operator) error {
		d, err := o.Accounts.AddDomain(c.ctx, k.Account, k.Domain, k.PublishedOnly)
		if err != nil {
			return err
		}
		if c.json {
			c.print(newDomainJSON(d))
			return nil
		}
		what := "scripts"
		if d.PublishedOnly {
			what = "published scripts"
		}
		fmt.Fprintf(c.out, "pages of %s may send %s as %s\n", d.Pattern, what, k.Account)
		if !d.PublishedOnly {
			fmt.Fprintln(c.err, "note: whoever knows this domain can call as its pages, browsers or not: --published-only keeps them to published scripts")
		}
		return nil
	})
}

type domainJSON struct {
	Domain        string    `json:"domain"`
	PublishedOnly bool      `json:"published_only"`
	Added         time.Time `json:"added_at"`
}

func newDomainJSON(d accounts.Domain) domainJSON {
	return domainJSON{d.Pattern.String(), d.PublishedOnly, d.Added}
}

type domainsRemove struct {
	who
	Domain string `arg:"" help:"As it was added."`
}

// Run implements the command.
func (k *domainsRemove) Run(c *console, line *commands) error {
	return line.Account.with(c, false, func(o *operator.Operator) error {
		if err := o.Accounts.RemoveDomain(c.ctx, k.Account, k.Domain); err != nil {
			return err
		}
		c.said("pages of %s may call no more", k.Domain)
		return nil
	})
}

type domainsList struct{ who }

// Run implements the command.
func (k *domainsList) Run(c *console, line *commands) error {
	return line.Account.with(c, false, func(o *operator.Operator) error {
		domains, err := o.Accounts.Domains(c.ctx, k.Account)
		if err != nil {
			return err
		}
		list := []domainJSON{}
		for _, d := range domains {
			list = append(list, newDomainJSON(d))
		}
		if c.json {
			c.print(struct {
				Domains []domainJSON `json:"domains"`
			}{list})
			return nil
		}
		c.table(func(row func(...any)) {
			row("DOMAIN", "SCRIPTS", "ADDED")
			for _, d := range list {
				scripts := "any"
				if d.PublishedOnly {
					scripts = "published"
				}
				row(d.Domain, scripts, moment(d.Added))
			}
		})
		return nil
	})
}

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
	return line.Account.with(c, false, func(o *operator.Operator) error {
		if err := o.Accounts.SetSecret(c.ctx, k.Account, k.Name, value); err != nil {
			return err
		}
		c.said("%s has the secret %s", k.Account, k.Name)
		return nil
	})
}

type secretList struct{ who }

// Run implements the command.
func (k *secretList) Run(c *console, line *commands) error {
	return line.Account.with(c, false, func(o *operator.Operator) error {
		secrets, err := o.Accounts.Secrets(c.ctx, k.Account)
		if err != nil {
			return err
		}
		type secretJSON struct {
			Name string    `json:"name"`
			Set  time.Time `json:"set_at"`
		}
		list := []secretJSON{}
		for _, s := range secrets {
			list = append(list, secretJSON{s.Name, s.Set})
		}
		if c.json {
			c.print(struct {
				Secrets []secretJSON `json:"secrets"`
			}{list})
			return nil
		}
		c.table(func(row func(...any)) {
			row("NAME", "SET")
			for _, s := range list {
				row(s.Name, moment(s.Set))
			}
		})
		return nil
	})
}

type secretRemove struct {
	who
	Name string `arg:"" help:"The secret's name."`
}

// Run implements the command.
func (k *secretRemove) Run(c *console, line *commands) error {
	return line.Account.with(c, false, func(o *operator.Operator) error {
		if err := o.Accounts.RemoveSecret(c.ctx, k.Account, k.Name); err != nil {
			return err
		}
		c.said("%s has no secret %s any more", k.Account, k.Name)
		return nil
	})
}

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
		p, err := o.Accounts.Publish(c.ctx, k.Account, k.Name, text)
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
