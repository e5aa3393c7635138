package cli

import (
	"fmt"
	"time"

	accounts "ql/internal/account"
	"ql/internal/operator"
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
	if line.Account.Server != "" {
		return k.remote(c, &line.Account.remoteSettings)
	}
	return line.Account.with(c, false, func(o *operator.Operator) error {
		d, err := o.Accounts.AddDomain(c.ctx, k.Account, k.Domain, k.PublishedOnly)
		if err != nil {
			return err
		}
		c.showDomain(k.Account, newDomainJSON(d))
		return nil
	})
}

// showDomain shows a domain that was added.
func (c *console) showDomain(account string, d domainJSON) {
	if c.json {
		c.print(d)
		return
	}
	what := "scripts"
	if d.PublishedOnly {
		what = "published scripts"
	}
	fmt.Fprintf(c.out, "pages of %s may send %s as %s\n", d.Domain, what, account)
	if !d.PublishedOnly {
		fmt.Fprintln(c.err, "note: whoever knows this domain can call as its pages, browsers or not: --published-only keeps them to published scripts")
	}
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
	if line.Account.Server != "" {
		return k.remote(c, &line.Account.remoteSettings)
	}
	return line.Account.with(c, false, func(o *operator.Operator) error {
		if err := o.Accounts.RemoveDomain(c.ctx, k.Account, k.Domain); err != nil {
			return err
		}
		c.saidDomainRemoved(k.Domain)
		return nil
	})
}

func (c *console) saidDomainRemoved(domain string) { c.said("pages of %s may call no more", domain) }

type domainsList struct{ who }

// Run implements the command.
func (k *domainsList) Run(c *console, line *commands) error {
	if line.Account.Server != "" {
		return k.remote(c, &line.Account.remoteSettings)
	}
	return line.Account.with(c, false, func(o *operator.Operator) error {
		domains, err := o.Accounts.Domains(c.ctx, k.Account)
		if err != nil {
			return err
		}
		list := []domainJSON{}
		for _, d := range domains {
			list = append(list, newDomainJSON(d))
		}
		c.showDomains(list)
		return nil
	})
}

func (c *console) showDomains(list []domainJSON) {
	if c.json {
		c.print(struct {
			Domains []domainJSON `json:"domains"`
		}{list})
		return
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
}
