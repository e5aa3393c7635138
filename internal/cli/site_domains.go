package cli

import (
	"errors"
	"time"

	accounts "ql/internal/account"
	"ql/internal/domainproof"
	"ql/internal/fault"
	"ql/internal/network"
	"ql/internal/operator"
	"ql/internal/remote"
)

// siteDomainCommand is ql site domain.
type siteDomainCommand struct {
	Add    siteDomainAdd    `cmd:"" help:"Have the site served at a domain, once that is proved."`
	Prove  siteDomainProve  `cmd:"" help:"Look for the record that proves a domain."`
	List   siteDomainList   `cmd:"" help:"List the domains of the site."`
	Remove siteDomainRemove `cmd:"" help:"Have the site served at a domain no more."`
}

// siteDomainJSON is a domain, as GET /v1/sites/main/domains shows it.
type siteDomainJSON struct {
	Domain  string     `json:"domain"`
	Record  string     `json:"record"`
	Value   string     `json:"value"`
	State   string     `json:"state"`
	Added   time.Time  `json:"added_at"`
	Proven  *time.Time `json:"proven_at"`
	Checked *time.Time `json:"checked_at"`
	Missing *time.Time `json:"missing_since"`
}

func newSiteDomainJSON(d *accounts.OwnSiteDomain) siteDomainJSON {
	optional := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	return siteDomainJSON{d.Domain, d.Record, d.Value, string(d.State()), d.Added, optional(d.Proven), optional(d.Checked), optional(d.Missing)}
}

// siteDomainPath is the path of a call about domains of a site.
func siteDomainPath(parts ...string) []string {
	return append([]string{"sites", "main", "domains"}, parts...)
}

type siteDomainAdd struct {
	who
	Domain string `arg:"" help:"Such as shop.example.com."`
}

// Run implements the command.
func (k *siteDomainAdd) Run(c *console, line *commands) error {
	if s := &line.Site.remoteSettings; s.Server != "" {
		var d siteDomainJSON
		if err := c.ask(s, k.Account, remote.Call{Method: remote.Post, Path: siteDomainPath(), JSON: map[string]any{"domain": k.Domain}}, &d); err != nil {
			return err
		}
		c.showSiteDomain(&d)
		return nil
	}
	return line.Site.with(c, false, func(o *operator.Operator) error {
		d, err := o.Accounts.RequestSiteDomain(c.ctx, k.Account, k.Domain)
		if err != nil {
			return err
		}
		shown := newSiteDomainJSON(&d)
		c.showSiteDomain(&shown)
		return nil
	})
}

// showSiteDomain shows a domain that was added or proved.
func (c *console) showSiteDomain(d *siteDomainJSON) {
	switch {
	case c.json:
		c.print(d)
	case d.Proven != nil:
		c.said("the site is served at %s, as long as a TXT record of %s has %s", printable(d.Domain), printable(d.Record), printable(d.Value))
	default:
		c.said("%s is to be proved: make a TXT record of %s with %s, then run ql site domain prove", printable(d.Domain), printable(d.Record), printable(d.Value))
	}
}

type siteDomainProve struct {
	who
	Domain string `arg:"" help:"As it was added."`
}

// Run implements the command.
func (k *siteDomainProve) Run(c *console, line *commands) error {
	if s := &line.Site.remoteSettings; s.Server != "" {
		var d siteDomainJSON
		if err := c.ask(s, k.Account, remote.Call{Method: remote.Post, Path: siteDomainPath(k.Domain, "prove")}, &d); err != nil {
			return err
		}
		c.showSiteDomain(&d)
		return nil
	}
	return line.Site.with(c, false, func(o *operator.Operator) error {
		checker := domainproof.New(network.Policy{}, network.Options{})
		defer checker.Close()
		d, err := o.Accounts.ProveSiteDomain(c.ctx, k.Account, k.Domain, checker.CheckRecord)
		if errors.Is(err, domainproof.ErrUnknown) {
			return fault.New(fault.DomainNotProven, "no name server tells what is at %s: try again later", d.Record)
		}
		if err != nil {
			return err
		}
		shown := newSiteDomainJSON(&d)
		c.showSiteDomain(&shown)
		return nil
	})
}

type siteDomainList struct{ who }

// Run implements the command.
func (k *siteDomainList) Run(c *console, line *commands) error {
	if s := &line.Site.remoteSettings; s.Server != "" {
		var answer struct{ Domains []siteDomainJSON }
		if err := c.ask(s, k.Account, remote.Call{Method: remote.Get, Path: siteDomainPath()}, &answer); err != nil {
			return err
		}
		c.showSiteDomains(answer.Domains)
		return nil
	}
	return line.Site.with(c, false, func(o *operator.Operator) error {
		domains, err := o.Accounts.SiteDomains(c.ctx, k.Account)
		if err != nil {
			return err
		}
		list := []siteDomainJSON{}
		for i := range domains {
			list = append(list, newSiteDomainJSON(&domains[i]))
		}
		c.showSiteDomains(list)
		return nil
	})
}

func (c *console) showSiteDomains(list []siteDomainJSON) {
	if c.json {
		c.print(struct {
			Domains []siteDomainJSON `json:"domains"`
		}{list})
		return
	}
	c.table(func(row func(...any)) {
		row("DOMAIN", "STATE", "PROVED", "RECORD", "VALUE")
		for _, d := range list {
			row(printable(d.Domain), printable(d.State), optionalMoment(d.Proven), printable(d.Record), printable(d.Value))
		}
	})
}

type siteDomainRemove struct {
	who
	Domain string `arg:"" help:"As it was added."`
}

// Run implements the command.
func (k *siteDomainRemove) Run(c *console, line *commands) error {
	said := func() { c.said("the site is served at %s no more", k.Domain) }
	if s := &line.Site.remoteSettings; s.Server != "" {
		err := c.ask(s, k.Account, remote.Call{Method: remote.Delete, Path: siteDomainPath(k.Domain)}, nil)
		if err == nil {
			said()
		}
		return err
	}
	return line.Site.with(c, false, func(o *operator.Operator) error {
		err := o.Accounts.RemoveSiteDomain(c.ctx, k.Account, k.Domain)
		if err == nil {
			said()
		}
		return err
	})
}
