package service

import (
	"context"
	"errors"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/domainproof"
	"ql/internal/fault"
	"ql/internal/wire"
)

// SiteDomains are the domains at which accounts' sites are served. Accounts are named by their
// usernames; errors are coded.
type SiteDomains interface {
	SiteDomains(ctx context.Context, name string) ([]account.OwnSiteDomain, error)
	RequestSiteDomain(ctx context.Context, name, domain string) (account.OwnSiteDomain, error)
	// ProveSiteDomain gives back what look does where that fails.
	ProveSiteDomain(ctx context.Context, name, domain string, look account.LooksUp) (account.OwnSiteDomain, error)
	RemoveSiteDomain(ctx context.Context, name, domain string) error
}

// SiteDomainListing are the domains of an account's site.
type SiteDomainListing struct {
	Meta
	Domains []wire.SiteDomainEntry
}

// SiteDomainAnswer is one domain of an account's site.
type SiteDomainAnswer struct {
	Meta
	Domain wire.SiteDomainEntry
}

func siteDomainEntry(d *account.OwnSiteDomain) wire.SiteDomainEntry {
	return wire.SiteDomainEntry{
		Domain: d.Domain, Record: d.Record, Value: d.Value, State: string(d.State()),
		AddedAt: d.Added, ProvenAt: d.Proven, CheckedAt: d.Checked, MissingSince: d.Missing,
	}
}

// SiteDomains lists the domains of an account's site.
func (s *Service) SiteDomains(ctx context.Context, c Caller, p *Credentials) (SiteDomainListing, error) {
	_, owner, meta, err := s.openAccount(ctx, c, p, access{"domains", passwordOrName, scope.Manage})
	l := SiteDomainListing{Meta: meta}
	if err != nil {
		return l, err
	}
	if err := c.Memory.reservePage(ctx, domainEntries*owner.Account.Limits(s.o.Limits).Domains); err != nil {
		return l, err
	}
	domains, err := s.o.SiteDomains.SiteDomains(ctx, owner.Account.Username)
	for i := range domains {
		l.Domains = append(l.Domains, siteDomainEntry(&domains[i]))
	}
	return l, err
}

// AddSiteDomain has an account's site served at a domain once it is proved, and says how.
func (s *Service) AddSiteDomain(ctx context.Context, c Caller, p *Credentials, domain string) (SiteDomainAnswer, error) {
	ctx, owner, meta, err := s.guard(ctx, c, p, "domains")
	if err != nil {
		return SiteDomainAnswer{Meta: meta}, err
	}
	d, err := s.o.SiteDomains.RequestSiteDomain(ctx, owner.Account.Username, domain)
	return SiteDomainAnswer{meta, siteDomainEntry(&d)}, err
}

// RemoveSiteDomain has an account's site served at a domain no more.
func (s *Service) RemoveSiteDomain(ctx context.Context, c Caller, p *Credentials, domain string) (Meta, error) {
	ctx, owner, meta, err := s.guard(ctx, c, p, "domains")
	if err != nil {
		return meta, err
	}
	return meta, s.o.SiteDomains.RemoveSiteDomain(ctx, owner.Account.Username, domain)
}

// ProveSiteDomain looks for the proof of a domain.
func (s *Service) ProveSiteDomain(ctx context.Context, c Caller, p *Credentials, domain string) (SiteDomainAnswer, error) {
	ctx, owner, meta, err := s.guard(ctx, c, p, "domains")
	if err == nil {
		err = s.countProof(&owner)
	}
	if err != nil {
		return SiteDomainAnswer{Meta: meta}, err
	}
	d, err := s.o.SiteDomains.ProveSiteDomain(ctx, owner.Account.Username, domain, s.o.CheckRecord)
	switch {
	case errors.Is(err, domainproof.ErrBusy):
		err = errProofsBusy()
	case errors.Is(err, domainproof.ErrUnknown):
		err = fault.New(fault.DomainNotProven, "%s is not proved yet: no name server tells what is at %s; try again later", d.Domain, d.Record)
	}
	return SiteDomainAnswer{meta, siteDomainEntry(&d)}, err
}
